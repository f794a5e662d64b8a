"""Counts of rows in parts of the encoded range of a column, by which a search finds its bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain.cells import BINS
from discreet.domain.kinds.searched import HALF, POWERS
from discreet.statistics.base import BlockLike, Places, RowArrays, registered
from discreet.statistics.histogram import Counts
from discreet.statistics.space import Space


class SearchCounts(Counts):
    """Counts of a column in parts of its range (mathematics, 15); the losses of rows are bounds that always hold."""

    outcomes = "one"
    first_reading = True
    bounded = "a bound over the cells that rows may be in"
    format_version = 7

    def bins(self, block: BlockLike, space: Space) -> int:
        """The number of counts."""
        return len(range(self.parts)[self.kept])

    def shape(self, block: BlockLike, bins: int = BINS) -> tuple[int, ...]:
        """One value for each part that is kept."""
        return (len(range(self.parts)[self.kept]),)

    def plausible(self, n: float, shape: tuple[int, ...], names: Sequence[str] = ()) -> Floats:
        """All rows in the middle of the upper half."""
        counts = np.zeros(shape)
        counts[shape[0] * 3 // 4] = n
        return counts

    def rows_told(self, block: BlockLike, array: Floats) -> None:
        """Nothing: the noise of so many counts is too large."""

    def column(self, block: BlockLike) -> str | None:
        """The coordinate of the column."""
        return block.columns[0]

    def vectors(self, block: BlockLike, places: Places, Z: Floats) -> Floats:
        """The same unit vector for all rows: which part a row is in follows from no bounds that were found later."""
        return Z[:, :1].copy()

    def swap(self, block: BlockLike, places: Places, w: Floats, rows: RowArrays) -> Floats:
        """The bound 2, for a row that moves to another part."""
        return np.full(len(rows.Z), 2.0)


class Magnitudes(SearchCounts):
    """Counts by sign and power of two, and of zeros."""

    name = "magnitudes"
    words = "counts of signs and powers of two"
    parts = 2 * HALF
    kept = slice(HALF - POWERS, HALF + POWERS + 1)


class EqualParts(SearchCounts):
    """Counts in equal parts of bounds that powers of two gave."""

    name = "parts"
    words = "counts in equal parts of wide bounds"
    parts = 64


MAGNITUDES, PARTS = registered(Magnitudes()), registered(EqualParts())
