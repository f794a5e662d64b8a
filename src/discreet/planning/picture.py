"""A picture of a plan: error of prediction against epsilon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.results.plots.style import BLUE, GREY, INK, ORANGE, canvas, note, short, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.planning.result import Plan

LOOKS = (
    (BLUE, "-", "o"), (ORANGE, "--", "s"), ("#009E73", "-.", "^"), ("#CC79A7", ":", "D"), ("#56B4E9", "--", "v"),
    ("#E69F00", "-.", "P"), (GREY, "-", "x"), (INK, ":", "*"), ("#8C510A", "-", "h"),
)  # fmt: skip
"""Told apart by colour, by line and by mark; the method to use comes first."""

LARGEST = 1.6
"""Errors above this share of the trivial one are drawn at the edge."""


def plan_plot(plan: Plan) -> Figure:
    """MSE over that of predicting nothing against epsilon, a curve a method, between useless and without privacy."""
    methods = [plan.best, *(name for name in plan.methods if name != plan.best)]
    with style():
        figure, axes = canvas(3.6)
        reference = plan.at(plan.reference)
        axes.axhline(1, color=INK, lw=1)
        axes.axhline(reference.non_private / reference.trivial, color=INK, lw=1, ls=(0, (4, 3)))
        for name, look in reversed(list(zip(methods, LOOKS * 3, strict=False))):
            _curve(axes, plan, name, look, best=name == plan.best)
        _axes(figure, axes, plan)
        note(
            figure,
            f"Simulated from public facts: about {plan.facts.rows:,} rows, {len(plan.names) - 1} coefficients, R² "
            f"{plan.facts.r_squared:g}, delta {plan.promise.delta:g}. The band holds four of five tables.",
        )
    return figure  # type: ignore[no-any-return]


def _curve(axes: Any, plan: Plan, name: str, look: tuple[str, str, str], *, best: bool) -> None:
    found = sorted((e for e in plan.expected if e.method == name), key=lambda e: e.epsilon)
    colour, line, mark = look
    x = [e.epsilon for e in found]
    if best:
        ends = [[min(e.mse_range[i] / e.trivial, LARGEST) for e in found] for i in (0, 1)]
        axes.fill_between(x, *ends, color=colour, alpha=0.15, lw=0)
    axes.plot(
        x, [min(e.vs_trivial, LARGEST) for e in found], color=colour, ls=line, marker=mark, ms=5,
        lw=2.2 if best else 1.4, label=name, clip_on=False, zorder=4 if best else 3,
    )  # fmt: skip


def _axes(figure: Any, axes: Any, plan: Plan) -> None:
    axes.set_xscale("log")
    axes.set_xticks(sorted(plan.epsilons), [f"{epsilon:g}" for epsilon in sorted(plan.epsilons)])
    axes.xaxis.set_minor_formatter("")
    axes.set_ylim(0, LARGEST)
    axes.set_yticks([0, 0.5, 1, 1.5], ["0", "0.5", "1", "1.5+"])
    axes.set_xlabel("epsilon (log scale)")
    what = "the mean" if plan.facts.domain.intercept else "0"
    axes.set_ylabel(f"MSE of {short(plan.facts.target, 16)},\nover that of predicting {what}")
    right = axes.get_yaxis_transform()
    reference = plan.at(plan.reference)
    level = reference.non_private / reference.trivial
    axes.annotate("useless", (1, 1), (0, 3), xycoords=right, textcoords="offset points", ha="right", fontsize=8)
    axes.annotate(
        "without privacy", (1, level), (0, -10 if level > 0.1 else 3), xycoords=right, textcoords="offset points",
        ha="right", fontsize=8,
    )  # fmt: skip
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside upper left", ncols=3, columnspacing=1.4)
