"""Models of classes and counts with declared bounds: ``python -m benchmarks.declared --glm --data DIR``.

*Classes*: logistic regression on the UCI sets, outcomes split at their median, bounds as in `benchmarks.declared`. The
excess is the log loss above that of the fit without privacy: on the rows that both were fitted to, where it is never
below 0, and on test rows. The default, scoring steps in stages, is compared with one stage, which is objective
perturbation for the bounds as declared, and with objective perturbation in coordinates that are computed from the rows
without privacy, with the whole budget for the model.

*Several classes*: excess log loss on test rows of one multinomial release and of one logistic regression for each class
against the others, at the same total cost: k of them, each with mu/sqrt(k), their probabilities divided by their sum.
The tables are four made-up classes, hours of Adult in three classes, and UCI sets with outcomes cut at terciles.

*Counts*: made-up counts with a declared bound of 100, with and without overdispersion and zeros: test deviance over
that of the training mean, for Poisson regression and for `DPLinearRegression`, and slopes over the true ones.

Finished cells are kept in the log and skipped: remove it when methods have changed.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import warnings
import zlib
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from experiments import study, uci
from experiments.declared import column_bounds
from experiments.defaults import adult
from experiments.populations import COUNTS_BOUNDS, counts, four_classes
from experiments.record import report
from experiments.uci import Floats
from sklearn.linear_model import LogisticRegression

from discreet import DiscreetWarning, Domain, DPLinearRegression, DPLogisticRegression, DPPoissonRegression
from discreet.data.tables import design_matrix
from discreet.privacy import gdp

MOST_COLUMNS, DELTA, TEST_ROWS = 60, 1e-6, 20_000
LEAST, LARGE = 1e-4, 900
"""The least excess on test rows, and the rows of a set that is large."""

ONE_STAGE, STAGES, KNOWN = "one stage", "stages", "known coordinates"
REACH = 0.8
"""Known coordinates: the norm that rows are cut at, over the square root of their mean square."""

MULTINOMIAL, ONE_VS_REST = "multinomial", "one-vs-rest"
NOT_PRIVATE = "one-vs-rest, not private"
MADE_UP, ADULT = "made-up", "adult"
MADE_UP_ROWS, MADE_UP_TEST, BOUND = 20_000, 50_000, 4.0
TERCILES = ("concrete", "skillcraft", "parkinsons", "elevators", "protein")
"""UCI sets of 1,030 to 45,730 rows, chosen by their size alone."""

HOURS = ("under 40", "40", "over 40")
"""The classes of Adult's hours a week."""

KINDS = ("plain", "rare", "overdispersed", "zeros", "large", "no effect")


# ---------------------------------------------------------------- classes


def log_loss(eta: Floats, y: Floats) -> float:
    return float(np.mean(np.logaddexp(0, eta) - y * eta))


def classes(cell: study.Cell) -> study.Rows:
    """Excess log loss of each fit of one set."""
    X, y = halves(cell["data"], Path(cell["folder"]))
    bounds = np.array([column_bounds(column, cell["k"]) for column in X.T]).T
    found = []
    for split, (train, test) in enumerate(uci.splits(len(y), cell["splits"])):
        parts = {"fitted": train, "test": test}
        base = free_losses(cell["data"], Path(cell["folder"]), split)
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


def halves(name: str, folder: Path) -> tuple[Floats, Floats]:
    """A set with its outcome split at the median."""
    X, y = uci.load(name, folder)
    return X, (y > np.median(y)).astype(float)


@cache
def free_losses(name: str, folder: Path, split: int) -> dict[str, float]:
    """The log loss of the fit without privacy on the fitted rows and on the test rows of a split."""
    X, y = halves(name, folder)
    train, test = list(uci.splits(len(y), split + 1))[split]
    mean, sd = X[train].mean(axis=0), X[train].std(axis=0)
    Z = (X - mean) / np.where(sd > 1e-9 * (np.abs(mean) + sd), sd, np.inf)  # not constant but for rounding
    eta = LogisticRegression(C=100.0, max_iter=5000, tol=1e-8).fit(Z[train], y[train]).decision_function(Z)
    return {part: log_loss(eta[rows], y[rows]) for part, rows in (("fitted", train), ("test", test))}


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


# ---------------------------------------------------------------- several classes


class Classes(NamedTuple):
    """Training and test tables with a category "class", the features' domain, the levels, and the options of a fit."""

    train: pa.Table
    test: pa.Table
    domain: Domain
    levels: tuple[str, ...]
    options: dict[str, Any]

    def design(self, part: pa.Table) -> Floats:
        """Features as numbers, levels as zeros and ones."""
        return np.asarray(design_matrix(part.select(self.features), self.domain.select(self.features)))

    @property
    def features(self) -> list[str]:
        """All columns but the outcome."""
        return [name for name in self.train.column_names if name != "class"]

    def loss(self, probabilities: Floats) -> float:
        """The mean log loss on test rows."""
        codes = [self.levels.index(level) for level in self.test["class"].to_pylist()]
        own = probabilities[np.arange(len(codes)), codes]
        return float(-np.mean(np.log(np.maximum(own, 1e-12))))


def made_up(strength: float, rng: np.random.Generator) -> Classes:
    """Four classes, and six columns that are clipped to their bounds."""
    levels = tuple("abcd")
    parts = []
    for n in (MADE_UP_ROWS, MADE_UP_TEST):
        X, codes = four_classes(strength, n, rng)
        parts.append((X.clip(-BOUND, BOUND), np.array(levels)[codes]))
    bounds = (np.full(6, -BOUND), np.full(6, BOUND))
    return _classes(parts[0], parts[1], bounds, levels, {"delta": DELTA})


def terciles(name: str, folder: Path, split: int) -> Classes:
    """A UCI set with bounds as for two classes, k = 1, and its outcome cut at terciles."""
    X, y = uci.load(name, folder)
    levels = ("low", "middle", "high")
    named = np.array(levels)[np.digitize(y, np.quantile(y, (1 / 3, 2 / 3)), right=True)]
    train, test = list(uci.splits(len(y), split + 1))[split]
    bounds = np.array([column_bounds(column, 1.0) for column in X.T]).T
    return _classes((X[train], named[train]), (X[test], named[test]), bounds, levels, {"delta": uci.delta(len(y))})


def _classes(train: Any, test: Any, bounds: Any, levels: tuple[str, ...], options: dict[str, Any]) -> Classes:
    names = [f"x{j}" for j in range(len(bounds[0]))]
    tables = [pa.table(dict(zip(names, X.T, strict=True)) | {"class": y}) for X, y in (train, test)]
    ranges = {name: (float(a), float(b)) for name, a, b in zip(names, *bounds, strict=True)}
    return Classes(tables[0], tables[1], Domain(ranges | {"class": list(levels)}), levels, options)


def hours() -> Classes:
    """Adult, with hours a week in the classes of `HOURS`, and all other columns as features."""
    parts = []
    for part in ("train", "test"):
        table = adult.table(part)
        codes = 1 + np.sign(table["hours_per_week"].to_numpy() - 40).astype(int)
        parts.append(table.drop_columns(["hours_per_week"]).append_column("class", pa.array(np.array(HOURS)[codes])))
    known = adult.NUMBERS | {name: text.split(", ") for name, text in adult.LEVELS.items()}
    known |= {adult.TARGET: ["<=50K", adult.POSITIVE], "class": list(HOURS)}
    domain = Domain({name: known[name] for name in parts[0].column_names})
    return Classes(parts[0], parts[1], domain, HOURS, {"delta": DELTA, "rows": adult.ROWS})


def several(cell: study.Cell) -> study.Rows:
    """Excess log loss on test rows of each fit of one table."""
    found = []
    for split in range(cell["splits"]):
        rng = np.random.default_rng([zlib.crc32(cell["data"].encode()), split])
        if cell["data"].startswith(MADE_UP):
            own = made_up(cell["strength"], rng)
        else:
            own = hours() if cell["data"] == ADULT else terciles(cell["data"], Path(cell["folder"]), split)
        joint, each = not_private(own, math.inf if cell["data"].startswith(MADE_UP) else 100.0)
        base = own.loss(joint)
        for draw in range(cell["draws"]):
            row = {"rows": len(own.train), NOT_PRIVATE: own.loss(each) - base}
            for method, fitted in ((MULTINOMIAL, multinomial), (ONE_VS_REST, one_vs_rest)):
                noise = np.random.default_rng([zlib.crc32(cell["data"].encode()), split, draw])
                row[method] = own.loss(fitted(own, cell["epsilon"], noise)) - base
            found.append(row)
    return found


def not_private(own: Classes, C: float) -> tuple[Floats, Floats]:
    """Probabilities of scikit-learn's multinomial fit, and of one fit for each class against the others."""
    train, test = own.design(own.train), own.design(own.test)
    mean, sd = train.mean(axis=0), train.std(axis=0)
    scale = np.where(sd > 1e-9 * (np.abs(mean) + sd), sd, np.inf)
    model = LogisticRegression(C=C, max_iter=5000, tol=1e-8)
    train, test, y = (train - mean) / scale, (test - mean) / scale, np.array(own.train["class"].to_pylist())
    joint: Floats = model.fit(train, y).predict_proba(test)
    joint = joint[:, [list(model.classes_).index(level) for level in own.levels]]
    each = [model.fit(train, y == level).predict_proba(test)[:, 1] for level in own.levels]
    return joint, _normalised(each)


def _normalised(each: Sequence[Floats]) -> Floats:
    found: Floats = np.column_stack(each)
    found /= found.sum(axis=1, keepdims=True)
    return found


def multinomial(own: Classes, epsilon: float, rng: np.random.Generator) -> Floats:
    """Probabilities of one multinomial release."""
    model = _private(own, "class", epsilon, rng)
    found: Floats = model.predict_proba(own.test.select(own.features))
    return found[:, [list(model.classes_).index(level) for level in own.levels]]


def one_vs_rest(own: Classes, epsilon: float, rng: np.random.Generator) -> Floats:
    """Probabilities of one model for each class against the others, at the same total cost, divided by their sum."""
    delta = own.options["delta"]
    each = gdp.epsilon(mu=gdp.mu(epsilon=epsilon, delta=delta) / math.sqrt(len(own.levels)), delta=delta)
    models = [_private(own, f"class[{level}]", each, rng) for level in own.levels]
    test = own.test.select(own.features)
    return _normalised([model.predict_proba(test)[:, 1] for model in models])


def _private(own: Classes, target: str, epsilon: float, rng: np.random.Generator) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        model = DPLogisticRegression(epsilon=epsilon, domain=own.domain, n_jobs=1, random_state=rng, **own.options)
        return model.fit_source(own.train, target, own.features)


def several_table(rows: study.Rows) -> list[dict[str, Any]]:
    """For each table and epsilon the mean excess of both, with the standard error of the mean."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["data"], row["epsilon"]].append(row)
    lines = []
    for (data, epsilon), group in groups.items():
        line: dict[str, Any] = {"data": data, "rows": group[0]["rows"], "epsilon": epsilon, "fits": len(group)}
        for method in (MULTINOMIAL, ONE_VS_REST):
            own = np.array([row[method] for row in group])
            line |= {method: float(own.mean()), f"{method}, se": float(own.std(ddof=1) / math.sqrt(len(own)))}
        line[NOT_PRIVATE] = float(np.mean([row[NOT_PRIVATE] for row in group]))
        difference = np.array([row[MULTINOMIAL] - row[ONE_VS_REST] for row in group])
        line["difference, se"] = float(difference.std(ddof=1) / math.sqrt(len(difference)))
        lines.append(line | {"ratio": line[MULTINOMIAL] / line[ONE_VS_REST]})
    return lines


def several_cells(given: argparse.Namespace, folder: Path) -> list[study.Cell]:
    """The grid: noise is drawn anew for each split of a made-up table or of Adult, which has its own test rows."""
    cells: list[study.Cell] = []
    for strength, epsilon in itertools.product((0.5, 1.0), given.epsilon or (0.3, 1.0, 3.0)):
        cells.append({"data": f"{MADE_UP}, sd {strength:g}", "strength": strength, "epsilon": epsilon})
        cells[-1] |= {"splits": given.splits * given.draws, "draws": 1}
    for name, epsilon in itertools.product((ADULT, *TERCILES), given.epsilon or (1.0, 3.0)):
        parts = {"splits": 1, "draws": given.splits * given.draws}
        if name != ADULT:
            parts = {"splits": given.splits, "draws": given.draws, "folder": str(folder)}
        cells.append({"data": name, "epsilon": epsilon} | parts)
    return cells


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
    parser.add_argument("--kind", choices=("classes", "several", "counts"), default="classes")
    parser.add_argument("--data", type=Path, help="folder with uci/ and adult/; DISCREET_DATA by default")
    parser.add_argument("--k", type=float, nargs="+", default=[1.0, 3.0])
    parser.add_argument("--epsilon", type=float, nargs="+")
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 5000, 20_000])
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--log", type=Path, default=Path("benchmarks/results/log"), help="finished cells, to resume")
    given = parser.parse_args(arguments)
    log, out = given.log / f"glm-{given.kind}.jsonl", Path(f"benchmarks/results/glm-{given.kind}.json")
    study_of = {"classes": _classes_study, "several": _several_study, "counts": _counts_study}[given.kind]
    title, table = study_of(given, log)
    report(title, list(dict.fromkeys(key for row in table for key in row)), table, out)


Study = tuple[str, list[dict[str, Any]]]
"""A title and a table."""


def _classes_study(given: argparse.Namespace, log: Path) -> Study:
    folder = _folder(given)
    names = [name for name in uci.available(folder) if uci.load(name, folder)[0].shape[1] <= MOST_COLUMNS]
    grid = itertools.product(names, given.k, given.epsilon or (0.1, 1.0), (ONE_STAGE, STAGES, KNOWN))
    cells = [
        {"data": data, "k": k, "epsilon": epsilon, "method": method, "folder": str(folder)}
        | {"splits": given.splits, "draws": given.draws}
        for data, k, epsilon, method in grid
    ]
    rows = study.run("classes", cells, classes, log, given.jobs)
    title = "Logistic regression: log loss above the fit without privacy, and its ratio to that of one stage"
    return title, classes_table(rows, {name: len(uci.load(name, folder)[1]) for name in names})


def _several_study(given: argparse.Namespace, log: Path) -> Study:
    folder = _folder(given)
    os.environ["DISCREET_DATA"] = str(folder)  # where `adult.table` looks
    title = "Several classes: log loss on test rows above the fit without privacy"
    return title, several_table(study.run("several", several_cells(given, folder), several, log, given.jobs))


def _counts_study(given: argparse.Namespace, log: Path) -> Study:
    cells = [
        {"kind": kind, "rows": n, "epsilon": epsilon, "draws": given.draws}
        for kind, n, epsilon in itertools.product(KINDS, given.rows, given.epsilon or (0.3, 1.0, 3.0))
    ]
    title = "Counts: test deviance over that of the training mean"
    return title, counts_table(study.run("counts", cells, counted, log, given.jobs))


def _folder(given: argparse.Namespace) -> Path:
    folder = uci.data_folder(given.data)
    if folder is None:
        raise SystemExit("--data, or DISCREET_DATA, must name the folder with uci/.")
    return folder
