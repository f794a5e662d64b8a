"""Plans that are told the margins of a table, beside what its fits do: ``python -m experiments.planning.margins``.

Made-up tables whose columns have other laws than those that plans make up: normal, skewed (log-normal columns and
errors), a level with 1 % of the rows, and a pair of columns with correlation 0.95. The truth is what
`DPLinearRegression` does with fresh tables: the median of the standard errors that it reports, and the median of its
error of prediction over that of least squares, less 1 (the excess), on rows that nobody fitted.

Plan: `discreet.plan`, told the rows, the bounds, R^2, means and sds or shares; of correlations nothing (0.2 is taken)
or all of them.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from discreet import Domain, DPLinearRegression, plan
from discreet.core.arrays import Floats
from discreet.core.placeholders import Unavailable
from discreet.errors import DiscreetWarning
from experiments import study
from experiments.record import report

KINDS = ("normal", "skewed", "rare", "collinear")
DELTA = 1e-6
_RARE, _PAIR = 0.01, 0.95
_TEST, _SMALL = 20_000, 3_000
_FLOOR = 0.01
"""Excesses are compared but for a hundredth of the error of least squares, which nobody would notice."""

SUMMARY = ("kind", "told", "se: least", "se: most", "within 1.5", "excess: typical factor", "excess within 1.5")


class MadeUp(NamedTuple):
    """A table of one kind: its rows, its design with a column of ones, its outcome."""

    table: pa.Table
    design: Floats
    y: Floats


def domain(kind: str, d: int) -> Domain:
    """Bounds that a careful person could declare: the columns fill a sixth of them or less."""
    columns: dict[str, Any] = {f"x{i}": (-10, 10) for i in range(d)}
    if kind == "skewed":
        columns = {f"x{i}": (0, 30) for i in range(d)}
    if kind == "rare":
        columns["x0"] = ["most", "few"]
    return Domain(columns | {"y": (-20, 80)})


def rows(kind: str, d: int, n: int, rng: np.random.Generator) -> MadeUp:
    """So many rows; coefficients of standardised columns alternate in sign, and R^2 is a half."""
    Z = rng.standard_normal((n, d))
    if kind == "collinear":
        Z[:, 1] = _PAIR * Z[:, 0] + np.sqrt(1 - _PAIR**2) * Z[:, 1]
    X = np.exp(0.8 * Z).clip(0, 30) if kind == "skewed" else 1 + 1.5 * Z.clip(-5, 5)
    if kind == "rare":
        X[:, 0] = rng.random(n) < _RARE
    sd = np.exp(0.32) * np.sqrt(np.exp(0.64) - 1) if kind == "skewed" else 1.5
    scaled = X / np.where(np.arange(d) == 0, 0.5 if kind == "rare" else sd, sd)
    signs = np.where(np.arange(d) // 2 % 2, -1.0, 1.0)
    line = scaled @ signs / np.sqrt(d + (2 * _PAIR if kind == "collinear" else 0))
    e = rng.gamma(1.0, size=n) - 1 if kind == "skewed" else rng.standard_normal(n)
    y = np.clip(20 + 4 * line + 4 * e, -20, 80)
    names = {f"x{i}": X[:, i] for i in range(d)}
    if kind == "rare":
        names["x0"] = np.where(X[:, 0] > 0, "few", "most")
    return MadeUp(pa.table(names | {"y": y}), np.column_stack([np.ones(n), X]), y)


def margins(kind: str, d: int, told: str = "margins") -> dict[str, Any]:
    """What the plan is told, from many rows."""
    many = rows(kind, d, 200_000, np.random.default_rng(5))
    X, y = many.design[:, 1:], many.y
    about: dict[str, Any] = {f"x{i}": {"mean": float(x.mean()), "sd": float(x.std())} for i, x in enumerate(X.T)}
    if kind == "rare":
        about["x0"] = {"shares": [1 - _RARE, _RARE]}
    about["y"] = {"mean": float(y.mean()), "sd": float(y.std())}
    off = y - many.design @ np.linalg.lstsq(many.design, y)[0]
    guesses = {"r_squared": float(1 - np.var(off) / np.var(y)), "about": about}
    return guesses | ({"correlation": np.corrcoef(X.T).tolist()} if told == "correlations" else {})


def planned(kind: str, d: int, n: int, epsilon: Any, told: str = "margins", **more: Any) -> Any:
    """The plan of such tables."""
    given: dict[str, Any] = {"delta": DELTA, "methods": ["DPLinearRegression"], "tighter": False} | more
    return plan(domain(kind, d), "y", rows=n, epsilon=epsilon, **given, **margins(kind, d, told))


class Measured(NamedTuple):
    """Medians over fits: standard errors of the intercept and the coefficients, NaN if most are withheld; excess."""

    std_err: Floats
    excess: float


def measured(kind: str, d: int, n: int, epsilon: float, fits: int) -> Measured:
    """Fit fresh tables."""
    errors, excess, fresh = [], [], rows(kind, d, _TEST, np.random.default_rng(6))
    for i in range(fits):
        rng = np.random.default_rng([KINDS.index(kind), d, n, i])
        own = rows(kind, d, n, rng)
        model: Any = DPLinearRegression(
            epsilon=epsilon, delta=DELTA, domain=domain(kind, d), rows=n, random_state=rng, n_jobs=1
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscreetWarning)
            model.fit_source(own.table, "y")
        found = model.results_.inference
        errors.append(np.full(d + 1, np.inf) if isinstance(found, Unavailable) else found.std_err)
        params = np.concatenate([[model.intercept_], model.coef_])
        least = np.linalg.lstsq(own.design, own.y)[0]
        excess.append(_mse(fresh, params) / _mse(fresh, least) - 1)
    median = np.median(np.where(np.isnan(errors), np.inf, errors), axis=0)
    return Measured(np.where(np.isinf(median), np.nan, median), float(np.median(excess)))


def _mse(many: MadeUp, params: Floats) -> float:
    return float(np.mean((many.y - many.design @ params) ** 2))


def _plain(values: Floats) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def excess_ratio(planned: float, truth: float) -> float:
    """The planned excess over the measured one, each with a hundredth added."""
    return (max(planned, 0.0) + _FLOOR) / (max(truth, 0.0) + _FLOOR)


def judge(found: study.Rows) -> study.Rows:
    """By kind of table and what was told: coefficients within a factor of 1.5, and the excess of small tables."""
    judged = []
    for kind, told in sorted({(row["kind"], row["told"]) for row in found}, key=str):
        own = [row for row in found if (row["kind"], row["told"]) == (kind, told)]
        pairs = np.array([pair for row in own for pair in zip(row["se planned"][1:], row["se"][1:], strict=True)])
        pairs = pairs.astype(float)
        ratios = (pairs[:, 0] / pairs[:, 1])[np.all(np.isfinite(pairs), axis=1)]
        excess = [excess_ratio(row["excess planned"], row["excess"]) for row in own if row["n"] <= _SMALL]
        line = {"kind": kind, "told": told, "se: least": float(ratios.min()), "se: most": float(ratios.max())}
        line |= {"within 1.5": f"{_within(ratios)} of {len(ratios)}"}
        line |= {"excess: typical factor": float(np.exp(np.sqrt(np.mean(np.log(excess) ** 2))))}
        judged.append(line | {"excess within 1.5": f"{_within(np.array(excess))} of {len(excess)}"})
    return judged


def _within(ratios: Floats) -> int:
    return int(np.sum(np.abs(np.log(ratios)) <= np.log(1.5)))


def work(cell: study.Cell) -> study.Rows:
    """One cell: the plan, told the margins or correlations too, beside the truth."""
    kind, d, n, epsilon = (cell[key] for key in ("kind", "d", "n", "epsilon"))
    truth, found = measured(kind, d, n, epsilon, cell["fits"]), []
    for told in ("margins", "correlations"):
        one = planned(kind, d, n, epsilon, told).expected[0]
        std_err = np.full(d + 1, np.nan) if isinstance(one.std_err, Unavailable) else one.std_err
        row = {"told": told, "excess": truth.excess, "excess planned": one.excess}
        found.append(row | {"se": _plain(truth.std_err), "se planned": _plain(std_err)})
    return found


def main() -> None:
    parser = study.parser("planning.margins", "plan_margins", __doc__)
    parser.add_argument("--fits", type=int, default=40)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS))
    parser.add_argument("--features", type=int, nargs="+", default=[3, 10])
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 3_000, 10_000])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.3, 1.0, 3.0])
    given = parser.parse_args()
    cells = [
        {"kind": kind, "d": d, "n": n, "epsilon": epsilon, "fits": given.fits}
        for kind in given.kinds
        for d in given.features
        for n in given.rows
        for epsilon in given.epsilon
    ]
    found = study.run("margins", cells, work, given.log, given.jobs)
    report("Plans that are told margins, beside fits", SUMMARY, judge(found), given.out, found)


if __name__ == "__main__":
    main()
