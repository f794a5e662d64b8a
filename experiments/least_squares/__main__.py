"""How close the default comes to least squares, and whether its two kinds of intervals hold: the study and its page.

``python -m experiments.least_squares --page docs/results/least_squares.md --data DIR``

* UCI sets with 900 rows or more and at most 60 columns, bounds 5 % beyond the range, 90/10 splits; tables that others
  published figures on, as these coded them; made-up people, samples drawn from a population of 100,000.
* *Error*: test mean squared error over that of least squares, both clipped to the declared range.
* *d*: mean squared difference of fitted values to those of least squares of the same rows, over sigma^2 p/n.
* *Standard errors* are those about the bounded fit, over HC1 of the same rows, where they are given.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from discreet import DiscreetWarning, DPLinearRegression
from discreet.core.placeholders import Unavailable
from experiments import study, uci
from experiments.least_squares import page
from experiments.least_squares.tables import (
    AIR_EPSILON,
    MADE_UP,
    PUBLISHED,
    Rows,
    bounded_truth,
    hc1,
    overlap,
    sample,
    truth,
    uci_names,
    uci_rows,
)
from experiments.record import report
from experiments.uci import Floats

LEVEL, PIECE = 0.95, 50
EPSILONS, MADE_UP_EPSILONS = (1.0, 3.0, 10.0, 100.0), (1.0, 3.0, 10.0)
PUBLISHED_EPSILONS = {"diamonds": (np.log(3), *EPSILONS), "air": (AIR_EPSILON,), "cps": (1.0, 10.0)}
CUBIC_EPSILONS = (1.0, 5.0)


def fitted(rows: Rows, epsilon: float, seed: list[int]) -> DPLinearRegression:
    """One simulated fit."""
    given = {"epsilon": epsilon, "delta": rows.delta, "domain": rows.domain, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        return DPLinearRegression(**given, random_state=np.random.default_rng(seed)).fit_source(rows.train, rows.target)


def inference(model: DPLinearRegression, estimand: str, size: int) -> tuple[Floats, Floats, Floats]:
    """Standard errors and intervals (low, high) of intercept and coefficients; NaN where they are withheld."""
    found = model.results_.about(estimand).joint
    ends = found if isinstance(found, Unavailable) else found.interval(LEVEL)
    if isinstance(found, Unavailable) or isinstance(ends, Unavailable):
        return np.full(size, np.nan), *np.full((2, size), np.nan)
    return np.asarray(found.std_err, dtype=float), ends[:, 0], ends[:, 1]


def work(cell: study.Cell) -> study.Rows:
    """The figures of some fits."""
    if cell["part"] == "made up":
        return [_sampled(cell, seed) for seed in range(cell["first"], cell["first"] + cell["draws"])]
    read = uci_rows if cell["part"] == "uci" else None
    rows = read(cell["data"], cell["folder"], cell["split"]) if read else _published(cell)
    return [_fit(cell, rows, draw) for draw in range(cell["draws"])]


def _published(cell: study.Cell) -> Rows:
    return PUBLISHED[cell["data"]](cell["folder"], cell["split"])


def _seed(cell: study.Cell, draw: int) -> list[int]:
    return [sum(cell["data"].encode()), round(1000 * cell["epsilon"]), cell["split"], draw]


def _fit(cell: study.Cell, rows: Rows, draw: int) -> dict[str, Any]:
    """A fit to a real table."""
    (Z, y), (Z_test, y_test) = rows.arrays(rows.train), rows.arrays(rows.test)
    b, se = hc1(Z, y)
    model = fitted(rows, cell["epsilon"], _seed(cell, draw))
    own, ends = np.concatenate([[model.intercept_], model.coef_]), rows.ends(rows.target)
    predicted = np.asarray(model.predict(rows.test[rows.train.columns[:-1]]))
    error, least = (float(np.mean((p - y_test) ** 2)) for p in (predicted, np.clip(Z_test @ b, *ends)))
    n, p = Z.shape
    sigma2 = float(np.sum((y - Z @ b) ** 2)) / (n - p)
    found: dict[str, Any] = {"error": error / least, "d": float(np.mean((Z @ (own - b)) ** 2)) * n / (sigma2 * p)}
    found |= {"r2": 1 - error / float(np.var(y_test)), "r2_least": 1 - least / float(np.var(y_test))}
    found |= {"relative": error / float(np.mean(y_test**2)), "relative_least": least / float(np.mean(y_test**2))}
    for kind in ("bounded", "declared"):
        errors, low, high = inference(model, kind, p)
        given = np.isfinite(errors)
        found[kind] = {
            "given": float(given[1:].mean()),
            "ratios": (errors / se)[1:][given[1:]].round(4).tolist(),
            "holds": ((low <= b) & (b <= high))[given].mean().item() if given.any() else None,
        }
    return found


def _sampled(cell: study.Cell, seed: int) -> dict[str, Any]:
    """A fit to a sample of made-up people: whether intervals hold the truth of the population."""
    kind, rows = cell["data"], sample(cell["data"], seed)
    Z, y = rows.arrays(rows.train)
    b, se = hc1(Z, y)
    model = fitted(rows, cell["epsilon"], _seed(cell, seed))
    robust = np.column_stack([b - 1.96 * se, b + 1.96 * se])
    truths = {"bounded": truth(kind), "declared": truth(kind)}
    if not model.release_.mean_alone:
        truths["bounded"] = bounded_truth(model.release_, kind)
    found = {}
    for about, true in truths.items():
        errors, low, high = inference(model, about, len(b))
        with np.errstate(invalid="ignore"):
            found[about] = {
                "holds": [None if np.isnan(a) else bool(a <= t <= z) for a, t, z in zip(low, true, high, strict=True)],
                "ratios": np.where(se > 0, errors / np.where(se > 0, se, 1.0), np.nan).round(4).tolist(),
                "overlap": overlap(robust, np.column_stack([low, high])).round(4).tolist(),
            }
    hc1_holds = (robust[:, 0] <= truth(kind)) & (truth(kind) <= robust[:, 1]) | (se == 0)
    found |= {"coef": np.asarray(model.coef_).round(6).tolist(), "hc1": hc1_holds.tolist()}
    return found | {"table": _of_table(model, y, y - Z @ b)}


def _of_table(model: DPLinearRegression, y: Floats, residuals: Floats) -> list[bool | None]:
    """Whether intervals hold the residual sd, R^2 and the mean of the outcome of the table."""
    results = model.results_
    ends = results.residual_sd_interval(), results.rsquared_interval(), results.mean_outcome_interval()
    true = float(residuals.std()), float(1 - residuals.var() / y.var()), float(y.mean())
    return [None if isinstance(e, Unavailable) else e[0] <= t <= e[1] for e, t in zip(ends, true, strict=True)]


def grid(given: Any, folder: Path | None) -> list[study.Cell]:
    """All cells; those of real tables need their folder."""
    made = [
        {"part": "made up", "data": kind, "epsilon": epsilon, "split": 0, "first": first, "draws": PIECE}
        for kind in MADE_UP
        for epsilon in (CUBIC_EPSILONS if kind == "cubic" else MADE_UP_EPSILONS)
        for first in range(0, given.samples, PIECE)
    ]
    if folder is None:
        return made
    real = [("uci", name, EPSILONS, split) for name in uci_names(folder) for split in range(given.splits)]
    real += [("published", name, epsilons, 0) for name, epsilons in PUBLISHED_EPSILONS.items()]
    return [
        {"part": part, "data": name, "epsilon": float(epsilon), "split": split, "draws": given.draws}
        | {"folder": str(folder)}
        for part, name, epsilons, split in real
        for epsilon in epsilons
    ] + made


def main() -> None:
    parser = study.parser("least_squares", "least_squares", __doc__)
    parser.add_argument("--data", help="folder with uci/ and published/; DISCREET_DATA by default")
    parser.add_argument("--splits", type=int, default=2, help="of a UCI set")
    parser.add_argument("--draws", type=int, default=5, help="fits of a split")
    parser.add_argument("--samples", type=int, default=300, help="of a made-up population")
    parser.add_argument("--page", type=Path, help="write the page too, for example docs/results/least_squares.md")
    given = parser.parse_args()
    cells = grid(given, uci.data_folder(given.data))
    groups: dict[tuple[str, str, float], study.Rows] = defaultdict(list)
    for row in study.run("least squares", cells, work, given.log, given.jobs):
        groups[row["part"], row["data"], row["epsilon"]].append(row)
    lines = [page.line(key, rows) for key, rows in groups.items()]
    report("The default beside least squares", page.COLUMNS, lines, given.out)
    if given.page:
        page.write(lines, given.page)


if __name__ == "__main__":
    main()
