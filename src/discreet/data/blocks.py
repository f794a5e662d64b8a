"""Exact moments of disjoint blocks of rows; the caller says which block each row goes to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from discreet.core.arrays import Floats, Ints, Objects
from discreet.data.passes.base import Batch
from discreet.data.reading import Progress, Table, threads
from discreet.data.sums import EXACT_ROWS
from discreet.errors import DataError

Choose = Callable[[int], Ints]

STAGE = 1 << 17
"""The number of rows that are sorted by block at a time."""

WIDE_ROWS = 1 << 21
"""The most rows of a block per thread whose sums are kept in 64 bits: 2^21 rows add up to 2^61 at most."""

_THREAD_BYTES = 1 << 28


class BlockTotals:
    """Sums of products of the rows of each block, in exact integers; **confidential**."""

    def __init__(self, blocks: int, width: int) -> None:
        self.rows = 0
        self._sum, self._work = np.zeros((blocks, width, width)), np.empty((width, width))
        self._pending, self._settled = [0] * blocks, [0] * blocks
        self._whole: Objects = np.zeros((blocks, width, width), dtype=np.int64)

    def add(self, block: int, A: Floats) -> None:
        """Add rows to a block; sums over at most 8,192 rows are integers below 2^53, exact in float64."""
        for at in range(0, len(A), EXACT_ROWS):
            part = A[at : at + EXACT_ROWS]
            if self._pending[block] + len(part) > EXACT_ROWS:
                self._settle(block)
            self._sum[block] += np.matmul(part.T, part, out=self._work)
            self._pending[block] += len(part)

    def _settle(self, block: int) -> None:
        self._settled[block] += self._pending[block]
        if self._settled[block] > WIDE_ROWS and self._whole.dtype == np.int64:
            self._whole = self._whole.astype(object)
        self._whole[block] += self._sum[block].astype(np.int64)
        self._sum[block] = 0.0
        self._pending[block] = 0

    def integers(self) -> Objects:
        """Return the sums of each block in units of 2^-40: int64, or Python integers if they would not fit."""
        for block in range(len(self._pending)):
            self._settle(block)
        return self._whole

    def __repr__(self) -> str:
        return f"BlockTotals({len(self._pending)} blocks, confidential)"


def block_sums(
    table: Table, coordinates: Sequence[str], blocks: int, choose: Choose, n_jobs: int | None, progress: Progress
) -> Objects:
    """Read all rows once, in several threads, and sum the products of some coordinates within each block.

    Parameters
    ----------
    table : Table
        The rows.
    coordinates : sequence of str
        Names of the coordinates.
    blocks : int
        The number of blocks.
    choose : callable
        Returns the blocks of a given number of rows.
    n_jobs : int, optional
        Threads; fewer are used where their sums would not fit into memory.
    progress : callable
        Called with the fraction done.
    """
    places = np.array(table.domain.indices(coordinates))
    jobs = max(1, min(threads(n_jobs), _THREAD_BYTES // (8 * blocks * len(places) ** 2)))

    def work(batches: Iterator[Batch]) -> BlockTotals:
        totals, stage = BlockTotals(blocks, len(places)), _BlockWriter(len(places), blocks, choose)
        for A, *_ in batches:
            stage.take(A[:, places] if len(places) < A.shape[1] else A, totals)
        stage.empty(totals)
        return totals

    totals = table.read(work, report=progress, n_jobs=jobs)
    if not sum(total.rows for total in totals):
        raise DataError("There is no row to release anything from. Nothing was released.")
    found = [total.integers() for total in totals]
    narrow = len(found) <= 2 and all(sums.dtype == np.int64 for sums in found)
    return np.asarray(sum(sums if narrow else sums.astype(object) for sums in found))


class _BlockWriter:
    """A buffer that sorts rows by block: each row is written to its place among the rows of its block."""

    def __init__(self, width: int, blocks: int, choose: Choose) -> None:
        self._rows = np.zeros((STAGE, width))
        self._blocks, self._choose = blocks, choose
        self._begin()

    def _begin(self) -> None:
        found = self._choose(STAGE)
        self._place = np.empty(STAGE, dtype=np.intp)
        self._place[np.argsort(found.astype(np.uint16), kind="stable")] = np.arange(STAGE)
        self._ends = np.cumsum(np.bincount(found, minlength=self._blocks)).tolist()
        self._filled = 0

    def take(self, A: Floats, totals: BlockTotals) -> None:
        """Add rows to the buffer, and empty it when it is full."""
        while len(A):
            now = A[: STAGE - self._filled]
            self._rows[self._place[self._filled : self._filled + len(now)]] = now
            self._filled += len(now)
            if self._filled == STAGE:
                self.empty(totals)
                self._begin()
            A = A[len(now) :]

    def empty(self, totals: BlockTotals) -> None:
        """Add the buffered rows to the totals of their blocks; unused places hold zeros."""
        self._rows[self._place[self._filled :]] = 0.0
        for block, (start, end) in enumerate(zip([0, *self._ends], self._ends)):  # noqa: B905
            if end > start:
                totals.add(block, self._rows[start:end])
        totals.rows += self._filled
        self._filled = 0
