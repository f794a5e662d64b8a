"""Sums of squares: those of the outcomes, the diagonal of Y'Y, and of the residuals of a stage."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.core.arrays import Floats, Ints, Objects
from discreet.core.checks import Neighbors
from discreet.domain.cells import BINS
from discreet.statistics import space as spaces
from discreet.statistics.base import BlockLike, ExactStage, Places, RowArrays, Statistic, registered


class SumsOfSquares(Statistic):
    """Sums of squares of some coordinates."""

    def names(self, block: BlockLike) -> tuple[str, ...]:
        """The coordinates that are squared."""
        return block.rows

    def change(self, block: BlockLike, places: Places, rows: RowArrays) -> Floats:
        """The squared change, the sum of x_j^4."""
        return rows.norm4(places.indices(self.names(block)))

    def swap(self, block: BlockLike, places: Places, w: Floats, rows: RowArrays) -> Floats:
        """The squared change, the sum of (x_j^2 - w_j^2)^2."""
        X = places.indices(self.names(block))
        squares: Floats = ((rows.squares[:, X] - w[X] ** 2) ** 2).sum(axis=1)
        return squares

    def most(self, block: BlockLike, places: Places, rows: RowArrays) -> Floats:
        """A bound: each square changes to 0 or 1, or as far as the largest norm allows."""
        X = places.indices(self.names(block))
        u, norm = rows.squares[:, X], places.norm_squared(X)
        return np.asarray(np.minimum((np.maximum(u, 1 - u) ** 2).sum(axis=1), (u**2).sum(axis=1) + norm))


class Squares(SumsOfSquares):
    """Sums of squares of the outcomes (mathematics, 2.4)."""

    name = "squares"
    words, stage_words, stage_order = "y'y", "e'e", 7
    has_rows = False
    outcomes = "all"
    of_products = True
    format_version = 1

    def sensitivity(self, block: BlockLike, space: spaces.Space, neighbors: Neighbors) -> float:
        """The sensitivity T; for replace-one each square changes by 1 at most."""
        T2 = spaces.norm_squared(block.columns, space)
        return math.sqrt(min(len(block.columns), 2 * T2) if neighbors == "replace-one" else T2)

    def names(self, block: BlockLike) -> tuple[str, ...]:
        """The outcomes."""
        return block.columns

    def shape(self, block: BlockLike, bins: int = BINS) -> tuple[int, ...]:
        """One value for each outcome."""
        return (len(block.columns),)

    def plausible(self, n: float, shape: tuple[int, ...], names: Sequence[str] = ()) -> Floats:
        """The value n/10."""
        return np.full(shape, n / 10)

    def pairs(self, X: Ints, Y: Ints) -> list[tuple[Ints, Ints]]:
        """Pairs of each outcome with itself."""
        return [(Y, Y)]

    def from_stage(self, sums: ExactStage, block: BlockLike, chosen: Sequence[int]) -> list[Objects]:
        """The sums of e^2 at the chosen half widths."""
        return [sums.squares(block.columns, chosen)]


SQUARES = registered(Squares())
