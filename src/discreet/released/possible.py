"""Checks that released values can be those of a table with the listed noise.

Noise may take a sum of squares below 0, but not by 25 of its standard deviations; a matrix of products is positive
semidefinite, no sum is larger than the number of rows, and no product larger than the squares allow, up to that much
noise. Every rule is broken by an honest release with a probability of less than 1e-100 (`core.chance`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from discreet.core.arrays import Floats
from discreet.core.chance import FAR, most_sampled
from discreet.core.checks import LARGEST_ROWS
from discreet.privacy.events.base import StatisticsEvent
from discreet.privacy.events.gaussian import Block
from discreet.privacy.values import bins, statistic
from discreet.statistics.base import Statistic

if TYPE_CHECKING:
    from discreet.released.moments import ReleasedMoments


class Value(NamedTuple):
    """The values of a block, unscaled, and the event that they belong to."""

    event: StatisticsEvent
    block: Block
    array: Floats

    @property
    def kind(self) -> Statistic:
        """The kind of statistic."""
        return self.block.kind

    @property
    def name(self) -> str:
        """The symbol of the statistic."""
        return self.event.symbol(self.block)

    @property
    def far(self) -> float:
        """A bound on the noise of each value."""
        return FAR * max(self.block.sds)

    @property
    def sampled(self) -> bool:
        """Whether it is a sum over a sample of the rows."""
        return self.event.sampled_share < 1


def values_of(released: ReleasedMoments) -> list[Value]:
    """Return each block of each event with its values."""
    found = []
    for event, values in released.parts:
        for block, parts in zip(event.blocks, values, strict=True):
            own = event.rotated
            array = statistic(block, parts) if own is None else statistic(block, parts, bins(block, own))
            found.append(Value(event, block, array))
    return found


def impossible(released: ReleasedMoments) -> list[str]:
    """Return the reasons that released values cannot come from a table with the listed noise."""
    values = values_of(released)
    totals = list(_totals(values)) if released.domain.missing == "error" else []
    most = min([float(LARGEST_ROWS), *(high for _, high in totals)])
    least = max([low for low, _ in totals], default=0.0)
    found = []
    if most < 0 or least > most:
        found.append("the number of rows that statistics tell differs by more than their noise, or is below 0")
    most = max(most, 0.0)
    plain = released.domain.unit.plain
    for value in values:
        others = [other for other in values if _is_comparable(value, other)]
        found += value.kind.impossible(value, others, most, plain=plain)
    return list(dict.fromkeys(found))


def _totals(values: list[Value]) -> Iterator[tuple[float, float]]:
    """Yield ranges of the number of rows, from sums of ones and from counts of all rows."""
    for event, block, array in values:
        told = block.kind.rows_told(block, array)
        if told is None:
            continue
        total, far = told[0], FAR * told[1]
        if event.sampled_share < 1:
            yield 0.0, most_sampled(total + far, event.sampled_share)
        else:
            yield total - far, total + far


def _is_comparable(value: Value, other: Value) -> bool:
    """Whether two values are sums over the same rows in the same coordinates."""
    same = other.event is value.event or (value.event.rotated is None and other.event.rotated is None)
    return same and not other.sampled
