"""How the defaults of plans were chosen, and how others would do: ``python -m experiments.planning.choice``.

A plan that is told nothing of the features makes them up. Three things decide how: the root mean square correlation of
two features; how the eigenvalues of their correlation matrix fall; and the law of the coefficients. Each is varied here
with the other two as in `BASE`. The plans are those of `uci_sets`, with its facts and its truths, which are read from
its committed results, so no data are needed.

The criterion is the root mean square log error of the planned MSE beside the measured one, at epsilon 1 and 0.1, on
half A of the sets. Half B shows what the choice is worth: nothing was chosen on it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy.special import ndtri
from threadpoolctl import threadpool_limits

from discreet import Domain, plan
from discreet.planning import population
from discreet.planning.facts import CORRELATION
from experiments import study, uci
from experiments.planning import uci_sets
from experiments.planning.uci_sets import within
from experiments.record import report
from experiments.uci import Floats

STUDY = Path("experiments/results/plan_uci.json")
BASE = {"correlation": uci_sets.CORRELATION, "spectrum": "log-odds", "coefficients": "features alike"}
"""Defaults of which one is changed at a time."""

SHIPPED = BASE | {"correlation": CORRELATION}
CORRELATIONS = (0.1, 0.2, 0.3, 0.4, 0.5)
SHAPES: dict[str, Callable[[Floats, int], Floats]] = {
    "log-odds": lambda i, d: np.log((d + 0.5 - i) / i),
    "power": lambda i, d: -np.log(i),
    "exponential": lambda i, d: -i / d,
    "log-normal": lambda i, d: ndtri((d + 0.5 - i) / d),
}
SPECTRA = (*SHAPES, "one factor")
POWERS = {"features alike": 0.5, "between": 0.25, "directions alike": 0.0}
"""What a direction explains is as this power of its eigenvalue, in sds."""

COLUMNS = ("correlation", "spectrum", "coefficients", "A", "B", "within 1.5, A", "within 1.5, B", "half A's choice")


def spectrum(name: str) -> Callable[[int, float], Floats]:
    """Eigenvalues of sum d whose mean square is that of a root mean square correlation."""

    def values(d: int, correlation: float) -> Floats:
        if name == "one factor":
            return np.array([1 + (d - 1) * correlation] + [1 - correlation] * (d - 1))
        shape, low, high = SHAPES[name](np.arange(1.0, d + 1), d), 0.0, population.STEEPEST * d
        for _ in range(80):
            a = (low + high) / 2
            found = np.exp(a * (shape - shape[0]))
            found *= d / found.sum()
            low, high = (a, high) if np.mean(found**2) < 1 + (d - 1) * correlation**2 else (low, a)
        return found

    return values


def signal(name: str) -> Callable[[Floats, np.random.Generator], Floats]:
    """What the regressors explain, up to its size."""

    def explained(X: Floats, rng: np.random.Generator) -> Floats:
        values, U = np.linalg.eigh(X.T @ X / len(X))
        weight = np.maximum(values, population.LEAST_DIRECTION) ** (POWERS[name] - 0.5)
        weight[values <= population.LEAST_DIRECTION] = 0.0
        found: Floats = X @ (U @ (weight * (U.T @ rng.standard_normal(X.shape[1]))))
        return found

    return explained


def facts(path: Path) -> list[dict[str, Any]]:
    """One dict a set: n, d, R2, E y2, half, and the measured MSE at each epsilon."""
    sets: dict[str, dict[str, Any]] = {}
    for row in json.loads(path.read_text(encoding="utf-8"))["rows"]:
        for line in row["lines"] if row["correlation"] is None else []:
            kept = {key: line[key] for key in ("data", "half", "n", "d", "R2", "E y2")}
            sets.setdefault(line["data"], kept | {"truth": {}})["truth"][str(row["epsilon"])] = line["truth"]
    return list(sets.values())


def work(cell: study.Cell) -> study.Rows:
    """What a plan with these defaults expects, at each epsilon."""
    names = [f"x{i}" for i in range(cell["d"])]
    domain = Domain.from_bounds(names, ["y"], data_norm=1.0, bounds_y=(-1, 1), intercept=False)
    with (
        threadpool_limits(1),
        mock.patch.object(population, "spectrum", spectrum(cell["spectrum"])),
        mock.patch.object(population, "signal", signal(cell["coefficients"])),
    ):
        found = plan(
            domain, "y", rows=cell["n"] - max(1, round(cell["n"] / 10)), epsilon=sorted(map(float, cell["truth"])),
            delta=uci.delta(cell["n"]), r_squared=min(cell["R2"], 0.999), mean_square=cell["E y2"],
            correlation=cell["correlation"], methods=["DPLinearRegression"], tighter=False, draws=cell["draws"],
        )  # fmt: skip
    return [{"epsilon": one.epsilon, "ratio": one.mse / cell["truth"][str(one.epsilon)]} for one in found.expected]


def candidates() -> list[dict[str, Any]]:
    """The base, and defaults that differ from it in one thing; the shipped ones are among them."""
    found = [BASE | {"correlation": value} for value in CORRELATIONS]
    found += [BASE | {"spectrum": name} for name in SPECTRA if name != BASE["spectrum"]]
    return found + [BASE | {"coefficients": name} for name in POWERS if name != BASE["coefficients"]]


def judged(rows: study.Rows) -> list[dict[str, Any]]:
    """One line a candidate, the best on half A first."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(json.dumps([row[name] for name in SHIPPED]), []).append(row)
    found = []
    for key, group in groups.items():
        line = dict(zip(SHIPPED, json.loads(key), strict=True))
        for half in "AB":
            ratios = np.array([row["ratio"] for row in group if row["half"] == half])
            line[half] = float(np.sqrt(np.mean(np.log(ratios) ** 2)))
            line[f"within 1.5, {half}"] = f"{within(ratios)} of {len(ratios)}"
        found.append(line)
    found.sort(key=lambda line: line["A"])
    return [line | {"half A's choice": line is found[0], "shipped": SHIPPED.items() <= line.items()} for line in found]


def main() -> None:
    parser = study.parser("planning.choice", "plan_choice", __doc__)
    parser.add_argument("--study", type=Path, default=STUDY)
    parser.add_argument("--draws", type=int, default=12)
    given = parser.parse_args()
    sets = facts(given.study)
    cells = [one | chosen | {"draws": given.draws} for chosen in candidates() for one in sets]
    found = judged(study.run("defaults", cells, work, given.log, given.jobs))
    report("Defaults of plans: root mean square log error", COLUMNS, found, given.out)


if __name__ == "__main__":
    main()
