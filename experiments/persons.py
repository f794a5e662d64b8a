"""Persons with many rows: coverage where errors of a person go together, and accuracy against rows_per_person.

``python -m experiments.persons``

* Made-up panels: a person has 1 to 8 rows; features and errors of a person are correlated by 0.5 and 0.7.
* *Clustered*: the release of persons, with its own intervals. *Unclustered*: the release of rows by the same method,
  which protects a row only; its robust intervals take rows for independent.
* Accuracy: mean squared error of the slopes over that of least squares on all rows, for rows_per_person = 1 to 16.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from discreet import DiscreetWarning, Domain, DPLinearRegression
from discreet.core.placeholders import Unavailable
from experiments.record import report

COLUMNS = {"x": (-1, 1), "z": (-1, 1), "y": (-4, 4)}
TRUTH = np.array([0.5, 1.0, -0.5])
LEVEL, DELTA, MOST = 0.95, 1e-6, 8
CELLS = ((5000, 3.0), (20_000, 1.0), (20_000, 3.0))
FEATURES, ERRORS = 0.5, 0.7


def panel(people: int, seed: list[int], most: int = MOST) -> pd.DataFrame:
    """Rows of some people, in no order."""
    rng = np.random.default_rng(seed)
    person = rng.permutation(np.repeat(np.arange(people), rng.integers(1, most + 1, people)))
    own, each = rng.normal(size=(people, 3))[person], rng.normal(size=(len(person), 3))
    share = np.sqrt([FEATURES, FEATURES, ERRORS])
    x, z, e = (share * own + np.sqrt(1 - share**2) * each).T
    x, z = np.clip([0.3 * x, 0.3 * z], -1, 1)
    y = TRUTH @ [np.ones(len(x)), x, z] + 0.4 * e
    return pd.DataFrame({"person": person, "x": x, "z": z, "y": y})


def fitted(table: pd.DataFrame, epsilon: float, m: int | None, seed: list[int]) -> DPLinearRegression:
    """The default method, of persons who count for m rows, or of rows."""
    unit = {} if m is None else {"person": "person", "rows_per_person": m}
    model = DPLinearRegression(epsilon=epsilon, delta=DELTA, domain=Domain(COLUMNS, **unit))
    model.random_state = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        return model.fit_source(table, "y")


def coverage(people: int, epsilon: float, tables: int) -> dict[str, Any]:
    """How often intervals hold the truth, clustered or not, and how wide they are."""
    held, width = {"clustered": [], "unclustered": []}, {"clustered": [], "unclustered": []}  # type: ignore[var-annotated]
    for i in range(tables):
        table = panel(people, [people, i])
        for way, m in (("clustered", MOST), ("unclustered", None)):
            found = fitted(table, epsilon, m, [people, i, 1]).results_.about("bounded").inference
            none = isinstance(found, Unavailable) or isinstance(found.interval(LEVEL), Unavailable)
            ends = np.full((3, 2), np.nan) if none else np.array(found.interval(LEVEL))
            held[way].append((ends[:, 0] <= TRUTH) & (ends[:, 1] >= TRUTH))
            width[way].append(ends[:, 1] - ends[:, 0])
    row: dict[str, Any] = {"persons": people, "epsilon": epsilon, "tables": tables}
    for way in held:
        given = ~np.isnan(np.array(width[way]))
        row[way] = float(np.array(held[way])[given].mean())
        row[f"{way}_width"] = float(np.nanmedian(np.array(width[way])[:, 1:]))
        row[f"{way}_given"] = float(given.mean())
    return row


def accuracy(people: int, epsilon: float, m: int, tables: int) -> dict[str, Any]:
    """Mean squared error of the slopes over that of least squares on all rows."""
    own, plain = [], []
    for i in range(tables):
        table = panel(people, [people, i])
        X = np.column_stack([np.ones(len(table)), table[["x", "z"]]])
        plain.append(np.linalg.lstsq(X, table["y"].to_numpy(), rcond=None)[0][1:] - TRUTH[1:])
        own.append(fitted(table, epsilon, m, [people, i, 2]).coef_ - TRUTH[1:])
    ratio = float(np.mean(np.square(own)) / np.mean(np.square(plain)))
    return {"persons": people, "epsilon": epsilon, "rows_per_person": m, "tables": tables, "error": ratio}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.persons", description=__doc__)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("experiments/results/persons.json"))
    given = parser.parse_args()
    covered = [coverage(*cell, given.tables) for cell in CELLS]
    few = max(given.tables // 5, 2)
    priced = [accuracy(people, epsilon, m, few) for people, epsilon in CELLS for m in (1, 2, 4, 8, 16)]
    columns = ("persons", "epsilon", "tables", "clustered", "unclustered", "clustered_width", "unclustered_width")
    report("Coverage of 95 % intervals", columns, covered, given.out.with_name("persons_coverage.json"))
    columns = ("persons", "epsilon", "rows_per_person", "tables", "error")
    report("Error over that of least squares", columns, priced, given.out.with_name("persons_accuracy.json"))


if __name__ == "__main__":
    main()
