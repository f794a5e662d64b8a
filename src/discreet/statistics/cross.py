"""X'Y of mapped columns, and U'E of a stage."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from discreet.core.arrays import Floats, Ints, Objects
from discreet.core.checks import Neighbors
from discreet.domain.cells import BINS
from discreet.statistics import space as spaces
from discreet.statistics.base import (
    ROUNDED,
    BlockLike,
    ExactStage,
    NoisyValue,
    Places,
    RowArrays,
    Statistic,
    registered,
)
from discreet.statistics.gram import GRAM
from discreet.statistics.squares import SQUARES


class Cross(Statistic):
    """Products of the regressors with the outcomes (mathematics, 2.3)."""

    name = "cross"
    words, stage_words, stage_order = "X'y", "U'e", 6
    outcomes = "all"
    signed = True
    of_design = of_products = True
    format_version = 1

    def sensitivity(self, block: BlockLike, space: spaces.Space, neighbors: Neighbors) -> float:
        """The sensitivity R T, and twice that for replace-one."""
        R2, T2 = spaces.norm_squared(block.rows, space), spaces.norm_squared(block.columns, space)
        return math.sqrt(R2 * T2) * (2 if neighbors == "replace-one" else 1)

    def shape(self, block: BlockLike, bins: int = BINS) -> tuple[int, ...]:
        """One row for each regressor."""
        return len(block.rows), len(block.columns)

    def impossible(self, value: NoisyValue, others: Sequence[NoisyValue], most: float, *, plain: bool) -> Iterator[str]:
        """Check the Cauchy-Schwarz inequality against sums of squares, up to noise."""
        yield from super().impossible(value, others, most, plain=plain)
        block = value.block
        rows, columns = np.full(len(block.rows), most), np.full(len(block.columns), most)
        for other in others:
            if other.kind is GRAM and other.block.rows == block.rows:
                rows = np.minimum(rows, np.maximum(np.diag(other.array) + other.far, 0.0))
            if other.kind is SQUARES and other.block.columns == block.columns:
                columns = np.minimum(columns, np.maximum(other.array + other.far, 0.0))
        if (np.abs(value.array) > np.sqrt(np.outer(rows, columns)) * ROUNDED + value.far).any():
            yield f"{value.name}: a product is larger than the sums of squares and its noise allow"

    def pairs(self, X: Ints, Y: Ints) -> list[tuple[Ints, Ints]]:
        """Pairs of each regressor with each outcome."""
        return [(np.repeat(X, len(Y)), np.tile(Y, len(X)))]

    def from_stage(self, sums: ExactStage, block: BlockLike, chosen: Sequence[int]) -> list[Objects]:
        """U'E at the chosen half widths."""
        return [sums.cross(block.columns, chosen)]

    def change(self, block: BlockLike, places: Places, rows: RowArrays) -> Floats:
        """The squared change |x|^2 |y|^2."""
        return rows.norm2(places.indices(block.rows)) * rows.norm2(places.indices(block.columns))

    def swap(self, block: BlockLike, places: Places, w: Floats, rows: RowArrays) -> Floats:
        """The squared change |x y' - w v'|^2."""
        X, Y = places.indices(block.rows), places.indices(block.columns)
        x, v = w[X], w[Y]
        p, q, g = rows.norm2(X), x @ x, rows.Z[:, X] @ x
        return np.maximum(p * rows.norm2(Y) + q * (v @ v) - 2 * g * (rows.Z[:, Y] @ v), 0.0)

    def most(self, block: BlockLike, places: Places, rows: RowArrays) -> Floats:
        """The bound (|x| |y| + R T)^2."""
        X, Y = places.indices(block.rows), places.indices(block.columns)
        R2, T2 = places.norm_squared(X), places.norm_squared(Y)
        return np.asarray((np.sqrt(rows.norm2(X) * rows.norm2(Y)) + np.sqrt(R2 * T2)) ** 2)

    def moved(self, block: BlockLike, places: Places, rows: RowArrays, w: Floats | None) -> Floats:
        """The squared change |(x - w) y'|^2; the outcomes stay."""
        X, Y = places.indices(block.rows), places.indices(block.columns)
        p, y2, R2 = rows.norm2(X), rows.norm2(Y), places.norm_squared(X)
        if w is None:
            constant = float(X[0] == 0)
            longest = (np.sqrt(np.maximum(p - constant, 0.0)) + math.sqrt(R2 - constant)) ** 2
            return longest * y2
        q, g = float(w[X] @ w[X]), rows.Z[:, X] @ w[X]
        return np.maximum((p + q - 2 * g) * y2, 0.0)


CROSS = registered(Cross())
