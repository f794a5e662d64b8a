"""Private logistic regression beside scikit-learn's: ``python -m benchmarks.logistic``.

*The default*, by scoring steps in stages with standard errors, is timed from the raw array to the certificate, and
scikit-learn's `LogisticRegression` with its defaults on the same array.

*One stage* is compared at equal gradient norm. Both minimise the same objective, the sum of logistic losses and lambda
|theta|^2/2 on the mapped columns, ours with the noise's linear term besides. Ours is timed from the raw array on,
bounds, clipping, lattice and both checks of the certificate included; scikit-learn's lbfgs from the mapped array on,
with the loosest tolerance (a power of ten) that brings it to the gradient norm that ours declares, or, where none does,
with 1e-12: it stops earlier then, in its favour.
"""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from experiments.record import report
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from benchmarks.common import options, seconds
from discreet import DPLogisticRegression

Floats = NDArray[np.float64]

ONE_STAGE, STAGES, THEIRS = "DPLogisticRegression, one stage", "DPLogisticRegression, default", "sklearn, default"
STAGED = {"staged_rows": 200_000, "staged_columns": 30}


def table(n: int, d: int) -> tuple[Floats, NDArray[np.bool_]]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, d))
    return X, rng.random(n) < expit(X @ rng.normal(0, 1, d))


def gradient_norm(X: Floats, y: NDArray[np.bool_], theta: Floats, modulus: float) -> float:
    return float(np.linalg.norm(X.T @ (expit(X @ theta) - y) + modulus * theta))


def ours(X: Floats, y: NDArray[np.bool_]) -> tuple[float, DPLogisticRegression]:
    start = time.perf_counter()
    model = DPLogisticRegression(
        epsilon=1, delta=1e-6, bounds_X=(-1, 1), classes=[False, True], fit_intercept=False, rows=len(X), stages=1
    ).fit(X, y)
    return time.perf_counter() - start, model


def default(n: int, d: int, repeats: int) -> list[dict[str, Any]]:
    """The default in stages, and scikit-learn's: the least seconds of each, measured in turn."""
    X, y = table(n, d)
    times: dict[str, list[float]] = {STAGES: [], THEIRS: []}
    for _ in range(repeats):
        private = DPLogisticRegression(epsilon=1, delta=1e-6, bounds_X=(-1, 1), classes=[False, True])
        for name, model in ((STAGES, private), (THEIRS, LogisticRegression())):
            times[name].append(seconds(partial(model.fit, X, y), 1))
    least = {name: min(own) for name, own in times.items()}
    rows = [{"rows": n, "columns": d, "method": name, "seconds": least[name]} for name in times]
    return [rows[0], rows[1] | {"ratio": least[STAGES] / least[THEIRS]}]


def theirs(X: Floats, y: NDArray[np.bool_], modulus: float, goal: float) -> tuple[float, float, int]:
    """Seconds, gradient norm and iterations of the loosest tolerance that reaches the goal."""
    for power in range(4, 13):
        model = LogisticRegression(C=1 / modulus, fit_intercept=False, tol=10.0**-power, max_iter=5000)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        taken = time.perf_counter() - start
        reached = gradient_norm(X, y, model.coef_[0], modulus)
        if reached <= goal:
            break
    return taken, reached, int(model.n_iter_[0])


def main() -> None:
    given = options("logistic", __doc__, rows=1_000_000, columns=50, repeats=3, **STAGED)
    rows = default(given.staged_rows, given.staged_columns, given.repeats)
    for n in (given.rows // 10, given.rows):
        X, y = table(n, given.columns)
        runs = [ours(X, y) for _ in range(given.repeats)]
        own, model = min(runs, key=lambda run: run[0])
        (event,) = model.certificate_.events
        other, reached, iterations = theirs(X, y, event.modulus, event.tolerance)
        facts = {"rows": n, "columns": given.columns}
        rows.append(facts | {"method": ONE_STAGE, "seconds": own, "gradient": event.tolerance})
        rows.append(
            facts
            | {"method": "sklearn lbfgs", "seconds": other, "gradient": reached, "iterations": iterations}
            | {"ratio": own / other}
        )
    columns = ("method", "rows", "columns", "seconds", "gradient", "iterations", "ratio")
    report("Logistic regression, one stage to equal gradient norm; ratio: ours over theirs", columns, rows, given.out)


if __name__ == "__main__":
    main()
