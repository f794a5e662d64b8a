"""Accuracy at equal (epsilon, delta): ``python -m benchmarks.utility --data DIR``.

Test MSE over that of predicting 0, by wang2018's protocol (whose preprocessing is not private, erratum E18) on the UCI
sets, and on made-up designs. Without the data folder only the designs are run.
"""

from __future__ import annotations

import argparse
import math
import zlib
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from experiments import designs, study, uci
from experiments.methods import NON_PRIVATE, fitter
from experiments.record import report

UCI_METHODS = ("DPLinearRegression", "AdaSSP", "AdaSSP published wang2018")
DESIGN_METHODS = ("DPLinearRegression", "AdaSSP", "AdaSSP published wang2018", NON_PRIVATE)
DESIGNS = (
    ("isotropic", 1_000, 50, 1.0),
    ("isotropic", 10_000, 50, 0.1),
    ("isotropic", 10_000, 50, 1.0),
    ("isotropic", 10_000, 10, 0.1),
    ("spiked", 10_000, 50, 0.1),
    ("spiked", 10_000, 20, 1.0),
    ("correlated", 10_000, 50, 0.1),
    ("correlated", 10_000, 20, 1.0),
    ("heavy-tailed", 10_000, 50, 0.1),
    ("heavy-tailed", 10_000, 20, 1.0),
)


@cache
def prepared(name: str, folder: str) -> tuple[uci.Floats, uci.Floats]:
    return uci.prepare(*uci.load(name, Path(folder)))


def uci_cell(cell: study.Cell) -> study.Rows:
    """Mean test MSE of each split of one set, for one method and epsilon."""
    X, y = prepared(cell["data"], cell["folder"])
    rows = []
    for split, (train, test) in enumerate(uci.splits(len(y), cell["splits"])):
        fit = fitter(cell["method"], X[train], y[train], cell["epsilon"], uci.delta(len(y)))
        rows.append(_errors(fit, X[test], y[test], cell, split))
    return rows


def design_cell(cell: study.Cell) -> study.Rows:
    """The same for a made-up design; every split is a data set of its own."""
    rows = []
    for split in range(cell["splits"]):
        X, y, X_test, y_test = designs.make(cell["data"], cell["n"], cell["d"], split)
        fit = fitter(cell["method"], X, y, cell["epsilon"], 1e-6)
        rows.append(_errors(fit, X_test, y_test, cell, split))
    return rows


def _errors(fit: Any, X: uci.Floats, y: uci.Floats, cell: study.Cell, split: int) -> dict[str, Any]:
    rng = np.random.default_rng([zlib.crc32(f"{cell['data']} {cell['method']} {cell['epsilon']}".encode()), split])
    mse = np.array([np.mean((X @ fit(rng) - y) ** 2) for _ in range(cell["draws"])])
    return {"split": split, "trivial": float(np.mean(y**2)), "mse": float(mse.mean()), "sum_sq": float(np.sum(mse**2))}


def ratios(rows: study.Rows, keys: tuple[str, ...]) -> dict[tuple[Any, ...], tuple[float, float]]:
    """Mean MSE over mean trivial MSE, and its standard error over all fits, for each combination of keys."""
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(row[key] for key in keys)].append(row)
    found = {}
    for key, group in groups.items():
        fits = sum(row["draws"] for row in group)
        mean = sum(row["mse"] * row["draws"] for row in group) / fits
        variance = max(sum(row["sum_sq"] for row in group) / fits - mean**2, 0.0)
        trivial = np.mean([row["trivial"] for row in group])
        found[key] = float(mean / trivial), float(math.sqrt(variance / fits) / trivial)
    return found


def uci_rows(folder: Path, given: argparse.Namespace) -> study.Rows:
    names = uci.available(folder)
    absent = [name for name in uci.LARGE if name not in names]
    print(f"{len(names)} sets; absent: {', '.join(absent)}")
    sizes = {name: len(prepared(name, str(folder))[1]) for name in names}
    cells = [
        {"data": name, "method": method, "epsilon": epsilon, "splits": given.splits, "folder": str(folder)}
        | {"draws": given.draws * (5 if sizes[name] < 100 else 1)}
        for epsilon in given.epsilon
        for name in names
        for method in (*UCI_METHODS, *(["SSP"] if epsilon >= 10 else []), *([NON_PRIVATE] if epsilon == 1 else []))
    ]
    return study.run("UCI sets", cells, uci_cell, given.log / "utility-uci.jsonl", given.jobs)


def uci_table(rows: study.Rows) -> list[dict[str, Any]]:
    """One line for each epsilon and method: geometric mean over the sets, and the worst set."""
    by_set = ratios(rows, ("epsilon", "method", "data"))
    energy = {row["data"]: row["trivial"] for row in rows}
    table = []
    for epsilon, method in dict.fromkeys((e, m) for e, m, _ in by_set):
        sets = {data: value for (e, m, data), value in by_set.items() if (e, m) == (epsilon, method)}
        floor = {data: value for data, value in sets.items() if energy[data] >= 0.01}
        worst = max(floor, key=lambda data: floor[data][0])
        above = [data for data, (ratio, error) in floor.items() if ratio - 2 * error > 1.05]
        table.append(
            {"data": f"{len(sets)} UCI sets", "epsilon": epsilon, "method": method}
            | {"ratio": math.exp(np.mean([math.log(ratio) for ratio, _ in sets.values()]))}
            | {"worst": floor[worst][0], "worst_error": floor[worst][1], "worst_set": worst, "above_floor": len(above)}
            | {"sets": {data: [round(r, 5), round(e, 5)] for data, (r, e) in sets.items()}}
        )
    return table


def design_table(given: argparse.Namespace) -> list[dict[str, Any]]:
    cells = [
        {"data": kind, "n": n, "d": d, "epsilon": epsilon, "method": method, "splits": given.splits}
        | {"draws": max(1, given.draws // 4)}
        for kind, n, d, epsilon in DESIGNS
        for method in DESIGN_METHODS
    ]
    rows = study.run("designs", cells, design_cell, given.log / "utility-designs.jsonl", given.jobs)
    return [
        {"data": f"{kind}, n = {n:,}, d = {d}", "epsilon": epsilon, "method": method, "ratio": ratio, "error": error}
        for (kind, n, d, epsilon, method), (ratio, error) in ratios(
            rows, ("data", "n", "d", "epsilon", "method")
        ).items()
    ]


def pivot(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line for each data and epsilon, one column for each method, and the worst set of ours."""
    lines: dict[tuple[str, float], dict[str, Any]] = {}
    for row in table:
        line = lines.setdefault((row["data"], row["epsilon"]), {"data": row["data"], "epsilon": row["epsilon"]})
        line[row["method"]] = row["ratio"]
        if row["method"] == "DPLinearRegression" and "worst" in row:
            line["our worst set"] = f"{row['worst_set']} {row['worst']:.3f} ± {row['worst_error']:.3f}"
            line["sets above 1.05"] = row["above_floor"]
    return list(lines.values())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.utility", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with uci/; DISCREET_DATA by default")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--log", type=Path, default=Path("benchmarks/results/log"), help="finished cells, to resume")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/utility.json"))
    given = parser.parse_args()
    folder = uci.data_folder(given.data)
    table = uci_table(uci_rows(folder, given)) if folder else []
    table += design_table(given)
    wide = pivot(table)
    columns = list(dict.fromkeys(key for row in wide for key in row))
    report("Test MSE / that of predicting 0", columns, wide, given.out, detail=table)


if __name__ == "__main__":
    main()
