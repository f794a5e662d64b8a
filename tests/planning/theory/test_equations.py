"""Noisy normal equations: bounds against simulated releases, constants of the asymptotics, the paper's slips."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from discreet import SSP, AdaSSP, Domain, Moments
from discreet.planning.theory import (
    adaops_rate,
    adassp_bound,
    adassp_penalty,
    adassp_rate,
    efficiency_rates,
    equations_noise,
    estimation_bound,
    excess_bound,
    gram_noise_bound,
    overestimate,
    relative_efficiency,
)
from discreet.solve.ridge import noise_norm


def released(rng, count, d, sd):
    """Noise as released: sd on the diagonal, sd/sqrt(2) off it."""
    N = np.zeros((count, d, d))
    for i in range(d):
        for j in range(i, d):
            N[:, i, j] = N[:, j, i] = rng.normal(size=count) * (sd if i == j else sd / math.sqrt(2))
    return N


def excess(G, theta, N1, N2, penalty=0.0):
    """F(theta_hat) - F(theta) for many draws; `penalty` may be one a draw."""
    d = len(theta)
    S = G + N1 + np.asarray(penalty)[..., None, None] * np.eye(d)
    apart = np.linalg.solve(S, (G @ theta + N2)[..., None])[..., 0] - theta
    return np.einsum("...i,ij,...j->...", apart, G, apart) / 2


def test_the_noise_is_that_of_the_estimators():
    domain = Domain.from_bounds(["a", "b"], ["y"], bounds_y=(-2, 2), data_norm=3, intercept=False)
    moments = Moments.from_source((np.ones((5, 2)), np.ones(5)), domain)
    for cls, share in ((SSP, 1 / 2), (AdaSSP, 1 / 3)):
        found = cls(epsilon=0.7, delta=1e-5, random_state=0).fit_moments(moments, "y").release_.blocks
        sds = {b.statistic: b.sd for b in found}
        unit = equations_noise(0.7, 1e-5, gram_share=share, cross_share=share)
        assert sds["gram"] == pytest.approx(unit.s_xx, rel=1e-4)
        assert sds["cross"] == pytest.approx(unit.s_xy, rel=1e-4)
    scaled = equations_noise(0.7, 1e-5, norm_x=3, norm_y=2)
    assert scaled == pytest.approx([9 * equations_noise(0.7, 1e-5).s_xx, 6 * equations_noise(0.7, 1e-5).s_xy])


@pytest.mark.parametrize("d", [1, 3, 12])
def test_the_spectrum_of_the_noise_stays_above_its_bound(d):
    N = released(np.random.default_rng(d), 4000, d, 2.0)
    least = np.linalg.eigvalsh(N)[:, 0]
    for rho in (0.5, 0.05):
        beyond = np.mean(least < -gram_noise_bound(d, 2.0, rho))
        assert beyond <= rho
    typical = np.quantile(-least, 0.95) / gram_noise_bound(d, 2.0, 0.05)
    assert 0.4 < typical < 1


@pytest.mark.parametrize(("d", "printed", "true"), [(1, 1e-3, 5.8e-3), (10, 1e-3, 1.13e-2)])
def test_e21_lemma_6_fails_as_printed(d, printed, true):
    """|E theta|_A^2 <= w^2 tr(A) |theta|^2 log(2 d^2/rho): for A = u u' and u = theta the left side is one normal."""
    u = np.ones(d) / math.sqrt(d)
    variance = 2 - 1 / d  # of u'E u with sd 1 in every entry of the upper triangle
    rng = np.random.default_rng(0)
    upper = np.triu(rng.normal(size=(20_000, d, d)))
    E = upper + np.triu(upper, 1).transpose(0, 2, 1)
    assert np.var(np.einsum("i,nij,j->n", u, E, u)) == pytest.approx(variance, rel=0.05)
    fails = 2 * norm.sf(math.sqrt(math.log(2 * d**2 / printed) / variance))
    assert fails == pytest.approx(true, rel=0.02)
    assert fails > 5 * printed


CASES = {
    "well conditioned": (np.diag([3e3, 5e3, 9e3]), np.array([0.5, -0.5, 0.2]), 0.0),
    "ridge": (np.diag([1.0, 200, 3000, 4000]), np.array([0.5, -0.5, 0.2, 0.1]), 120.0),
    "hard": (100 * np.eye(6), np.full(6, 0.4), 60.0),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("rho", [0.3, 0.05])
def test_the_excess_bound_holds_and_is_not_idle(case, rho):
    G, theta, penalty = CASES[case]
    rng = np.random.default_rng(7)
    s_xx, s_xy = 6.0, 4.0
    d = len(theta)
    found = excess(G, theta, released(rng, 4000, d, s_xx), s_xy * rng.normal(size=(4000, d)), penalty)
    bound = float(excess_bound(G, theta, s_xx, s_xy, penalty=penalty, rho=rho))
    assert np.mean(found > bound) <= rho
    assert bound < 40 * np.quantile(found, 1 - rho)


def test_the_bound_allows_for_noise_that_nearly_cancels_the_gram_matrix():
    """100 equal eigenvalues, and noise that comes near them: without c the bound is exceeded in every draw."""
    rng, d, rho = np.random.default_rng(9), 100, 0.3
    G, theta, s_xx, s_xy = 100 * np.eye(d), np.zeros(d), 6.0, 1.0
    found = excess(G, theta, released(rng, 60, d, s_xx), s_xy * rng.normal(size=(60, d)))
    bound = float(excess_bound(G, theta, s_xx, s_xy, rho=rho))
    c = 1 - float(gram_noise_bound(d, s_xx, rho / 2)) / 100
    assert 0 < c < 0.1
    assert np.mean(found > bound) <= rho
    assert np.mean(found > c**2 * bound) > 0.9


def test_no_bound_without_conditioning():
    assert excess_bound(np.diag([1.0, 1e4]), [1.0, 1.0], 6.0, 6.0) == np.inf
    assert estimation_bound(np.diag([1.0, 1e4]), [1.0, 1.0], 1.0, 6.0, 6.0) == np.inf
    by_epsilon = excess_bound(1e4 * np.eye(2), [1.0, 1.0], *equations_noise([1e-4, 1.0, 10.0], 1e-6))
    assert np.isinf(by_epsilon[0])
    assert by_epsilon[1] > by_epsilon[2] > 0


def simulate_adassp(rng, G, theta, epsilon, count, rho=0.05, delta=1e-6, Y=1.0):
    d = len(theta)
    s_xx, s_xy = equations_noise(epsilon, delta, norm_y=Y, gram_share=1 / 3, cross_share=1 / 3)
    least = np.linalg.eigvalsh(G)[0] + s_xx * (rng.normal(size=count) - math.sqrt(math.log(6 / delta)))
    penalty = np.maximum(0, noise_norm(d, float(s_xx), rho) - np.maximum(least, 0))
    found = excess(G, theta, released(rng, count, d, s_xx), s_xy * rng.normal(size=(count, d)), penalty)
    return found, penalty


@pytest.mark.parametrize("level", [0.0, 30.0, 60.0, 1e4])
def test_the_adassp_penalty_lies_where_it_is_said_to(level):
    G = level * np.eye(4)
    _, penalty = simulate_adassp(np.random.default_rng(3), G, np.zeros(4), 1.0, 4000, rho=0.3)
    least, most = adassp_penalty(G, 1.0, 1e-6, rho=0.3)
    assert np.mean((penalty < least) | (penalty > most)) <= 0.115
    if level == 60.0:
        assert [np.quantile(penalty, q) for q in (0.05, 0.95)] == pytest.approx([least, most], abs=1.0)


@pytest.mark.parametrize(("level", "slack"), [(3.0, 1000), (100.0, 20), (1e4, 3)])
def test_the_adassp_bound_holds(level, slack):
    """And how loose it is: very, where the penalty barely exceeds the noise of X'X."""
    G, theta = level * np.diag(np.linspace(1, 3, 10)), np.full(10, 0.3)
    found, _ = simulate_adassp(np.random.default_rng(2), G, theta, 1.0, 2000)
    bound = float(adassp_bound(G, theta, 1.0, 1e-6))
    assert np.mean(found > bound) <= 0.05
    assert bound < slack * np.quantile(found, 0.95)


def test_the_simulated_adassp_is_the_estimator():
    """The same law as the library's own AdaSSP, on a table whose moments are known."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.clip(X @ [0.5, -0.3, 0.1], -1, 1)
    domain = Domain.from_bounds(["a", "b", "c"], ["y"], bounds_y=(-1, 1), data_norm=1, intercept=False)
    moments = Moments.from_source((X, y), domain)
    G = X.T @ X
    theta = np.linalg.solve(G, X.T @ y)
    ours = []
    for seed in range(300):
        coef = AdaSSP(epsilon=1.0, delta=1e-6, random_state=seed).fit_moments(moments, "y").coef_
        ours.append((coef - theta) @ G @ (coef - theta) / 2)
    found, _ = simulate_adassp(rng, G, theta, 1.0, 3000)
    assert np.mean(ours) == pytest.approx(found.mean(), rel=0.2)


def test_e29_15_does_not_follow_from_the_penalty():
    """Theorem 3's proof needs |N1| <= (lambda_min + lambda)/2: a fifth of our draws break it, nearly all of its own."""
    rng, d = np.random.default_rng(4), 10
    _, penalty = simulate_adassp(rng, np.zeros((d, d)), np.zeros(d), 1.0, 2000)
    s_xx = equations_noise(1.0, 1e-6, gram_share=1 / 3, cross_share=1 / 3).s_xx
    upper = np.triu(s_xx * rng.normal(size=(2000, d, d)))
    printed = upper + np.triu(upper, 1).transpose(0, 2, 1)  # the paper's noise: the same sd everywhere
    ours, its = (
        np.mean(np.abs(np.linalg.eigvalsh(N)).max(1) > penalty / 2) for N in (released(rng, 2000, d, s_xx), printed)
    )
    assert 0.15 < ours < 0.26
    assert its > 0.9


def test_e28_without_b_squared_the_order_of_theorem_2_depends_on_the_unit_of_features():
    """Features in a unit c times smaller: the same errors, but d^2 |theta|^2/(alpha n epsilon^2) falls like 1/c^2."""
    d, n, epsilon, delta = 5, 1e5, 1.0, 1e-6
    medians, printed, mended = [], [], []
    for c in (1.0, 100.0):
        rng, theta = np.random.default_rng(11), np.full(d, d**-0.5) / c
        s_xx, s_xy = equations_noise(epsilon, delta, norm_x=c)
        N1, N2 = released(rng, 500, d, s_xx), s_xy * rng.normal(size=(500, d))
        medians.append(np.median(excess(c**2 * n / d * np.eye(d), theta, N1, N2)))
        mended.append(float(adaops_rate(n, d, epsilon, delta, alpha=1.0, norm_x=c, norm_theta=1 / c)))
        printed.append(mended[-1] / c**2)
    assert medians[0] == pytest.approx(medians[1])
    assert mended[0] == pytest.approx(mended[1])
    assert medians[0] < 10 * printed[0]
    assert medians[1] > 1000 * printed[1]


def slope(x, y):
    return np.polyfit(np.log(x), np.log(y), 1)[0]


def test_the_adassp_error_has_the_order_of_theorem_3():
    """Well conditioned: 1/n, d^2, 1/epsilon^2. Eigenvalues at the size of the penalty: sqrt(d)/epsilon."""
    rng = np.random.default_rng(5)

    def error(n, d, epsilon):
        theta = np.full(d, d**-0.5)
        return np.median(simulate_adassp(rng, n / d * np.eye(d), theta, epsilon, 600)[0])

    n = np.geomspace(3e4, 3e6, 4)
    assert slope(n, [error(k, 5, 1.0) for k in n]) == pytest.approx(-1, abs=0.15)
    d = np.array([3, 6, 12, 24])
    assert slope(d, [error(3e5, k, 1.0) for k in d]) == pytest.approx(2, abs=0.2)
    epsilon = np.array([0.1, 0.3, 1.0])  # mu is proportional to epsilon only roughly
    assert slope(epsilon, [error(3e6, 5, e) for e in epsilon]) == pytest.approx(-2, abs=0.2)
    rate = [float(adassp_rate(k / 5 * np.eye(5), 1.0, 1e-6)) for k in n]
    assert slope(n, rate) == pytest.approx(-1)

    def hard(d, epsilon):
        s_xx = equations_noise(epsilon, 1e-6, gram_share=1 / 3, cross_share=1 / 3).s_xx
        return error(d * noise_norm(d, float(s_xx)), d, epsilon)

    assert slope(d, [hard(k, 1.0) for k in d]) == pytest.approx(0.5, abs=0.25)
    assert slope(epsilon, [hard(5, e) for e in epsilon]) == pytest.approx(-1, abs=0.15)


def test_the_relative_efficiency_is_right_to_second_order_and_tends_to_1():
    rng = np.random.default_rng(6)
    base = np.array([[1.0, 0.3], [0.3, 0.6]])
    theta, sigma, s_xx, s_xy = np.array([0.8, -0.4]), 0.7, 6.0, 5.0
    for n, count in ((400, 40_000), (3000, 40_000)):
        G = n * base
        noise = rng.normal(size=(count, 2)) @ np.linalg.cholesky(G).T * sigma
        v = G @ theta + noise + s_xy * rng.normal(size=(count, 2))
        apart = np.linalg.solve(G + released(rng, count, 2, s_xx), v[..., None])[..., 0] - theta
        own = np.linalg.solve(G, noise.T).T
        measured = (apart**2).sum(1).mean() / (own**2).sum(1).mean()
        predicted = float(relative_efficiency(G, theta, sigma, s_xx, s_xy))
        assert measured - 1 == pytest.approx(predicted - 1, rel=0.08)
        bound = float(estimation_bound(G, theta, sigma, s_xx, s_xy)) / (sigma**2 * np.trace(np.linalg.inv(G)))
        assert measured <= bound
    n = np.geomspace(1e5, 1e8, 4)
    added = [float(relative_efficiency(k * base, theta, sigma, s_xx, s_xy)) - 1 for k in n]
    assert slope(n, added) == pytest.approx(-1, abs=0.01)
    assert added[-1] < 1e-4
    orders = efficiency_rates(n, 2, 1.0, 1e-6, sigma=sigma)["AdaOPS, AdaSSP"] - 1
    assert slope(n, orders) == pytest.approx(-1, abs=0.01)


def test_the_curvature_term_of_the_relative_efficiency():
    """Without coefficients or noise in X'y what is left is E tr S^-1 G S^-1 over tr G^-1."""
    G, s_xx = np.array([[100.0, 30], [30, 60]]), 2.5
    S = G + released(np.random.default_rng(10), 200_000, 2, s_xx)
    inverse = np.linalg.inv(S)
    measured = np.einsum("nij,jk,nki->n", inverse, G, inverse).mean() / np.trace(np.linalg.inv(G))
    predicted = float(relative_efficiency(G, [0.0, 0.0], 1.0, s_xx, 1e-9))
    assert measured - 1 == pytest.approx(predicted - 1, rel=0.06)


def test_the_order_of_the_curvature_term():
    given = {"sigma": 1.0, "norm_theta": 1e-9, "epsilon": 1.0, "delta": 1e-6}
    n, d = np.array([1e4, 1e5]), np.array([5, 50])
    assert slope(n, efficiency_rates(n, 5, **given)["SSP"] - 1) == pytest.approx(-2, abs=1e-3)
    assert slope(d, efficiency_rates(1e4, d, **given)["SSP"] - 1) == pytest.approx(3, abs=1e-3)


def test_e30_theorem_3_says_unbiased_where_the_mean_is_too_large():
    """One dimension, N1 kept away from singularity: the mean of G/(G + N1) is 1 + s^2/G^2 and more."""
    N = 10.0 * np.random.default_rng(8).normal(size=200_000)
    inside = np.abs(N) < 50
    mean, error = (100 / (100 + N[inside])).mean(), (100 / (100 + N[inside])).std() / 400
    assert mean - 1 > 10 * error
    assert mean == pytest.approx(1 + 10**2 / 100**2, abs=0.001)


def test_e24_the_eigenvalue_is_rarely_overestimated():
    delta = 1e-4
    assert overestimate(delta) == pytest.approx(norm.sf(math.sqrt(math.log(6 / delta))))
    assert overestimate(delta, published=True) <= delta / 3 / (4 * math.sqrt(math.pi * math.log(6 / delta)))
    small = 300**-1.1
    bound = small / (4 * math.sqrt(math.pi * math.log(2 / small)))
    assert bound == pytest.approx(1.0e-4, rel=0.02)
    assert bound * math.sqrt(math.log(2)) == pytest.approx(0.000084, rel=0.01)  # log to base 2
