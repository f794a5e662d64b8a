"""The debiased solve against brute force: many draws of the noise, with everything else held fixed."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.solve.debiased import (
    along_noise,
    contrasts,
    debiased,
    inverse,
    positive,
    resolvent,
    through_noise,
)
from discreet.solve.equations import NormalEquations

DRAWS = 4000
NOISE = 0.12


def symmetric(W, draws, rng):
    """Symmetric noise with independent entries of variances W on and above the diagonal."""
    N = np.triu(rng.standard_normal((draws, *W.shape)))
    return (N + np.triu(N, 1).transpose(0, 2, 1)) * np.sqrt(W)


def weighted(d):
    return (np.eye(d) + 1) / 2


def masked(d):
    W = weighted(d)
    W[0, 1] = W[1, 0] = W[2, 2] = 0.0
    return W


def design(d, rng):
    """X'X of correlated columns, for 5,000 rows."""
    X = rng.uniform(-1, 1, (5000, d))
    X[:, 1:] = 0.8 * X[:, 1:] + 0.2 * X[:, :-1]
    return X.T @ X


def equations(A, theta, sds, noise, rng, sigma=0.0, n=5000.0):
    """Released equations of one data set and one draw of the noise; sampling error X'e is normal."""
    s_xx, s_xy, s_yy = sds
    d = len(A)
    S = A + (s_xx * symmetric(weighted(d), 1, rng)[0] if noise else 0.0)
    e = sigma * np.linalg.cholesky(A) @ rng.standard_normal(d)
    rest = sigma**2 * (e @ np.linalg.solve(A, e) / sigma**2 + rng.chisquare(n - d)) if sigma else 0.0
    v = A @ theta + e + (s_xy * rng.standard_normal(d) if noise else 0.0)
    yy = theta @ A @ theta + 2 * theta @ e + rest + (s_yy * rng.standard_normal() if noise else 0.0)
    return NormalEquations.of_one(tuple(map(str, range(d))), "y", S, v, yy, s_xx, s_xy, s_yy, n=n)


@pytest.mark.parametrize("W", [weighted(4), np.ones((4, 4)), masked(4)], ids=["weighted", "uniform", "masked"])
def test_through_noise_is_the_expectation(W):
    rng = np.random.default_rng(1)
    B = rng.standard_normal((4, 4))
    B = B + B.T
    N = symmetric(W, 200_000, rng)
    drawn = N @ B @ N
    error = drawn.std(axis=0) / len(N) ** 0.5
    assert np.all(np.abs(drawn.mean(axis=0) - through_noise(W, B)) <= 5 * error + 1e-12)


@pytest.mark.parametrize("W", [weighted(4), np.ones((4, 4)), masked(4)], ids=["weighted", "uniform", "masked"])
def test_along_noise_is_a_quadratic_form_of_through_noise(W):
    rng = np.random.default_rng(2)
    b, x, y = rng.standard_normal((3, 5, 4))
    found = along_noise(W, b, x, y)
    for k in range(5):
        B = (np.outer(x[k], y[k]) + np.outer(y[k], x[k])) / 2
        assert found[k] == pytest.approx(b[k] @ through_noise(W, B) @ b[k], rel=1e-12)


@pytest.mark.parametrize("d", [3, 10])
@pytest.mark.parametrize("kind", [weighted, masked, lambda d: np.ones((d, d))], ids=["weighted", "masked", "uniform"])
def test_the_resolvent_solves_its_equation(kind, d):
    A = design(d, np.random.default_rng(3))
    W = (0.05 * np.linalg.eigvalsh(A)[0]) ** 2 * kind(d)
    G = resolvent(A, W)
    assert np.linalg.eigvalsh(G)[0] > 0
    assert G @ (A + through_noise(W, G)) == pytest.approx(np.eye(d), abs=1e-9)


def test_the_resolvent_exists_where_there_is_only_noise():
    """No inverse: S has negative eigenvalues, and G is positive definite still."""
    W = weighted(6)
    S = symmetric(W, 1, np.random.default_rng(4))[0]
    G = resolvent(S, W)
    assert np.linalg.eigvalsh(S)[0] < 0 < np.linalg.eigvalsh(G)[0]
    assert G @ (S + through_noise(W, G)) == pytest.approx(np.eye(6), abs=1e-6)


@pytest.fixture(scope="module", params=[3, 10])
def simulated(request):
    """Estimates of one fixed A and theta, with sampling error and noise, and what debiased() says of them."""
    d, rng = request.param, np.random.default_rng([5, request.param])
    A, theta = design(d, rng), np.where(np.arange(d) % 2, -1.0, 1.0) / (1 + np.arange(d))
    G2 = np.linalg.matrix_power(np.linalg.inv(A), 2)
    unit = np.linalg.eigvalsh(through_noise(weighted(d), G2))[-1] ** 0.5
    sds = NOISE / unit, 0.05 * np.linalg.eigvalsh(A)[0], 30.0
    fits, plain = [], []
    for _ in range(DRAWS):
        e = equations(A, theta, sds, True, rng, sigma=0.5)
        fits.append(debiased(e))
        plain.append(np.linalg.solve(e.S, e.v))
    return A, theta, sds, fits, np.array(plain)


def test_the_debiased_solve_is_unbiased_and_least_squares_is_not(simulated):
    A, theta, _, fits, plain = simulated
    found = np.array([fit.theta for fit in fits])

    def worst(estimates):
        """The bias where features vary least, in standard errors of the simulation."""
        u = np.linalg.eigh(A)[1]
        errors = (estimates - theta) @ u
        return np.abs(errors.mean(axis=0) / errors.std(axis=0) * len(errors) ** 0.5).max()

    assert worst(found) < 4
    assert worst(plain) > 6


def test_the_covariance_is_that_of_the_draws(simulated):
    """The sd of a variance from 4,000 draws is 2.2 % of it; what is left out is of the order noise^2, a few percent."""
    _, _, _, fits, _ = simulated
    found = np.cov(np.array([fit.theta for fit in fits]).T)
    said = np.mean([fit.sampling + fit.privacy for fit in fits], axis=0)
    assert np.diag(said) == pytest.approx(np.diag(found), rel=0.1)
    scale = np.sqrt(np.outer(np.diag(found), np.diag(found)))
    assert np.abs((said - found) / scale).max() < 0.1


def test_sigma2_is_unbiased_and_its_error_known(simulated):
    _, _, _, fits, _ = simulated
    sigma2 = np.array([fit.sigma2 for fit in fits])
    assert abs(sigma2.mean() - 0.25) < 4 * sigma2.std() / DRAWS**0.5
    said = np.mean([fit.sigma2_error for fit in fits]) + 2 * 0.25**2 / 5000
    assert said == pytest.approx(sigma2.var(), rel=0.1)


def along(fit):
    """What tests of each coefficient need."""
    C = fit.privacy if fit.sampling is None else fit.sampling + fit.privacy
    return contrasts(np.eye(len(fit.theta)), fit.theta, C, fit.G, fit.W, fit.L)


def test_luck_is_the_covariance_of_estimates_with_small_noise(simulated):
    A, theta, sds, fits, _ = simulated
    signal = np.array([1 / along(fit).noise for fit in fits])
    W = sds[0] ** 2 * weighted(len(A))
    S, v = A, A @ theta
    exact = debiased(NormalEquations.of_one(fits[0].theta.astype(str), "y", S, v, None, *sds, n=5000.0))
    said = along(exact)
    assert np.array_equal(exact.W, W)
    assert said.spread == pytest.approx(signal.std(axis=0), rel=0.1)
    assert np.median(1 / signal, axis=0) == pytest.approx(said.noise, rel=0.05)
    found = np.array([fit.theta for fit in fits])
    gaps, signs = found - found.mean(axis=0), (signal - signal.mean(axis=0)) / signal.std(axis=0)
    covariance = np.mean(gaps * signs, axis=0)
    assert np.abs(covariance - said.luck).max() < 0.12 * found.std(axis=0).max()
    assert np.abs(said.luck).max() > 0.3 * found.std(axis=0).max() or len(A) > 3


def test_noise_of_v_does_not_pass_for_errors_of_outcomes():
    """s_xy is so large here that without its own term sigma^2 would be ten standard errors too small."""
    rng, theta = np.random.default_rng(7), np.array([1.0, -0.5, 0.2])
    A = design(3, rng)
    drawn = np.array([debiased(equations(A, theta, (1.0, 150.0, 1.0), True, rng, 0.5)).sigma2 for _ in range(DRAWS)])
    assert abs(drawn.mean() - 0.25) < 4 * drawn.std() / DRAWS**0.5


def test_sampling_error_passes_through_a_noisy_inverse():
    """E[G A G], which sigma^2 multiplies, is E[G + G K G] and not E[G]."""
    rng = np.random.default_rng(8)
    A = design(4, rng)
    s = 0.1 * np.linalg.eigvalsh(A)[0]
    sizes = []
    for N in symmetric(weighted(4), DRAWS, rng):
        e = NormalEquations.of_one(tuple("abcd"), "y", A + s * N, np.ones(4), None, s, 1.0, None, n=5000.0)
        found = inverse(e)
        sizes.append([np.trace(B) for B in (found.G @ A @ found.G, found.unit_sampling, found.G)])
    real, said, less = np.mean(sizes, axis=0)
    assert said == pytest.approx(real, rel=0.003)
    assert less < 0.99 * real


def test_the_variance_follows_the_value_that_is_tested():
    """tilt, curve and luck_slope are what moving theta to theta + delta m does, with a'm = 1."""
    rng, theta = np.random.default_rng(9), np.array([1.0, -0.5, 0.2])
    fit = debiased(equations(design(3, rng), theta, (60.0, 40.0, 30.0), True, rng, 0.5))
    T, C = rng.standard_normal((2, 3)), fit.sampling + fit.privacy
    bend = contrasts(T, fit.theta, C, fit.G, fit.W, fit.L)
    for k, a in enumerate(T):
        b = fit.G @ a
        for delta in (-0.3, 0.2):
            moved = fit.theta + delta * C @ a / (a @ C @ a)
            assert a @ moved == pytest.approx(a @ fit.theta + delta)
            before, after = (b @ through_noise(fit.W, np.outer(t, t)) @ b for t in (fit.theta, moved))
            assert after - before == pytest.approx(2 * delta * bend.tilt[k] + delta**2 * bend.curve[k], rel=1e-9)
            luck = contrasts(T, moved, C, fit.G, fit.W, fit.L).luck[k]
            assert luck == pytest.approx(bend.luck[k] + delta * bend.luck_slope[k], rel=1e-9)


@pytest.mark.parametrize("part", ["sampling", "privacy"])
def test_each_part_of_the_covariance_alone(part):
    """Only people differ, or only noise: each part alone is what then varies."""
    rng, theta = np.random.default_rng(6), np.array([1.0, -0.5, 0.2])
    A = design(3, rng)
    sds = (1e-6, 1e-6, 1e-6) if part == "sampling" else (60.0, 40.0, 30.0)
    sigma = 0.5 if part == "sampling" else 0.0
    drawn = [debiased(equations(A, theta, sds, part == "privacy", rng, sigma)) for _ in range(DRAWS)]
    found = np.var([fit.theta for fit in drawn], axis=0)
    said = {
        "sampling": np.mean([np.diag(fit.sampling) for fit in drawn], axis=0),
        "privacy": np.mean([np.diag(fit.privacy) for fit in drawn], axis=0),
    }
    assert said.pop(part) == pytest.approx(found, rel=0.1)
    (other,) = said.values()
    assert np.all(other < 0.01 * found)


@pytest.mark.parametrize("noisy", [False, True])
def test_the_score_products_gives_the_variance_where_those_of_errors_differ(noisy):
    """Errors are three times as large where the first column is; the classical variance is far too small there."""
    rng, theta, n = np.random.default_rng(10), np.array([1.0, -0.5]), 500
    estimates, robust, classical = [], [], []
    for _ in range(DRAWS):
        X = rng.uniform(-1, 1, (n, 2))
        e = rng.standard_normal(n) * np.where(np.abs(X[:, 0]) > 0.7, 3.0, 0.3)
        y, sd = X @ theta + e, 15.0 if noisy else 0.0
        M = (X * e[:, None]).T @ (X * e[:, None]) + sd * symmetric(weighted(2), 1, rng)[0]
        plain = NormalEquations.of_one(("a", "b"), "y", X.T @ X, X.T @ y, y @ y, 1e-9, 1e-9, 1e-9, n=float(n))
        fit = debiased(replace(plain, score_products=M[None], s_score_products=np.array([max(sd, 1e-9)])))
        estimates.append(fit.theta)
        robust.append(np.diag(fit.sampling))
        classical.append(np.diag(debiased(plain).sampling))
        assert fit.score_noise > 0
    real = np.var(estimates, axis=0)
    assert np.mean(robust, axis=0) == pytest.approx(real, rel=0.1)
    assert np.mean(classical, axis=0)[0] < 0.7 * real[0]


def test_a_score_products_that_is_noise_makes_no_interval_too_short():
    """Its trace is taken to be two sds of noise, and its doubt leaves few degrees of freedom."""
    M = positive(np.diag([1.0, -3.0, 0.5]), 10.0)
    assert np.trace(M) == pytest.approx(20 * 3**0.5)
    assert np.linalg.eigvalsh(M)[0] >= 0
    assert not positive(np.zeros((2, 2)), 0.0).any()


@pytest.mark.parametrize("unequal", [False, True])
def test_without_squares_score_products_are_drawn_towards_a_multiple_of_the_gram_matrix(unequal):
    """As in models of counts: where they are 1.7 times X'X their noise is halved; where they are not, they stay."""
    rng, A, sd = np.random.default_rng(12), np.diag([4000.0, 4000.0, 40.0]), 50.0
    true = 1.7 * A + (np.diag([0.0, 4000.0, 0.0]) if unequal else 0.0)
    blank = NormalEquations.of_one(("a", "b", "c"), "y", A, np.zeros(3), None, 1e-9, 1e-9, None, n=5000.0)
    errors = []
    for _ in range(300):
        M = true + sd * symmetric(weighted(3), 1, rng)[0]
        e = replace(blank, score_products=M[None], s_score_products=np.array([sd]))
        own, plain = debiased(e), debiased(e, alike=False)
        assert plain.score_noise == sd
        assert own.score_noise == pytest.approx(sd, rel=0.05) if unequal else own.score_noise < sd
        wanted = np.diag(np.linalg.inv(A) @ true @ np.linalg.inv(A))
        errors.append([np.abs(np.diag(fit.sampling) / wanted - 1) for fit in (own, plain)])
    of, plain = np.mean(errors, axis=0)
    assert of[2] < (1.02 if unequal else 0.75) * plain[2]


def test_score_products_that_are_noise_have_no_size():
    rng = np.random.default_rng(13)
    S, M = 3.0 * symmetric(weighted(3), 1, rng)[0], -100 * np.eye(3)
    e = NormalEquations.of_one(("a", "b", "c"), "y", S, np.zeros(3), None, 3.0, 3.0, None, n=100.0)
    fit = debiased(replace(e, score_products=M[None], s_score_products=np.array([50.0])))
    assert np.isfinite(fit.sampling).all()
    assert np.linalg.eigvalsh(fit.sampling)[0] >= -1e-9
