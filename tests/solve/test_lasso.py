"""Penalised solutions against scikit-learn's on the rows themselves, and against their own optimality conditions."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Lasso, Ridge

from discreet.solve.equations import NormalEquations
from discreet.solve.lasso import STEPS, made_up_rows, penalty_grid, solve_path


def table(n, d, correlation, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    X = np.clip(X / 3 + 0.2, -1, 1)
    theta = np.where(np.arange(d) % 3 == 0, rng.standard_normal(d), 0.0)
    return X, np.clip(0.1 + X @ theta / d + 0.1 * rng.standard_normal(n), -1, 1)


def moments(X, y, intercept):
    """Exact moments as a release with hardly any noise would give them."""
    A = np.column_stack([np.ones(len(X)), X]) if intercept else X
    names = tuple(map(str, range(A.shape[1])))
    return NormalEquations.of_one(names, "y", A.T @ A, A.T @ y, float(y @ y), 1e-9, 1e-9, 1e-9, n=float(len(X)))


def reference(X, y, penalty, ratio, intercept):
    given = {"fit_intercept": intercept}
    if ratio == 0:
        return Ridge(alpha=len(X) * penalty, **given).fit(X, y)
    given |= {"tol": 1e-14, "max_iter": 200_000}
    model = Lasso(alpha=penalty, **given) if ratio == 1 else ElasticNet(alpha=penalty, l1_ratio=ratio, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


SHAPES = [(400, 1, 0.0), (300, 10, 0.0), (300, 10, 0.95), (200, 40, 0.5), (20, 40, 0.3), (2, 5, 0.0)]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("ratio", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize(("n", "d", "correlation"), SHAPES)
def test_solutions_equal_scikit_learns_on_the_rows(n, d, correlation, ratio, intercept):
    X, y = table(n, d, correlation)
    e = moments(X, y, intercept)
    Z, t = made_up_rows(e)
    largest = penalty_grid(Z, t, e.n, max(ratio, 0.1), 0.0, intercept=intercept)[0]
    penalties = largest * np.array([1.001, 0.5, 0.1, 0.03, 0.01])
    for penalty, theta in zip(penalties, solve_path(Z, t, e.n, penalties, ratio, intercept=intercept), strict=True):
        wanted = reference(X, y, penalty, ratio, intercept)
        slopes = theta[1:] if intercept else theta
        np.testing.assert_allclose(slopes, wanted.coef_, rtol=0, atol=1e-6)
        if intercept:
            assert theta[0] == pytest.approx(wanted.intercept_, abs=1e-6)
    if ratio > 0:
        assert not slopes_at(Z, t, e.n, 1.001 * largest * max(ratio, 0.1) / ratio, ratio, intercept).any()


def slopes_at(Z, t, n, penalty, ratio, intercept):
    return solve_path(Z, t, n, np.array([penalty]), ratio, intercept=intercept)[0][int(intercept) :]


@pytest.mark.parametrize("noise", [0.0, 3.0])
@pytest.mark.parametrize("ratio", [0.3, 1.0])
def test_the_whole_path_is_optimal(ratio, noise):
    """Kuhn-Tucker conditions, on exact moments and on repaired noisy ones."""
    X, y = table(500, 30, 0.6)
    e, rng = moments(X, y, False), np.random.default_rng(3)
    N = noise * np.triu(rng.standard_normal(e.S.shape), 1)
    sds = (max(noise, 1e-9) * 2**0.5, max(noise, 1e-9), 1e-9)
    v = e.v + noise * rng.standard_normal(len(e.v))
    Z, t = made_up_rows(NormalEquations.of_one(e.names, "y", e.S + N + N.T, v, e.yy, *sds, n=e.n))
    penalties = penalty_grid(Z, t, e.n, ratio, sds[1], intercept=False)
    assert len(penalties) == STEPS
    assert np.all(np.diff(penalties) < 0)
    for penalty, theta in zip(penalties, solve_path(Z, t, e.n, penalties, ratio, intercept=False), strict=True):
        gradient = Z.T @ (t - Z @ theta) / e.n - penalty * (1 - ratio) * theta
        active = theta != 0
        scale = penalties[0] * ratio
        assert np.all(np.abs(gradient) <= penalty * ratio + 1e-8 * scale)
        assert np.allclose(gradient[active], penalty * ratio * np.sign(theta[active]), rtol=0, atol=1e-8 * scale)


def test_a_path_equals_single_solutions():
    X, y = table(100, 8, 0.5)
    Z, t = made_up_rows(moments(X, y, True))
    for ratio in (0.0, 0.5, 1.0):
        penalties = penalty_grid(Z, t, 100.0, ratio, 0.0, intercept=True)
        path = solve_path(Z, t, 100.0, penalties, ratio, intercept=True)
        for i in (0, 20, 60, 99):
            single = solve_path(Z, t, 100.0, penalties[[i]], ratio, intercept=True)[0]
            np.testing.assert_allclose(path[i], single, rtol=0, atol=1e-8)


def test_paths_end_where_only_noise_is_fitted():
    X, y = table(500, 5, 0.0)
    Z, t = made_up_rows(moments(X, y, False))
    fine, coarse = (penalty_grid(Z, t, 500.0, 1.0, sd, intercept=False) for sd in (0.0, 10.0))
    assert fine[0] == coarse[0]
    assert fine[-1] == pytest.approx(1e-4 * fine[0])
    assert coarse[-1] == pytest.approx(min(0.3 * 10 / 500, coarse[0] / 10))


@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0])
def test_empty_and_constant_tables_have_solutions(ratio):
    for X, y in [(np.zeros((1, 3)), np.zeros(1)), (np.zeros((4, 3)), np.ones(4))]:
        Z, t = made_up_rows(moments(X, y, False))
        path = solve_path(Z, t, 1.0, penalty_grid(Z, t, 1.0, ratio, 1.0, intercept=False), ratio, intercept=False)
        assert not path.any()
    Z, t = made_up_rows(moments(np.empty((4, 0)), np.full(4, 0.5), True))
    penalties = penalty_grid(Z, t, 4.0, ratio, 1.0, intercept=True)
    np.testing.assert_allclose(solve_path(Z, t, 4.0, penalties, ratio, intercept=True), 0.5)
