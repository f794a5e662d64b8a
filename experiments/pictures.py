"""Differential privacy in five pictures, for ``docs/explanation/pictures.md``: ``python -m experiments.pictures``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import norm

from discreet import AdaSSP, DPLinearRegression
from discreet.core.placeholders import Unavailable
from discreet.privacy import gdp
from discreet.results.plots.style import GREY, INK, LOOKS, WIDTH, chart, legend, logarithmic, style
from discreet.results.report.promise import at_most

FOLDER = Path("docs/explanation/pictures")
DELTA = 1e-6
HIGHS = (5, 8, 15, 30, 150, 1500)
ROWS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000)


def two_worlds() -> Any:
    """The law of a released number with one person and without, for a strong and for a weak promise."""
    figure = Figure(figsize=(WIDTH, 2.4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    x = np.linspace(-4, 6, 400)
    for axes, epsilon in zip(panels, (1.0, 10.0), strict=True):
        mu = gdp.mu(epsilon, DELTA)
        for shift, look, words in ((0.0, LOOKS[0], "without you"), (mu, LOOKS[1], "with you")):
            axes.plot(x, norm.pdf(x - shift), color=look["color"], ls=look["ls"], lw=1.8, label=words)
        axes.fill_between(x, norm.pdf(x), norm.pdf(x - mu), color=GREY, alpha=0.25, lw=0)
        axes.set_title(f"epsilon {epsilon:g}")
        axes.set_xlabel("the released number, in units of its noise")
        axes.set_yticks([])
    panels[0].legend(loc="upper right")
    panels[0].set_ylabel("how likely")
    return figure


def odds() -> Any:
    """How certain a reader can be at most that somebody is in the table, against how certain before."""
    figure, axes = chart()
    before = np.linspace(0.001, 0.999, 201)
    axes.plot(before, before, color=GREY, lw=1)
    axes.text(0.97, 0.93, "nothing learnt", color=GREY, ha="right", va="top", rotation=33)
    for look, epsilon in zip(LOOKS, (0.1, 0.5, 1.0, 3.0), strict=False):
        after = [at_most(float(p), epsilon=epsilon) for p in before]
        axes.plot(before, after, color=look["color"], ls=look["ls"], lw=1.8, label=f"epsilon {epsilon:g}")
    ticks = [0, 0.25, 0.5, 0.75, 1]
    axes.set_xticks(ticks, [f"{t:.0%}" for t in ticks])
    axes.set_yticks(ticks, [f"{t:.0%}" for t in ticks])
    axes.set_xlabel("certain before the release")
    axes.set_ylabel("certain after it, at most")
    legend(figure, axes, columns=4)
    return figure


def people() -> Any:
    """Sampling error and privacy noise of a coefficient, as fits report them, against the number of people."""
    figure, axes = chart()
    for look, epsilon in zip(LOOKS, (0.3, 1.0, 3.0), strict=False):
        found = [(n, noise) for n in ROWS if (noise := _errors(n, epsilon)[0])]
        axes.plot(*zip(*found, strict=True), **look, ms=4, lw=1.8, label=f"privacy noise, epsilon {epsilon:g}")
    axes.plot(ROWS, [_errors(n, 3.0)[1] for n in ROWS], color=INK, lw=1.2, label="sampling error")
    logarithmic(axes.xaxis, axes.yaxis)
    axes.set_xlabel("people in the table")
    axes.set_ylabel("standard error, days a year of age")
    legend(figure, axes)
    return figure


def _stays(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Made-up stays in hospital: age, smoker, days."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(18, 90, n), rng.integers(0, 2, n)])
    return X, 1 + 0.05 * X[:, 0] + 1.5 * X[:, 1] + rng.exponential(1, n)


def _errors(n: int, epsilon: float) -> tuple[float, float]:
    """Privacy noise and sampling error of the coefficient of age; 0 where there is no interval."""
    X, y = _stays(n)
    facts = {"bounds_X": ([18, 0], [90, 1]), "bounds_y": (0, 30), "random_state": 0}
    results = DPLinearRegression(epsilon=epsilon, delta=DELTA, **facts).fit(X, y).results_
    noise, error = results.privacy_noise, results.std_err
    if isinstance(error, Unavailable) or not np.isfinite(error["x0"]):
        return 0.0, 0.0
    return float(noise["x0"]), float(np.sqrt(error["x0"] ** 2 - noise["x0"] ** 2))


def bounds(fits: int = 20) -> Any:
    """The effect of smoking, for upper bounds of the outcome from too narrow to far too wide."""
    X, y = _stays(20_000)
    figure, axes = chart()
    axes.axhline(1.5, color=GREY, lw=1)
    axes.text(-0.3, 1.53, "the truth", color=GREY, ha="left", va="bottom")
    for shift, look, method in ((-0.1, LOOKS[1], AdaSSP), (0.1, LOOKS[0], DPLinearRegression)):
        for place, high in enumerate(HIGHS):
            facts = {"bounds_X": ([18, 0], [90, 1]), "bounds_y": (0, high)}
            found = [
                method(epsilon=1, delta=DELTA, **facts, random_state=seed).fit(X, y).coef_[1] for seed in range(fits)
            ]
            label = {AdaSSP: "AdaSSP, bounds as declared", DPLinearRegression: "the default"}[method]
            axes.errorbar(
                place + shift,
                np.mean(found),
                np.std(found),
                color=look["color"],
                marker=look["marker"],
                ms=5,
                lw=1.5,
                label=label if place == 0 else None,
            )
    axes.set_xticks(range(len(HIGHS)), [f"{high:,}" for high in HIGHS])
    axes.set_ylim(0, 3.2)
    axes.set_xlabel("declared upper bound of the stay, days (all are below 17)")
    axes.set_ylabel("effect of smoking found, days")
    legend(figure, axes, columns=1)
    return figure


def budget() -> Any:
    """What several releases cost together, beside any number of models of one release."""
    figure, axes = chart()
    counts = np.arange(1, 11)
    mu = gdp.mu(1.0, DELTA)
    together = [gdp.epsilon(gdp.compose([mu] * int(k)), DELTA) for k in counts]
    axes.plot(counts, counts, color=GREY, ls=":", lw=1.5, label="a fit to the data each: epsilons added up")
    axes.plot(counts, together, **LOOKS[1], ms=4, lw=1.8, label="the same, counted exactly")
    axes.plot(counts, np.ones(len(counts)), **LOOKS[0], ms=4, lw=1.8, label="one release, models of it")
    axes.set_xticks(counts)
    axes.set_ylim(0, 10.5)
    axes.set_xlabel("models")
    axes.set_ylabel("epsilon of all together")
    legend(figure, axes, columns=1)
    return figure


PICTURES: dict[str, Callable[[], Any]] = {
    "1-two-worlds": two_worlds,
    "2-odds": odds,
    "3-people": people,
    "4-bounds": bounds,
    "5-budget": budget,
}


def draw(name: str, folder: Path) -> Path:
    """One picture, as SVG that is the same in every run."""
    with style():
        PICTURES[name]().savefig(folder / f"{name}.svg", metadata={"Date": None})
    return folder / f"{name}.svg"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.pictures", description=__doc__)
    parser.add_argument("names", nargs="*", default=list(PICTURES), help=", ".join(PICTURES))
    parser.add_argument("--out", type=Path, default=FOLDER)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.names:
        print(draw(name, given.out))


if __name__ == "__main__":
    main()
