"""Exact counts of an outcome in cells of its mapped range, and the first and second sums of all columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.arrays import Bools, Floats, Ints, Objects
from discreet.data.reading import Batch, Unread, as_progress
from discreet.data.sums import Left, Total, integers, joined
from discreet.domain import LATTICE_BITS, Domain
from discreet.domain.encoding import ONE, Encoder
from discreet.domain.unit import WEIGHT_BITS
from discreet.errors import ParameterError
from discreet.privacy.events.gaussian import BINS, CELLS, Span, is_span


class Histogram:
    """How many rows have their outcome in each of 2^12 equal cells of its mapped range [-1, 1]; **confidential**.

    Weighted rows count their weight, in units of 2^-20.

    Examples
    --------
    >>> domain = Domain.from_bounds(["x"], ["y"], bounds_X=(0, 1), bounds_y=(0, 8))
    >>> light(Unread.of((np.zeros((2, 1)), np.array([0.1, 9.0])), domain), ["y"])
    ((Histogram(outcome 'y', confidential),), Margins(2 columns, confidential))
    """

    def __init__(self, domain: Domain, column: str, counts: Ints) -> None:
        self.domain = domain
        self.column = column
        self._counts = counts

    def integers(self, span: Span | None = None) -> Objects:
        """The exact counts of 16 equal parts of a span as Python integers; of all of [-1, 1] by default.

        Parts are closed at their low end; the last one of [-1, 1] is closed at both.
        """
        low, high = (-1.0, 1.0) if span is None else span
        if not is_span(low, high):
            raise ParameterError(f"Parts of the span ({low!r}, {high!r}) are not made of cells of 2^-11.")
        start, stop = (int((end + 1) * (CELLS / 2)) for end in (low, high))
        counts: Ints = self._counts[start:stop].reshape(BINS, -1).sum(axis=1)
        return counts.astype(object)

    @property
    def count(self) -> int:
        """How many rows have the outcome, or the sum of their weights rounded up; **confidential**."""
        return -(-int(self._counts.sum()) >> (sum_bits(self.domain) - 2 * LATTICE_BITS))

    def __repr__(self) -> str:
        return f"Histogram(outcome {self.column!r}, confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A Histogram is confidential and is not pickled.")


def cell_of(z: Floats) -> NDArray[np.intp]:
    """The cell of [-1, 1] that holds each z; the last one is closed at both ends."""
    return np.minimum(((z + 1) * (CELLS / 2)).astype(np.intp), CELLS - 1)


def bin_of(z: Floats, span: Span | None = None) -> NDArray[np.intp]:
    """The part of a span that holds each z, and -1 for those outside it."""
    low, high = (-1.0, 1.0) if span is None else span
    start, stop = (int((end + 1) * (CELLS / 2)) for end in (low, high))
    cells = cell_of(z)
    return np.where((start <= cells) & (cells < stop), (cells - start) * BINS // (stop - start), -1)


def sum_bits(domain: Domain) -> int:
    """Sums of products are integers in units of 2^-40, and those of weighted rows in units of 2^-60."""
    return 2 * LATTICE_BITS + (0 if domain.unit.plain else WEIGHT_BITS)


def tallied(cells: NDArray[np.intp], bins: int, weights: Floats | None) -> Ints:
    """How many rows are in each cell; their weights in units of 2^-20 where they have any."""
    counts = np.bincount(cells, weights, minlength=bins)
    return counts if weights is None else counts.astype(np.int64)


class Tally:
    """The encoded outcomes of all rows that have one, those that are dropped for another value too."""

    def __init__(self, table: Unread, column: str) -> None:
        self._reader, self._place = table.reader, table.domain.positions[column][0]
        self._alone = table.reader.only(column) if table.domain.missing == "drop" else None
        self._encoder = Encoder(table.domain.select([column])) if self._alone else None

    def outcomes(self, batch: Batch) -> Floats:
        """Of one batch."""
        if self._alone is None or self._encoder is None:
            return batch.A[:, self._place]
        y = self._encoder.empty(batch.rows, columnar=self._alone.columnar)
        y = y[: self._alone.fill(batch.raw, y, self._encoder)]
        self._encoder.finish(y)
        return y[:, 1]

    def cells(self, batch: Batch) -> Ints:
        """How many of them lie in each cell."""
        return tallied(cell_of(self.outcomes(batch) / ONE), CELLS, self._weights(batch))

    def _weights(self, batch: Batch) -> Floats | None:
        if self._alone is None or batch.weights is None:
            return batch.weights
        weights, kept = self._reader.weights(batch.raw), self._alone.kept(batch.raw)
        return weights if weights is None or kept is None else weights[kept]


class Margins:
    """The sums of all coordinates of encoded rows, and of their squares, in exact integers; **confidential**.

    They are the first row and the diagonal of what `Moments` holds, for the cost of reading the rows.
    """

    def __init__(self, domain: Domain, high: Ints, low: Ints) -> None:
        self.domain = domain
        self._high, self._low = high, low

    def integers(self, rows: ArrayLike, columns: ArrayLike) -> Objects:
        """Entries of the first row and the diagonal of the Gram matrix, in units of 2^-40; see `Moments.integers`."""
        i, j = np.broadcast_arrays(np.asarray(rows, dtype=int), np.asarray(columns, dtype=int))
        i, j = np.minimum(i, j), np.maximum(i, j)
        if np.any((i > 0) & (i != j)):
            raise ParameterError("Margins hold sums and sums of squares only; for products sum up Moments.")
        at = (i > 0).astype(int), j
        return integers(self._high[at], self._low[at])

    @property
    def count(self) -> int:
        """How many rows there are, or the sum of their weights rounded up; **confidential**."""
        return -(-int(self.integers([0], [0])[0]) >> sum_bits(self.domain))

    def __repr__(self) -> str:
        return f"Margins({len(self.domain.columns)} columns, confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Margins are confidential and are not pickled.")


class _MarginLayout:
    """Sums of coordinates, as products with the constant, and of their squares."""

    def __init__(self, size: int) -> None:
        self.shape = 2, size

    def add(self, A: Floats, total: Floats, work: Floats, sampled: Bools | None, left: Left) -> None:
        """Add those of a batch to a total."""
        B = left(A)
        total[0] += np.matmul(B[:, 0], A, out=work[0])
        total[1] += np.einsum("ij,ij->j", B, A, out=work[1])


def light(table: Unread, columns: Sequence[str] = ()) -> tuple[tuple[Histogram, ...], Margins]:
    """The counts of some outcomes and the margins of a table, from one reading that needs no matrix product."""
    tallies, domain = [Tally(table, column) for column in columns], table.domain

    def work(batches: Iterator[Batch]) -> tuple[Total, list[Ints]]:
        total = Total(_MarginLayout(len(domain.entries)), weighted=not domain.unit.plain)
        counts = [np.zeros(CELLS, dtype=np.int64) for _ in tallies]
        for batch in batches:
            total.add(batch.A, weights=batch.weights)
            for own, tally in zip(counts, tallies, strict=True):
                own += tally.cells(batch)
        return total, counts

    with as_progress(table.progress) as report:
        found = table.read(work, report=report)
        report(1.0)
    limbs = joined([total for total, _ in found])
    counts = [np.sum(own, axis=0) for own in zip(*(counts for _, counts in found), strict=True)]
    histograms = [Histogram(domain, column, own) for column, own in zip(columns, counts, strict=True)]
    return tuple(histograms), Margins(domain, *limbs)
