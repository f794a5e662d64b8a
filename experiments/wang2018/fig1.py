"""wang2018, figure 1: for which epsilon privacy is for free."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from discreet.planning.theory import free_epsilon, free_region_plot
from experiments.reproduction import Finding, Reproduction, Size
from experiments.study import Cell, Rows

D = 100
REACHES = {"B T = Y": 1.0, "B T = sqrt(d) Y": D**0.5}
ALPHAS: tuple[float | None, ...] = (None, 0.01, 1.0)
POINTS: dict[Size, int] = {"quick": 57, "normal": 141, "full": 141}


def cells(size: Size, folder: Path | None) -> list[Cell]:
    return [{"case": case, "alpha": alpha, "d": D, "points": POINTS[size]} for case in REACHES for alpha in ALPHAS]


def work(cell: Cell, folder: Path | None) -> Rows:
    n = np.geomspace(10, 1e8, cell["points"])
    ours = free_epsilon(n, cell["d"], alpha=cell["alpha"], norm_theta=REACHES[cell["case"]])
    rows = zip(n, ours, printed(cell["case"], n, cell["d"], cell["alpha"]), strict=True)
    return [{"n": float(k), "epsilon": float(e), "printed": float(p)} for k, e, p in rows]


def printed(case: str, n: np.ndarray, d: int, alpha: float | None) -> np.ndarray:
    """The formulas of section 3.1, without constants."""
    a = 0.0 if alpha is None else alpha
    with np.errstate(divide="ignore"):
        if case == "B T = Y":
            pair = np.maximum(d**-0.5, np.sqrt(d / n)), np.maximum(d / np.sqrt(n**1.5 * a), np.sqrt(d / (n * a)))
        else:
            pair = np.maximum(d**0.5, d**1.5 / n), np.maximum(d / np.sqrt(n * a), d**1.5 / (n * np.sqrt(a)))
    return np.minimum(*pair)


def draw(rows: pd.DataFrame) -> Mapping[str, Figure]:
    alphas = sorted(rows["alpha"].dropna().unique())
    names = {"B T = Y": "equal", "B T = sqrt(d) Y": "root"}
    return {names[case]: free_region_plot(int(rows["d"].iloc[0]), alphas=alphas, reach=REACHES[case]) for case in names}


def judge(rows: pd.DataFrame) -> list[Finding]:
    enough = rows[rows["n"] > D]
    one, two = (enough[enough["case"] == case] for case in REACHES)
    any_one, any_two = (part[part["alpha"].isna()] for part in (one, two))
    first = any_one.loc[any_one["epsilon"] <= 1, "n"].min()
    best = two[two["alpha"] == 1.0]
    second = best.loc[best["epsilon"] <= 1, "n"].min()
    few = rows[(rows["n"] < D) & (rows["case"] == "B T = sqrt(d) Y")]
    ratio = (enough["epsilon"] / enough["printed"]).agg(["min", "max"])
    return [
        Finding(
            "The least free epsilon is min{1/sqrt(d) v sqrt(d/n), d/sqrt(n^1.5 alpha) v sqrt(d/(n alpha))} for B T = "
            "Y, and min{sqrt(d), d/sqrt(n alpha)} for B T = sqrt(d) Y, n > d.",
            f"inverting (4) to (6) gives {ratio['min']:.2f} to {ratio['max']:.2f} times these",
            bool(ratio["min"] > 0.5 and ratio["max"] < 2.01),
            "The constants of (5) and (6), B T + Y among them, are kept here.",
        ),
        Finding(
            "B T = Y: for n >= d a meaningful epsilon <= 1 is free in a large region, whatever the data.",
            f"from n = {first / D:.1f} d on",
            bool(first < 10 * D),
        ),
        Finding(
            "B T = sqrt(d) Y: n >= d^2 is needed in the most favourable case, alpha = 1.",
            f"from n = {second / D**2:.2f} d^2 on",
            bool(0.1 < second / D**2 < 10),
        ),
        Finding(
            "B T = sqrt(d) Y: with data of deficient rank privacy is not free, however large n is.",
            f"the least free epsilon is {any_two['epsilon'].min():.1f} at n = 10^8",
            bool(any_two["epsilon"].min() > 1),
        ),
        Finding(
            "B T = sqrt(d) Y, n < d: epsilon >= d^1.5/n, the second part of the printed maximum.",
            f"{few['epsilon'].max():g}: any epsilon will do",
            None,
            "There (4) is n Y^2, which predicting 0 attains. The paper speaks of n > d, where that part is idle.",
        ),
    ]


REPRODUCTION = Reproduction(
    name="wang2018-fig1",
    title="The region of epsilon where privacy is for free",
    says="When coefficients are small, epsilon <= 1 costs nothing once n exceeds d; when they are large, that takes n "
    ">= d^2 and well-conditioned data.",
    cells=cells,
    work=work,
    draw=draw,
    judge=judge,
    note="An evaluation of bounds, with their constants where the paper drops them; nothing is fitted.",
)
