r"""Per-instance losses of objective perturbation (``docs/mathematics``, 10.5).

*Any loss.* A row moves the objective by its own gradient and Hessian alone, so the event's bound at the row's own norm
holds for it.

*Squared loss, quadratic penalty.* Where no prediction reaches the linear part of the loss the minimiser is normal, and
the loss of a row has a closed form. Let A be the minimisers with |x_j'theta| < limit for all rows j, the one in
question included. On A the true densities are those of the normals, so

    HS(P, Q) <= HS(normals) + P(outside A),      P(outside A) <= sum_j P(|x_j'theta| >= limit), normal tails.

With u_j = H^-1 x_j and m_j = x_j'u_j, leaving out a row i moves x_j'theta_hat by x_j'u_i r_i/(1 - m_i) and u_j by
u_i x_j'u_i/(1 - m_i), where |x_j'u_i| <= sqrt(m_j m_i); adding one has 1 + m_i in the place of 1 - m_i. So tails with

    |x_j'theta_hat| + sqrt(m_j) max_i sqrt(m_i) |r_i|/(1 - m_i)   as the mean,
    sigma (|u_j| + sqrt(m_j) max_i sqrt(m_i) |u_i|/(1 - m_i))     as the standard deviation

cover all tables at once. Where their sum is small beside delta, the closed form plus the sum is used, otherwise the
bound from the norm. Often the largest tail that the norm of a row allows, times their number, is small enough already,
and the rows need not be read for it.

*The closed form.* theta minimises sum_i (y_i - x_i'theta)^2/2 + lambda |theta|^2/2 + b'theta, b ~ N(0, sigma^2 I),
without constraint: theta is Gaussian, N(theta_hat, sigma^2 H^-2). With R = y - x'theta and u = x'b,

    log p/q = (2 R u + |x|^2 R^2)/(2 sigma^2) - log(1 + m),

p without the row and q with it. R and u are jointly normal; given R the ratio is linear in u, so its hockey-stick
divergence is a normal probability, and one integral over R is left (Gauss-Legendre between the points where the mean of
the ratio crosses epsilon). Beside a mu-GDP part the ratio stays normal given R, with mu^2/2 more in its mean and mu^2
in its variance. It is also a quadratic in two normals, or three, and for most rows nearly linear: so `quadratic` gives
their curves, or a relative 6e-4 more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from discreet.core.arrays import Floats
from discreet.core.rounding import MANY, down
from discreet.families import Squared
from discreet.mechanisms.objective_perturbation.event import ObjectiveEvent
from discreet.per_instance.leverage import LeaveOneOut
from discreet.per_instance.mechanisms.parts import LossFacts, Part, own_curve, parts_of, span
from discreet.per_instance.quadratic import ROUNDED, Quadratic, nearly_linear, plane
from discreet.per_instance.stream import EncodedRows
from discreet.privacy.laws import Law, Point

_LEVELS = 48  # number of levels to which row norms are rounded up
_SHARE = 1e-3  # the closed form is used if predictions beyond the limit add at most this share to delta

_X, _W = np.polynomial.legendre.leggauss(24)
_RULES = ((0.02, plane(2)), (0.05, plane(3)), (0.15, plane(5)), (0.2, plane(9)))
_PANELS = 4
_REACH = 9.0
_UP = 1 + 1e-8
_ROOT2 = np.sqrt(2.0)


def _closed(event: ObjectiveEvent) -> bool:
    """Return whether the loss of a row may have a closed form."""
    plain = event.declared is None and event.noise == "gaussian" and event.neighbors == "add-remove"
    return plain and isinstance(event.loss, Squared) and event.target is not None


@parts_of(ObjectiveEvent, moments=_closed)
def _objective(event: ObjectiveEvent, facts: LossFacts) -> list[Part]:
    """Use the closed form where it holds, else the event's bound at the row's own norm."""
    if facts.replaces or event.declared is not None or event.coordinates is not None:
        return own_curve(event, facts)
    full = "in full for everybody, for it hides where the solver stopped"
    hiding = Part("noise on the minimiser", lambda rows: event.mu**2 * rows.present, event.mu**2, given=full)
    failure = _beyond(event, facts) if _closed(event) else 1.0
    if failure > _SHARE * facts.certificate.guarantee.delta:
        note = "a bound from the norm of the row"
        return [_by_norm(event, facts, note), *([replace(hiding, note=note, given="")] if event.mu else [])]
    return [_exactly(event, facts, failure), hiding]


def _by_norm(event: ObjectiveEvent, facts: LossFacts, note: str) -> Part:
    X, norms = facts.domain.indices(event.design), event.norm * np.arange(1, _LEVELS + 1) / _LEVELS
    laws: tuple[Law, ...] = (Point(0.0), *(replace(event, norm=float(norm)).law for norm in norms))

    def level(rows: EncodedRows) -> Floats:
        places = np.searchsorted(norms, down(np.sqrt(rows.norm2(X)), MANY / 16)) + 1.0
        return np.where(rows.norm2(X) > 0, np.minimum(places, _LEVELS), 0.0)

    return Part(event.name, level, note=note, laws=laws)


def _exactly(event: ObjectiveEvent, facts: LossFacts, failure: float) -> Part:
    target = str(event.target)

    def cost(rows: EncodedRows) -> Floats:
        return _statistics(facts.leave_one_out(rows, event.design, target, event.modulus))

    given = f"up to a probability below {max(failure, 1e-300):.1g} that a prediction leaves the bounds of the loss"
    given = f"{given}; {ROUNDED}"
    return Part(event.name, cost, None, given=given, curve=SquaredCurve(event.scale, failure))


def _beyond(event: ObjectiveEvent, facts: LossFacts) -> float:
    """Bound the probability that some prediction reaches the linear part of the loss; 1 where no bound is known."""
    fit = facts.ridge(event.design, str(event.target), event.modulus)
    X, y = span(facts.domain.indices(event.design)), facts.domain.indices([str(event.target)])[0]
    B, h = event.norm, float(fit.values[0]) + event.modulus
    reach = B * float(np.linalg.norm(fit.theta))
    anybody = np.array([[reach], [B**2 / h], [B / h], [1 + reach]])
    rough = (facts.moments.count + 1) * float(_tails(event, anybody, anybody, facts.adding)[0])
    if rough <= _SHARE * facts.certificate.guarantee.delta:
        return rough

    def look(rows: EncodedRows) -> Floats:
        x = rows.Z[:, X]
        u, eta = x @ fit.inverse, x @ fit.theta
        m, norm = np.einsum("ij,ij->i", u, x), np.sqrt(np.einsum("ij,ij->i", u, u))
        return np.stack([eta, np.maximum(m, 0.0), norm, rows.Z[:, y] - eta])

    table = facts.survey(look)
    if not facts.adding:
        return float(_tails(event, table, table, adding=False).sum())
    changed = facts.survey_targets(look)
    return float(_tails(event, table, changed, adding=True).sum() + _tails(event, changed, changed, adding=True).max())


def _tails(event: ObjectiveEvent, known: Floats, changed: Floats, adding: bool) -> Floats:
    """Bound the tail of each prediction over all tables in which one of the changed rows is added or removed.

    Rows are given by x'theta_hat, m, |H^-1 x| and the residual.
    """
    _, m, norm, r = changed
    grown = 1 + m if adding else 1 - m
    if not np.all(grown > 0):
        return np.ones(known.shape[1])
    pull = np.sqrt(m) / grown
    shift, spread = float((pull * np.abs(r)).max()), float((pull * norm).max())
    eta, m, norm, _ = known
    room = event.loss.slope - 1.0 - np.abs(eta) - np.sqrt(m) * shift
    sd = np.maximum(event.scale * (norm + np.sqrt(m) * spread), 1e-300)
    return np.where(room > 0, 2 * ndtr(-room / sd), 1.0)


# ---------------------------------------------------------------- the closed form


@dataclass(frozen=True)
class SquaredCurve:
    """The privacy curve of one minimiser under squared loss, from m, s = x'H^-2 x, r and |x|^2 of each row.

    `failure` is the probability that the minimiser does not have this law; it is added to delta.
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
        """Return the size of the loss at the mean of R plus that of its variation in R."""
        _, s, r, x2 = statistics
        found: Floats = np.sqrt(x2 * (r**2 / self.sigma**2 + s))
        return found


def _statistics(rows: LeaveOneOut) -> Floats:
    """Stack m, s, r and |x|^2."""
    return np.stack([rows.leverage, rows.second, rows.residual, rows.norm2])


def _quadratics(statistics: Floats, sigma: float, mu: Floats) -> tuple[Quadratic, Quadratic]:
    """Write the loss in normals: R = sigma sqrt(s) (rho + Z1), u = sigma (m Z1 + n Z2)/sqrt(s), n^2 = s |x|^2 - m^2."""
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
    """Integrate the hockey stick of l = (2 sign R u + |x|^2 R^2)/(2 sigma^2) + log over R.

    R = r + v, with v ~ N(0, sigma^2 s) and Cov(u, v) = sigma^2 m sign.
    """
    r, m, s, x2 = statistics
    log = log + mu**2 / 2
    sd = sigma * np.sqrt(s)
    slope = m / s  # slope of E[u | v] in v, for theta = theta_hat - H^-1 b in both tables
    spread = np.sqrt(np.maximum(x2 - m * slope, 0.0)) / sigma  # standard deviation of l over R, given v
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
    """Integrate over v from left to right."""
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
    """Return the ends of the range and, inside it, the roots and the vertex of a v^2 + b v + c."""
    ends = _REACH * sd
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))
        inner = [(-b - root) / (2 * a), -b / (2 * a), (-b + root) / (2 * a)]
    clipped = [np.clip(np.where(np.isfinite(point), point, 0.0), -ends, ends) for point in inner]
    return list(np.sort(np.stack([-ends, *clipped, ends]), axis=0))


def _above(mean: Floats, sd: Floats, e: Floats) -> Floats:
    """Compute E (1 - e^(epsilon - l))+ for l ~ N(mean, sd^2): phi(z) (M(-z) - M(sd - z)), M the Mills ratio."""
    over = mean - e
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        z = over / sd
        high = np.clip(z, -38.0, 8.0)
        found = np.exp(-(high**2) / 2) * (erfcx(-high / _ROOT2) - erfcx((sd - high) / _ROOT2)) / 2
        far = ~(z < 8)  # or no spread at all
        if far.any():
            found[far] = np.where(over[far] > 0, -np.expm1(np.minimum(sd[far] ** 2 / 2 - over[far], 0.0)), 0.0)
    return np.clip(np.where(far | (z > -38), found, 0.0), 0.0, 1.0)
