"""One stage in private coordinates, and the light reading, beside exact moments: ``python -m benchmarks.stages``."""

from __future__ import annotations

from typing import Any

import numpy as np
from experiments.record import report

from benchmarks.common import options, seconds
from discreet import Domain, Moments
from discreet.data.counts import light
from discreet.data.reading import Unread
from discreet.data.stages import meat, staged
from discreet.domain.coordinates import Coordinates, triangular


def measure(n: int, d: int, repeats: int, jobs: int | None) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = X[:, 0] + rng.standard_normal(n)
    names = [f"x{i}" for i in range(d)]
    bounds = (-rng.uniform(0.5, 1.5, d), rng.uniform(0.5, 1.5, d))
    domain = Domain.from_bounds(names, ["y"], bounds_X=bounds, bounds_y=(-2, 2))
    table = Unread.of((X, y), domain, jobs)
    P, theta = rng.normal(size=(d + 1, d + 1)), rng.normal(size=(d + 1, 1)) / d

    def stage(P: np.ndarray, widths: int) -> Coordinates:
        design, own = domain.design_names(names), np.geomspace(0.01, 1, widths).tolist()
        return Coordinates.rounded(design, ["y"], P, theta, 1.0, [own])

    stages = {
        "stage, P full": stage(P, 1),
        "stage, P triangular": stage(triangular(P), 1),
        "stage, P triangular, 10 half widths": stage(triangular(P), 10),
    }
    calls = {
        "moments": lambda: Moments.from_source((X, y), domain, n_jobs=jobs),
        "sums, squares and counts": lambda: light(table, ["y"]),
        **{name: lambda own=own: staged(table, own) for name, own in stages.items()},
        "meat, P triangular": lambda: meat(table, stages["stage, P triangular"], [0]),
    }
    times = dict.fromkeys(calls, np.inf)
    for _ in range(repeats):
        for name, call in calls.items():
            times[name] = min(times[name], seconds(call, 1))
    base = times["moments"]
    facts = {"rows": n, "columns": d, "threads": jobs or "all"}
    return [{"reading": name, **facts, "seconds": t, "ratio": t / base} for name, t in times.items()]


def main() -> None:
    given = options("stages", __doc__, rows=1_000_000, columns=100, repeats=5)
    rows, n, d = [], given.rows, given.columns
    for size in ((n, d), (2 * n, d // 5), (n // 5, 2 * d)):
        for jobs in (None, 1):
            rows += measure(*size, given.repeats, jobs)
    shown = ("reading", "rows", "columns", "threads", "seconds", "ratio")
    report("Readings of a release in stages", shown, rows, given.out)


if __name__ == "__main__":
    main()
