"""Accuracy with bounds that a person could declare: ``python -m benchmarks.declared --data DIR``.

Every column's bounds are its range, widened k times and rounded outwards: made from the data, so for studies only. Test
MSE over that of the training mean of y, on the UCI sets (``--kind uci``), on those with all squares and products of two
columns (``--kind products``) and on made-up tables of levels (``--kind wide``); and for a made-up wage equation
(``--kind wages``) the mean squared difference to the true one over sigma^2. ``--floor`` holds the default against the
private mean; ``--glm`` measures models of classes and counts (`benchmarks.declared_glm`). Finished cells are kept in
the log and skipped: remove it when methods have changed.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from experiments import study, uci
from experiments.comparison.tallies import CAP
from experiments.declared import (
    LEAST_SQUARES,
    NAMES,
    PRIVATE_MEAN,
    RIDGE,
    SEARCHED,
    Declared,
    available,
    fitter,
    middle,
    uci_table,
    wages_table,
    wide_table,
)
from experiments.populations import WAGES_SIGMA, WAGES_TRUE
from experiments.record import report
from experiments.uci import Floats

from benchmarks import declared_glm
from discreet.privacy import gdp

DEFAULT = "DPLinearRegression"
PEERS = ("Boosted AdaSSP, 10 rounds", "TukeyEM", "OpenDP SSP", "diffprivlib")
SLOW = ("AdaOPS", "ObjectivePerturbation", "OPS", "OutputPerturbation", "NoisySGD", "SubsampleAggregate", *PEERS)
"""Drawn a fifth as often."""
METHODS = {
    "uci": (
        *(DEFAULT, "DPRidge", "DPLasso", "AdaSSP", "ConstSSP", "SSP", "AdaOPS", "OPS", "NoisyGradientDescent"),
        *("ObjectivePerturbation", "OutputPerturbation", *PEERS, PRIVATE_MEAN, RIDGE, LEAST_SQUARES),
    ),
    "unbounded": (DEFAULT, SEARCHED, PRIVATE_MEAN),
    "products": (DEFAULT, "DPRidge", "DPLasso", "AdaSSP", PRIVATE_MEAN, RIDGE, LEAST_SQUARES),
    "wages": (DEFAULT, "DPRidge", "DPLasso", "AdaSSP", PRIVATE_MEAN, LEAST_SQUARES),
    "wide": (DEFAULT, "DPRidge", "DPLasso", "AdaSSP", PRIVATE_MEAN, RIDGE, LEAST_SQUARES),
}
USUAL_EPSILONS, WIDE_EPSILONS, FLOOR_EPSILONS = (0.1, 0.3, 1.0, 3.0), (1.0, 3.0), (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
WIDTHS = {
    "uci": (1.0, 3.0, 10.0),
    "unbounded": (3.0, 10.0),
    "products": (1.0, 3.0, 10.0),
    "wages": (1.0,),
    "wide": (1.0,),
}
FLOOR = 1.05
"""How many times the error of the private mean the default may have."""
MOST_COLUMNS = {"uci": 60, "unbounded": 60, "products": 12}
"""Wider sets are left out of the geometric means, and have no products."""
TINY = 250
"""Sets with fewer rows are fitted four times as often, for the floor in four times as many splits: a single fit, or a
single split into training and test rows, says little there."""


# ---------------------------------------------------------------- cells


@cache
def loaded(name: str, folder: str) -> tuple[Floats, Floats]:
    return uci.load(name, Path(folder))


def declared(cell: study.Cell, split: int) -> Declared:
    """The table of a cell."""
    if cell["kind"] == "wages":
        return wages_table(cell["k"], split)
    if cell["kind"] == "wide":
        return wide_table(int(cell["data"]), cell["k"], split)
    X, y = loaded(cell["data"], cell["folder"])
    return uci_table(X, y, cell["k"], split, products=cell["kind"] == "products")


def work(cell: study.Cell) -> study.Rows:
    """Every fit's error in each split of one table, for one method, k and epsilon."""
    return [_split(cell, split, declared(cell, split)) for split in range(cell["splits"])]


def _split(cell: study.Cell, split: int, table: Declared) -> dict[str, Any]:
    fit = fitter(cell["method"], table, cell["epsilon"])
    key = f"{cell['kind']} {cell['data']} {cell['k']} {cell['epsilon']} {cell['method']}"
    rng = np.random.default_rng([zlib.crc32(key.encode()), split])
    start, found, designs = time.process_time(), [], []
    for _ in range(cell["draws"]):
        found.append(fit(rng))
        designs.append(getattr(fit, "design_test", table.design_test))
    row: dict[str, Any] = {"split": split, "seconds": round((time.process_time() - start) / cell["draws"], 6)}
    thetas = [middle(table) if theta is None else theta for theta in found]
    row["failed"] = sum(theta is None for theta in found)
    if cell["kind"] == "wages":
        true = np.array(list(WAGES_TRUE.values()))
        sds = WAGES_SIGMA * np.sqrt(np.diag(np.linalg.inv(table.design.T @ table.design)))
        row |= {"trivial": WAGES_SIGMA**2, "theta": [theta.tolist() for theta in thetas], "sds": sds.tolist()}
        aim = table.design_test @ true
    else:
        aim = table.y_test
        row["trivial"] = float(np.mean((aim - table.y.mean()) ** 2))
    pairs = zip(designs, thetas, strict=True)
    return row | {"errors": [_error(design, theta, aim, row["trivial"]) for design, theta in pairs]}


def _error(design: Floats, theta: Floats, aim: Floats, trivial: float) -> float:
    """Mean squared error, at most `CAP` times the trivial one."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.mean((design @ theta - aim) ** 2))
    return min(error, CAP * trivial) if math.isfinite(error) else CAP * trivial


def cells(given: argparse.Namespace, folder: Path | None) -> list[study.Cell]:
    """One for each table, k, epsilon and method."""
    return [
        {"kind": given.kind, "data": data, "k": k, "epsilon": epsilon, "method": method}
        | {"splits": given.splits * (4 if rows < TINY and given.floor else 1)}
        | {"draws": _draws(method, given.draws * (4 if rows < TINY and not given.floor else 1))}
        | ({"folder": str(folder)} if folder else {})
        for data, rows in tables(given, folder)
        for k in given.k
        for epsilon in given.epsilon
        for method in given.methods
    ]


def _draws(method: str, draws: int) -> int:
    return 1 if method in (LEAST_SQUARES, RIDGE) else max(1, draws // 5) if method in SLOW else draws


def tables(given: argparse.Namespace, folder: Path | None) -> list[tuple[str, float]]:
    """Names of the tables of a kind, and how many rows they have."""
    if given.kind == "wages":
        return [("wages", math.inf)]
    if given.kind == "wide":
        return [("100", math.inf), ("300", math.inf)]
    if folder is None:
        raise SystemExit("--data, or DISCREET_DATA, must name the folder with uci/.")
    shapes = {name: loaded(name, str(folder))[0].shape for name in given.sets or uci.available(folder)}
    most = MOST_COLUMNS["products"] if given.kind == "products" else math.inf
    return [(name, n) for name, (n, d) in shapes.items() if d <= most]


# ---------------------------------------------------------------- figures


def by_table(rows: study.Rows) -> dict[tuple[Any, ...], dict[str, Any]]:
    """For each (data, k, epsilon, method): error over the trivial one, its standard error over fits, seconds."""
    groups: dict[tuple[Any, ...], study.Rows] = defaultdict(list)
    for row in rows:
        groups[row["data"], row["k"], row["epsilon"], row["method"]].append(row)
    found = {}
    for key, group in groups.items():
        errors = np.concatenate([row["errors"] for row in group])
        trivial = float(np.mean([row["trivial"] for row in group]))
        entry: dict[str, Any] = {"ratio": float(errors.mean()) / trivial, "error": _standard_error(errors) / trivial}
        entry |= {
            "fits": len(errors),
            "splits": len(group),
            "failed": sum(row["failed"] for row in group) / len(errors),
        }
        found[key] = entry | {
            "seconds": float(np.mean([row["seconds"] for row in group])),
            "errors": [np.array(row["errors"]) / trivial for row in group],
        }
    return found


def _standard_error(values: Floats) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def against_mean(errors: Sequence[Floats], means: Sequence[Floats]) -> dict[str, Any]:
    """Mean error over that of the private mean, its standard error, and whether it is above the floor.

    It is above where the error exceeds `FLOOR` times that of the private mean by more than two standard errors of the
    difference. Fits of one split are fits of the same rows, so the difference is taken fit by fit. Splits differ more
    than fits of one split do, so the standard error is that over fits or over splits, whichever is larger.
    """
    mean = float(np.mean([own.mean() for own in means]))
    ratio = float(np.mean([own.mean() for own in errors])) / mean
    spread = []
    for times in (ratio, FLOOR):
        gaps = [own - times * other for own, other in zip(errors, means, strict=True)]
        by_split = _standard_error(np.array([own.mean() for own in gaps]))
        spread.append(max(_standard_error(np.concatenate(gaps)), by_split) / mean)
    return {"ratio": ratio, "error": spread[0], "above": ratio - FLOOR > 2 * spread[1]}


def summary(rows: study.Rows, counted: Iterable[str]) -> list[dict[str, Any]]:
    """One line for each (k, epsilon, method): geometric mean over the counted tables, and figures of every table.

    Fits, splits and seconds of a fit are medians over the tables.
    """
    found, counted = by_table(rows), list(counted)
    lines = []
    for k, epsilon, method in dict.fromkeys(key[1:] for key in found):
        sets = {key[0]: entry for key, entry in found.items() if key[1:] == (k, epsilon, method)}
        used = [sets[data] for data in counted if data in sets]
        line: dict[str, Any] = {"k": k, "epsilon": epsilon, "method": method, "tables": len(used)} | _mean(used)
        line |= {name: float(np.median([e[name] for e in sets.values()])) for name in ("splits", "fits", "seconds")}
        line["failed"] = float(np.mean([entry["failed"] for entry in sets.values()]))
        means = {key[0]: entry for key, entry in found.items() if key[1:] == (k, epsilon, PRIVATE_MEAN)}
        if method == DEFAULT and means:
            floor = {data: against_mean(sets[data]["errors"], mean["errors"]) for data, mean in means.items()}
            worst = max(floor, key=lambda data: floor[data]["ratio"])
            line |= {"worst_set": worst, "worst": floor[worst]["ratio"], "worst_error": floor[worst]["error"]}
            line |= {"above": [data for data in floor if floor[data]["above"]], "over_private_mean": _pairs(floor)}
        lines.append(line | {"sets": _pairs(sets)})
    return lines


def _mean(entries: list[dict[str, Any]]) -> dict[str, float | None]:
    """The geometric mean of ratios and its standard error, the tables being given."""
    if not entries:
        return {"ratio": None, "error": None}
    ratio = math.exp(np.mean([math.log(entry["ratio"]) for entry in entries]))
    relative = math.sqrt(sum((entry["error"] / entry["ratio"]) ** 2 for entry in entries))
    return {"ratio": ratio, "error": ratio * relative / len(entries)}


def _pairs(figures: dict[str, dict[str, Any]]) -> dict[str, list[float]]:
    """Ratio and standard error of every table."""
    return {data: [_rounded(entry["ratio"]), _rounded(entry["error"])] for data, entry in figures.items()}


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def coefficients(rows: study.Rows) -> dict[tuple[float, float, str], dict[str, dict[str, float]]]:
    """Of the wage equation: each coefficient's truth, mean, sd, and RMSE over its sd without privacy."""
    groups: dict[tuple[float, float, str], study.Rows] = defaultdict(list)
    for row in rows:
        groups[row["k"], row["epsilon"], row["method"]].append(row)
    found = {}
    for key, group in groups.items():
        thetas = np.concatenate([row["theta"] for row in group])
        true, sds = np.array(list(WAGES_TRUE.values())), np.mean([row["sds"] for row in group], axis=0)
        rmse = np.sqrt(np.mean((thetas - true) ** 2, axis=0))
        figures = zip(true, thetas.mean(axis=0), thetas.std(axis=0), sds, rmse / sds, strict=True)
        columns = ("true", "mean", "sd", "sd_without_privacy", "rmse_over_it")
        entries = [dict(zip(columns, map(_rounded, line), strict=True)) for line in figures]
        found[key] = dict(zip(WAGES_TRUE, entries, strict=True))
    return found


def _same(part: dict[str, Any], line: dict[str, Any]) -> bool:
    return bool(part["epsilon"] == line["epsilon"])


def searchable(rows: study.Rows, folder: str) -> list[dict[str, Any]]:
    """The sets that can carry a search for bounds at each epsilon, n mu >= 100 sqrt(columns), and those that cannot."""
    found = []
    for epsilon in dict.fromkeys(row["epsilon"] for row in rows):
        sets: dict[str, list[str]] = {"n mu >= 100 sqrt(d)": [], "below": []}
        for name in dict.fromkeys(row["data"] for row in rows):
            (n, d), mu = loaded(name, folder)[0].shape, 0.0
            if d > MOST_COLUMNS["unbounded"]:
                continue
            mu = gdp.mu(epsilon, uci.delta(n))
            sets["n mu >= 100 sqrt(d)" if 0.9 * n * mu >= 100 * math.sqrt(d + 1) else "below"].append(name)
        found += [{"epsilon": epsilon, "columns": rule, "counted": own} for rule, own in sets.items() if own]
    return found


# ---------------------------------------------------------------- tables


def pivot(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line for each k and epsilon, one column for each method, and how the default stands to the private mean."""
    table: dict[tuple[Any, ...], dict[str, Any]] = {}
    for line in lines:
        facts: dict[str, Any] = {name: line[name] for name in ("columns", "k", "epsilon") if name in line}
        table.setdefault(tuple(facts.values()), facts)[line["method"]] = line["ratio"]
    for line in lines:
        row = table[tuple(line[name] for name in ("columns", "k", "epsilon") if name in line)]
        if "worst" in line:
            row["worst over private mean"] = f"{line['worst']:.3f} ± {line['worst_error']:.3f} {line['worst_set']}"
            row[f"above {FLOOR}"] = len(line["above"])
        if "coefficients" in line and line["method"] == DEFAULT:
            square = line["coefficients"]["age^2"]
            row["age^2 of the default"] = f"{square['mean']:.4f} ± {square['sd']:.4f}"
            row["largest RMSE / sd"] = max(entry["rmse_over_it"] for entry in line["coefficients"].values())
    return list(table.values())


def measured(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Work off the cells and sum them up; wide tables each have their own lines."""
    folder = uci.data_folder(given.data) if given.kind in MOST_COLUMNS else None
    log = given.log / f"declared-{given.kind}.jsonl"
    rows = study.run(given.kind, cells(given, folder), work, log, given.jobs)
    names = list(dict.fromkeys(row["data"] for row in rows))
    if given.kind == "wide":
        own = {name: [row for row in rows if row["data"] == name] for name in names}
        return [{"columns": int(name)} | line for name in names for line in summary(own[name], [name])]
    if given.kind == "wages":
        figures = coefficients(rows)
        lines = summary(rows, names)
        return [line | {"coefficients": figures[line["k"], line["epsilon"], line["method"]]} for line in lines]
    if given.kind == "unbounded":
        parts = searchable(rows, str(folder))
        return [part | line for part in parts for line in summary(rows, part["counted"]) if _same(part, line)]
    few = [name for name in names if loaded(name, str(folder))[0].shape[1] <= MOST_COLUMNS[given.kind]]
    return summary(rows, few)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.declared", description=__doc__)
    parser.add_argument("--kind", choices=list(METHODS), default="uci")
    parser.add_argument(
        "--floor", action="store_true", help="the default and the private mean only, epsilon 0.03 to 10"
    )
    parser.add_argument("--data", type=Path, help="folder with uci/; DISCREET_DATA by default")
    parser.add_argument("--methods", nargs="+", choices=NAMES, metavar="NAME", help=f"of: {'; '.join(NAMES)}")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="some of the UCI sets only")
    parser.add_argument("--k", type=float, nargs="+", help="how many times as wide as the range bounds are")
    parser.add_argument("--epsilon", type=float, nargs="+")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--log", type=Path, default=Path("benchmarks/results/log"), help="finished cells, to resume")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.sets and given.kind not in MOST_COLUMNS:
        parser.error("--sets chooses UCI sets, and this kind is made up.")
    asked = given.methods or ((DEFAULT, PRIVATE_MEAN) if given.floor else METHODS[given.kind])
    if absent := [name for name in asked if not available(name)]:
        print(f"Left out, for their packages are not installed: {', '.join(absent)}")
    given.methods = [name for name in asked if name not in absent]
    usual = WIDE_EPSILONS if given.kind == "wide" else USUAL_EPSILONS[given.kind == "unbounded" :]
    given.epsilon = given.epsilon or (FLOOR_EPSILONS if given.floor else usual)
    given.k = given.k or WIDTHS[given.kind]
    end = ("" if given.kind == "uci" else f"-{given.kind}") + ("-floor" if given.floor else "")
    given.out = given.out or Path(f"benchmarks/results/declared{end}.json")
    return given


TITLES = {
    "uci": "Test MSE / that of the training mean, geometric mean over the UCI sets with at most 60 columns",
    "unbounded": "Test MSE / that of the training mean, with bounds declared k times too wide and with none",
    "products": "Test MSE / that of the training mean, squares and products added, sets with at most 12 columns",
    "wages": "Wages: mean squared difference to the true equation / sigma^2",
    "wide": "Wide tables of levels: test MSE / that of the training mean",
}


def main() -> None:
    if "--glm" in sys.argv[1:]:
        return declared_glm.main([argument for argument in sys.argv[1:] if argument != "--glm"])
    given = options()
    lines = measured(given)
    table = pivot(lines)
    columns = list(dict.fromkeys(key for row in table for key in row))
    report(TITLES[given.kind], columns, table, given.out, detail=lines)


if __name__ == "__main__":
    main()
