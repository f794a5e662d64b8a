"""Counts of rows in bins: by an outcome over its range, or by the weighted residuals of a stage."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import Floats, Objects
from discreet.core.checks import Neighbors
from discreet.domain.cells import BINS, CELLS, Span
from discreet.domain.coordinates import Coordinates, RotatedBatch
from discreet.statistics.base import BlockLike, ExactStage, Places, RowArrays, Statistic, registered
from discreet.statistics.space import Space


class Counts(Statistic):
    """Counts of rows in disjoint bins."""

    has_rows = False
    counted = True

    def sensitivity(self, block: BlockLike, space: Space, neighbors: Neighbors) -> float:
        """The sensitivity 1, and sqrt(2) for replace-one."""
        return math.sqrt(2) if neighbors == "replace-one" else 1.0

    def shape(self, block: BlockLike, bins: int = BINS) -> tuple[int, ...]:
        """One value for each bin."""
        return (bins,)

    def rows_told(self, block: BlockLike, array: Floats) -> tuple[float, float] | None:
        """The sum of all counts, unless they cover only a part of the range."""
        return (float(array.sum()), block.sd * len(array) ** 0.5) if block.span is None else None

    def change(self, block: BlockLike, places: Places, rows: RowArrays) -> Floats:
        """The squared change: 1 for a row that is counted."""
        return rows.present

    def most(self, block: BlockLike, places: Places, rows: RowArrays) -> Floats:
        """The bound 2, for a row that moves to another bin."""
        return np.full(len(rows.Z), 2.0)


class OutcomeCounts(Counts):
    """Counts of an outcome in equal parts of its range, or of residuals between half widths (mathematics, 2.8)."""

    name = "counts"
    words, stage_words, stage_order = "counts of y", "counts of residuals", 1
    outcomes = "one"
    first_reading = True
    format_version = 1

    def bins(self, block: BlockLike, space: Space) -> int:
        """The number of equal parts of the range, or of intervals between half widths."""
        return space.bins(block.columns[0]) if isinstance(space, Coordinates) else BINS

    def plausible(self, n: float, shape: tuple[int, ...], names: Sequence[str] = ()) -> Floats:
        """All rows in the middle bin."""
        counts = np.zeros(shape)
        counts[shape[0] // 2] = n
        return counts

    def from_stage(self, sums: ExactStage, block: BlockLike, chosen: Sequence[int]) -> list[Objects]:
        """The counts of its outcome."""
        return [sums.residual_counts(block.columns[0])]

    def column(self, block: BlockLike) -> str | None:
        """The coordinate of the outcome."""
        return block.columns[0]

    def sizes(
        self, block: BlockLike, coordinates: Coordinates, rotated: RotatedBatch
    ) -> tuple[tuple[float, ...], Floats]:
        """The half widths, and the sizes of weighted residuals."""
        place = coordinates.outcomes.index(block.columns[0])
        return coordinates.widths[place], np.abs(rotated.V[place])

    def vectors(self, block: BlockLike, places: Places, Z: Floats) -> Floats:
        """Unit vectors: 1 in the bin of the row's outcome."""
        (place,) = places.indices(block.columns)
        one: Floats = np.eye(BINS + 1)[bin_of(Z[:, place], block.span) + 1, 1:] * Z[:, :1]
        return one

    def change(self, block: BlockLike, places: Places, rows: RowArrays) -> Floats:
        """The squared change: 1 for a row within the span."""
        if block.span is None:
            return rows.present
        (place,) = places.indices(block.columns)
        return rows.present * (bin_of(rows.Z[:, place], block.span) >= 0)


def cell_of(z: Floats) -> NDArray[np.intp]:
    """The cell of [-1, 1] that contains each z; the last one is closed at both ends."""
    return np.minimum(((z + 1) * (CELLS / 2)).astype(np.intp), CELLS - 1)


def bin_of(z: Floats, span: Span | None = None) -> NDArray[np.intp]:
    """The bin of the span that contains each z, and -1 for those outside it."""
    low, high = (-1.0, 1.0) if span is None else span
    start, stop = (int((end + 1) * (CELLS / 2)) for end in (low, high))
    cells = cell_of(z)
    return np.where((start <= cells) & (cells < stop), (cells - start) * BINS // (stop - start), -1)


COUNTS = registered(OutcomeCounts())
