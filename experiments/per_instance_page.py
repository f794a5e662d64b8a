"""The page and the pictures of `experiments.per_instance_001`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

Lines = list[dict[str, Any]]

PAGE = """# Paper 001's figures 1 and 2: the loss of each person beside DP

Written by `python -m experiments.per_instance_001`; figures in `experiments/results/per_instance_001.json`. The tables
are made up, so that their losses may be shown. Rows have norm 1, outcomes lie in [-1, 1], d = 10, delta = 1e-6; means
over the seeds. The paper prints neither n nor d. All losses are exact, by the curves of [mathematics](mathematics.md),
sections 3, 8 and 10; the paper's own formulas are too small in places ([errata](errata.md)).

## Figure 1: noise of sd 4 on ridge coefficients, lambda = 1, n = 50

![epsilon of each row, pDP for all, and DP](per_instance_001_fig1.png)

The paper: "more than an order of magnitude stronger privacy protection for all users in the data set, and six times
better for all users in the entire universe". Here, worst-case epsilon over the median of the table: **{ratio:,.0f}**;
over the largest of the table: **{ratio_max:,.0f}**; over the worst target anybody could be (pDP for all):
**{ratio_all:.1f}**. So n = 50 and d = 10 give the paper's two statements; with more rows the ratios are far larger
(below).

## Figure 2, left: the same for other sizes

![epsilon by number of rows](per_instance_001_fig2_left.png)

| n | median of the rows | largest of the rows | pDP for all (bound) | DP attained (proven) | DP/median | DP/largest | DP/pDP for all |
|---|---|---|---|---|---|---|---|
{left}

DP is the worst case over all tables of at most n rows and grows with n, because a table can be made whose coefficients
are of size sqrt(n)/2; the losses of the people in an ordinary table fall as 1/n.

## Figure 2, right: one posterior sample, n = 1000

![epsilon against excess risk](per_instance_001_fig2_right.png)

| gamma | excess risk d/(2 gamma) | median of the rows | largest of the rows | pDP for all | DP, exponential mechanism | DP/median |
|---|---|---|---|---|---|---|
{right}

The DP column has delta = 0 and needs the sample restricted to a ball; its radius is taken from the data here, in
favour of DP.
"""  # noqa: E501


def write(docs: Path, first: Lines, second: Lines, losses: list[float]) -> None:
    """The page with its three pictures."""
    at = next(line for line in first if line["n"] == 50)
    _histogram(docs / "per_instance_001_fig1.png", at, np.array(losses))
    _by(docs / "per_instance_001_fig2_left.png", first, "n", "rows")
    _by(docs / "per_instance_001_fig2_right.png", second, "excess_risk", "excess risk of the sample")
    left = "\n".join(
        f"| {a['n']:,} | {a['median']:.3g} | {a['max']:.3g} | {a['for_all']:.3g} ({a['for_all_bound']:.3g}) | "
        f"{a['dp']:.3g} ({a['dp_proven']:.3g}) | {a['dp_over_median']:,.0f} | {a['dp_over_max']:,.0f} | "
        f"{a['dp_over_for_all']:,.1f} |"
        for a in first
    )
    right = "\n".join(
        f"| {a['gamma']:.3g} | {a['excess_risk']:.3g} | {a['median']:.3g} | {a['max']:.3g} | {a['for_all']:.3g} | "
        f"{a['dp']:.3g} | {a['dp_over_median']:,.0f} |"
        for a in second
    )
    ratios = {name: at[f"dp_over_{key}"] for name, key in (("ratio", "median"), ("ratio_max", "max"))}
    text = PAGE.format(left=left, right=right, ratio_all=at["dp_over_for_all"], **ratios)
    (docs / "per_instance_001.md").write_text(text, encoding="utf-8")


def _histogram(path: Path, at: dict[str, Any], losses: np.ndarray[Any, Any]) -> None:
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.hist(losses, bins=np.geomspace(losses[losses > 0].min(), losses.max(), 30).tolist(), color="#4477aa")
    axes.axvline(at["for_all"], color="#228833", linestyle="-.", label="pDP for all")
    axes.axvline(at["dp"], color="#cc3311", label="DP (attained)")
    axes.set(xscale="log", xlabel="epsilon of each row", ylabel="rows, all seeds")
    axes.legend()
    figure.savefig(path, dpi=110, metadata={"Software": None})


def _by(path: Path, lines: Lines, key: str, label: str) -> None:
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    x = [line[key] for line in lines]
    for low, high, alpha in (("low", "high", 0.25), ("quarter", "three_quarters", 0.4)):
        axes.fill_between(x, [a[low] for a in lines], [a[high] for a in lines], alpha=alpha, color="#4477aa", lw=0)
    axes.plot(x, [a["median"] for a in lines], color="#4477aa", label="rows of the table: median, 50 %, 90 %")
    axes.plot(x, [a["max"] for a in lines], color="#4477aa", linestyle=":", label="rows of the table: largest")
    axes.plot(x, [a["for_all"] for a in lines], color="#228833", linestyle="-.", label="pDP for all")
    axes.plot(x, [a["dp"] for a in lines], color="#cc3311", label="DP")
    axes.set(xscale="log", yscale="log", xlabel=label, ylabel="epsilon")
    axes.legend()
    figure.savefig(path, dpi=110, metadata={"Software": None})
