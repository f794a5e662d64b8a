"""The pictures of the comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from discreet.drawing import BLUE, GREY, ORANGE, canvas, note, rows, style
from experiments.contenders import DEFAULT, EQUAL, NON_PRIVATE

GREEN, PURPLE, SKY = "#009E73", "#CC79A7", "#56B4E9"
LINES: dict[str, tuple[str, str, str]] = {
    DEFAULT: (BLUE, "o", "-"),
    "NoisyGradientDescent": (GREEN, "s", "-"),
    "AdaSSP": (ORANGE, "^", "-"),
    "AdaSSP [000]": (ORANGE, "v", ":"),
    "AdaOPS": (PURPLE, "D", "--"),
    "ObjectivePerturbation": (SKY, "P", "-."),
    "Boosted AdaSSP, 10 rounds": (GREY, "X", "--"),
    "OpenDP SSP": (GREY, "*", ":"),
    NON_PRIVATE: ("#222222", "", "-"),
}
TOP = 3.0
OWN = (DEFAULT, "DPRidge", "DPLasso", "DPElasticNet", "ReuseCov")
"""Ours, all solved from much the same release."""


def by_epsilon(table: pd.DataFrame) -> Figure:
    """Geometric mean over the sets against epsilon, for the main methods."""
    with style():
        figure, axes = canvas(3.9)
        for name, (colour, marker, line) in LINES.items():
            part = table[table["method"] == name].sort_values("epsilon")
            main = name == DEFAULT
            axes.plot(
                part["epsilon"],
                part["mean"],
                line,
                color=colour,
                marker=marker,
                ms=6,
                lw=2.6 if main else 1.4,
                zorder=3 if main else 2,
                label=name,
            )
        axes.axhline(1, color=GREY, lw=0.8, zorder=1)
        axes.set(xscale="log", yscale="log", xlabel="true epsilon", ylabel="error / error of predicting 0")
        epsilons = sorted(table["epsilon"].unique())
        axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axes.set_xticks([], minor=True)
        ticks = [0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.5, 2, 3]
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_yticks([], minor=True)
        axes.set_ylim(0.3, TOP)
        axes.grid(axis="y", color="#EDEDED", lw=0.8)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=3)
        note(figure, f"Geometric mean over {int(table['sets'].max())} UCI sets. Lines leave the picture above {TOP:g}.")
    return figure


def best_others(ratios: pd.DataFrame) -> pd.DataFrame:
    """The default's error over the least of all methods that are not ours, for each epsilon and set, and whose."""
    others = ratios[ratios["method"].isin(EQUAL) & ~ratios["method"].isin(OWN)]
    best = others.loc[others.groupby(["epsilon", "data"])["ratio"].idxmin(), ["epsilon", "data", "method", "ratio"]]
    own = ratios[ratios["method"] == DEFAULT][["epsilon", "data", "ratio"]]
    both = own.merge(best, on=["epsilon", "data"], suffixes=("", "_other"))
    return both.assign(against=both["ratio"] / both["ratio_other"])


def by_data(ratios: pd.DataFrame) -> Figure:
    """The default's error over the best other's, set by set, at two epsilons."""
    both = best_others(ratios)
    shown = [epsilon for epsilon in (0.1, 1.0) if epsilon in set(both["epsilon"])]
    order = both[both["epsilon"] == shown[-1]].sort_values("against")
    names = order["data"].tolist()
    with style():
        figure, axes = canvas(1.1 + 0.19 * len(names))
        rows(axes, names)
        axes.tick_params(axis="y", labelsize=8)
        for epsilon, colour, marker in zip(shown, (ORANGE, BLUE), ("^", "o"), strict=False):
            part = both[both["epsilon"] == epsilon].set_index("data").loc[names]
            places = np.arange(len(names))
            axes.plot(part["against"], places, marker, color=colour, ms=5, label=f"epsilon {epsilon:g}", zorder=3)
        axes.axvline(1, color=GREY, lw=1)
        axes.set(xscale="log", xlabel="error of the default / error of the best other")
        ticks = [0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)
        right: Any = axes.secondary_yaxis("right")
        right.set_yticks(range(len(names)), order["method"].tolist())
        right.tick_params(labelsize=7, colors=GREY, length=0)
        axes.legend(loc="upper left")
        text = f"Left of 1 the default is better. On the right: the best other at epsilon {shown[-1]:g}, in hindsight."
        note(figure, text)
    return figure


def save(figure: Figure, path: Path) -> None:
    """As SVG and PNG."""
    with style():
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
        figure.savefig(path.with_suffix(".png"), dpi=150)
