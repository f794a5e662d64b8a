"""li2021, figure 6: misclassified rows of the Adult data."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from discreet import NAPP, DiscreetWarning, NappAugmentation, NappConstants
from discreet.data.tables import design_matrix
from discreet.families import Logistic
from discreet.gate.entropy import SeededEntropy
from discreet.mechanisms.napp.algorithm import WINDOW, LossSum, NAPPPlan, iterate
from discreet.mechanisms.napp.augmented import Regularizer
from discreet.mechanisms.napp.event import noise_scale
from discreet.mechanisms.napp.release import draw as draw_noise
from discreet.privacy import sensitivity
from discreet.released.units import in_user_units
from experiments.defaults import adult
from experiments.li2021.panels import listed, look, means, panels
from experiments.li2021.simulation import METHODS, SHARE
from experiments.reproduction import Finding, Reproduction, Size
from experiments.study import Cell, Rows
from experiments.uci import Floats

NORM = sensitivity.norm(adult.DOMAIN.design_names(adult.FEATURES), adult.DOMAIN)
NON_PRIVATE = "logistic regression, not private"
EPSILONS, TICKS = tuple(np.arange(1, 11) / 10), (0.1, 0.2, 0.5, 1.0)


def cells(size: Size, folder: Path | None) -> list[Cell]:
    epsilons = (1.0,) if size == "quick" else EPSILONS
    methods = list(METHODS)[:1] if size == "quick" else list(METHODS)
    repeats = {"quick": 1, "normal": 1, "full": 50}[size]
    columns = {method: ("codebook", "z-scored") if "MOOR" in method else ("codebook",) for method in methods}
    grid = [
        {"method": method, "columns": way, "epsilon": epsilon, "Lambda": Lambda, "delta": 1e-4, "seed": seed}
        | {"iterations": 10 if size == "quick" else 80}
        for method in methods
        for way in columns[method]
        for epsilon in (epsilons if way == "codebook" else epsilons[-1:])
        for Lambda in ((0.4,) if size == "quick" else (0.1, 0.4, 1.0))
        for seed in range(repeats)
    ]
    return [*grid, {"method": NON_PRIVATE, "columns": "codebook", "epsilon": 1.0, "Lambda": 0.0, "seed": 0}]


@cache
def read(part: str) -> tuple[Floats, NDArray[np.bool_]]:
    """Features in the user's units, and who is of the positive class."""
    table = adult.table(part)
    X = design_matrix(table.select(adult.FEATURES), adult.DOMAIN.select(adult.FEATURES))
    return X, np.array(table[adult.TARGET].to_pylist()) == adult.POSITIVE


@cache
def scored() -> tuple[LossSum, Floats, NDArray[np.bool_]]:
    """The losses of training rows with z-scored numbers, indicators of levels and a constant; test rows, and classes.

    Means and deviations are those of the training rows, which is not private (E18).
    """
    (train, y), (test, truth) = read("train"), read("test")
    numbers = np.arange(train.shape[1]) < len(adult.NUMBERS)
    mean, sd = np.where(numbers, train.mean(axis=0), 0.0), np.where(numbers, train.std(axis=0), 1.0)
    X, X_test = (np.column_stack([np.ones(len(rows)), (rows - mean) / sd]) for rows in (train, test))
    return LossSum(X, y.astype(float), Logistic()), X_test, truth


def work_scored(cell: Cell) -> Rows:
    """The same fit with z-scored numbers and the noise of rows of norm 1, which theirs exceed."""
    how, epsilon = METHODS[cell["method"]], cell["epsilon"]
    data, X_test, truth = scored()
    d = X_test.shape[1]
    rng = np.random.default_rng([cell["seed"], round(100 * epsilon)])
    b = noise_scale(1.0, SHARE * epsilon, cell["delta"]) * draw_noise(d, 1.0, "gaussian", None, SeededEntropy(rng))
    b = np.abs(b) if how["selection"] == "VS+" else b
    target, slopes = Regularizer("lasso", cell["Lambda"]), np.arange(d) > 0
    plan = NAPPPlan(
        "logistic", target, 1 / epsilon, slopes, how["moor"], how["selection"] is not None, None, cell["iterations"]
    )
    run = iterate(data, Logistic(), plan, b, rng)
    thetas = [run.coefficients(replace(plan, zero=zero)) for zero in (1e-3, None)]
    errors = [float(np.mean((X_test @ theta > 0) != truth)) for theta in thetas]
    return [{"error": errors[0], "error of means": errors[1], "selected": int(np.sum(thetas[0] != 0))}]


@cache
def free() -> float:
    """The share that scikit-learn's logistic regression misclassifies."""
    return float(adult.baselines()[0]["error"])


def work(cell: Cell, folder: Path | None) -> Rows:
    """One fit: test rows misclassified with and without zeros set, and how many coefficients are not 0.

    In the paper rows have norms of up to 1, ours up to B. With B Lambda for Lambda, and B^2 Lambda_0 for Lambda_0, this
    is the same problem.
    """
    if folder is not None:
        os.environ["DISCREET_DATA"] = str(folder)
    if cell["method"] == NON_PRIVATE:
        return [{"error": free(), "error of means": free()}]
    if cell["columns"] == "z-scored":
        return work_scored(cell)
    how, epsilon = METHODS[cell["method"]], cell["epsilon"]
    model = NAPP(
        epsilon=epsilon, delta=cell["delta"], domain=adult.DOMAIN, loss="logistic", alpha=cell["Lambda"] * NORM,
        constants=NappConstants(modulus=NORM**2 / epsilon), published="li2021",
        augmentation=NappAugmentation(n_e=None, iterations=cell["iterations"], keep_trace=True, **how),
        random_state=np.random.default_rng([cell["seed"], round(100 * epsilon)]).integers(2**31), n_jobs=1,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        model.fit_source(adult.table("train"), adult.TARGET, adult.FEATURES)
    X, truth = read("test")
    last = model.trace_["theta"][-min(WINDOW, cell["iterations"] // 2) :].mean(axis=0)
    coef, intercept = in_user_units(adult.DOMAIN, adult.DOMAIN.design_names(adult.FEATURES), last)
    means = float(np.mean((X @ coef + intercept > 0) != truth))
    selected = int(np.sum(model.coef_ != 0))
    return [{"error": adult.misclassified(model), "error of means": means, "selected": selected}]


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    private = frame[(frame["method"] != NON_PRIVATE) & (frame["columns"] == "codebook")]
    table = means(private, ["Lambda", "method", "epsilon"], ["error", "error of means"])

    def places(kind: str, Lambda: float) -> tuple[str, pd.DataFrame]:
        data = table[table["Lambda"] == Lambda].assign(shown=table[kind])
        return f"Lambda = {Lambda:g}{'' if kind == 'error' else ', nothing set to 0'}", data

    def line(axes, method, data):  # type: ignore[no-untyped-def]
        axes.plot(data["epsilon"], 100 * data["shown"], marker="o", ms=3, **look(method))
        if method == table["method"].iloc[-1]:
            axes.axhline(100 * free_share, color="black", lw=0.8, ls=":", label="without privacy")
        axes.set_xscale("log")
        axes.set_xticks(TICKS, [f"{value:g}" for value in TICKS])
        axes.minorticks_off()

    free_share = float(frame[frame["method"] == NON_PRIVATE]["error"].iloc[0])
    kinds = ("error", "error of means")
    words = ("epsilon", "misclassified, %", "")
    return {"adult": panels(kinds, table["Lambda"].unique(), places, line, words)}


def judge(frame: pd.DataFrame) -> list[Finding]:
    free_share = float(frame[frame["method"] == NON_PRIVATE]["error"].iloc[0])
    private = frame[(frame["method"] != NON_PRIVATE) & (frame["columns"] == "codebook")]
    findings = []
    for kind, words in (("error", "zeros set"), ("error of means", "nothing set to 0")):
        mean = private.groupby("method", sort=False)[kind].mean().round(4)
        moor = mean[[name for name in mean.index if "MOOR" in name]]
        order = bool(len(moor) == 3 and moor.iloc[0] < moor.iloc[1] < moor.iloc[2])
        why = "" if order else (
            "Zeros are what hurts: signs of b'|theta| never settle on these collinear columns, so coefficients that "
            "matter are set to 0, most under VS+. With nothing set to 0 the order is the paper's."
        )  # fmt: skip
        findings.append(Finding("VS+ misclassifies least, then VS", f"{words}: {listed(mean)}", order, why))
    top = private[(private["epsilon"] == private["epsilon"].max()) & (private["method"] == "NAPP-VS+, MOOR")]
    both = [float(top[kind].mean()) for kind in ("error", "error of means")]
    words = (
        f"{100 * both[0]:.1f} %, or {100 * both[1]:.1f} % with nothing set to 0; not private {100 * free_share:.1f} %"
    )
    near = min(both) < free_share + 0.005
    claim = "VS+ at epsilon = 1 has about 15.5 %, near the 15.2 % without privacy"
    why = "" if near else (
        "By the codebook's bounds most columns vary little within [-1, 1], and the noise is for the largest row. With "
        "z-scored numbers, see below, the level is the paper's."
    )  # fmt: skip
    findings.append(Finding(claim, words, near, why))
    other = frame[(frame["columns"] == "z-scored") & (frame["method"] == "NAPP-VS+, MOOR")]
    both = [float(other[kind].mean()) for kind in ("error", "error of means")]
    words = f"{100 * both[0]:.1f} %, or {100 * both[1]:.1f} % with nothing set to 0"
    why = (
        "A variant of ours, claimed: numbers are z-scored by means and deviations of the data (E18), and the noise is "
        "that of rows of norm 1, where norms are 3 on average and up to 14. It breaks assumption 1: the true loss of "
        "a row is up to 14 times as large as stated."
    )
    findings.append(Finding(f"{claim}: with z-scored numbers", words, min(both) < free_share + 0.005, why))
    if private["method"].nunique() > 3:
        wide = private.pivot_table(index=["epsilon", "Lambda"], columns="method", values="error of means")
        pairs = (("NAPP-VS+, MOOR", "NAPP-VS+"), ("NAPP-VS, MOOR", "NAPP-VS"), ("NAPP-ERM, MOOR", "DP-ERM"))
        gap = float(np.mean([np.abs(wide[a] - wide[b]).mean() for a, b in pairs]))
        findings.append(Finding("MOOR is not obvious", f"mean difference {gap:.4f}", gap < 0.01))
    return findings


REPRODUCTION = Reproduction(
    name="li2021-fig6",
    title="Adult: misclassified test rows",
    says="NAPP-VS+ performs best in general, followed by NAPP-VS. At epsilon = 1 NAPP-VS+ misclassifies about 15.5 %, "
    "near the 15.2 % without privacy. MOOR is not obvious in most cases.",
    cells=cells,
    work=work,
    draw=draw,
    judge=judge,
    needs_data=True,
    note="One fit a point, augmented rows in their limit, Lambda_0 = 1/epsilon for rows of norm 1, as the paper says. "
    "Its preparation of the columns is not printed: ours are 13 features with the codebook's bounds and levels, 97 "
    "coefficients. Signs of b'|theta| alternate on these collinear columns and never settle; so figures are given "
    "with zeros set, as the paper has it, and without.",
)
