r"""Per-instance losses of posterior samples (docs/mathematics, 8.1, 10.3).

Their parts need the exact moments: theta_hat and H are private, and computed anew. Where earlier releases fixed the
penalty and the noise (AdaOPS, output perturbation), the loss is that of all stages with the noise that was used (10.4).

*The curve of a posterior sample.* With m, rho = sqrt(gamma) abs(r), s^2 = 1 + m and K = log(1 + m) + rho^2/(1 + m), the
loss is (w^2 - K)/2 with w ~ N(rho, m) without the row. Alone it has a closed form, to a relative 1e-8. Beside a mu-GDP
part, whose loss is mu Z + mu^2/2, the sum is nearly linear in two normals for most rows, and `quadratic` gives its
curve or a relative 6e-4 more. For the others the hockey stick is the mean of one part's curve over the other part's
loss: of the smaller over the larger, so that what is integrated is smooth. Its relative error is below 1e-6, but for
rho < 3 sqrt(m), where up to 1e-3 is added for it. The direction without the row against with it is the worse one from
epsilon = 0 on (8.2 and 10.9).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from discreet.core.arrays import Floats
from discreet.core.rounding import FEW, down, up
from discreet.mechanisms.posterior_sampling.adaptive_event import AdaptiveEvent, StagedEvent, log_norm_change
from discreet.mechanisms.posterior_sampling.event import BallEvent, PosteriorEvent, tolerance
from discreet.per_instance.curves import normal_points
from discreet.per_instance.mechanisms.gaussian import of_block
from discreet.per_instance.mechanisms.parts import LossFacts, Part, own_curve, parts_of
from discreet.per_instance.quadratic import ROUNDED, Quadratic, line, nearly_linear
from discreet.per_instance.stream import EncodedRows
from discreet.privacy import gdp
from discreet.privacy.events.gaussian import Block
from discreet.privacy.laws import Law, Point, gaussian_curve

GIVEN = "for the penalty and the noise that followed from what was released before"
_LEVELS = 256  # number of levels to which sizes of rows are rounded up, where a part has no curve
REPLACED = "the certificate's own bound for everybody, through the table without the row"

_Z, _W = normal_points(4)
_Z = _Z[:, None]
_RULES = ((0.02, line(2)), (0.05, line(3)), (0.15, line(5)), (0.2, line(9)))
_LEAST = 1e-200
_UP = 1 + 1e-8
_NEAR_0 = 1 + 1e-3  # exceeds the error of the integral for tiny residuals, rho < 3 sqrt(m)


@parts_of(PosteriorEvent, moments=lambda event: event.neighbors == "add-remove")
def _posterior(event: PosteriorEvent, facts: LossFacts) -> list[Part]:
    """Use the exact curve of the row, and add the cost of hiding rounding errors as the certificate does."""
    if facts.replaces:
        return own_curve(event, facts, REPLACED)
    hidden = gdp.delta(2 * event.tolerance / event.output, event.spare)
    spare = min(event.spare, gdp.epsilon(2 * _tolerance(event, facts, event.penalty) / event.output, hidden))
    return [_draw(event, facts, PosteriorCurve(event.gamma, spare, hidden))]


@parts_of(AdaptiveEvent, moments=lambda event: event.neighbors == "add-remove")
def _adaptive(event: AdaptiveEvent, facts: LossFacts) -> list[Part]:
    """List the two releases, the sample, and the noise that hides its rounding errors."""
    if facts.replaces:
        return own_curve(event, facts, REPLACED)
    rounding = (2 * _tolerance(event, facts, event.h) / event.output) ** 2
    return [
        *stages(event, facts),
        _draw(event, facts, PosteriorCurve(event.gamma), f"{GIVEN}; {ROUNDED}"),
        Part("noise that hides rounding errors", lambda rows: rounding * rows.present, rounding),
    ]


@parts_of(BallEvent)
def _in_ball(event: BallEvent, facts: LossFacts) -> list[Part]:
    """Bound the pure epsilon of a row by (|y| + |x| radius)^2 gamma/2, rounded up to one of some levels."""
    if facts.replaces:
        return own_curve(event, facts)
    X, y = facts.domain.indices(event.design), facts.domain.indices([event.target])[0]
    sizes = (event.outcome + event.norm * event.radius) * np.arange(1, _LEVELS + 1) / _LEVELS
    laws: tuple[Law, ...] = (Point(0.0), *(Point(up(event.gamma * size**2 / 2)) for size in sizes.tolist()))

    def level(rows: EncodedRows) -> Floats:
        size = np.abs(rows.Z[:, y]) + np.sqrt(rows.norm2(X)) * event.radius
        places = np.searchsorted(sizes, down(size, FEW)) + 1.0
        return np.where(size > 0, np.minimum(places, _LEVELS), 0.0)

    note = "a bound from the norm of the row: the sum over the ball has no closed form"
    return [Part(event.name, level, note=note, laws=laws)]


def _tolerance(event: PosteriorEvent | AdaptiveEvent, facts: LossFacts, h: float) -> float:
    """Bound the rounding errors of the draw for this table and its neighbours, instead of for every table."""
    fit, d, B = facts.ridge(event.design, event.target, event.penalty), len(event.design), event.norm
    h = max(h, float(fit.values[0]) + event.penalty - (0.0 if facts.adding else B**2))
    size = float(np.linalg.norm(fit.theta))
    moved = B / h * (event.outcome + B * size)
    return min(event.tolerance, tolerance(d, float(np.trace(fit.H)) + B**2, h, size + moved, event.gamma))


def _draw(event: PosteriorEvent | AdaptiveEvent, facts: LossFacts, curve: PosteriorCurve, given: str = "") -> Part:
    """Describe the sample by leave-one-out m and r; the worst row has the largest norm and the largest residual."""
    fit = facts.ridge(event.design, event.target, event.penalty)
    B, Y = event.norm, event.outcome
    corner = np.array([B**2 / (fit.values[0] + event.penalty), Y + B * float(np.linalg.norm(fit.theta))])

    def cost(rows: EncodedRows) -> Floats:
        found = facts.leave_one_out(rows, event.design, event.target, event.penalty)
        return np.stack([found.leverage, found.residual])

    return Part("posterior sample", cost, corner, given=given, curve=curve)


def stages(event: StagedEvent, facts: LossFacts) -> list[Part]:
    """List the least eigenvalue, and log(Y + B |theta|) if it was released."""
    found = [of_block(Block("eigenvalue", event.design, (), event.eigenvalue_sd), facts)]
    if event.norm_sd is None:
        return found
    B, Y, sd = event.norm, event.outcome, event.norm_sd
    worst = log_norm_change(event)
    error = worst - math.log1p(B**2 / event.h)

    def cost(rows: EncodedRows) -> Floats:
        one = facts.leave_one_out(rows, event.design, event.target, event.penalty)
        moved = np.abs(np.log((Y + B * one.coef_norm_with) / (Y + B * one.coef_norm_without)))
        return ((moved + error * rows.present) / sd) ** 2

    return [*found, Part("log norm of the coefficients", cost, (worst / sd) ** 2, given=GIVEN)]


# ---------------------------------------------------------------- the curve of a posterior sample


@dataclass(frozen=True)
class PosteriorCurve:
    """The privacy curve of one draw of precision `gamma`, from m and r of each row.

    The noise that hides rounding errors of the draw is (spare, failure)-private; added as in the certificate.
    """

    width: ClassVar[int] = 2

    gamma: float
    spare: float = 0.0
    failure: float = 0.0

    def delta(self, epsilon: Floats, mu: Floats, statistics: Floats) -> Floats:
        """The worse of the two directions: below 0 the other one, HS_e(Q, P) = 1 - e^e + e^e HS_-e(P, Q)."""
        m, rho = np.maximum(statistics[0], _LEAST), np.sqrt(self.gamma) * np.abs(statistics[1])
        e, alone = epsilon - self.spare, mu == 0
        if alone.all():
            found = _without(np.abs(e), m, rho)
        else:
            found = _beside(np.abs(e), mu, m, rho)
            found[alone] = _without(np.abs(e[alone]), m[alone], rho[alone])
        if self.spare:
            below = np.exp(np.minimum(e, 0.0))
            found = 1 - below + below * found
        return found * _UP + self.failure

    def size(self, statistics: Floats) -> Floats:
        """The standard deviation of the loss."""
        m, rho = statistics[0], np.sqrt(self.gamma) * np.abs(statistics[1])
        found: Floats = np.sqrt(m * (rho**2 + m / 2))
        return found


def _without(e: Floats, m: Floats, rho: Floats) -> Floats:
    """The hockey stick without against with the row: P(abs(w) > t) - e^epsilon Q(abs(w) > t), t^2 = K + 2 epsilon.

    At the thresholds p = e^epsilon q, so a tail is phi(a) (M(a) - M(b)/s), M the Mills ratio.
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


def _beside(e: Floats, mu: Floats, m: Floats, rho: Floats) -> Floats:
    """The curve of the draw together with a mu-GDP part, for epsilon >= 0: never too small.

    It is too large by a relative 6e-4 at most, or 2e-3 where rho < 3 sqrt(m).
    """
    gap = m * rho**2 / (1 + m) - np.log1p(m)
    loss = Quadratic(m / 2, 0.0, rho * np.sqrt(m), 0.0, mu, (gap + mu**2) / 2)

    def otherwise(rows: NDArray[np.bool_]) -> Floats:
        found: Floats = _integrated(*(a[rows] for a in (e, mu, m, rho)))
        return found * np.where(rho[rows] ** 2 < 9 * m[rows], _NEAR_0, 1.0)

    return nearly_linear(loss, e, _RULES, otherwise)


def _integrated(e: Floats, mu: Floats, m: Floats, rho: Floats) -> Floats:
    """The curve of the draw together with a mu-GDP part as an integral, for any row."""
    found, large = np.empty(len(e)), mu**2 >= m * (rho**2 + m / 2)
    for chosen, way in ((large, _over_draw), (~large, _over_gaussian)):
        if chosen.any():
            found[chosen] = _W @ way(*(a[chosen] for a in (e, mu, m, rho)))
    return found


def _over_draw(e: Floats, mu: Floats, m: Floats, rho: Floats) -> Floats:
    """The Gaussian curve at epsilon minus the loss of the draw, at the points of the integral."""
    K = np.log1p(m) + rho**2 / (1 + m)
    return gaussian_curve(mu, e - ((rho + np.sqrt(m) * _Z) ** 2 - K) / 2)  # type: ignore[arg-type]


def _over_gaussian(e: Floats, mu: Floats, m: Floats, rho: Floats) -> Floats:
    """The curve of the draw at epsilon minus the loss of the Gaussian part."""
    left = e - mu * _Z - mu**2 / 2
    return _without(left, *np.broadcast_arrays(m, rho, left)[:2])


def _tail(a: Floats, b: Floats, e: Floats, s: Floats) -> Floats:
    """The tail Q(a) - e^epsilon Q(b), where phi(a) = e^epsilon s phi(b)."""
    root2 = np.sqrt(2.0)
    with np.errstate(over="ignore", under="ignore"):
        mills = (erfcx(np.maximum(a, -6.0) / root2) - erfcx(np.maximum(b, -6.0) / root2) / s) / 2
        tail: Floats = np.exp(-np.minimum(a**2 / 2, 750.0)) * mills
        if (a < -6).any():
            return np.where(a < -6, ndtr(-a) - np.exp(np.minimum(e, 700.0)) * ndtr(-b), tail)
    return tail
