"""The worst cases that the regenerated figures of wang2017 compare with."""

import numpy as np
import pytest
from experiments.wang2017.figures import PENALTY, attained, proven, simulate, worst_target
from scipy.optimize import minimize_scalar

from discreet.per_instance.leverage import LeverageRidge


@pytest.mark.parametrize("n", [51, 1001])
def test_the_attained_worst_case_is_attained(n):
    """A table of n - 1 rows of norm 1, and one more row: the coefficients move as far as stated."""
    best = minimize_scalar(lambda s: -moved(n, s), bounds=(1e-6, 4), method="bounded")
    assert -best.fun == pytest.approx(attained(n), rel=1e-6)
    assert attained(n) <= proven(n) <= 1.6 * attained(n)


def moved(n, s):
    side = np.where(np.arange(n - 1) % 2, 1.0, -1.0)
    X = np.column_stack([np.full(n - 1, np.sqrt(1 - s / (n - 1))), side * np.sqrt(s / (n - 1))])
    assert np.linalg.norm(X, axis=1) == pytest.approx(1)
    fits = []
    for A, y in ((X, side), (np.vstack([X, [0.0, 1.0]]), np.append(side, -1.0))):
        fits.append(np.linalg.solve(A.T @ A + PENALTY * np.eye(2), A.T @ y))
    return np.linalg.norm(fits[0] - fits[1])


def test_the_worst_target_lies_between_the_rows_and_the_bound():
    rng = np.random.default_rng(0)
    X, y = simulate(60, rng)
    fit = LeverageRidge(X.T @ X, X.T @ y, PENALTY)
    found, bound = worst_target(fit, rng)
    many = rng.standard_normal((5000, X.shape[1]))
    many /= np.linalg.norm(many, axis=1)[:, None]
    tried = fit.adding(many, -np.sign(many @ fit.theta)).shift
    assert tried.max() <= found <= bound
