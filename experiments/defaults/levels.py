"""What the first levels of categories are worth: ``python -m experiments.defaults.levels``, data in DISCREET_DATA.

`DPLinearRegression` releases products with every level of a category, the first too, and fits the equations to all of
them. Before, it released and used every level but the first, with the same noise. Both are fitted here to the same
moments, with bounds as declared:

* people: made-up tables of two numbers and three categories, of 2, 4 and 6 levels that are not equally frequent; an
  outcome that is linear in them with normal errors, R^2 about 1/2. Each simulation draws a new table. Errors are those
  of prediction and of coefficients beside the truth; intervals are those of the debiased coefficients. Here it is also
  measured what it would add to average the two released copies of a level's count.
* Adult: hours a week on 11 features, 7 of them categories; one table, many draws of the noise. Errors are those of
  prediction on the test rows above those of least squares without privacy.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from discreet import DiscreetWarning, Domain, DPLinearRegression, Moments
from discreet.data.tables import design_matrix
from discreet.released.equations import coordinates
from discreet.released.units import user_units
from discreet.results.inference import JointInference
from discreet.solve.equations import fitted
from discreet.solve.noise_aware import noise_aware
from experiments import study
from experiments.defaults import adult
from experiments.record import report
from experiments.uci import Floats

DELTA = 1e-6
COLUMNS = (
    "table",
    "n",
    "epsilon",
    "levels",
    "excess error",
    "ratio",
    "ratio of levels",
    "ratio of numbers",
    "ratio of averaged counts",
    "covered",
    "given",
)
SHARES = {"sex": [0.45, 0.55], "region": [0.4, 0.3, 0.2, 0.1], "school": [0.3, 0.25, 0.15, 0.15, 0.1, 0.05]}
PEOPLE = Domain(
    {"age": (18, 90), "hours": (0, 80)}
    | {name: [f"{name}{i}" for i in range(len(shares))] for name, shares in SHARES.items()}
    | {"y": (-6, 6)}
)
NAMES = [name for name in PEOPLE.columns if name != "y"]
HOURS = "hours_per_week"
OTHERS = [name for name in adult.FEATURES if name not in (HOURS, "native_country")]


class EveryLevelButTheFirst(DPLinearRegression):
    """As it was before."""

    levels: ClassVar[bool] = False


BOTH: dict[str, type[DPLinearRegression]] = {"all": DPLinearRegression, "but the first": EveryLevelButTheFirst}


@cache
def truth() -> Floats:
    """Intercept and coefficients: x'coef has variance 1, within 2 %."""
    slopes = [0.5 / 21, -0.4 / 16]
    levels = [0.6, -0.5, 0.3, 0.9, 0.4, -0.6, 0.2, 0.8, -0.9]
    return np.array([-slopes[0] * 54 - slopes[1] * 40, *slopes, *levels])


def people(n: int, rng: np.random.Generator) -> tuple[pa.Table, Floats]:
    """A table, and its rows as a design matrix with a column of ones."""
    columns: dict[str, Any] = {"age": rng.uniform(18, 90, n), "hours": np.clip(rng.normal(40, 16, n), 0, 80)}
    parts = [np.ones((n, 1)), np.column_stack(list(columns.values()))]
    for name, shares in SHARES.items():
        codes = rng.choice(len(shares), n, p=shares)
        columns[name] = np.array(PEOPLE.columns[name].levels)[codes]
        parts.append(np.eye(len(shares))[codes][:, 1:])
    X = np.concatenate(parts, axis=1)
    columns["y"] = X @ truth() + rng.standard_normal(n)
    return pa.table(columns), X


def fit(moments: Moments, how: str, epsilon: float, target: str, features: list[str], seed: list[int]) -> Any:
    model = BOTH[how](epsilon=epsilon, delta=DELTA, random_state=np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        return model.fit_moments(moments, target, features).results_


def simulated(cell: study.Cell) -> study.Rows:
    """Sums over simulations, for each way."""
    exact = np.random.default_rng(1)
    _, X = people(200_000, exact)
    A, rows = X.T @ X / len(X), []
    for how in BOTH:
        off, gaps, covered, given = [], [], np.zeros(len(A)), 0
        for i in range(cell["fits"]):
            table, _ = people(cell["n"], np.random.default_rng([cell["n"], i]))
            found = fit(Moments.from_source(table, PEOPLE, n_jobs=1), how, cell["epsilon"], "y", NAMES, [i])
            gap = np.concatenate([[found.intercept], found.coef]) - truth()
            off.append(gap @ A @ gap)
            gaps.append(gap)
            if isinstance(found.inference, JointInference):
                given += 1
                low, high = found.inference.interval(0.95).T
                covered += (low <= truth()) & (truth() <= high)
        squares = np.mean(np.square(gaps), axis=0)
        rows.append(
            {"levels": how, "excess error": float(np.mean(off)), "of numbers": squares[1:3].tolist()}
            | {"of levels": squares[3:].tolist(), "covered": covered.tolist(), "given": given}
        )
    return rows


@cache
def census() -> tuple[Moments, Floats, Floats, float]:
    """Moments of the training rows, the test rows, and what least squares without privacy gets wrong on them."""
    domain = adult.DOMAIN.select([*OTHERS, HOURS])
    sets = [design_matrix(adult.table(part).select(OTHERS), domain.select(OTHERS)) for part in ("train", "test")]
    train, test = (np.column_stack([np.ones(len(X)), X]) for X in sets)
    y, hours = (adult.table(part)[HOURS].to_numpy().astype(float) for part in ("train", "test"))
    best = np.linalg.lstsq(train, y)[0]
    moments = Moments.from_source(adult.table("train").select([*OTHERS, HOURS]), domain, n_jobs=1)
    return moments, test, hours, float(np.mean((hours - test @ best) ** 2))


def on_adult(cell: study.Cell) -> study.Rows:
    """Means over draws of the noise, for each way."""
    moments, test, hours, least = census()
    rows = []
    for how in BOTH:
        errors, given = [], 0
        for i in range(cell["fits"]):
            found = fit(moments, how, cell["epsilon"], HOURS, OTHERS, [i])
            predicted = found.intercept + test[:, 1:] @ found.coef
            errors.append(float(np.mean((hours - predicted) ** 2)) / least - 1)
            given += isinstance(found.inference, JointInference)
        rows.append({"levels": how, "excess error": float(np.mean(errors)), "given": given})
    return rows


def averaged(cell: study.Cell) -> study.Rows:
    """What it would add to average the two copies of a level's count, with the constant and with itself.

    Their variances are as 1 to 2. Both solves have the same release.
    """
    _, X = people(200_000, np.random.default_rng(1))
    A, errors = X.T @ X / len(X), []
    for i in range(cell["fits"]):
        table, _ = people(cell["n"], np.random.default_rng([cell["n"], i]))
        model = DPLinearRegression(epsilon=cell["epsilon"], delta=DELTA, random_state=np.random.default_rng([i]))
        released = model.fit_moments(Moments.from_source(table, PEOPLE, n_jobs=1), "y", NAMES).release_
        e = released.equations("y", NAMES)
        gram = released.find("gram", e.names)
        z, L = coordinates(released.domain, NAMES, e.names, [gram])
        Z = np.where(PEOPLE.exclusive(PEOPLE.indices(z)), 0.0, gram.pick(z, z))
        for j in [j for j, name in enumerate(z) if "[" in name]:
            Z[0, j] = Z[j, 0] = Z[j, j] = (2 * Z[0, j] + Z[j, j]) / 3
        units = user_units(released, e)
        off = []
        for S in (e.S, fitted(L, fitted(L, Z).T)):
            coef, intercept = units.params(noise_aware(replace(e, S=(S + S.T) / 2))[:, 0])
            gap = np.array([intercept, *coef]) - truth()
            off.append(float(gap @ A @ gap))
        errors.append(off)
    once, twice = np.mean(errors, axis=0)
    return [{"levels": "all, counts averaged", "excess error": float(twice), "ratio": float(twice / once)}]


def work(cell: study.Cell) -> study.Rows:
    if cell["table"] == "Adult":
        return on_adult(cell)
    return averaged(cell) if cell.get("averaged") else simulated(cell)


def lines(rows: study.Rows) -> list[dict[str, Any]]:
    """Beside each cell's figures, the ratios of errors, all levels over all but the first."""
    cells: dict[Any, dict[str, dict[str, Any]]] = {(row["table"], row["n"], row["epsilon"]): {} for row in rows}
    for row in rows:
        cells[row["table"], row["n"], row["epsilon"]][row["levels"]] = row
    found = []
    for both in cells.values():
        after, before, more = both["all"], both["but the first"], both.get("all, counts averaged")
        for row in (before, after):
            kept = {key: row[key] for key in ("table", "n", "epsilon", "fits", "levels", "excess error", "given")}
            if "covered" in row and row["given"]:
                share = np.array(row["covered"]) / row["given"]
                kept["covered"] = [float(share.min()), float(share.mean()), float(share.max())]
            found.append(kept)
        found[-1]["ratio"] = after["excess error"] / before["excess error"]
        for part in ("levels", "numbers"):
            if f"of {part}" in after:
                ratio = np.log(np.array(after[f"of {part}"]) / np.array(before[f"of {part}"]))
                found[-1][f"ratio of {part}"] = float(np.exp(ratio.mean()))
        if more is not None:
            found[-1]["ratio of averaged counts"] = more["ratio"]
    return found


def main() -> None:
    parser = study.parser("defaults.levels", "levels", __doc__)
    parser.add_argument("--fits", type=int, default=400)
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000, 5_000, 20_000])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.3, 1.0, 3.0])
    given = parser.parse_args()
    cells: list[study.Cell] = [
        {"table": "people", "n": n, "epsilon": epsilon, "fits": given.fits}
        for n in given.rows
        for epsilon in given.epsilon
    ]
    cells += [cell | {"averaged": True, "fits": given.fits // 4} for cell in cells]
    cells += [{"table": "Adult", "n": 30_162, "epsilon": epsilon, "fits": given.fits // 4} for epsilon in given.epsilon]
    found = lines(study.run("levels", cells, work, given.log, given.jobs))
    report("First levels of categories", COLUMNS, found, given.out)


if __name__ == "__main__":
    main()
