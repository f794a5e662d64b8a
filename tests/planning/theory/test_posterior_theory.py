"""Lemmas 8 and 9 and proposition 18 of wang2018, against posterior samples and the library's OPS."""

import numpy as np
import pytest
from scipy.stats import chi2

from discreet import OPS, Domain, Moments
from discreet.errors import ParameterError
from discreet.planning.theory import (
    adaops_covariance,
    adaops_rate,
    efficiency_rates,
    ops_bound,
    ops_rate,
    posterior_distance,
    posterior_efficiency,
    posterior_excess,
)
from discreet.privacy import gdp


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    return X, X @ [0.5, -1.0, 0.2, 0.0], rng


def samples(rng, H, centre, gamma, count):
    return centre + rng.normal(size=(count, len(centre))) @ np.linalg.cholesky(np.linalg.inv(H) / gamma).T


def test_lemmas_8_and_9_with_exact_quantiles(problem):
    X, mean, rng = problem
    y = mean + rng.normal(size=60)
    G, gamma, lambda_ = X.T @ X, 0.7, 5.0
    H, star = G + lambda_ * np.eye(4), np.linalg.solve(G, X.T @ y)
    centre = np.linalg.solve(H, X.T @ y)
    theta = samples(rng, H, centre, gamma, 40_000)
    apart = np.einsum("ni,ij,nj->n", theta - centre, H, theta - centre)
    plain = samples(rng, G, star, gamma, 40_000) - star
    ridge = np.einsum("ni,ij,nj->n", theta - star, G, theta - star) / 2
    for rho in (0.5, 0.05):
        assert np.mean(apart > posterior_distance(4, gamma, rho=rho)) == pytest.approx(rho, abs=0.01)
        free = np.einsum("ni,ij,nj->n", plain, G, plain) / 2
        assert np.mean(free > posterior_excess(4, gamma, rho=rho)) == pytest.approx(rho, abs=0.01)
        bound = posterior_excess(4, gamma, penalty=lambda_, norm_theta=np.linalg.norm(star), rho=rho)
        assert np.mean(ridge > bound) <= rho
        t = np.log(1 / rho)
        assert posterior_distance(4, gamma, rho=rho) <= (4 + 2 * np.sqrt(4 * t) + 2 * t) / gamma


def test_e31_the_last_step_of_lemma_8_needs_a_small_probability():
    """5 d log(1/rho) is below the quantile itself at rho = 0.9, which "for all rho" includes."""
    assert chi2.isf(0.9, 1) < 5 * np.log(1 / 0.9)
    assert chi2.isf(0.9, 20) > 5 * 20 * np.log(1 / 0.9)
    assert posterior_distance(20, 1.0, rho=0.9) == pytest.approx(chi2.isf(0.9, 20))


def test_lemma_8_3_the_covariance_of_a_sample(problem):
    X, mean, rng = problem
    G, gamma, sigma, count = X.T @ X, 0.7, 0.5, 40_000
    star = (mean + sigma * rng.normal(size=(count, 60))) @ np.linalg.pinv(X).T
    theta = star + samples(rng, G, np.zeros(4), gamma, count)
    measured = np.cov(theta.T) @ G / sigma**2
    assert measured == pytest.approx(posterior_efficiency(gamma, sigma) * np.eye(4), abs=0.3)
    assert np.trace(measured) / 4 == pytest.approx(posterior_efficiency(gamma, sigma), rel=0.02)
    assert np.trace(measured) / 4 > 2 * (1 + 1 / gamma)  # what wang2017 prints in proposition 16.3 (E20)


def test_e32_the_order_of_ops_in_table_2_falls_below_1():
    """A sample is the estimate and noise besides: never better than least squares, however large epsilon is."""
    sigma, epsilon = 2.0, np.array([0.1, 1.0, 10.0])
    printed = 1 / (epsilon * sigma**2)  # B = T = 1
    assert printed[-1] < 0.03
    mended = efficiency_rates(1e5, 4, epsilon, 1e-6, sigma=sigma)["OPS"]
    assert mended == pytest.approx(1 + printed)
    assert np.all(posterior_efficiency(epsilon, sigma) > 1)


def test_e38_the_minimiser_of_section_2_belongs_to_half_of_its_penalty(problem):
    """F + lambda |theta|^2 is least at (X'X + 2 lambda I)^-1 X'y, not at (X'X + lambda I)^-1 X'y."""
    X, mean, rng = problem
    y, G, lambda_ = mean + rng.normal(size=60), X.T @ X, 5.0
    ridge = np.linalg.solve(G + lambda_ * np.eye(4), X.T @ y)
    gradient = G @ ridge - X.T @ y
    assert gradient + lambda_ * ridge == pytest.approx(np.zeros(4), abs=1e-9)
    assert np.linalg.norm(gradient + 2 * lambda_ * ridge) > 1


def test_proposition_18_has_its_order():
    n = np.geomspace(1e6, 1e12, 4)
    slopes = [np.polyfit(np.log(n), np.log(f(n, 10, 1.0, 1e-6)), 1)[0] for f in (ops_bound, ops_rate)]
    assert slopes == pytest.approx([1 / 3, 1 / 3], abs=0.02)
    epsilon = np.geomspace(0.01, 0.3, 4)
    mu = [gdp.mu(epsilon=e, delta=1e-6) for e in epsilon]  # the exact curve's epsilon
    fall = np.polyfit(np.log(mu), np.log(ops_bound(1e12, 10, epsilon, 1e-6)), 1)[0]
    assert fall == pytest.approx(-2 / 3, abs=0.02)
    ratio = ops_bound(n, 10, 1.0, 1e-6) / ops_rate(n, 10, 1.0, 1e-6)
    assert np.all((ratio > 0.3) & (ratio < 3))


def test_the_ops_bound_holds_for_the_estimator():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.clip(X @ [0.6, -0.6, 0.3, 0.1] + 0.1 * rng.normal(size=2000), -1, 1)
    domain = Domain.from_bounds(list("abcd"), ["y"], bounds_y=(-1, 1), data_norm=1, intercept=False)
    moments = Moments.from_source((X, y), domain)
    star = np.linalg.lstsq(X, y, rcond=None)[0]
    G = X.T @ X
    found = []
    for seed in range(25):
        model = OPS(epsilon=1.0, delta=1e-6, rows=2000, random_state=seed).fit_moments(moments, "y")
        found.append((model.coef_ - star) @ G @ (model.coef_ - star) / 2)
    bound = float(ops_bound(2000, 4, 1.0, 1e-6, norm_theta=float(np.linalg.norm(star)), rho=0.2))
    assert np.mean(np.array(found) > bound) <= 0.2
    assert bound < 20 * np.quantile(found, 0.8)


def test_theorem_2_as_an_order_and_with_its_constant():
    n = np.geomspace(1e5, 1e8, 4)
    assert np.polyfit(np.log(n), np.log(adaops_rate(n, 10, 1.0, 1e-6, alpha=1.0)), 1)[0] == pytest.approx(-1)
    assert adaops_rate(10, 10, 1.0, 1e-6, alpha=1e-9) == adaops_rate(10, 10, 1.0, 1e-6, alpha=1e-10)
    assert adaops_covariance(10 * np.eye(2), 1.0, 1e-6, sigma=1.0) == np.inf
    factors = adaops_covariance(1e9 * np.eye(2), [0.5, 1.0], 1e-6, sigma=1.0)
    assert (factors - 1)[0] == pytest.approx(4 * (factors - 1)[1])
    with pytest.raises(ParameterError, match="penalty"):
        posterior_excess(3, 1.0, penalty=-1.0)
