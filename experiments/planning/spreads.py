"""What columns make of their bounds, and plans of that: ``python -m experiments.planning.spreads --data DIR``.

The UCI sets with bounds as `benchmarks.declared` makes them: each column's range, widened k times and rounded outwards.
First, the spread of each column: its sd over half the width of its bounds. Then plans for the same tables, told n, d,
the bounds and R^2 (adjusted for the number of columns), and of the spreads

* nothing, where all are taken to be one number;
* the outcome's own mean and sd; the features' own; or both.

The truth is the test error of `DPLinearRegression` over that of the training mean, from the committed results of
`benchmarks.declared`. The default of plans was chosen on half A of the sets, every other one by name.
"""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from discreet import plan
from discreet.planning.facts import SPREAD
from experiments import study, uci
from experiments.declared import Declared, uci_table
from experiments.planning.uci_sets import CORRELATION, within
from experiments.record import report
from experiments.uci import Floats

TRUTHS = Path("benchmarks/results/declared-default.json")
WIDTHS, MOST_COLUMNS = (1.0, 3.0, 10.0), 60
SPREADS = (1 / 3, 1 / 6, 1 / 10, 1 / 20)
TOLD = ("outcome", "features", "both")
COLUMNS = ("told", "spread", "k", "A", "B", "bias", "within 1.5")
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


def spread(table: Declared, name: str) -> dict[str, float]:
    """A column's mean, its sd, and the sd over half the width of its bounds."""
    values, column = np.asarray(table.train[name], dtype=float), table.domain.columns[name]
    half = (column.high - column.low) / 2  # type: ignore[union-attr]
    return {"mean": float(values.mean()), "sd": float(values.std()), "spread": float(values.std() / half)}


@cache
def loaded(name: str, folder: str, k: float) -> tuple[Declared, float, dict[str, dict[str, float]]]:
    """A table, its adjusted R^2, and the spread of each column."""
    table = uci_table(*uci.load(name, Path(folder)), k, 0)
    return table, explained(table), {column: spread(table, column) for column in table.domain.columns}


def explained(table: Declared) -> float:
    """R^2 of the training rows, adjusted for the number of columns."""
    y, design = table.y, table.design
    n, d = len(y), np.linalg.matrix_rank(design)
    rest = y - design @ np.linalg.lstsq(design, y)[0]
    r2 = 1 - (rest @ rest / max(n - d, 1)) / (np.var(y) * n / (n - 1))
    return float(min(max(r2, 0.0), 0.999))


def work(cell: study.Cell) -> study.Rows:
    """What a plan expects at each epsilon, over predicting the mean."""
    table, r2, spreads = loaded(cell["data"], cell["folder"], cell["k"])
    known = {"outcome": ["y"], "features": table.features, "both": [*table.features, "y"]}.get(cell["told"], [])
    with threadpool_limits(1):
        found = plan(
            table.domain, "y", rows=len(table.train), epsilon=cell["epsilon"], delta=table.delta, r_squared=r2,
            about={name: _guess(table, name, spreads[name], cell["spread"], own=name in known) for name in spreads},
            methods=["DPLinearRegression"], tighter=False, draws=cell["draws"], correlation=CORRELATION,
        )  # fmt: skip
    return [{"at": one.epsilon, "planned": one.vs_trivial} for one in found.expected]


def _guess(table: Declared, name: str, own_: dict[str, float], spread: float, *, own: bool) -> dict[str, float]:
    column = table.domain.columns[name]
    low, high = column.low, column.high  # type: ignore[union-attr]
    if not own:
        return {"sd": spread * (high - low) / 2}
    mean = min(max(own_["mean"], low + 0.001 * (high - low)), high - 0.001 * (high - low))
    most = math.sqrt((mean - low) * (high - mean))
    return {"mean": mean, "sd": min(max(own_["sd"], 1e-4 * most), 0.99 * most)}


def truths() -> dict[tuple[str, float, float], float]:
    """Measured errors by set, k and epsilon."""
    rows = json.loads(TRUTHS.read_text(encoding="utf-8"))["rows"]
    return {(data, row["k"], row["epsilon"]): pair[0] for row in rows for data, pair in row["sets"].items()}


def judged(rows: study.Rows) -> list[dict[str, Any]]:
    """One line for what is told, at each k and over all: typical factors on both halves, and which way they lean."""
    measured, halves = truths(), {name: "AB"[i % 2] for i, name in enumerate(sorted({row["data"] for row in rows}))}
    found = []
    for told, spread in dict.fromkeys((row["told"], row["spread"]) for row in rows):
        for k in (*WIDTHS, "all"):
            some = [r for r in rows if (r["told"], r["spread"]) == (told, spread) and k in (r["k"], "all")]
            ratios = np.array([r["planned"] / measured[r["data"], r["k"], r["at"]] for r in some])
            line: dict[str, Any] = {"told": told, "spread": round(spread, 3), "k": k}
            for half in "AB":
                own = np.log(ratios[[halves[r["data"]] == half for r in some]])
                line[half] = float(np.exp(np.sqrt(np.mean(own**2))))
            line["bias"] = float(np.exp(np.mean(np.log(ratios))))
            found.append(line | {"within 1.5": f"{within(ratios)} of {len(ratios)}"})
    return found


def spreads(names: list[str], folder: str) -> list[dict[str, Any]]:
    """Quantiles of the spreads of columns over the sets, for each k; each set counts once."""
    found = []
    for k in WIDTHS:
        each = [loaded(name, folder, k)[2] for name in names]
        features = [np.median([c["spread"] for name, c in one.items() if name != "y"]) for one in each]
        for what, values in (("outcome", [one["y"]["spread"] for one in each]), ("feature", features)):
            quantiles: Floats = np.quantile(np.array(values), QUANTILES)
            figures = {f"{q:g}": float(f"{v:.3g}") for q, v in zip(QUANTILES, quantiles, strict=True)}
            found.append({"what": what, "k": k} | figures)
    return found


def main() -> None:
    parser = study.parser("planning.spreads", "plan_spreads", __doc__)
    parser.add_argument("--data", help="The folder with uci/; or DISCREET_DATA.")
    parser.add_argument("--draws", type=int, default=6)
    given = parser.parse_args()
    folder = uci.data_folder(given.data)
    if folder is None:
        raise SystemExit("--data, or DISCREET_DATA, must name the folder with uci/.")
    names = [name for name in uci.available(folder) if uci.load(name, folder)[0].shape[1] <= MOST_COLUMNS]
    epsilons = sorted({epsilon for _, _, epsilon in truths()})
    common = {"epsilon": epsilons, "draws": given.draws, "folder": str(folder)}
    chosen = [("nothing", value) for value in SPREADS] + [(told, SPREAD) for told in TOLD]
    cells = [
        {"data": name, "k": k, "told": told, "spread": value} | common
        for told, value in chosen for k in WIDTHS for name in names
    ]  # fmt: skip
    found = judged(study.run("spreads", cells, work, given.log, given.jobs))
    report("Plans with guessed and told spreads", COLUMNS, found, given.out, [*found, *spreads(names, str(folder))])


if __name__ == "__main__":
    main()
