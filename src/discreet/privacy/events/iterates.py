"""Events of gradient descent, of sampled batches and of aggregated blocks: ``docs/mathematics.md``, 8.8 to 8.10."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

from discreet.privacy import gdp
from discreet.privacy.events.coefficients import ROUND_UP, CoefficientEvent, grouped
from discreet.privacy.laws import Alone, Law
from discreet.privacy.points import MAX_POINTS, pack, unpack

_MULTIPLIERS, _LEAST_RATE = (0.04, 1e6), 2.0**-21
"""What curves are computed for; more noise counts as the most of it."""


@dataclass(frozen=True, kw_only=True)
class DescentEvent(CoefficientEvent):
    """Gradients with Gaussian noise, at public points.

    `iterates` holds these, one after the other: what a row lost depends on them. In files they are one text (`points`).
    """

    exact: ClassVar[bool] = True
    signed: ClassVar[tuple[str, ...]] = ("iterates",)

    iterates: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return super().to_dict() | {"iterates": pack(self.iterates, len(self.design))}

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> Self:
        """Rebuild an event from `to_dict`."""
        return super().from_dict(facts | {"iterates": unpack(facts["iterates"], len(facts["design"]))})


@dataclass(frozen=True, kw_only=True)
class GradientEvent(DescentEvent):
    """Gradients X'X theta - X'y with Gaussian noise of an sd that costs `step_mu`, whatever theta is."""

    mechanism: ClassVar[str] = "noisy gradient descent"
    name: ClassVar[str] = "gradients"

    step_mu: float

    @cached_property
    def sizes(self) -> tuple[float, ...]:
        """Norms of the iterates, rounded up."""
        d = len(self.design)
        points = (self.iterates[at : at + d] for at in range(0, len(self.iterates), d))
        return tuple(math.hypot(*theta) * ROUND_UP for theta in points)

    @cached_property
    def sds(self) -> tuple[float, ...]:
        """Of the noise on each gradient."""
        return tuple(self.sd_at(size) for size in self.sizes)

    def sd_at(self, size: float) -> float:
        """Of the noise on the gradient at an iterate of this norm."""
        return gradient_change(self, size) / self.step_mu * ROUND_UP

    @cached_property
    def mu(self) -> float:
        """Gaussian releases compose exactly, adapted to each other or not."""
        steps = zip(self.sizes, self.sds, strict=True)
        return gdp.compose(gradient_change(self, size) / sd for size, sd in steps) * ROUND_UP

    def keeps(self) -> bool:
        """Whether there is a step, and descent starts at 0."""
        return len(self.iterates) > 0 and self.sizes[0] == 0


def gradient_change(event: GradientEvent, size: float) -> float:
    """How far one row moves the gradient at an iterate of this norm: x (x'theta - y) is its own."""
    once = event.norm * (event.outcome + event.norm * size) * ROUND_UP
    return 2 * once if event.neighbors == "replace-one" else once


@dataclass(frozen=True, kw_only=True)
class BatchesEvent(DescentEvent):
    """Sums of clipped gradients of rows that are drawn into each batch independently, with Gaussian noise.

    The promise does not depend on the iterates.
    """

    mechanism: ClassVar[str] = "noisy stochastic gradient descent"
    name: ClassVar[str] = "gradients of sampled batches"

    rate: float
    steps: int
    clip: float
    sd: float

    @property
    def law(self) -> Law:
        """The curve by privacy loss distributions, pessimistic."""
        multiplier = self.sd / self.clip * (2 - ROUND_UP)
        if not self._is_accounted(multiplier):
            return Alone(lambda epsilon: 1.0)
        curve = sampled_curve(min(multiplier, _MULTIPLIERS[1]), self.rate, self.steps)
        return Alone(grouped(curve) if self.neighbors == "replace-one" else curve)

    def keeps(self) -> bool:
        """Whether the rate is one, and there is an iterate for each step."""
        return self.rate <= 1 and len(self.iterates) == self.steps * len(self.design)

    def _is_accounted(self, multiplier: float) -> bool:
        """Whether the accountant can tell the curve: for others it would need more memory than there is."""
        whole = self.steps == int(self.steps) and self.steps <= MAX_POINTS
        return whole and _MULTIPLIERS[0] <= multiplier and _LEAST_RATE <= self.rate <= 1


@lru_cache(maxsize=64)
def sampled_curve(multiplier: float, rate: float, steps: int) -> Any:
    """delta(epsilon) of a Gaussian of this noise multiplier on Poisson samples, so many times, add-remove.

    Examples
    --------
    >>> sampled_curve(2.0, 0.01, 100)(1.0) < 1e-6
    True
    """
    from dp_accounting.pld import privacy_loss_distribution

    loss = privacy_loss_distribution.from_gaussian_mechanism(
        multiplier,
        sampling_prob=rate,
        value_discretization_interval=1e-3,
    ).self_compose(int(steps))
    return lambda epsilon: 1.0 if epsilon < 0 else float(loss.get_delta_for_epsilon(epsilon)) * (1 + 1e-6) + 1e-14


@dataclass(frozen=True, kw_only=True)
class AggregateEvent(CoefficientEvent):
    """The sum of the coefficients of disjoint blocks of rows, each clipped to a ball, with Gaussian noise."""

    mechanism: ClassVar[str] = "subsample and aggregate"
    name: ClassVar[str] = "mean of the coefficients of blocks"
    exact: ClassVar[bool] = True

    blocks: int
    radius: float
    sd: float

    @property
    def mu(self) -> float:
        """One row is in one block, whose clipped coefficients move by at most the diameter of the ball."""
        return 2 * self.radius * ROUND_UP / self.sd

    def keeps(self) -> bool:
        """Whether there is a block."""
        return self.blocks >= 1


def least_multiplier(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """The least noise multiplier, up to 0.1 %, whose curve keeps (epsilon, delta).

    Examples
    --------
    >>> 0.5 < least_multiplier(1.0, 1e-6, 0.01, 10) < 2
    True
    """
    low, high = 0.05, 1.0
    while sampled_curve(high, rate, steps)(epsilon) > delta:
        low, high = high, high * 2
    while high > low * 1.001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if sampled_curve(middle, rate, steps)(epsilon) <= delta else (middle, high)
    return high
