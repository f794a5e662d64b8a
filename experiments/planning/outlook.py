"""From how many rows on do fits give intervals? ``python -m experiments.planning.outlook``.

Made-up tables of numbers (with root mean square correlations 0.1 and 0.3) and of categories of ten levels, whose shares
follow Zipf's law, released and solved by `DPLinearRegression` as plans do. The figure is the share of the coefficients
that get an interval, for values of n mu/q^1.5, with q coefficients: `discreet.recipes.outlook` has the two limits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet import Domain
from discreet.core.placeholders import Unavailable
from discreet.planning.facts import PlanFacts, facts
from discreet.planning.population import SampledTable, population
from discreet.planning.simulation import SimulatedPromise, fit
from discreet.privacy import gdp
from experiments import study
from experiments.record import report

REACHES = (3.0, 5.0, 7.0, 10.0, 16.0, 24.0, 48.0)
DELTA, ROWS, _LEVELS = 1e-7, 15_000, 10
COLUMNS = ("kind", "correlation", "q", *(f"{reach:g}" for reach in REACHES))


def columns_of(kind: str, size: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns of a table with about so many coefficients, and what is told of them."""
    if kind == "numbers":
        return {f"x{i}": (0, 1) for i in range(size - 1)}, {}
    columns = {f"x{i}": [f"level {j}" for j in range(_LEVELS)] for i in range((size - 1) // (_LEVELS - 1))}
    zipf = 1 / np.arange(1, _LEVELS + 1)
    return columns, {name: {"shares": (zipf / zipf.sum()).tolist()} for name in columns}


def known(kind: str, size: int, correlation: float) -> PlanFacts:
    """What is told of a table with about so many coefficients."""
    columns, about = columns_of(kind, size)
    told: dict[str, Any] = {"r_squared": 0.5, "mean_square": None, "correlation": correlation, "about": about}
    return facts(Domain(columns | {"y": (0, 1)}), "y", None, rows=ROWS, **told)


def given(told: PlanFacts, reach: float, draws: int) -> float:
    """The mean share of coefficients with an interval, at a value of n mu/q^1.5."""
    epsilon = gdp.epsilon(mu=reach * len(told.names) ** 1.5 / told.rows, delta=DELTA)
    promise, found = SimulatedPromise(DELTA, "add-remove", 0.95), []
    for seed in range(draws):
        table = SampledTable(
            population(told, np.random.default_rng([seed])), told.rows, np.random.default_rng([seed, 1])
        )
        one = fit("DPLinearRegression", table, told.domain, epsilon, promise, told.rows, [seed, 2], widths=False)
        found.append(0.0 if isinstance(one.std_err, Unavailable) else float(np.mean(np.isfinite(one.std_err))))
    return float(np.mean(found))


def work(cell: study.Cell) -> study.Rows:
    """One kind of tables."""
    told = known(cell["kind"], cell["size"], cell["correlation"])
    return [{"q": len(told.names)} | {f"{reach:g}": given(told, reach, cell["draws"]) for reach in REACHES}]


def main() -> None:
    parser = study.parser("planning.outlook", "plan_outlook", __doc__)
    parser.add_argument("--draws", type=int, default=6)
    chosen = parser.parse_args()
    kinds = [("numbers", 0.1, (3, 10, 30, 60)), ("numbers", 0.3, (3, 10, 30)), ("levels", 0.1, (10, 28, 109))]
    cells = [
        {"kind": kind, "correlation": correlation, "size": size, "draws": chosen.draws}
        for kind, correlation, sizes in kinds
        for size in sizes
    ]
    found = study.run("outlook", cells, work, chosen.log, chosen.jobs)
    report("Share of coefficients with an interval, by n mu/q^1.5", COLUMNS, found, chosen.out)


if __name__ == "__main__":
    main()
