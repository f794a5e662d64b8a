"""Exact counts of an outcome in cells of its mapped range, and the first and second sums of all columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.arrays import Ints, Objects
from discreet.data.passes.first_pass import FirstPass
from discreet.data.reading import Table
from discreet.data.sums import integers, sum_bits
from discreet.data.wire import packed, unpacked
from discreet.domain import LATTICE_BITS, Domain
from discreet.domain.cells import BINS, CELLS, Span, is_span
from discreet.errors import FileFormatError, ParameterError


class Histogram:
    """Counts of an outcome in 2^12 equal cells of its mapped range [-1, 1]; **confidential**.

    Weighted rows count their weight, in units of 2^-20.

    Examples
    --------
    >>> domain = Domain.from_bounds(["x"], ["y"], bounds_X=(0, 1), bounds_y=(0, 8))
    >>> first_pass(Table.of((np.zeros((2, 1)), np.array([0.1, 9.0])), domain), ["y"])
    ((Histogram(outcome 'y', confidential),), Margins(2 columns, confidential))
    """

    def __init__(self, domain: Domain, column: str, counts: Ints) -> None:
        self.domain = domain
        self.column = column
        self._counts = counts

    def integers(self, span: Span | None = None, parts: int = BINS) -> Objects:
        """Return the exact counts in equal parts of a span, by default 16 of [-1, 1], as Python integers.

        Parts are closed at their low end; the last one of [-1, 1] is closed at both ends.
        """
        low, high = (-1.0, 1.0) if span is None else span
        if not is_span(low, high):
            raise ParameterError(f"Parts of the span ({low!r}, {high!r}) are not made of cells of 2^-11.")
        start, stop = (int((end + 1) * (CELLS / 2)) for end in (low, high))
        counts: Ints = self._counts[start:stop].reshape(parts, -1).sum(axis=1)
        return counts.astype(object)

    @property
    def count(self) -> int:
        """The number of rows that have the outcome, or the sum of their weights rounded up; **confidential**."""
        return -(-int(self._counts.sum()) >> (sum_bits(self.domain) - 2 * LATTICE_BITS))

    def __add__(self, other: Histogram) -> Histogram:
        if not isinstance(other, Histogram):
            return NotImplemented
        if (other.domain, other.column) != (self.domain, self.column):
            raise ParameterError("These histograms have different domains or outcomes and cannot be added.")
        refuse_persons(self.domain, "Histograms")
        return Histogram(self.domain, self.column, self._counts + other._counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        same = (self.domain, self.column) == (other.domain, other.column)
        return same and np.array_equal(self._counts, other._counts)

    __hash__ = None  # type: ignore[assignment]

    def to_bytes(self) -> bytes:
        """Return the exact counts as **confidential** bytes, with a version and a digest, to be added elsewhere."""
        return packed("a histogram", {"domain": self.domain.to_dict(), "column": self.column}, [self._counts])

    @classmethod
    def from_bytes(cls, content: bytes) -> Histogram:
        """Rebuild from `to_bytes`."""
        facts, arrays = unpacked("a histogram", content)
        if [array.shape for array in arrays] != [(CELLS,)]:
            raise FileFormatError("These bytes are damaged: their parts do not fit together.")
        return cls(Domain.from_dict(facts["domain"]), facts["column"], arrays[0])

    def __repr__(self) -> str:
        return f"Histogram(outcome {self.column!r}, confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A Histogram is confidential and is not pickled. Use to_bytes(), which marks it as such.")


def refuse_persons(domain: Domain, what: str) -> None:
    """Refuse to add sums of parts of a table if one person may be in several parts."""
    if domain.unit.person is not None:
        raise ParameterError(
            f"{what} of persons cannot be added: somebody may have rows in both parts, and would count twice. Sum "
            "up all rows at once: a list of files, for example."
        )


class Margins:
    """The sums of all coordinates of encoded rows, and of their squares, in exact integers; **confidential**.

    They are the first row and the diagonal of the Gram matrix in `Moments`, without matrix products.
    """

    def __init__(self, domain: Domain, high: Ints, low: Ints) -> None:
        self.domain = domain
        self._high, self._low = high, low

    def integers(self, rows: ArrayLike, columns: ArrayLike) -> Objects:
        """Return entries of the Gram matrix's first row and diagonal, in units of 2^-40; see `Moments.integers`."""
        i, j = np.broadcast_arrays(np.asarray(rows, dtype=int), np.asarray(columns, dtype=int))
        i, j = np.minimum(i, j), np.maximum(i, j)
        if np.any((i > 0) & (i != j)):
            raise ParameterError("Margins hold sums and sums of squares only; for products sum up Moments.")
        at = (i > 0).astype(int), j
        return integers(self._high[at], self._low[at])

    @property
    def count(self) -> int:
        """The number of rows, or the sum of their weights rounded up; **confidential**."""
        return -(-int(self.integers([0], [0])[0]) >> sum_bits(self.domain))

    def __repr__(self) -> str:
        return f"Margins({len(self.domain.columns)} columns, confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Margins are confidential and are not pickled.")


def first_pass(table: Table, columns: Sequence[str] = ()) -> tuple[tuple[Histogram, ...], Margins]:
    """Compute the counts of some outcomes and the margins of a table, in one pass without matrix products."""
    domain, found = table.domain, table.sums(FirstPass(table.domain, tuple(columns)))
    histograms = [Histogram(domain, column, own) for column, own in zip(columns, found.counts, strict=True)]
    return tuple(histograms), Margins(domain, found.high, found.low)
