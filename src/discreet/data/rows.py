"""Encoded rows that a solver reads many times: kept in memory if they fit, else read again from their source.

All readings must see the same rows, or the solver's result is the minimiser of no table. So each reading of a source
has a digest, and a reading whose digest differs from the first is refused before anything is released.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, NoReturn

import numpy as np

from discreet.core.arrays import SILENT, Floats
from discreet.core.threads import one_thread
from discreet.data.digests import Digest
from discreet.data.reading import Progress, ReadingProgress, Shared, Table, in_threads, threads
from discreet.domain.encoding import ONE, Encoder
from discreet.domain.required import require_bounds
from discreet.errors import DataError
from discreet.families import Loss

KEEP_BYTES = 1 << 31
"""Encoded rows of at most so many bytes are kept in memory; streams that can be read only once always are."""

BLOCK = 8192
_SPLIT_BITS = 13


class LossSums(NamedTuple):
    """Sums of the loss, its gradient and its Hessian over all rows, and the number of rows."""

    value: float
    gradient: Floats
    hessian: Floats
    rows: int


class Rows:
    """The rows of a table as vectors x of a model's regressors, with an outcome each; **confidential**.

    Parameters
    ----------
    table : Table
        The private rows.
    design : sequence of str
        Names of the coordinates that x consists of.
    target : str
        The outcome's column. Numbers are in units of the mapped column; a category is the place of its level.
    progress : callable, optional
        Called with the fraction done while the rows are read for the first time.

    Examples
    --------
    >>> from discreet import Domain
    >>> domain = Domain.from_bounds(["x"], ["y"], bounds_X=(0, 1), bounds_y=(0, 8))
    >>> Rows(Table.of((np.zeros((2, 1)), np.zeros(2)), domain), ["(intercept)", "x"], "y")
    Rows(2 coordinates, confidential)
    """

    def __init__(self, table: Table, design: Sequence[str], target: str, *, progress: Progress | None = None) -> None:
        domain = table.domain
        require_bounds(domain, "A method that solves over the rows themselves")
        self.domain, self.design = domain, tuple(design)
        self._jobs = threads(table.n_jobs)
        self._places, self._outcome = domain.indices(design), domain.positions[target]
        self._number = domain.columns[target].bounds is not None
        self._source, self._encoder = table.reader, Encoder(domain)
        width, total = len(self.design) + 1, self._source.total
        self._first: ReadingProgress | None = ReadingProgress(total, progress) if progress else None
        self._kept: list[tuple[Floats, Floats]] | None = None
        self._digest = Digest(width)
        self._seen: tuple[int, int] | None = None
        if self._source.once or (total is not None and total * width * 8 <= KEEP_BYTES):
            self._kept = self._read_all()
        self.count = self._count()
        self._first = None
        if self.count == 0:
            raise DataError("There is no row to release anything from. Nothing was released.")

    def sums(self, loss: Loss, theta: Floats, label: Callable[[Floats], Floats], *, every: int = 1) -> LossSums:
        """Compute sums over all rows, or over every so many blocks of kept rows, scaled up to all rows.

        Slopes are split into a multiple of 2^-13 of the largest and a rest. Products of the first part with lattice
        points add up exactly inside a block, those of the rest with an error 2^-14 times as large as usual; blocks
        are added up without error. `privacy.rounding.gradient_error` bounds the remaining error.
        """
        unit = math.ldexp(1.0, math.frexp(loss.slope)[1] - _SPLIT_BITS)

        def work(X: Floats, y: Floats) -> tuple[float, Floats, Floats, int]:
            f, slope, curvature = self._parts(loss, X, theta, y, label)
            coarse = np.rint(slope / unit) * unit
            gradient = X.T @ np.column_stack([coarse, slope - coarse])
            scaled = X * np.sqrt(curvature)[:, None]
            return float(f.sum()), gradient, scaled.T @ scaled, len(X)

        values, gradients, hessians, counts = zip(*self._map(work, every), strict=True)
        count = sum(counts)
        parts = np.concatenate(gradients, axis=1)
        gradient = np.array([math.fsum(row) for row in parts.tolist()])
        times = self.count / count
        return LossSums(math.fsum(values) * times, gradient * times, np.sum(hessians, axis=0) * times, count)

    def _parts(
        self, loss: Loss, X: Floats, theta: Floats, y: Floats, label: Callable[[Floats], Floats]
    ) -> tuple[Floats, Floats, Floats]:
        """Return the loss of a block's rows, with its first and second derivatives in X theta."""
        return loss.parts(X @ theta, label(y))

    def each(self, work: Callable[[Floats, Floats], Any]) -> list[Any]:
        """Apply a function to each block of rows (X, y), in one thread, since randomness has one source."""
        jobs, self._jobs = self._jobs, 1
        try:
            return self._map(work, 1)
        finally:
            self._jobs = jobs

    @property
    def blocks(self) -> int:
        """The number of blocks in memory; 0 if rows are read again each time."""
        return len(self._kept or ())

    # ---------------------------------------------------------------- reading

    def _map(self, work: Callable[[Floats, Floats], Any], every: int) -> list[Any]:
        if self._kept is not None:
            blocks = self._kept[::every]
            with one_thread():
                if min(self._jobs, len(blocks)) <= 1:
                    return [_silent(work, block) for block in blocks]
                with ThreadPoolExecutor(self._jobs) as pool:
                    return list(pool.map(partial(_silent, work), blocks))
        shared = Shared(self._source.parts(BLOCK))
        drawn = in_threads(self._source, shared, lambda: self._draw(shared, work), self._jobs)
        found = [result for results in drawn for result in results]
        seen = sum(digest for digest, *_ in found) % (1 << 64), sum(rows for _, rows, _ in found)
        if self._seen not in (None, seen):
            raise DataError("The rows changed while they were read: others came the second time. Nothing was released.")
        self._seen = seen
        return [result for *_, result in found]

    def _draw(self, shared: Shared, work: Callable[[Floats, Floats], Any]) -> list[tuple[int, int, Any]]:
        """Return the digest and the length of each block, and the result of a function of it."""
        with shared:
            blocks = self._encode(batch for _, batch in shared)
            return [(self._digest.of(X, y), len(X), _silent(work, (X, y))) for X, y in blocks]

    def _encode(self, part: Iterable[Any]) -> Iterator[tuple[Floats, Floats]]:
        buffer, block = self._encoder.empty(BLOCK, columnar=self._source.columnar), self._blocks()
        for batch in part:
            with np.errstate(**SILENT):
                A = buffer[: self._source.fill(batch, buffer, self._encoder)]
                self._encoder.finish(A)
                X, y = block(A)
            if self._first:
                self._first.add(len(X))
            yield X, y

    def _blocks(self) -> Callable[[Floats], tuple[Floats, Floats]]:
        """Return a function from encoded rows to a block (X, y), for one thread."""
        return lambda A: (np.ascontiguousarray(A[:, self._places]) / ONE, self._outcomes(A))

    def _outcomes(self, A: Floats) -> Floats:
        y: Floats = A[:, self._outcome[0]] / ONE if self._number else A[:, self._outcome].argmax(axis=1).astype(float)
        return y

    def _read_all(self) -> list[tuple[Floats, Floats]]:
        with contextlib.closing(self._source), ThreadPoolExecutor(self._jobs) as pool:
            parts = pool.map(lambda part: list(self._encode(part)), self._source.parts(BLOCK))
            small = [block for blocks in parts for block in blocks if len(block[0])]
            self._source.check_unchanged()
        return _joined(small)

    def _count(self) -> int:
        return int(sum(self._map(lambda X, y: len(X), 1)))

    def __repr__(self) -> str:
        return f"Rows({len(self.design)} coordinates, confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Rows are confidential and are not pickled.")


def _silent(work: Callable[[Floats, Floats], Any], block: tuple[Floats, Floats]) -> Any:
    with np.errstate(**SILENT):
        return work(*block)


def _joined(blocks: list[tuple[Floats, Floats]]) -> list[tuple[Floats, Floats]]:
    """Join consecutive blocks, up to the length of one block."""
    joined: list[tuple[Floats, Floats]] = []
    pending: list[tuple[Floats, Floats]] = []
    for block in [*blocks, None]:
        if pending and (block is None or sum(len(X) for X, _ in pending) + len(block[0]) > BLOCK):
            single = len(pending) == 1
            joined.append(pending[0] if single else tuple(map(np.concatenate, zip(*pending, strict=True))))  # type: ignore[arg-type]
            pending = []
        if block is not None:
            pending.append(block)
    return joined
