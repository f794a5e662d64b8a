"""Effects of variables: all that moves along with one is counted, over its range and around a place."""

import numpy as np
import pandas as pd
import pytest

from discreet import Domain, DPLinearRegression, DPLogisticRegression, Moments, compare, formula, release
from discreet.core.placeholders import Unavailable
from discreet.errors import DataError, ParameterError
from discreet.gate.entropy import NO_NOISE
from discreet.results.effects import Variables, curves, effects
from discreet.results.glossary import meanings
from discreet.results.report import facts, report

PUBLIC = Domain(
    {
        "age": {"low": 18, "high": 65, "unit": "year"},
        "sex": ["male", "female"],
        "educ": (8, 18),
        "born": ("2000-01-01", "2020-12-31"),
        "wage": {"low": -50, "high": 150, "unit": "EUR"},
    }
)
BENT = "wage ~ age + age^2 + sex + age:sex + log(educ)"

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")


def people(rows=6000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(18, 65, rows),
            "sex": rng.choice(["male", "female"], rows),
            "educ": rng.uniform(8, 18, rows),
            "born": pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 7000, rows), "D"),
        }
    )
    line = 5 + 1.2 * frame.age - 0.0127 * frame.age**2 + 9 * np.log(frame.educ)
    line += (frame.sex == "male") * (2 + 0.08 * frame.age)
    return frame.assign(wage=line + rng.normal(0, 6, rows))


def exact(text, frame=None, domain=PUBLIC):
    """A model of a release with next to no noise."""
    frame, model = people() if frame is None else frame, formula(text, domain)
    moments = Moments.from_source(frame, model.domain)
    promise = {"epsilon": 1e5, "delta": 1e-6, "random_state": NO_NOISE, "rows": len(frame)}
    return release(moments, targets=[model.target], **promise).fit(text, model="ols")


@pytest.fixture(scope="module")
def bent():
    return exact(BENT)


def answer(results):
    return facts.answer(results, 0.95)


# -------------------------------------------------------------------- over declared ranges


def at(results, **values):
    """The prediction with the others in the middle: numbers of their range, categories of their levels."""
    middle = {"age": 41.5, "educ": 13.0} | values
    sexes = [middle.pop("sex")] if "sex" in values else ["male", "female"]
    return float(
        np.mean([results.predict(pd.DataFrame({k: [v] for k, v in {**middle, "sex": s}.items()})) for s in sexes])
    )


def test_an_effect_is_what_predictions_differ_by(bent):
    found = bent.effects()
    assert list(found.names) == ["age, 18 to 65", "sex[female]", "educ, 8 to 18"]
    expected = [
        at(bent, age=65.0) - at(bent, age=18.0),
        at(bent, sex="female") - at(bent, sex="male"),
        at(bent, educ=18.0) - at(bent, educ=8.0),
    ]
    np.testing.assert_allclose(found.effect, expected, rtol=1e-3)
    alone = (65 - 18) * bent.params["age"]
    assert abs(alone) > 4 * abs(found.effect.iloc[0])  # which is what one coefficient by itself would say
    assert list(found.units) == ["EUR"] * 3


def test_its_interval_is_that_of_the_weighted_sum(bent):
    names = list(bent.coefficients)
    weights = np.zeros(len(names))
    for name, change in {"age": 47, "age^2": 65**2 - 18**2, "age:sex[female]": 47 / 2}.items():
        weights[names.index(name)] = change
    one, found = bent.t_test(weights), bent.effects()
    np.testing.assert_allclose(found.conf_int().iloc[0], one.conf_int().iloc[0], rtol=1e-9)
    shown = effects(bent, 0.95)
    np.testing.assert_allclose(shown.ends, found.conf_int(), rtol=1e-6)
    np.testing.assert_allclose(shown.estimate, found.effect, rtol=1e-9)


def test_splines_products_of_numbers_and_dates():
    results = exact("wage ~ bs(age, df=5) + sex*educ + born + born:educ")
    found = results.effects()
    assert list(found.names) == ["age, 18 to 65", "sex[female]", "educ, 8 to 18", "born, 2000-01-01 to 2020-12-31"]
    frame = pd.DataFrame({"age": [18.0, 65.0], "educ": 13.0, "sex": "male", "born": pd.Timestamp("2010-07-02 00:00")})
    low, high = results.predict(frame)
    assert found.effect.iloc[0] == pytest.approx(high - low, rel=1e-3)
    assert [one.variable for one in curves(results, 0.9)] == ["age", "educ", "born"]
    results.plot_curves().canvas.draw()


def test_categories_of_categories_and_other_references():
    domain = Domain({"a": ["x", "y"], "b": ["u", "v", "w"], "n": (0, 1), "y": (0, 1)})
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.choice(["x", "y"], 3000), "b": rng.choice(["u", "v", "w"], 3000), "n": rng.random(3000)}
    )
    frame["y"] = 0.1 + 0.2 * (frame.a == "y") + 0.3 * ((frame.a == "y") & (frame.b == "w")) + 0.1 * frame.n
    found = exact("y ~ a*b + n", frame, domain).effects()
    np.testing.assert_allclose(found.effect, [0.2 + 0.3 / 3, 0, 0.3 / 2, 0.1], atol=0.01)
    rotated = exact('y ~ C(a, Treatment("y")) + b + n', frame, domain).effects()
    assert rotated.names[0] == "a[x]"
    assert exact("y ~ b - 1", frame, domain).effects().names == ("b[v]", "b[w]")


def test_a_plain_model_has_its_coefficients_times_ranges():
    results = exact("wage ~ age + sex + educ")
    found = effects(results, 0.9)
    assert found.own == (("age", 47.0), ("sex[female]", 1.0), ("educ", 10.0))
    np.testing.assert_allclose(found.estimate, results.debiased.iloc[1:] * [47, 1, 10])
    np.testing.assert_allclose(found.ends, results.conf_int(0.9).iloc[1:].mul([47, 1, 10], axis=0))
    assert curves(results, 0.9) == []
    with pytest.raises(ParameterError, match="No feature of this model"):
        results.plot_curves()


# -------------------------------------------------------------------- around a place


def test_marginal_effects_at_a_place(bent):
    found = bent.marginal_effects()
    b = bent.debiased
    assert found.effect["age"] == pytest.approx(b["age"] + 2 * 41.5 * b["age^2"] + b["age:sex[female]"] / 2, rel=1e-6)
    assert found.effect["educ"] == pytest.approx(b["log(educ)"] / 13, rel=1e-6)
    assert dict(zip(found.names, found.units, strict=True)) == {"age": "EUR/year", "sex[female]": "EUR", "educ": "EUR"}
    young = bent.marginal_effects({"age": 18, "sex": "male"})
    assert young.effect["age"] == pytest.approx(b["age"] + 2 * 18 * b["age^2"], rel=1e-3)
    assert young.effect["sex[female]"] == pytest.approx(b["sex[female]"] + 18 * b["age:sex[female]"], rel=1e-6)
    assert "middle" in young.notes[0]
    assert found.conf_int().notna().to_numpy().all()


def test_marginal_effects_on_average_over_public_rows(bent):
    rows = people(50, seed=3)
    found = bent.marginal_effects(rows)
    each = [bent.marginal_effects(rows.iloc[[i]]).effect for i in range(len(rows))]
    np.testing.assert_allclose(found.effect, np.mean(each, axis=0))
    assert "Averages over the rows" in found.notes[0]
    assert "middle" not in found.notes[0]


@pytest.mark.parametrize(
    ("place", "error", "match"),
    [
        ({"wage": 3}, ParameterError, "does not use"),
        (3, ParameterError, "by name"),
        ({"age": []}, ParameterError, "no rows"),
        ({"age": float("nan")}, DataError, "missing"),
        ({"sex": "other"}, DataError, "sex"),
        ({"age": "forty"}, DataError, "age"),
    ],
)
def test_places_that_cannot_be_used(bent, place, error, match):
    with pytest.raises(error, match=match):
        bent.marginal_effects(place)


# -------------------------------------------------------------------- curves


def test_curves_are_predictions_with_bands(bent):
    age, educ = curves(bent, 0.95)
    assert (age.variable, age.partner, educ.variable, educ.partner) == ("age", "sex", "educ", None)
    assert [line.label for line in age.lines] == ["sex[male]", "sex[female]"]
    for line, sex in zip(age.lines, ("male", "female"), strict=True):
        np.testing.assert_allclose(line.y, [at(bent, age=x, sex=sex) for x in age.x], rtol=1e-3)
        assert np.all((line.low < line.y) & (line.y < line.high))
    assert np.ptp(age.lines[0].y) > abs(age.lines[0].y[-1] - age.lines[0].y[0])  # it rises, and falls again
    numbers = Variables(bent.certificate.domain, bent.names)
    assert numbers.partners("age") == ["sex"]
    assert numbers.partners("educ") == []


def test_a_number_that_multiplies_has_three_lines():
    (age, educ) = curves(exact("wage ~ age*educ"), 0.9)
    assert [line.label for line in age.lines] == ["educ = 8", "educ = 13", "educ = 18"]
    assert [line.label for line in educ.lines] == ["age = 18", "age = 41.5", "age = 65"]


# -------------------------------------------------------------------- what reports say


def test_the_headline_counts_all_that_moves_along(bent):
    text, found = answer(bent), bent.effects()
    assert "3 of 3 effects can be told from zero" in text
    middle = "with the other features in the middle of their ranges"
    assert f"age: {found.effect.iloc[0]:.4g} EUR more wage from 18 to 65, {middle}" in text
    assert f"{47 * bent.debiased['age']:.4g}" not in text  # 47 times the coefficient of age alone
    assert "more wage from 8 to 18, all else equal" in answer(exact("wage ~ log(educ) + sex"))


def test_features_are_described_as_what_they_are(bent):
    said = dict(facts.asked(bent))["Features"]
    assert "age:sex, age (18 to 65 year) for each of male, female" in said
    assert "age:sex, one of" not in said


def test_pure_noise_has_no_largest_effect():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(0, 1, (30, 3)), columns=["a", "b", "y"])
    domain = Domain(dict.fromkeys("aby", (0, 1)))
    for text in ("y ~ a + b", "y ~ a*b + a^2"):
        model = DPLinearRegression(epsilon=1, delta=1e-3, domain=domain, random_state=0).fit_formula(text, frame)
        said = answer(model.results_)
        assert "largest" not in said
        assert "cannot be said" in said
    none = frame.sample(5000, replace=True, random_state=0).assign(y=rng.uniform(0, 1, 5000))
    assert answer(exact("y ~ a + b", none, domain)).startswith("None of the 2 effects")


def test_a_logistic_report_speaks_of_log_odds():
    frame = people(2000)
    model = DPLogisticRegression(epsilon=1, delta=1e-6, bounds_X=(18, 65), classes=[0, 1], random_state=0, stages=1)
    results = model.fit(frame[["age"]], (frame.sex == "male").astype(int)).results_
    page = report(results)
    assert "log odds of the outcome" in page
    assert "unit of the outcome" not in page
    assert "largest" not in answer(results)


def test_words_of_the_trade_are_explained_where_they_stand():
    model = DPLinearRegression(epsilon=1, delta=1e-6, domain=PUBLIC, random_state=0)
    page = report(model.fit_formula("wage ~ age + sex", people()).results_)
    meanings = page[page.index("What these words mean") :]
    for term in ("mu", "counts of y", "U&#x27;U"):
        assert f'<th scope="row">{term}</th>' in meanings


@pytest.mark.parametrize("stages", [1, "auto"])
def test_all_statistics_have_a_meaning(stages):
    model = DPLinearRegression(epsilon=1, delta=1e-6, domain=PUBLIC, random_state=0, stages=stages)
    checked = model.fit_formula("wage ~ age + sex", people()).certificate_.check()
    noise = [f.what.removeprefix("noise on ") for f in checked if f.what.startswith("noise on ")]
    assert noise
    for name in ", ".join(noise).removesuffix(" of a stage").split(", "):
        assert meanings([name.removesuffix(" of a stage")]), name


def test_a_comparison_moves_all_that_moves_along(bent):
    other = exact(BENT, people(seed=9))
    axes = compare(bent, other).plot().axes[0]
    shown = [line.get_xdata() for line in axes.lines if line.get_marker() in ("o", "s")]
    np.testing.assert_allclose(shown, [bent.effects().effect, other.effects().effect], rtol=1e-6)


def test_without_inference_there_are_no_effects_to_test():
    model = DPLogisticRegression(epsilon=1, delta=1e-6, bounds_X=(18, 65), classes=[0, 1], random_state=0, stages=1)
    frame = people(500)
    fitted = model.fit(frame[["age"]], (frame.sex == "male").astype(int)).results_
    assert isinstance(fitted.effects(), Unavailable)
    assert isinstance(fitted.marginal_effects(), Unavailable)
