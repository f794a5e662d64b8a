"""Spark frames; pyspark is imported only when one is given, or asked for by name.

Each part of the frame is summed where it is, and one row of bytes comes back for each. Rows are not moved between
executors. No accumulators are used, so that a task that is retried, or run twice, counts once.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from discreet.data import worker
from discreet.data.engines.base import Engine, unquoted
from discreet.data.sources.base import comes_from, missing_package
from discreet.domain import Domain
from discreet.errors import DataError

_LARGE = 1 << 16
"""Larger answers are added up by the cluster first: 16,000 of this size fill Spark's limit of 1 GiB."""

_MERGING = 8
"""The number of tasks that add up answers."""

_EVERY = 0.2
"""Seconds between polls of Spark's progress."""


def is_spark(value: Any) -> bool:
    """Whether a value is a Spark frame."""
    return comes_from(value, "pyspark") and type(value).__name__ == "DataFrame" and hasattr(value, "mapInArrow")


class SparkEngine(Engine):
    """A Spark frame; its query runs in each pass, so it must give the same rows each time."""

    home = "in a Spark frame. Remedy: source.toArrow(), if they fit into the driver's memory"

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @property
    def schema(self) -> pa.Schema:
        """The schema of the frame."""
        from pyspark.sql.pandas.types import to_arrow_type
        from pyspark.sql.types import UserDefinedType

        fields = [field for field in self._frame.schema if not isinstance(field.dataType, UserDefinedType)]
        return pa.schema([pa.field(field.name, to_arrow_type(field.dataType, timezone="UTC")) for field in fields])

    def check(self, domain: Domain) -> None:
        """Refuse a frame whose columns are not those declared, or whose names Spark cannot distinguish."""
        super().check(domain)
        if self._frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true":
            return
        folded = Counter(name.lower() for name in self._frame.columns)
        for name in domain.reads:
            if folded[name.lower()] > 1:
                raise DataError(f"Column {name!r} stands twice in the data: Spark does not tell capitals apart.")

    def by_person(self, column: str) -> Engine:
        """Return the frame repartitioned by person; the number of parts is explicit, so that Spark keeps it."""
        parts = int(self._frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))
        return SparkEngine(self._frame.repartition(parts, _quoted(column)))

    def answers(self, task: bytes, columns: Sequence[str], report: Callable[[float], None]) -> Iterable[bytes]:
        """Return the answers, added up by the cluster if they are large."""
        found = self._frame.select(*map(_quoted, columns)).mapInArrow(partial(_answered, task), _SCHEMA)
        if worker.answer_size(task) > _LARGE:
            found = found.repartition(_MERGING).mapInArrow(_merged, _SCHEMA)
        with _running(self._frame.sparkSession, report), _unquoted():
            return [bytes(row[0]) for row in found.collect()]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def with_spark(path: str | Path) -> Any:
    """Return the Spark frame of a path, or of a table in Spark's catalog."""
    session, place = _import().SparkSession.builder.appName("discreet").getOrCreate(), str(path)
    if session.sparkContext.master.startswith("local"):
        # workers on this machine need this Python, not the first in PATH
        session.sparkContext.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)
    ending = Path(place).suffix.lower()
    if ending in (".csv", ".tsv", ".gz", ".xlsx", ".xlsm"):
        raise DataError("Spark would guess what columns of text hold. Remedy: write the table as Parquet.")
    with _unquoted():
        if not ending and "/" not in place:
            return session.read.table(place)
        return session.read.format("orc" if ending == ".orc" else "parquet").load(place)


# ---------------------------------------------------------------- on executors

_SCHEMA = "answer binary"


def _answered(task: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the answer for one part."""
    yield _row(worker.run(task, batches))


def _merged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the sum of the answers that one task received."""
    answers = [answer.as_py() for batch in batches for answer in batch.column(0)]
    if answers:
        yield _row(worker.merged(answers))


def _row(answer: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"answer": pa.array([answer], pa.binary())})


# ---------------------------------------------------------------- on the driver


@contextlib.contextmanager
def _running(session: Any, report: Callable[[float], None]) -> Iterator[None]:
    """Report the progress of the jobs inside the block, and cancel them if it is left early."""
    context, tag, over = session.sparkContext, f"discreet-{uuid.uuid4()}", threading.Event()

    def watch() -> None:
        shown = 0.0
        while not over.wait(_EVERY):
            with contextlib.suppress(Exception):  # the job may end, or Spark may, while it is looked at
                if (fraction := _fraction(context, tag)) > shown:  # jobs may be added on the way
                    shown = fraction
                    report(fraction)

    watcher = threading.Thread(target=watch, daemon=True)
    context.addJobTag(tag)
    try:
        watcher.start()
        yield
    except BaseException:
        context.cancelJobsWithTag(tag)
        raise
    finally:
        over.set()
        watcher.join()
        with contextlib.suppress(Exception):
            context.removeJobTag(tag)


def _fraction(context: Any, tag: str) -> float:
    """Return the fraction of tasks that are done."""
    tracker, jobs = context.statusTracker(), context._jsc.sc().statusTracker().getJobIdsForTag(tag)
    stages = [i for job in jobs for i in tracker.getJobInfo(job).stageIds]
    infos = [info for i in stages if (info := tracker.getStageInfo(i)) is not None]
    done, all_of_them = (sum(getattr(info, name) for info in infos) for name in ("numCompletedTasks", "numTasks"))
    return float(done / max(1, all_of_them))


@contextlib.contextmanager
def _unquoted() -> Iterator[None]:
    """Replace Spark's errors, which may quote data, by our own."""
    with unquoted("Spark job", " Spark's own log tells why."):
        yield


def _import() -> ModuleType:
    try:
        import pyspark.sql
    except ImportError:
        raise missing_package("pyspark", "spark") from None
    return pyspark.sql  # type: ignore[no-any-return]
