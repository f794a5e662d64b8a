"""Predictions clip columns and outcomes to what was declared, as the fit did, unless told not to."""

import json

import numpy as np
import pandas as pd
import pytest

import discreet
from discreet import Domain, DPLinearRegression, DPLogisticRegression, DPPoissonRegression
from discreet.errors import ParameterError
from discreet.results.results import Results

ROWS = 4_000
RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame({"age": RNG.uniform(18, 90, ROWS), "sex": RNG.choice(["F", "M"], ROWS)})
PEOPLE["income"] = (100 * PEOPLE["age"] + 500 * (PEOPLE["sex"] == "M") + RNG.normal(0, 300, ROWS)).clip(0, 9_000)
PEOPLE["visits"] = RNG.poisson(PEOPLE["age"] / 20).clip(1, 9)
PEOPLE["old"] = PEOPLE["age"] + RNG.normal(0, 5, ROWS) > 60
FACTS = {"age": (18, 90), "sex": ["F", "M"], "income": (0, 9_000), "visits": (1, 9), "old": bool}
FAR = pd.DataFrame({"age": [-500.0, 17.0, 50.0, 91.0, 1e6], "sex": ["F", "M"] * 2 + ["F"]})
NEAR = FAR.assign(age=FAR["age"].clip(18, 90))


def fitted(estimator, target, features=("age", "sex"), **options):
    domain = Domain({name: FACTS[name] for name in (*features, target)})
    model = estimator(epsilon=5, delta=1e-6, domain=domain, random_state=0, **options)
    return model.fit_source(PEOPLE[[*features, target]], target)


@pytest.fixture(scope="module")
def linear():
    return fitted(DPLinearRegression, "income")


def test_columns_beyond_their_bounds_count_as_the_bounds(linear):
    np.testing.assert_array_equal(linear.predict(FAR), linear.predict(NEAR))
    np.testing.assert_array_equal(linear.results_.predict(FAR), linear.predict(FAR))


def test_the_plain_line_is_there_for_the_asking(linear):
    plain = FAR["age"] * linear.coef_[0] + (FAR["sex"] == "M") * linear.coef_[1] + linear.intercept_
    np.testing.assert_allclose(linear.predict(FAR, clip=False), plain, rtol=1e-9)
    np.testing.assert_allclose(linear.results_.predict(FAR, clip=False), plain, rtol=1e-9)
    assert linear.results_.predictions(FAR, clip=False)["prediction"].iloc[-1] > 1e6


def test_predicted_numbers_lie_in_the_declared_range_of_the_outcome():
    steep = fitted(DPLinearRegression, "income", ["age"])
    steep.coef_, steep.intercept_ = 10 * steep.coef_, steep.intercept_ - 20_000
    found = steep.predict(FAR[["age"]])
    assert (found.min(), found.max()) == (0, 9_000)
    assert steep.predict(FAR[["age"]], clip=False).min() < -20_000


def test_both_ends_of_an_interval_lie_in_the_range(linear):
    low, high = linear.results_.predict_interval(FAR, 0.999)
    assert low.min() >= 0
    assert high.max() <= 9_000
    assert (low <= high).all()
    np.testing.assert_array_equal((low, high), linear.results_.predict_interval(NEAR, 0.999))
    wide = linear.results_.predict_interval(FAR, 0.999, clip=False)
    assert wide[0].min() < 0
    assert wide[1].max() > 9_000
    mean = linear.results_.predict_interval(FAR, of="mean")
    np.testing.assert_array_equal(mean, linear.results_.predict_interval(NEAR, of="mean"))


def test_a_yes_or_no_as_a_number_lies_between_0_and_1():
    model = fitted(DPLinearRegression, "old", ["age"])
    found = model.results_.predict(FAR[["age"]])
    assert 0 <= found.min() < found.max() <= 1
    assert model.results_.predict(FAR[["age"]], clip=False).max() > 1


def test_classes_are_predicted_from_clipped_columns():
    model = fitted(DPLogisticRegression, "old")
    for ask in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(model, ask)(FAR), getattr(model, ask)(NEAR))
    assert model.decision_function(FAR, clip=False)[-1] > 10 * model.decision_function(FAR)[-1]
    np.testing.assert_array_equal(model.results_.predict_proba(FAR), model.predict_proba(FAR))
    np.testing.assert_allclose(model.results_.predict_proba(FAR, clip=False), model.predict_proba(FAR, clip=False))


def test_counts_lie_in_their_declared_range():
    model = fitted(DPPoissonRegression, "visits")
    np.testing.assert_array_equal(model.predict(FAR), model.predict(NEAR))
    assert model.predict(FAR).min() >= 1
    assert model.predict(FAR, clip=False).min() < 0.01
    np.testing.assert_array_equal(model.results_.predict(FAR), model.predict(FAR))


def test_the_plain_curve_of_counts_leads_beyond_their_declared_range(tmp_path):
    model = fitted(DPPoissonRegression, "visits", ["age"], rows=ROWS)
    rows = FAR.assign(age=[-500.0, 17.0, 50.0, 150.0, 300.0])[["age"]]
    plain = np.exp(rows["age"] * model.coef_[0] + model.intercept_)
    assert plain.max() > 50
    model.results_.save(tmp_path / "m.json", simulation=True)
    for one in (model, model.results_, Results.load(tmp_path / "m.json")):
        np.testing.assert_allclose(one.predict(rows, clip=False), plain, rtol=1e-9)
        assert one.predict(rows).max() <= 9
    results = model.results_
    np.testing.assert_allclose(results.predictions(rows, clip=False)["prediction"], plain, rtol=1e-9)
    (low, high), within = (
        results.predict_interval(rows, of="mean", clip=False),
        results.predict_interval(rows, of="mean"),
    )
    told = np.isfinite(high)
    assert high[told].max() > 9 >= within[1][told].max()
    assert (low[told] <= high[told]).all()


@pytest.mark.parametrize("clip", ["no", "False", 0, 1, None])
def test_clip_is_true_or_false(linear, clip):
    classes, counts = fitted(DPLogisticRegression, "old"), fitted(DPPoissonRegression, "visits")
    results = linear.results_
    asked = [linear.predict, results.predict, results.predict_interval, results.predictions, classes.predict]
    asked += [classes.predict_proba, classes.decision_function, counts.predict, counts.results_.predict]
    for ask in asked:
        with pytest.raises(ParameterError, match="clip must be True or False, got"):
            ask(FAR, clip=clip)
    trivial = discreet.TrivialRegressor(bounds_y=(0, 1)).fit([[1.0]], [0.5])
    with pytest.raises(ParameterError, match="clip must be True or False"):
        trivial.predict([[1.0]], clip=clip)
    assert linear.predict(FAR, clip=np.False_)[-1] > 1e6


def test_rates_for_one_unit_of_exposure_may_lie_below_the_least_count():
    table = PEOPLE.assign(years=10.0)
    table["visits"] = np.random.default_rng(1).poisson(2.0, ROWS).clip(1, 9)
    domain = Domain({"age": (18, 90), "years": (1, 20), "visits": (1, 9)})
    model = DPPoissonRegression(epsilon=5, delta=1e-6, domain=domain, exposure="years", random_state=0)
    model.fit_source(table[["age", "years", "visits"]], "visits", ["age"])
    assert model.predict(FAR[["age"]]).max() < 1


def test_each_of_several_outcomes_has_its_own_range(tmp_path):
    domain = Domain({name: FACTS[name] for name in ("age", "income", "visits")})
    model = DPLinearRegression(epsilon=5, delta=1e-6, domain=domain, random_state=0)
    model.fit_source(PEOPLE[["age", "income", "visits"]], ["income", "visits"], ["age"])
    rows = FAR[["age"]]
    found = model.predict(rows)
    np.testing.assert_array_equal(found, model.predict(NEAR[["age"]]))
    assert (found >= [0, 1]).all()
    assert (found <= [9_000, 9]).all()
    np.testing.assert_array_equal(model.results_.predict(rows), found)
    assert model.results_.predict(rows, clip=False).max() > 1e6
    np.testing.assert_array_equal(model.results_.predictions(rows)["visits"], found[:, 1])


def test_a_saved_model_clips_alike(linear, tmp_path):
    linear.results_.save(tmp_path / "m.json", simulation=True)
    again = Results.load(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(FAR), linear.predict(FAR))
    np.testing.assert_array_equal(again.predict(FAR, clip=False), linear.results_.predict(FAR, clip=False))


def test_a_matrix_of_regressors_is_clipped_alike(linear):
    matrix = np.column_stack([FAR["age"], FAR["sex"] == "M"])
    np.testing.assert_allclose(linear.results_.predict(matrix), linear.results_.predict(FAR), rtol=1e-12)


def test_the_range_is_the_declared_one_not_one_that_counts_narrowed():
    rng = np.random.default_rng(2)
    x, far = rng.uniform(0, 1, ROWS), np.where(rng.random(ROWS) < 0.01, 900.0, 0.0)
    domain = Domain({"x": (0, 1), "y": (0, 1_000)})
    model = DPLinearRegression(epsilon=5, delta=1e-6, domain=domain, stages=1, random_state=0)
    model.fit_source(pd.DataFrame({"x": x, "y": 5 + x + far}), "y")
    assert model.certificate_.declared is not None
    narrowed = model.certificate_.domain.columns["y"].bounds[1]
    assert narrowed < 1_000
    model.coef_, model.intercept_ = np.array([0.0]), 5_000.0
    assert model.predict([[0.5]]) == 1_000


def test_rows_in_a_ball_are_not_shortened():
    X = np.random.default_rng(3).normal(0, 0.5, (ROWS, 2))
    model = DPLinearRegression(epsilon=5, delta=1e-6, data_norm=1.0, bounds_y=(-1, 1), random_state=0)
    model.fit(X, np.clip(X[:, 0] / 2, -1, 1))
    rows = [[0.5, 0.0], [1.5, 0.0]]
    np.testing.assert_allclose(model.predict(rows), model.predict(rows, clip=False), rtol=1e-12)


def test_scores_are_those_of_clipped_predictions(linear):
    from sklearn.metrics import r2_score

    y = np.full(len(FAR), 5_000.0) + np.arange(len(FAR))
    assert linear.score(FAR, y) == r2_score(y, linear.predict(FAR))


@pytest.mark.parametrize("name", ["AdaSSP", "OPS", "NoisyGradientDescent", "NAPP", "TrivialRegressor", "ReuseCov"])
def test_the_papers_estimators_clip_too(name):
    X = np.random.default_rng(4).uniform(-1, 1, (500, 2))
    own = {} if name == "TrivialRegressor" else {"epsilon": 5, "delta": 1e-6, "bounds_X": (-1, 1), "random_state": 0}
    own |= {"alpha": 20} if name == "NAPP" else {"rows": 500} if name in ("OPS", "NoisyGradientDescent") else {}
    model = getattr(discreet, name)(**own, bounds_y=(-1, 1)).fit(X, np.clip(X[:, 0], -1, 1))
    far = np.array([[100.0, -100.0], [-100.0, 100.0]])
    np.testing.assert_array_equal(model.predict(far), model.predict(np.clip(far, -1, 1)))
    assert np.abs(model.predict(far)).max() <= 1
    assert model.predict(far, clip=False).shape == model.predict(far).shape


def clipped(x, ends):
    return np.clip(x, *ends)


def test_a_plain_reader_of_json_predicts_alike():
    domain = Domain({"age": (18, 90), "sex": ["F", "M"], "visits": (1, 9), "income": (0, 9_000)})
    model = DPLinearRegression(epsilon=5, delta=1e-6, domain=domain, random_state=0)
    model.fit_formula("income ~ log(visits) + sex + age:sex + age", PEOPLE)
    rows = FAR.assign(visits=[-3.0, 1, 5, 9, 70])
    told = json.loads(model.results_.to_json())
    assert list(told["bounds"]) == list(model.results_.names)
    assert told["bounds"]["sex[M]"] == [0, 1]
    assert told["bounds"]["log(visits)"] == pytest.approx([0, np.log(9)])
    assert told["input_bounds"] == {"visits": [1, 9], "age": [18, 90]}
    near = {name: clipped(rows[name], ends) for name, ends in told["input_bounds"].items()}
    male = (rows["sex"] == "M").astype(float)
    regressors = {"(intercept)": 1.0, "log(visits)": np.log(near["visits"]), "sex[M]": male, "age": near["age"]}
    regressors["age:sex[M]"] = near["age"] * male
    assert set(regressors) == set(told["coef"])
    line = sum(told["coef"][name] * values for name, values in regressors.items())
    np.testing.assert_allclose(clipped(line, told["outcome_range"]), model.predict(rows), rtol=1e-9)


def test_json_has_the_range_of_each_outcome_and_none_of_classes():
    domain = Domain({name: FACTS[name] for name in ("age", "income", "visits")})
    model = DPLinearRegression(epsilon=5, delta=1e-6, domain=domain, random_state=0)
    both = model.fit_source(PEOPLE[["age", "income", "visits"]], ["income", "visits"], ["age"]).results_.to_dict()
    assert both["outcome_ranges"] == {"income": [0, 9_000], "visits": [1, 9]}
    assert both["bounds"] == both["input_bounds"] == {"age": [18, 90]}
    assert fitted(DPLogisticRegression, "old").results_.to_dict()["outcome_range"] is None
    assert fitted(DPPoissonRegression, "visits").results_.to_dict()["outcome_range"] == [1, 9]
    ball = DPLinearRegression(epsilon=5, delta=1e-6, data_norm=1.0, bounds_y=(-1, 1), random_state=0)
    told = ball.fit(RNG.uniform(0, 0.5, (ROWS, 2)), RNG.uniform(-1, 1, ROWS)).results_.to_dict()
    assert (told["bounds"], told["input_bounds"]) == ({"x0": None, "x1": None}, {})
