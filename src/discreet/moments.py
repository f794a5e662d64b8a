"""Exact moments: the Gram matrix of encoded rows as integers, the same however the rows were read."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from discreet import derived
from discreet.domain import LATTICE_BITS, Domain
from discreet.encoding import Encoder, Floats
from discreet.errors import FileFormatError, ParameterError
from discreet.files import atomic_write
from discreet.progress import Progress, as_progress
from discreet.sources import Source, open_source

Ints = NDArray[np.int64]
_EXACT_ROWS = 1 << (53 - 2 * LATTICE_BITS)
_CARRY_EVERY = 1 << (63 - 53 - 1)
_LIMB = 32
_SMALL = 1 << (62 - _LIMB - 1)
_NOTE = "CONFIDENTIAL: exact statistics of private data. Not a release; do not publish or share."


class Moments:
    """The exact Gram matrix of the encoded rows of a table; **confidential**.

    With z = (1, x_1, ..., x_p) the encoded row on the lattice 2^-20, this is the sum of z z' over the rows, in
    integers of 95 bits. Sums of integers do not depend on order, chunking or threads, so one row changes the
    moments by exactly its own z z'. Moments of parts of a table add up with ``+``.

    Examples
    --------
    >>> X, y = np.array([[0.0], [0.5], [1.0]]), np.array([0.0, 1.0, 1.0])
    >>> domain = Domain.from_bounds(["x"], ["y"], bounds_X=(0, 1), bounds_y=(0, 1))
    >>> Moments.from_source((X, y), domain)
    Moments(2 columns, confidential)
    """

    def __init__(self, domain: Domain, high: Ints, low: Ints) -> None:
        self.domain = domain
        self._high = high
        self._low = low

    @classmethod
    def from_source(
        cls, source: Any, domain: Domain, *, n_jobs: int | None = None, progress: bool | Progress = False
    ) -> Moments:
        """Read all rows once and sum them up exactly.

        Parameters
        ----------
        source : path, list of paths, frame, Arrow table or stream, DuckDB relation, array, or pair (X, y)
            The private rows. A path names a Parquet or CSV file (``.parquet``, ``.csv``, ``.csv.gz``) or a folder of
            them; a frame is one of pandas or polars, which may be lazy.
        domain : Domain
            Public bounds and levels; the source is checked against them before it is scanned.
        n_jobs : int, optional
            Threads; all cores by default.
        progress : bool or callable
            Show a progress bar, or call this with the fraction done.
        """
        if not isinstance(domain, Domain):
            raise ParameterError("domain must be a Domain: the public bounds of the columns.")
        jobs = threads(n_jobs)
        with as_progress(progress) as report:
            return _sum_up(open_source(source, domain), jobs, report)

    @classmethod
    def from_batch(cls, A: Floats, domain: Domain) -> Moments:
        """Moments of one encoded batch of at most 8,192 rows."""
        total = _Total(len(domain.entries))
        total.add(A)
        return cls(domain, *total.limbs())

    def __add__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        if other.domain != self.domain:
            raise ParameterError("These moments have different domains and cannot be added.")
        return Moments(self.domain, *_carry(self._high + other._high, self._low + other._low))

    def integers(self, rows: Iterable[int], columns: Iterable[int]) -> NDArray[Any]:
        """Exact entries of the Gram matrix in units of 2^-40: int64 where all are below 2^62, else Python integers."""
        at = np.asarray(list(rows), dtype=int), np.asarray(list(columns), dtype=int)
        high, low = self._high[at], self._low[at]
        if not high.size or -_SMALL < high.min() <= high.max() < _SMALL:
            narrow: NDArray[Any] = (high << _LIMB) + low
            return narrow
        wide: NDArray[Any] = high.astype(object) * (1 << _LIMB) + low.astype(object)
        return wide

    def floats(self, indices: list[int]) -> Floats:
        """A square block of the Gram matrix in float64, in units of the mapped columns."""
        at = np.ix_(indices, indices)
        high = np.ldexp(self._high[at].astype(float), _LIMB - 2 * LATTICE_BITS)
        block: Floats = high + np.ldexp(self._low[at].astype(float), -2 * LATTICE_BITS)
        return block

    def save(self, path: str | Path) -> None:
        """Save the exact moments to a **confidential** file that only its owner may read."""
        version = derived.format_version(self.domain)
        header = {"kind": "moments", "format_version": version, "note": _NOTE, "domain": self.domain.to_dict()}
        with atomic_write(path, confidential=True) as file:
            file.write((_NOTE + "\n").encode())
            np.savez_compressed(file, header=np.array(json.dumps(header)), high=self._high, low=self._low)

    @classmethod
    def load(cls, path: str | Path) -> Moments:
        """Load what `save` wrote."""
        name = Path(path).name
        with Path(path).open("rb") as file:
            if file.readline(1000) != (_NOTE + "\n").encode():
                raise FileFormatError(f"{name} is not a moments file of discreet.")
            try:
                with np.load(file, allow_pickle=False) as parts:
                    header = json.loads(str(parts["header"]))
                    high, low = parts["high"], parts["low"]
                version = header["format_version"]
                domain = Domain.from_dict(header["domain"]) if version in derived.VERSIONS else None
            except Exception:  # a damaged archive fails in many ways
                raise FileFormatError(f"{name} is damaged and cannot be read.") from None
        if domain is None:
            raise FileFormatError(
                f"{name} has format_version {version!r}; this version of discreet reads "
                f"{', '.join(map(str, derived.VERSIONS))}."
            )
        if not high.shape == low.shape == (len(domain.entries),) * 2 or {high.dtype, low.dtype} != {np.dtype(np.int64)}:
            raise FileFormatError(f"{name} is damaged: its parts do not fit together.")
        return cls(domain, high, low)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moments):
            return NotImplemented
        same = np.array_equal(self._high, other._high) and np.array_equal(self._low, other._low)
        return self.domain == other.domain and same

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Moments({len(self.domain.columns)} columns, confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Moments are confidential and are not pickled. Use save(), which marks the file as such.")


class _Total:
    """A running sum of Gram matrices in exact integers."""

    def __init__(self, size: int) -> None:
        self._recent = np.zeros((size, size), dtype=np.int64)
        self._high = np.zeros((size, size), dtype=np.int64)
        self._low = np.zeros((size, size), dtype=np.int64)
        self._pending = 0

    def add(self, A: Floats) -> None:
        """Add A'A, whose entries are integers below 2^53 because A has at most 8,192 rows."""
        if len(A) > _EXACT_ROWS:
            raise AssertionError("a batch is too long for an exact product")
        self._recent += (A.T @ A).astype(np.int64)
        self._pending += 1
        if self._pending == _CARRY_EVERY:
            self.limbs()

    def limbs(self) -> tuple[Ints, Ints]:
        """High and low limbs of the sum so far."""
        self._high += self._recent >> _LIMB
        self._low += self._recent & ((1 << _LIMB) - 1)
        self._high, self._low = _carry(self._high, self._low)
        self._recent[:] = 0
        self._pending = 0
        return self._high, self._low


def _carry(high: Ints, low: Ints) -> tuple[Ints, Ints]:
    return high + (low >> _LIMB), low & ((1 << _LIMB) - 1)


def threads(n_jobs: int | None) -> int:
    """How many threads `n_jobs` stands for."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None or n_jobs == -1:
        return cores
    if not isinstance(n_jobs, int) or n_jobs < 1:
        raise ParameterError(f"n_jobs must be a whole number of at least 1, or None for all cores; got {n_jobs!r}.")
    return n_jobs


def _batch_rows(width: int) -> int:
    return min(_EXACT_ROWS, max(1024, (1 << 18) // width))


def _sum_up(source: Source, jobs: int, progress: Progress) -> Moments:
    encoder = Encoder(source.domain)
    rows = _batch_rows(len(source.domain.entries))
    parts = _Shared(source.parts(rows))
    done = Done(source.total, progress)

    def work() -> _Total:
        total = _Total(len(source.domain.entries))
        buffer = encoder.empty(rows, columnar=source.columnar)
        with parts:
            for batch in parts:
                A = buffer[: source.fill(batch, buffer, encoder)]
                encoder.finish(A)
                total.add(A)
                done.add(source.size(batch))
        return total

    with contextlib.closing(source), threadpool_limits(1, "blas"), ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(work) for _ in range(jobs)]
        try:
            totals = [future.result() for future in futures]
        finally:
            parts.stop()
    moments = [Moments(source.domain, *total.limbs()) for total in totals]
    progress(1.0)
    return sum(moments[1:], start=moments[0])


class _Shared:
    """Parts that threads draw from in turn, a batch at a time; they end for all once one thread stops or fails."""

    def __init__(self, parts: Iterator[Iterable[Any]]) -> None:
        self._parts = parts
        self._lock = threading.Lock()
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True

    def __enter__(self) -> None:
        pass

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        if failure:
            self.stop()

    def __iter__(self) -> Iterator[Any]:
        while (part := self._next()) is not None:
            for batch in part:
                if self._stopped:
                    return
                yield batch

    def _next(self) -> Iterable[Any] | None:
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
