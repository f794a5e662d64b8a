"""Sums of squares of the regressors: the diagonal of X'X."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from discreet.core.arrays import Floats, Ints
from discreet.core.checks import Neighbors
from discreet.domain import CONSTANT, LATTICE_BITS, Domain
from discreet.domain.coordinates import Coordinates
from discreet.statistics import space as spaces
from discreet.statistics.base import BlockLike, registered
from discreet.statistics.squares import SumsOfSquares


class Diagonal(SumsOfSquares):
    """Sums of squares of the regressors (mathematics, 2.9)."""

    name = "diagonal"
    words = "diagonal of X'X"
    of_products = first_reading = True

    def sensitivity(self, block: BlockLike, space: spaces.Space, neighbors: Neighbors) -> float:
        """The sensitivity R; for replace-one, the squares of a column, or those of a ball, change by 1 or 2 at most."""
        R2 = spaces.norm_squared(block.rows, space)
        if neighbors == "add-remove":
            return math.sqrt(R2)
        if isinstance(space, Coordinates):
            raise ValueError("a stage has no such statistic")
        return math.sqrt(replaced(self._exchange(block, space), R2, space))

    def _exchange(self, block: BlockLike, domain: Domain) -> float:
        held = Counter(domain.column_of[name] for name in block.rows if name != CONSTANT)
        ball = [name for name in block.rows if domain.column_of[name] in domain.norm_columns]
        alone = sum(min(count, 2) for name, count in held.items() if name not in domain.norm_columns)
        return alone + min(len(ball), 2 * spaces.norm_squared(ball, domain))

    def plausible(self, n: float, shape: tuple[int, ...], names: Sequence[str] = ()) -> Floats:
        """The value n/3, and n for the constant."""
        return np.array([n if name == CONSTANT else n / 3 for name in names or [""] * shape[0]])

    def steps(self, block: BlockLike, is_whole: Callable[[str], bool]) -> list[int]:
        """Squares of coordinates that are 0 or 1 add up to whole numbers."""
        return [2 * LATTICE_BITS if is_whole(name) else -1 for name in block.rows]

    def pairs(self, X: Ints, Y: Ints) -> list[tuple[Ints, Ints]]:
        """Pairs of each coordinate with itself."""
        return [(X, X)]


def replaced(change: float, R2: float, domain: Domain) -> float:
    """The squared change by replacing a row, possibly by one that does not count, or counts less."""
    return max(change, R2) if domain.missing == "drop" or not domain.unit.plain else change


DIAGONAL = registered(Diagonal())
