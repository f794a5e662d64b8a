"""What people who know statsmodels reach for: the same names, the same shapes, and without noise the same numbers."""

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from discreet import SSP, Domain, DPLogisticRegression, Moments, formula, release
from discreet.core.placeholders import Unavailable
from discreet.errors import ParameterError
from discreet.gate.entropy import NO_NOISE

PUBLIC = Domain({"age": (18, 90), "hours": (0, 60), "region": ["north", "south", "west"], "income": (-50, 250)})
EXACT = {"epsilon": 1e6, "delta": 1e-6, "random_state": NO_NOISE}
OURS = "income ~ age + hours + region + age:hours"

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")


def people(rows=4000, seed=1):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(18, 90, rows),
            "hours": rng.uniform(0, 60, rows),
            "region": rng.choice(["north", "south", "west"], rows),
        }
    )
    line = 20 + 0.5 * frame.age + 0.3 * frame.hours + 8 * (frame.region == "south") + 0.004 * frame.age * frame.hours
    return frame.assign(income=line + rng.normal(0, 5, rows))


def exact(text, frame, domain=PUBLIC):
    """A model of a release with next to no noise."""
    model = formula(text, domain)
    moments = Moments.from_source(frame, model.domain)
    return release(moments, targets=[model.target], rows=len(frame), **EXACT).fit(text, model="ols")


@pytest.fixture(scope="module")
def both():
    """The same model by us, with next to no noise, and by statsmodels."""
    frame = people()
    return exact(OURS, frame), smf.ols(OURS, frame).fit()


@pytest.fixture(scope="module")
def noisy():
    """Coefficients that are released themselves, with no word on how far they are off."""
    frame = people()
    model = DPLogisticRegression(epsilon=1, delta=1e-6, bounds_X=(18, 90), classes=[0, 1], random_state=0, stages=1)
    return model.fit(frame[["age"]], (frame.region == "south").astype(int)).results_


def close(found, expected, **how):
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(expected, float), **{"rtol": 1e-3, **how})


def by_place(theirs):
    """The order of ours: the intercept first, then the terms as they stand."""
    order = ["Intercept", "age", "hours", "region[T.south]", "region[T.west]", "age:hours"]
    return theirs.loc[order] if isinstance(theirs, pd.Series | pd.DataFrame) else theirs


def test_numbers_are_series_and_frames(both):
    ours, theirs = both
    names = ["(intercept)", "age", "hours", "region[south]", "region[west]", "age:hours"]
    for found, expected in (
        (ours.params, theirs.params),
        (ours.bse, theirs.bse),
        (ours.std_err, theirs.bse),
        (ours.tvalues, theirs.tvalues),
    ):
        assert isinstance(found, pd.Series)
        assert list(found.index) == names
        close(found, by_place(expected), atol=1e-4)
    close(ours.pvalues, by_place(theirs.pvalues), atol=1e-3)
    assert isinstance(ours.conf_int(), pd.DataFrame)
    assert list(ours.conf_int().columns) == list(theirs.conf_int().columns) == [0, 1]
    close(ours.conf_int(0.9), by_place(theirs.conf_int(0.1)), atol=1e-3)
    assert list(ours.cov_params().index) == list(ours.cov_params().columns) == names
    close(np.sqrt(np.diag(ours.cov_params())), ours.bse)
    order = list(by_place(theirs.params).index)
    close(ours.cov_params(), theirs.cov_params().loc[order, order], atol=1e-5)
    assert ours.rsquared == pytest.approx(theirs.rsquared, rel=1e-3)
    assert ours.df_resid == pytest.approx(theirs.df_resid, rel=1e-3)
    assert ours.nobs == pytest.approx(theirs.nobs, rel=1e-3)
    assert ours.residual_sd == pytest.approx(theirs.scale**0.5, rel=1e-3)
    assert dict(ours.params.items()) == ours.coefficients


def test_contrasts(both):
    ours, theirs = both
    found = ours.t_test("age - hours = 0, region[south] = 8, 2*Intercept")
    expected = theirs.t_test("age - hours = 0, region[T.south] = 8, 2*Intercept")
    assert list(found.effect.index) == ["age - hours = 0", "region[south] = 8", "2*Intercept"]
    close(found.effect, expected.effect)
    close(found.sd, expected.sd)
    close(found.tvalue, expected.tvalue, atol=0.01)
    close(found.pvalue, expected.pvalue, atol=2e-3)
    close(found.conf_int(0.9), expected.conf_int(0.1), atol=1e-2)
    one = ours.t_test([0, 1, -1, 0, 0, 0])
    close(one.effect, expected.effect[:1])
    assert list(one.effect.index) == ["age - hours"]
    assert "age - hours" in str(one)
    assert list(one.to_frame().columns) == ["effect", "sd", "privacy_noise", "tvalue", "pvalue", "low", "high", "unit"]
    each = ours.t_test(np.eye(6))
    close(each.conf_int(), ours.conf_int(), rtol=1e-9)
    close(each.pvalue, ours.pvalues, rtol=1e-9, atol=1e-12)


def test_a_variable_is_tested_with_all_that_it_stands_in(both):
    ours, theirs = both
    by_name = "region[T.south] = 0, region[T.west] = 0"
    for said in ("region", ["region[south]", "region[west]"], "region[south] = 0, region[west] = 0"):
        found, expected = ours.wald_test(said), theirs.f_test(by_name)
        assert found == ours.f_test(said)
        close(found.statistic, expected.fvalue)
        assert found.df[0] == 2
    close(ours.wald_test("age").statistic, theirs.f_test("age = 0, age:hours = 0").fvalue)
    assert ours.wald_test("age").df[0] == 2
    assert ours.wald_test(["age"]).df[0] == 1
    values = "region[south] = 8, hours = 0.3"
    close(ours.wald_test(values).statistic, theirs.f_test("region[T.south] = 8, hours = 0.3").fvalue, rtol=0.02)


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ("agee = 0", "Did you mean 'age'"),
        ("age * hours", "numbers, only"),
        ("3 = 3", "says nothing"),
        ("age = 0 0", "Expected"),
        ([1, 2], "6 weights"),
        ([[np.nan] * 6], "6 weights"),
        (None, "6 weights"),
        ({"age": 1}, "6 weights"),
        ("(" * 999 + "age", "parentheses"),
    ],
)
def test_statements_that_cannot_be_read(both, said, match):
    with pytest.raises(ParameterError, match=match):
        both[0].t_test(said)


def test_contrasts_of_odd_names():
    domain = Domain({"2": (0, 1), "a b": (0, 1), "-c": (0, 1), "y": (0, 1)})
    X = np.random.default_rng(0).uniform(size=(3000, 3))
    frame = pd.DataFrame({"2": X[:, 0], "a b": X[:, 1], "-c": X[:, 2], "y": X.mean(axis=1)})
    found = exact("y ~ .", frame, domain).t_test("`2` - a b = 0, 3*`-c` = 2, `a b` + 2 = 3")
    np.testing.assert_allclose(found.effect, [0, 1, 1 / 3], atol=0.01)
    assert found.values == (0, 2, 1)


def test_what_is_not_known_is_said_and_never_made_up(noisy):
    for gone in (noisy.bse, noisy.pvalues, noisy.tvalues, noisy.conf_int(), noisy.cov_params(), noisy.rsquared):
        assert isinstance(gone, Unavailable)
    assert isinstance(noisy.t_test("age"), Unavailable)
    assert isinstance(noisy.wald_test("age"), Unavailable)
    assert isinstance(noisy.params, pd.Series)
    with pytest.raises(AttributeError, match="released without standard errors"):
        _ = noisy.conf_int().loc["age"]


def test_without_squares_contrasts_have_privacy_noise_alone():
    fitted = SSP(**EXACT, domain=PUBLIC).fit_formula("income ~ age + hours", people()).results_
    found = fitted.t_test("age - hours")
    assert found.sd.isna().all()
    assert found.conf_int().isna().to_numpy().all()
    assert found.privacy_noise.item() > 0
    assert found.reason.reason in " ".join(str(found).split())


def test_json_has_p_values_r_squared_and_units(both, tmp_path):
    ours, _ = both
    facts = json.loads(ours.to_json())
    assert facts["pvalues"] == ours.pvalues.to_dict()
    assert facts["rsquared"] == ours.rsquared
    assert list(facts["units"]) == list(ours.coefficients)


def test_criteria_and_nested_models():
    frame = people()
    released = exact(OURS, frame), exact("income ~ age + hours", frame)
    theirs = smf.ols(OURS, frame).fit(), smf.ols("income ~ age + hours", frame).fit()
    for ours, expected in zip(released, theirs, strict=True):
        close(ours.aic, expected.aic, rtol=1e-5)
        close(ours.bic, expected.bic, rtol=1e-5)
        close(ours.rsquared_adj, expected.rsquared_adj, rtol=1e-5)
        close(ours.rmse, np.sqrt(expected.mse_resid), rtol=1e-5)
        for name in ("aic", "bic", "rsquared_adj"):
            low, high = getattr(ours, f"{name}_interval")()
            assert low < getattr(ours, name) < high
    with pytest.raises(ParameterError, match="of one release"):
        released[0].compare_f_test(released[1])


def test_a_model_within_another():
    frame = people()
    model = formula(OURS, PUBLIC)
    moments = Moments.from_source(frame, model.domain)
    public = release(moments, targets=["income"], rows=len(frame), **EXACT)
    large, small = (public.fit(text, model="ols") for text in (OURS, "income ~ age + hours"))
    theirs = smf.ols(OURS, frame).fit().compare_f_test(smf.ols("income ~ age + hours", frame).fit())
    found = large.compare_f_test(small)
    close(found.statistic, theirs[0], rtol=1e-3)
    assert found.df[0] == theirs[2]
    assert found == large.wald_test(["region[south]", "region[west]", "age:hours"])
    with pytest.raises(ParameterError, match="not within this one"):
        small.compare_f_test(large)
    with pytest.raises(ParameterError, match="same coefficients"):
        small.compare_f_test(small)
