"""Whole regularisation paths on released moments, beside scikit-learn's on the rows: ``python -m benchmarks.paths``."""

from __future__ import annotations

from typing import Any

import numpy as np
from experiments.record import report
from sklearn.linear_model import enet_path

from benchmarks.common import options, seconds
from discreet.privacy import gdp
from discreet.solve.equations import NormalEquations
from discreet.solve.lasso import made_up_rows, penalty_grid, solve_path

CORRELATIONS = (0.0, 0.9)
MODELS = {"ridge": 0.0, "lasso": 1.0, "elastic net": 0.5}
SPLIT = {"gram": 0.40, "cross": 0.55, "squares": 0.05}


def rows_of(n: int, d: int, correlation: float) -> tuple[Any, Any]:
    """Rows in [-1, 1], neighbouring columns correlated, and an outcome of 20 of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    X = np.clip(X / 3, -1, 1)
    y = X[:, : min(20, d)].sum(axis=1) / 20 + 0.1 * rng.standard_normal(n)
    return X, np.clip(y, -1, 1)


def equations(X: Any, y: Any, epsilon: float | None) -> NormalEquations:
    """Normal equations with the noise of epsilon at delta = 1e-6, or exact ones."""
    n, d = X.shape
    mu = gdp.mu(epsilon=epsilon or 1.0, delta=1e-6)
    sds = [size / (mu * np.sqrt(share)) for size, share in zip((d, np.sqrt(d), 1.0), SPLIT.values(), strict=True)]
    names = tuple(f"x{j}" for j in range(d))
    S, v, yy = X.T @ X, X.T @ y, float(y @ y)
    if epsilon is not None:
        rng = np.random.default_rng(1)
        N = np.triu(rng.standard_normal((d, d)) * sds[0] / np.sqrt(2), 1)
        S = S + N + N.T + np.diag(rng.standard_normal(d) * sds[0])
        v, yy = v + sds[1] * rng.standard_normal(d), yy + sds[2] * rng.standard_normal()
    return NormalEquations.of_one(names, "y", S, v, yy, *sds, n=float(n))


def ours(e: NormalEquations, penalties: Any, ratio: float) -> Any:
    """Repair and path, as a fit does it."""
    return solve_path(*made_up_rows(e), e.n, penalties, ratio, intercept=False)


def measure(n: int, d: int, correlation: float, repeats: int) -> list[dict[str, Any]]:
    X, y = rows_of(n, d, correlation)
    exact, noisy = equations(X, y, None), equations(X, y, 10.0)
    rows = []
    for model, ratio in MODELS.items():
        grids = [
            penalty_grid(*made_up_rows(e), e.n, ratio, sd, intercept=False)
            for e, sd in ((exact, 0.0), (noisy, noisy.s_xy))
        ]
        row = {"model": model, "columns": d, "rows": n, "correlation": correlation, "penalties": len(grids[0])}
        row["seconds_exact"] = seconds(lambda: ours(exact, grids[0], ratio), repeats)  # noqa: B023
        row["seconds_noisy"] = seconds(lambda: ours(noisy, grids[1], ratio), repeats)  # noqa: B023
        if ratio > 0:
            given = {"l1_ratio": ratio, "alphas": grids[0], "precompute": True, "tol": 1e-12, "max_iter": 10_000}
            theirs = enet_path(X, y, **given)[1].T
            row["seconds_sklearn"] = seconds(lambda: enet_path(X, y, **given), 1)  # noqa: B023
            row["ratio_to_sklearn"] = row["seconds_exact"] / row["seconds_sklearn"]
            row["largest_difference"] = float(np.abs(theirs - ours(exact, grids[0], ratio)).max())
        rows.append(row)
    return rows


def main() -> None:
    given = options("paths", __doc__, rows=20_000, columns=500, repeats=3)
    rows = [row for c in CORRELATIONS for row in measure(given.rows, given.columns, c, given.repeats)]
    report("Regularisation paths, repair included", tuple(rows[-1]), rows, given.out)


if __name__ == "__main__":
    main()
