"""The pictures of the comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from discreet.results.plots.style import BLUE, GREY, ORANGE, canvas, note, rows, style
from experiments.comparison.contenders import DEFAULT, EQUAL, NON_PRIVATE

GREEN, PURPLE, SKY = "#009E73", "#CC79A7", "#56B4E9"
LINES: dict[str, tuple[str, str, str]] = {
    DEFAULT: (BLUE, "o", "-"),
    "NoisyGradientDescent": (GREEN, "s", "-"),
    "AdaSSP": (ORANGE, "^", "-"),
    "AdaSSP [wang2018]": (ORANGE, "v", ":"),
    "AdaOPS": (PURPLE, "D", "--"),
    "ObjectivePerturbation": (SKY, "P", "-."),
    "Boosted AdaSSP, 10 rounds": (GREY, "X", "--"),
    "OpenDP SSP": (GREY, "*", ":"),
    NON_PRIVATE: ("#222222", "", "-"),
}
TOP = 3.0
SIDES = (0.45, 2.2)
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
        sets = f"Geometric mean over {int(table['sets'].max())} UCI sets. Lines leave the picture above {TOP:g}."
        note(figure, f"{sets} Non-private: plain least squares, which overfits small sets with many columns.")
    return figure


def best_others(ratios: pd.DataFrame) -> pd.DataFrame:
    """The default's error over others', for each epsilon and set.

    `against` is over the one method, of all that are not ours, with the lowest geometric mean at that epsilon;
    `hindsight` over the least error of any of them on that set, `method` being whose.
    """
    others = ratios[ratios["method"].isin(EQUAL) & ~ratios["method"].isin(OWN)]
    logs = others.assign(log=np.log(others["ratio"])).groupby(["epsilon", "method"])["log"].mean().reset_index()
    overall = logs.loc[logs.groupby("epsilon")["log"].idxmin(), ["epsilon", "method"]]
    fixed = others.merge(overall, on=["epsilon", "method"])[["epsilon", "data", "method", "ratio"]]
    best = others.loc[others.groupby(["epsilon", "data"])["ratio"].idxmin(), ["epsilon", "data", "method", "ratio"]]
    own = ratios[ratios["method"] == DEFAULT][["epsilon", "data", "ratio"]]
    both = own.merge(best, on=["epsilon", "data"], suffixes=("", "_best"))
    both = both.merge(fixed, on=["epsilon", "data"], suffixes=("", "_fixed"))
    return both.assign(against=both["ratio"] / both["ratio_fixed"], hindsight=both["ratio"] / both["ratio_best"])


def by_data(ratios: pd.DataFrame, epsilon: float = 1.0) -> Figure:
    """The default's error over the best other's, set by set."""
    both = best_others(ratios)
    part = both[both["epsilon"] == epsilon].sort_values("against")
    names, places = part["data"].tolist(), np.arange(len(part))
    with style():
        figure, axes = canvas(1.2 + 0.19 * len(names))
        rows(axes, names)
        axes.tick_params(axis="y", labelsize=8)
        for column, colour, marker, label in (
            ("hindsight", ORANGE, "^", "over the best other on that set, in hindsight (named on the right)"),
            ("against", BLUE, "o", f"over the best other on the whole, {part['method_fixed'].iloc[0]}"),
        ):
            axes.plot(np.clip(part[column], *SIDES), places, marker, color=colour, ms=6, label=label, zorder=3)
        axes.axvline(1, color=GREY, lw=1)
        axes.set(
            xscale="log", xlim=(SIDES[0] * 0.97, SIDES[1] * 1.03), xlabel="error of the default / error of the other"
        )
        ticks = [0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)
        right: Any = axes.secondary_yaxis("right")
        right.set_yticks(places, [name.replace("Perturbation", "Pert.") for name in part["method"]])
        right.tick_params(labelsize=7.5, length=0)
        right.spines["right"].set_visible(False)
        figure.legend(loc="outside upper left")
        note(figure, f"Epsilon {epsilon:g}. Left of 1 the default is better. Marks on the edge lie beyond it.")
    return figure
