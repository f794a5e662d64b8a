"""Events of gradient descent and of sampled batches: ``docs/mathematics``, 8.8 and 8.9.

Iterates are points of the lattice 2^-16, so that their gradients are exact; files keep them in one text.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.field_kinds import whole
from discreet.core.fields import FieldKind
from discreet.core.rounding import down, up
from discreet.errors import FileFormatError, MissingPackageError
from discreet.privacy import gdp
from discreet.privacy.events.coefficients import POSITIVE, CoefficientEvent, described, grouped
from discreet.privacy.laws import Alone, Law

POINT_BITS = 16
"""Iterates are multiples of 2^-16."""

MAX_POINTS = 10_000

ACCOUNTANT = 1e-6
"""The relative error allowed for dp-accounting; 1e-14 is added for the mass it truncates (docs/mathematics, 8.9)."""

_MULTIPLIERS, _LEAST_RATE = (0.04, 1e6), 2.0**-21
"""The noise multipliers and the least rate for which curves are computed; larger multipliers count as the largest."""


@dataclass(frozen=True, kw_only=True)
class DescentEvent(CoefficientEvent):
    """Gradients with Gaussian noise, at public points.

    `iterates` holds these, one after the other; the loss of a row depends on them. In files they are one text (`pack`).
    """

    exact: ClassVar[bool] = True

    iterates: tuple[float, ...] = ()

    @property
    def listed_numbers(self) -> list[float]:
        """The numbers that it lists, and the last iterates."""
        return [*super().listed_numbers, *self.iterates[-8:]]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return super().to_dict() | {"iterates": pack(self.iterates, len(self.design))}

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Rebuild an event from `to_dict`."""
        return super().from_dict({**facts, "iterates": unpack(facts["iterates"], len(facts["design"]))})


_ITERATES = FieldKind({"type": "string"}, read=tuple)(
    "Base64 of zlib of 32-bit little-endian integers: the first point, then the step from each to the next, in units "
    "of 2^-16."
)


@described("gradient_descent", "Gradients with noise.", step_mu=POSITIVE("The cost of each step."), iterates=_ITERATES)
@dataclass(frozen=True, kw_only=True)
class GradientEvent(DescentEvent):
    """Gradients X'X theta - X'y with Gaussian noise whose sd is such that each costs `step_mu`, for any theta."""

    mechanism: ClassVar[str] = "noisy gradient descent"
    name: ClassVar[str] = "gradients"

    step_mu: float

    @cached_property
    def sizes(self) -> tuple[float, ...]:
        """Norms of the iterates, rounded up."""
        d = len(self.design)
        points = (self.iterates[at : at + d] for at in range(0, len(self.iterates), d))
        return tuple(up(math.hypot(*theta)) for theta in points)

    @cached_property
    def sds(self) -> tuple[float, ...]:
        """The noise sd of each gradient."""
        return tuple(self.sd_at(size) for size in self.sizes)

    def sd_at(self, size: float) -> float:
        """The noise sd of the gradient at an iterate of this norm."""
        return up(gradient_change(self, size) / self.step_mu)

    @cached_property
    def mu(self) -> float:
        """The mu of all steps; Gaussian releases compose exactly, adaptive or not."""
        steps = zip(self.sizes, self.sds, strict=True)
        return up(gdp.compose(gradient_change(self, size) / sd for size, sd in steps))

    def keeps(self) -> bool:
        """Whether there is a step, and the descent starts at 0."""
        return len(self.iterates) > 0 and self.sizes[0] == 0


def gradient_change(event: GradientEvent, size: float) -> float:
    """The sensitivity of the gradient at an iterate of this norm; a row contributes x (x'theta - y)."""
    once = up(event.norm * (event.outcome + event.norm * size))
    return 2 * once if event.neighbors == "replace-one" else once


@described("stochastic_descent", "Gradients of sampled batches with noise.", steps=whole(1), iterates=_ITERATES)
@dataclass(frozen=True, kw_only=True)
class BatchesEvent(DescentEvent):
    """Sums of clipped gradients with Gaussian noise; each row is drawn into each batch independently.

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
        """The pessimistic curve from privacy loss distributions."""
        multiplier = down(self.sd / self.clip)
        if not self._is_accounted(multiplier):
            return Alone(lambda epsilon: 1.0)
        curve = sampled_curve(min(multiplier, _MULTIPLIERS[1]), self.rate, self.steps)
        return Alone(grouped(curve) if self.neighbors == "replace-one" else curve)

    def keeps(self) -> bool:
        """Whether the rate is a probability, and there is an iterate for each step."""
        return self.rate <= 1 and len(self.iterates) == self.steps * len(self.design)

    def _is_accounted(self, multiplier: float) -> bool:
        """Whether the accountant can compute the curve; for other parameters it would run out of memory."""
        whole = self.steps == int(self.steps) and self.steps <= MAX_POINTS
        return whole and _MULTIPLIERS[0] <= multiplier and _LEAST_RATE <= self.rate <= 1


@lru_cache(maxsize=64)
def sampled_curve(multiplier: float, rate: float, steps: int) -> Any:
    """The curve delta(epsilon) of so many Poisson-sampled Gaussian releases of this noise multiplier, add-remove."""
    try:
        from dp_accounting.pld import privacy_loss_distribution
    except ImportError:
        raise MissingPackageError(
            "The privacy loss of sampled batches, as NoisySGD draws them, is computed by the package dp-accounting, "
            'which is not installed: pip install "discreet[sgd]"'
        ) from None

    once = privacy_loss_distribution.from_gaussian_mechanism(
        multiplier, sampling_prob=rate, value_discretization_interval=1e-3
    )
    loss = once.self_compose(int(steps))
    return lambda epsilon: 1.0 if epsilon < 0 else up(float(loss.get_delta_for_epsilon(epsilon)), ACCOUNTANT) + 1e-14


def least_multiplier(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """The least noise multiplier whose curve keeps (epsilon, delta), to 0.1 %.

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


def kept(theta: Floats, radius: float) -> Floats:
    """The lattice point near theta, or near its projection onto a ball."""
    inside = theta * min(1.0, radius / max(float(np.linalg.norm(theta)), 1e-300))
    rounded: Floats = np.ldexp(np.rint(np.ldexp(inside, POINT_BITS)), -POINT_BITS)
    return rounded


def pack(points: tuple[float, ...], width: int) -> str:
    """Points of so many coordinates, one after the other, as text: base64 of zlib of 32-bit integers.

    The integers are the first point and the steps from each point to the next, in units of 2^-16, little-endian.
    """
    whole = np.ldexp(np.reshape(points, (-1, width)), POINT_BITS)
    steps = np.diff(whole, axis=0, prepend=0.0)
    return base64.b64encode(zlib.compress(steps.astype("<i4").tobytes(), 9)).decode("ascii")


def unpack(text: str, width: int) -> list[float]:
    """The points that `pack` encoded."""
    try:
        unpacker, size = zlib.decompressobj(), 4 * max(width, 1)
        steps = unpacker.decompress(base64.b64decode(text, validate=True), size * MAX_POINTS)
        if not unpacker.eof or unpacker.unused_data or len(steps) % size:
            raise ValueError
    except (TypeError, ValueError, zlib.error):
        raise FileFormatError("An event of the release lists iterates that are damaged.") from None
    whole = np.cumsum(np.frombuffer(steps, dtype="<i4").reshape(-1, size // 4).astype(np.int64), axis=0)
    points: list[float] = np.ldexp(whole.astype(float), -POINT_BITS).ravel().tolist()
    return points
