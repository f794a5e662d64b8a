"""Outcomes that a formula makes, and yes or no: released as a column would be that somebody made by hand."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import discreet
from discreet import (
    Domain,
    DPElasticNet,
    DPLasso,
    DPLinearRegression,
    DPLinearSVC,
    DPLogisticRegression,
    DPPoissonRegression,
    DPRidge,
    check,
    formula,
    plan,
    release,
)
from discreet.core.placeholders import Unavailable
from discreet.domain import elementary
from discreet.domain.derived import number
from discreet.domain.encoding import refuse_non_finite
from discreet.errors import ParameterError
from discreet.per_instance import household, losses

pytestmark = pytest.mark.filterwarnings("ignore::discreet.DiscreetWarning")

N = 4000
COLUMNS = {"age": (18, 90), "ward": ["a", "b", "c"], "wage": (1, 400), "debt": (0, 50), "ill": bool}
PROMISE = {"epsilon": 1.0, "delta": 1e-6, "n_jobs": 1, "random_state": 3}
MADE = ["log(wage)", "log1p(debt)", "sqrt(wage)", "I(wage / 1000)", "I(wage - 3 * debt)", "wage:debt"]


def people(n=N, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.uniform(18, 90, n), "ward": rng.choice(["a", "b", "c"], n)})
    line = 2 + frame["age"] / 60 + 0.4 * (frame["ward"] == "b")
    frame["wage"] = np.exp(line + rng.normal(0, 0.6, n))
    frame["debt"] = rng.gamma(2.0, 6.0, n)
    frame["ill"] = rng.uniform(size=n) < 0.1 + frame["age"] / 200
    return frame.assign(who=np.arange(n) // 2, weight=rng.uniform(0.2, 2, n))


FRAME = people()


def by_hand(text, frame=FRAME, domain=None):
    """The table and the domain with the outcome as a column of its own, declared with the range that follows."""
    domain = Domain(COLUMNS) if domain is None else domain
    column = formula(f"{text} ~ age", domain).domain.columns[formula(f"{text} ~ age", domain).target]
    values = {name: frame[name].to_numpy(dtype=float) for name in ("wage", "debt")}
    known = np.isfinite(np.column_stack([values[own] for factor in column.factors for own in factor.inputs])).all(
        axis=1
    )
    y = np.full(len(frame), np.nan)
    y[known] = number(column, {k: v[known] for k, v in values.items()}, refuse_non_finite, clip=True)
    made = domain.with_columns({name: domain.columns[name] for name in ("age", "ward")} | {"made": column.bounds})
    return frame.assign(made=y), made


def pair(text, estimator=DPLinearRegression, frame=FRAME, domain=None, features="age + ward", **options):
    """The fit by a formula, and the one of the column that was made by hand."""
    table, made = by_hand(text, frame, domain)
    options = PROMISE | options
    model = estimator(**options, domain=Domain(COLUMNS) if domain is None else domain)
    other = estimator(**options, domain=made)
    return model.fit_formula(f"{text} ~ {features}", frame), other.fit_formula(f"made ~ {features}", table)


def assert_same(model, other):
    assert len(model.release_.stages) == len(other.release_.stages) > 0
    assert model.release_.values == other.release_.values
    assert [stage.event.coordinates.P for stage in model.release_.stages] == [
        stage.event.coordinates.P for stage in other.release_.stages
    ]
    assert np.array_equal(model.coef_, other.coef_)
    inferences = [own.results_.inference for own in (model, other)]
    assert isinstance(inferences[0], Unavailable) == isinstance(inferences[1], Unavailable)
    if not isinstance(inferences[0], Unavailable):
        assert np.array_equal(inferences[0].std_err, inferences[1].std_err)


# -------------------------------------------------------------------- numbers that a formula makes


@pytest.mark.parametrize("text", MADE)
def test_a_made_outcome_is_released_as_a_column_made_by_hand(text):
    """The same values on the same grid, to the last bit."""
    assert_same(*pair(text))


def test_the_column_of_a_user_who_takes_logarithms_with_numpy_differs_in_last_bits_only():
    table = FRAME.assign(made=np.log(np.clip(FRAME["wage"], 1, 400)))
    _, made = by_hand("log(wage)")
    assert np.allclose(table["made"], elementary.log(np.clip(FRAME["wage"].to_numpy(), 1, 400)), rtol=1e-15)
    model = DPLinearRegression(**PROMISE, domain=Domain(COLUMNS)).fit_formula("log(wage) ~ age + ward", FRAME)
    other = DPLinearRegression(**PROMISE, domain=made).fit_formula("made ~ age + ward", table)
    assert model.coef_ == pytest.approx(other.coef_, rel=1e-4)


OPTIONS = {
    "robust": {"covariance": "robust"},
    "classical": {"covariance": "classical"},
    "two stages": {"stages": 2},
    "rows": {"rows": N},
    "replace-one": {"neighbors": "replace-one"},
    "mean alone": {"epsilon": 0.003},
    "no intercept": {"fit_intercept": False},
    "persons": {"domain": Domain(COLUMNS, person="who", rows_per_person=2)},
    "weights": {"domain": Domain(COLUMNS, weights="weight", largest_weight=2.0)},
    "a ball of features": {"domain": Domain(COLUMNS, data_norm=90.0, norm_columns=["age"]), "stages": 2},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_all_options_hold_for_made_outcomes(options):
    assert_same(*pair("log(wage)", **options))


@pytest.mark.parametrize("estimator", [DPRidge, DPLasso, DPElasticNet])
def test_penalised_models_of_made_outcomes(estimator):
    model, other = pair("sqrt(wage)", estimator)
    assert model.release_.values == other.release_.values
    assert np.array_equal(model.coef_, other.coef_)


def test_rows_that_lack_other_values_are_counted_where_the_outcome_is_known():
    rng = np.random.default_rng(1)
    holes = FRAME.assign(
        age=FRAME["age"].mask(rng.random(N) < 0.2),
        wage=FRAME["wage"].mask(rng.random(N) < 0.1),
        debt=FRAME["debt"].mask(rng.random(N) < 0.1),
    )
    for text in ("log(wage)", "wage:debt"):
        assert_same(*pair(text, frame=holes, domain=Domain(COLUMNS, missing="drop")))


def test_errors_fall_as_they_do_for_a_column_made_by_hand():
    """One stage, which these outcomes had, is worse; the errors of both ways of many stages are the same."""
    held = people(3000, seed=9)
    y = np.log(np.clip(held["wage"], 1, 400))
    errors = {"made": [], "by hand": [], "one stage": []}
    for seed in range(8):
        model, other = pair("log(wage)", random_state=seed)
        one = DPLinearRegression(**PROMISE | {"random_state": seed}, domain=Domain(COLUMNS), stages=1)
        one.fit_formula("log(wage) ~ age + ward", FRAME)
        for name, fitted in zip(errors, (model, other, one), strict=True):
            errors[name].append(float(np.mean((fitted.predict(held[["age", "ward"]]) - y) ** 2)))
    found = {name: np.mean(own) / np.var(y) for name, own in errors.items()}
    assert found["made"] == found["by hand"]
    assert found["made"] < found["one stage"]


def test_values_outside_the_range_are_moved_to_its_ends():
    wild = FRAME.copy()
    wild.loc[:9, "wage"] = [0.0, -5.0, 1e300, -1e300, 400.0, 401.0, 1.0, 0.5, 1e-300, 5e-324]
    tame = wild.assign(wage=wild["wage"].clip(1, 400))
    models = [
        DPLinearRegression(**PROMISE, domain=Domain(COLUMNS)).fit_formula("log(wage) ~ age", frame)
        for frame in (wild, tame)
    ]
    assert models[0].release_.values == models[1].release_.values


# -------------------------------------------------------------------- yes or no


def indicator(level="ill"):
    yes = FRAME["ill"] if level == "ill" else FRAME["ward"] == level
    return FRAME.assign(made=yes.astype(float)), Domain({"age": (18, 90), "debt": (0, 50), "made": (0, 1)})


@pytest.mark.parametrize(("text", "level"), [("ill", "ill"), ("ill[True]", "ill"), ("ward[b]", "b")])
def test_a_level_without_an_intercept_is_a_number_that_is_0_or_1(text, level):
    """Numbers are not centred then, so both have the same coordinate."""
    table, made = indicator(level)
    options = PROMISE | {"fit_intercept": False}
    model = DPLinearRegression(**options, domain=Domain(COLUMNS)).fit_formula(f"{text} ~ age + debt", FRAME)
    assert_same(model, DPLinearRegression(**options, domain=made).fit_formula("made ~ age + debt", table))


@pytest.mark.parametrize(("text", "level"), [("ill", "ill"), ("ward[b]", "b")])
def test_a_yes_or_no_has_the_errors_of_a_number_that_is_0_or_1(text, level):
    table, made = indicator(level)
    truth = np.linalg.lstsq(np.column_stack([np.ones(N), FRAME[["age", "debt"]]]), table["made"])[0][1:]
    scale, off, widths = FRAME[["age", "debt"]].std().to_numpy(), [], []
    for seed in range(60):
        options = PROMISE | {"random_state": seed}
        model = DPLinearRegression(**options, domain=Domain(COLUMNS)).fit_formula(f"{text} ~ age + debt", FRAME)
        other = DPLinearRegression(**options, domain=made).fit_formula("made ~ age + debt", table)
        assert len(model.release_.stages) == len(other.release_.stages) == 3
        off.append([np.sum(((own.coef_ - truth) * scale) ** 2) for own in (model, other)])
        told = [own.results_.inference for own in (model, other)]
        if not any(isinstance(own, Unavailable) for own in told):
            widths.append([own.std_err for own in told])
    errors, stds = np.mean(np.sqrt(off), axis=0), np.mean(widths, axis=0)
    assert len(widths) > 20
    assert errors[0] < 1.4 * errors[1]
    assert stds[0] == pytest.approx(stds[1], rel=0.1)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_all_options_hold_for_yes_or_no(options):
    options = PROMISE | {"domain": Domain(COLUMNS)} | options
    model = DPLinearRegression(**options).fit_formula("ill ~ age + ward", FRAME)
    certificate = model.release_.certificate
    assert model.release_.stages
    assert certificate.mismatch(model.release_.values) is None
    assert certificate.mismatch() is None


# -------------------------------------------------------------------- several outcomes, files, losses


def several(**options):
    asked = ["log(wage) ~ age", "ill ~ age", "debt ~ age", "ward[b] ~ age"]
    return release(FRAME, domain=Domain(COLUMNS), models=asked, **PROMISE | options)


def test_several_outcomes_of_all_kinds_share_stages():
    table, made = by_hand("log(wage)")
    made = made.select(["age", "made"])
    made = made.with_columns(made.columns | {"ill": bool, "debt": (0, 50), "ward": ["a", "b", "c"]})
    other = release(table, domain=made, models=["made ~ age", "ill ~ age", "debt ~ age", "ward[b] ~ age"], **PROMISE)
    found = several()
    assert len(found.stages) == 3
    assert found.values == other.values
    assert found.fit("log(wage) ~ age").coefficients == other.fit("made ~ age").coefficients
    assert found.fit("ill ~ age").inference.std_err is not None
    listed = DPLinearRegression(**PROMISE, domain=found.certificate.domain)
    both = listed.fit_source(FRAME, ["log(wage)", "debt"], ["age"])
    assert both.coef_.shape == (2, 1)
    assert len(both.release_.stages) == 3
    assert both.predict(FRAME[["age"]]).shape == (N, 2)


def test_selection_and_comparison_of_models_of_a_made_outcome():
    text = "log(wage) ~ age + ward + ill"
    found = release(FRAME, domain=Domain(COLUMNS), models=text, **PROMISE)
    assert "age" in str(found.select(text))
    assert "age" in str(discreet.compare(found.fit(text), found.fit("log(wage) ~ age")))


def test_files_of_made_outcomes_are_checked(tmp_path):
    model = DPLinearRegression(**PROMISE | {"random_state": None}, domain=Domain(COLUMNS))
    for i, text in enumerate(["log(wage) ~ age + ward", "ill ~ age + ward", "ward[c] ~ age"]):
        model.fit_formula(text, FRAME)
        model.release_.save(tmp_path / f"{i}.json")
        model.results_.save(tmp_path / f"{i}.results.json")
        for path in (tmp_path / f"{i}.json", tmp_path / f"{i}.results.json"):
            assert check(path).ok
        assert discreet.load(tmp_path / f"{i}.json").values == model.release_.values


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("missing", ["error", "drop"])
def test_losses_of_rows_are_those_of_the_column_made_by_hand(neighbors, missing):
    few = people(300)
    domain = Domain(COLUMNS, missing=missing)
    model, other = pair("log(wage)", frame=few, domain=domain, neighbors=neighbors, stages=2)
    table, _ = by_hand("log(wage)", few, domain)
    assert np.array_equal(losses(few, model).mu(), losses(table, other).mu())
    if neighbors == "add-remove":
        assert household(few[:5], model) == household(table[:5], other)


@pytest.mark.parametrize("unit", [{}, {"person": "who", "rows_per_person": 2}], ids=["rows", "persons"])
def test_losses_of_a_yes_or_no_stay_below_the_promise(unit):
    few = people(300)
    model = DPLinearRegression(**PROMISE, domain=Domain(COLUMNS, **unit), stages=2)
    found = losses(few, model.fit_formula("ill ~ age + ward", few))
    assert 0 < found.epsilon().max() <= 1


# -------------------------------------------------------------------- counts, and what is refused


def test_a_count_that_a_formula_makes_is_fitted_in_stages():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"age": rng.uniform(18, 90, N)})
    frame["gp"], frame["clinic"] = (np.clip(rng.poisson(np.exp(frame["age"] / 60 - k)), 0, 20) for k in (0.0, 0.5))
    frame["visits"] = frame["gp"] + frame["clinic"]
    domain = Domain({"age": (18, 90), "gp": (0, 20), "clinic": (0, 20), "visits": (0, 40)})
    model = DPPoissonRegression(**PROMISE, domain=domain)
    made = model.fit_formula("I(gp + clinic) ~ age", frame).coef_
    assert np.array_equal(made, DPPoissonRegression(**PROMISE, domain=domain).fit_formula("visits ~ age", frame).coef_)


def test_a_stream_and_a_ball_of_outcomes_have_one_stage():
    options = PROMISE | {"domain": Domain(COLUMNS)}
    reader = pa.table(FRAME.drop(columns=["who", "weight"])).to_reader()
    assert not DPLinearRegression(**options).fit_formula("log(wage) ~ age", reader).release_.stages
    ball = Domain({"age": (18, 90), "debt": (0, 50)}, data_norm=50.0, norm_columns=["debt"])
    with pytest.raises(ParameterError, match="outcomes that are none of the norm_columns"):
        DPLinearRegression(**PROMISE, domain=ball, stages=2).fit_source(FRAME, "debt", ["age"])


@pytest.mark.parametrize("model", [DPLogisticRegression, DPLinearSVC])
@pytest.mark.parametrize("stages", ["auto", 1])
def test_a_comparison_is_a_yes_or_no_of_a_classifier(model, stages, tmp_path):
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 1, (5000, 2))
    visits = np.minimum(rng.poisson(np.exp(0.3 + x[:, 0])), 20)
    table = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "visits": visits.astype(float), "many": visits > 1})
    domain = Domain({"a": (0, 1), "b": (0, 1), "visits": (0, 20), "many": bool})
    options = {"epsilon": 1, "delta": 1e-6, "domain": domain, "stages": stages, "random_state": 3}
    made = model(**options).fit_formula("I(visits > 1) ~ a + b", table)
    same = model(**options).fit_formula("many ~ a + b", table)
    np.testing.assert_allclose(made.coef_, same.coef_, atol=1e-3)
    assert made.classes_.tolist() == [False, True]
    assert made.score(table, visits > 1) == same.score(table, table["many"])
    made.results_.save(tmp_path / "made.json", simulation=True)
    loaded = discreet.load(tmp_path / "made.json")
    assert loaded.predict(table[:9]).tolist() == made.predict(table[:9]).tolist()
    findings = discreet.check(tmp_path / "made.json").findings
    assert [own.what for own in findings if not own.ok] == ["status is 'simulation'"]
    planned = plan(domain, "I(visits > 1) ~ a + b", rows=5000, epsilon=1, delta=1e-6, methods=[model.__name__], draws=2)
    assert "I(visits > 1)" in str(planned)


@pytest.mark.parametrize("outcome", ["I(visits > 1):a", "I(visits - 1)", "I(visits > 1)^2"])
def test_other_made_numbers_are_no_classes(outcome):
    domain, table = (
        Domain(dict.fromkeys(("a", "b", "visits"), (0, 9))),
        pd.DataFrame({"a": [0.5], "b": [1.0], "visits": [3.0]}),
    )
    with pytest.raises(ParameterError, match="classifier needs classes"):
        DPLogisticRegression(epsilon=1, delta=1e-6, domain=domain).fit_formula(f"{outcome} ~ b", table)
