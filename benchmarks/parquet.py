"""Moments of a large Parquet folder, beside the same reader that only copies: ``python -m benchmarks.parquet``."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import options, report, seconds
from discreet import Domain, Moments
from discreet.sources.parquet import ParquetSource

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
    source = ParquetSource([folder], domain(columns))
    buffer = np.empty((8192, columns))
    for part in source.parts(8192):
        for batch in part:
            for i, column in enumerate(batch.columns):
                buffer[: batch.num_rows, i] = column.to_numpy()


def one(job: str, folder: Path, columns: int) -> None:
    """Run one job in this process and print its seconds and peak memory in MB."""
    call = (lambda: copy(folder, columns)) if job == "copy" else (lambda: Moments.from_source(folder, domain(columns)))
    elapsed = seconds(call, 1)
    print(elapsed, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    if len(sys.argv) == 5 and sys.argv[1] == "--job":
        one(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
        return
    given = options("parquet", __doc__, rows=10_000_000, columns=50, repeats=2)
    folder = Path(tempfile.mkdtemp(prefix="discreet-parquet-"))
    try:
        write(folder, given.rows, given.columns)
        rows = []
        for job in ("copy", "moments"):
            command = [sys.executable, "-m", "benchmarks.parquet", "--job", job, str(folder), str(given.columns)]
            runs = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(given.repeats)]
            results = [tuple(map(float, run.stdout.split())) for run in runs]
            rows.append(
                {"method": job, "rows": given.rows, "columns": given.columns}
                | {"seconds": min(r[0] for r in results), "peak_MB": max(r[1] for r in results)}
            )
    finally:
        shutil.rmtree(folder)
    for row in rows:
        row["ratio"] = row["seconds"] / rows[0]["seconds"]
    columns = ("method", "rows", "columns", "seconds", "ratio", "peak_MB")
    report(f"A Parquet folder, row groups of {GROUP:,} rows", columns, rows, given.out)


if __name__ == "__main__":
    main()
