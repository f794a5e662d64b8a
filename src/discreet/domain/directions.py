"""Public matrices whose products with lattice vectors are exact: integers times powers of two."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.arrays import Floats
from discreet.core.field_kinds import FLAG, many
from discreet.core.fields import FieldKind, Fields, FileRecord
from discreet.domain.domain import LATTICE_BITS
from discreet.errors import ParameterError

ROOM_BITS = 53 - LATTICE_BITS
"""Integers whose sizes add up to at most 2^33 have exact products with rows, in whatever order these are summed."""

MOST_EXPONENT = 256
"""Powers of two up to this size, and their squares times 2^106, are far from the ends of float64."""

_WHOLE = FieldKind({"type": "integer"})
"""`Directions` checks itself that they are whole numbers."""


@dataclass(frozen=True)
class Directions(FileRecord):
    """Vectors over some coordinates: integers times a power of two, so that products with rows are exact.

    Parameters
    ----------
    integers : tuple of tuples of int
        One tuple for each vector; of axes along the columns, their factors and then their shifts.
    exponents : tuple of int
        Vector j stands for its integers times 2^-exponents[j].
    along : bool
        Whether vector j is factor j of coordinate j, plus shift j of coordinate 0, which is the constant.

    Examples
    --------
    >>> Directions(((4, 2), (0, -1)), (2, 0), along=True).floats
    array([[ 1., -1.],
           [ 0.,  2.]])
    """

    integers: tuple[tuple[int, ...], ...]
    exponents: tuple[int, ...]
    along: bool = False

    def __post_init__(self) -> None:
        sizes = {len(vector) for vector in self.integers}
        fit = len(self.integers) == 2 and sizes == {len(self.exponents)}
        if not (fit if self.along else len(self.integers) == len(self.exponents) and len(sizes) <= 1):
            raise ParameterError("Directions need one exponent for each vector, and vectors of the same length.")
        whole = set().union(*(map(type, vector) for vector in (*self.integers, self.exponents))) <= {int}
        if not whole or any(abs(p) > MOST_EXPONENT for p in self.exponents):
            raise ParameterError(
                f"Directions are integers times 2^p, with p a whole number of at most {MOST_EXPONENT}."
            )
        vectors = zip(*self.integers, strict=True) if self.along else self.integers
        if any(sum(map(abs, vector)) > 1 << ROOM_BITS for vector in vectors):
            raise ParameterError(f"The integers of a direction must add up to at most 2^{ROOM_BITS} in size.")

    @classmethod
    def rounded(cls, matrix: ArrayLike, *, bits: int = ROOM_BITS - 1, most: int = MOST_EXPONENT) -> Directions:
        """Round the columns of a finite matrix so that their integers add up to about 2^bits at most."""
        columns = np.array(matrix, dtype=float)
        if columns.ndim != 2 or not np.isfinite(columns).all():
            raise ParameterError("Directions must be a matrix of finite numbers.")
        integers, exponents = _rounded(columns, bits, most)
        return cls(tuple(map(tuple, integers.T.tolist())), tuple(exponents.tolist()))

    @classmethod
    def along_columns(cls, factors: Floats, shifts: Floats) -> Directions:
        """Round axes along the columns; shift 0 must be 0."""
        integers, exponents = _rounded(np.array([factors, shifts]), ROOM_BITS - 1, MOST_EXPONENT)
        return cls(tuple(map(tuple, integers.tolist())), tuple(exponents.tolist()), along=True)

    @property
    def length(self) -> int:
        """The number of coordinates that the vectors are over; 0 if there is no vector."""
        return len(self.integers[0]) if self.integers else 0

    @cached_property
    def scaled(self) -> Floats:
        """The integers times their powers of two, exactly: a column for each vector, or a row for each list."""
        powers = -np.array(self.exponents, dtype=int)
        scaled: Floats = np.ldexp(np.array(self.integers, dtype=float) if self.along else self._columns, powers)
        return scaled

    @property
    def _columns(self) -> Floats:
        return np.array(self.integers, dtype=float).T if self.integers else np.empty((0, 0))

    @property
    def floats(self) -> Floats:
        """The vectors as columns of a matrix, exactly."""
        if not self.along:
            return self.scaled
        matrix = np.diag(self.scaled[0])
        matrix[0] += self.scaled[1]
        return matrix

    def times(self, vectors: Floats) -> Floats:
        """Return the matrix times some columns of numbers."""
        if not self.along:
            product: Floats = self.scaled @ vectors
            return product
        product = self.scaled[0][:, None] * vectors
        product[0] += self.scaled[1] @ vectors
        return product

    FIELDS = Fields(
        "directions",
        "A matrix of exact numbers, column by column.",
        integers=many(many(_WHOLE))("A list for each column of the matrix."),
        exponents=many(_WHOLE)("p of each list, whose integers stand for themselves times 2^-p."),
        along=FLAG(
            "Whether `integers` has two lists instead, F and S: column j is 2^-p_j (F_j e_j + S_j e_0).", absent=False
        ),
    )


def _rounded(columns: Floats, bits: int, most: int) -> tuple[Floats, Floats]:
    """Return the integers of each column, whose sizes add up to about 2^bits, and their exponents."""
    with np.errstate(over="ignore"):
        sizes = np.abs(columns).sum(axis=0)
    exponents = np.minimum(np.where(sizes > 0, bits - np.frexp(sizes)[1], 0), most)
    if not np.isfinite(sizes).all() or (exponents < -MOST_EXPONENT).any():
        raise ParameterError(f"Directions must have entries of at most 2^{MOST_EXPONENT} in size.")
    return np.rint(np.ldexp(columns, exponents)).astype(np.int64), exponents
