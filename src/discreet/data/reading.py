"""Reading rows: a table with its domain, opened once and read as often as needed, in threads.

Progress is reported as a fraction, never as a count, since counts are private.
"""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NoReturn, TypeVar

import numpy as np

from discreet.core import checks
from discreet.core.arrays import SILENT, short_buffers
from discreet.core.memory import refuse_beyond
from discreet.core.problems import Problems
from discreet.core.threads import one_thread
from discreet.data.device.device import Device
from discreet.data.device.feed import device_batches
from discreet.data.kept import KeptRows
from discreet.data.passes.base import Batch, Pass, encoded, usual_size
from discreet.data.persons import by_person
from discreet.data.sources.arrow import StreamSource, TableSource
from discreet.data.sources.base import Remote, Source
from discreet.data.sums import ARRAYS, PartialSums, joined
from discreet.data.tables import as_table
from discreet.domain import Domain
from discreet.domain.unit import identifiers
from discreet.errors import DiscreetWarning, DomainError, ParameterError

MOST_THREADS = 1024
T = TypeVar("T")

WHOSE = (
    "The data have a column {name!r}, which looks as if it told whose a row is, and no person= is declared: then one "
    "row is one person, and who has several rows is protected less. Remedy: declare person={name!r} and "
    "rows_per_person=, in the domain, in the schema or with --person; see docs/howto/persons.md."
)
Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """The rows of a table, with the reader and the encoding; **confidential**.

    Parameters
    ----------
    reader : Source
        Reads the rows: chosen once, checked against the domain, and used for every reading.
    domain : Domain
        The encoding of rows. Its bounds may differ from those that the reader was opened with, its columns may not.
    n_jobs, progress
        As in `Moments.from_source`.
    device : Device, optional
        The device on which passes are computed that can be; by default, all are computed by numpy.
    rows, left : int
        The number of rows, and of those not dropped for a missing value; known after `checked`.
    kept : KeptRows
        The encoded rows of a small table, for passes that read them again.

    Examples
    --------
    >>> import numpy as np
    >>> domain = Domain.from_bounds(["x"], ["y"], bounds_X=(0, 1), bounds_y=(0, 8))
    >>> Table.of((np.zeros((2, 1)), np.zeros(2)), domain).checked()
    Table(2 columns, confidential)
    """

    reader: Source
    domain: Domain
    n_jobs: int | None = None
    progress: bool | Progress = False
    device: Device | None = None
    rows: int = 0
    left: int = 0
    kept: KeptRows = field(default_factory=KeptRows)

    @classmethod
    def of(
        cls,
        source: Any,
        domain: Domain,
        n_jobs: int | None = None,
        progress: bool | Progress = False,
        device: Device | None = None,
    ) -> Table:
        """Open rows from any source, which is checked against the domain before it is scanned."""
        if domain.deviates and domain.unit.person is None:
            raise DomainError(
                "Deviations from the means of persons need person=, the column that tells whose a row is."
            )
        reader = as_table(source).open(domain)
        if domain.unit.person is not None:
            return cls(reader if isinstance(reader, Remote) else by_person(reader), domain, n_jobs, progress, device)
        if found := identifiers(reader.names):
            warnings.warn(WHOSE.format(name=found[0]), DiscreetWarning, stacklevel=3)
        return cls(reader, domain, n_jobs, progress, device)

    def by(self, domain: Domain) -> Table:
        """Return the same rows, encoded by other bounds of the same columns."""
        return replace(self, domain=domain, kept=KeptRows())

    def sums(self, what: Pass) -> PartialSums:
        """Read all rows once and compute the sums of a pass, in several threads or where the rows are."""
        reader, jobs = self.reader, 1 if what.in_order else None
        with as_progress(self.progress) as report:
            if isinstance(reader, Remote):
                found = reader.sums(what, report)
            elif self.device is not None and what.on_device:
                found = self._sums_on(self.device, what, report)
            else:
                self._refuse_large(what, 1 if what.in_order else threads(self.n_jobs))
                size = what.size(columnar=reader.columnar)
                work = short_buffers()(partial(what.sums, reader))
                found = joined(self.read(work, size, report, n_jobs=jobs, again=what.again))
            report(1.0)
        return found

    def _sums_on(self, device: Device, what: Pass, report: Progress) -> PartialSums:
        """Compute the sums of a pass on a device, while threads read what comes next."""
        reader, problems = self.reader, Problems()
        size, done = device.size(what, reader), ReadingProgress(reader.total, report)
        self._refuse_large(what, 1)
        device.refuse_large(what, size)
        parts, jobs = Shared(reader.parts(size)), threads(self.n_jobs)
        with contextlib.closing(reader):
            drawn = device_batches(device, reader, self.domain, size, parts, jobs, problems, done.add)
            with device.failing(), contextlib.closing(drawn), np.errstate(**SILENT):
                found = what.sums(reader, drawn, device)
            reader.check_unchanged()
        problems.tell()
        return found

    def _refuse_large(self, what: Pass, jobs: int) -> None:
        """Refuse sums that need more memory than is available; each thread has its own."""
        needed = (ARRAYS * jobs * (1 if self.domain.unit.plain else 2) + 2) * 8.0 * what.numbers
        d = len(self.domain.entries)
        refuse_beyond(
            needed, f"Summing up {d:,} coordinates in {jobs} threads", "Fewer levels or columns help, or n_jobs=1."
        )

    def read(
        self,
        work: Callable[[Iterator[Batch]], T],
        size: int | None = None,
        report: Progress = lambda _: None,
        n_jobs: int | None = None,
        *,
        again: bool = False,
    ) -> list[T]:
        """Read all rows once in several threads, and return the result of each thread.

        Parameters
        ----------
        work : callable
            Processes the batches of one thread.
        size : int, optional
            The maximum number of rows of a batch.
        report : callable
            Called with the fraction done.
        n_jobs : int, optional
            Threads; those of the table by default.
        again : bool
            Whether encoded rows are kept for the next reading, where they are few.
        """
        reader, size = self.reader, size or usual_size(self.domain)
        held = self.kept.held(self.domain, size) if again else None
        parts = Shared(reader.parts(size) if held is None else iter([held]))
        done, problems, keep = ReadingProgress(reader.total, report), Problems(), again and self.domain.unit.plain

        def run() -> T:
            batches = (batch for _, batch in parts)
            with np.errstate(**SILENT), parts:
                if held is not None:
                    return work(batches)
                rows = encoded(reader, self.domain, size, batches, problems, done.add)
                return work(self.kept.keeping(rows) if keep else rows)

        found = in_threads(reader, parts, run, threads(self.n_jobs if n_jobs is None else n_jobs))
        problems.tell()
        if keep and held is None:
            self.kept.finish(self.domain, size)
        return found

    def checked(self) -> Table:
        """Read all rows to find bad data, and return the table, to be read again.

        A stream that can be read only once is kept in memory.
        """
        if isinstance(self.reader, StreamSource) and self.reader.once:
            return replace(self, reader=TableSource(self.reader.table(), (), self.domain)).checked()

        def work(batches: Iterator[Batch]) -> tuple[int, int]:
            rows = left = 0
            for batch in batches:
                rows, left = rows + batch.rows, left + len(batch.A)
            return rows, left

        with as_progress(_half(self.progress, 0.0)) as report:
            counts = self.read(work, report=report)
        rows, left = (sum(part) for part in zip(*counts, strict=True))
        return replace(self, progress=_half(self.progress, 0.5), rows=rows, left=left)

    def __repr__(self) -> str:
        return f"Table({len(self.domain.columns)} columns, confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Rows are confidential and are not pickled.")


def _half(progress: bool | Progress, start: float) -> bool | Progress:
    """Return the progress callback for one of two readings, each half of the progress; a bar is shown for each."""
    return (lambda fraction: progress(start + fraction / 2)) if callable(progress) else progress


# ---------------------------------------------------------------- threads


def threads(n_jobs: int | None) -> int:
    """Return the number of threads for `n_jobs`."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None or n_jobs == -1:
        return cores
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or not 1 <= n_jobs <= MOST_THREADS:
        raise ParameterError(
            f"n_jobs must be a whole number of at least 1 and at most {MOST_THREADS:,}, or None for all cores; got "
            f"{checks.shown(n_jobs)}."
        )
    return n_jobs


def in_threads(source: Source, parts: Shared, work: Callable[[], T], jobs: int) -> list[T]:
    """Do the work in several threads, each drawing from the parts of a source; a failure stops all of them."""
    with contextlib.closing(source), one_thread(), ThreadPoolExecutor(jobs) as pool:
        try:
            futures = [pool.submit(work) for _ in range(jobs)]
            found = [future.result() for future in futures]
            source.check_unchanged()
            return found
        except BaseException:
            source.cancel()
            raise
        finally:
            parts.stop()


class Shared:
    """Parts from which threads draw in turn, a batch at a time; they end for all once one thread stops or fails.

    Each batch comes with its place in the table: which part it is of, and which batch of that part it is.
    """

    def __init__(self, parts: Iterator[Iterable[Any]]) -> None:
        self._parts = enumerate(parts)
        self._lock = threading.Lock()
        self._stopped = False

    def stop(self) -> None:
        """Prevent threads from starting another batch."""
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


# ---------------------------------------------------------------- progress


@contextlib.contextmanager
def as_progress(progress: bool | Progress, what: str = "reading") -> Iterator[Progress]:
    """Provide a callback for a fraction between 0 and 1; True shows a bar on standard error, removed at the end."""
    if callable(progress) or not progress:
        yield progress if callable(progress) else _silent
        return
    bar = _Bar(what)
    try:
        yield bar
    finally:
        bar.stop()


def _silent(fraction: float) -> None:
    pass


class _Bar:
    """A bar on standard error that appears with the first progress."""

    def __init__(self, what: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Rich

        columns = (TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        self._rich = Rich(*columns, console=Console(stderr=True), transient=True)
        self._task = self._rich.add_task(what, total=1.0)

    def __call__(self, fraction: float) -> None:
        self._rich.start()
        self._rich.update(self._task, completed=fraction)

    def stop(self) -> None:
        """Remove the bar and restore the terminal."""
        self._rich.stop()


class ReadingProgress:
    """Reports the fraction of rows read to the progress callback, in whole percents."""

    def __init__(self, total: int | None, progress: Callable[[float], None]) -> None:
        self._total, self._progress, self._rows = total, progress, 0
        self._shown = 0.0
        self._lock = threading.Lock()

    def add(self, rows: int) -> None:
        """Add a number of rows that have been read."""
        if not self._total:
            return
        with self._lock:
            self._rows += rows
            fraction = min(self._rows * 100 // self._total, 99) / 100
            if fraction > self._shown:
                self._shown = fraction
                self._progress(fraction)
