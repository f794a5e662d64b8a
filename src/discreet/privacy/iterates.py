"""Events of gradient descent, of sampled batches and of aggregated blocks: ``docs/mathematics.md``, 8.8 to 8.10."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from discreet.privacy import gdp
from discreet.privacy.coefficients import ROUND_UP, CoefficientEvent, grouped
from discreet.privacy.laws import Alone, Law


@dataclass(frozen=True, kw_only=True)
class GradientEvent(CoefficientEvent):
    """Gradients X'X theta - X'y with Gaussian noise: norms of the iterates that they were taken at, and sds.

    `iterates` holds these, one after the other: they are public, and what a row lost depends on them.
    """

    mechanism: ClassVar[str] = "noisy gradient descent"
    name: ClassVar[str] = "gradients"
    exact: ClassVar[bool] = True
    from_zero: ClassVar[tuple[str, ...]] = ("sizes",)
    signed: ClassVar[tuple[str, ...]] = ("iterates",)

    sizes: tuple[float, ...]
    sds: tuple[float, ...]
    iterates: tuple[float, ...]

    @cached_property
    def mu(self) -> float:
        """Gaussian releases compose exactly, adapted to each other or not."""
        steps = zip(self.sizes, self.sds, strict=True)
        return gdp.compose(gradient_change(self, size) / sd for size, sd in steps) * ROUND_UP

    def keeps(self) -> bool:
        """Whether the norms are those of the iterates."""
        d = len(self.design)
        points = [self.iterates[at : at + d] for at in range(0, len(self.iterates), d)]
        return len(self.iterates) == d * len(self.sizes) and all(
            math.hypot(*theta) <= size * ROUND_UP for theta, size in zip(points, self.sizes, strict=True)
        )


def gradient_change(event: GradientEvent, size: float) -> float:
    """How far one row moves the gradient at an iterate of this norm: x (x'theta - y) is its own."""
    once = event.norm * (event.outcome + event.norm * size) * ROUND_UP
    return 2 * once if event.neighbors == "replace-one" else once


@dataclass(frozen=True, kw_only=True)
class BatchesEvent(CoefficientEvent):
    """Sums of clipped gradients of rows that are drawn into each batch independently, with Gaussian noise.

    `iterates` holds the points that they were taken at, one after the other; the promise does not depend on them.
    """

    mechanism: ClassVar[str] = "noisy stochastic gradient descent"
    name: ClassVar[str] = "gradients of sampled batches"
    exact: ClassVar[bool] = True
    signed: ClassVar[tuple[str, ...]] = ("iterates",)

    rate: float
    steps: int
    clip: float
    sd: float
    iterates: tuple[float, ...] = ()

    @property
    def law(self) -> Law:
        """The curve by privacy loss distributions, pessimistic."""
        curve = sampled_curve(self.sd / self.clip * (2 - ROUND_UP), self.rate, self.steps)
        return Alone(grouped(curve) if self.neighbors == "replace-one" else curve)

    def keeps(self) -> bool:
        """Whether the rate is one."""
        return self.rate <= 1 and self.steps == int(self.steps)


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
