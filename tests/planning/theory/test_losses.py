"""Remark 15 and proposition 16 of wang2017: as printed, and mended against the exact curve."""

from math import log, sqrt

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.planning.theory import conditioned_loss, leverage_loss, model_losses, worst_loss
from discreet.privacy import ops

DELTA = 1e-6
LOG = log(2 / DELTA)


def test_the_printed_formulas():
    m, r, gamma, h, n, lambda_ = 0.02, 1.3, 5.0, 7.0, 200, 9.0
    remark = m / 2 * (1 + LOG) + gamma * min(m, 1) * r**2 / 2 + sqrt(gamma * m * LOG) * r
    nine = sqrt(gamma * LOG / h) * r + gamma * r**2 / (2 * max(h, 1)) + gamma * (1 + LOG) / (2 * h)
    ten = sqrt(2 * (n + lambda_) * gamma * LOG / lambda_**2) + 2 * (n + lambda_) * gamma / (lambda_ * max(1, lambda_))
    ten += gamma * (1 + LOG) / (2 * lambda_)
    assert leverage_loss(m, -r, gamma, DELTA, printed=True) == pytest.approx(remark)
    assert conditioned_loss(h, r, gamma, DELTA, printed=True) == pytest.approx(nine)
    assert worst_loss(n, lambda_, gamma, DELTA, printed=True) == pytest.approx(ten)


def test_the_printed_orders_of_16_2():
    n, d, gamma, sigma, alpha, T, rho = 1e4, 8, 30.0, 0.3, 0.5, 0.7, 0.01
    found = model_losses(n, d, gamma, DELTA, sigma=sigma, alpha=alpha, norm_theta=T, rho=rho, printed=True)
    assert found.anybody == pytest.approx(sqrt((1 + T) ** 2 * d * gamma / (alpha * n) * LOG))
    assert found.from_model == pytest.approx(sqrt(sigma**2 * d * gamma / (alpha * n) * LOG * log(2 / rho)))
    assert found.mean_square == pytest.approx(sigma**2 * d * gamma / n * LOG * log(2 / rho))
    with pytest.raises(ParameterError, match="too large"):
        model_losses(100, d, 30.0, DELTA, sigma=sigma, printed=True)


GRID = np.stack(np.meshgrid(np.geomspace(1e-4, 50, 25), np.geomspace(1e-2, 20, 15), np.geomspace(1e-3, 1e3, 19)))


@pytest.mark.parametrize("delta", [0.5, 1e-2, 1e-6])
@pytest.mark.more
def test_the_mended_bounds_are_never_below_the_exact_epsilon(delta):
    m, r, gamma = (part.ravel() for part in GRID)
    exact = ops.epsilon(delta, m, r, gamma)
    assert np.all(leverage_loss(m, r, gamma, delta) >= exact * (1 - 1e-9))
    assert np.all(conditioned_loss(1 / m, r, gamma, delta) >= exact * (1 - 1e-9))
    x = np.sqrt(2 * gamma * m * log(1 / delta)) * r
    small = (x <= 1) & (delta <= np.exp(-0.25))
    assert np.all(leverage_loss(m, r, gamma, delta)[small] <= (2 * x + m * (1 + 2 * log(1 / delta)) / 2)[small])


def test_the_worst_loss_holds_for_the_worst_table():
    """n rows with one singular value sqrt(lambda) reach the largest coefficients, and a row along them the residual."""
    n, lambda_ = 400, 25.0
    X, y = np.full(n, sqrt(lambda_ / n)), np.ones(n)
    H = X @ X + lambda_
    r = 1 + X @ y / H
    assert r == pytest.approx(1 + sqrt(n / lambda_) / 2)
    for gamma in (0.01, 1.0, 100.0):
        assert worst_loss(n, lambda_, gamma, DELTA) >= ops.epsilon(DELTA, 1 / H, r, gamma)
        assert worst_loss(n, lambda_, gamma, DELTA) >= ops.epsilon(DELTA, 1 / lambda_, 1.0, gamma)


def test_e8_remark_15_takes_the_residual_of_the_wrong_fit():
    """Leverage 10, gamma 1: a residual of 2 in the fit with the row is one of 22 without it."""
    m, gamma, inside = 10.0, 1.0, 2.0
    claim = leverage_loss(m, inside, gamma, DELTA, printed=True)
    assert ops.epsilon(DELTA, m, inside * (1 + m), gamma) > 3 * claim
    assert leverage_loss(m, inside * (1 + m), gamma, DELTA) >= ops.epsilon(DELTA, m, inside * (1 + m), gamma)


@pytest.mark.parametrize("alpha", [1.0, 0.1])
def test_16_2_holds_where_the_model_does(alpha):
    """Exact losses of 40,000 rows; one direction has less of the variance, which only the worst case feels."""
    n, d, gamma, sigma, rng = 40_000, 5, 50.0, 0.2, np.random.default_rng(0)
    Z = rng.standard_normal((n, d))
    X = Z / np.linalg.norm(Z, axis=1, keepdims=True) * np.array([sqrt(alpha), 1, 1, 1, 1])
    theta = np.full(d, 0.5 / sqrt(d))
    y = X @ theta + rng.normal(0, sigma, n)
    H = X.T @ X
    values, vectors = np.linalg.eigh(H)
    fit = np.linalg.solve(H, X.T @ y)
    found = model_losses(n, d, gamma, DELTA, sigma=sigma, alpha=d * values[0] / n, norm_theta=0.5, rho=0.01)
    m, r = np.einsum("ij,ji->i", X, np.linalg.solve(H, X.T)), y - X @ fit
    own = ops.epsilon(DELTA, (m / (1 - m))[:4000], (r / (1 - m))[:4000], gamma)
    assert 0.3 * found.mean_square < np.mean(own**2) < 1.05 * found.mean_square
    worst = ops.epsilon(DELTA, 1 / values[0], 1 + abs(vectors[:, 0] @ fit), gamma)
    assert 0.4 * found.anybody < worst < 1.05 * found.anybody
    drawn = ops.epsilon(DELTA, 1 / values[0], rng.normal(0, sigma, 4000), gamma)
    assert np.mean(drawn > 1.05 * found.from_model) < 0.02
