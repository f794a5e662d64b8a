"""The event of one posterior sample that is calibrated from public facts (OPS): ``docs/mathematics.md``, 8.3 and 8.7.

The computed draw errs by at most `tolerance`; noise of sd `output` on top of it hides that. It costs (`spare`, delta')
by the Gaussian curve of mu = 2 tolerance/output, and this is added to the exact curve of the draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.core.rounding import up
from discreet.privacy import gdp
from discreet.privacy.events.coefficients import CoefficientEvent, grouped
from discreet.privacy.laws import Alone, Law, Point
from discreet.privacy.ops_calibration import boxes, coefficient_bound
from discreet.privacy.ops_limits import GOLDEN, worst_delta
from discreet.privacy.rounding import tolerance, trace_bound

SPARE_EPSILON, SPARE_DELTA = 1 / 512, 1 / 1024
"""The shares of epsilon and delta that hide rounding errors."""


@dataclass(frozen=True, kw_only=True)
class PosteriorEvent(CoefficientEvent):
    """theta ~ N(theta_hat, H^-1/gamma), H = X'X + penalty I, for tables of at most `rows` rows."""

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
        """The exact curve of the worst row, and what hides rounding errors."""
        return Alone(grouped(self._curve) if self.neighbors == "replace-one" else self._curve)

    def keeps(self) -> bool:
        """Whether rounding errors are within the tolerance."""
        return needed_tolerance(self) <= self.tolerance

    def _curve(self, epsilon: float) -> float:
        if epsilon < self.spare or self.norm**2 / self.penalty > GOLDEN:
            return 1.0
        hidden = gdp.delta(up(2 * self.tolerance / self.output), self.spare)
        m, R = boxes(self.penalty, self.rows, self.norm, self.outcome)
        worst = worst_delta(epsilon - self.spare, m, up(R * self.gamma**0.5))
        return up(float(worst.max()) + hidden)


def needed_tolerance(event: PosteriorEvent) -> float:
    """A bound on the rounding error of the draw, from public facts."""
    d, h = len(event.design), event.penalty
    size = coefficient_bound(h, event.rows, event.norm, event.outcome)
    return tolerance(d, trace_bound(d, event.norm, h, event.rows), h, size, event.gamma)


@dataclass(frozen=True, kw_only=True)
class BallEvent(CoefficientEvent):
    """The same draw from the lattice points with |theta| <= radius, exactly: pure epsilon (8.3)."""

    mechanism: ClassVar[str] = "posterior sampling in a ball"
    name: ClassVar[str] = "posterior sample in a ball"
    exact: ClassVar[bool] = True

    radius: float
    penalty: float
    gamma: float

    @property
    def law(self) -> Law:
        """A row moves the log density by at most c = gamma (Y + B radius)^2/2, and the constant by as much."""
        steps = 1 if self.neighbors == "add-remove" else 2
        return Point(up(steps * self.gamma * (self.outcome + self.norm * self.radius) ** 2 / 2))
