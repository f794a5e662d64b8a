"""The least eigenvalue of X'X, computed in floating point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from discreet.core.arrays import Floats, Ints, Objects
from discreet.core.checks import Neighbors
from discreet.domain.cells import BINS
from discreet.errors import DataError
from discreet.statistics import space as spaces
from discreet.statistics.base import BlockLike, ExactProducts, Places, Statistic, registered

MAX_ROWS = 1 << 32
"""Tables larger than this are refused where a floating-point eigenvalue is released."""


class Eigenvalue(Statistic):
    """The least eigenvalue of X'X: not a sum over rows, so a row's loss depends on the others (mathematics, 2.7)."""

    name = "eigenvalue"
    words = "least eigenvalue of X'X"
    exact = False
    of_design = of_products = True
    format_version = 1

    def sensitivity(self, block: BlockLike, space: spaces.Space, neighbors: Neighbors) -> float:
        """The sensitivity R^2, plus rounding errors, for either relation."""
        R2 = spaces.norm_squared(block.rows, space)
        return R2 * (1 + 2 * eigenvalue_error(len(block.rows)) / space.most)

    def shape(self, block: BlockLike, bins: int = BINS) -> tuple[int, ...]:
        """One value."""
        return ()

    def plausible(self, n: float, shape: tuple[int, ...], names: Sequence[str] = ()) -> Floats:
        """The value n over the number of regressors."""
        return np.array(n / max(len(names), 1))

    def from_products(self, sums: ExactProducts, X: Ints, Y: Ints) -> list[Objects]:
        """The eigenvalue, rounded to a lattice integer."""
        if not isinstance(sums, FloatProducts):
            raise AssertionError("an eigenvalue needs all products")
        return [np.array([least_eigenvalue(sums, X.tolist())], dtype=object)]

    def group_change(self, block: BlockLike, places: Places, Z: Floats) -> float:
        """The largest eigenvalue of the removed rows, a bound by Weyl's inequality."""
        X = Z[:, places.indices(block.rows)]
        return float(np.linalg.eigvalsh(X.T @ X)[-1] * (1 + 1e-9)) ** 2


@runtime_checkable
class FloatProducts(ExactProducts, Protocol):
    """Exact sums of all products, which can be rounded to floating point; **confidential**."""

    @property
    def bits(self) -> int:
        """The bits of the unit of the integers."""

    def floats(self, indices: list[int]) -> Floats:
        """A square block of the sums."""


def least_eigenvalue(sums: FloatProducts, indices: list[int]) -> int:
    """The least eigenvalue of the products of some coordinates, in units of the exact sums."""
    if sums.count > MAX_ROWS:
        raise DataError("The table is too large for the release of an eigenvalue in floating point.")
    least = np.linalg.eigvalsh(sums.floats(indices))[0]
    return round(math.ldexp(float(least), sums.bits))


def eigenvalue_error(size: int) -> float:
    """Bound on the rounding error of a computed least eigenvalue, in units of R^2, for at most MAX_ROWS rows."""
    return 4 * size * 2.0**-52 * MAX_ROWS


EIGENVALUE = registered(Eigenvalue())
