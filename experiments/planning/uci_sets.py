"""Does a plan foretell the error? ``python -m experiments.planning.uci_sets --data DIR``.

Truth: the median test MSE of `DPLinearRegression` under wang2018's protocol on the UCI sets (rows of norm 1, |y| <= 1,
no intercept, delta = min(1e-6, 1/n^2)). That preparation reads the data, which is not private (E18): a study only.

Plan: `discreet.plan`, told the rows and columns, the bounds, E y^2 and R^2 (adjusted for the number of columns; without
an intercept it is a share of E y^2), and nothing of the features. For comparison also told the correlation of the
features, the set's own or others.

What was chosen by evidence was chosen on half A alone, every other set by name. Its correlation is the median
over that half of each set's root mean square correlation, rounded to a tenth. The spectrum is nearer to those of that
half than four others. Coefficients of standardised features that are alike in size had the smallest errors there,
against directions that are alike in what they explain, and against a law between the two. `experiments.planning.choice`
shows how other choices do on both halves.

Guesses to beat: the best constants, of MSE and of MSE / trivial, found in hindsight; and that privacy is free.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from discreet import Domain, plan
from discreet.results.plots.style import BLUE, GREY, ORANGE, PALE, canvas, logarithmic, style
from experiments import study, uci
from experiments.methods import fitter
from experiments.record import report
from experiments.uci import Floats

FACTOR = 1.5
CORRELATION = 0.3
"""Where the plan is told none: the median of half A; plans take less by default, for the sake of standard errors."""

CORRELATIONS: tuple[float | str | None, ...] = (None, "own")
COLUMNS = ("data", "half", "n", "d", "R2", "E y2", "correlation", "truth", "plan", "plan / truth", "free / truth")


@cache
def prepared(name: str, folder: str) -> tuple[Floats, Floats]:
    return uci.prepare(*uci.load(name, Path(folder)))


def told(name: str, folder: str) -> dict[str, Any]:
    """What the plan may be told of a set; the correlation is that of the raw features."""
    X, y = prepared(name, folder)
    n, d = X.shape
    theta = np.linalg.lstsq(X, y)[0]
    share = float(np.mean((y - X @ theta) ** 2) / np.mean(y**2))
    raw = uci.load(name, Path(folder))[0]
    C = np.corrcoef(raw[:, raw.std(axis=0) > 0].T)
    k = len(C)
    return {
        "n": n, "d": d, "R2": max(1 - share * n / (n - d), 0.0), "E y2": float(np.mean(y**2)),
        "correlation": float(np.sqrt((np.sum(C**2) - k) / (k * (k - 1)))),
    }  # fmt: skip


def truth(cell: study.Cell) -> study.Rows:
    """Median test MSE over splits and draws."""
    X, y = prepared(cell["data"], cell["folder"])
    errors = []
    for split, (train, test) in enumerate(uci.splits(len(y), cell["splits"])):
        fit = fitter("DPLinearRegression", X[train], y[train], cell["epsilon"], uci.delta(len(y)))
        rng = np.random.default_rng([7, split])
        errors += [float(np.mean((X[test] @ fit(rng) - y[test]) ** 2)) for _ in range(cell["draws"])]
    return [{"mse": float(np.median(errors))} | told(cell["data"], cell["folder"])]


def planned(cell: study.Cell) -> study.Rows:
    """The MSE that a plan expects."""
    facts = told(cell["data"], cell["folder"])
    names = [f"x{i}" for i in range(facts["d"])]
    domain = Domain.from_bounds(names, ["y"], data_norm=1.0, bounds_y=(-1, 1), intercept=False)
    guess = facts["correlation"] if cell["correlation"] == "own" else cell["correlation"] or CORRELATION
    found = plan(
        domain, "y", rows=facts["n"] - max(1, round(facts["n"] / 10)), epsilon=cell["epsilon"],
        delta=uci.delta(facts["n"]), r_squared=min(facts["R2"], 0.999), mean_square=facts["E y2"],
        correlation=guess, methods=["DPLinearRegression"], tighter=False, draws=cell["plan draws"],
    )  # fmt: skip
    expected = found.expected[0]
    return [{"mse": expected.mse, "trivial": expected.trivial, "non-private": expected.non_private}]


def work(cell: study.Cell) -> study.Rows:
    with threadpool_limits(1):
        return truth(cell) if "splits" in cell else planned(cell)


def within(ratios: Any) -> int:
    """How many ratios are within the factor."""
    return int(np.sum(np.abs(np.log(np.asarray(ratios, dtype=float))) <= np.log(FACTOR)))


def best_constant(values: Floats) -> tuple[float, int]:
    """The constant that is within the factor of the most values, and of how many."""
    candidates = np.concatenate([values * FACTOR, values / FACTOR]) * (1 - 1e-12)
    counts = [within(c / values) for c in candidates]
    return float(candidates[int(np.argmax(counts))]), max(counts)


def lines(rows: study.Rows, epsilon: float, correlation: float | str | None) -> list[dict[str, Any]]:
    """One line a set: the truth beside the plan."""
    true = {row["data"]: row for row in rows if "splits" in row and row["epsilon"] == epsilon}
    plans = {
        row["data"]: row
        for row in rows
        if "splits" not in row and row["epsilon"] == epsilon and row["correlation"] == correlation
    }
    found = []
    for name, row in true.items():
        facts = {key: row[key] for key in ("n", "d", "R2", "E y2")}
        free = (1 - row["R2"]) * row["E y2"]
        found.append(
            {"data": name, "half": "AB"[uci.NAMES.index(name) % 2], **facts, "correlation": row["correlation"]}
            | {"truth": row["mse"], "plan": plans[name]["mse"], "plan / truth": plans[name]["mse"] / row["mse"]}
            | {"free / truth": free / row["mse"]}
        )
    return found


def judge(found: list[dict[str, Any]]) -> dict[str, Any]:
    """How many sets are within the factor, by the plan and by the guesses to beat."""
    ratio = np.array([line["plan / truth"] for line in found])
    true = np.array([line["truth"] for line in found])
    share = true / np.array([line["E y2"] for line in found])
    log_error = {"plan": ratio, "constant MSE": true / np.exp(np.mean(np.log(true)))}
    log_error |= {"constant share": share / np.exp(np.mean(np.log(share)))}
    log_error |= {"free": np.array([line["free / truth"] for line in found])}
    return {
        "sets": len(found),
        "plan": within(ratio),
        **{f"plan, half {half}": [within([x["plan / truth"] for x in found if x["half"] == half]),
                                  sum(x["half"] == half for x in found)] for half in "AB"},
        "best constant MSE": best_constant(true)[1],
        "best constant MSE / trivial": best_constant(share)[1],
        "privacy is free": within(log_error["free"]),
        "rms log error": {name: float(np.sqrt(np.mean(np.log(values) ** 2))) for name, values in log_error.items()},
    }  # fmt: skip


def draw(found: list[dict[str, Any]], epsilon: float) -> Figure:
    """Plan against truth, and the factor."""
    with style():
        figure, axes = canvas(4.2)
        ends = np.array([0.5, 2.0]) * [min(x["truth"] for x in found), max(x["truth"] for x in found)]
        axes.fill_between(ends, ends / FACTOR, ends * FACTOR, color=PALE, lw=0, label=f"within a factor of {FACTOR:g}")
        axes.plot(ends, ends, color=GREY, lw=1)
        for half, colour, mark, words in (
            ("A", BLUE, "o", "half A, defaults chosen on it"),
            ("B", ORANGE, "s", "half B"),
        ):
            these = [line for line in found if line["half"] == half]
            axes.plot([x["truth"] for x in these], [x["plan"] for x in these], mark, color=colour, ms=6, label=words)
        for line in found:
            if not within([line["plan / truth"]]):
                axes.annotate(
                    line["data"], (line["truth"], line["plan"]), (-7, 3), textcoords="offset points", ha="right"
                )
        logarithmic(axes.xaxis, axes.yaxis)
        axes.set(xlim=ends, ylim=ends)
        axes.set_xlabel(f"median test MSE of DPLinearRegression at epsilon {epsilon:g}")
        axes.set_ylabel("MSE by the plan")
        axes.legend(loc="upper left")
    return figure


def grid(folder: Path, names: list[str], epsilons: list[float], draws: int) -> list[study.Cell]:
    common = {"folder": str(folder)}
    cells = [
        common | {"data": name, "epsilon": epsilon, "splits": 10, "draws": draws}
        for epsilon in epsilons
        for name in names
    ]
    cells += [
        common | {"data": name, "epsilon": epsilon, "correlation": value, "plan draws": 2 * draws}
        for value in CORRELATIONS
        for epsilon in epsilons
        for name in names
    ]
    return cells


def main() -> None:
    parser = study.parser("planning.uci_sets", "plan_uci", __doc__)
    parser.add_argument("--data", type=Path, help="folder with uci/; DISCREET_DATA by default")
    parser.add_argument("--sets", nargs="+", default=list(uci.NAMES))
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 0.1])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--picture", type=Path, help="draw it too, for example docs/results/plan_uci.png")
    given = parser.parse_args()
    folder = uci.data_folder(given.data)
    if folder is None:
        parser.error("name the data folder with --data or DISCREET_DATA")
    rows = study.run("plans", grid(folder, given.sets, given.epsilon, given.draws), work, given.log, given.jobs)
    detail = []
    for epsilon in given.epsilon:
        for value in CORRELATIONS:
            found = lines(rows, epsilon, value)
            detail.append({"epsilon": epsilon, "correlation": value, **judge(found), "lines": found})
            print(f"epsilon {epsilon:g}, correlation {value}: {judge(found)}")
    if given.picture:
        with style():
            draw(lines(rows, given.epsilon[0], None), given.epsilon[0]).savefig(given.picture, dpi=130)
    report("Plan beside truth", COLUMNS, lines(rows, given.epsilon[0], None), given.out, detail=detail)


if __name__ == "__main__":
    main()
