"""Exact moments on every engine, compared with only reading on the same engine: ``python -m benchmarks.engines``.

Times are CPU seconds of all processes that take part (driver, workers, Java, database server), so other work on the
machine matters little.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from experiments.record import report

from benchmarks import postgres
from benchmarks.common import options
from discreet import Domain, Moments, Postgres
from discreet.data.sources.paths import open_files

PARTS = (1, 8, 64)
COLUMNS = ("engine", "rows", "columns", "parts", "reading_s", "moments_s", "difference_s", "answer_kB")


def write(folder: Path, rows: int, columns: int, parts: int) -> None:
    """A folder of Parquet files, one for each part."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for part, size in enumerate(len(own) for own in np.array_split(np.arange(rows), parts)):
        table = pa.table({f"x{i}": rng.standard_normal(size) for i in range(columns)})
        pq.write_table(table, folder / f"{part:03d}.parquet", row_group_size=1 << 20)


def domain(columns: int) -> Domain:
    return Domain({f"x{i}": (-4, 4) for i in range(columns)})


def tree(process: psutil.Process) -> float:
    """CPU seconds of a process and all that it started, ended or not."""
    try:
        times = process.cpu_times()
        own = times.user + times.system + times.children_user + times.children_system
        return own + sum(map(tree, process.children()))
    except psutil.NoSuchProcess:
        return 0.0


def cpu(call: Callable[[], object], *others: int) -> float:
    """CPU seconds of a call, in this process and in the trees of others."""

    def spent() -> float:
        return time.process_time() + sum(tree(psutil.Process(other)) for other in others)

    before = spent()
    call()
    return spent() - before


def measured(engine: str, read: Callable[[], object], add: Callable[[], Moments], *others: int) -> dict[str, Any]:
    """One line: what reading costs, and what the sums cost with it."""
    found: list[Moments] = []
    read()  # what is done once is not counted: imports, caches, workers that start
    reading, moments = cpu(read, *others), cpu(lambda: found.append(add()), *others)
    times = {"reading_s": reading, "moments_s": moments, "difference_s": moments - reading}
    return {"engine": engine} | times | {"answer_kB": len(found[0].to_bytes()) / 1e3}


# ---------------------------------------------------------------- engines


def here(folder: Path, columns: int) -> dict[str, Any]:
    """In this process."""

    def read() -> None:
        source = open_files([folder], domain(columns))
        for part in source.parts(8192):
            for _ in part:
                pass

    return measured("one machine", read, partial(Moments.from_source, folder, domain(columns)))


def dask(folder: Path, columns: int) -> dict[str, Any]:
    """Dask's threads."""
    import dask
    import dask.dataframe

    frame = dask.dataframe.read_parquet(folder)

    def read() -> None:
        dask.compute(*[dask.delayed(len)(part) for part in frame.to_delayed()])

    return measured("Dask", read, partial(Moments.from_source, frame, domain(columns)))


@contextlib.contextmanager
def spark_session() -> Iterator[Any]:
    """A Spark on two cores of this machine."""
    from pyspark.sql import SparkSession

    settings = {"spark.driver.memory": "2g", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("benchmark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def drained(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a worker does that only reads."""
    yield pa.RecordBatch.from_pydict({"rows": [sum(batch.num_rows for batch in batches)]})


def spark(folder: Path, columns: int, session: Any) -> dict[str, Any]:
    """Spark on this machine; plain reading is by the same Python workers."""
    frame = session.read.parquet(str(folder))

    def drain() -> None:
        frame.mapInArrow(drained, "rows bigint").collect()

    (java,) = [child.pid for child in psutil.Process().children() if "java" in child.name()]
    return measured("Spark", drain, partial(Moments.from_source, frame, domain(columns)), java)


def database(folder: Path, columns: int, address: str, server: int) -> Iterator[dict[str, Any]]:
    """PostgreSQL, streamed and pushed down; plain reading is of the same rows, or the sum of each column."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("people", pq.read_table(folder), mode="replace")

        def read() -> None:
            cursor.execute("SELECT * FROM people")
            for _ in cursor.fetch_record_batch():
                pass

        def add_up() -> None:
            cursor.execute(f"SELECT {', '.join(f'sum(x{i})' for i in range(columns))} FROM people")
            cursor.fetchall()

        for name, plain, pushdown in (("PostgreSQL", read, False), ("PostgreSQL, pushdown", add_up, True)):
            rows = Postgres(address, "people", pushdown=pushdown)
            yield measured(name, plain, partial(Moments.from_source, rows, domain(columns)), server)


def main() -> None:
    given = options("engines", __doc__, rows=1_000_000, columns=50, most_rows=4_000_000)
    found: list[dict[str, Any]] = []

    def note(line: dict[str, Any], rows: int, parts: int) -> None:
        found.append({"rows": rows, "columns": given.columns, "parts": parts} | line)
        report("Exact moments on every engine, CPU seconds of all processes", COLUMNS, found, given.out)

    sizes = [(given.rows, parts) for parts in PARTS]
    sizes += [(rows, 8) for rows in (given.rows * 2**k for k in range(1, 6)) if rows <= given.most_rows]
    with tempfile.TemporaryDirectory() as folder, spark_session() as session:
        for rows, parts in sizes:
            place = Path(folder) / f"{rows}-{parts}"
            write(place, rows, given.columns, parts)
            for run in (here, dask, partial(spark, session=session)):
                note(run(place, given.columns), rows, parts)
            if parts == PARTS[0] and postgres.binaries() is not None:
                with postgres.server() as address:
                    data = Path(address.partition("host=")[2]) / "data" / "postmaster.pid"
                    server = int(data.read_text().split()[0])
                    for line in database(place, given.columns, address, server):
                        note(line, rows, parts)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
