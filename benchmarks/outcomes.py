"""Many outcomes beside numpy's X'X, X'Y and one Cholesky solve: ``python -m benchmarks.outcomes``."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from experiments.record import report
from scipy.linalg import cho_factor, cho_solve

from benchmarks.common import options
from discreet import Domain, Moments, ReuseCov, release


def in_turn(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """The least wall time of each call; calls take turns, so that a busy moment of the machine meets all of them.

    BLAS threads go on spinning for a while after their work; a pause keeps them from the next call's cores.
    """
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(repeats):
        for name, call in calls.items():
            time.sleep(0.3)
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def measure(n: int, d: int, outcomes: int, repeats: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    Y = rng.standard_normal((n, outcomes))
    Y += X[:, :1]
    names, targets = [f"x{i}" for i in range(d)], [f"y{j}" for j in range(outcomes)]
    domain = Domain.from_bounds(names, targets, bounds_X=(-4, 4), bounds_y=(-6, 6))
    moments = Moments.from_source((X, Y), domain, targets=targets)
    public = release(moments, epsilon=1, delta=1e-6, random_state=0)

    def plain() -> object:
        return cho_solve(cho_factor(X.T @ X), X.T @ Y)

    calls = {
        "numpy X'X, X'Y, Cholesky": plain,
        "discreet, moments": lambda: Moments.from_source((X, Y), domain, targets=targets),
        "discreet, release": lambda: release(moments, epsilon=1, delta=1e-6),
        "discreet, solve": lambda: public.fit_many(),
        "discreet, solve, standard errors": lambda: public.fit_many().std_err,
        "discreet, ReuseCov.fit": lambda: ReuseCov(epsilon=1, delta=1e-6, domain=domain).fit_moments(
            Moments.from_source((X, Y), domain, targets=targets)
        ),
    }
    times = in_turn(calls, repeats)
    base = times["numpy X'X, X'Y, Cholesky"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        {"method": m, "rows": n, "columns": d, "outcomes": outcomes, "seconds": t, "ratio_to_numpy": t / base}
        | {"ms_an_outcome": 1000 * t / outcomes, "peak_MB": peak}
        for m, t in times.items()
    ]


def main() -> None:
    given = options("outcomes", __doc__, rows=100_000, columns=100, outcomes=2000, repeats=3)
    rows = []
    for count in (20, 200, given.outcomes):
        rows += measure(given.rows, given.columns, count, given.repeats)
    columns = ("method", "rows", "columns", "outcomes", "seconds", "ratio_to_numpy", "ms_an_outcome")
    report("Many outcomes", columns, rows, given.out)


if __name__ == "__main__":
    main()
