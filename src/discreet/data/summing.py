"""Sums of products of encoded rows in exact integers, over batches that threads draw in turn."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.jobs import Progress, one_thread
from discreet.data.sources import Source
from discreet.domain import LATTICE_BITS
from discreet.domain.encoding import Encoder
from discreet.errors import ParameterError

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
EXACT_ROWS = 1 << (53 - 2 * LATTICE_BITS)
CARRY_EVERY = 1 << (63 - 53 - 1)
LIMB = 32
MOST_THREADS = 1024
T = TypeVar("T")


class Sampler(Protocol):
    """Decides which rows are in a sample, whatever the order in which batches come."""

    def take(self, rows: int) -> Mask:
        """Whether each of the next rows is in the sample."""


@dataclass(frozen=True)
class Layout:
    """Which products of a row's coordinates are summed up.

    Parameters
    ----------
    size : int
        Coordinates of a row.
    features, outcomes : sequence of int
        Places of F and of Y. All products within F, all of F with Y, and the squares of Y are kept, as an array of
        f + 1 rows and f + l columns whose last row holds the squares. Without outcomes, all products are kept.
    """

    size: int
    features: Sequence[int] = ()
    outcomes: Sequence[int] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Of the array of sums."""
        if not self.outcomes:
            return self.size, self.size
        return len(self.features) + 1, len(self.features) + len(self.outcomes)

    def batch(self, *, columnar: bool) -> int:
        """How many rows a batch has: few enough for a processor's cache, unless each column of it costs a call."""
        least = 256 if self.outcomes and not columnar else 1024 if not self.outcomes else 2048
        return min(EXACT_ROWS, max(least, (1 << 18) // self.size))

    @cached_property
    def _features(self) -> slice | list[int]:
        return _span(self.features)

    @cached_property
    def _outcomes(self) -> slice | list[int]:
        return _span(self.outcomes)

    @cached_property
    def _both(self) -> slice | list[int]:
        return _span([*self.features, *self.outcomes])

    def add(self, A: Floats, total: Floats, work: Floats, sampled: Mask | None) -> None:
        """Add the products of a batch to a total; `work` is an array of the same shape."""
        if not self.outcomes:
            total += np.matmul(A.T, A, out=work)
            return
        F, f = A[:, self._features], len(self.features)
        if sampled is None:
            total[:f] += np.matmul(F.T, A[:, self._both], out=work[:f])
        else:
            S = F[sampled]
            total[:f, :f] += S.T @ S
            total[:f, f:] += F.T @ A[:, self._outcomes]
        Y = A[:, self._outcomes]
        total[f, f:] += np.einsum("ij,ij->j", Y, Y)


def _span(places: Sequence[int]) -> slice | list[int]:
    """Places as a slice where they follow one another, so that no copy is made."""
    first = places[0] if places else 0
    return slice(first, first + len(places)) if list(places) == list(range(first, first + len(places))) else [*places]


class Total:
    """A running sum of products in exact integers."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._sum, self._work = np.zeros(layout.shape), np.empty(layout.shape)
        self._recent, self._high, self._low = (np.zeros(layout.shape, dtype=np.int64) for _ in range(3))
        self._rows = self._pending = 0

    def add(self, A: Floats, sampled: Mask | None = None) -> None:
        """Add the products of a batch; sums over at most 8,192 rows are integers below 2^53, exact in float64."""
        if len(A) > EXACT_ROWS:
            raise AssertionError("a batch is too long for an exact product")
        if self._rows + len(A) > EXACT_ROWS:
            self._settle()
        self._layout.add(A, self._sum, self._work, sampled)
        self._rows += len(A)

    def _settle(self) -> None:
        self._recent += self._sum.astype(np.int64)
        self._sum[:] = 0.0
        self._rows = 0
        self._pending += 1
        if self._pending == CARRY_EVERY:
            self._limbs()

    def limbs(self) -> tuple[Ints, Ints]:
        """High and low limbs of the sum so far."""
        self._settle()
        return self._limbs()

    def _limbs(self) -> tuple[Ints, Ints]:
        self._high += self._recent >> LIMB
        self._low += self._recent & ((1 << LIMB) - 1)
        self._high, self._low = carry(self._high, self._low)
        self._recent[:] = 0
        self._pending = 0
        return self._high, self._low


def carry(high: Ints, low: Ints) -> tuple[Ints, Ints]:
    """The same sum with a low limb of 32 bits."""
    return high + (low >> LIMB), low & ((1 << LIMB) - 1)


def threads(n_jobs: int | None) -> int:
    """How many threads `n_jobs` stands for."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None or n_jobs == -1:
        return cores
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or not 1 <= n_jobs <= MOST_THREADS:
        raise ParameterError(
            f"n_jobs must be a whole number of at least 1 and at most {MOST_THREADS:,}, or None for all cores; got "
            f"{checks.shown(n_jobs)}."
        )
    return n_jobs


def sum_up(source: Source, layout: Layout, jobs: int, progress: Progress, sampler: Sampler | None) -> list[Total]:
    """Read all rows once, in several threads, each with a total of its own."""
    encoder = Encoder(source.domain)
    size = layout.batch(columnar=source.columnar)
    parts = Shared(source.parts(size))
    done = Done(source.total, progress)

    def work() -> Total:
        total = Total(layout)
        buffer = encoder.empty(size, columnar=source.columnar)
        with parts:
            for _, batch in parts:
                A = buffer[: source.fill(batch, buffer, encoder)]
                encoder.finish(A)
                rows = source.size(batch)
                total.add(A, None if sampler is None else sampler.take(rows)[: len(A)])
                done.add(rows)
        return total

    totals = in_threads(source, parts, work, jobs)
    progress(1.0)
    return totals


def in_threads(source: Source, parts: Shared, work: Callable[[], T], jobs: int) -> list[T]:
    """Do the work in so many threads, each drawing from the parts of a source; a failure stops all of them."""
    with contextlib.closing(source), one_thread(), ThreadPoolExecutor(jobs) as pool:
        try:
            futures = [pool.submit(work) for _ in range(jobs)]
            return [future.result() for future in futures]
        finally:
            parts.stop()


class Shared:
    """Parts that threads draw from in turn, a batch at a time; they end for all once one thread stops or fails.

    Each batch comes with its place in the table: which part it is of, and which batch of that part it is.
    """

    def __init__(self, parts: Iterator[Iterable[Any]]) -> None:
        self._parts = enumerate(parts)
        self._lock = threading.Lock()
        self._stopped = False

    def stop(self) -> None:
        """Let no thread begin another batch."""
        self._stopped = True

    def __enter__(self) -> None:
        pass

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        if failure:
            self.stop()

    def __iter__(self) -> Iterator[tuple[tuple[int, int], Any]]:
        while (part := self._next()) is not None:
            for i, batch in enumerate(part[1]):
                if self._stopped:
                    return
                yield (part[0], i), batch

    def _next(self) -> tuple[int, Iterable[Any]] | None:
        with self._lock:
            return None if self._stopped else next(self._parts, None)


class Done:
    """Tells the progress callback how large a part of the rows has been read, in whole percents."""

    def __init__(self, total: int | None, progress: Callable[[float], None]) -> None:
        self._total, self._progress, self._rows = total, progress, 0
        self._shown = 0.0
        self._lock = threading.Lock()

    def add(self, rows: int) -> None:
        """So many rows more have been read."""
        if not self._total:
            return
        with self._lock:
            self._rows += rows
            fraction = min(self._rows * 100 // self._total, 99) / 100
            if fraction > self._shown:
                self._shown = fraction
                self._progress(fraction)
