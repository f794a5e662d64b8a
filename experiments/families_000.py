"""Paper 000's tables 3 and 4 for posterior sampling and objective perturbation: ``python -m experiments.families_000``.

Every set is prepared as in the paper (not private, E18), split ten times 90/10, and fitted with seeds: the published
ObjectivePerturbation, OPS (balanced) and AdaOPS, by the paper's text and by its code, and verified methods. A published
mean agrees where it is within two of the paper's standard deviations of the paper's mean.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from discreet import (
    OPS,
    AdaOPS,
    DiscreetWarning,
    Domain,
    Moments,
    NoisyGradientDescent,
    ObjectivePerturbation,
    OutputPerturbation,
    SubsampleAggregate,
)
from discreet.errors import DiscreetError
from experiments import uci
from experiments.uci import Floats

METHODS: dict[str, tuple[Any, dict[str, Any]]] = {
    "ObjPert published": (ObjectivePerturbation, {"published": "000"}),
    "OPS published": (OPS, {"published": "000"}),
    "AdaOPS published": (AdaOPS, {"published": "000"}),
    "ObjPert code": (ObjectivePerturbation, {"published": "000-code"}),
    "AdaOPS code": (AdaOPS, {"published": "000-code"}),
    "OPS": (OPS, {}),
    "AdaOPS": (AdaOPS, {}),
    "AdaOPS kappa": (AdaOPS, {"variant": "kappa"}),
    "OutputPerturbation": (OutputPerturbation, {}),
    "OutputPerturbation fisher": (OutputPerturbation, {"shape": "fisher"}),
    "NoisyGradientDescent": (NoisyGradientDescent, {}),
    "SubsampleAggregate": (SubsampleAggregate, {}),
}
COLUMNS = {
    "ObjPert published": "objpert",
    "ObjPert code": "objpert",
    "OPS published": "ops",
    "AdaOPS published": "adaops",
    "AdaOPS code": "adaops",
}
ROW_METHODS = (ObjectivePerturbation, SubsampleAggregate)


def printed(epsilon: float, folder: Path) -> dict[str, dict[str, float]]:
    """The paper's table: means and standard deviations by set."""
    with (folder / "paper_tables" / f"uci_mse_eps{epsilon:g}.csv").open() as file:
        return {r["dataset"]: {k: float(v) for k, v in r.items() if k != "dataset"} for r in csv.DictReader(file)}


def errors(name: str, folder: Path, epsilons: tuple[float, ...], count: int) -> dict[str, dict[str, list[float]]]:
    """Test errors of every method at every epsilon, split by split; and those of predicting 0."""
    Z, t = uci.prepare(*uci.load(name, folder))
    names = [f"x{i}" for i in range(Z.shape[1])]
    domain = Domain.from_bounds(names, ["y"], bounds_y=(-1, 1), data_norm=1, intercept=False)
    found: dict[str, dict[str, list[float]]] = {}
    for split, (train, test) in enumerate(uci.splits(len(t), count)):
        moments = Moments.from_source((Z[train], t[train]), domain, n_jobs=1)
        found.setdefault("trivial", {}).setdefault("", []).append(float(np.mean(t[test] ** 2)))
        for epsilon in epsilons:
            for method, (cls, options) in METHODS.items():
                given = {"epsilon": epsilon, "delta": uci.delta(len(t)), "rows": len(t), "random_state": split}
                coef = fit(cls(**given, n_jobs=1, **options), Z[train], t[train], moments)
                error = None if coef is None else float(np.mean((Z[test] @ coef - t[test]) ** 2))
                found.setdefault(method, {}).setdefault(f"{epsilon:g}", []).append(error)  # type: ignore[arg-type]
    return found


def fit(model: Any, X: Floats, y: Floats, moments: Moments) -> Floats | None:
    """Coefficients, or None where the method refuses a promise that it cannot keep on so few rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        try:
            if isinstance(model, ROW_METHODS):
                model.set_params(data_norm=1.0, bounds_y=(-1, 1), fit_intercept=False)
                return np.asarray(model.fit(X, y).coef_)
            return np.asarray(model.fit_moments(moments, "y").coef_)
        except DiscreetError:
            return None


def compare(found: dict[str, Any], folder: Path, epsilons: tuple[float, ...]) -> dict[str, Any]:
    """Shares of sets that agree with the paper, sets that do not, and geometric means of error over trivial."""
    summary: dict[str, Any] = {}
    for epsilon in epsilons:
        key, table = f"{epsilon:g}", printed(epsilon, folder)
        for method in METHODS:
            cells = {name: e[method][key] for name, e in found.items() if None not in e[method][key]}
            ratios = [np.mean(cells[name]) / np.mean(found[name]["trivial"][""]) for name in cells]
            row: dict[str, Any] = {"sets": len(cells), "error/trivial": float(np.exp(np.mean(np.log(ratios))))}
            if method in COLUMNS:
                column, apart = COLUMNS[method], {}
                for name, values in cells.items():
                    mean, sd = table[name][f"{column}_mean"], table[name][f"{column}_std"]
                    if not abs(np.mean(values) - mean) <= 2 * sd:
                        apart[name] = [round(float(np.mean(values)), 4), mean, sd]
                row |= {"agree": 1 - len(apart) / len(cells), "apart (ours, mean, sd)": apart}
            summary.setdefault(method, {})[key] = row
    return summary


def means(errors: dict[str, dict[str, list[float]]]) -> dict[str, str]:
    """Means and standard deviations over splits, a line for each method: at epsilon 0.1, then at 1."""
    cells = {m: [[f"{f(v):.4g}" for f in (np.mean, np.std)] for v in e.values()] for m, e in errors.items()}
    return {method: "; ".join(" ".join(pair) for pair in pairs) for method, pairs in cells.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="Folder with uci/ and paper_tables/; DISCREET_DATA by default.")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--sets", nargs="*", default=list(uci.NAMES))
    parser.add_argument("--out", type=Path, default=Path("experiments/results/families_000.json"))
    given = parser.parse_args()
    folder = uci.data_folder(given.data)
    if folder is None:
        sys.exit("Name the folder with the studies' data: --data or DISCREET_DATA.")
    epsilons = (0.1, 1.0)
    found = {}
    for name in given.sets:
        found[name] = errors(name, folder, epsilons, given.splits)
        print(
            name,
            {m: [round(float(np.mean(v)), 4) for v in e.values() if None not in v] for m, e in found[name].items()},
        )
    summary = compare(found, folder, epsilons)
    print(json.dumps(summary, indent=1))
    body = {"splits": given.splits, "summary": summary, "errors (mean, sd)": {n: means(e) for n, e in found.items()}}
    given.out.write_text(json.dumps(body, indent=1) + "\n")


if __name__ == "__main__":
    main()
