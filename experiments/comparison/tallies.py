"""Sums over the rows of the comparison: error over trivial by set, and over all sets."""

from __future__ import annotations

import numpy as np
import pandas as pd

from experiments.comparison.contenders import DEFAULT, EQUAL

CAP = 1e6
"""An error of more than this many times the trivial one counts as this many."""


def by_set(frame: pd.DataFrame) -> pd.DataFrame:
    """For each set: error over trivial error, its standard error over fits (unknown for one), failures, seconds."""
    rows = frame.assign(
        error=frame["mse"] * frame["fits"], base=frame["trivial"] * frame["fits"], time=frame["seconds"] * frame["fits"]
    )
    keys = ["epsilon", "method", "data"]
    sums = rows.groupby(keys, sort=False)[["error", "base", "time", "sum_sq", "fits", "failed"]].sum().reset_index()
    mean = sums["error"] / sums["fits"]
    spread = np.sqrt(np.maximum(sums["sum_sq"] / sums["fits"] - mean**2, 0) / (sums["fits"] - 1).replace(0, np.nan))
    return sums[keys].assign(
        ratio=sums["error"] / sums["base"],
        sd=spread / (sums["base"] / sums["fits"]),
        trivial=sums["base"] / sums["fits"],
        seconds=sums["time"] / sums["fits"],
        failed=sums["failed"] / sums["fits"],
        fits=sums["fits"],
    )


def summary(ratios: pd.DataFrame) -> pd.DataFrame:
    """One line for each epsilon and method, over the sets.

    Wins count the sets on which a method has the least error of all that keep the same promise; `better` those on which
    it has less than the default. The error of the geometric mean is that of means over fits, the sets being given.
    """
    ratios = ratios.merge(_best(ratios), on=["epsilon", "data"], how="left")
    default = ratios[ratios["method"] == DEFAULT][["epsilon", "data", "ratio"]]
    ratios = ratios.merge(default.rename(columns={"ratio": "ours"}), on=["epsilon", "data"], how="left")
    lines = []
    for (epsilon, method), sets in ratios.groupby(["epsilon", "method"], sort=False):
        worst = sets.loc[sets["ratio"].idxmax()]
        mean = float(np.exp(np.log(sets["ratio"]).mean()))
        lines.append(
            {"epsilon": epsilon, "method": method, "sets": len(sets)}
            | {
                "mean": mean,
                "error": mean * float(np.sqrt(((sets["sd"] / sets["ratio"]) ** 2).sum(skipna=False))) / len(sets),
            }
            | {"median": float(sets["ratio"].median())}
            | {"wins": int((sets["best"] == method).sum()), "better": int((sets["ratio"] < sets["ours"]).sum())}
            | {"worst": float(worst["ratio"]), "worst_set": worst["data"]}
            | {"failed": float(sets["failed"].mean()), "seconds": float(sets["seconds"].median())}
        )
    return pd.DataFrame(lines)


def _best(ratios: pd.DataFrame) -> pd.DataFrame:
    """The method with the least error on each set, of those with equal promises."""
    equal = ratios[ratios["method"].isin(EQUAL)]
    best = equal.loc[equal.groupby(["epsilon", "data"])["ratio"].idxmin()]
    return best[["epsilon", "data", "method"]].rename(columns={"method": "best"})
