"""Figures 1 and 2 of paper 001, per-instance privacy losses beside DP: ``python -m experiments.per_instance_001``.

* Rows have norm 1 (normal, scaled), y = x'theta0 + N(0, 0.25^2) clipped to [-1, 1], theta0 of norm 0.8; delta = 1e-6.
  The paper prints neither n nor d: d = 10, and n from 50, where its two ratios come out as printed, to 10,000.
* Figures 1 and 2, left: ridge coefficients with lambda = 1 and Gaussian noise of sd 4 in every coordinate. Losses are
  exact: mu = |theta_hat - theta_hat'|/4 (erratum E7 concerns the printed formula).
* DP is the largest loss over all tables of at most n rows. `dp` is attained by a table that we give, so the true one
  is at least this large; `dp_proven` is an upper bound. Without a bound on n there is no DP guarantee at all.
* pDP for all: the worst target for the table at hand, found by ascent from many starts (`for_all`), and a bound.
* Figure 2, right: one sample from the posterior with precision gamma. pDP by the exact curve (E1, E2 concern the
  printed one); DP by the exponential mechanism needs the sample restricted to |theta| <= R, here the least R that
  holds theta_hat, in the paper's favour: epsilon = gamma (1 + R)^2/2. The excess risk of the sample is d/(2 gamma).
* These tables are made up. Of real data such figures would be confidential.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.common import report
from scipy.optimize import minimize, minimize_scalar

from discreet.per_instance import curves
from discreet.per_instance.leverage import Ridge
from discreet.per_instance.posterior import ops_epsilon
from discreet.privacy import ops
from discreet.privacy.ops_calibration import coefficient_bound
from discreet.privacy.output_perturbation import shift_bound
from experiments import study
from experiments.uci import Floats

DELTA, SIGMA, PENALTY, D, NOISE = 1e-6, 4.0, 1.0, 10, 0.25
ROWS = (50, 100, 300, 1000, 3000, 10_000)
GAMMAS = np.geomspace(0.1, 100, 13).tolist()
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
NAMES = ("low", "quarter", "median", "three_quarters", "high", "max")


def simulate(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    X = rng.standard_normal((n, D))
    X /= np.linalg.norm(X, axis=1)[:, None]
    theta = rng.standard_normal(D)
    theta *= 0.8 / np.linalg.norm(theta)
    return X, np.clip(X @ theta + NOISE * rng.standard_normal(n), -1, 1)


def epsilon(change: Any) -> Floats:
    return curves.epsilon(np.asarray(change) / SIGMA, DELTA)


def attained(n: int) -> float:
    """A change of the coefficients that two tables of norm-1 rows have.

    Along one axis X'X is s and all outcomes align, so theta is sqrt(n s)/(s + lambda); the new row lies on the axis and
    disagrees.
    """

    def change(s: float) -> float:
        return (1 + math.sqrt((n - 1) * s) / (s + PENALTY)) / (s + PENALTY + 1)

    found = minimize_scalar(lambda s: -change(s), bounds=(1e-6, 4), method="bounded")
    return -float(found.fun)


def proven(n: int) -> float:
    return (1 + coefficient_bound(PENALTY, n, 1.0, 1.0)) * shift_bound(PENALTY, 1.0)


def worst_target(fit: Ridge, rng: np.random.Generator) -> tuple[float, float]:
    """The largest change by one more row of norm at most 1: found by ascent, and a bound."""

    def loss(v: Floats) -> float:
        x = v / max(1.0, float(np.linalg.norm(v)))
        u = fit.inverse @ x
        return -float((1 + abs(x @ fit.theta)) * np.linalg.norm(u) / (1 + x @ u))

    starts = [fit.vectors[:, 0], -fit.vectors[:, 0], *rng.standard_normal((6, D))]
    best = max(-float(minimize(loss, start / np.linalg.norm(start), method="Powell").fun) for start in starts)
    h = float(fit.values[0]) + PENALTY
    return best, (1 + float(np.linalg.norm(fit.theta))) * shift_bound(h, 1.0)


def spread(values: Floats) -> dict[str, float]:
    return dict(zip(NAMES, np.quantile(values, LEVELS).tolist(), strict=True))


def output(cell: study.Cell) -> study.Rows:
    """Noise of one sd on the coefficients."""
    n = cell["n"]
    rng = np.random.default_rng([1, n, cell["seed"]])
    X, y = simulate(n, rng)
    fit = Ridge(X.T @ X, X.T @ y, PENALTY)
    all_, bound = worst_target(fit, rng)
    losses = epsilon(fit.without(X, y).shift)
    row = spread(losses) | {"dp": float(epsilon(attained(n))), "dp_proven": float(epsilon(proven(n)))}
    row |= {"for_all": float(epsilon(all_)), "for_all_bound": float(epsilon(bound))}
    if n == ROWS[0]:
        row["losses"] = np.sort(losses).round(6).tolist()  # type: ignore[assignment]
    return [row]


def posterior(cell: study.Cell) -> study.Rows:
    """One sample from the posterior."""
    n, gamma = cell["n"], cell["gamma"]
    rng = np.random.default_rng([2, n, cell["seed"]])
    X, y = simulate(n, rng)
    fit = Ridge(X.T @ X, X.T @ y, PENALTY)
    R = float(np.linalg.norm(fit.theta))
    m, r = 1 / (float(fit.values[0]) + PENALTY), 1 + R
    row = spread(ops_epsilon(fit.without(X, y), gamma, DELTA)) | {"dp": gamma * (1 + R) ** 2 / 2}
    return [row | {"for_all": float(ops.epsilon(DELTA, m, r, gamma)), "excess_risk": D / (2 * gamma)}]


def work(cell: study.Cell) -> study.Rows:
    return output(cell) if cell["figure"] == "output" else posterior(cell)


def cells(seeds: int) -> list[study.Cell]:
    grid: list[study.Cell] = [{"figure": "output", "n": n, "seed": s} for n in ROWS for s in range(seeds)]
    return grid + [
        {"figure": "posterior", "n": 1000, "gamma": gamma, "seed": s} for gamma in GAMMAS for s in range(seeds)
    ]


def average(rows: study.Rows, by: str) -> list[dict[str, Any]]:
    """Means over the seeds, and the ratios that the paper states."""
    lines = []
    for value in dict.fromkeys(row[by] for row in rows):
        own = [row for row in rows if row[by] == value]
        names = [name for name in own[0] if name not in ("figure", "seed", "losses")]
        line = {name: float(np.mean([row[name] for row in own])) for name in names}
        line["n"] = round(line["n"])
        line["dp_over_median"] = line["dp"] / line["median"]
        line["dp_over_max"] = line["dp"] / line["max"]
        line["dp_over_for_all"] = line["dp"] / line["for_all"]
        lines.append(line)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.per_instance_001", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("experiments/results/per_instance_001.json"))
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    given = parser.parse_args()
    log = given.out.parent / "log" / "per_instance_001.jsonl"
    rows = study.run("per-instance losses", cells(given.seeds), work, log, given.jobs)
    first = average([row for row in rows if row["figure"] == "output"], "n")
    second = average([row for row in rows if row["figure"] == "posterior"], "gamma")
    one = [loss for row in rows for loss in row.get("losses", [])]
    columns = ("n", "median", "max", "for_all", "dp", "dp_over_median", "dp_over_max", "dp_over_for_all")
    report("Noise of sd 4 on ridge coefficients, epsilon at delta 1e-6", columns, first, given.out, [*first, *second])
    from experiments.per_instance_page import write

    write(given.docs, first, second, one)


if __name__ == "__main__":
    main()
