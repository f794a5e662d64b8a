"""Counts of rows by their norm in the coordinates of a stage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.core.arrays import Floats, Objects
from discreet.domain.coordinates import Coordinates, RotatedBatch
from discreet.statistics.base import BlockLike, ExactStage, registered
from discreet.statistics.histogram import Counts
from discreet.statistics.space import Space


class RowNormCounts(Counts):
    """Counts of rows by their norm |z| between the edges of a stage, beginning at 0."""

    name = "lengths"
    stage_words, stage_order = "counts of row norms", 2

    def bins(self, block: BlockLike, space: Space) -> int:
        """The number of edges plus one."""
        return len(space.row_norms) + 1 if isinstance(space, Coordinates) else 0

    def plausible(self, n: float, shape: tuple[int, ...], names: Sequence[str] = ()) -> Floats:
        """All rows in the first bin."""
        counts = np.zeros(shape)
        counts[0] = n
        return counts

    def from_stage(self, sums: ExactStage, block: BlockLike, chosen: Sequence[int]) -> list[Objects]:
        """The counts of all rows."""
        return [sums.norm_counts()]

    def stage_refusal(self, coordinates: Coordinates) -> str | None:
        """Refuse a stage without edges."""
        return None if coordinates.row_norms else "A stage without edges between row norms has no counts of them."

    def sizes(
        self, block: BlockLike, coordinates: Coordinates, rotated: RotatedBatch
    ) -> tuple[tuple[float, ...], Floats]:
        """The edges, and the row norms."""
        return coordinates.row_norms, rotated.row_norms


ROW_NORMS = registered(RowNormCounts())
