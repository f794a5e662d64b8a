"""Models of classes and counts with declared bounds: ``python -m benchmarks.declared --glm --data DIR``.

*Classes*: logistic regression on the UCI sets, outcomes split at their median, bounds as in `benchmarks.declared`. The
excess is the log loss above that of the fit without privacy: on the rows that both were fitted to, where it is never
below 0, and on test rows. Stages are compared with the same method in coordinates that are computed from the rows
without privacy, with the whole budget for the model.

*Counts*: made-up counts with a declared bound of 100, with and without overdispersion and zeros: test deviance over
that of the training mean, for Poisson regression and for `DPLinearRegression`, and slopes over the true ones.

Finished cells are kept in the log and skipped: remove it when methods have changed.
"""

from __future__ import annotations

import argparse
import itertools
import math
import warnings
import zlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from experiments import study, uci
from experiments.declared import column_bounds
from experiments.populations import COUNTS_BOUNDS, counts
from experiments.record import report
from experiments.uci import Floats
from sklearn.linear_model import LogisticRegression

from discreet import DiscreetWarning, DPLinearRegression, DPLogisticRegression, DPPoissonRegression

MOST_COLUMNS, DELTA, TEST_ROWS = 60, 1e-6, 20_000
LEAST, LARGE = 1e-4, 900
"""The least excess on test rows, and the rows of a set that is large."""

ONE_STAGE, STAGES, KNOWN = "one stage", "stages", "known coordinates"
REACH = 0.8
"""Known coordinates: the norm that rows are cut at, over the square root of their mean square."""

KINDS = ("plain", "rare", "overdispersed", "zeros", "large", "no effect")


# ---------------------------------------------------------------- classes


def log_loss(eta: Floats, y: Floats) -> float:
    return float(np.mean(np.logaddexp(0, eta) - y * eta))


def classes(cell: study.Cell) -> study.Rows:
    """Excess log loss of each fit of one set."""
    X, y = uci.load(cell["data"], Path(cell["folder"]))
    y = (y > np.median(y)).astype(float)
    bounds = np.array([column_bounds(column, cell["k"]) for column in X.T]).T
    found = []
    for split, (train, test) in enumerate(uci.splits(len(y), cell["splits"])):
        parts = {"fitted": train, "test": test}
        mean, sd = X[train].mean(axis=0), X[train].std(axis=0)
        Z = (X - mean) / np.where(sd > 1e-9 * (np.abs(mean) + sd), sd, np.inf)  # not constant but for rounding
        free = LogisticRegression(C=100.0, max_iter=5000, tol=1e-8).fit(Z[train], y[train]).decision_function(Z)
        base = {part: log_loss(free[rows], y[rows]) for part, rows in parts.items()}
        known = cell["method"] == KNOWN
        A = round_columns(X, train) if known else X
        given: dict[str, Any] = {"data_norm": 1.0} if known else {"bounds_X": tuple(bounds)}
        given |= {"stages": "auto" if cell["method"] == STAGES else 1, "delta": uci.delta(len(y)), "n_jobs": 1}
        for draw in range(cell["draws"]):
            rng = np.random.default_rng([zlib.crc32(cell["data"].encode()), split, draw])
            model = DPLogisticRegression(epsilon=cell["epsilon"], **given, classes=[0, 1], random_state=rng)
            model.fit(A[train], y[train])
            eta = A @ model.coef_.ravel() + model.intercept_
            found.append({part: log_loss(eta[rows], y[rows]) - base[part] for part, rows in parts.items()})
    return found


def round_columns(X: Floats, train: Any) -> Floats:
    """The columns rotated and scaled so that the training rows are round, of mean square 1/`REACH`^2: not private."""
    A = X - X[train].mean(axis=0)
    s, V = np.linalg.svd(A[train], full_matrices=False)[1:]
    known = s > 1e-9 * s[0]
    rotated: Floats = A @ (V[known].T / s[known]) * (math.sqrt(len(A[train]) / known.sum()) / REACH)
    return rotated


def classes_table(rows: study.Rows, sizes: dict[str, int]) -> list[dict[str, Any]]:
    """For each k and epsilon mean excesses, and geometric means over the sets of their ratio to one stage's.

    On test rows an excess of less than `LEAST` counts as that.
    """
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["k"], row["epsilon"], row["method"], row["data"]].append(row)
    mean = {
        (*key, part): float(np.mean([row[part] for row in group]))
        for key, group in groups.items()
        for part in ("test", "fitted")
    }
    lines = []
    for k, epsilon in dict.fromkeys(key[:2] for key in groups):
        sets = list(dict.fromkeys(key[3] for key in groups if key[:2] == (k, epsilon)))
        large = np.array([sizes[name] >= LARGE for name in sets])
        line: dict[str, Any] = {"k": k, "epsilon": epsilon, "sets": len(sets), "large sets": int(large.sum())}
        for method in (ONE_STAGE, STAGES, KNOWN):
            line[method] = float(np.mean([mean[k, epsilon, method, name, "test"] for name in sets]))
        for method, part in itertools.product((STAGES, KNOWN), ("test", "fitted")):
            least = LEAST if part == "test" else 0.0
            own, one = (
                np.array([max(mean[k, epsilon, name, data, part], least) for data in sets])
                for name in (method, ONE_STAGE)
            )
            line[f"{method}, {part}"] = _geometric(own / one)
            line[f"{method}, {part}, large"] = _geometric((own / one)[large])
            if (method, part) == (STAGES, "fitted"):
                worst = int((own / one).argmax())
                line["worst"] = f"{(own / one)[worst]:.2f} {sets[worst]}"
        lines.append(line)
    return lines


def _geometric(values: Sequence[float] | Floats) -> float:
    return float(np.exp(np.mean(np.log(values))))


# ---------------------------------------------------------------- counts


def deviance(y: Floats, mean: Floats) -> float:
    """The mean Poisson deviance; predictions of a line below a thousandth of the mean count as that."""
    m = np.maximum(mean, 1e-3 * y.mean())
    own = np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0) / m), 0.0)
    return float(2 * np.mean(own - (y - m)))


def counted(cell: study.Cell) -> study.Rows:
    """Deviance of each fit of one population, and the slopes."""
    found = []
    for draw in range(cell["draws"]):
        rng = np.random.default_rng([zlib.crc32(cell["kind"].encode()), cell["rows"], draw])
        X, y, slopes = counts(cell["kind"], cell["rows"], rng)
        X_test, y_test, _ = counts(cell["kind"], TEST_ROWS, rng)
        given = {"epsilon": cell["epsilon"], "delta": DELTA, "bounds_X": COUNTS_BOUNDS, "bounds_y": (0, 100)}
        row: dict[str, Any] = {"mean": deviance(y_test, np.full(TEST_ROWS, y.mean()))}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscreetWarning)
            poisson = DPPoissonRegression(**given, n_jobs=1, random_state=rng).fit(X, y)
            before = DPPoissonRegression(**given, n_jobs=1, stages=1, random_state=rng).fit(X, y)
            linear = DPLinearRegression(**given, n_jobs=1, random_state=rng).fit(X, y)
        for name, model in (("Poisson", poisson), ("one stage", before), ("linear", linear)):
            row[name] = deviance(y_test, model.predict(X_test))
        found.append(row | {"slopes": poisson.coef_.tolist(), "true": slopes.tolist()})
    return found


def counts_table(rows: study.Rows) -> list[dict[str, Any]]:
    """For each population, number of rows and epsilon: deviances over that of the mean, and the worst slope."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["kind"], row["rows"], row["epsilon"]].append(row)
    lines = []
    for (kind, n, epsilon), group in groups.items():
        names = ("mean", "Poisson", "one stage", "linear")
        total = {name: float(np.sum([row[name] for row in group])) for name in names}
        line: dict[str, Any] = {"kind": kind, "rows": n, "epsilon": epsilon}
        line |= {name: total[name] / total["mean"] for name in names[1:]}
        line["over linear"] = total["Poisson"] / total["linear"]
        true, slopes = np.array(group[0]["true"]), np.mean([row["slopes"] for row in group], axis=0)
        off = np.abs(slopes / np.where(true, true, 1.0) - 1)[true != 0]
        lines.append(line | {"slopes off by": float(off.max()) if len(off) else None})
    return lines


# ---------------------------------------------------------------- as a command


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.declared --glm", description=__doc__)
    parser.add_argument("--kind", choices=("classes", "counts"), default="classes")
    parser.add_argument("--data", type=Path, help="folder with uci/; DISCREET_DATA by default")
    parser.add_argument("--k", type=float, nargs="+", default=[1.0, 3.0])
    parser.add_argument("--epsilon", type=float, nargs="+")
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 5000, 20_000])
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--log", type=Path, default=Path("benchmarks/results/log"), help="finished cells, to resume")
    given = parser.parse_args(arguments)
    log, out = given.log / f"glm-{given.kind}.jsonl", Path(f"benchmarks/results/glm-{given.kind}.json")
    if given.kind == "classes":
        folder = uci.data_folder(given.data)
        if folder is None:
            raise SystemExit("--data, or DISCREET_DATA, must name the folder with uci/.")
        names = [name for name in uci.available(folder) if uci.load(name, folder)[0].shape[1] <= MOST_COLUMNS]
        grid = itertools.product(names, given.k, given.epsilon or (0.1, 1.0), (ONE_STAGE, STAGES, KNOWN))
        cells = [
            {"data": data, "k": k, "epsilon": epsilon, "method": method, "folder": str(folder)}
            | {"splits": given.splits, "draws": given.draws}
            for data, k, epsilon, method in grid
        ]
        rows = study.run("classes", cells, classes, log, given.jobs)
        table = classes_table(rows, {name: len(uci.load(name, folder)[1]) for name in names})
        title = "Logistic regression: log loss above the fit without privacy, and its ratio to that of one stage"
    else:
        cells = [
            {"kind": kind, "rows": n, "epsilon": epsilon, "draws": given.draws}
            for kind, n, epsilon in itertools.product(KINDS, given.rows, given.epsilon or (0.3, 1.0, 3.0))
        ]
        table = counts_table(study.run("counts", cells, counted, log, given.jobs))
        title = "Counts: test deviance over that of the training mean"
    report(title, list(dict.fromkeys(key for row in table for key in row)), table, out)
