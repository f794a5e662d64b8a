"""li2021, figure 3: how far NAPP-ERM without privacy noise is from the lasso, with MOOR and without."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from discreet.mechanisms.napp.algorithm import NAPPPlan, iterate
from discreet.mechanisms.napp.augmented import Regularizer
from discreet.results.plots.style import BLUE, ORANGE
from experiments.li2021.panels import means, panels
from experiments.li2021.simulation import SETTINGS, D, lasso
from experiments.reproduction import Finding, Reproduction, Size
from experiments.study import Cell, Rows

GRID = {"linear": (0.5, 1.0, 2.0, 4.0), "poisson": (2.0, 5.0, 15.0, 40.0), "logistic": (0.5, 1.0, 2.0, 4.0)}


def cells(size: Size, folder: Path | None) -> list[Cell]:
    chunks, repeats = {"quick": (1, 1), "normal": (4, 4), "full": (50, 10)}[size]
    return [
        {"loss": loss, "n": setting.sizes[1], "Lambda_0": setting.zeta3 / epsilon, "n_e": 10_000}
        | {"Lambdas": list(GRID[loss][:: 3 if size == "quick" else 1]), "seed": seed, "repeats": repeats}
        for loss, setting in SETTINGS.items()
        for epsilon in ((1.0,) if size == "quick" else (1.0, 0.4))
        for seed in range(chunks)
    ]


def work(cell: Cell, folder: Path | None) -> Rows:
    """Mean distances from the lasso with 2 Lambda, which the weights have as their fixed point, and with Lambda."""
    setting, rows = SETTINGS[cell["loss"]], []
    found: dict[tuple[str, float], list[tuple[float, float]]] = {}
    for repeat in range(cell["repeats"]):
        rng = np.random.default_rng([cell["seed"], repeat])
        data = setting.data(*setting.sample(cell["n"], rng))
        for Lambda in cell["Lambdas"]:
            own, half = lasso(cell, data, Lambda), lasso(cell, data, Lambda / 2)
            for moor in (True, False):
                slopes = np.ones(D, dtype=bool)
                plan = NAPPPlan(
                    cell["loss"], Regularizer("lasso", Lambda), cell["Lambda_0"], slopes, moor, n_e=cell["n_e"]
                )
                theta = iterate(data, setting.loss, plan, np.zeros(D), rng).coefficients(plan)
                pair = float(np.linalg.norm(theta - own)), float(np.linalg.norm(theta - half))
                found.setdefault(("MOOR" if moor else "no MOOR", Lambda), []).append(pair)
    for (method, Lambda), pairs in found.items():
        own, half = np.mean(pairs, axis=0)
        rows.append({"method": method, "Lambda": Lambda, "distance": float(own), "from half": float(half)})
    return rows


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    frame = means(frame, ["loss", "Lambda_0", "method", "Lambda"], ["distance"])

    def places(order: int, loss: str) -> tuple[str, pd.DataFrame]:
        data = frame[frame["loss"] == loss]
        modulus = sorted(data["Lambda_0"].unique())[order]
        return f"{loss}, Lambda_0 = {modulus:g}", data[data["Lambda_0"] == modulus]

    def line(axes, method, data):  # type: ignore[no-untyped-def]
        colour = ORANGE if method == "MOOR" else BLUE
        axes.plot(data["Lambda"], data["distance"], "o-", ms=3, color=colour, label=method)
        axes.set_xscale("log")
        axes.set_xticks(data["Lambda"], [f"{value:g}" for value in data["Lambda"]])
        axes.minorticks_off()

    orders = range(frame.groupby("loss")["Lambda_0"].nunique().min())
    words = ("Lambda", "distance from the lasso", "")
    return {"distance": panels(orders, list(frame["loss"].unique()), places, line, words)}


def judge(frame: pd.DataFrame) -> list[Finding]:
    findings = []
    table = means(frame, ["loss", "Lambda_0", "Lambda", "method"], ["distance", "from half"])
    for loss, data in table.groupby("loss", sort=False):
        wide = data.pivot_table(index=["Lambda_0", "Lambda"], columns="method", values="distance")
        literal = data.pivot_table(index=["Lambda_0", "Lambda"], columns="method", values="from half")
        better, gain = int((wide["MOOR"] < wide["no MOOR"]).sum()), float((wide["MOOR"] / wide["no MOOR"]).mean())
        other = int((literal["MOOR"] < literal["no MOOR"]).sum())
        words = (
            f"{loss}: closer in {better} of {len(wide)} cells, {gain:.2f} times as far on average; measured from the "
        )
        words += f"lasso with Lambda instead of 2 Lambda, in {other}"
        findings.append(Finding("With MOOR the estimates are closer to the lasso", words, better == len(wide)))
    ratio = {
        loss: float(
            np.mean(d[d["method"] == "MOOR"]["distance"].to_numpy() / d[d["method"] != "MOOR"]["distance"].to_numpy())
        )
        for loss, d in table.groupby("loss")
    }
    least = ratio["poisson"] == max(ratio.values())
    words = ", ".join(f"{loss} {value:.2f}" for loss, value in ratio.items())
    findings.append(
        Finding("The improvement is least for Poisson regression", f"distance with over without: {words}", least)
    )
    return findings


REPRODUCTION = Reproduction(
    name="li2021-fig3",
    title="Distance from the lasso, with MOOR and without, no privacy noise",
    says="In linear and logistic regression MOOR brings the estimates significantly closer to the lasso for all "
    "Lambda_0 and Lambda; in Poisson regression too, though less, because zeta_3 and Lambda_0 are large.",
    cells=cells,
    work=work,
    draw=draw,
    judge=judge,
    note="16 repeats at normal size, n_e = 10,000, T = 80. The weights of table 2 have the lasso with 2 Lambda (E33) "
    "as their fixed point, so distances are from that one. Lambda and Lambda_0 are not printed: Lambda_0 = "
    "zeta_3/epsilon for epsilon 1 and 0.4.",
)
