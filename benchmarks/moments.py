"""Exact moments beside numpy's X'X and scikit-learn's LinearRegression: ``python -m benchmarks.moments``."""

from __future__ import annotations

from typing import Any

import numpy as np
from experiments.record import report
from sklearn.linear_model import LinearRegression

from benchmarks.common import options, seconds
from discreet import Domain, Moments


def domains(d: int) -> dict[str, Domain]:
    """Per-column bounds, and a bound on the norm of a row."""
    names = [f"x{i}" for i in range(d)]
    rng = np.random.default_rng(1)
    bounds = (-rng.uniform(0.5, 1.5, d), rng.uniform(0.5, 1.5, d))
    return {
        "per-column bounds": Domain.from_bounds(names, ["y"], bounds_X=bounds, bounds_y=(-2, 2)),
        "norm bound": Domain.from_bounds(names, ["y"], data_norm=3.0, bounds_y=(-2, 2)),
    }


def measure(n: int, d: int, repeats: int, *, sklearn: bool) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = X[:, 0] + rng.standard_normal(n)
    calls = {"numpy X.T @ X": lambda: X.T @ X}
    for name, domain in domains(d).items():
        calls[f"discreet, {name}"] = lambda domain=domain: Moments.from_source((X, y), domain)
    times = {method: min(seconds(call, 1) for _ in range(repeats)) for method, call in calls.items()}
    if sklearn:
        times["sklearn LinearRegression.fit"] = seconds(lambda: LinearRegression().fit(X, y), 1)
    base = times["numpy X.T @ X"]
    return [{"method": m, "rows": n, "columns": d, "seconds": t, "ratio_to_numpy": t / base} for m, t in times.items()]


def main() -> None:
    given = options("moments", __doc__, rows=1_000_000, columns=100, repeats=5)
    n, d = given.rows, given.columns
    rows = measure(n, d, given.repeats, sklearn=True)
    for part in (4, 2):
        rows += measure(n // part, d, given.repeats, sklearn=False)
    rows += measure(n * 2, d // 2, given.repeats, sklearn=False)
    report(
        "Exact moments, domain map included",
        ("method", "rows", "columns", "seconds", "ratio_to_numpy"),
        rows,
        given.out,
    )


if __name__ == "__main__":
    main()
