"""Moments of a large Parquet folder, compared with copying by the same reader: ``python -m benchmarks.parquet``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from experiments.record import report

from benchmarks.common import beside, options, ran_job
from discreet import Domain, Moments
from discreet.data.sources.paths import open_files

GROUP = 1_000_000


def write(folder: Path, rows: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    for start in range(0, rows, GROUP):
        size = min(GROUP, rows - start)
        table = pa.table({f"x{i}": rng.standard_normal(size) for i in range(columns)})
        pq.write_table(table, folder / f"part-{start // GROUP:03d}.parquet", row_group_size=GROUP)


def domain(columns: int) -> Domain:
    return Domain({f"x{i}": (-4, 4) for i in range(columns)})


def copy(folder: Path, columns: int) -> None:
    """Read every batch with the same reader and copy it to a row-major float64 array."""
    source = open_files([folder], domain(columns))
    buffer = np.empty((8192, columns))
    for part in source.parts(8192):
        for batch in part:
            for i, column in enumerate(batch.columns):
                buffer[: batch.num_rows, i] = column.to_numpy()


JOBS: dict[str, Callable[[Path, int, int], object]] = {
    "write": write,
    "copy": lambda folder, rows, columns: copy(folder, columns),
    "moments": lambda folder, rows, columns: Moments.from_source(folder, domain(columns)),
}


def main() -> None:
    if ran_job(JOBS):
        return
    given = options("parquet", __doc__, rows=10_000_000, columns=50, repeats=2)
    rows = beside("parquet", ("write",), ("copy", "moments"), given, "method")
    columns = ("method", "rows", "columns", "seconds", "ratio", "peak_MB")
    report(f"A Parquet folder, row groups of {GROUP:,} rows", columns, rows, given.out)


if __name__ == "__main__":
    main()
