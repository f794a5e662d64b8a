r"""The curve of a posterior sample for many rows at once, alone and beside Gaussian releases.

With m, rho = sqrt(gamma) abs(r), s^2 = 1 + m and K = log(1 + m) + rho^2/(1 + m), the loss is (w^2 - K)/2 with
w ~ N(rho, m) without the row, and (K - w^2)/2 with w ~ N(rho/s^2, m/s^2) with it (``docs/mathematics.md``, 8.1). Alone
it has a closed form, in both directions and for epsilon of either sign. Beside a mu-GDP part, whose loss is
mu Z + mu^2/2, the hockey stick is the mean of one part's curve over the other part's loss: of the smaller over the
larger, so that what is integrated is smooth. Relative errors are below 1e-8 or so, where `privacy.ops` has 1e-11; they
grow to 1e-3 beside a Gaussian part for rows whose residual is next to nothing, rho < 3 sqrt(m).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from discreet.per_instance.curves import normal_points
from discreet.privacy.laws import gaussian_curve

Floats = NDArray[np.float64]

_Z, _W = normal_points(4)
_Z = _Z[:, None]
_LEAST = 1e-200
_UP = 1 + 1e-8


@dataclass(frozen=True)
class PosteriorCurve:
    """One draw of precision `gamma`, from m and r of each row.

    Parameters
    ----------
    gamma : float
        The precision.
    spare, hidden : float
        What hides the rounding errors of the draw is (spare, hidden)-private, and is added as in the certificate.
    """

    width: ClassVar[int] = 2

    gamma: float
    spare: float = 0.0
    hidden: float = 0.0

    def delta(self, epsilon: Floats, mu: Floats, statistics: Floats) -> Floats:
        """The worse of the two directions: alone that without the row, and the other one below 0 (8.2)."""
        m, rho = np.maximum(statistics[0], _LEAST), np.sqrt(self.gamma) * np.abs(statistics[1])
        e, alone = epsilon - self.spare, mu == 0
        found = np.empty(len(e))
        for chosen, way in ((alone & (e >= 0), without), (alone & (e < 0), with_row)):
            if chosen.all():
                return way(e, m, rho) * _UP + self.hidden
            found[chosen] = way(e[chosen], m[chosen], rho[chosen])
        if not alone.all():
            found[~alone] = beside(*(a[~alone] for a in (e, mu, m, rho)))
        return found * _UP + self.hidden

    def size(self, statistics: Floats) -> Floats:
        """The standard deviation of the loss."""
        m, rho = statistics[0], np.sqrt(self.gamma) * np.abs(statistics[1])
        found: Floats = np.sqrt(m * (rho**2 + m / 2))
        return found


def without(e: Floats, m: Floats, rho: Floats) -> Floats:
    """HS of the draw without the row against that with: P(abs(w) > t) - e^epsilon Q(abs(w) > t), t^2 = K + 2 epsilon.

    At the thresholds p = e^epsilon q, so a tail is phi(a) (M(a) - M(b)/s), M the Mills ratio.

    Examples
    --------
    >>> without(np.array([1.0]), np.array([0.05]), np.array([1.0])).round(7)
    array([5.07e-05])
    """
    s, root = np.sqrt(1 + m), np.sqrt(m)
    gap = 2 * e + np.log1p(m) - m * (rho / s) ** 2  # t^2 - rho^2
    t = np.sqrt(np.maximum(gap + rho**2, 0.0))
    near, far = gap / np.maximum(t + rho, 1e-300) / root, (t + rho) / root
    step = root / (s * (1 + s))
    total = _tail(near, near + step * (t * s + rho), e, s)
    seen = far < 9  # otherwise below 1e-18
    if seen.any():
        b = far[seen] + (step * (t * s - rho))[seen]
        total[seen] += _tail(far[seen], b, e[seen], s[seen])
    return np.where(gap + rho**2 > 0, np.clip(total, 0.0, 1.0), -np.expm1(np.minimum(e, 0.0)))


def with_row(e: Floats, m: Floats, rho: Floats) -> Floats:
    """HS of the draw with the row against that without: Q(abs(w) < u) - e^epsilon P(abs(w) < u), u^2 = K - 2 epsilon.

    Examples
    --------
    >>> with_row(np.array([0.1]), np.array([0.05]), np.array([1.0])).round(6)
    array([0.04338])
    """
    s, root = np.sqrt(1 + m), np.sqrt(m)
    u2 = np.log1p(m) + (rho / s) ** 2 - 2 * e
    u = np.sqrt(np.maximum(u2, 0.0))
    here = ndtr((u * s - rho / s) / root) - ndtr((-u * s - rho / s) / root)
    there = ndtr((u - rho) / root) - ndtr((-u - rho) / root)
    return np.where(u2 > 0, np.clip(here - np.exp(np.minimum(e, 700.0)) * there, 0.0, 1.0), 0.0)


def beside(e: Floats, mu: Floats, m: Floats, rho: Floats) -> Floats:
    """The worse direction of the draw together with a mu-GDP part.

    Examples
    --------
    >>> beside(np.array([0.5]), np.array([0.2]), np.array([1e-4]), np.array([10.0])).round(5)
    array([0.00126])
    """
    found, large = np.empty(len(e)), mu**2 >= m * (rho**2 + m / 2)
    for chosen, ways in ((large, _over_draw), (~large, _over_gaussian)):
        if chosen.any():
            found[chosen] = np.maximum(*(_W @ way for way in ways(*(a[chosen] for a in (e, mu, m, rho)))))
    return found


def _over_draw(e: Floats, mu: Floats, m: Floats, rho: Floats) -> tuple[Floats, Floats]:
    """The Gaussian curve at epsilon less the loss of the draw, at the points of the integral; both directions."""
    s2 = 1 + m
    K = np.log1p(m) + rho**2 / s2
    P = ((rho + np.sqrt(m) * _Z) ** 2 - K) / 2
    Q = (K - (rho / s2 + np.sqrt(m / s2) * _Z) ** 2) / 2
    return gaussian_curve(mu, e - P), gaussian_curve(mu, e - Q)  # type: ignore[arg-type]


def _over_gaussian(e: Floats, mu: Floats, m: Floats, rho: Floats) -> tuple[Floats, Floats]:
    """The curve of the draw at epsilon less the loss of the Gaussian part; both directions."""
    left = e - mu * _Z - mu**2 / 2
    m, rho = np.broadcast_to(m, left.shape), np.broadcast_to(rho, left.shape)
    return without(left, m, rho), with_row(left, m, rho)


def _tail(a: Floats, b: Floats, e: Floats, s: Floats) -> Floats:
    """Q(a) - e^epsilon Q(b), where phi(a) = e^epsilon s phi(b)."""
    root2 = np.sqrt(2.0)
    with np.errstate(over="ignore", under="ignore"):
        mills = (erfcx(np.maximum(a, -6.0) / root2) - erfcx(np.maximum(b, -6.0) / root2) / s) / 2
        tail: Floats = np.exp(-np.minimum(a**2 / 2, 750.0)) * mills
        if (a < -6).any():
            return np.where(a < -6, ndtr(-a) - np.exp(np.minimum(e, 700.0)) * ndtr(-b), tail)
    return tail
