"""wang2018, figure 4: lower bounds with and without privacy, and the price between them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from discreet.planning.theory import learning_rate, lower_bounds_plot, private_lower_bound
from experiments.reproduction import Finding, Reproduction, Size
from experiments.study import Cell, Rows

D = 100
PANELS: dict[str, tuple[float, float | None]] = {
    "small coefficients": (1.0, None),
    "large coefficients": (D**0.5, None),
    "large coefficients, well-conditioned data": (D**0.5, 0.1),
}
EPSILONS = (0.1, 1.0)
POINTS: dict[Size, int] = {"quick": 29, "normal": 281, "full": 281}


def cells(size: Size, folder: Path | None) -> list[Cell]:
    return [
        {"panel": panel, "reach": reach, "alpha": alpha, "epsilon": epsilon, "d": D, "points": POINTS[size]}
        for panel, (reach, alpha) in PANELS.items()
        for epsilon in EPSILONS
    ]


def work(cell: Cell, folder: Path | None) -> Rows:
    n = np.geomspace(10, 1e8, cell["points"])
    without = learning_rate(n, cell["d"], norm_theta=cell["reach"])
    private = private_lower_bound(n, cell["d"], cell["epsilon"], alpha=cell["alpha"], norm_theta=cell["reach"])
    return [
        {"n": float(k), "learning": float(w), "private": float(p)} for k, w, p in zip(n, without, private, strict=True)
    ]


def draw(rows: pd.DataFrame) -> Mapping[str, Figure]:
    names = dict(zip(PANELS, ("small", "large", "conditioned"), strict=True))
    return {
        names[panel]: lower_bounds_plot(D, epsilon=max(EPSILONS), alpha=alpha, reach=reach)
        for panel, (reach, alpha) in PANELS.items()
        if panel in set(rows["panel"])
    }


def judge(rows: pd.DataFrame) -> list[Finding]:
    strict = rows[rows["epsilon"] == max(EPSILONS)]
    paid = {panel: part[part["private"] > 1.0001 * part["learning"]] for panel, part in strict.groupby("panel")}
    small, large, conditioned = (paid[panel] for panel in PANELS)
    last, first, end = rows["n"].max(), conditioned["n"].min(), conditioned["n"].max()
    highest = (conditioned["private"] / conditioned["learning"]).max()
    return [
        Finding(
            "Small coefficients: a substantial price only where n < d.",
            f"at epsilon = 1 a price up to n = {small['n'].max() / D:.1f} d",
            bool(small["n"].max() <= 5 * D),
            "The bounds' constants move the edge from d to 4 d.",
        ),
        Finding(
            "Large coefficients: the price applies to all n > d.",
            f"a price from n = {large['n'].min() / D:.1f} d to {large['n'].max():.0g}, the largest n drawn",
            bool(large["n"].max() == last),
        ),
        Finding(
            "With strong convexity the price occurs for an interval of n only; then privacy is free.",
            f"from n = {first / D:.1f} d to {end / D:.0f} d, at most {highest:.1f}-fold",
            bool(conditioned["n"].max() < last / 10),
        ),
    ]


REPRODUCTION = Reproduction(
    name="wang2018-fig4",
    title="Lower bounds with and without privacy",
    says="With small coefficients privacy has a price only where n < d; with large ones it has one for all n, unless "
    "the data are well conditioned: then in an interval of n only.",
    cells=cells,
    work=work,
    draw=draw,
    judge=judge,
    note="An evaluation of (4) and of the smaller of (5) and (6), constants 1, logarithms left out as in the paper.",
)
