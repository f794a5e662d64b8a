"""How much noise, and how much penalty, a promise needs from objective perturbation; from public facts only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from discreet.core.checks import Neighbors
from discreet.errors import ParameterError
from discreet.privacy import accounting
from discreet.privacy.events.kinds import Event
from discreet.privacy.events.objective import Noise, ObjectiveEvent
from discreet.privacy.losses import Loss
from discreet.privacy.rounding import gradient_error, most_rows

OUTPUT_SHARE = 0.1
"""The noise on the result has a tenth of the mu (a fiftieth of the epsilon) of that in the objective."""

SIZE = 32.0
"""The tolerance covers rounding errors at coefficients of this norm at least, in units of the mapped columns."""


@dataclass(frozen=True)
class Calibration:
    """The public facts that noise is fitted to.

    Parameters
    ----------
    loss, design, norm : Loss, tuple of str, float
        The loss, the regressors, and the bound on their norm in a row.
    epsilon, delta, neighbors, noise : float, float, str, str
        The promise, and the law of the noise.
    rows : int, optional
        The declared number of rows: solvers of larger tables need a larger tolerance.
    """

    loss: Loss
    design: tuple[str, ...]
    norm: float
    epsilon: float
    delta: float
    neighbors: Neighbors = "add-remove"
    noise: Noise = "gaussian"
    rows: int | None = None

    def event(self, modulus: float, scale: float, declared: tuple[float, float] | None = None) -> ObjectiveEvent:
        """A perturbed minimiser with this noise, its tolerance and the noise on the result that hides it."""
        L = self.norm * self.loss.slope
        needed = 1.6 * gradient_error(self.loss, len(self.design), self.norm, most_rows(self.rows), SIZE)
        tolerance = max(2.0**-24 * scale, needed, 2.0**-36 * modulus)
        share = OUTPUT_SHARE if self.noise == "gaussian" else OUTPUT_SHARE / 5
        output = 2 * tolerance / modulus / (share * L / scale)
        facts = (self.loss, self.design, self.norm, modulus, scale, tolerance, output, self.neighbors, self.noise)
        return ObjectiveEvent(*facts, declared)

    def calibrate(self, modulus: float, count: int = 1, others: Sequence[Event] = ()) -> ObjectiveEvent:
        """The event with the least noise of which `count` keep the promise together, beside others."""

        def holds(scale: float) -> bool:
            events = [*others, *[self.event(modulus, scale)] * count]
            if self.noise == "laplace":  # pure, whatever delta is
                return accounting.epsilon(events, self.delta) <= self.epsilon
            return accounting.delta(events, self.epsilon) <= self.delta

        scale = least_scale(holds, self.norm * self.loss.slope / self.epsilon)
        if scale is None:
            raise ParameterError(
                f"No noise keeps epsilon = {self.epsilon:g} with a penalty of {modulus:g}: its quadratic part must be "
                f"larger. Leave alpha=None to have it chosen, or choose {2 * self.least_modulus(count):.3g} or more."
            )
        return self.event(modulus, scale)

    def stage(self, modulus: float) -> ObjectiveEvent:
        """The event with the least noise that keeps this promise on its own, declared beforehand."""
        return replace(self.calibrate(modulus), declared=(self.epsilon, self.delta))

    def least_modulus(self, count: int = 1) -> float:
        """The modulus from which the penalty costs little privacy: all of it for noise, hardly any for curvature.

        Where curvature vanishes at the largest slopes nothing is lost from 4b/epsilon on (mathematics.md, 7.3), for
        add-remove neighbours; elsewhere J = log(1 + b/lambda) is to be at most the loss's share of epsilon: a tenth,
        and a quarter for Poisson regression (docs/glm.md).
        """
        b, each = self.norm**2 * self.loss.curvature, self.epsilon / math.sqrt(count)
        free = self.loss.bell and self.neighbors == "add-remove"
        return 4 * b / each if free else b / math.expm1(each * self.loss.share)


def least_scale(holds: Callable[[float], bool], start: float) -> float | None:
    """The least scale, up to a relative 1e-6, that keeps a promise; None where none up to 2^20 starts does."""
    low, high = start / 2, start
    while holds(low):
        low, high = low / 2, low
        if high < start * 2.0**-60:
            return high
    while not holds(high):
        low, high = high, high * 2
        if high > start * 2.0**20:
            return None
    while high / low > 1 + 1e-6:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
