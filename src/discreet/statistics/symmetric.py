"""Symmetric matrices of products: the base class of X'X, U'U, score products and the Fisher information."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from discreet.core.arrays import Floats, Ints
from discreet.core.chance import spectral
from discreet.core.checks import Neighbors
from discreet.domain import CONSTANT
from discreet.domain.cells import BINS
from discreet.statistics import space as spaces
from discreet.statistics.base import (
    ROUNDED,
    BlockLike,
    NoiseLayout,
    NoisyValue,
    Places,
    RowArrays,
    Statistic,
)


class SymmetricMatrix(Statistic):
    """The sum of x x' over rows, released as its diagonal and its upper triangle (mathematics, 2.1 and 2.2)."""

    symmetric = True

    def sensitivity(self, block: BlockLike, space: spaces.Space, neighbors: Neighbors) -> float:
        """R^2, or sqrt(2 (R^4 - r^2)) for replace-one with r the least |x . x'|; less in the uniform layout."""
        R2, r = spaces.norm_squared(block.rows, space), spaces.least_overlap(block.rows, space)
        replace = neighbors == "replace-one"
        weighted, triangle = (2 * (R2 - r) * (R2 + r), R2 * (R2 + 1)) if replace else (R2**2, R2 * (R2 + 1) / 2)
        return math.sqrt(weighted if block.layout == "weighted" else min(weighted, triangle))

    def sds(self, sd: float, layout: NoiseLayout) -> tuple[float, ...]:
        """The noise sds of the diagonal and of the upper triangle."""
        return sd, sd if layout == "uniform" else sd / math.sqrt(2)

    def shape(self, block: BlockLike, bins: int = BINS) -> tuple[int, ...]:
        """A square."""
        return len(block.rows), len(block.rows)

    def array(self, block: BlockLike, parts: Sequence[Floats], bins: int = BINS) -> Floats:
        """The matrix, assembled from its diagonal and its upper triangle."""
        diagonal, upper = parts
        at = np.triu_indices(len(block.rows), k=1)
        if len(diagonal) != len(block.rows) or len(upper) != len(at[0]):
            raise ValueError("a symmetric matrix of another size")
        G = np.diag(diagonal)
        G[at] = upper
        G.T[at] = upper
        return G

    def typical_square(self, q: int) -> float:
        """The typical square of one of q coordinates of a row."""
        return 1 / q

    def plausible(self, n: float, shape: tuple[int, ...], names: Sequence[str] = ()) -> Floats:
        """A multiple of the identity matrix, with n for the constant."""
        q = shape[0]
        return np.diag([n if name == CONSTANT else n * self.typical_square(q) for name in names or [""] * q])

    def impossible(self, value: NoisyValue, others: Sequence[NoisyValue], most: float, *, plain: bool) -> Iterator[str]:
        """Check that eigenvalues are not negative, and that squares are within the number of rows."""
        array, block = value.array, value.block
        bound = spectral(len(array), *self.sds(block.sd, block.layout))
        if float(np.linalg.eigvalsh(array)[0]) < -bound - 1e-9 * float(np.abs(array).max()):
            yield f"{value.name}: a matrix of products has an eigenvalue below 0 by more than its noise can do"
        if (plain or not self.per_person) and np.diag(array).max() > most * ROUNDED + value.far:
            yield f"{value.name}: a sum of squares is larger than the number of rows and its noise allow"

    def pairs(self, X: Ints, Y: Ints) -> list[tuple[Ints, Ints]]:
        """Pairs for squares, and for products of two coordinates."""
        i, j = np.triu_indices(len(X), k=1)
        return [(X, X), (X[i], X[j])]

    def change(self, block: BlockLike, places: Places, rows: RowArrays) -> Floats:
        """The squared change |x|^4; in the uniform layout (|x|^4 + sum x_j^4)/2."""
        X = places.indices(block.rows)
        square = rows.norm2(X) ** 2
        return square if block.layout == "weighted" else (square + rows.norm4(X)) / 2

    def swap(self, block: BlockLike, places: Places, w: Floats, rows: RowArrays) -> Floats:
        """The squared change |x x' - w w'|^2; in the uniform layout the mean of that and the diagonal's."""
        X = places.indices(block.rows)
        x = w[X]
        p, q, g = rows.norm2(X), x @ x, rows.Z[:, X] @ x
        frobenius: Floats = np.maximum(p**2 + q**2 - 2 * g**2, 0.0)
        if block.layout == "weighted":
            return frobenius
        diagonal: Floats = ((rows.squares[:, X] - x**2) ** 2).sum(axis=1)
        return (frobenius + diagonal) / 2

    def most(self, block: BlockLike, places: Places, rows: RowArrays) -> Floats:
        """The bound |x|^4 + R^4."""
        X = places.indices(block.rows)
        R2 = places.norm_squared(X)
        square = rows.norm2(X) ** 2 + R2**2
        return square if block.layout == "weighted" else (square + rows.norm4(X) + R2) / 2

    def group_change(self, block: BlockLike, places: Places, Z: Floats) -> float:
        """The squared change |X'X|^2 of the removed rows."""
        X = Z[:, places.indices(block.rows)]
        S = X.T @ X
        full = float(np.sum(S**2))
        return full if block.layout == "weighted" else (full + float(np.sum(np.diag(S) ** 2))) / 2
