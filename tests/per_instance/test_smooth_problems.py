"""Lemma 13 with its sign mended (E19), sensitivities in any norm, kernel ridge; E7's number."""

import math

import numpy as np
import pytest

from discreet.mechanisms.output_perturbation.event import SHAPES
from discreet.per_instance.leverage import LeverageRidge
from discreet.per_instance.smooth import (
    PROBLEMS,
    Huber,
    kernel_ridge,
    lemma13,
    minimise,
    one_step,
    output_epsilon,
    sensitivities,
    shape_matrix,
)
from discreet.privacy import gdp


def table(name, n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    y = X @ np.linspace(1, -1, d) + rng.normal(0, 0.5, n)
    return X, (y > 0).astype(float) if name == "logistic" else y


@pytest.mark.parametrize("name", PROBLEMS)
def test_minimisers_are_stationary(name):
    X, y = table(name)
    theta = minimise(PROBLEMS[name], X, y, 0.5)
    gradient = X.T @ PROBLEMS[name].parts(X @ theta, y)[1] + 0.5 * theta
    assert np.abs(gradient).max() < 1e-10
    value, slope, bend = PROBLEMS[name].parts(np.array([0.3]), np.array([1.0]))
    above, below = (PROBLEMS[name].parts(np.array([0.3 + h]), np.array([1.0])) for h in (1e-5, -1e-5))
    assert (above[0] - below[0]) / 2e-5 == pytest.approx(slope, rel=1e-6)
    assert (above[1] - below[1]) / 2e-5 == pytest.approx(bend, rel=1e-6)
    assert np.isfinite(value).all()


@pytest.mark.parametrize("name", ["ridge", "logistic"])
def test_e19_both_identities_hold_with_the_same_sign(name):
    """As printed, the second identity has a minus sign and is off by twice its value."""
    X, y = table(name)
    x, outcome = np.array([0.9, -0.9, 0.5]), 0.0 if name == "logistic" else -2.0
    gap, first, second = lemma13(PROBLEMS[name], X, y, 0.5, x, outcome)
    assert first == pytest.approx(gap, rel=1e-10)
    assert second == pytest.approx(gap, rel=1e-10)
    assert np.linalg.norm(-second - gap) > 1.9 * np.linalg.norm(gap)  # the printed sign


def test_e19_for_a_loss_that_is_twice_differentiable_only_almost_everywhere():
    """Huber's Hessian jumps along the segment, so quadrature is less exact, and the signs are as clear."""
    X, y = table("huber", n=30)
    gap, first, second = lemma13(Huber(0.4), X, y, 0.5, np.array([0.9, -0.9, 0.5]), -3.0)
    for found in (first, second):
        assert np.linalg.norm(found - gap) < 0.05 * np.linalg.norm(gap)


def test_e19_which_leverage_is_which():
    """The fit that holds the row has the smaller one; section 3 of wang2017 swaps theorem 14's symbols for them."""
    X, y = table("ridge")
    x = np.array([0.9, -0.9, 0.5])
    outside = LeverageRidge(X.T @ X, X.T @ y, 0.5).adding(x[None], np.zeros(1)).leverage[0]
    X1, y1 = np.vstack([X, x]), np.append(y, 0.0)
    inside = x @ np.linalg.solve(X1.T @ X1 + 0.5 * np.eye(3), x)
    assert inside == pytest.approx(outside / (1 + outside))
    assert LeverageRidge(X1.T @ X1, X1.T @ y1, 0.5).without(X1, y1).leverage[-1] == pytest.approx(outside)


@pytest.mark.parametrize("shape", SHAPES)
def test_ridge_sensitivities_three_ways(shape):
    X, y = table("ridge")
    A = shape_matrix(shape, X.T @ X + 0.5 * np.eye(3))
    refits = sensitivities(PROBLEMS["ridge"], X, y, 0.5, A)
    assert one_step(PROBLEMS["ridge"], X, y, 0.5, A) == pytest.approx(refits, rel=1e-9)
    assert LeverageRidge(X.T @ X, X.T @ y, 0.5).without(X, y, A).shift == pytest.approx(refits, rel=1e-9)
    assert kernel_ridge(X @ X.T, y, 0.5, shape) == pytest.approx(refits, rel=1e-9)  # a linear kernel is ridge


def test_kernel_ridge_against_refits():
    """A Gaussian kernel: the functions with and without each row, in the norm of their space."""
    X, y = table("ridge", n=25)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    found = kernel_ridge(K, y, 0.3)
    alpha = np.linalg.solve(K + 0.3 * np.eye(25), y)
    for i in range(25):
        kept = np.arange(25) != i
        beta = alpha.copy()
        beta[kept] -= np.linalg.solve(K[np.ix_(kept, kept)] + 0.3 * np.eye(24), y[kept])
        assert found[i] == pytest.approx(math.sqrt(beta @ K @ beta), rel=1e-8)


@pytest.mark.parametrize("name", ["logistic", "huber"])
def test_the_estimate_without_refits_is_close(name):
    X, y = table(name, n=300)
    exact = sensitivities(PROBLEMS[name], X, y, 0.5, rows=np.arange(30))
    estimate = one_step(PROBLEMS[name], X, y, 0.5)[:30]
    assert estimate == pytest.approx(exact, rel=0.1)
    if name == "logistic":
        assert not np.allclose(estimate, exact, rtol=1e-5)  # and no more than an estimate


def test_e7_the_printed_epsilon_of_a_fixed_covariance_is_too_small():
    """gamma = 0.25, |theta - theta'|_A = 0.4: printed 0.375, true 0.834."""
    gamma, D, delta = 0.25, 0.4, 1e-6
    printed = gamma * D * math.sqrt(math.log(1.25 / delta))
    true = output_epsilon(np.array([D]), gamma, delta)[0]
    assert printed == pytest.approx(0.375, abs=5e-4)
    assert true == pytest.approx(0.834, abs=5e-4)
    assert true == pytest.approx(gdp.epsilon(math.sqrt(gamma) * D, delta), rel=1e-9)
    mended = math.sqrt(gamma) * D * math.sqrt(2 * math.log(1.25 / delta))
    assert true < mended


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="penalty"):
        minimise(PROBLEMS["ridge"], np.eye(2), np.ones(2), 0.0)
    with pytest.raises(ValueError, match="shape"):
        kernel_ridge(np.eye(2), np.ones(2), 1.0, "round")
    with pytest.raises(ValueError, match="positive definite"):
        sensitivities(PROBLEMS["ridge"], np.eye(2), np.ones(2), 1.0, -np.eye(2))
