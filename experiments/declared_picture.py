"""A picture of accuracy with declared bounds, from the benchmark's JSON: ``python -m experiments.declared_picture``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from discreet.results.plots.style import BLUE, GREY, INK, canvas, style

MOST = 30.0
"""Errors beyond this are not shown: the method is far off."""

OTHERS = {"private mean": GREY, "ridge, not private": INK}


def draw(rows: list[dict[str, Any]], k: float, out: Path) -> None:
    """One line a method, with its error at each epsilon, as SVG."""
    found: dict[str, dict[float, float]] = {}
    for row in rows:
        if row["k"] == k and row["epsilon"] in (0.1, 1.0) and row["method"] != "least squares" and row["ratio"] < MOST:
            found.setdefault(row["method"], {})[row["epsilon"]] = row["ratio"]
    names = sorted(found, key=lambda name: -found[name].get(1.0, found[name].get(0.1, MOST)))
    with style():
        figure, axes = canvas(0.22 * len(names) + 0.9)
        axes.axvline(1.0, color=GREY, lw=0.8)
        for y, name in enumerate(names):
            color = BLUE if name.startswith("DP") else OTHERS.get(name, "#9A9A9A")
            points = found[name]
            axes.plot(list(points.values()), [y] * len(points), color=color, lw=1.2)
            for epsilon, ratio in points.items():
                filled = color if epsilon == 1.0 else "white"
                axes.plot(ratio, y, marker="o", ms=5, mec=color, mfc=filled, ls="")
        axes.set_xscale("log")
        axes.set_yticks(range(len(names)), names)
        axes.set_xticks([0.3, 0.5, 1, 2, 5, 10, 20], ["0.3", "0.5", "1", "2", "5", "10", "20"])
        axes.minorticks_off()
        axes.set_xlabel("error over that of the training mean: hollow epsilon 0.1, full epsilon 1")
        figure.savefig(out, format="svg", metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.declared_picture", description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results/declared.json"))
    parser.add_argument("--k", type=float, default=3.0)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/declared.svg"))
    given = parser.parse_args()
    draw(json.loads(given.results.read_text())["rows"], given.k, given.out)
    print(given.out)


if __name__ == "__main__":
    main()
