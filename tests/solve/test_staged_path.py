"""Penalised models and selection by all stages: the expected objective, its path, projections, wide tables."""

import functools
import warnings

import numpy as np
import pytest
from experiments.declared import wide_table
from sklearn.linear_model import ElasticNet, Ridge

from discreet import DiscreetWarning, DPElasticNet, DPLasso, DPLinearRegression, DPRidge
from discreet.domain import CONSTANT
from discreet.gate.entropy import NO_NOISE
from discreet.privacy import gdp
from discreet.released.equations import posterior_of
from discreet.results.models import L1_RATIOS
from discreet.solve.inclusion import Likelihood
from discreet.solve.joint import Joint, Normal

MODELS = {"ridge": DPRidge, "lasso": DPLasso, "elastic-net": DPElasticNet}
PROMISE = {"epsilon": 1.0, "delta": 1e-6, "n_jobs": 1}
BOX = {"bounds_X": (-1, 1), "bounds_y": (-2, 2)}
SOME = ["x1", "x3", "x4"]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """The curve is inverted once for each promise."""
    monkeypatch.setattr(gdp, "mu", functools.cache(gdp.mu))


def table(n=5000, d=6, *, seed=0, correlation=0.5):
    """Half of the variables matter, and which ones do."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, 1:] = correlation * X[:, :-1] + np.sqrt(1 - correlation**2) * X[:, 1:]
    relevant = rng.permutation(d) < d / 2
    X = np.clip(X / 2.5, -1, 1)
    f = X @ np.where(relevant, rng.standard_normal(d), 0.0)
    return X, np.clip(0.1 + 0.25 * f / f.std() + rng.uniform(-0.4, 0.4, n), -2, 2), relevant


def fitted(cls, X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        return cls(**PROMISE | BOX | options).fit(X, y)


@functools.cache
def released(seed=0, **options):
    return fitted(DPLinearRegression, *table(seed=seed)[:2], random_state=seed, **options).release_


def posterior(features=None, seed=0):
    release = released(seed)
    return posterior_of(release, release.equations("y", features))


# -------------------------------------------------------------------- the path


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-3, 0.02])
@pytest.mark.parametrize("model", MODELS)
def test_without_noise_they_are_scikit_learns(model, alpha, intercept):
    """Up to far rows, clipped residuals, and what is shrunk for noise that is not there."""
    X, y, _ = table(20_000)
    given = {"epsilon": 50, "stages": 3, "random_state": NO_NOISE, "fit_intercept": intercept}
    found = fitted(MODELS[model], X, y, alpha=alpha, **given)
    r, own = L1_RATIOS[model], {"fit_intercept": intercept}
    exact = Ridge(len(X) * alpha, **own) if r == 0 else ElasticNet(alpha, l1_ratio=r, tol=1e-12, **own)
    coef = exact.fit(X, y / 2).coef_ * 2  # of the mapped outcome
    np.testing.assert_allclose(found.coef_, coef, rtol=0, atol=0.005 * np.abs(coef).max())
    assert np.array_equal(found.coef_ == 0, coef == 0)


@pytest.mark.parametrize("features", [None, SOME])
@pytest.mark.parametrize("model", MODELS)
def test_next_to_no_penalty_gives_the_default(model, features):
    release = released()
    plain = release.fit("y", features)
    found = release.fit("y", features, model=model, alpha=1e-12)
    np.testing.assert_allclose(found.coef, plain.coef, rtol=0, atol=1e-6)
    assert found.intercept == pytest.approx(plain.intercept, abs=1e-6)


@pytest.mark.parametrize("features", [None, SOME])
@pytest.mark.parametrize("model", MODELS)
def test_the_whole_path_minimises_the_expected_objective(model, features):
    """Kuhn-Tucker conditions of 1/(2n) (t - m)' X'X (t - m) + alpha r |t|_1 + alpha (1 - r)/2 |t|^2."""
    release, r = released(), L1_RATIOS[model]
    known, path = posterior(features), release.fit("y", features, model=model).path()
    n, slopes = release.geometry.rows, path.coef / 2  # of the mapped outcome
    thetas = np.column_stack([path.intercept / 2, slopes])
    gradient = (known.mean - thetas) @ known.gram / n
    np.testing.assert_allclose(gradient[:, 0], 0, atol=1e-9)
    alpha = path.penalties[:, None]
    rest, active = gradient[:, 1:] - alpha * (1 - r) * slopes, slopes != 0
    assert np.all(np.abs(rest) <= alpha * r + 1e-8)
    np.testing.assert_allclose(rest[active], (alpha * r * np.sign(slopes))[active], rtol=0, atol=1e-8)
    assert np.all(np.diff(path.excess_error) <= 1e-12)
    np.testing.assert_allclose(path.excess_error, known.excess_error(thetas) / n, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", MODELS)
def test_the_chosen_penalty_is_the_strongest_that_costs_next_to_nothing(model, seed):
    release = released(seed)
    known, found = posterior(seed=seed), release.fit("y", model=model)
    path = found.path()
    most = 0.02 * known.expected_error / release.geometry.rows + path.excess_error.min()
    assert found.alpha == path.penalties[path.best]
    assert path.excess_error[path.best] <= most < path.excess_error[path.best - 1]


@pytest.mark.parametrize("features", [None, SOME])
def test_expected_errors_are_those_of_draws(features):
    known, rng = posterior(features), np.random.default_rng(0)
    thetas = rng.multivariate_normal(*known.law, size=20_000)
    other = known.mean + 0.05
    for aim, expected in [(known.mean, 0.0), (other, float(known.excess_error(other)))]:
        errors = np.einsum("gi,ij,gj->g", thetas - aim, known.gram, thetas - aim)
        assert errors.mean() == pytest.approx(known.expected_error + expected, abs=7 * errors.std() / 20_000**0.5)


# -------------------------------------------------------------------- some of the regressors


def test_some_regressors_have_the_projected_model_and_its_doubt():
    """Brute force: draw theta and X'X, and project."""
    rng, d, at, size = np.random.default_rng(1), 5, [0, 2, 3], 20_000
    A, C, R = rng.normal(0, 1, (50, d)), rng.normal(0, 0.003, (d, d)), np.eye(d) + rng.normal(0, 0.3, (d, d))
    law = Normal(rng.normal(0, 1, d), C @ C.T)
    known = Joint(law, law.plus(np.eye(d)), A.T @ A, R)
    some = known.of_some(at)
    thetas = rng.multivariate_normal(*law, size=size)
    N = np.triu(rng.standard_normal((size, d, d)))
    N += np.triu(N, 1).transpose(0, 2, 1)
    grams = known.gram + R @ N @ R.T
    drawn = np.linalg.solve(grams[:, at][:, :, at], np.einsum("gij,gj->gi", grams[:, at], thetas)[..., None])[..., 0]
    exact = np.linalg.lstsq(A[:, at], A @ law.mean)[0]
    np.testing.assert_allclose(some.mean, exact, atol=1e-9)
    np.testing.assert_allclose(drawn.mean(axis=0), exact, atol=0.01)
    ratio = np.diag(some.law.covariance) / drawn.var(axis=0)
    assert np.all((ratio > 0.7) & (ratio < 1.4)), ratio
    plain = law.through(np.linalg.solve(some.gram, known.gram[at]))
    assert np.all(np.diag(plain.covariance) < 0.5 * drawn.var(axis=0))  # without the doubt it would be too sure


# -------------------------------------------------------------------- selection


@pytest.mark.parametrize("features", [None, SOME])
def test_the_likelihood_takes_the_prior_to_the_posterior(features):
    known = posterior(features)
    Q, q, unit = Likelihood.of_stages(known)
    assert np.linalg.eigvalsh(Q * np.outer(unit, unit)).min() > -1e-9
    before = np.linalg.inv(known.prior.covariance)
    law = np.linalg.inv(before + Q)
    np.testing.assert_allclose(law, known.law.covariance, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(law @ (before @ known.prior.mean + q), known.mean, rtol=1e-6, atol=1e-9)


def test_directions_that_the_prior_does_not_have_are_unknown():
    flat = np.diag([1.0, 0.0])
    known = Joint(Normal(np.array([0.5, 0.0]), 0.1 * flat), Normal(np.zeros(2), flat), np.eye(2), np.zeros((2, 2)))
    Q, q, _ = Likelihood.of_stages(known)
    np.testing.assert_allclose(Q, 9 * flat, atol=1e-9)
    np.testing.assert_allclose(q, [5.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("every", [1, 3], ids=["all", "some"])
def test_what_is_sure_is_right(every):
    """Independent columns, so that a variable belongs to a model of some columns if it does to that of all."""
    found, truth = [], []
    for seed in range(8):
        X, y, relevant = table(5000, 24, seed=seed, correlation=0.0)
        release = fitted(DPLinearRegression, X, y, epsilon=2, random_state=seed).release_
        found.append(release.select("y", [f"x{j}" for j in range(0, 24, every)]).probability)
        truth.append(relevant[::every])
    found, truth = np.concatenate(found), np.concatenate(truth)
    assert np.mean(found[truth] > 0.95) > 0.6
    assert np.mean(truth[found > 0.95]) > 0.97
    assert np.mean(found[~truth] > 0.95) < 0.02


# -------------------------------------------------------------------- wide tables


@functools.cache
def errors(name, seeds, **options):
    """Test errors over that of the training mean, 100 levels and 10,000 rows."""
    data, found = wide_table(100, 1.0, 0), []
    trivial = np.mean((data.y_test - data.y.mean()) ** 2)
    for seed in seeds:
        given = {"domain": data.domain, "delta": data.delta, "epsilon": 1.0, "n_jobs": 1, "random_state": seed}
        model = (MODELS | {"default": DPLinearRegression})[name](**given, **options)
        model.fit_source(data.train, data.target, data.features)
        predicted = data.design_test @ np.concatenate([[model.intercept_], model.coef_])
        found.append(np.mean((predicted - data.y_test) ** 2) / trivial)
    return np.array(found)


@pytest.mark.parametrize("model", MODELS)
def test_on_a_wide_table_they_are_as_good_as_the_default_and_better_than_in_one_stage(model):
    """The same releases, so differences to the default are those of the solve."""
    seeds = range(4)
    staged = errors(model, seeds)
    assert np.all(staged < 1.05 * errors("default", seeds))
    assert staged.max() < 0.9 * errors(model, seeds, stages=1).min()


@pytest.mark.parametrize("features", [["c0"], ["c0", "c3", "c5"]])
def test_models_of_some_categories(features):
    data = wide_table(100, 1.0, 0)
    given = {"domain": data.domain, "delta": data.delta, "epsilon": 3.0, "n_jobs": 1, "random_state": 0}
    release = DPLinearRegression(**given).fit_source(data.train, data.target, data.features).release_
    e = release.equations("y", features)
    known = posterior_of(release, e)
    assert e.names[0] == CONSTANT
    assert np.linalg.eigvalsh(known.law.covariance).min() > 0
    plain, lasso = release.fit("y", features), release.fit("y", features, model="lasso")
    assert np.abs(lasso.coef - plain.coef).max() < 0.2 * np.abs(plain.coef).max()
