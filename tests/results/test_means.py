"""Means of the columns, and effects and predictions at them: what a release holds anyway, with its noise."""

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

import discreet
from discreet import Domain, DPLinearRegression, DPLogisticRegression, DPPoissonRegression, release
from discreet.core.placeholders import Unavailable
from discreet.errors import FileFormatError, ParameterError
from discreet.released.means import ColumnMeans

DOMAIN = Domain({"a": (0, 1), "b": (0, 10), "s": ["u", "v", "w"], "y": (-10, 10), "ill": bool, "visits": (0, 20)})
PROMISE = {"epsilon": 1.0, "delta": 1e-6, "domain": DOMAIN}


def people(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"a": rng.beta(2, 5, n), "b": rng.normal(3, 1, n).clip(0, 10)})
    table["s"] = rng.choice(["u", "v", "w"], n, p=[0.5, 0.3, 0.2])
    eta = -1 + 1.5 * table.a + 0.2 * table.b + 0.3 * (table.s == "w")
    table["y"] = (eta + 0.2 * table.a * table.b + rng.normal(0, 1, n)).clip(-10, 10)
    table["ill"] = rng.uniform(size=n) < 1 / (1 + np.exp(-eta))
    table["visits"] = np.minimum(rng.poisson(np.exp(eta / 2)), 20)
    return table


TABLE = people()
MEANS = {"a": TABLE.a.mean(), "b": TABLE.b.mean()} | {f"s[{s}]": (TABLE.s == s).mean() for s in "uvw"}
KINDS = {
    "stages": (DPLinearRegression, "y ~ a + b + C(s)", {}),
    "one stage": (DPLinearRegression, "y ~ a + b + C(s)", {"stages": 1}),
    "replace-one": (DPLinearRegression, "y ~ a + b + C(s)", {"neighbors": "replace-one", "rows": len(TABLE)}),
    "classes": (DPLogisticRegression, "ill ~ a + b + C(s)", {}),
    "counts": (DPPoissonRegression, "visits ~ a + b + C(s)", {}),
}


def fitted(kind, seed=1, **options):
    model, formula, more = KINDS[kind]
    return model(**PROMISE | {"random_state": seed} | more | options).fit_formula(formula, TABLE).results_


@pytest.mark.parametrize("kind", KINDS)
def test_means_are_those_of_the_table_within_their_noise(kind):
    means = fitted(kind).means
    assert set(MEANS) <= set(means.names)
    for name, true in MEANS.items():
        one = np.zeros(len(means.names))
        one[means.places[name]] = 1.0
        assert abs(means.mean[means.places[name]] - true) < 5 * means.sd(one)
    sure = fitted(kind, epsilon=1e4).means
    np.testing.assert_allclose([sure.mean[sure.places[name]] for name in MEANS], list(MEANS.values()), atol=2e-3)


@pytest.mark.more
@pytest.mark.parametrize("kind", KINDS)
def test_the_noise_of_means_has_its_law(kind):
    found = [fitted(kind, seed).means for seed in range(40)]
    places = [found[0].places[name] for name in MEANS]
    errors = np.array([own.mean[places] - list(MEANS.values()) for own in found])
    sds = np.array([np.hypot(own.noise, own.common)[places] for own in found])
    z2 = (errors / sds) ** 2
    low, high = stats.chi2.ppf([1e-5, 1 - 1e-5], 40) / 40
    assert (z2.mean(axis=0) > low).all()
    assert (z2.mean(axis=0) < high).all()


def test_an_effect_at_the_means_is_the_slope_there_with_the_noise_of_the_mean():
    results = DPLinearRegression(**PROMISE, random_state=1).fit_formula("y ~ a + b + a:b", TABLE).results_
    found, means = results.marginal_effects("means"), results.means
    slopes, b = results.params, means.mean[means.places["b"]]
    assert found.effect["a"] == pytest.approx(slopes["a"] + slopes["a:b"] * b)
    fixed = results.marginal_effects({"b": b}).to_frame().loc["a"]
    noise = abs(slopes["a:b"]) * np.hypot(means.noise, means.common)[means.places["b"]]
    assert found.sd["a"] == pytest.approx(np.hypot(fixed["sd"], noise), rel=1e-6)
    assert found.privacy_noise["a"] == pytest.approx(np.hypot(fixed["privacy_noise"], noise), rel=1e-6)


def test_errors_of_one_stage_are_added_up():
    model = DPLinearRegression(**PROMISE, stages=1, random_state=1).fit_formula("y ~ a + b + a:b", TABLE)
    results = model.results_
    found, means = results.marginal_effects("means"), results.means
    b = means.mean[means.places["b"]]
    fixed = results.marginal_effects({"b": b}).to_frame().loc["a"]
    noise = abs(results.joint.estimate[3]) * np.hypot(means.noise, means.common)[means.places["b"]]
    assert means.shared
    assert found.privacy_noise["a"] == pytest.approx(fixed["privacy_noise"] + noise, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_straight_effects_of_linear_models_are_the_coefficients(kind):
    results = fitted(kind)
    found = results.marginal_effects("means").effect
    if results.family.linear:
        for name in found.index:
            assert found[name] == pytest.approx(results.params[name])
    else:
        assert abs(found["a"]) < abs(results.params["a"]) * TABLE.visits.max()


@pytest.mark.parametrize(("kind", "family"), [("classes", sm.Logit), ("counts", sm.Poisson)])
def test_without_noise_effects_are_those_of_statsmodels(kind, family):
    results = fitted(kind, epsilon=1e4)
    X = sm.add_constant(pd.get_dummies(TABLE[["a", "b", "s"]], drop_first=True).astype(float))
    target = KINDS[kind][1].split()[0]
    found = family(TABLE[target].astype(float), X).fit(disp=0).get_margeff(at="mean")
    own = results.marginal_effects("means")
    np.testing.assert_allclose(own.effect[["a", "b"]], found.margeff[:2], rtol=0.01)
    np.testing.assert_allclose(own.sd[["a", "b"]], found.margeff_se[:2], rtol=0.1)


def test_least_squares_predicts_the_mean_outcome_at_the_means():
    results = fitted("stages", epsilon=1e4)
    assert results.prediction_at_means().effect["y"] == pytest.approx(TABLE.y.mean(), abs=0.01)
    for kind, mean in (("classes", lambda eta: 1 / (1 + np.exp(-eta))), ("counts", np.exp)):
        own = fitted(kind)
        at = [1.0, *(own.means.mean[own.means.places[name]] for name in ("a", "b", "s[v]", "s[w]"))]
        assert own.prediction_at_means().effect.iloc[0] == pytest.approx(mean(own.params @ at), rel=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_files_hold_means(kind, tmp_path):
    results = fitted(kind)
    results.save(tmp_path / "m.json", simulation=True)
    loaded = discreet.load(tmp_path / "m.json")
    pd.testing.assert_frame_equal(
        loaded.marginal_effects("means").to_frame(), results.marginal_effects("means").to_frame()
    )
    pd.testing.assert_frame_equal(loaded.prediction_at_means().to_frame(), results.prediction_at_means().to_frame())


def test_damaged_means_are_refused():
    facts = fitted("stages").means.to_dict()
    assert ColumnMeans.from_dict(json.loads(json.dumps(facts))).names == tuple(facts["names"])
    for change in (
        {"mean": facts["mean"][1:]},
        {"noise": [-1.0] * len(facts["names"])},
        {"names": ["a"] * len(facts["names"])},
    ):
        with pytest.raises(FileFormatError):
            ColumnMeans.from_dict(facts | change)


def test_where_no_means_are_known_the_reason_is_told():
    results = fitted("classes", stages=1)
    for found in (results.means, results.marginal_effects("means"), results.prediction_at_means()):
        assert isinstance(found, Unavailable)
    with pytest.raises(ParameterError, match="means"):
        fitted("stages").marginal_effects("median")


def test_what_stands_in_functions_only_stays_in_the_middle():
    results = DPLinearRegression(**PROMISE, random_state=1).fit_formula("y ~ a + log(b + 1)", TABLE).results_
    assert "b: in the middle" in str(results.marginal_effects("means").summary())
    assert "in the middle" not in str(fitted("stages").marginal_effects("means").summary())


def test_models_of_one_release_know_its_means():
    public = release(TABLE, **PROMISE, models=["y ~ a + b + C(s)"], random_state=1)
    found = public.fit("y ~ a + b").means
    assert found.mean[found.places["a"]] == pytest.approx(MEANS["a"], abs=0.05)


@pytest.mark.more
def test_intervals_at_the_means_hold():
    """The effect at the means of the table, by the true line, in samples and noises: 95 % and five sds of chance."""
    held = []
    for seed in range(100):
        table = people(3000, seed)
        results = DPLinearRegression(**PROMISE, random_state=seed).fit_formula("y ~ a + b + a:b + C(s)", table).results_
        low, high = results.marginal_effects("means").conf_int().loc["a"]
        held.append(low <= 1.5 + 0.2 * table.b.mean() <= high)
    assert np.mean(held) > 0.95 - 5 * np.sqrt(0.95 * 0.05 / 100)
