"""DPRidge, DPLasso and DPElasticNet: certified, equal to scikit-learn's without noise, good penalties for free."""

import json
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import ElasticNet, Lasso, Ridge

from discreet import DiscreetWarning, DPElasticNet, DPLasso, DPLinearRegression, DPRidge, PrivateMoments
from discreet.cli import main
from discreet.errors import ParameterError
from discreet.gate.entropy import NO_NOISE
from discreet.results.models import L1_RATIOS
from discreet.solve.noise_aware import posterior

ESTIMATORS = {"ridge": DPRidge, "lasso": DPLasso, "elastic-net": DPElasticNet}
PROMISE = {"epsilon": 1, "delta": 1e-6, "n_jobs": 1}
LOW, HIGH, HALF_Y = np.array([0.0, -2.0, 10.0, 0.0]), np.array([1.0, 2.0, 30.0, 8.0]), 10.0


def table(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(LOW, HIGH, (n, 4))
    return X, np.clip(3 * X[:, 0] - X[:, 1] + rng.normal(0, 1, n), -10, 10)


X, Y = table()
BOUNDS = {"bounds_X": (LOW, HIGH), "bounds_y": (-HALF_Y, HALF_Y)}


def fitted(model, *, data=(X, Y), **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        return ESTIMATORS[model](**PROMISE | BOUNDS | options).fit(*data)


def reference(model, alpha, fit_intercept):
    """scikit-learn on the mapped columns, rounded to the lattice."""
    centre, half = (LOW + HIGH) / 2, (HIGH - LOW) / 2
    if not fit_intercept:
        centre, half = 0 * half, np.maximum(abs(LOW), abs(HIGH))
    Z, t = np.rint((X - centre) / half * 2**20) / 2**20, np.rint(Y / HALF_Y * 2**20) / 2**20
    given = {"fit_intercept": fit_intercept}
    if model == "ridge":
        return HALF_Y * Ridge(alpha=len(Y) * alpha, **given).fit(Z, t).coef_ / half
    given |= {"alpha": alpha, "tol": 1e-14, "max_iter": 100_000}
    return HALF_Y * (Lasso(**given) if model == "lasso" else ElasticNet(**given)).fit(Z, t).coef_ / half


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-4, 0.01])
@pytest.mark.parametrize("model", ESTIMATORS)
def test_without_noise_they_are_scikit_learns(model, alpha, fit_intercept):
    found = fitted(model, alpha=alpha, narrow=False, random_state=NO_NOISE, rows=4000, fit_intercept=fit_intercept)
    np.testing.assert_allclose(found.coef_, reference(model, alpha, fit_intercept), rtol=0, atol=1e-6 * HALF_Y)
    assert found.alpha_ == found.results_.alpha == alpha


@pytest.mark.parametrize("model", ESTIMATORS)
def test_a_given_penalty_means_the_same_whether_bounds_are_narrowed_or_not(model):
    """Up to the clipping itself, which is rare here."""
    options = {"alpha": 0.01, "random_state": NO_NOISE, "rows": 4000, "epsilon": 9}
    wide, narrow, staged = (
        fitted(model, **options, **way) for way in ({"narrow": False}, {"stages": 1}, {"stages": 3})
    )
    assert narrow.certificate_.declared is not None
    used = narrow.release_.domain.columns["y"]
    assert used.high - used.low < 0.8 * 2 * HALF_Y
    np.testing.assert_allclose(narrow.coef_, wide.coef_, rtol=0.05, atol=0.02)
    np.testing.assert_allclose(staged.coef_, wide.coef_, rtol=0.05, atol=0.02)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("model", ESTIMATORS)
def test_releases_are_verified_and_fit_the_same_after_a_round_trip(model, neighbors, tmp_path):
    found = fitted(model, neighbors=neighbors)
    certificate = found.certificate_
    assert certificate.guarantee.status == "verified"
    assert certificate.method == type(found).__name__
    assert all(finding.ok for finding in certificate.check())
    found.release_.save(tmp_path / "a.json")
    again = PrivateMoments.load(tmp_path / "a.json").fit("y", model=model)
    assert np.array_equal(again.coef, found.coef_)
    assert (again.intercept, again.alpha, again.l1_ratio) == (found.intercept_, found.alpha_, L1_RATIOS[model])
    assert again.to_dict()["alpha"] == found.alpha_
    assert "chosen on the release" in str(again.summary())
    assert np.array_equal(clone(found).set_params(alpha=1.0).fit(X, Y).coef_ == 0, [model != "ridge"] * 4)


def test_they_release_what_the_default_estimator_releases():
    plain = DPLinearRegression(**PROMISE, **BOUNDS, random_state=7).fit(X, Y)
    for model in ESTIMATORS:
        found = fitted(model, random_state=7)
        assert found.release_.values == plain.release_.values
        assert found.certificate_.events == plain.certificate_.events


@pytest.mark.parametrize("model", ESTIMATORS)
def test_the_path_holds_the_fitted_model(model):
    found = fitted(model, random_state=1)
    path = found.results_.path()
    assert path.names == ("x0", "x1", "x2", "x3")
    assert path.coef.shape == (100, 4)
    assert path.intercept.shape == path.penalties.shape == path.excess_error.shape == (100,)
    assert np.all(np.diff(path.penalties) < 0)
    best = path.best
    assert path.penalties[best] == found.alpha_
    np.testing.assert_allclose(path.coef[best], found.coef_, rtol=1e-12)
    assert path.intercept[best] == pytest.approx(found.intercept_, rel=1e-11)
    given = fitted(model, random_state=1, alpha=float(path.penalties[10]))
    np.testing.assert_allclose(given.coef_, path.coef[10], rtol=0, atol=1e-8)


def test_the_elastic_net_lies_between():
    lasso, ridge = (fitted(model, random_state=2, alpha=0.02).coef_ for model in ("lasso", "ridge"))
    ends = [fitted("elastic-net", random_state=2, alpha=0.02, l1_ratio=r).coef_ for r in (1, 0)]
    np.testing.assert_allclose(ends[0], lasso, rtol=0, atol=1e-8)
    np.testing.assert_allclose(ends[1], ridge, rtol=0, atol=1e-8)


# -------------------------------------------------------------------- the penalty


def sparse(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    f = X @ np.where(np.arange(d) < 3, [1.0] * d, 0.0)
    return X, np.clip(0.25 * f / f.std() + rng.normal(0, 0.25, n), -1, 1)


@pytest.mark.parametrize("model", ESTIMATORS)
@pytest.mark.parametrize(("n", "d", "epsilon"), [(2000, 10, 1), (8000, 20, 1), (5000, 10, 0.2)])
def test_the_chosen_penalty_is_close_to_the_best_in_hindsight(model, n, d, epsilon):
    """Mean test error over that of predicting the mean, averaged over tables and noise."""
    chosen, best = [], []
    for seed in range(6):
        X, y = sparse(n, d, seed)
        X_test, y_test = sparse(4000, d, 1000 + seed)
        bounds = {"bounds_X": (-1, 1), "bounds_y": (-1, 1), "epsilon": epsilon, "random_state": seed}
        path = fitted(model, data=(X, y), **bounds).results_.path()
        errors = np.mean((y_test[:, None] - X_test @ path.coef.T - path.intercept) ** 2, axis=0) / np.var(y_test)
        chosen.append(errors[path.best])
        best.append(errors.min())
    assert np.mean(chosen) < np.mean(best) + 0.06
    assert np.mean(chosen) < 0.97


@pytest.mark.parametrize("model", ESTIMATORS)
def test_where_noise_drowns_everything_hardly_anything_is_predicted(model):
    sizes = []
    for seed in range(8):
        X, y = sparse(200, 10, seed)
        found = fitted(model, data=(X, y), epsilon=0.05, bounds_X=(-1, 1), bounds_y=(-1, 1), random_state=seed)
        sizes.append(np.mean((found.predict(X) - y) ** 2) / np.mean(y**2))
    assert np.median(sizes) < 1.15


def test_the_criterion_is_least_at_the_posterior_mean():
    e = fitted("ridge", random_state=0).release_.equations("y")
    P = posterior(e)
    assert P.excess_error(P.mean) == 0
    nearby = P.mean + np.random.default_rng(0).normal(0, 0.1, (20, e.d))
    assert np.all(P.excess_error(nearby) > 0)


# -------------------------------------------------------------------- wrong options


@pytest.mark.parametrize("model", ESTIMATORS)
@pytest.mark.parametrize("alpha", [0, -1.0, float("nan"), float("inf"), "strong", True])
def test_wrong_penalties_are_refused_before_anything_is_spent(model, alpha):
    with pytest.raises(ParameterError, match="alpha must be a finite number above 0"):
        ESTIMATORS[model](**PROMISE, **BOUNDS, alpha=alpha).fit(X, Y)


@pytest.mark.parametrize("ratio", [-0.1, 1.1, "half", None, float("nan")])
def test_wrong_ratios_are_refused(ratio):
    with pytest.raises(ParameterError, match="l1_ratio must lie between 0"):
        DPElasticNet(**PROMISE, **BOUNDS, l1_ratio=ratio).fit(X, Y)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("model", ESTIMATORS)
def test_few_rows_never_raise(model, rows):
    found = fitted(model, data=(X[:rows], Y[:rows]))
    assert np.isfinite(found.coef_).all()
    assert np.isfinite(found.results_.path().coef).all()


def test_the_command_line_fits_them(tmp_path, capsys, monkeypatch):
    fitted("lasso").release_.save(tmp_path / "a.json")
    command = ["discreet", "model", str(tmp_path / "a.json"), "--target", "y", "--json", "--model"]
    for more in (["lasso"], ["ridge", "--alpha", "0.5"], ["elastic-net", "--alpha", "0.5", "--l1-ratio", "0.2"]):
        monkeypatch.setattr("sys.argv", command + more)
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["model"], found["chosen"]) == (more[0], len(more) == 1)
        assert found["alpha"] == 0.5 or found["chosen"]
