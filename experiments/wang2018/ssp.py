"""How much ten folds of SSP say: the chance that they agree with the figures of wang2018's tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from discreet.results.plots.style import BLUE, ORANGE, WIDTH
from experiments import uci
from experiments.reproduction import Finding, Reproduction, Size
from experiments.study import Cell, Rows
from experiments.wang2018.protocol import splits, ssp_of_the_code
from experiments.wang2018.tables import printed


def cells(size: Size, folder: Path | None) -> list[Cell]:
    names = ("servo",) if size == "quick" else uci.available(folder) if folder else uci.NAMES
    draws = {"quick": 20, "normal": 200, "full": 2000}[size]
    return [{"data": name, "epsilon": e, "splits": 10, "draws": draws} for name in names for e in (0.1, 1.0)]


def work(cell: Cell, folder: Path | None) -> Rows:
    """Means over ten splits, `draws` times, each beside the paper's: how many are within two of its sds."""
    assert folder is not None
    errors = []
    for split in splits(cell["data"], folder, cell["splits"]):
        rng = np.random.default_rng([7, split.number])
        A, b, c = split.X_test.T @ split.X_test, split.X_test.T @ split.y_test, split.y_test @ split.y_test
        thetas = [ssp_of_the_code(split, cell["epsilon"], rng) for _ in range(cell["draws"])]
        errors.append([(t @ A @ t - 2 * b @ t + c) / len(split.y_test) for t in thetas])
    means = np.mean(errors, axis=0)
    paper = printed(cell["epsilon"], folder)[cell["data"]]
    share = np.mean(np.abs(means - paper["ssp_mean"]) <= 2 * paper["ssp_std"])
    low, middle, high = np.quantile(means, (0.05, 0.5, 0.95))
    return [{"agreement": share, "low": low, "median": middle, "high": high, "paper_mean": paper["ssp_mean"]}]


def judge(rows: pd.DataFrame) -> list[Finding]:
    found = []
    for epsilon, own in rows.groupby("epsilon"):
        expected, spread = own["agreement"].sum(), np.sqrt((own["agreement"] * (1 - own["agreement"])).sum())
        words = f"probability {own['agreement'].min():.2f} to {own['agreement'].max():.2f} by set; {expected:.1f} ± "
        words += f"{spread:.1f} of {len(own)} sets are to be expected"
        why = "the mean of ten folds varies by orders of magnitude where X'X + N1 may be nearly singular"
        claim = f"SSP by the code agrees with table {3 if epsilon < 1 else 4}, epsilon = {epsilon:g}, by chance"
        found.append(Finding(claim, words, None, why))
    return found


def draw(rows: pd.DataFrame) -> dict[str, Figure]:
    figure = Figure(figsize=(WIDTH, 2.8), layout="constrained")
    axes = figure.subplots()
    order = rows[rows["epsilon"] == 0.1].sort_values("agreement")["data"].tolist()
    for epsilon, colour in ((0.1, ORANGE), (1.0, BLUE)):
        own = rows[rows["epsilon"] == epsilon].set_index("data")["agreement"]
        axes.plot(
            range(len(order)), [own[name] for name in order], "o", ms=4, color=colour, label=f"epsilon = {epsilon:g}"
        )
    axes.set_xticks(range(len(order)), order, rotation=90, fontsize=7)
    axes.set(ylim=(-0.03, 1.03), ylabel="chance to agree")
    axes.legend()
    return {"agreement": figure}


REPRODUCTION = Reproduction(
    name="wang2018-ssp",
    title="The chance that ten folds of SSP agree with tables 3 and 4",
    says="Tables 3 and 4 give a mean and a spread of ten folds for SSP; both are those of a law with a heavy tail.",
    cells=cells,
    work=work,
    draw=draw,
    judge=judge,
    needs_data=True,
    note="SSP as the authors' code has it (E4), each time a mean of ten splits with noise of its own, 200 times; it "
    "agrees where it is within two of the paper's sds. Ten splits, the same each time.",
)
