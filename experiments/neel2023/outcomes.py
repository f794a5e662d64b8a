"""neel2023: error against the number of outcomes, l.

Every method keeps the same promise, for replace-one neighbours, with noise that is exactly calibrated; the seed makes
each release a simulation. The error is the mean squared difference of predictions from those of least squares without
privacy, over that of predicting the mean: 0 is as good as without privacy, 1 is as good as nothing.

* independent: one regression for each outcome at mu/sqrt(l); a few of the outcomes are run, for they are exchangeable.
* gaussian, projection: `ReuseCov` with private and with public outcomes, solved noise-aware.
* ridge: the same releases solved with neel2023's lambda.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from discreet import DiscreetWarning, Domain
from discreet.data.public_outcomes import PublicOutcomes
from discreet.drivers.run import release_moments
from discreet.drivers.sources import MomentsSource
from discreet.gate.session import Session, promised
from discreet.mechanisms.reuse_covariance.estimator import independent_runs, projected, split_budget, with_squares
from discreet.privacy.sensitivity import norm as norm_of
from discreet.recipes.outcomes import ManyOutcomes
from discreet.released.equations import normal_equations
from discreet.results.models import Solve, solve_many
from discreet.results.plots.style import BLUE, GREY, ORANGE, WIDTH, logarithmic
from discreet.results.results import results
from experiments import uci
from experiments.neel2023.tables import KINDS, UCI_SETS, Problem, genotype_chunks, problem, uci_chunks
from experiments.reproduction import Finding, Reproduction, Size
from experiments.study import Cell, Rows

GRID = [1, 4, 16, 64, 256, 1024, 4096]
DRAWS = {1: 12, 4: 8, 16: 6, 64: 4, 256: 3, 1024: 2, 4096: 1}
RUNS, COLUMNS, EPSILON = 6, 100, 1.0
METHODS = ("independent", "gaussian", "projection", "gaussian, ridge", "projection, ridge")


def cells(size: Size, folder: Path | None) -> list[Cell]:
    """`most`: the largest number of outcomes. `products`: up to how many there is a projection, which needs Y'Y."""
    if size == "quick":
        return [{"data": "strong", "n": 20_000, "most": 16, "products": 16}]
    sizes = ((200_000, 256), (20_000, 4096))
    made: list[Cell] = [{"data": k, "n": n, "most": 4096, "products": p} for n, p in sizes for k in KINDS]
    return made + [{"data": name, "most": 1024, "products": 1024} for name in UCI_SETS if folder is not None]


def load(cell: Cell, folder: Path | None) -> tuple[Problem, list[int]]:
    """The table of a cell, and the numbers of outcomes."""
    most, grid = cell["most"], [count for count in GRID if count <= cell["most"]]
    if cell["data"] in KINDS:
        d, bounds = COLUMNS, {"bounds_X": (0, 2)}
        chunks = genotype_chunks(cell["n"], d, most, cell["data"], seed=0)
    else:
        assert folder is not None
        d = next(uci_chunks(cell["data"], folder, most))[0].shape[1]
        chunks, bounds = uci_chunks(cell["data"], folder, most), {"data_norm": 1.0}  # type: ignore[dict-item]
    names = [f"x{i}" for i in range(d)], [f"y{j}" for j in range(most)]
    domain = Domain.from_bounds(*names, bounds_y=(-1, 1), **bounds)  # type: ignore[arg-type]
    windows = [(draw * count, draw * count + count) for count in grid for draw in draws(count, most)]
    return problem(chunks, domain, most, windows, cell["products"]), grid


def draws(count: int, most: int) -> range:
    """Repeats, each with outcomes of its own."""
    return range(min(DRAWS[count], most // count))


def work(cell: Cell, folder: Path | None) -> Rows:
    """All methods on one table; means and standard errors."""
    p, grid = load(cell, folder)
    found: Rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        for count in grid:
            for draw in draws(count, cell["most"]):
                found += shared(p, draw * count, count, draw, cell["products"])
            found += independent(p, count)
    grouped = pd.DataFrame(found).groupby(["outcomes", "method"], sort=False)["error"]
    table = grouped.agg(error="mean", se="sem", repeats="size").reset_index()
    facts = {"rows": p.n, "d": len(p.A) - 1} | ({"c": effect_size(p)} if cell["data"] in KINDS else {})
    return [{k: None if pd.isna(v) else v for k, v in row.items()} | facts for row in table.to_dict("records")]


def effect_size(p: Problem) -> float:
    """What X'X's noise costs over that of one outcome's X'y: c = R^2 |w|^2/4, for the made-up tables."""
    w = p.best[:64].copy()
    w[:, 0] += w[:, 1:].sum(axis=1)  # the intercept of columns that are mapped to [-1, 1]
    return float((COLUMNS + 1) * np.mean(np.sum(w**2, axis=1)) / 4)


def shared(p: Problem, start: int, count: int, draw: int, products: int) -> Rows:
    """ReuseCov with private outcomes, and with public ones where Y'Y is there."""
    domain = p.moments.domain
    targets = p.moments.targets[start : start + count]
    design = tuple(e.name for e in domain.entries[: len(p.A)])
    promise = promised(EPSILON, uci.delta(p.n), p.n, "replace-one")
    found = []
    for mechanism in ("gaussian", "projection") if start + count <= products else ("gaussian",):
        public = mechanism == "projection"
        facts = _public(p, start, count) if public else None
        split = split_budget(domain, design, targets, promise, float(p.n) if public else None)
        seed = [draw, count, int(public)]
        session = Session(promise, "study", p.n, np.random.default_rng(seed))
        norm = None if facts is None else facts.norm
        recipe = ManyOutcomes(session.facts(domain), (), design, targets, split, norm)
        released = release_moments(recipe, MomentsSource(p.moments), session)
        raw = normal_equations(released, targets)
        e = raw if facts is None else projected(with_squares(raw, facts), facts, norm_of(design, domain))
        methods: dict[str, Solve] = {mechanism: "noise-aware", f"{mechanism}, ridge": "ridge"}
        for name, solve in methods.items():
            fitted = results(released, e, solve_many(released, e, solve), solve, raw)
            off = fitted.table("coef") - p.best[start : start + count]
            excess = np.einsum("ji,ik,jk->j", off, p.A, off)
            ratio = float(excess.sum() / p.explained(len(p.best))[start : start + count].sum())
            found.append({"method": name, "outcomes": count, "error": ratio})
    return found


def _public(p: Problem, start: int, count: int) -> PublicOutcomes:
    at = slice(start, start + count)
    gram = np.asarray(p.YY)[at, at]
    norm2 = math.ceil(p.norms[start, start + count] ** 2 * 2.0**40)
    return PublicOutcomes(p.n, norm2, p.sums[at], gram, None)


def independent(p: Problem, count: int) -> Rows:
    """A few of the runs that an outcome each would take."""
    names = [name for name in p.moments.domain.columns if name.startswith("x")]
    rows = []
    for j in range(min(RUNS, len(p.best))):
        rng = np.random.default_rng([j, count])
        given = {"epsilon": EPSILON, "delta": uci.delta(p.n), "rows": p.n, "neighbors": "replace-one", "runs": count}
        (fit,) = independent_runs(p.moments, [p.moments.targets[j]], names, random_state=rng, **given)
        off = np.array(list(fit.predicting.values())) - p.best[j]
        error = float(off @ p.A @ off / p.explained(len(p.best))[j])
        rows.append({"method": "independent", "outcomes": count, "error": error})
    return rows


def growth(wide: pd.DataFrame, method: str, low: int, high: int) -> pd.Series:
    """By which power of l the error grows between two numbers of outcomes."""
    errors = wide[method].unstack("outcomes")
    return np.log(errors[high] / errors[low]) / np.log(high / low)


def judge(rows: pd.DataFrame) -> list[Finding]:
    wide = rows.pivot_table(index=["data", "rows", "d", "outcomes"], columns="method", values="error")
    large = wide[wide.index.get_level_values("rows") == rows["rows"].max()]
    top = min(16, int(rows["outcomes"].max()))
    naive, shared = growth(large, "independent", 1, top), growth(large, "gaussian", 1, top)
    both = wide.dropna(subset=["projection"]).reset_index()
    few = both[both["outcomes"] * np.sqrt(both["d"]) > both["rows"]]
    better = wide["gaussian"] < wide["independent"]
    several = better[better.index.get_level_values("outcomes") >= 4]
    c = ", ".join(f"{size:.1f} ({data})" for data, size in rows.groupby("data")["c"].mean().dropna().items())
    return [
        Finding(
            "running a private regression l times costs a factor sqrt(l)",
            f"error grows as l^{naive.min():.2f} to l^{naive.max():.2f} from 1 to {top} outcomes, n = {_most(rows)}",
            bool(naive.between(0.35, 0.75).all()),
        ),
        Finding(
            "PRIMO for free: no dependence on l while l < R^2 |w|^2/Y^2",
            f"ReuseCov's error grows as l^{shared.min():.2f} to l^{shared.max():.2f} there",
            bool(shared.max() < 0.1),
            f"less than sqrt(l), but not flat: the error is as (sqrt(c) + sqrt(l))^2, c = R^2 |w|^2/4, here {c}; it is "
            "free in the limit of effects that are large for their bounds",
        ),
        Finding(
            "ReuseCov improves on the naive baseline",
            f"smaller error in {several.sum()} of {len(several)} cases with 4 outcomes or more",
            bool(several.mean() > 0.85),
            "" if several.all() else "elsewhere both predict no better than the mean",
        ),
        Finding(
            "with public outcomes the projection improves on the Gaussian mechanism when n < l sqrt(d)",
            ", ".join(
                f"{r.data} l = {r.outcomes:,}: {r.projection:.3g} against {r.gaussian:.3g}" for r in few.itertuples()
            )
            or "not run",
            bool((few["projection"] < few["gaussian"]).all()) if len(few) else None,
        ),
    ]


def _most(rows: pd.DataFrame) -> str:
    return f"{rows['rows'].max():,}"


def table(rows: pd.DataFrame) -> pd.DataFrame:
    wide = rows.pivot_table(index=["data", "rows", "outcomes"], columns="method", values="error", sort=False)
    wide = wide[[m for m in METHODS if m in wide]].reset_index().rename_axis(columns=None)
    return wide.astype({"rows": int, "outcomes": int})


def draw(rows: pd.DataFrame) -> dict[str, Figure]:
    """One panel a table: error against the number of outcomes, both logarithmic."""
    panels = list(dict.fromkeys(zip(rows["data"], rows["rows"], strict=True)))
    across = min(2, len(panels))
    figure = Figure(figsize=(WIDTH, 2.3 * -(-len(panels) // across) + 0.5), layout="constrained")
    axes = figure.subplots(-(-len(panels) // across), across, sharex=True, sharey=True, squeeze=False).flatten()
    colours = {"independent": ORANGE, "gaussian": BLUE, "projection": "#009E73"}
    marks = {"independent": "s-", "gaussian": "o-", "projection": "^-"}
    for ax, (data, n) in zip(axes, panels, strict=True):
        own = rows[(rows["data"] == data) & (rows["rows"] == n)]
        for method in METHODS:
            part, name = own[own["method"] == method], method.split(",")[0]
            style = marks[name] if name == method else marks[name][0] + ":"
            ax.plot(part["outcomes"], part["error"], style, color=colours[name], ms=3, lw=1.2, label=method)
        ax.axhline(1, color=GREY, lw=0.8)
        logarithmic(ax.xaxis, ax.yaxis)
        ax.set(ylim=(8e-3, 2), title=f"{data}, n = {n:,}")
        ax.set(xlabel="outcomes", ylabel="error / that of the mean")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return {"errors": figure}


REPRODUCTION = Reproduction(
    name="neel2023-outcomes",
    title="Error against the number of outcomes",
    says="Applying a private regression l times increases the error by sqrt(l); sharing X'X removes the dependence on "
    "l where computing X'X is the main source of error; with public outcomes, projecting X'Y improves on the Gaussian "
    "mechanism when n < l sqrt(d). The paper has no experiment: these are its theorems, tried.",
    cells=cells,
    work=work,
    draw=draw,
    judge=judge,
    table=table,
    note="epsilon = 1, delta = min(1e-6, 1/n^2), replace-one neighbours, exact calibration for all (the printed "
    "constants are E16). separate, correlated, strong: 100 genotype-like columns, outcomes with effects of their own; "
    "made up of 16 common factors; nine tenths explained. keggundirected, pol: every second column as a feature, "
    "outcomes random waves of all columns; that preparation is not private (E18). For n = 200,000 the projection is "
    "run up to 256 outcomes, to save time. See [many outcomes](../howto/outcomes.md).",
)
