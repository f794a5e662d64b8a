r"""Objective perturbation with squared loss: the exact loss of a row (``docs/mathematics.md``, section 10.5).

theta minimises sum_i (y_i - x_i'theta)^2/2 + lambda |theta|^2/2 + b'theta, b ~ N(0, sigma^2 I), without constraint:
theta is Gaussian, N(theta_hat, sigma^2 H^-2). With R = y - x'theta and u = x'b,

    log p/q = (2 R u + |x|^2 R^2)/(2 sigma^2) - log(1 + m),

p without the row and q with it. R and u are jointly normal; given R the ratio is linear in u, so its
hockey-stick divergence is a normal probability, and one integral over R is left (Gauss-Legendre between the points
where the mean of the ratio crosses epsilon). Beside a mu-GDP part the ratio stays normal given R, with mu^2/2 more in
its mean and mu^2 in its variance. It is also a quadratic in two normals, or three, and for most rows nearly linear: so
`quadratic_loss` gives their curves, or a relative 6e-4 more. `of_objectives` says when a released minimiser has this
law.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

from discreet.core import checks
from discreet.per_instance import curves, solving
from discreet.per_instance.leverage import LeaveOneOut
from discreet.per_instance.quadratic_loss import Quadratic, nearly_linear, plane

Floats = NDArray[np.float64]

_X, _W = np.polynomial.legendre.leggauss(24)
_RULES = ((0.02, plane(2)), (0.05, plane(3)), (0.15, plane(5)), (0.2, plane(9)))
_PANELS = 4
_REACH = 9.0
_UP = 1 + 1e-8
_ROOT2 = np.sqrt(2.0)


@dataclass(frozen=True)
class SquaredCurve:
    """One minimiser with noise of sd `sigma` in its objective, from m, s = x'H^-2 x, r and |x|^2 of each row.

    Parameters
    ----------
    sigma : float
        Standard deviation of each coordinate of b.
    failure : float
        A probability that is added to delta: that the minimiser does not have this law.
    """

    width: ClassVar[int] = 4

    sigma: float
    failure: float = 0.0

    def delta(self, epsilon: Floats, mu: Floats, statistics: Floats) -> Floats:
        """The worse of the two directions."""

        def exactly(rows: NDArray[np.bool_]) -> Floats:
            return np.maximum(*_both(statistics[:, rows], self.sigma, epsilon[rows], mu[rows]))

        ways = _quadratics(statistics, self.sigma, mu)
        return np.maximum(*(nearly_linear(T, epsilon, _RULES, exactly) for T in ways)) * _UP + self.failure

    def size(self, statistics: Floats) -> Floats:
        """Of the loss at the mean of R, and of that of R itself."""
        _, s, r, x2 = statistics
        found: Floats = np.sqrt(x2 * (r**2 / self.sigma**2 + s))
        return found


def delta(rows: LeaveOneOut, sigma: float, epsilon: float) -> tuple[Floats, Floats]:
    """delta_i(epsilon) of each row: without against with, and with against without.

    Parameters
    ----------
    rows : LeaveOneOut
        From `leave_one_out` with penalty lambda.
    sigma : float
        Standard deviation of each coordinate of b.
    epsilon : float
        At least 0.

    Examples
    --------
    >>> one = np.ones(1)
    >>> rows = LeaveOneOut(0.1 * one, one, 0.01 * one, one, 0 * one, 0 * one, 0 * one)
    >>> [float(d[0].round(4)) for d in delta(rows, sigma=3.0, epsilon=0.5)]
    [0.0345, 0.0]
    """
    e = np.full(len(rows.leverage), curves.checked(epsilon))
    return _both(statistics(rows), checks.positive("sigma", sigma), e, np.zeros_like(e))


def epsilon(rows: LeaveOneOut, sigma: float, delta: float) -> Floats:
    """epsilon_i(delta) of each row, for the worse direction, from the safe side."""
    curve, target = SquaredCurve(checks.positive("sigma", sigma)), checks.fraction("delta", delta)
    return solving.epsilon(curve, np.zeros_like(rows.leverage), statistics(rows), target)


def statistics(rows: LeaveOneOut) -> Floats:
    """m, s, r and |x|^2."""
    return np.stack([rows.leverage, rows.second, rows.residual, rows.norm2])


def _quadratics(statistics: Floats, sigma: float, mu: Floats) -> tuple[Quadratic, Quadratic]:
    """The loss in normals: R = sigma sqrt(s) (rho + Z1), u = sigma (m Z1 + n Z2)/sqrt(s), n^2 = s |x|^2 - m^2."""
    m, s, r, x2 = statistics
    rho, grown, log = r / (sigma * np.sqrt(np.maximum(s, 1e-280))), 1 + m, np.log1p(m)
    found = []
    for sign, a, k2 in ((1.0, m, s * x2), (-1.0, m / grown, s * x2 / grown**2)):
        n, c = np.sqrt(np.maximum(k2 - a**2, 0.0)), (k2 * rho**2 + mu**2) / 2 - sign * log
        found.append(Quadratic(sign * a + k2 / 2, n / 2, rho * (sign * a + k2), rho * n, mu, c))
    return found[0], found[1]


def _both(statistics: Floats, sigma: float, e: Floats, mu: Floats) -> tuple[Floats, Floats]:
    m, s, r, x2 = statistics
    s = np.maximum(s, 1e-280)
    grown, log = 1 + m, np.log1p(m)
    forth = _stick(1.0, -log, np.stack([r, m, s, x2]), sigma, e, mu)
    return forth, _stick(-1.0, log, np.stack([r / grown, m / grown, s / grown**2, x2]), sigma, e, mu)


def _stick(sign: float, log: Floats, statistics: Floats, sigma: float, e: Floats, mu: Floats) -> Floats:
    """Of l = (2 sign R u + |x|^2 R^2)/(2 sigma^2) + log, R = r + v, v ~ N(0, sigma^2 s), Cov(u, v) = sigma^2 m sign."""
    r, m, s, x2 = statistics
    log = log + mu**2 / 2
    sd = sigma * np.sqrt(s)
    slope = m / s  # of E[u | v] in v, for theta = theta_hat - H^-1 b in both tables
    spread = np.sqrt(np.maximum(x2 - m * slope, 0.0)) / sigma  # of l over R, given v
    a = sign * slope + x2 / 2  # mean of l: (a v^2 + b v + c)/sigma^2 + log
    b, c = r * (sign * slope + x2), x2 * r**2 / 2
    points = _breaks(a, b, c + (log - e) * sigma**2, sd)
    total: Floats = np.zeros_like(r)
    facts = (a, b, c, r, log, sd, spread, mu, e)
    for left, right in pairwise(points):
        wide = np.flatnonzero(right > left)
        if len(wide):
            chosen = (part[wide] for part in facts)
            total[wide] += _between(left[wide], right[wide], sigma, *chosen)
    return np.clip(total, 0.0, 1.0)


def _between(left: Floats, right: Floats, sigma: float, *facts: Floats) -> Floats:
    """The integral over v from left to right."""
    a, b, c, r, log, sd, spread, mu, e = facts
    total: Floats = np.zeros_like(left)
    width = (right - left) / _PANELS
    for panel in range(_PANELS):
        v = left + width * (panel + (_X[:, None] + 1) / 2)
        mean = (a * v**2 + b * v + c) / sigma**2 + log
        density = np.exp(-((v / sd) ** 2) / 2) / (np.sqrt(2 * np.pi) * sd)
        total += _W @ (density * _above(mean, np.hypot((r + v) * spread, mu), e)) * width / 2
    return total


def _breaks(a: Floats, b: Floats, c: Floats, sd: Floats) -> list[Floats]:
    """The ends of the range and, inside it, the roots of a v^2 + b v + c and its vertex."""
    ends = _REACH * sd
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))
        inner = [(-b - root) / (2 * a), -b / (2 * a), (-b + root) / (2 * a)]
    clipped = [np.clip(np.where(np.isfinite(point), point, 0.0), -ends, ends) for point in inner]
    return list(np.sort(np.stack([-ends, *clipped, ends]), axis=0))


def _above(mean: Floats, sd: Floats, e: Floats) -> Floats:
    """E (1 - e^(epsilon - l))+ for l ~ N(mean, sd^2): phi(z) (M(-z) - M(sd - z)), M the Mills ratio."""
    over = mean - e
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        z = over / sd
        high = np.clip(z, -38.0, 8.0)
        found = np.exp(-(high**2) / 2) * (erfcx(-high / _ROOT2) - erfcx((sd - high) / _ROOT2)) / 2
        far = ~(z < 8)  # or no spread at all
        if far.any():
            found[far] = np.where(over[far] > 0, -np.expm1(np.minimum(sd[far] ** 2 / 2 - over[far], 0.0)), 0.0)
    return np.clip(np.where(far | (z > -38), found, 0.0), 0.0, 1.0)
