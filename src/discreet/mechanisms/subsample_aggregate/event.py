"""The event of aggregated blocks: ``docs/mathematics``, 8.10."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.core.chance import length
from discreet.core.checks import LARGEST_ROWS
from discreet.core.field_kinds import whole
from discreet.core.rounding import up
from discreet.privacy.events.coefficients import CoefficientEvent, described


@described("aggregate", "The mean of the coefficients of blocks of rows, with noise.", blocks=whole(1))
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
        """The mu: one row is in one block, whose clipped coefficients change by at most the diameter of the ball."""
        return up(2 * self.radius) / self.sd

    def reach(self, rows: int | None) -> float:
        """The radius, plus a bound on the noise of the mean."""
        return self.radius + length(len(self.design), self.sd / self.blocks)

    def keeps(self) -> bool:
        """Whether there is a block, and there are not more blocks than a table has rows."""
        return 1 <= self.blocks <= LARGEST_ROWS
