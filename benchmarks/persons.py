"""Persons with many rows in a large Parquet folder, beside one row a person: ``python -m benchmarks.persons``.

A person has four rows on average, in no order; DuckDB sorts them on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from experiments.record import report

from benchmarks.common import beside, options, ran_job
from discreet import Domain, DPLinearRegression, Moments

GROUP, EACH = 1_000_000, 4


def write(folder: Path, rows: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    for start in range(0, rows, GROUP):
        size = min(GROUP, rows - start)
        x = np.clip(rng.standard_normal((size, columns)), -4, 4)
        held = {f"x{i}": x[:, i] for i in range(columns)} | {"person": rng.integers(0, rows // EACH, size)}
        table = pa.table(held | {"y": x.sum(axis=1) / columns + rng.standard_normal(size)})
        pq.write_table(table, folder / f"part-{start // GROUP:03d}.parquet", row_group_size=GROUP)


def domain(columns: int, **unit: object) -> Domain:
    return Domain({f"x{i}": (-4, 4) for i in range(columns)} | {"y": (-8, 8)}, **unit)


def fitted(folder: Path, columns: int, **unit: object) -> object:
    model = DPLinearRegression(epsilon=1, delta=1e-9, domain=domain(columns, **unit), stages=2)
    return model.fit_source(folder, "y")


PERSON = {"person": "person", "rows_per_person": EACH}
JOBS: dict[str, Callable[[Path, int, int], object]] = {
    "write": write,
    "moments, one row a person": lambda folder, rows, columns: Moments.from_source(folder, domain(columns)),
    "moments of persons": lambda folder, rows, columns: Moments.from_source(folder, domain(columns, **PERSON)),
    "fit, one row a person": lambda folder, rows, columns: fitted(folder, columns),
    "fit of persons": lambda folder, rows, columns: fitted(folder, columns, **PERSON),
}


def main() -> None:
    if ran_job(JOBS):
        return
    given = options("persons", __doc__, rows=20_000_000, columns=5, repeats=1)
    rows = beside("persons", ("write",), tuple(JOBS)[1:], given, "method")
    columns = ("method", "rows", "columns", "seconds", "ratio", "peak_MB")
    report(f"{given.rows:,} rows of about {given.rows // EACH:,} people", columns, rows, given.out)


if __name__ == "__main__":
    main()
