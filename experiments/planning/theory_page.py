"""Pictures and measured figures of ``docs/research/theory.md``: ``python -m experiments.planning.theory_page``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from discreet.planning.theory import (
    adassp_bound,
    equations_noise,
    excess_bound,
    free_region_plot,
    lower_bounds_plot,
    relative_efficiency,
)
from discreet.results.plots.style import LOOKS, chart, legend, logarithmic, style
from experiments.wang2018.scaling import DELTA, SIGMA, THETA, D, simulate

ROWS = (1000, 3000, 10_000, 30_000, 100_000, 300_000)
REPEATS = 400
SHARES = {"SSP": 1 / 2, "AdaSSP": 1 / 3}


def measured() -> list[dict[str, float | str]]:
    """For each method and n: the 95 % quantile of the simulated excess error, its bound, and the mean efficiency."""
    found: list[dict[str, float | str]] = []
    theta = np.full(D, THETA * D**-0.5)
    for method, share in SHARES.items():
        for n in ROWS:
            rows = simulate({"method": method, "n": n, "d": D, "epsilon": 1.0, "repeats": REPEATS, "seed": 1})
            G = n / D * np.eye(D)
            noise = equations_noise(1.0, DELTA, gram_share=share, cross_share=share)
            bound = excess_bound(G, theta, *noise) if method == "SSP" else adassp_bound(G, theta, 1.0, DELTA)
            found.append(
                {
                    "method": method,
                    "n": n,
                    "quantile": float(np.quantile([row["excess"] for row in rows], 0.95)),
                    "bound": float(bound),
                    "efficiency": 1 + float(np.mean([row["distance"] / row["own"] for row in rows])),
                    "predicted": float(relative_efficiency(G, theta, SIGMA, *noise)),
                }
            )
    return found


def picture(found: list[dict[str, float | str]]) -> Figure:
    with style():
        figure, axes = chart(3.5)
        logarithmic(axes.xaxis, axes.yaxis)
        for method, look in zip(SHARES, LOOKS, strict=False):
            mine = [row for row in found if row["method"] == method]
            n = [row["n"] for row in mine]
            axes.plot(n, [row["quantile"] for row in mine], label=f"{method}, simulated", lw=1.8, ms=4.5, **look)
            bounds = [row["bound"] for row in mine]
            axes.plot(
                n, bounds, color=look["color"], lw=1, marker=look["marker"], mfc="white", label=f"{method}, bound"
            )
        axes.set_xlabel("rows n")
        axes.set_ylabel("excess error F, 95 % quantile")
        legend(figure, axes)
    return figure


def main() -> None:
    found = measured()
    pictures = {
        "free_small": free_region_plot(100),
        "free_large": free_region_plot(100, reach=10.0),
        "price": lower_bounds_plot(100, alpha=0.1, reach=10.0),
        "bounds": picture(found),
    }
    for name, figure in pictures.items():
        with style():
            figure.savefig(Path("docs/research") / f"theory_{name}.png", dpi=140)
    print("| method | n | 95 % quantile | bound | efficiency | predicted |\n|---|---|---|---|---|---|")
    for row in found:
        print(
            f"| {row['method']} | {row['n']:,} | {row['quantile']:.3g} | {row['bound']:.3g} "
            f"| {row['efficiency']:.3f} | {row['predicted']:.3f} |"
        )


if __name__ == "__main__":
    main()
