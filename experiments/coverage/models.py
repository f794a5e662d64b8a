"""Coverage of 95 % intervals of logistic and Poisson regression: ``python -m experiments.coverage.models``.

Made-up populations with the bounds of `experiments.populations.COUNTS_BOUNDS`, far wider than the features, and counts
up to 100: fits with seeded noise, each on rows of its own. Four classes have six standard normal columns with bounds of
-10 and 10. Of every coefficient, the intercept included, and of classes each against the first: how often its interval
is given, and how often it then holds the truth; and the error of the debiased coefficient in standard errors.
"""

from __future__ import annotations

import warnings
import zlib
from typing import Any

import numpy as np

from discreet import DiscreetWarning, DPLogisticRegression, DPPoissonRegression
from discreet.core.arrays import Floats
from discreet.core.placeholders import Unavailable
from experiments import study
from experiments.populations import (
    CARE,
    CHOICES,
    COUNTS_BOUNDS,
    care,
    choices,
    counts,
    four_classes,
    four_contrasts,
    rates_of,
)
from experiments.record import report

LOGISTIC, THREE, FOUR = "logistic", "three classes", "four classes"
POPULATIONS = (LOGISTIC, THREE, FOUR, "plain", "overdispersed", "zeros")
ROWS, EPSILONS, DELTA, LEVEL = (5000, 20_000, 50_000), (1.0, 3.0), 1e-6, 0.95


def work(cell: study.Cell) -> study.Rows:
    """One row a fit: which intervals are given, and which of them hold the truth."""
    found = []
    for draw in range(cell["draws"]):
        rng = np.random.default_rng([zlib.crc32(cell["population"].encode()), cell["rows"], draw])
        given = {"epsilon": cell["epsilon"], "delta": DELTA, "n_jobs": 1}
        X, y, truth, facts = sample(cell["population"], cell["rows"], rng)
        kind = DPLogisticRegression if "classes" in facts else DPPoissonRegression
        model: Any = kind(**given, **facts, random_state=rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscreetWarning)
            known = model.fit(X, y).results_.about("bounded").inference
        if isinstance(known, Unavailable):
            found.append({"given": [False] * len(truth), "holds": [False] * len(truth), "z": [None] * len(truth)})
            continue
        low, high = known.interval(LEVEL).T
        shown = ~np.isnan(low)
        z = (known.estimate - truth) / known.std_err
        holds = shown & (low <= truth) & (truth <= high)
        row = {"given": shown.tolist(), "holds": holds.tolist()}
        found.append(row | {"z": [round(float(v), 4) if ok else None for v, ok in zip(z, shown, strict=True)]})
    return found


def sample(population: str, n: int, rng: np.random.Generator) -> tuple[Floats, Any, Floats, dict[str, Any]]:
    """Features and outcomes, the true coefficients, and the public facts."""
    facts: dict[str, Any] = {"bounds_X": COUNTS_BOUNDS}
    if population == LOGISTIC:
        return *choices(n, rng), np.array(CHOICES), facts | {"classes": [0, 1]}
    if population == THREE:
        return *care(n, rng), np.ravel(CARE), facts | {"classes": [0, 1, 2]}
    if population == FOUR:
        return *four_classes(0.5, n, rng), four_contrasts(0.5).ravel(), {"bounds_X": (-10, 10), "classes": [0, 1, 2, 3]}
    X, y, _ = counts(population, n, rng)
    return X, y, rates_of(population), facts | {"bounds_y": (0, 100)}


def table(rows: study.Rows) -> list[dict[str, Any]]:
    """One line for each population, number of rows and epsilon."""
    lines = []
    keys = dict.fromkeys((row["population"], row["rows"], row["epsilon"]) for row in rows)
    for population, n, epsilon in keys:
        own = [r for r in rows if (r["population"], r["rows"], r["epsilon"]) == (population, n, epsilon)]
        given, holds = np.array([r["given"] for r in own]), np.array([r["holds"] for r in own])
        z = np.array([v for r in own for v in r["z"] if v is not None])
        line: dict[str, Any] = {"population": population, "rows": n, "epsilon": epsilon, "fits": len(own)}
        line |= {"given": float(given.mean()), "coverage": float(holds.sum() / max(given.sum(), 1))}
        line |= {"intervals": int(given.sum()), "mean of z": float(z.mean()), "sd of z": float(z.std())}
        lines.append(line)
    return lines


def main() -> None:
    parser = study.parser("coverage.models", "coverage_models", __doc__)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--population", choices=POPULATIONS, nargs="+", default=POPULATIONS)
    given = parser.parse_args()
    cells = [
        {"population": population, "rows": n, "epsilon": epsilon, "draws": given.draws}
        for population in given.population
        for n in ROWS
        for epsilon in EPSILONS
    ]
    lines = table(study.run("coverage of models", cells, work, given.log, given.jobs))
    report("Coverage of 95 % intervals of logistic and Poisson regression", list(lines[0]), lines, given.out)


if __name__ == "__main__":
    main()
