"""wang2018, table 2: relative efficiency, evaluated, beside simulated errors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from discreet.planning.theory import efficiency_rates, equations_noise, relative_efficiency
from experiments.reproduction import Finding, Reproduction, Size
from experiments.study import Cell, Rows
from experiments.wang2018 import scaling
from experiments.wang2018.scaling import DELTA, SIGMA, THETA, D

SHARES = {"SSP": 1 / 2, "AdaSSP": 1 / 3}
KEYS = {"SSP": "SSP", "AdaSSP": "AdaOPS, AdaSSP", "AdaOPS": "AdaOPS, AdaSSP", "OPS": "OPS"}


def cells(size: Size, folder: Path | None) -> list[Cell]:
    return scaling.cells(size, tuple(KEYS))


def added(method: str, n: np.ndarray) -> np.ndarray:
    """What table 2 adds to 1, as an order."""
    rates = efficiency_rates(n, D, 1.0, DELTA, sigma=SIGMA, norm_theta=THETA, domain=1.0)
    return np.asarray(rates[KEYS[method]]) - 1


def predicted(method: str, n: float) -> float:
    """What it adds with constants, for X'X = n I/d."""
    noise = equations_noise(1.0, DELTA, gram_share=SHARES[method], cross_share=SHARES[method])
    return float(relative_efficiency(n / D * np.eye(D), np.full(D, THETA * D**-0.5), SIGMA, *noise)) - 1


def work(cell: Cell, folder: Path | None) -> Rows:
    rows = scaling.simulate(cell)
    known = predicted(cell["method"], cell["n"]) if cell["method"] in SHARES else None
    return [row | {"added": row["distance"] / row["own"], "predicted": known} for row in rows]


def draw(rows: pd.DataFrame) -> Mapping[str, Figure]:
    orders = {method: lambda n, m=method: added(m, n) for method in rows["method"].unique()}
    return {"efficiency": scaling.picture(rows, "added", orders, "relative efficiency, less 1")}


def judge(rows: pd.DataFrame) -> list[Finding]:
    findings = []
    for method in ("SSP", "AdaSSP", "AdaOPS"):
        part = rows[rows["method"] == method]
        large = part[part["n"] == part["n"].max()]
        measured, mean = scaling.slope(part, "added"), large["added"].mean()
        known = f", predicted {1 + large['predicted'].iloc[0]:.3f}" if method in SHARES else ""
        findings.append(
            Finding(
                f"{method} is asymptotically efficient: 1 + O(1/n).",
                f"less 1, it falls with exponent {measured:.2f}; {1 + mean:.3f} at n = {part['n'].max():,}{known}",
                bool(-1.35 < measured < -0.65),
            )
        )
    part = rows[rows["method"] == "OPS"]
    measured, last = scaling.slope(part, "added"), part[part["n"] == part["n"].max()]
    findings.append(
        Finding(
            "OPS is not efficient: its relative efficiency does not fall to 1 (n^(1/3), by proposition 18).",
            f"less 1, it changes with exponent {measured:.2f}; {1 + last['added'].mean():.3g} at the largest n",
            bool(abs(measured - 1 / 3) < 0.2),
            "The printed order lacks a 1 in front (E32).",
        )
    )
    return findings


REPRODUCTION = Reproduction(
    name="wang2018-table2",
    title="Relative efficiency: the paper's orders beside simulated ones",
    says="Under the linear Gaussian model SSP, AdaOPS and AdaSSP approach least squares as n grows; OPS does not.",
    cells=cells,
    work=work,
    draw=draw,
    judge=judge,
    note="Simulated with d = 5, epsilon = 1, delta = 1e-6, sigma = 0.1, |theta_0| = 1/2, rows of norm 1. Sub-Agg's "
    "bound has an unknown polynomial and is left out.",
)
