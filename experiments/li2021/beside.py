"""NAPP-ERM as published beside methods with verified guarantees, on li2021's simulation, at the same promise.

``python -m experiments.li2021.beside`` writes experiments/results/napp_beside.json, and the table and figure 1 of
docs/research/napp.md.

Published methods get the Lambda that is best in hindsight on the test rows, which no user knows, and the zeta_2 of
`simulation`, which is in their favour. The others get no such help: penalties come from their own public rules, and
bounds are those of table 4. Selected: the share of the 8 variables that matter, and of the 8 that do not, whose
coefficient is not 0; for `DPLinearRegression` by `select`, at a probability of one half.
"""

from __future__ import annotations

import re
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from discreet import NAPP, DiscreetWarning, DPLasso, DPLinearRegression, DPLogisticRegression, DPPoissonRegression
from experiments import study
from experiments.li2021 import fig1, simulation
from experiments.record import report
from experiments.uci import Floats

EPSILON, DELTA = 1.0, 1e-4
PAGE, PICTURE = Path("docs/research/napp.md"), Path("docs/research/napp_fig1.png")
SOUND: dict[str, dict[str, Any]] = {
    "linear": {"NAPP, fixed lasso": NAPP, "DPLasso": DPLasso, "DPLinearRegression": DPLinearRegression},
    "poisson": {"NAPP, fixed lasso": NAPP, "DPPoissonRegression": DPPoissonRegression},
    "logistic": {"NAPP, fixed lasso": NAPP, "DPLogisticRegression": DPLogisticRegression},
}
FACTS: dict[str, dict[str, Any]] = {
    "linear": {"bounds_X": (-0.25, 0.25), "bounds_y": (-1.7, 1.7)},
    "poisson": {"bounds_X": (-0.25, 0.25), "bounds_y": (0, 20)},
    "logistic": {"bounds_X": (-0.5, 0.5), "classes": [0, 1]},
}
PUBLISHED = ("NAPP-VS+, MOOR", "NAPP-VS, MOOR", "NAPP-ERM, MOOR", "DP-ERM")


def sound(name: str, method: str, X: Floats, y: Floats, seed: int) -> tuple[Floats, Floats]:
    """Coefficients of a verified method, and those of them that count as selected."""
    given = {
        "epsilon": EPSILON,
        "delta": DELTA,
        "fit_intercept": False,
        "rows": len(y),
        "n_jobs": 1,
        "random_state": seed,
    }
    own = {"loss": name} if method.startswith("NAPP") else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        fitted = SOUND[name][method](**given, **FACTS[name], **own).fit(X, y)
        theta = np.ravel(fitted.coef_)
        if method == "DPLinearRegression":
            return theta, theta * (fitted.release_.select("y").probability >= 0.5)
    return theta, theta


def work(cell: study.Cell) -> study.Rows:
    """One row a fit: the test error, and shares of variables selected."""
    name, setting = cell["loss"], simulation.SETTINGS[cell["loss"]]
    relevant, rows = setting.theta != 0, []

    def note(method: str, Lambda: float | None, theta: Floats, chosen: Floats) -> None:
        error = setting.error(theta, *simulation.test_rows(name))
        shares = {"true": float(np.mean(chosen[relevant] != 0)), "false": float(np.mean(chosen[~relevant] != 0))}
        rows.append({"method": method, "Lambda": Lambda, "error": error} | shares)

    for repeat in range(cell["repeats"]):
        rng = np.random.default_rng([cell["chunk"], repeat, cell["n"]])
        X, y = setting.sample(cell["n"], rng)
        data, b = setting.data(X, y), simulation.unit_noise({"delta": DELTA}, rng)
        promise = {"loss": name, "epsilon": EPSILON, "delta": DELTA, "noise": 1.0}
        promise["n_e"] = simulation.ROWS if name == "linear" else None
        for Lambda in simulation.LAMBDAS[name]:
            for method in PUBLISHED:
                theta = simulation.private(promise, data, b, Lambda, simulation.METHODS[method], rng)["theta"]
                note(method, Lambda, theta, theta)
            theta = simulation.lasso(promise, data, Lambda)
            note(simulation.NON_PRIVATE, Lambda, theta, theta)
        for method in SOUND[name]:
            note(method, None, *sound(name, method, X, y, int(rng.integers(2**31))))
    return rows


def line(key: tuple[str, int, str], rows: study.Rows) -> dict[str, Any]:
    """Means, at the Lambda that is best in hindsight where there is one."""
    by: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by[row["Lambda"]].append(row)
    best = min(by.values(), key=lambda some: float(np.mean([row["error"] for row in some])))
    published = key[2] in PUBLISHED
    guarantee = "claimed" if published else "none" if key[2] == simulation.NON_PRIVATE else "verified"
    shown = {name: round(float(np.mean([row[name] for row in best])), 3) for name in ("error", "true", "false")}
    spread = round(float(np.std([row["error"] for row in best]) / np.sqrt(len(best))), 3)
    facts = dict(zip(("loss", "n", "method"), key, strict=True)) | {"guarantee": guarantee, "repeats": len(best)}
    return facts | shown | {"standard_error": spread}


def page(lines: list[dict[str, Any]]) -> str:
    """The table of the page."""
    text = [
        "| loss | n | method | guarantee | test error | selected: of 8 that matter | of 8 that do not |",
        "|" + "---|" * 7,
    ]
    for row in lines:
        error = f"{row['error']:.3f} ± {row['standard_error']:.3f}"
        shares = f"{100 * row['true']:.0f} % | {100 * row['false']:.0f} %"
        text.append(f"| {row['loss']} | {row['n']:,} | {row['method']} | {row['guarantee']} | {error} | {shares} |")
    return "\n".join(text)


def picture() -> None:
    """Figure 1, for the page."""
    figure = fig1.REPRODUCTION
    rows = [cell | row for cell in figure.cells("normal", None) for row in figure.work(cell, None)]
    figure.draw(pd.DataFrame(rows))["realised"].savefig(PICTURE, dpi=150)


def main() -> None:
    parser = study.parser("li2021.beside", "napp_beside", __doc__)
    parser.add_argument("--repeats", type=int, default=24)
    given = parser.parse_args()
    cells = [
        {"loss": loss, "n": n, "chunk": chunk, "repeats": given.repeats // 4}
        for loss in SOUND
        for n in (simulation.SETTINGS[loss].sizes[1], 10_000)
        for chunk in range(4)
    ]
    groups = defaultdict(list)
    for row in study.run("NAPP beside", cells, work, given.log, given.jobs):
        groups[row["loss"], row["n"], row["method"]].append(row)
    lines = [line(key, rows) for key, rows in groups.items()]
    report(
        "NAPP-ERM as published beside verified methods, epsilon = 1, delta = 1e-4", tuple(lines[0]), lines, given.out
    )
    picture()
    text = PAGE.read_text(encoding="utf-8")
    table = re.compile(r"(<!-- table -->\n).*?(<!-- end -->)", re.DOTALL)
    PAGE.write_text(table.sub(lambda m: f"{m[1]}{page(lines)}\n{m[2]}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
