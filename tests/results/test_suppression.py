"""Intervals by coefficient: which are given, and what is said of the others."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from discreet import Domain, DPLinearRegression, DPLogisticRegression, DPPoissonRegression, Results, compare
from discreet.core.placeholders import Unavailable
from discreet.errors import FileFormatError
from discreet.privacy.guarantee import Guarantee
from discreet.results.boundary_warnings import is_piled
from discreet.results.comparison import Comparison
from discreet.results.inference import JointInference
from discreet.results.spread import OutcomeSpread
from discreet.results.suppression import culprits
from discreet.solve.equations import NormalEquations


def people(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.uniform(18, 65, n), "school": rng.normal(12, 2, n).clip(0, 20)})
    frame["member"] = (rng.random(n) < 0.3) * 1.0
    errors = (1 + 4 * frame.member) * rng.standard_normal(n)
    frame["wage"] = (0.2 * frame.age + frame.school + 8 * frame.member + errors).clip(0, 100)
    return frame


PROMISE = Guarantee(3.0, 1e-6, "add-remove", "verified")
BOUNDS = {"age": (18, 65), "school": (0, 20), "member": (0, 1), "wage": (0, 100)}


def fitted(frame, more=None, seed=1, **options):
    model = DPLinearRegression(
        epsilon=3, delta=1e-6, domain=Domain(BOUNDS | (more or {})), random_state=seed, **options
    )
    return model.fit_source(frame, "wage").results_


@pytest.fixture(scope="module")
def spoiled():
    """A model with a column that is nearly constant, and two that go together."""
    frame = people()
    rng = np.random.default_rng(2)
    frame["still"] = 1 + 1e-4 * rng.standard_normal(len(frame))
    frame["twin"] = frame.age + 1e-3 * rng.standard_normal(len(frame))
    return fitted(frame, {"still": (0, 1000), "twin": (18, 65)}, seed=4)


def test_a_bad_direction_takes_away_only_the_intervals_that_it_touches(spoiled):
    found = spoiled.inference
    given = dict(zip(spoiled.coefficients, found.given.tolist(), strict=True))
    assert given == {"(intercept)": False, "age": False, "school": True, "member": True, "still": False, "twin": False}
    assert np.isnan(spoiled.std_err["age"])
    assert np.isnan(spoiled.conf_int().loc["still"]).all()
    assert np.isfinite(spoiled.conf_int().loc["school"]).all()
    assert np.isnan(spoiled.cov_params().loc["age", "age"])
    assert isinstance(spoiled.t_test("age = 0").estimates[0].std_err, Unavailable)
    assert spoiled.to_dict()["std_err"]["age"] is None
    assert np.isnan(spoiled.pvalues["twin"])
    assert spoiled.pvalues["school"] < 1e-6


def test_the_columns_to_blame_are_named(spoiled):
    text = str(spoiled.summary(0.95)).replace("\n", " ")
    assert "withheld" in text
    assert "still varies too little within the declared bounds" in text
    assert "age and twin nearly say the same" in text
    assert "school" not in spoiled.inference.withheld


def test_what_combines_well_is_told_where_its_parts_are_not(spoiled):
    """age + twin is known though neither is."""
    A = np.zeros((2, 6))
    A[0, [1, 5]] = 1
    A[1, 1] = 1
    noise = spoiled.inference.noise_of(A)
    assert noise[0] <= JointInference.largest_noise < noise[1]
    low, high = spoiled.inference.combined(A).interval(0.95)[0]
    assert low < 0.2 < high
    assert high - low < 0.2
    assert isinstance(spoiled.wald_test("age"), Unavailable)
    assert spoiled.wald_test(["school", "member"]).p_value < 1e-6


def test_a_withheld_model_is_shown_saved_and_compared(spoiled, tmp_path):
    assert spoiled.to_frame()["std_err"].isna().sum() == 4
    assert spoiled.plot() is not None
    assert "nan" not in str(spoiled)
    assert "nan" not in spoiled.summary().html()
    spoiled.save_report(tmp_path / "page.html")
    again = JointInference.from_dict(spoiled.inference.to_dict(), 6)
    assert again.withheld == spoiled.inference.withheld
    assert np.array_equal(again.interval(0.9), spoiled.inference.interval(0.9), equal_nan=True)


def test_predictions_have_intervals_where_the_line_is_told(spoiled):
    rows = people(50, 3).assign(still=1.0, twin=lambda frame: frame.age)
    low, high = spoiled.predict_interval(rows.drop(columns="wage"))
    assert np.all(low < high)
    far = rows.assign(twin=rows.age + 40).drop(columns="wage")
    assert np.isnan(spoiled.predict_interval(far, of="mean")[0]).all()


# ---------------------------------------------------------------- robust or not, declared or not


def test_robust_standard_errors_are_larger_where_variances_are():
    robust, classical = (fitted(people(), covariance=kind) for kind in ("robust", "classical"))
    assert robust.inference.robust
    assert not classical.inference.robust
    assert robust.std_err["member"] > 1.3 * classical.std_err["member"]
    assert "for errors of equal variance" in str(classical)


def test_the_declared_fit_has_wider_intervals_and_models_are_compared_about_one_fit(tmp_path):
    bounded, declared = (fitted(people(), seed=seed, estimand=own) for seed, own in ((1, "bounded"), (2, "declared")))
    assert bounded.about("declared").std_err["age"] > bounded.std_err["age"]
    assert "count less" in bounded.estimand
    assert "charged" in declared.estimand
    pair = Comparison(bounded, declared)
    assert "different fits" in pair.std_err.reason
    assert any("different fits" in line for line in pair.differs())
    pair = compare(bounded, declared)
    assert pair.a.inference.estimand == pair.b.inference.estimand == "declared"
    assert pair.std_err["age"] > compare(bounded, declared.about("bounded")).std_err["age"]
    assert "Intervals of both are about the fit to the whole table" in str(pair).replace("\n", " ")


def test_prediction_intervals_hold_where_outcomes_vary_more():
    results, new = fitted(people()), people(20_000, 9)
    low, high = results.predict_interval(new.drop(columns="wage"))
    inside = (low <= new.wage) & (new.wage <= high)
    predicted = results.predict(new.drop(columns="wage"))
    for quarter in (predicted < np.quantile(predicted, 0.25), predicted > np.quantile(predicted, 0.75)):
        assert 0.9 < inside[quarter].mean() < 0.98


def test_the_residual_sd_and_r_squared_have_intervals():
    results, frame = fitted(people()), people()
    X = np.column_stack([np.ones(len(frame)), frame.drop(columns="wage")])
    residuals = frame.wage - X @ np.linalg.lstsq(X, frame.wage)[0]
    spread = results.inference.spread
    low, high = spread.table_sigma_interval(0.99)
    assert low < residuals.std() < high
    assert high / low < 1.5
    low, high = spread.table_explained_interval(0.99)
    assert low < 1 - residuals.var() / frame.wage.var() < high
    assert high - low < 0.3


# ---------------------------------------------------------------- bounds that cut the outcome off


def test_a_pile_at_a_bound_is_told(tmp_path):
    frame = people().assign(wage=lambda f: f.wage.clip(0, 25))
    results = fitted(frame, {"wage": (0, 25)})
    assert "Many values of wage lie at its upper bound, 25" in " ".join(results.remarks)
    assert "upper bound" in str(results).replace("\n", " ")
    assert not fitted(people()).remarks


@pytest.mark.parametrize(
    ("counts", "sd", "piled"),
    [((300, 100, 90, 80), 5, True), ((300, 0, 0, 300), 5, False), ((120, 100, 90), 5, False), ((9, 4, 1), 5, False)],
)
def test_a_pile_stands_out_of_noise_and_of_its_neighbour(counts, sd, piled):
    assert is_piled(np.array(counts, dtype=float), sd) is piled


def test_remarks_are_saved(tmp_path):
    frame = people().assign(wage=lambda f: f.wage.clip(0, 25))
    model = DPLinearRegression(epsilon=1, delta=1e-6, domain=Domain(BOUNDS | {"wage": (0, 25)}))
    results = model.fit_source(frame, "wage").results_
    results.save(tmp_path / "model.json")
    assert Results.load(tmp_path / "model.json").remarks == results.remarks


def test_prediction_intervals_reach_as_far_as_heavy_tails_need():
    """One error in ten is ten times as large: 1.96 sds of clipped residuals hold fewer than 95 % of outcomes."""
    rng, domain = np.random.default_rng(3), Domain({"x": (-1, 1), "y": (-100, 100)})
    x = rng.uniform(-1, 1, 40_000)
    y = x + rng.normal(size=40_000) * np.where(rng.random(40_000) < 0.1, 10.0, 1.0)
    seen, new = ({"x": x[half], "y": y[half]} for half in (slice(20_000), slice(20_000, None)))
    given = {"epsilon": 1.0, "delta": 1e-6, "domain": domain, "random_state": 0}
    found = DPLinearRegression(**given).fit_source(pd.DataFrame(seen), "y").results_
    low, high = found.predict_interval(pd.DataFrame({"x": new["x"]}))
    assert np.mean((low <= new["y"]) & (new["y"] <= high)) == pytest.approx(0.95, abs=0.015)
    spread = found.inference.spread
    assert spread.reach(0.95) > stats.t.ppf(0.975, spread.df)
    assert OutcomeSpread.from_dict(json.loads(json.dumps(spread.to_dict()))) == spread
    for damaged in ({"within": [0.5]}, {"edges": spread.edges[::-1]}):
        with pytest.raises(FileFormatError, match="damaged"):
            OutcomeSpread.from_dict(spread.to_dict() | damaged)


# ---------------------------------------------------------------- the cause of withheld intervals

FEW = "too few rows for {} coefficients at this epsilon"
PEOPLE = Domain(
    {
        "sex": ["F", "M"],
        "age": (18, 80),
        "twin": (18, 80),
        "still": (0, 1000),
        "region": ["east", "north", "south"],
        "group": ["first", "second", "third"],
        "visits": (0, 30),
        "spend": (0, 300),
        "cost": (0, 300),
        "ill": bool,
    }
)
KINDS = {
    "number": (DPLinearRegression, "spend"),
    "numbers": (DPLinearRegression, ["spend", "cost"]),
    "class": (DPLogisticRegression, "ill"),
    "count": (DPPoissonRegression, "visits"),
}


def made_up(n):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.choice(["F", "M"], n), "age": rng.uniform(18, 80, n)})
    frame["twin"] = (frame.age + 1e-4 * rng.standard_normal(n)).clip(18, 80)
    frame["still"] = 1 + 1e-4 * rng.standard_normal(n)
    frame["region"] = rng.choice(["east", "north", "south"], n, p=[0.5, 0.4995, 0.0005])
    frame["group"] = rng.choice(["first", "second", "third"], n, p=[0.0005, 0.5, 0.4995])
    eta = -1.5 + 0.02 * frame.age + 0.2 * (frame.sex == "F")
    frame["ill"] = rng.random(n) < 1 / (1 + np.exp(-eta))
    frame["visits"] = rng.poisson(np.exp(eta)).clip(max=30)
    frame["spend"] = (20 + 2 * frame.age + rng.normal(0, 20, n)).clip(0, 300)
    return frame.assign(cost=frame.spend + rng.normal(0, 5, n).clip(-20, 20))


def reason(kind, features, n, epsilon):
    cls, target = KINDS[kind]
    model = cls(epsilon=epsilon, delta=1e-6, domain=PEOPLE, random_state=1)
    found = model.fit_source(made_up(n), target, features).results_.inference
    return found.reason if isinstance(found, Unavailable) else found.withheld


@pytest.mark.parametrize("kind", KINDS)
def test_few_rows_are_the_cause_where_noise_hides_most_directions(kind):
    """Half of the people are women: sex varies as much as it can."""
    said = reason(kind, ["sex", "age", "region"], 600, 0.4)
    assert FEW.format(5) in said or "too few rows for this epsilon" in said
    assert "sex" not in said
    assert "varies" not in said


@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_say_the_same_are_named(kind):
    said = reason(kind, ["sex", "age", "twin"], 20_000, 5)
    assert "age and twin nearly say the same" in said
    assert "too few rows" not in said


@pytest.mark.parametrize("kind", KINDS)
def test_a_level_that_few_rows_have_is_named(kind):
    said = reason(kind, ["sex", "age", "region"], 20_000, 0.5)
    assert "Only few rows have region[south]" in said
    assert "sex" not in said


@pytest.mark.parametrize("kind", KINDS)
def test_a_first_level_that_few_rows_have_is_named(kind):
    said = reason(kind, ["sex", "age", "group"], 20_000, 2)
    assert "Only few rows have group[first]" in said
    assert "The other levels of group are compared with it" in said


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_that_hardly_varies_is_named(kind):
    said = reason(kind, ["sex", "age", "still"], 20_000, 3)
    assert "still varies too little within the declared bounds" in said
    assert "sex" not in said
    assert "age" not in said


@pytest.mark.parametrize(
    ("features", "epsilon", "said"),
    [
        (["sex", "age", "twin"], 5, "age and twin nearly say the same"),
        (["sex", "age", "region"], 0.5, "Only few rows have region[south]"),
        (["sex", "age", "group"], 2, "Only few rows have group[first]"),
        (["sex", "age", "still"], 3, "still varies too little within the declared bounds"),
    ],
)
def test_columns_are_named_of_several_classes(features, epsilon, said):
    frame = made_up(20_000).assign(choice=np.random.default_rng(6).choice(["bus", "car", "foot"], 20_000))
    domain = Domain({**PEOPLE.columns, "choice": ["bus", "car", "foot"]})
    model = DPLogisticRegression(epsilon=epsilon, delta=1e-6, domain=domain, random_state=1)
    inference = model.fit_source(frame, "choice", features).results_.inference
    assert said in inference.withheld
    assert "sex" not in inference.withheld
    assert "too few rows" not in inference.withheld


def equations(S, noise):
    """The constant and age, with noise of these sds on the diagonal."""
    none = np.zeros((2, 1))
    return NormalEquations(
        ("(intercept)", "age"), ("n",), S, none, None, 1.0, np.ones(1), None, 2000, L=np.diag(noise**-0.5)
    )


@pytest.mark.parametrize(("centre", "blamed"), [(0.0, True), (0.4, False)])
def test_a_number_is_not_blamed_where_noise_hides_its_mean(centre, blamed):
    """The variance is S_11/n - centre^2: with all of the noise in the number of rows, a mean of 0 is no doubt."""
    S = 2000 * np.array([[1.0, centre], [centre, 1e-3]])
    e, noise = equations(S, np.array([2000.0, 0.5])), np.array([0.1, 0.9])
    said = culprits(PEOPLE, PROMISE, e, np.eye(2), 1e-3 * np.eye(2), np.eye(2), noise, 0.35)
    assert not said[0]
    assert ("age varies too little" in said[1]) == blamed
    assert ("too few rows for 2 coefficients" in said[1]) != blamed


def test_the_number_of_rows_that_would_do_is_about_right():
    """Noise relative to the variation falls with n mu, so the factor applies to either."""
    said = reason("number", ["sex", "age"], 500, 0.2)
    factor = float(re.search(r"About ([\d.]+) times", said)[1])
    assert 1 < factor < 20
    assert not reason("number", ["sex", "age"], int(500 * 1.5 * factor), 0.2)
    epsilon = float(re.search(r"about epsilon = ([\d.]+);", said)[1])
    assert not reason("number", ["sex", "age"], 500, 1.5 * epsilon)


def test_estimates_without_an_interval_are_those_that_predict(spoiled):
    given = spoiled.inference.given
    expected = np.where(given, spoiled.inference.estimate, [spoiled.intercept, *spoiled.coef])
    assert list(spoiled.params) == list(spoiled.coefficients.values()) == expected.tolist()
    assert list(spoiled.to_frame()["estimate"]) == expected.tolist()
    assert spoiled.to_dict()["params"]["still"] == spoiled.predicting["still"]
    assert spoiled.t_test("still = 0").effect.iloc[0] == spoiled.params["still"]
    assert spoiled.t_test("school = 0").effect.iloc[0] == pytest.approx(spoiled.params["school"], rel=1e-12)
    effects = spoiled.effects().effect
    assert effects["still, 0 to 1000"] == pytest.approx(1000 * spoiled.params["still"], rel=1e-12)


def test_a_model_without_standard_errors_names_the_epsilon_that_would_do():
    said = reason("count", ["sex", "age", "region", "group"], 1000, 0.3)
    assert "released without standard errors" in said
    epsilon = float(re.search(r"about epsilon = ([\d.]+);", said)[1])
    assert "released without standard errors" not in reason(
        "count", ["sex", "age", "region", "group"], 1000, 1.2 * epsilon
    )
