"""Encoding of raw columns as lattice integers: centre, scale, clip to the box, scale into the ball, round."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import SILENT, Floats
from discreet.core.rounding import ROOM, down
from discreet.domain.derived import cell, number
from discreet.domain.domain import CONSTANT, LATTICE_BITS, Domain
from discreet.errors import MISSING, DataError

ONE = float(1 << LATTICE_BITS)
_MAX = np.finfo(float).max
_HUGE = 2.0**480
_STRETCH = 8192


class Encoder:
    """Encodes batches of rows of one domain, in place.

    A batch A holds one encoded row a line, in either memory order. The caller writes the constant, the one-hot
    levels, and x - c for every number; `finish` turns them into integers q = round(2^k z), held exactly in
    float64, with sum q^2 within `Domain.norm_squared_lattice`. Factors of derived columns are clipped to their
    bounds always, except to predict with ``clip=False``.
    """

    def __init__(self, domain: Domain, *, clip: bool = True) -> None:
        self.domain = domain
        self._clip = clip
        self.centre, self.half = domain.centre, domain.half
        counted = [entry.column == CONSTANT or domain.columns[entry.column].is_indicator for entry in domain.entries]
        self.unit: Floats = np.where(counted, ONE, 1.0)
        self._scale = np.where(counted, 1.0, ONE / self.half)
        self._low, self._high = self._box()
        found = [(domain.positions[name][0], domain.columns[name]) for name in domain.searched]
        self._searched = [(slice(place, place + 1), column) for place, column in found]
        self._symmetric = bool(np.all(self._low == -ONE) and np.all(self._high == ONE))
        places = sorted(domain.positions[name][0] for name in domain.norm_columns)
        self._ball: slice | list[int] | None = None
        if places:
            contiguous = places[-1] - places[0] + 1 == len(places)
            self._ball = slice(places[0], places[-1] + 1) if contiguous else places

    def _box(self) -> tuple[Floats, Floats]:
        low, high = np.full(len(self.centre), -ONE), np.full(len(self.centre), ONE)
        columns = [self.domain.columns.get(entry.column) for entry in self.domain.entries]
        numbers = [i for i, column in enumerate(columns) if column is not None and column.bounds]
        bounds = np.array([column.range for column in columns if column is not None and column.bounds])
        if numbers:
            with np.errstate(**SILENT):
                ends = (bounds - self.centre[numbers, None]) * self._scale[numbers, None]
            low[numbers], high[numbers] = np.clip(ends, -_MAX, _MAX).T
        return np.rint(low), np.rint(high)

    def affine(self, place: int) -> tuple[float, float, float, float]:
        """Return c, s, low and high of one number, which is mapped to (x - c) s and clipped to [low, high]."""
        return tuple(float(own[place]) for own in (self.centre, self._scale, self._low, self._high))  # type: ignore[return-value]

    def empty(self, rows: int, *, columnar: bool = False) -> Floats:
        """Return a batch with the constant in place and zeros elsewhere."""
        A = np.zeros((rows, len(self.centre)), order="F" if columnar else "C")
        A[:, 0] = ONE
        return A

    def write(self, name: str, values: Mapping[str, NDArray[Any]], A: Floats) -> None:
        """Write one column into A: x - c, or the one-hot levels; `values` are numbers, or codes of levels."""
        column, places = self.domain.columns[name], self.domain.positions[name]
        cells = cell(column, values) if column.factors else values[name]
        numbers = ONE if column.is_indicator else self._numbers(name, values)
        column.fill(A[:, places[0] : places[-1] + 1], numbers, cells, self.centre[places[0]])

    def _numbers(self, name: str, values: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        column = self.domain.columns[name]
        return number(column, values, refuse_non_finite, clip=self._clip) if column.factors else values[name]

    def centred(self, A: Floats) -> None:
        """Turn a batch of numbers x into x - c."""
        if self.centre.any():
            _by_row(np.subtract, A, self.centre)
        for place, column in self._searched:
            column.fill(A[:, place], A[:, place][:, 0], None, 0.0)

    def place(self, blocks: Sequence[Any], A: Floats) -> None:
        """Write matrices of numbers side by side, behind the constant, as x - c."""
        left = 1
        for block in blocks:
            right = left + block.shape[1]
            A[:, left:right] = block
            left = right
        self.centred(A)

    def refuse_non_finite(self, A: Floats) -> None:
        """Refuse a batch of x - c with numbers that are missing or infinite."""
        for entry, values in zip(self.domain.entries, A.T, strict=True):
            refuse_non_finite(entry.column, values)

    def finish(self, A: Floats) -> None:
        """Scale, clip and round a batch that holds x - c."""
        with np.errstate(**SILENT):
            if not np.isfinite(A.sum()):
                self.refuse_non_finite(A)
            _by_row(np.multiply, A, self._scale)
            if self._symmetric:
                np.clip(A, -ONE, ONE, out=A)
            else:
                _by_row(np.clip, A, self._low, self._high)
            if self._ball is None:
                np.rint(A, out=A)
            else:
                self._shorten(A)

    def _shorten(self, A: Floats) -> None:
        ball = self._ball
        far = np.flatnonzero(_row_squares(A[:, ball]) > down(ONE**2, ROOM))
        if len(far) == len(A):
            A[:, ball] = _onto_ball(A[:, ball])
        elif len(far):
            rows = A[far]
            rows[:, ball] = _onto_ball(rows[:, ball])
            A[far] = rows
        np.rint(A, out=A)
        inside = _row_squares(A[:, ball]) <= self.domain.ball_lattice
        if not inside.all():
            A[:, ball] *= inside[:, None]


def clipped(design: Floats, domain: Domain, names: Sequence[str]) -> Floats:
    """Clip coordinates in the user's units to their declared ranges, as `Encoder.finish` does to encoded ones.

    Rows are not scaled into the ball of a `data_norm`: that would move every column for the sake of one.

    Examples
    --------
    >>> clipped(np.array([[95.0], [40.0]]), Domain({"age": (18, 90)}), ["age"]).tolist()
    [[90.0], [40.0]]
    """
    low, high = domain.ranges(names).T
    within: Floats = np.clip(design, low, high)
    return within


def _by_row(operation: Callable[..., Floats], A: Floats, *vectors: Floats) -> None:
    """Apply an operation with vectors to every row, in place.

    numpy buffers vectors shorter than _STRETCH, at twice the time or more, so short rows are taken several at a time.
    """
    k = -(-_STRETCH // A.shape[1])
    whole = len(A) // k * k if A.flags.c_contiguous else 0
    if whole:
        stretches = A[:whole].reshape(-1, k * A.shape[1])
        operation(stretches, *(np.tile(vector, k) for vector in vectors), out=stretches)
    operation(A[whole:], *vectors, out=A[whole:])


def refuse_non_finite(name: str, values: NDArray[Any]) -> None:
    """Refuse numbers that are missing or infinite, naming the column only."""
    if not np.isfinite(values).all():
        kind = "missing values (NaN)" if np.isnan(values).any() else "infinite values"
        hint = MISSING if "NaN" in kind else "mend them before the release"
        raise DataError(f"Column {name!r} holds {kind}. Remedy: {hint}.")


def _row_squares(Z: Floats) -> Floats:
    """Compute squared norms: exact for integers; for others the last bits depend on the memory order."""
    squares: Floats = np.einsum("ij,ij->i", Z, Z)
    return squares


def _onto_ball(Z: Floats) -> Floats:
    """Scale rows into the ball; norms are summed in the order of columns, so that a row's own values alone matter."""
    with np.errstate(**SILENT):
        squares = _in_order(Z)
        huge = squares > _HUGE**2
        if huge.any():
            Z = Z * np.where(huge, ONE / np.abs(Z).max(axis=1), 1.0)[:, None]
            squares = _in_order(Z)
        shortened: Floats = Z * (ONE / np.maximum(np.sqrt(squares), ONE))[:, None]
    return shortened


def _in_order(Z: Floats) -> Floats:
    squares = np.zeros(len(Z), like=Z)
    for column in Z.T:
        squares += column * column
    return squares
