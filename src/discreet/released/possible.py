"""Whether released values can be those of a table with the listed noise: what no table has, and no noise makes of it.

Noise may take a sum of squares below 0, but not by 25 of its standard deviations; a matrix of products is positive
semidefinite, no sum is larger than the number of rows, and no product larger than the squares allow, up to that much
noise. Every rule is broken by an honest release with a probability of less than 1e-100 (`core.chance`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.chance import FAR, most_sampled, spectral
from discreet.core.checks import LARGEST_ROWS
from discreet.domain import CONSTANT
from discreet.privacy.events.coordinates import StageEvent, stage_name
from discreet.privacy.events.gaussian import SYMMETRIC, Block
from discreet.privacy.events.kinds import BlockEvent
from discreet.privacy.events.sampled import SampledEvent
from discreet.privacy.values import bins, statistic

if TYPE_CHECKING:
    from discreet.released.moments import ReleasedMoments

_ROUNDED = 1 + 2.0**-12
"""Squares of rounded rows exceed 1 by less."""

_COUNTED = ("counts", "lengths")


class Value(NamedTuple):
    """The values of a block, unscaled, and the event that they belong to."""

    event: BlockEvent | StageEvent
    block: Block
    array: Floats

    @property
    def name(self) -> str:
        """How people call it."""
        return stage_name(self.block) if isinstance(self.event, StageEvent) else self.block.name

    @property
    def far(self) -> float:
        """More than noise adds to one of the values."""
        return FAR * max(self.block.sds)

    @property
    def sampled(self) -> bool:
        """Whether it is a sum over a sample of the rows."""
        return isinstance(self.event, SampledEvent)


def values_of(released: ReleasedMoments) -> list[Value]:
    """Each block of each event with its values."""
    found = []
    for event, values in released.parts:
        for block, parts in zip(event.blocks, values, strict=True):
            own = event.coordinates if isinstance(event, StageEvent) else None
            array = statistic(block, parts) if own is None else statistic(block, parts, bins(block, own))
            found.append(Value(event, block, array))
    return found


def impossible(released: ReleasedMoments) -> list[str]:
    """Why released values cannot be those of a table and the listed noise; nothing where they can."""
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
        found += _outside(value, most, plain=plain)
        if value.block.statistic == "cross":
            found += _products(value, values, most)
        if value.block.statistic == "sums":
            found += _sums(value, values, most)
    return list(dict.fromkeys(found))


def _totals(values: list[Value]) -> Iterator[tuple[float, float]]:
    """Ranges that the number of rows lies in: sums of ones, and of counts of all rows."""
    for event, block, array in values:
        if block.statistic in _COUNTED and block.span is None:
            total, far = float(array.sum()), FAR * block.sd * len(array) ** 0.5
        elif block.statistic in ("gram", "sums") and block.rows[0] == CONSTANT and isinstance(event, BlockEvent):
            total, far = float(array[(0,) * array.ndim]), FAR * block.sd
        else:
            continue
        if isinstance(event, SampledEvent):
            yield 0.0, most_sampled(total + far, event.rate)
        else:
            yield total - far, total + far


def _outside(value: Value, most: float, *, plain: bool) -> Iterator[str]:
    """Values of one block that are too small or too large for any table of so many rows."""
    _, block, array = value
    noise, name = value.far, value.name
    largest = most * _ROUNDED + noise
    if block.statistic in SYMMETRIC:
        bound = spectral(len(array), *block.sds)
        if float(np.linalg.eigvalsh(array)[0]) < -bound - 1e-9 * float(np.abs(array).max()):
            yield f"{name}: a matrix of products has an eigenvalue below 0 by more than its noise can do"
        if (plain or block.statistic != "meat") and np.diag(array).max() > largest:
            yield f"{name}: a sum of squares is larger than the number of rows and its noise allow"
        return
    if block.statistic not in ("cross", "sums") and array.min() < -noise:
        yield f"{name}: a value that is never below 0 is so by more than {FAR:g} standard deviations of its noise"
    if np.abs(array).max() > largest:
        yield f"{name}: a value is larger than the number of rows and its noise allow"


def _products(value: Value, values: list[Value], most: float) -> Iterator[str]:
    """Products that exceed the root of the products of squares: Cauchy and Schwarz, up to noise."""
    _, block, array = value
    rows, columns = np.full(len(block.rows), most), np.full(len(block.columns), most)
    for other in values:
        same = other.event is value.event or not isinstance(value.event, StageEvent)
        if not same or other.sampled or isinstance(other.event, StageEvent) != isinstance(value.event, StageEvent):
            continue
        if other.block.statistic == "gram" and other.block.rows == block.rows:
            rows = np.minimum(rows, np.maximum(np.diag(other.array) + other.far, 0.0))
        if other.block.statistic == "squares" and other.block.columns == block.columns:
            columns = np.minimum(columns, np.maximum(other.array + other.far, 0.0))
    if (np.abs(array) > np.sqrt(np.outer(rows, columns)) * _ROUNDED + value.far).any():
        yield f"{value.name}: a product is larger than the sums of squares and its noise allow"


def _sums(value: Value, values: list[Value], most: float) -> Iterator[str]:
    """Sums that exceed what sums of squares allow."""
    for other in values:
        if other.block.statistic == "diagonal" and other.block.rows == value.block.rows:
            squares = np.maximum(other.array + other.far, 0.0)
            if (np.abs(value.array) > np.sqrt(most * squares) * _ROUNDED + value.far).any():
                yield f"{value.name}: a sum is larger than the sum of squares and its noise allow"
