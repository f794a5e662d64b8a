"""Stages in private coordinates and whole default fits, beside exact moments: ``python -m benchmarks.stages``."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from experiments.record import report

from benchmarks.common import Job, beside, options, ran_job
from discreet import Domain, DPLinearRegression, Moments
from discreet.data.counts import first_pass
from discreet.data.reading import Table
from discreet.data.stages import score_products, staged
from discreet.domain.coordinates import Coordinates
from discreet.solve.axes import triangular

STAGES = (1, 2, 3, "auto")
GROUP = 100_000
"""Rows of a group of a Parquet file."""


def people(n: int, d: int) -> tuple[np.ndarray, np.ndarray, Domain]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = X[:, 0] + rng.standard_normal(n)
    return X, y, domain(d)


def domain(d: int) -> Domain:
    rng = np.random.default_rng(1)
    bounds = (-rng.uniform(3, 6, d), rng.uniform(3, 6, d))
    return Domain.from_bounds([f"x{i}" for i in range(d)], ["y"], bounds_X=bounds, bounds_y=(-10, 10))


def model(stages: int | str, bounds: Domain, jobs: int | None = None) -> DPLinearRegression:
    return DPLinearRegression(epsilon=1, delta=1e-6, domain=bounds, stages=stages, n_jobs=jobs, random_state=0)


def coordinates(bounds: Domain, d: int) -> dict[str, Coordinates]:
    """Stages as the default has them: first along the columns, then triangular."""
    rng = np.random.default_rng(2)
    names = [f"x{i}" for i in range(d)]
    P, theta, first = rng.normal(size=(d + 1, d + 1)), rng.normal(size=(d + 1, 1)) / d, 3 * np.eye(d + 1)
    first[0] = 0.1

    def stage(P: np.ndarray, theta: np.ndarray, widths: int) -> Coordinates:
        design, own = bounds.design_names(names), np.geomspace(0.01, 1, widths).tolist()
        return Coordinates.rounded(design, ["y"], P, theta, 1.0, [own])

    return {
        "stage, P full": stage(P, theta, 1),
        "stage, P triangular": stage(triangular(P), theta, 1),
        "stage, P triangular, 10 half widths": stage(triangular(P), theta, 10),
        "stage, P along the columns, 10 half widths": stage(first, np.eye(d + 1)[:, :1] / 9, 10),
    }


def measure(n: int, d: int, repeats: int, jobs: int | None) -> list[dict[str, Any]]:
    X, y, bounds = people(n, d)
    table = Table.of((X, y), bounds, jobs)
    rotated = coordinates(bounds, d)
    calls: dict[str, Callable[[], object]] = {
        "moments": lambda: Moments.from_source((X, y), bounds, n_jobs=jobs),
        "sums, squares and counts": lambda: first_pass(table, ["y"]),
        **{name: lambda own=own: staged(table, own) for name, own in rotated.items()},
        "stage, P triangular, 10 half widths, no U'U": lambda: staged(
            table, rotated["stage, P triangular, 10 half widths"], gram=False
        ),
        "score products, P triangular": lambda: score_products(
            table, rotated["stage, P triangular, 10 half widths"], [9]
        ),
        **{f"fit, stages={s!r}": lambda s=s: model(s, bounds, jobs).fit(X, y) for s in STAGES},
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.perf_counter(), time.process_time()
            call()
            found[name].append((time.perf_counter() - start[0], time.process_time() - start[1]))
    least = {name: tuple(map(min, zip(*times, strict=True))) for name, times in found.items()}
    facts, base = {"from": "memory", "rows": n, "columns": d, "threads": jobs or "all"}, least["moments"]
    return [
        {"reading": name, **facts, "seconds": wall, "ratio": wall / base[0], "processor": cpu / base[1]}
        for name, (wall, cpu) in least.items()
    ]


def write(folder: Path, n: int, d: int) -> None:
    X, y, bounds = people(n, d)
    table = pa.table(dict(zip(bounds.columns, [*X.T, y], strict=True)))
    pq.write_table(table, folder / "people.parquet", row_group_size=GROUP)


JOBS: dict[str, Job] = {
    "write": write,
    "moments": lambda folder, n, d: Moments.from_source(folder, domain(d)),
    **{
        f"fit, stages={s!r}": lambda folder, n, d, s=s: model(s, domain(d)).fit_source(folder, target="y")
        for s in STAGES
    },
}


def main() -> None:
    if ran_job(JOBS):
        return
    given = options("stages", __doc__, rows=1_000_000, columns=100, repeats=5)
    n, d = given.rows, given.columns
    files = beside("stages", ["write"], list(JOBS)[1:], given, "reading")  # first: a process inherits its parent's peak
    rows = []
    for size in ((n, d), (2 * n, d // 5), (n // 5, 2 * d)):
        for jobs in (None, 1):
            rows += measure(*size, given.repeats, jobs)
    rows += [row | {"from": "Parquet", "threads": "all"} for row in files]
    shown = ("reading", "from", "rows", "columns", "threads", "seconds", "ratio", "processor", "peak_MB")
    report("Readings of a release in stages, and whole fits", shown, rows, given.out)


if __name__ == "__main__":
    main()
