"""Wide tables: error, time and memory beside one stage: ``python -m benchmarks.wide``.

*Levels*: 10,000 made-up rows of categories with so many levels together (`experiments.populations.wide`), whose effects
explain four fifths of the outcome's variance. Test mean squared error over that of the training mean, of
`DPLinearRegression` with its defaults, with ``stages=1``, and by gradient steps from fewer coefficients on
(``--steps-from``), the mean of several tables and draws.
*Pictures' size*: 60,000 rows of 4,000 dense columns and ten classes, `DPLogisticRegression` with its defaults: seconds
and peak memory of a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from experiments.declared import wide_table
from experiments.record import report

from discreet import DiscreetWarning, DPLinearRegression, DPLogisticRegression
from discreet.drivers.release import WIDE
from discreet.models import linear

HERE = Path(__file__).parent / "results"
COLUMNS, EPSILONS, DENSE = (300, 1000, 4000), (1.0, 3.0), (60_000, 4_000, 10)


def levels(columns: int, epsilon: float, split: int, draw: int, stages: int | str) -> tuple[float, float]:
    """The error of one fit over that of the training mean, and its seconds."""
    table = wide_table(columns, 1.0, split)
    start = time.perf_counter()
    model = DPLinearRegression(
        epsilon=epsilon, delta=table.delta, domain=table.domain, stages=stages, random_state=100 * split + draw
    ).fit_source(table.train, "y")
    seconds = time.perf_counter() - start
    y, mean = np.asarray(table.test["y"]), np.asarray(table.train["y"]).mean()
    error = np.mean((model.predict(table.test.drop_columns(["y"])) - y) ** 2) / np.mean((y - mean) ** 2)
    return float(error), seconds


def compared(columns: int, epsilon: float, splits: int, draws: int, one_stage: int, steps_from: int) -> dict[str, Any]:
    """One row of the table: the default, one stage for tables of at most so many columns, and steps."""
    found: dict[str, Any] = {"columns": columns, "epsilon": epsilon}
    for name, stages, least in (("default", "auto", WIDE), ("one stage", 1, WIDE), ("steps", "auto", steps_from)):
        if (stages == 1 and columns > one_stage) or (name == "steps" and not steps_from < columns <= WIDE):
            continue
        linear.WIDE = least
        runs = [levels(columns, epsilon, split, draw, stages) for split in range(splits) for draw in range(draws)]
        found[name] = round(float(np.mean([error for error, _ in runs])), 3)
        found[f"{name}, s"] = round(min(seconds for _, seconds in runs), 1)
    return found


def dense() -> dict[str, float]:
    """Seconds and peak memory of classes on a dense table of the size of pictures."""
    (n, d, k), rng = DENSE, np.random.default_rng(0)
    X, weights = rng.standard_normal((n, d), dtype=np.float32), rng.standard_normal((d, k), dtype=np.float32)
    y = np.argmax(X @ weights / np.sqrt(d) + rng.standard_normal((n, k), dtype=np.float32), axis=1)
    table = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    start = time.perf_counter()
    DPLogisticRegression(epsilon=3, delta=1e-5, bounds_X=(-4, 4), classes=list(range(k)), random_state=1).fit(X, y)
    seconds = time.perf_counter() - start
    return {"s": seconds, "peak_GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, "table_GB": table}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, nargs="+", default=COLUMNS)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--one-stage", type=int, default=1000, help="one stage up to so many columns: 4,000 take long")
    parser.add_argument("--steps-from", type=int, default=200, help="gradient steps for tables of more columns, too")
    parser.add_argument("--no-dense", action="store_true")
    parser.add_argument("--job", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=HERE / "wide.json")
    given = parser.parse_args()
    warnings.simplefilter("ignore", DiscreetWarning)
    if given.job:
        print(json.dumps(dense()))
        return
    cells = [(columns, epsilon) for columns in given.columns for epsilon in EPSILONS]
    rows = [compared(*cell, given.splits, given.draws, given.one_stage, given.steps_from) for cell in cells]
    if not given.no_dense:
        job = subprocess.run(
            [sys.executable, "-m", "benchmarks.wide", "--job"], check=True, capture_output=True, text=True
        )
        found = json.loads(job.stdout)
        rows.append({"columns": DENSE[1], "epsilon": 3.0, "default, s": round(found["s"], 1)})
        rows[-1] |= {name: round(found[name], 1) for name in ("peak_GB", "table_GB")}
    shown = ["columns", "epsilon", "default", "default, s", "one stage", "one stage, s", "steps", "peak_GB", "table_GB"]
    report("Wide tables: test MSE over that of the training mean", shown, rows, given.out)


if __name__ == "__main__":
    main()
