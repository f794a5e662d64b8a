"""How many rows do intervals of classes and counts take? ``python -m experiments.planning.outlook_models``.

Made-up tables as those of `experiments.planning.outlook`, with a yes or no or a count as the outcome, released and
solved by `DPLogisticRegression` and `DPPoissonRegression` as plans do. The figure is the share of the coefficients that
get an interval, for values of n mu/q^1.5, with q coefficients: `discreet.recipes.outlook` has the two limits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet import Domain
from discreet.mechanisms.registry import find
from discreet.planning.models import plan_model
from discreet.planning.simulation import SimulatedPromise
from discreet.privacy import gdp
from experiments import study
from experiments.planning.outlook import DELTA, ROWS, columns_of
from experiments.record import report

REACHES = (6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 96.0)
COLUMNS = ("outcome", "kind", "correlation", "q", *(f"{reach:g}" for reach in REACHES))

OUTCOMES: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "yes or no": ("DPLogisticRegression", [0, 1], {"shares": [0.5, 0.5]}),
    "yes or no, 5 %": ("DPLogisticRegression", [0, 1], {"shares": [0.95, 0.05]}),
    "count, mean 2, up to 4": ("DPPoissonRegression", (0, 4), {"mean": 2}),
    "count, mean 2, up to 20": ("DPPoissonRegression", (0, 20), {"mean": 2}),
}
"""The method, the declared column, and what is told of it."""


def given(outcome: str, kind: str, size: int, correlation: float, reach: float, draws: int) -> float:
    """The mean share of coefficients with an interval, at a value of n mu/q^1.5."""
    method, declared, own = OUTCOMES[outcome]
    columns, about = columns_of(kind, size)
    domain, promise, found = Domain(columns | {"y": declared}), SimulatedPromise(DELTA, "add-remove", 0.95), []
    for seed in range(draws):
        plan = plan_model(
            find(method).estimator, domain, "y", None,
            rows=ROWS, epsilons=[gdp.epsilon(mu=reach * size**1.5 / ROWS, delta=DELTA)], promise=promise,
            r_squared=0.2, correlation=correlation, about=about | {"y": own}, draws=1, random_state=seed,
            progress=False,
        )  # fmt: skip
        found.append(plan.expected[0].intervals / len(plan.names))
    return float(np.mean(found))


def work(cell: study.Cell) -> study.Rows:
    """One kind of tables."""
    place = cell["outcome"], cell["kind"], cell["q"], cell["correlation"]
    return [{f"{reach:g}": given(*place, reach, cell["draws"]) for reach in REACHES}]


def main() -> None:
    parser = study.parser("planning.outlook_models", "plan_outlook_models", __doc__)
    parser.add_argument("--draws", type=int, default=6)
    chosen = parser.parse_args()
    kinds = [("numbers", 0.1, (3, 10, 30, 60)), ("numbers", 0.3, (10, 30)), ("levels", 0.1, (10, 28, 55))]
    cells = [
        {"outcome": outcome, "kind": kind, "correlation": correlation, "q": q, "draws": chosen.draws}
        for outcome in OUTCOMES
        for kind, correlation, sizes in kinds
        for q in sizes
    ]
    found = study.run("outlook", cells, work, chosen.log, chosen.jobs)
    report("Share of coefficients with an interval, by n mu/q^1.5", COLUMNS, found, chosen.out)


if __name__ == "__main__":
    main()
