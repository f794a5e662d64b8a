"""Sums of the regressors; the sum of the constant is the number of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from discreet.core.arrays import Floats, Ints
from discreet.core.checks import Neighbors
from discreet.domain import CONSTANT, LATTICE_BITS
from discreet.domain.coordinates import Coordinates
from discreet.statistics import space as spaces
from discreet.statistics.base import ROUNDED, BlockLike, NoisyValue, Places, RowArrays, Statistic, registered
from discreet.statistics.diagonal import DIAGONAL, replaced


class Sums(Statistic):
    """Sums of coordinates (mathematics, 2.9)."""

    name = "sums"
    words = "sums of x"
    signed = True
    of_products = first_reading = True

    def sensitivity(self, block: BlockLike, space: spaces.Space, neighbors: Neighbors) -> float:
        """The sensitivity R; for replace-one sqrt(2 (R^2 - c)), with c the least x . x'."""
        R2 = spaces.norm_squared(block.rows, space)
        if neighbors == "add-remove":
            return math.sqrt(R2)
        if isinstance(space, Coordinates):
            raise ValueError("a stage has no such statistic")
        return math.sqrt(replaced(2 * (R2 - spaces.least_product(block.rows, space)), R2, space))

    def plausible(self, n: float, shape: tuple[int, ...], names: Sequence[str] = ()) -> Floats:
        """The value 0, and n for the constant."""
        return np.array([n if name == CONSTANT else 0.0 for name in names or [""] * shape[0]])

    def rows_told(self, block: BlockLike, array: Floats) -> tuple[float, float] | None:
        """The sum of the constant."""
        return (float(array[0]), block.sd) if block.rows[0] == CONSTANT else None

    def steps(self, block: BlockLike, is_whole: Callable[[str], bool]) -> list[int]:
        """Sums of lattice numbers are multiples of 2^20; those of coordinates that are 0 or 1 are multiples of 2^40."""
        return [(2 if is_whole(name) else 1) * LATTICE_BITS for name in block.rows]

    def impossible(self, value: NoisyValue, others: Sequence[NoisyValue], most: float, *, plain: bool) -> Iterator[str]:
        """Check that sums are within the bounds that sums of squares imply."""
        yield from super().impossible(value, others, most, plain=plain)
        for other in others:
            if other.kind is DIAGONAL and other.block.rows == value.block.rows:
                squares = np.maximum(other.array + other.far, 0.0)
                if (np.abs(value.array) > np.sqrt(most * squares) * ROUNDED + value.far).any():
                    yield f"{value.name}: a sum is larger than the sum of squares and its noise allow"

    def pairs(self, X: Ints, Y: Ints) -> list[tuple[Ints, Ints]]:
        """Pairs of each coordinate with the constant."""
        return [(np.zeros_like(X), X)]

    def change(self, block: BlockLike, places: Places, rows: RowArrays) -> Floats:
        """The squared change |x|^2."""
        return rows.norm2(places.indices(block.rows))

    def swap(self, block: BlockLike, places: Places, w: Floats, rows: RowArrays) -> Floats:
        """The squared change |x - w|^2."""
        X = places.indices(block.rows)
        x = w[X]
        return np.maximum(rows.norm2(X) + x @ x - 2 * (rows.Z[:, X] @ x), 0.0)

    def most(self, block: BlockLike, places: Places, rows: RowArrays) -> Floats:
        """The bound (|x| + R)^2."""
        X = places.indices(block.rows)
        return np.asarray((np.sqrt(rows.norm2(X)) + math.sqrt(places.norm_squared(X))) ** 2)


SUMS = registered(Sums())
