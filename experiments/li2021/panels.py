"""Pictures and comparisons that li2021's figures share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.metrics import auc

from discreet.results.plots.style import BLUE, GREY, INK, ORANGE, PALE, WIDTH, note, style

GREEN = "#009E73"
COLOURS = {"NAPP-VS+": ORANGE, "NAPP-VS": GREEN, "NAPP-ERM": BLUE, "DP-ERM": BLUE, "lasso": INK}


def look(method: str) -> dict[str, Any]:
    """Colours by noise term; solid lines with MOOR, dashed ones without.

    b'theta has broad, pale lines below the others, VS+ broader ones than VS: where curves coincide, all are seen.
    """
    kind = method.split(",")[0]
    below = {"NAPP-ERM": {"lw": 3.6, "alpha": 0.4, "zorder": 1.5}, "NAPP-VS+": {"lw": 2.2, "zorder": 1.8}}
    broad = below["NAPP-ERM"] if kind == "DP-ERM" else below.get(kind, {"lw": 1.1})
    line = "-" if "MOOR" in method or "lasso" in method else "--"
    return {"color": COLOURS.get(kind, GREY), "ls": line, "label": method} | broad


def panels(rows: Sequence[Any], columns: Sequence[Any], places: Any, line: Any, words: tuple[str, str, str]) -> Figure:
    """Small multiples: `places(row, column)` picks the data of a panel, `line(axes, method, data)` draws a method.

    The panels of a row have one scale.
    """
    with style():
        figure = Figure(figsize=(WIDTH, 1.1 + 1.7 * len(rows)), layout="constrained")
        grid = figure.subplots(len(rows), len(columns), squeeze=False, sharey="row")
        for i, row in enumerate(rows):
            for j, column in enumerate(columns):
                axes, title, found = grid[i][j], *places(row, column)
                for method, data in found.groupby("method", sort=False):
                    line(axes, method, data)
                axes.set_title(title, fontsize=8.5)
                axes.tick_params(labelsize=8)
                axes.grid(color=PALE, lw=0.6)
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=8, columnspacing=1.2)
        figure.supxlabel(words[0], fontsize=9)
        figure.supylabel(words[1], fontsize=9)
        if words[2]:
            note(figure, f"{words[0]}. {words[2]}")
    return figure


def by_n_and_epsilon(table: pd.DataFrame, line: Any, words: tuple[str, str, str]) -> Figure:
    """Panels with a row for each n and a column for each epsilon."""

    def places(n: int, epsilon: float) -> tuple[str, pd.DataFrame]:
        return f"n = {n}, epsilon = {epsilon:g}", table[(table["n"] == n) & (table["epsilon"] == epsilon)]

    return panels(table["n"].unique(), table["epsilon"].unique(), places, line, words)


def means(frame: pd.DataFrame, by: Sequence[str], values: Sequence[str]) -> pd.DataFrame:
    """Means over chunks of repeats."""
    return frame.groupby(list(by), sort=False)[list(values)].mean().reset_index()


def area(data: pd.DataFrame) -> float:
    """The area under the curve of (false, true) by Lambda, joined to (0, 0) and (1, 1)."""
    order = np.lexsort((data["true"], data["false"]))
    return float(auc([0, *data["false"].to_numpy()[order], 1], [0, *data["true"].to_numpy()[order], 1]))


def areas(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Areas by cell and method."""
    found = means(frame, [*by, "method", "Lambda"], ["true", "false"])
    rows = [
        dict(zip([*by, "method"], key, strict=True)) | {"area": area(d)} for key, d in found.groupby([*by, "method"])
    ]
    return pd.DataFrame(rows)


def listed(values: pd.Series) -> str:
    """Names and numbers, in words."""
    return ", ".join(f"{name} {value:.3g}" for name, value in values.items())
