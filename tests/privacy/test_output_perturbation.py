"""Sensitivities of ridge coefficients in three norms, by brute force, and the law of the noise."""

import math

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.mechanisms.output_perturbation import event as op


def random_pair(rng):
    """H without a row, H with it, the row, and the change of the coefficients per unit of residual."""
    d = rng.integers(1, 5)
    h = 10 ** rng.uniform(-1.5, 2)
    X = rng.normal(size=(rng.integers(0, 6), d)) * 10 ** rng.uniform(-2, 1.5)
    H0 = X.T @ X + h * np.eye(d)
    x = rng.normal(size=d)
    if len(X) and rng.uniform() < 0.5:
        x = np.linalg.solve(H0, x)
    x *= rng.choice([1.0, rng.uniform()]) / np.linalg.norm(x)
    H1 = H0 + np.outer(x, x)
    return h, H0, H1, np.linalg.solve(H1, x)


def near(rng, H, tau):
    """S = H + N + tau I with a noise N of spectral norm tau."""
    d = len(H)
    N = rng.normal(size=(d, d))
    N = N + N.T
    return H + tau * np.eye(d) + N * tau / np.linalg.norm(N, 2)


@pytest.mark.parametrize("shape", op.SHAPES)
def test_no_pair_moves_further(shape):
    rng = np.random.default_rng(1)
    power = {"isotropic": 0, "fisher": 1, "democratic": 2}[shape]
    largest = 0.0
    for _ in range(6000):
        h, H0, H1, step = random_pair(rng)
        tau = max(0.5, 10 ** rng.uniform(-3, 1) * h)
        S = near(rng, H0 if rng.uniform() < 0.5 else H1, tau)
        moved = math.sqrt(step @ np.linalg.matrix_power(S, power) @ step)
        bound = op.sensitivity(shape, h=h, B=1.0, residual=1.0, tau=tau)
        assert moved <= bound * (1 + 1e-9)
        largest = max(largest, moved / bound)
    assert largest > 0.95


@pytest.mark.parametrize(("h", "rest"), [(4.0, 0.0), (1.0, 0.0), (0.09, 11.0)])
def test_the_shift_is_attained(h, rest):
    """H0 = h I for h >= B^2; below, a direction in between: x = (cos a, sin a), H0 = diag(h, h + rest)."""
    reached = 0.0
    for angle in np.linspace(0, math.pi / 2, 2001):
        x = np.array([math.cos(angle), math.sin(angle)])
        for share in (1.0,) if not rest else np.linspace(0.2, 1, 60):
            H1 = np.diag([h, h + rest]) + share**2 * np.outer(x, x)
            reached = max(reached, np.linalg.norm(np.linalg.solve(H1, share * x)))
    assert reached == pytest.approx(op.shift_bound(h, 1.0), rel=2e-3)


@pytest.mark.parametrize("shape", op.SHAPES)
def test_the_whole_mechanism_is_mu_gdp(shape):
    """On ridge fits with and without a row, the noise covers the move: sqrt(gamma) norm_A(move) <= mu."""
    rng = np.random.default_rng(3)
    mu, lambda_, tau = 0.3, 5.0, 2.0
    for _ in range(500):
        n, d = rng.integers(0, 20), rng.integers(1, 4)
        X = rng.normal(size=(n, d))
        X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
        x = rng.normal(size=d)
        x /= np.linalg.norm(x)
        y, target = rng.choice([-1, 1], n), rng.choice([-1.0, 1.0])
        H0 = X.T @ X + lambda_ * np.eye(d)
        t0 = np.linalg.solve(H0, X.T @ y)
        t1 = np.linalg.solve(H0 + np.outer(x, x), X.T @ y + x * target)
        R = 1 + math.sqrt(max(n, 1)) / (2 * math.sqrt(lambda_))
        gamma = (mu / op.sensitivity(shape, h=lambda_, B=1.0, residual=R, tau=tau)) ** 2
        S = near(rng, H0 + rng.integers(2) * np.outer(x, x), tau)
        A = np.linalg.matrix_power(S, {"isotropic": 0, "fisher": 1, "democratic": 2}[shape])
        assert math.sqrt(gamma * (t1 - t0) @ A @ (t1 - t0)) <= mu


def test_roots_have_their_shape():
    S = np.array([[3.0, 1.0], [1.0, 2.0]])
    for shape, A in zip(op.SHAPES, (np.eye(2), S, S @ S), strict=True):
        C = op.root(shape, S, 2)
        np.testing.assert_allclose(C.T @ C, A, atol=1e-14)


@pytest.mark.parametrize("d", [1, 5, 40])
def test_the_spectral_norm_stays_below_its_bound(d):
    rng = np.random.default_rng(d)
    norms = []
    for _ in range(2000):
        N = np.triu(rng.standard_normal((d, d)) / math.sqrt(2), 1)
        norms.append(np.linalg.norm(N + N.T + np.diag(rng.standard_normal(d)), 2))
    for failure in (0.5, 0.05):
        assert np.mean(np.array(norms) > op.spectral_bound(d, 1.0, failure)) <= failure
    assert np.median(norms) > 0.4 * op.spectral_bound(d, 1.0, 0.05) * (d > 1)


def test_bad_arguments_are_refused():
    with pytest.raises(ParameterError, match="shape"):
        op.sensitivity("round", h=1.0, B=1.0, residual=1.0)
    with pytest.raises(ParameterError, match="tau"):
        op.sensitivity("fisher", h=1.0, B=1.0, residual=1.0, tau=0.49)
    with pytest.raises(ParameterError, match="positive definite"):
        op.root("fisher", np.diag([1.0, -1.0]), 2)
