"""What piazza2021's figures share: trials of adaSSPbudget, SSP and constSSPfull as published, and curves over gamma."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from discreet import SSP, AdaSSP, ConstSSP, DiscreetWarning, Domain, Moments
from discreet.mechanisms.sufficient_statistics.ssp import sd_piazza2021
from discreet.results.plots.style import BLUE, GREY, ORANGE, WIDTH, logarithmic, note
from discreet.solve.ridge import noise_norm
from experiments.methods import PROTOCOL
from experiments.reproduction import Finding
from experiments.study import Rows
from experiments.uci import Floats

EPSILONS = (0.001, 0.01, 0.1, 1.0)
GAMMAS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 1 / 3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
FEW = (0.05, 1 / 3, 0.99)
RHO = 0.05


def trials(X: Floats, y: Floats, theta: Floats | None, epsilon: float, gammas: tuple[float, ...], count: int) -> Rows:
    """Means and standard deviations over random 90/10 splits, for the three methods and every gamma."""
    Y = float(np.abs(y).max())
    names = [f"x{i}" for i in range(X.shape[1])]
    domain = Domain.from_bounds(names, ["y"], bounds_y=(-1, 1), data_norm=1, intercept=False)
    measured, non_private = [], []
    for trial in range(count):
        order = np.random.default_rng([5, trial]).permutation(len(y))
        test, train = np.split(order, [round(len(y) / 10)])
        moments = Moments.from_source((X[train], y[train] / Y), domain, n_jobs=1)
        if theta is not None:
            non_private.append(np.sum((np.linalg.lstsq(X[train], y[train])[0] - theta) ** 2))
        trivial = float(np.mean((y[test] - y[train].mean()) ** 2))
        for method, gamma in [("SSP", None), ("constSSPfull", None), *(("adaSSPbudget", g) for g in gammas)]:
            rng = np.random.default_rng([6, trial, round(1e6 * (gamma or 0))])
            coef, zero = fit(method, gamma, moments, epsilon, len(y), rng)
            row: dict[str, Any] = {"method": method, "gamma": gamma, "lambda_zero": zero}
            row["prediction"] = float(np.mean((X[test] @ coef * Y - y[test]) ** 2)) / trivial
            if theta is not None:
                row["efficiency"] = float(np.sum((coef * Y - theta) ** 2))
            measured.append(row)
    frame = pd.DataFrame(measured)
    if theta is not None:
        frame["efficiency"] /= np.mean(non_private)
    return summary(frame)


def fit(
    method: str, gamma: float | None, moments: Moments, epsilon: float, n: int, rng: np.random.Generator
) -> tuple[Floats, float | None]:
    """Coefficients, and whether adaSSPbudget's lambda was 0."""
    delta = n**-1.1
    given = {"epsilon": epsilon, "delta": delta, "random_state": rng, "published": "piazza2021"} | PROTOCOL
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        if gamma is None:
            cls: Any = SSP if method == "SSP" else ConstSSP
            return np.asarray(cls(**given).fit_moments(moments, "y").coef_), None
        model = AdaSSP(eigenvalue_share=gamma, rho=RHO, **given).fit_moments(moments, "y")
    return np.asarray(model.coef_), float(penalty(model, gamma, epsilon, delta) == 0)


def penalty(model: AdaSSP, gamma: float, epsilon: float, delta: float) -> float:
    """Steps 4 and 5 of algorithm 3, from the released eigenvalue."""
    nec = (1 - gamma) / 2
    offset = 2 * math.log(2 / (gamma * delta)) / (gamma * epsilon)
    least = max(float(model.release_.value("eigenvalue")) + 1 - offset, 0.0)
    return max(0.0, noise_norm(len(model.coef_), sd_piazza2021(nec * epsilon, nec * delta), RHO) - least)


def summary(frame: pd.DataFrame) -> Rows:
    """One row for each method and gamma: mean, and standard deviation of the measures."""
    grouped = frame.groupby(["method", "gamma"], dropna=False, sort=False)
    measures = [name for name in ("efficiency", "prediction") if name in frame]
    wide = grouped[[*measures, "lambda_zero"]].mean().join(grouped[measures].std().add_suffix("_sd")).reset_index()
    return [{k: None if pd.isna(v) else v for k, v in row.items()} for row in wide.to_dict("records")]


def by_gamma(rows: pd.DataFrame, what: str, key: str = "n") -> pd.DataFrame:
    """A column for each method and gamma, a row for each table and epsilon."""
    names = [
        m if pd.isna(g) else f"{m} {'1/3' if abs(g - 1 / 3) < 1e-3 else format(g, 'g')}"
        for m, g in zip(rows["method"], rows["gamma"], strict=True)
    ]
    return rows.assign(name=names).pivot_table(index=[key, "epsilon"], columns="name", values=what)


def flatness(rows: pd.DataFrame, what: str, key: str = "n") -> list[Finding]:
    """How much adaSSPbudget varies over 0.05 <= gamma <= 0.5, and beyond."""
    own = rows[rows["method"] == "adaSSPbudget"]
    wide = own.pivot_table(index=[key, "epsilon"], columns="gamma", values=what)
    middle = wide[[g for g in wide if 0.05 <= g <= 0.5]]
    spread = middle.max(axis=1) / middle.min(axis=1)
    at, e = spread.idxmax()
    last = wide[max(wide)] / middle.min(axis=1)
    return [
        Finding(
            "performance does not change significantly for 0.05 <= gamma <= 0.5",
            f"the worst of these gammas is {spread.median():.2f} times the best in the median case, "
            f"{spread.max():.2f} at most ({key} = {at:,}, epsilon {e:g})"
            if key == "n"
            else f"the worst of these gammas is {spread.median():.2f} times the best in the median case, "
            f"{spread.max():.2f} at most ({at}, epsilon {e:g})",
            bool(spread.median() < 2),
            "" if spread.max() < 2 else "flat in most cases; the figure's scale spans orders of magnitude",
        ),
        Finding(
            "it worsens as gamma approaches 1",
            f"gamma = {max(wide):g} is {last.min():.3g} to {last.max():.3g} times the best of these",
            bool(last.max() > 1.5),
        ),
    ]


def lines(rows: pd.DataFrame, what: str, label: str, key: str, *, log: bool) -> Figure:
    """A panel for each epsilon; colours for tables, styles for methods."""
    epsilons, tables = sorted(rows["epsilon"].unique()), list(dict.fromkeys(rows[key]))
    colours = dict(zip(tables, (BLUE, ORANGE, "#009E73"), strict=False))
    figure = Figure(figsize=(WIDTH, 5.6), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, squeeze=False).flatten()
    for ax, epsilon in zip(axes, epsilons, strict=False):
        for table in tables:
            own = rows[(rows["epsilon"] == epsilon) & (rows[key] == table)]
            ada = own[own["method"] == "adaSSPbudget"]
            name = f"n = {table:,}" if key == "n" else str(table)
            ax.plot(ada["gamma"], ada[what], "o-", color=colours[table], ms=2.5, lw=1.2, label=f"adaSSPbudget, {name}")
            if f"{what}_sd" in ada:
                top = ada[what] + ada[f"{what}_sd"]
                ax.fill_between(ada["gamma"], ada[what], top, color=colours[table], alpha=0.15, lw=0)
            for method, style in (("SSP", "--"), ("constSSPfull", ":")) if f"{what}_sd" in ada else ():
                value, sd = own.loc[own["method"] == method, [what, f"{what}_sd"]].iloc[0]
                ax.axhline(value, color=colours[table], linestyle=style, lw=1.1, label=f"{method}, {name}")
                if method == "SSP":
                    ax.axhspan(value, value + sd, facecolor="none", edgecolor=colours[table], alpha=0.25, hatch="////")
        ax.axvline(1 / 3, color=GREY, lw=0.7)
        ax.set(title=f"epsilon = {epsilon:g}", xlabel="gamma", ylabel=label)
        logarithmic(ax.yaxis) if log else ax.set(ylim=(-0.05, 1.05))
    for ax in axes[len(epsilons) :]:
        ax.axis("off")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=3)
    bands = " Bands: up to one standard deviation above the mean, hatched for SSP." if log else ""
    note(figure, f"Grey line: gamma = 1/3, which is adaSSP.{bands}")
    return figure
