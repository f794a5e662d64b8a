"""Paper 000's figure 5: four ways to calibrate a posterior sample."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from discreet import OPS
from discreet.results.plots.style import BLUE, INK, ORANGE
from experiments.reproduction import Finding, Reproduction, Size
from experiments.study import Cell, Rows
from experiments.wang2018.fig2 import EPSILONS, SETS, errors, panels
from experiments.wang2018.protocol import splits

KINDS = ("concentrated", "diffuse", "balanced", "conservative")
STYLES = {
    "trivial": (INK, ":"),
    "non-private": ("#009E73", ":"),
    "concentrated": ("#CC79A7", "o-"),
    "diffuse": ("#E69F00", "o-"),
    "balanced": (BLUE, "o-"),
    "conservative": (ORANGE, "o-"),
}


def cells(size: Size, folder: Path | None) -> list[Cell]:
    if size == "quick":
        return [{"data": "autompg", "epsilon": e, "splits": 2, "draws": 1} for e in (0.1, 1.0)]
    return [{"data": name, "epsilon": e, "splits": 10, "draws": 3} for name in SETS for e in EPSILONS[:-2]]


def work(cell: Cell, folder: Path | None) -> Rows:
    assert folder is not None
    fits = {kind: (OPS, {"published": "wang2018", "calibration": kind}, cell["epsilon"]) for kind in KINDS}
    return errors(splits(cell["data"], folder, cell["splits"]), fits, cell["draws"])


def judge(rows: pd.DataFrame) -> list[Finding]:
    wide = rows.pivot_table(index=["data", "epsilon"], columns="method", values="mean")[list(KINDS)]
    best = wide.idxmin(axis=1).value_counts()
    good, bad = wide[["concentrated", "balanced"]].min(axis=1), wide[["diffuse", "conservative"]].min(axis=1)
    ratio = wide.div(wide.min(axis=1), axis=0)
    return [
        Finding(
            "no single approach dominates the others",
            "best in " + ", ".join(f"{count} ({kind})" for kind, count in best.items()) + f" of {len(wide)} cases",
            len(best) > 1,
        ),
        Finding(
            "concentrated and balanced work significantly better than diffuse and conservative",
            f"the better of the first two wins in {(good < bad).sum()} of {len(wide)} cases; error over the best, "
            "geometric mean: " + ", ".join(f"{kind} {np.exp(np.log(ratio[kind]).mean()):.2f}" for kind in KINDS),
            bool((good < bad).mean() > 0.5),
        ),
    ]


def draw(rows: pd.DataFrame) -> dict[str, Figure]:
    return {"errors": panels(rows, STYLES, whole=True)}


REPRODUCTION = Reproduction(
    name="000-fig5",
    title="Four ways to calibrate a posterior sample (OPS)",
    says="No single approach dominates the others. In general the concentrated and the balanced approach work "
    "significantly better than the diffuse and the conservative ones.",
    cells=cells,
    work=work,
    draw=draw,
    judge=judge,
    needs_data=True,
    note="The paper does not name its sets; here those of figure 2. Printed constants (E1). Ten splits, three draws.",
)
