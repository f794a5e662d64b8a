"""How errors of the papers' methods grow and fall with n: simulated tables with known coefficients."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from discreet import OPS, SSP, AdaOPS, AdaSSP, DiscreetWarning, Domain, Moments
from discreet.errors import DiscreetError
from discreet.results.plots.style import LOOKS, chart, legend, logarithmic, style
from experiments.reproduction import Size
from experiments.study import Cell, Rows

METHODS: dict[str, Any] = {
    "SSP": SSP,
    "AdaSSP": AdaSSP,
    "AdaOPS": AdaOPS,
    "OPS": OPS,
}
D, SIGMA, THETA, DELTA = 5, 0.1, 0.5, 1e-6
ROWS: dict[Size, tuple[int, ...]] = {
    "quick": (10_000, 100_000),
    "normal": (3000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    "full": (3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000),
}
REPEATS: dict[Size, int] = {"quick": 4, "normal": 100, "full": 500}


def cells(size: Size, methods: Sequence[str]) -> list[Cell]:
    """One cell for each method, n and epsilon: all seeds of a cell share one table."""
    return [
        {"method": method, "n": n, "d": D, "epsilon": 1.0, "repeats": REPEATS[size], "seed": 1}
        for method in methods
        for n in ROWS[size]
    ]


def simulate(cell: Cell) -> Rows:
    """Errors of one method on rows of norm 1, y = x'theta_0 + 0.1 N, |theta_0| = 1/2, clipped to |y| <= 1: never.

    excess: F(theta_hat) - F(theta*); distance: |theta_hat - theta*|^2; own: what least squares itself is expected to be
    off from theta_0, squared. Noise and sampling errors are independent to first order: the relative efficiency is 1 +
    distance/own.
    """
    rng = np.random.default_rng(cell["seed"])
    n, d = cell["n"], cell["d"]
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = X @ np.full(d, THETA * d**-0.5) + SIGMA * rng.normal(size=n)
    names = [f"x{i}" for i in range(d)]
    domain = Domain.from_bounds(names, ["y"], bounds_y=(-1, 1), data_norm=1, intercept=False)
    moments = Moments.from_source((X, y), domain, n_jobs=1)
    G = X.T @ X
    star = np.linalg.solve(G, X.T @ y)
    own = float(SIGMA**2 * np.trace(np.linalg.inv(G)))
    draw = partial(_fit, cell, moments)
    found = [coef - star for seed in range(cell["repeats"]) if (coef := draw(seed)) is not None]
    return [
        {"repeat": i, "excess": float(a @ G @ a / 2), "distance": float(a @ a), "own": own} for i, a in enumerate(found)
    ]


def _fit(cell: Cell, moments: Moments, seed: int) -> Any:
    given = {"epsilon": cell["epsilon"], "delta": DELTA, "rows": cell["n"], "random_state": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        try:
            return np.asarray(METHODS[cell["method"]](**given).fit_moments(moments, "y").coef_)
        except DiscreetError:
            return None


def slope(rows: pd.DataFrame, column: str, above: float = 0.0) -> float:
    """The exponent of n in the median of a column, over the larger half of the ns."""
    medians = rows.groupby("n")[column].median() - above
    medians = medians[medians > 0].iloc[-max(2, (len(medians) + 1) // 2) :]
    return float(np.polyfit(np.log(medians.index.to_numpy(float)), np.log(medians.to_numpy()), 1)[0])


def picture(rows: pd.DataFrame, column: str, orders: dict[str, Any], label: str) -> Figure:
    """Medians by n as marks, the paper's orders as thin lines of the same colour."""
    with style():
        figure, axes = chart(3.6)
        logarithmic(axes.xaxis, axes.yaxis)
        for (method, part), look in zip(rows.groupby("method", sort=False), LOOKS, strict=False):
            medians = part.groupby("n")[column].median()
            axes.plot(medians.index, medians, label=method, lw=1.8, ms=4.5, **look)
            if method in orders:
                n = np.geomspace(rows["n"].min(), rows["n"].max(), 50)
                axes.plot(n, orders[method](n) + 0 * n, color=look["color"], lw=0.9, alpha=0.7)
        axes.plot([], [], color="0.4", lw=0.9, label="the paper's order (thin)")
        axes.set_xlabel("rows n")
        axes.set_ylabel(label)
        legend(figure, axes)
    return figure
