"""Are a plan's standard errors those that come out? ``python -m experiments.planning.errors``.

Truth: the spread of the debiased coefficients of `DPLinearRegression` over simulated tables of the coverage study's
populations (`experiments.coverage.populations`), whose features and errors have other laws than those that plans make
up. Each is taken around its own truth: the best linear fit to outcomes clipped to the bounds that the fit narrowed them
to.

Plan: `discreet.plan`, told the rows, the bounds, R^2, the means and sds of the columns, and the root mean square
correlation of the features, or all correlations. Cells count in which most fits give standard errors, in truth and by
the plan.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet import plan
from discreet.core.placeholders import Unavailable
from experiments import study
from experiments.coverage.intervals import DELTA, EncodedTable
from experiments.coverage.populations import DESIGNS, Population, population
from experiments.record import report

TOLD = ("one number", "matrix")
COLUMNS = (
    "design",
    "d",
    "n",
    "epsilon",
    "told",
    "given",
    "plan gives",
    "spread",
    "plan",
    "plan / spread",
    "furthest coefficient",
    "coefficients within 15 %",
)


def guesses(people: Population, correlation: str) -> dict[str, Any]:
    """What the plan is told, from many rows."""
    X, y = people.sample(200_000, np.random.default_rng(5))
    X = np.clip(X, *people.bounds_X)
    about = {name: {"mean": float(x.mean()), "sd": float(x.std())} for name, x in zip(people.names, X.T, strict=True)}
    C, d = np.corrcoef(X.T), people.d
    own = math.sqrt(max(float(np.sum(C**2)) - d, 0.0) / (d * (d - 1)))
    about["y"] = {"mean": float(y.mean()), "sd": float(y.std())}
    told = {"one number": own if own > 0.01 else 0.0, "matrix": C.tolist()}[correlation]
    return {"r_squared": 0.5, "correlation": told, "about": about}


def work(cell: study.Cell) -> study.Rows:
    """The spread of one cell, and the plan's."""
    people = population(cell["design"], cell["d"])
    found = {
        told: plan(
            people.domain, "y", rows=cell["n"], epsilon=cell["epsilon"], delta=DELTA, methods=["DPLinearRegression"],
            tighter=False, draws=cell["plan draws"], **guesses(people, told),
        ).expected[0].std_err
        for told in TOLD
    }  # fmt: skip
    off = []
    for i in range(cell["fits"]):
        rng = np.random.default_rng([DESIGNS.index(cell["design"]), cell["n"], cell["d"], i])
        released, results = EncodedTable(*people.sample(cell["n"], rng), people.domain).fit(cell["epsilon"], rng)
        if not isinstance(results.inference, Unavailable):
            y = released.domain.columns["y"]
            off.append(results.inference.estimate - people.truth(y.low, y.high))
    given = len(off) > cell["fits"] / 2
    spread = np.std(off, axis=0, ddof=1)[1:].tolist() if given else None
    return [
        {"told": told, "spread": spread, "plan": None if isinstance(errors, Unavailable) else errors[1:].tolist()}
        for told, errors in found.items()
    ]


def line(row: dict[str, Any]) -> dict[str, Any]:
    """Geometric means over the coefficients, and the coefficient that is furthest off."""
    kept = {key: row[key] for key in ("design", "d", "n", "epsilon", "fits", "told")}
    kept |= {"given": row["spread"] is not None, "plan gives": row["plan"] is not None}
    if row["spread"] is None or row["plan"] is None:
        return kept
    spread, planned = np.array(row["spread"]), np.array(row["plan"])
    logs = np.log(planned / spread)
    mean = [float(np.exp(np.mean(np.log(values)))) for values in (spread, planned)]
    return kept | {
        "spread": mean[0], "plan": mean[1], "plan / spread": mean[1] / mean[0],
        "furthest coefficient": float(np.exp(logs[int(np.argmax(np.abs(logs)))])),
        "coefficients within 15 %": int(np.sum(np.abs(logs) < np.log(1.15))),
    }  # fmt: skip


def judge(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """How many cells, and how many single coefficients, are within 15 %."""
    found = [row for row in rows if "plan / spread" in row]
    ratios = np.array([row["plan / spread"] for row in found])
    return {
        "cells": len(found),
        "cells within 15 %": int(np.sum(np.abs(np.log(ratios)) < np.log(1.15))),
        "range": [float(ratios.min()), float(ratios.max())],
        "coefficients": sum(row["d"] for row in found),
        "coefficients within 15 %": sum(row["coefficients within 15 %"] for row in found),
        "plan and fits agree whether there are standard errors": sum(r["given"] == r["plan gives"] for r in rows),
    }


def main() -> None:
    parser = study.parser("planning.errors", "plan_errors", __doc__)
    parser.add_argument("--fits", type=int, default=200)
    parser.add_argument("--features", type=int, nargs="+", default=[3, 10])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 3.0])
    given = parser.parse_args()
    cells = [
        {"design": design, "d": d, "n": n, "epsilon": epsilon, "fits": given.fits, "plan draws": 24}
        for design in DESIGNS
        for d in given.features
        for n in given.rows
        for epsilon in given.epsilon
    ]
    rows = [line(row) for row in study.run("standard errors", cells, work, given.log, given.jobs)]
    for told in TOLD:
        print(f"{told}: {judge([row for row in rows if row['told'] == told])}")
    report("Standard errors: plan beside spread", COLUMNS, rows, given.out)


if __name__ == "__main__":
    main()
