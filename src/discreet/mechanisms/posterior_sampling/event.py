"""The event of one posterior sample that is calibrated from public facts (OPS): ``docs/mathematics``, 8.3 and 8.7.

H = X'X + lambda I has d columns, eigenvalues of at least h, and a trace of at most t. In double precision, with
Cholesky's factor, the computed coefficients err by at most `relative` times their norm, the computed draw by at most
`tolerance`. Noise of sd `output` on top of the draw hides that. It costs (`spare`, delta') by the Gaussian curve of
mu = 2 tolerance/output, and this is added to the exact curve of the draw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from discreet.core.chance import length
from discreet.core.field_kinds import maybe
from discreet.core.rounding import up
from discreet.privacy import gdp
from discreet.privacy.events.coefficients import (
    FROM_ZERO,
    POSITIVE,
    CoefficientEvent,
    UnaccountedEvent,
    described,
    grouped,
)
from discreet.privacy.laws import Alone, Law, Point
from discreet.privacy.ops import GOLDEN, boxes, coefficient_bound, worst_delta

SPARE_EPSILON, SPARE_DELTA = 1 / 512, 1 / 1024
"""The shares of epsilon and delta that hide rounding errors."""

ROWS = 1 << 24
"""The number of rows that bounds the trace where none is declared."""

_Z_EXCESS = 12.0
"""The norm of d standard normals exceeds sqrt(d) + 12 with a probability below 1e-31."""


@described("posterior_sampling", "OPS.")
@dataclass(frozen=True, kw_only=True)
class PosteriorEvent(CoefficientEvent):
    """A sample theta ~ N(theta_hat, H^-1/gamma), H = X'X + penalty I, for tables of at most `rows` rows."""

    mechanism: ClassVar[str] = "posterior sampling"
    name: ClassVar[str] = "posterior sample"

    rows: float
    penalty: float
    gamma: float
    spare: float
    tolerance: float
    output: float

    @property
    def law(self) -> Law:
        """The exact curve of the worst row, plus the cost of hiding rounding errors."""
        return Alone(grouped(self._curve) if self.neighbors == "replace-one" else self._curve)

    def keeps(self) -> bool:
        """Whether rounding errors are within the tolerance."""
        d, h = len(self.design), self.penalty
        size = coefficient_bound(h, self.rows, self.norm, self.outcome)
        return tolerance(d, trace_bound(d, self.norm, h, self.rows), h, size, self.gamma) <= self.tolerance

    def reach(self, rows: int | None) -> float:
        """A bound on the ridge coefficients of so many rows, plus a bound on the draw and its noise."""
        own = coefficient_bound(self.penalty, self.rows, self.norm, self.outcome)
        d = len(self.design)
        return own + length(d, 1 / math.sqrt(self.gamma * self.penalty)) + length(d, self.output)

    def _curve(self, epsilon: float) -> float:
        if epsilon < self.spare or self.norm**2 / self.penalty > GOLDEN:
            return 1.0
        hidden = gdp.delta(up(2 * self.tolerance / self.output), self.spare)
        m, R = boxes(self.penalty, self.rows, self.norm, self.outcome)
        worst = worst_delta(epsilon - self.spare, m, up(R * self.gamma**0.5))
        return up(float(worst.max()) + hidden)


@described("ball_sampling", "OPS within a ball: pure epsilon.")
@dataclass(frozen=True, kw_only=True)
class BallEvent(CoefficientEvent):
    """A posterior sample from the lattice points with |theta| <= radius, exactly: pure epsilon (8.3)."""

    mechanism: ClassVar[str] = "posterior sampling in a ball"
    name: ClassVar[str] = "posterior sample in a ball"
    exact: ClassVar[bool] = True

    radius: float
    penalty: float
    gamma: float

    def reach(self, rows: int | None) -> float:
        """The radius."""
        return up(self.radius)

    @property
    def law(self) -> Law:
        """Pure epsilon: a row changes the log density by at most c = gamma (Y + B radius)^2/2, and its constant too."""
        steps = 1 if self.neighbors == "add-remove" else 2
        return Point(up(steps * self.gamma * (self.outcome + self.norm * self.radius) ** 2 / 2))


@described(
    "printed_sampling",
    "A posterior sample with a paper's printed constants: not accounted for.",
    eigenvalue_sd=maybe(POSITIVE),
    norm_sd=maybe(POSITIVE),
    penalty=FROM_ZERO,
)
@dataclass(frozen=True, kw_only=True)
class PrintedEvent(UnaccountedEvent):
    """A posterior sample with the constants that a paper prints, for one stage or several."""

    mechanism: ClassVar[str] = "printed posterior sampling"
    name: ClassVar[str] = "posterior sample, by printed constants"

    eigenvalue_sd: float | None
    norm_sd: float | None
    penalty: float
    gamma: float


def trace_bound(d: int, B: float, lambda_: float, rows: float | None) -> float:
    """The bound t on the trace of H for at most this many rows."""
    return (rows or ROWS) * B**2 + d * lambda_


def relative(d: int, trace: float, h: float) -> float:
    """The relative error of computed ridge coefficients."""
    return 2.0**-46 * (d + 8) * trace / h


def tolerance(d: int, trace: float, h: float, size: float, gamma: float) -> float:
    """The error of a computed draw, for ridge coefficients of at most this norm."""
    spread = 1 / math.sqrt(gamma * h)
    draw = (math.sqrt(d) + _Z_EXCESS) * spread
    return relative(d, trace, h) * (size + draw) + math.sqrt(d) * 2.0**-39 * spread
