"""Repair of noisy moments: what is possible stays, what is not moves as little as it can."""

import numpy as np
import pytest

from discreet.solve.equations import NormalEquations
from discreet.solve.lasso import made_up_rows, nearest_factor, solve_path


def equations(S, v, yy, s_xx=1.0, s_xy=0.5**0.5, n=100.0):
    s_yy = None if yy is None else s_xx
    return NormalEquations.of_one(tuple(f"x{i}" for i in range(len(v))), "y", S, v, yy, s_xx, s_xy, s_yy, n=n)


def symmetric(d, rng):
    M = rng.standard_normal((d, d))
    return M + M.T


def joint(S, v, yy):
    return np.block([[S, v[:, None]], [v[None, :], np.array([[yy]])]])


@pytest.mark.parametrize("d", [1, 2, 7, 40])
def test_the_factor_is_that_of_the_nearest_semidefinite_matrix(d):
    rng = np.random.default_rng(d)
    M = symmetric(d, rng)
    nearest = nearest_factor(M).T @ nearest_factor(M)
    assert np.linalg.eigvalsh(nearest)[0] > -1e-12 * d
    residual = M - nearest
    assert np.linalg.eigvalsh(residual)[-1] < 1e-12 * d
    assert abs(np.sum(residual * nearest)) < 1e-10 * d**2
    for _ in range(50):
        other = rng.standard_normal((d, d))
        other = other @ other.T * rng.uniform(0, 2)
        assert np.linalg.norm(M - nearest) <= np.linalg.norm(M - other) + 1e-12


@pytest.mark.parametrize(("n", "d"), [(50, 4), (3, 8)])
def test_possible_moments_are_kept(n, d):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (n, d)), rng.uniform(-1, 1, n)
    Z, t = made_up_rows(equations(X.T @ X, X.T @ y, float(y @ y), s_xx=3.0, s_xy=0.2))
    assert Z.shape == (d + 1, d)
    np.testing.assert_allclose(Z.T @ Z, X.T @ X, atol=1e-10)
    np.testing.assert_allclose(Z.T @ t, X.T @ y, atol=1e-10)
    assert t @ t == pytest.approx(y @ y)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("yy", [3.0, -2.0, None])
def test_repaired_moments_are_possible_and_penalised_problems_have_a_minimum(seed, yy):
    rng = np.random.default_rng(seed)
    S, v = symmetric(6, rng), 3 * rng.standard_normal(6)
    Z, t = made_up_rows(equations(S, v, yy, s_xx=2.0, s_xy=0.3))
    for u in rng.standard_normal((100, 6)):
        assert (Z.T @ t @ u) ** 2 <= (u @ Z.T @ Z @ u) * (t @ t) * (1 + 1e-9) + 1e-12
    theta = solve_path(Z, t, 1.0, np.array([1e-3]), 1.0, intercept=False)[0]
    assert np.isfinite(theta).all()


def test_clipping_s_alone_would_leave_the_lasso_without_a_minimum():
    S, v = np.diag([4.0, -1.0]), np.array([1.0, 2.0])
    clipped = np.diag([4.0, 0.0])
    falling = [0.5 * u @ clipped @ u - v @ u + 0.5 * np.abs(u).sum() for u in np.outer([1, 10, 100], [0.0, 1.0])]
    assert falling[0] > falling[1] > falling[2]
    Z, t = made_up_rows(equations(S, v, 5.0))
    assert np.linalg.matrix_rank(np.column_stack([Z, t]), tol=1e-9) == 2
    u = np.linalg.svd(Z)[2][-1]
    assert abs(Z.T @ t @ u) <= np.linalg.norm(Z @ u) * np.linalg.norm(t) + 1e-12


def test_the_metric_is_that_of_the_noise():
    """Where v is exact, almost, it hardly moves, and S moves more."""
    rng = np.random.default_rng(1)
    S, v = symmetric(5, rng), rng.standard_normal(5)
    moved = []
    for s_xy in (1e-3, 1.0, 1e3):
        Z, t = made_up_rows(equations(S, v, 8.0, s_xy=s_xy))
        moved.append(np.linalg.norm(Z.T @ t - v))
    assert moved[0] < 1e-2 < moved[1] < moved[2]


def test_the_order_of_variables_does_not_matter():
    rng = np.random.default_rng(2)
    S, v = symmetric(5, rng), rng.standard_normal(5)
    turn = rng.permutation(5)
    Z, t = made_up_rows(equations(S, v, 1.0))
    W, s = made_up_rows(equations(S[np.ix_(turn, turn)], v[turn], 1.0))
    np.testing.assert_allclose(W.T @ W, (Z.T @ Z)[np.ix_(turn, turn)], atol=1e-12)
    np.testing.assert_allclose(W.T @ s, (Z.T @ t)[turn], atol=1e-12)
