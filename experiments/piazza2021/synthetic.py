"""piazza2021's figures 3, 4 and 5: adaSSPbudget on made-up data, by the eigenvalue's share gamma of the budget."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.piazza2021.budget import EPSILONS, FEW, GAMMAS, by_gamma, flatness, lines, trials
from experiments.reproduction import Finding, Reproduction, Size
from experiments.study import Cell, Rows
from experiments.uci import Floats

D, ROWS = 10, (1280, 20_480, 327_680)


def cells(size: Size, folder: Path | None) -> list[Cell]:
    few = size == "quick"
    rows, epsilons, count = (ROWS[:2], EPSILONS[2:], 3) if few else (ROWS, EPSILONS, 32)
    return [{"n": n, "epsilon": e, "trials": count, "few": few} for n in rows for e in epsilons]


def simulate(n: int) -> tuple[Floats, Floats, Floats]:
    """Rows of norm 1, theta of norm 1, errors of sd 0.1: the same theta for every n."""
    theta = np.random.default_rng(3).standard_normal(D)
    theta /= np.linalg.norm(theta)
    rng = np.random.default_rng([3, n])
    X = rng.standard_normal((n, D))
    X /= np.linalg.norm(X, axis=1)[:, None]
    return X, X @ theta + 0.1 * rng.standard_normal(n), theta


def work(cell: Cell, folder: Path | None) -> Rows:
    X, y, theta = simulate(cell["n"])
    return trials(X, y, theta, cell["epsilon"], FEW if cell["few"] else GAMMAS, cell["trials"])


def judge_efficiency(rows: pd.DataFrame) -> list[Finding]:
    wide = by_gamma(rows, "efficiency")
    best, ssp = wide.filter(like="adaSSPbudget").min(axis=1), wide["SSP"]
    small = [(n, e) for n, e in wide.index if e == 0.001 or (e == 0.01 and n < 3e5) or (e == 0.1 and n < 2e4)]
    large = [(n, e) for n, e in wide.index if e == 1 or (e == 0.1 and n > 2e4)]
    third = wide["adaSSPbudget 1/3"]
    half = by_gamma(rows[~(rows["gamma"] > 0.5)], "efficiency").filter(like="adaSSPbudget").max(axis=1) / best
    return [
        *flatness(rows, "efficiency"),
        Finding(
            "for gamma <= 0.5 the performance is within one order of magnitude of the best gamma",
            f"at most {half.max():.1f} times that; gamma = 1/3 at most {(third / best).max():.1f} times",
            bool(half.max() < 10),
        ),
        _count("for small n and epsilon adaSSPbudget outperforms SSP (gamma = 1/3)", (third < ssp)[small]),
        _count("for large n and epsilon no gamma outperforms SSP", (ssp < best)[large]),
        _count("there adaSSPbudget (1/3) outperforms constSSPfull", (third < wide["constSSPfull"])[large]),
    ]


def _count(claim: str, holds: pd.Series) -> Finding:
    not_ = ", ".join(f"n = {n:,}, epsilon {e:g}" for n, e in holds.index[~holds])
    return Finding(
        claim,
        f"in {holds.sum()} of {len(holds)} cases" + (f"; not {not_}" if not_ else ""),
        bool(holds.mean() > 0.75) if len(holds) else None,
    )


def judge_zero(rows: pd.DataFrame) -> list[Finding]:
    own = rows[rows["method"] == "adaSSPbudget"]
    zero = own.pivot_table(index=["n", "epsilon"], columns="gamma", values="lambda_zero")
    middle = zero[[g for g in zero if 0.05 <= g <= 0.5]]
    constant = middle.max(axis=1) - middle.min(axis=1) <= 0.1
    up = zero.mean(axis=1).unstack("n")
    varying = ", ".join(f"n = {n:,}, epsilon {e:g}" for n, e in constant.index[~constant])
    smallest = zero[zero.index.get_level_values("epsilon") == 0.001]
    return [
        Finding(
            "lambda is set to 0 more often as epsilon and as n grow",
            "; ".join(f"n = {n:,}: " + ", ".join(f"{p:.2f}" for p in up[n]) for n in up)
            + f" at epsilon {', '.join(f'{e:g}' for e in up.index)}, mean over gamma",
            bool((up.diff().dropna() >= -0.01).all().all() and (up.T.diff().dropna() >= -0.01).all().all()),
        ),
        Finding(
            "it is never 0 at epsilon = 0.001",
            f"largest proportion {smallest.max().max():.2f}" if len(smallest) else "not run",
            bool((smallest == 0).all().all()) if len(smallest) else None,
        ),
        Finding(
            "insensitive to gamma in 0.05 <= gamma <= 0.5, but for one curve (n = 327,680, epsilon 0.01)",
            f"it varies by at most 0.1 in {constant.sum()} of {len(constant)} curves"
            + (f"; not {varying}" if varying else ""),
            bool(len(constant) - constant.sum() <= 2),
        ),
    ]


def judge_prediction(rows: pd.DataFrame) -> list[Finding]:
    wide = by_gamma(rows, "prediction")
    large = [(n, e) for n, e in wide.index if e == 1 or (e == 0.1 and n > 2e4)]
    best, third = wide.filter(like="adaSSPbudget").min(axis=1), wide["adaSSPbudget 1/3"]
    ratio = (best / wide["SSP"])[large]
    means = third.unstack("n").iloc[::-1]
    return [
        *flatness(rows, "prediction"),
        Finding(
            "for large enough n and epsilon adaSSPbudget never outperforms SSP",
            f"best gamma over SSP: {ratio.min():.3f} to {ratio.max():.3f}",
            bool((ratio > 0.99).all()),
            "a tie: both are near the error of least squares" if ratio.min() < 1.001 else "",
        ),
        Finding(
            "the error improves as n and epsilon grow",
            f"gamma = 1/3: {third.max():.3g} at worst, {third.min():.3g} at best",
            bool(third.idxmin() == max(third.index) and (means.diff().dropna() >= -0.05).all().all()),
        ),
    ]


def draw(what: str, label: str, log: bool, rows: pd.DataFrame) -> dict[str, Figure]:
    return {what: lines(rows, what, label, "n", log=log)}


NOTE = (
    "d = 10, n = 1,280, 20,480 and 327,680, 32 trials with 90 % of the rows, delta = n^-1.1, rho = 0.05, as in the "
    "paper. y is divided by its largest absolute value, which is not private (E18). Methods as published: their noise "
    "does not suffice above epsilon = 9.7 (E15), which does not matter here."
)


def _declare(number: int, title: str, says: str, what: str, label: str, log: bool, judge: object) -> Reproduction:
    return Reproduction(
        name=f"piazza2021-fig{number}",
        title=title,
        says=says,
        cells=cells,
        work=work,
        draw=partial(draw, what, label, log),
        judge=judge,  # type: ignore[arg-type]
        note=NOTE,
        study="piazza2021-synthetic",
    )


REPRODUCTIONS = (
    _declare(
        3,
        "Relative efficiency against gamma, made-up data",
        "For gamma <= 0.5 the performance is within one order of magnitude of the best. adaSSPbudget outperforms SSP "
        "for small n and epsilon; for large ones no gamma makes it do so. It worsens as gamma approaches 1.",
        "efficiency",
        "relative efficiency",
        True,
        judge_efficiency,
    ),
    _declare(
        4,
        "How often lambda is 0, made-up data",
        "As epsilon and n increase, lambda is 0 more often; never at epsilon = 0.001. Mostly insensitive to gamma: "
        "only the curve of n = 327,680 at epsilon = 0.01 suggests otherwise.",
        "lambda_zero",
        "proportion of lambda = 0",
        False,
        judge_zero,
    ),
    _declare(
        5,
        "Prediction error against gamma, made-up data",
        "For large enough epsilon and n adaSSPbudget can never outperform SSP; it is not highly sensitive to gamma, "
        "and the error improves with n and epsilon. An error of 1 is that of predicting the mean.",
        "prediction",
        "test error / error of the mean",
        True,
        judge_prediction,
    ),
)
