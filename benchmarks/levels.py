"""Time and memory of wide models in one stage, from rows to coefficients: ``python -m benchmarks.levels``.

Models have a category of many levels, or many numbers. Each fit runs in its own process, whose peak memory includes the
rows.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from experiments.record import report

from benchmarks.common import in_process, options, ran_job
from discreet import Domain, DPLinearRegression
from discreet.models.size import MATRICES

PROMISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "stages": 1, "random_state": 0}


def levels(_: Path, n: int, d: int) -> None:
    """A category of d levels beside a number."""
    rng, names = np.random.default_rng(0), [f"level {i}" for i in range(d)]
    codes = rng.integers(0, d, n)
    people = pd.DataFrame({"group": pd.Categorical.from_codes(codes, names), "x": rng.uniform(0, 1, n)})
    people["y"] = np.clip(0.3 * people["x"] + 0.3 * codes / d + rng.normal(0, 0.1, n), 0, 1)
    domain = Domain({"group": names, "x": (0, 1), "y": (0, 1)})
    DPLinearRegression(domain=domain, **PROMISE).fit_source(people, "y")


def numbers(_: Path, n: int, d: int) -> None:
    """As many numbers."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, d))
    y = np.clip(0.3 * X[:, 0] + rng.normal(0, 0.1, n), -1, 1)
    DPLinearRegression(bounds_X=(-1, 1), bounds_y=(-1, 1), **PROMISE).fit(X, y)


JOBS = {"levels": levels, "numbers": numbers}


def main() -> None:
    """Measure, print a table and write the figures."""
    given = options("levels", __doc__, rows=100_000, rows_of_numbers=20_000, few=1000, many=5000)
    rows = []
    for job, n, d in (
        ("levels", given.rows, given.few),
        ("levels", given.rows, given.many),
        ("numbers", given.rows_of_numbers, given.many),
    ):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        elapsed, peak = in_process("levels", job, Path(), n, d)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        facts = {"columns": job, "rows": n, "coordinates": d, "seconds": elapsed, "cpu_seconds": cpu}
        rows.append(facts | {"load": os.getloadavg()[0], "peak_MB": peak, "told_MB": 8 * MATRICES[1] * d**2 / 2**20})
        print(rows[-1], flush=True)
    report("Wide models", list(rows[0]), rows, given.out)


if __name__ == "__main__" and not ran_job(JOBS):
    main()
