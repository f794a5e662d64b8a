"""neel2023, algorithm 4: error against the number of rows that X'X is computed from."""

from __future__ import annotations

import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from discreet import DiscreetWarning, ReuseCov
from discreet.mechanisms.reuse_covariance.event import sampled
from discreet.planning.theory import sampled_bound, sampled_rate
from discreet.privacy.laws import Profile, gaussian_curve, together
from discreet.results.plots.style import BLUE, GREY, INK, ORANGE, WIDTH, logarithmic
from experiments.reproduction import Finding, Reproduction, Size
from experiments.study import Cell, Rows
from experiments.uci import Floats

N, D, DELTA, SIGMA = 100_000, 10, 1e-6, 0.1
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
METHODS: dict[str, dict[str, Any]] = {
    "verified, noise-aware": {},
    "verified, ridge": {"solve": "ridge"},
    "as printed": {"solve": "ridge", "published": "neel2023"},
}


def cells(size: Size, folder: Path | None) -> list[Cell]:
    n, repeats = (5000, 2) if size == "quick" else (N, 10)
    shares = SHARES[3::3] if size == "quick" else SHARES
    return [
        {"n": n, "share": share, "outcomes": outcomes, "epsilon": 1.0, "repeats": repeats, "seed": 0}
        for outcomes in (1, 16)
        for share in shares
    ]


def simulate(n: int, outcomes: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Rows of norm 1, coefficients of norm 1/2, errors of sd 0.1, outcomes clipped to [-1, 1]."""
    X = rng.standard_normal((n, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    W = rng.standard_normal((D, outcomes))
    W *= 0.5 / np.linalg.norm(W, axis=0)
    return X, np.clip(X @ W + rng.normal(0, SIGMA, (n, outcomes)), -1, 1)


def work(cell: Cell, folder: Path | None) -> Rows:
    """Excess mean squared error over least squares, over what predicting 0 has: means over repeats and outcomes."""
    X, Y = simulate(cell["n"], cell["outcomes"], np.random.default_rng(cell["seed"]))
    S = X.T @ X / len(X)
    best = np.linalg.solve(S, X.T @ Y / len(X))
    whole = float(np.mean(np.sum(best * (S @ best), axis=0)))
    given = {"epsilon": cell["epsilon"], "delta": DELTA, "data_norm": 1, "bounds_y": (-1, 1), "fit_intercept": False}
    given |= {"neighbors": "replace-one", "rows": cell["n"], "n_jobs": 1}
    rows: Rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        for method, how in METHODS.items():
            errors, spent = [], 0.0
            for repeat in range(cell["repeats"]):
                part = None if cell["share"] == 1 else cell["share"]
                model = ReuseCov(**given, **how, subsample=part, random_state=repeat)
                model.fit(X, Y if cell["outcomes"] > 1 else Y[:, 0])
                spent = model.certificate_.epsilon
                away = np.atleast_2d(model.coef_).T - best
                errors.append(float(np.mean(np.sum(away * (S @ away), axis=0))) / whole)
            rows.append(
                {"method": method, "error": np.mean(errors), "sd": np.std(errors), "signal": whole, "spent": spent}
            )
    return rows


def printed_cost(q: float, epsilon: float = 1.0) -> tuple[float, float]:
    """Bounds on the true epsilon of algorithm 4 as printed, for rows of norm 1: at least, and at most.

    Rows z and w with z.w = c move X'X by sqrt(2 (1 - c^2)) and X'Y by sqrt(2 (1 + c)) sqrt(l). *At least:* all other
    rows are w, so the curve of the sample is exact. *At most:* the other rows may be any v; by 9.3 of the mathematics
    the curve is a mean of that of z against v, at most sqrt(2), and that of z against w; c lies in one of a few cells.
    """
    L = np.sqrt(2 * np.log(2.5 / DELTA)) / epsilon
    cells = 1 - np.linspace(1, 0, 21) ** 2

    def gram(c: float) -> float:
        return max(float(np.sqrt(2 * (1 - c * c)) / (4 * q * q * L)), 1e-6)

    def cross(c: float) -> float:
        return float(np.sqrt(2 * (1 + c)) / (2 * L))

    least = (_epsilon(sampled(q, gram(c), "replace-one"), cross(c)) for c in cells)
    most = (_epsilon(_mixed(q, gram(0), gram(a)), cross(b)) for a, b in pairwise(cells))
    return max(least), max(most)


def _mixed(q: float, other: float, own: float) -> Profile:
    """The bound of 9.3: q ((1 - b) D(other) + b D(own)) at log(1 + (e^epsilon - 1)/q)."""

    def curve(epsilon: Floats) -> Floats:
        size = np.abs(epsilon)
        odds = 1 - (1 - q) * np.exp(-size)
        t, b, shrink = size + np.log(odds / q), q / odds, np.exp(np.minimum(epsilon, 0.0))
        found = q * ((1 - b) * gaussian_curve(other, t) + b * gaussian_curve(own, t))
        return np.where(epsilon < 0, 1 - shrink + shrink * found, found)

    return Profile((curve,))


def _epsilon(law: Profile, mu: float) -> float:
    """The epsilon of a sampled X'X beside a Gaussian X'Y, to a relative 1e-5."""
    curve, low, high = together([law], mu), 0.0, 1.0
    while curve(high) > DELTA:
        low, high = high, 2 * high
    while high - low > 1e-5 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if curve(middle) <= DELTA else (middle, high)
    return high


def judge(rows: pd.DataFrame) -> list[Finding]:
    wide = rows.pivot_table(index=["outcomes", "share"], columns="method", values="error")
    ridge = wide["verified, ridge"].unstack("share")
    ratio = ridge[ridge.columns[0]] / ridge[1.0]
    near = ridge[0.5] / ridge[1.0] if 0.5 in ridge else ratio
    shares = sorted(rows.loc[rows["share"] < 1, "share"].unique())
    costs = {share: printed_cost(share) for share in shares}
    fails = max(least for least, _ in costs.values()) > 1
    return [
        Finding(
            "The error falls as the sample grows",
            f"ridge: {ratio.min():.3g} to {ratio.max():.3g} times the error of all rows at {ridge.columns[0]:.0%} of "
            f"them, {near.min():.2f} to {near.max():.2f} times at half",
            bool((ridge.diff(axis=1).iloc[:, 1:] < 0.05 * ridge.iloc[:, 1:]).to_numpy().all()),
        ),
        Finding(
            "Sampling divides the privacy cost by n/s",
            "with the printed noise a stated epsilon of 1 costs, at least and at most, "
            + ", ".join(f"{least:.3g} and {most:.3g} (s = {s:.0%} of n)" for s, (least, most) in costs.items()),
            not fails,
            "it does so for tiny epsilons only, and line 3 scales the noise by 1/n where 1/s is needed (E17)"
            if fails
            else "",
        ),
    ]


def draw(rows: pd.DataFrame) -> dict[str, Figure]:
    figure = Figure(figsize=(WIDTH, 3.2), layout="constrained")
    panes = figure.subplots(1, rows["outcomes"].nunique(), sharey=True, squeeze=False)[0]
    colours = dict(zip(METHODS, (BLUE, INK, ORANGE), strict=True))
    for axes, (outcomes, own) in zip(panes, rows.groupby("outcomes"), strict=True):
        for method, part in own.groupby("method", sort=False):
            s = part["share"] * part["n"]
            axes.plot(s, part["error"], "o-", ms=3, color=colours[method], label=method)
            axes.fill_between(
                s, part["error"] - part["sd"], part["error"] + part["sd"], color=colours[method], alpha=0.12
            )
        axes.axhline(1, color=GREY, lw=0.9, ls=":", label="predicting 0")
        logarithmic(axes.xaxis, axes.yaxis)
        axes.set(xlabel="rows in the sample, s", title=f"{outcomes} outcome{'s' * (outcomes > 1)}")
    panes[0].set_ylabel("excess error over that of predicting 0")
    figure.legend(*panes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    return {"errors": figure}


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """What was measured beside theorem 4.5, printed and mended, at a penalty that suits the noise."""
    own = rows[(rows["outcomes"] == 1) & (rows["method"] == "verified, ridge")]
    n, s, penalty = own["n"].iloc[0], own["share"] * own["n"], 0.02
    facts = {"norm_w": 0.5}
    printed = sampled_rate(s, n, D, 1, 1.0, penalty, **facts)
    mended = sampled_bound(s, D, penalty, 1e-4, 1e-4, **facts)
    columns = {"rows in the sample": s.astype(int), "excess error, ridge": own["error"] * own["signal"]}
    return pd.DataFrame(columns | {"4.5 as printed, an order": printed, "4.5 mended, a bound": mended})


REPRODUCTION = Reproduction(
    name="neel2023-sample",
    title="Error against the size of the sample that X'X comes from (algorithm 4)",
    says="With high probability X'X of a sample is close to that of all rows once the sample is large enough; sampling "
    "divides the privacy cost by n/s. The paper has no experiment: these are theorem 4.5 and algorithm 4, tried.",
    cells=cells,
    work=work,
    draw=draw,
    judge=judge,
    table=table,
    note="100,000 rows of norm 1, d = 10, coefficients of norm 1/2, errors of sd 0.1, epsilon = 1, delta = 1e-6, "
    "replace-one neighbours, ten releases a point; s = n is algorithm 1. The table has lambda = 0.02 and noise of sd "
    "1e-4 on X'X/n and X'y/n for theorem 4.5.",
)
