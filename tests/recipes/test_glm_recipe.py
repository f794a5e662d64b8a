"""Models of classes and counts by scoring steps: right without noise, certified, followed again, and sure."""

import json
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from experiments.populations import CHOICES, COUNTS_BOUNDS, choices, counts, rates_of
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from discreet import (
    Budget,
    Domain,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegression,
    plan,
)
from discreet.core.placeholders import Unavailable
from discreet.errors import DomainError, ParameterError
from discreet.families import SmoothHinge
from discreet.families.coordinates import ModelCoordinates
from discreet.gate.entropy import NO_NOISE
from discreet.privacy import gdp
from discreet.privacy.events.coordinates import StageEvent
from discreet.recipes.budget import SCORING_STEPS
from discreet.recipes.glm_geometry import Scale, number_of_stages, residual_widths, widths_at_model
from discreet.released.certificate import Certificate
from discreet.results.results import Results
from discreet.results.saved import check_saved, load_saved
from discreet.solve.location import BinCounts
from discreet.solve.sizes import count_law, count_span

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")

N = 8000
X, BOUGHT = choices(N, np.random.default_rng(0))
XC, VISITS, SLOPES = counts("overdispersed", N, np.random.default_rng(1))
GIVEN = {
    DPLogisticRegression: (X, BOUGHT, {"classes": [0, 1]}),
    DPLinearSVC: (X, BOUGHT, {"classes": [0, 1]}),
    DPPoissonRegression: (XC, VISITS, {"bounds_y": (0, 100)}),
}


def fitted(cls, **options):
    X, y, own = GIVEN[cls]
    given = {"epsilon": 1, "delta": 1e-6, "bounds_X": COUNTS_BOUNDS, "n_jobs": 1, "random_state": 0}
    return cls(**given | own | options).fit(X, y)


def at_models(certificate):
    """The events at a model: the steps, and the last stage if there is one."""
    stages = [event for event in certificate.events if isinstance(event, StageEvent)]
    return [event for event in stages if isinstance(event.coordinates, ModelCoordinates)]


# ---------------------------------------------------------------- accuracy


def support_vectors(X, y, width):
    """The coefficients with the least smooth hinge loss, by another method; a narrow corner is nearly no corner."""
    Z = np.column_stack([np.ones(len(X)), X])

    def both(theta):
        value, slope, _ = SmoothHinge(width).parts(Z @ theta, y.astype(float))
        return value.sum(), Z.T @ slope

    return minimize(both, np.zeros(Z.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-6}).x


@pytest.mark.parametrize("epsilon", [8, 1000])
def test_without_noise_it_is_scikit_learns_logistic_regression(epsilon):
    """Rows beyond the radius count less, which moves it by less than 0.001 for any of five seeds."""
    ours = fitted(DPLogisticRegression, random_state=NO_NOISE, epsilon=epsilon)
    theirs = LogisticRegression(C=1e6).fit(X, BOUGHT)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=0.005)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=0.005)
    np.testing.assert_allclose(ours.results_.debiased.to_numpy()[1:], theirs.coef_[0], atol=0.005)


@pytest.mark.parametrize("epsilon", [8, 1000])
def test_without_noise_it_is_scikit_learns_poisson_regression(epsilon):
    """Far counts are clipped, too, which moves it by less than 0.01 for any of five seeds."""
    ours = fitted(DPPoissonRegression, random_state=NO_NOISE, epsilon=epsilon)
    theirs = PoissonRegressor(alpha=0, tol=1e-8, max_iter=1000).fit(XC, VISITS)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=0.03)


@pytest.mark.parametrize("width", [0.5, 0.2])
def test_without_noise_it_has_the_least_smooth_hinge_loss(width):
    """It moves by less than 0.001 for any of five seeds where the corner is 0.5."""
    ours = fitted(DPLinearSVC, random_state=NO_NOISE, epsilon=50, width=width)
    found = np.concatenate([ours.intercept_, ours.coef_[0]])
    np.testing.assert_allclose(found, support_vectors(X, BOUGHT, width), atol=0.01)


def test_without_noise_rows_that_are_drawn_from_the_model_tell_its_slopes():
    """Normal classes with the same covariance have log odds that are a line."""
    rng = np.random.default_rng(0)
    y = (rng.random(40_000) < 0.35).astype(int)
    x = rng.normal(size=(40_000, 3)) + np.outer(y, [1.2, -0.6, 0.0])
    model = DPLogisticRegression(
        epsilon=100, delta=1e-3, bounds_X=(-12, 20), classes=[0, 1], n_jobs=1, random_state=0
    ).fit(x, y)
    np.testing.assert_allclose(model.coef_[0], [1.2, -0.6, 0.0], atol=0.1)
    assert model.intercept_[0] == pytest.approx(math.log(0.35 / 0.65) - (1.44 + 0.36) / 2, abs=0.1)


@pytest.mark.parametrize("cls", GIVEN, ids=lambda cls: cls.__name__)
def test_wide_bounds_cost_little(cls):
    X, y, _ = GIVEN[cls]
    if cls is DPPoissonRegression:
        staged, one = (np.abs(fitted(cls, stages=s).coef_ - SLOPES).max() for s in ("auto", 1))
        assert staged < 0.1 < one
    else:
        staged, one = (fitted(cls, stages=s).score(X, y) for s in ("auto", 1))
        assert staged > one - 0.003


def test_few_rows_fall_back_to_the_mean_of_a_count():
    rng = np.random.default_rng(3)
    X, y, _ = counts("plain", 150, rng)
    found = [
        DPPoissonRegression(
            epsilon=0.3, delta=1e-6, bounds_X=COUNTS_BOUNDS, bounds_y=(0, 100), random_state=seed
        ).fit(X, y).predict(X)
        for seed in range(5)
    ]  # fmt: skip
    assert np.median([np.abs(np.log(p / y.mean())).mean() for p in found]) < 1.5


def test_slopes_of_counts_without_an_effect_are_drawn_to_nothing():
    x, y, _ = counts("no effect", 1000, np.random.default_rng(5))
    given = {"delta": 1e-6, "bounds_X": COUNTS_BOUNDS, "bounds_y": (0, 100), "n_jobs": 1}
    models = [DPPoissonRegression(epsilon=0.3, **given, random_state=seed).fit(x, y) for seed in range(6)]
    assert np.median([np.std(np.log(model.predict(x))) for model in models]) < 0.2


@pytest.mark.parametrize("seed", range(4))
def test_a_release_that_sees_no_rows_is_given_all_the_same(seed):
    rng = np.random.default_rng(0)
    x, exposure = rng.uniform(-1, 1, 200), rng.uniform(0.5, 2, 200)
    table = pa.table({"x": x, "days": exposure, "y": rng.poisson(2 * exposure), "c": rng.random(200) < 0.3})
    given = {"epsilon": 0.01, "delta": 1e-5, "random_state": seed}
    domain = Domain({"x": (-3, 3), "days": (0.1, 4), "y": (0, 50)})
    rates = DPPoissonRegression(**given, domain=domain, exposure="days").fit_source(table, "y", ["x"])
    assert np.isfinite(rates.coef_).all()
    for estimator in (DPLogisticRegression, DPLinearSVC):
        model = estimator(**given, domain=Domain({"x": (-3, 3), "c": bool})).fit_source(table, "c", ["x"])
        assert np.isfinite(model.coef_).all()
        assert np.abs(model.coef_).max() < 10


# ---------------------------------------------------------------- what is released


@pytest.mark.parametrize("cls", GIVEN, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("options", [{}, {"stages": 2}, {"rows": N}, {"fit_intercept": False}], ids=str)
def test_every_stage_is_listed_and_followed_again(cls, options, tmp_path):
    model = fitted(cls, random_state=None, **options)
    if cls is DPPoissonRegression and options == {"fit_intercept": False}:
        assert not at_models(model.certificate_)  # counts are located above their least value, which centres them
        return
    certificate = model.certificate_
    assert certificate.guarantee.status == "verified"
    assert all(finding.ok for finding in check_saved(model.release_))
    assert certificate.epsilon == pytest.approx(1, rel=1e-3)
    assert len(at_models(certificate)) == SCORING_STEPS + (cls is not DPLinearSVC)
    assert gdp.compose(event.mu for event in certificate.events) == pytest.approx(certificate.facts.mu, rel=1e-6)
    assert all(event.law is None for event in certificate.events)
    model.release_.save(tmp_path / "model.json")
    again = load_saved(tmp_path / "model.json")
    assert all(finding.ok for finding in check_saved(again))
    assert again.certificate == certificate
    assert str(again) == str(model.results_)


def test_neighbours_that_are_replaced_need_the_number_of_rows():
    model = fitted(DPLogisticRegression, neighbors="replace-one", rows=N, random_state=None)
    assert all(finding.ok for finding in check_saved(model.release_))
    assert isinstance(model.certificate_.events[-1].coordinates, ModelCoordinates)
    assert not isinstance(fitted(DPLogisticRegression, neighbors="replace-one").certificate_.events[0], StageEvent)
    with pytest.raises(ParameterError, match="rows="):
        fitted(DPLogisticRegression, neighbors="replace-one", stages=3)


@pytest.mark.parametrize("cls", GIVEN, ids=lambda cls: cls.__name__)
def test_steps_share_axes_and_radius_and_those_of_classes_cost_more_each_time(cls):
    steps = at_models(fitted(cls).certificate_)[:SCORING_STEPS]
    assert len({(event.coordinates.P, event.coordinates.radius, event.coordinates.widths) for event in steps}) == 1
    assert len({event.coordinates.theta for event in steps}) == SCORING_STEPS
    assert all([block.statistic for block in event.blocks] == ["cross"] for event in steps)
    squares = np.array([event.mu**2 for event in steps])
    growth = 1.0 if cls is DPPoissonRegression else 1.25
    assert squares[1:] / squares[:-1] == pytest.approx(np.full(SCORING_STEPS - 1, growth), rel=2e-3)


def test_other_penalties_and_noises_have_one_stage():
    for options in ({"alpha": 30.0}, {"penalty": "l1"}, {"adaptive": True}, {"noise": "laplace", "delta": None}):
        assert not fitted(DPLogisticRegression, **options).results_.values
        with pytest.raises(ParameterError, match="stages=2 needs"):
            fitted(DPLogisticRegression, stages=2, **options)
    with pytest.raises(ParameterError, match="robust"):
        fitted(DPLogisticRegression, stages=1, covariance="robust")
    with pytest.raises(ParameterError, match="stages must be"):
        fitted(DPLogisticRegression, stages=4)


def test_a_budget_is_charged_with_the_promise():
    with Budget(epsilon=1, delta=1e-6) as budget:
        fitted(DPLogisticRegression, random_state=None)
    assert budget.epsilon_spent == pytest.approx(1, rel=1e-6)


def test_steps_are_composed_with_other_gaussian_releases():
    """Two promises of epsilon 1 together cost less than 2, for all of their noise is Gaussian."""
    with Budget(epsilon=2, delta=1e-6) as budget:
        fitted(DPLogisticRegression, random_state=None, delta=5e-7)
        given = {"delta": 5e-7, "bounds_X": COUNTS_BOUNDS, "bounds_y": (0, 1), "n_jobs": 1}
        DPLinearRegression(epsilon=1, **given).fit(X, BOUGHT)
    mu = gdp.mu(epsilon=1, delta=5e-7)
    assert budget.epsilon_spent == pytest.approx(gdp.epsilon(math.sqrt(2) * mu, 1e-6), rel=1e-3)
    assert budget.epsilon_spent < 1.7


# ---------------------------------------------------------------- forgeries


def forged(model, change):
    """What `check` says of a file that was changed."""
    body = json.loads(json.dumps(model.release_._document()))
    change(body)
    return check_saved(Results._from_document(body))


def drop(kind):
    def change(body):
        events = body["certificate"]["events"]
        place = next(i for i, event in enumerate(events) if kind(event))
        start = sum(len(event.get("blocks", ())) for event in events[:place])
        del body["values"][start : start + len(events[place].get("blocks", ()))]
        del events[place]

    return change


@pytest.mark.parametrize(
    "kind",
    [
        lambda event: event["mechanism"] == "gaussian",
        lambda event: "coordinates" in event and "loss" not in event and "link" not in event["coordinates"],
        lambda event: "link" in event.get("coordinates", ()),
        lambda event: any(block["statistic"] == "information" for block in event["blocks"]),
    ],
    ids=["rows", "first stage", "a step", "errors"],
)
@pytest.mark.parametrize("cls", [DPLogisticRegression, DPPoissonRegression], ids=lambda cls: cls.__name__)
def test_a_stage_that_is_left_out_is_found(cls, kind):
    model = fitted(cls, random_state=None)
    assert not all(finding.ok for finding in forged(model, drop(kind)))


def test_coordinates_that_do_not_follow_are_found():
    model = fitted(DPPoissonRegression, random_state=None)

    def other_radius(body):
        for event in body["certificate"]["events"]:
            if "link" in event.get("coordinates", ()):
                event["coordinates"]["radius"] *= 2

    def other_counts(body):
        body["certificate"]["domain"]["columns"]["y"]["high"] = 1000.0

    assert "do not follow" in str(forged(model, other_radius))
    assert "range that was counted does not follow" in str(forged(model, other_counts))


@pytest.mark.parametrize("cls", GIVEN, ids=lambda cls: cls.__name__)
def test_a_certificate_is_the_same_when_it_is_read(cls):
    """Axes that repeat are written once."""
    certificate = fitted(cls, random_state=None).certificate_
    written = json.loads(json.dumps(certificate.to_dict()))
    assert Certificate.from_dict(written) == certificate
    assert sum("P" in event.get("coordinates", ()) for event in written["events"]) == 2


# ---------------------------------------------------------------- how sure they are


def test_intervals_hold_the_truth():
    """45 coefficients each, of which more than 9 outside would have a probability below 1e-4; seeds are fixed."""
    outside = {"logit": 0, "log": 0}
    for seed in range(12):
        rng = np.random.default_rng([7, seed])
        given = {"epsilon": 1, "delta": 1e-6, "bounds_X": COUNTS_BOUNDS, "n_jobs": 1, "random_state": rng}
        x, y = choices(N, rng)
        one = DPLogisticRegression(**given, classes=[0, 1]).fit(x, y).results_
        x, y, _ = counts("overdispersed", N, rng)
        two = DPPoissonRegression(**given, bounds_y=(0, 100)).fit(x, y).results_
        for results, truth in ((one, np.array(CHOICES)), (two, rates_of("overdispersed"))):
            if isinstance(results.inference, Unavailable):
                continue
            low, high = results.conf_int().to_numpy().T
            outside[results.link] += int(np.sum((truth < low) | (truth > high)))
    assert max(outside.values()) <= 9


def test_ratios_effects_and_dispersion():
    logistic, poisson = (fitted(cls).results_ for cls in (DPLogisticRegression, DPPoissonRegression))
    frame = logistic.ratios()
    assert frame["odds_ratio"]["x0"] == pytest.approx(np.exp(logistic.debiased["x0"]))
    assert (frame["low"] < frame["odds_ratio"]).all()
    assert "rate_ratio" in poisson.ratios()
    assert poisson.dispersion > 1.5
    assert "Dispersion" in str(poisson)
    assert isinstance(logistic.dispersion, Unavailable)
    effect = logistic.marginal_effects(pd.DataFrame(X, columns=["x0", "x1", "x2"])).effect["x0"]
    eta = logistic.debiased["(intercept)"] + X @ logistic.debiased.to_numpy()[1:]
    p = 1 / (1 + np.exp(-eta))
    assert effect == pytest.approx(float(np.mean(p * (1 - p))) * logistic.debiased["x0"], rel=1e-3)
    assert logistic.wald_test(["x0", "x1"]).p_value < 1e-6
    assert "no ratios" in fitted(DPLinearSVC).results_.ratios().reason


def test_classical_errors_have_no_score_products():
    model = fitted(DPLogisticRegression, covariance="classical", random_state=3)
    assert "meat" not in model.certificate_.words()
    assert not model.results_.inference.robust
    robust = fitted(DPLogisticRegression).results_.std_err
    assert (model.results_.std_err / robust).between(0.7, 1.4).all()


def test_a_saved_model_predicts(tmp_path):
    rng = np.random.default_rng(5)
    people = pd.DataFrame({"age": rng.integers(18, 90, 3000), "sex": rng.choice(["F", "M"], 3000)})
    people["bought"] = rng.random(3000) < np.where(people["sex"] == "F", 0.7, 0.3)
    domain = Domain({"age": (0, 120), "sex": ["F", "M"], "bought": bool})
    model = DPLogisticRegression(epsilon=1, delta=1e-6, domain=domain).fit_source(people, "bought")
    model.release_.save(tmp_path / "model.json")
    loaded = Results.load(tmp_path / "model.json")
    few = people[["age", "sex"]][:5]
    np.testing.assert_allclose(loaded.predict_proba(few), model.predict_proba(few))
    assert loaded.predict(few).tolist() == model.predict(few).tolist()
    assert loaded.predict(pa.Table.from_pandas(few)).tolist() == model.predict(few).tolist()


def test_an_exposure_makes_rates():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"x": rng.normal(0, 1, 8000).clip(-4, 4), "days": rng.uniform(1, 365, 8000)})
    frame["falls"] = rng.poisson(frame["days"] / 100 * np.exp(0.3 * frame["x"])).clip(max=50)
    domain = Domain({"x": (-10, 10), "days": (1, 400), "falls": (0, 50)})
    given = {"epsilon": 1, "delta": 1e-6, "domain": domain, "exposure": "days"}
    model = DPPoissonRegression(**given).fit_source(frame, "falls")
    assert model.results_.names == ("x",)
    assert model.coef_[0] == pytest.approx(0.3, abs=0.05)
    assert np.exp(model.intercept_) == pytest.approx(0.01, rel=0.1)
    assert all(finding.ok for finding in check_saved(model.release_))
    assert "one unit of days" in str(model.results_)
    by_frame = DPPoissonRegression(**given).fit(frame[["x", "days"]], frame["falls"])
    assert by_frame.coef_.shape == (1,)
    assert by_frame.predict(frame[["x"]][:3]).shape == (3,)
    for options in ({"stages": 1}, {"alpha": 1.0}):
        with pytest.raises(ParameterError, match="exposure= needs stages"):
            DPPoissonRegression(**given, **options).fit_source(frame, "falls")
    wide = Domain({"x": (-10, 10), "days": (0, 400), "falls": (0, 50)})
    with pytest.raises(DomainError, match="exposure 'days' must be"):
        DPPoissonRegression(**given | {"domain": wide}).fit_source(frame, "falls")


def test_a_plan_tells_the_standard_errors_of_classes_and_counts():
    domain = Domain({"age": (18, 90), "region": ["a", "b"], "bought": bool, "visits": (0, 50)})
    given = {"features": ["age", "region"], "rows": 5000, "epsilon": [0.1, 1], "r_squared": 0.2, "draws": 3}
    told = {"age": {"mean": 45, "sd": 15}, "region": {"shares": [0.6, 0.4]}}
    bought, visits = told | {"bought": {"shares": [0.8, 0.2]}}, told | {"visits": {"mean": 2}}
    classes = plan(domain, "bought", **given, about=bought)
    counts = plan(domain, "visits", **given, methods=["DPPoissonRegression"], about=visits)
    margins = plan(domain, "bought", **given, methods=["DPLinearSVC"], about=bought)
    for found in (classes, counts):
        assert found.names == ("(intercept)", "age", "region[b]")
        assert found.at(1).excess < found.at(0.1).excess
        assert np.isfinite(found.at(1).std_err).all()
        assert json.loads(found.to_json())["expected"][1]["epsilon"] == 1
        assert len(found.to_frame()) == 6
        assert "no data were touched" in str(found)
    assert np.isnan(margins.at(1).std_err).all()
    half = {name: guess for name, guess in visits.items() if name != "region"}
    untold = plan(domain, "visits", **given, methods=["DPPoissonRegression"], about=half)
    assert np.isnan(untold.at(1).std_err).tolist() == [True, False, True]
    assert untold.needs == (("region.shares",), (), ("region.shares",))
    with pytest.raises(ParameterError, match="for numbers"):
        plan(domain, "bought", **given, want_error=1.0)
    with pytest.raises(ParameterError, match="yes or no"):
        plan(domain, "visits", **given, methods=["DPLinearSVC"])


# ---------------------------------------------------------------- parts


def test_stages_are_chosen_by_public_and_released_figures():
    assert [number_of_stages(n_mu, 10) for n_mu in (0.3, 300.0)] == [2, 3]
    assert [number_of_stages(300.0, q) for q in (10, 2000)] == [3, 2]


@pytest.mark.parametrize("mean", [0.5, 3.0, 20.0])
def test_counts_tell_the_law_of_a_count(mean):
    rng = np.random.default_rng(6)
    y = np.minimum(rng.poisson(mean, 5000), 100)

    def counted(span):
        edges = np.linspace(*span, 17)
        values = np.histogram((y - 50) / 50, np.append(edges[:-1], edges[-1] + (1e-9 if span[1] == 1 else 0)))[0]
        return BinCounts(values + 5 * rng.standard_normal(16), span, 5.0)

    first = counted((-1.0, 1.0))
    law = count_law([first, counted(count_span(count_law([first], 5000.0, 100.0)))], 5000.0, 100.0)
    assert law.mean == pytest.approx(y.mean(), rel=0.25)
    assert np.quantile(y, 0.97) <= law.quantile(0.995) <= 2 * np.quantile(y, 0.999) + 2


def test_widths_of_residuals_are_rising():
    for spread in (0.01, 0.4, 1.0):
        widths = residual_widths(Scale(0.01, 1.0, spread))
        assert widths == sorted(set(widths))
        assert (widths[0], widths[-1]) == (spread, 1.0)
    assert residual_widths(Scale(50.0, 10.0, 10.0)) == [10.0]
    assert widths_at_model(None) == [1.0]
