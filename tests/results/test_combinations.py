"""Nonlinear combinations of coefficients: values and gradients, Fieller's interval, ranges, reasons."""

import math
from functools import cache

import numpy as np
import pytest
from fitted import case
from scipy import stats

from discreet import Domain, DPLinearRegression, DPLogisticRegression
from discreet.core.placeholders import Unavailable
from discreet.errors import ParameterError
from discreet.results.combinations import Combination
from discreet.results.expressions import expressions

NAMES = ["(intercept)", "age", "age^2", "sex[male]"]
PLACE = np.array([2.0, 4.0, -0.5, 0.3])


def parsed(text):
    return expressions(text, NAMES)[text]


# -------------------------------------------------------------------- values and gradients


@pytest.mark.parametrize(
    ("text", "f"),
    [
        ("age / age^2", lambda i, a, q, s: a / q),
        ("-age/(2*age^2)", lambda i, a, q, s: -a / (2 * q)),
        ("`age^2` * age", lambda i, a, q, s: q * a),
        ("age ^ 2", lambda i, a, q, s: a**2),
        ("(age)**2 + 1", lambda i, a, q, s: a**2 + 1),
        ("exp(sex[male]) - 1", lambda i, a, q, s: math.exp(s) - 1),
        ("100 * (exp(sex[male]) - 1)", lambda i, a, q, s: 100 * (math.exp(s) - 1)),
        ("log(age) / sqrt(age)", lambda i, a, q, s: math.log(a) / math.sqrt(a)),
        ("(age + 20*age^2) / (Intercept - sex[male]) - 3", lambda i, a, q, s: (a + 20 * q) / (i - s) - 3),
        ("1 - age/sex[male]/2", lambda i, a, q, s: 1 - a / s / 2),
        ("- -age - -2", lambda i, a, q, s: a + 2),
        ("2^3 * age / 4", lambda i, a, q, s: 2 * a),
        ("age / age^2 + sex[male] / age", lambda i, a, q, s: a / q + s / a),
    ],
)
def test_values_and_gradients(text, f):
    found = parsed(text)
    value, gradient = found.at(PLACE)
    assert value == pytest.approx(f(*PLACE))
    step = 1e-6
    numeric = [(f(*(PLACE + step * e)) - f(*(PLACE - step * e))) / (2 * step) for e in np.eye(4)]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-6)
    assert set(np.flatnonzero(gradient)) <= set(found.used)


@pytest.mark.parametrize("text", ["-age/(2*age^2)", "3 - 2*(age + 1)/(age^2 - 4)/5", "1/age"])
def test_ratios_of_weighted_sums_are_known_as_such(text):
    found = parsed(text)
    above, below = found.ratio
    assert (above[:-1] @ PLACE + above[-1]) / (below[:-1] @ PLACE + below[-1]) == pytest.approx(found.at(PLACE)[0])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("age / wage", "'wage' is not a coefficient"),
        ("age /", "Expected a coefficient or a number"),
        ("2 + 3", "nothing of a coefficient"),
        ("age ^ age", "A power is a number"),
        ("(age", r"Expected '\)'"),
        ("age age", "Expected"),
        ("exp(age", r"Expected '\)'"),
    ],
)
def test_what_cannot_be_read_is_pointed_at(text, words):
    with pytest.raises(ParameterError, match=words):
        parsed(text)


@pytest.mark.parametrize("said", [[], {}, 3, {"a": 3}, [3]])
def test_what_is_no_expression_is_refused(said):
    with pytest.raises(ParameterError, match="Write what is computed"):
        expressions(said, NAMES)


# -------------------------------------------------------------------- intervals


@cache
def model(epsilon=4.0, seed=1, n=20_000):
    rng = np.random.default_rng(seed)
    x, s = rng.uniform(0, 10, n), rng.random(n) < 0.5
    table = {"x": x, "s": s, "y": 2 + 3 * x - 0.25 * x**2 + 0.5 * s + rng.normal(0, 1, n)}
    import pandas as pd

    domain = Domain({"x": (0, 10), "s": bool, "y": (-10, 20)})
    fitted = DPLinearRegression(epsilon=epsilon, delta=1e-6, domain=domain, random_state=seed)
    return fitted.fit_formula("y ~ x + x^2 + s", pd.DataFrame(table)).results_


def test_a_weighted_sum_has_the_interval_of_its_test():
    fitted = model()
    found, known = fitted.combinations("x - 2*s[True] + 0*x^2"), fitted.t_test("x - 2*s[True]")
    assert found.effect.iloc[0] == pytest.approx(known.effect.iloc[0])
    assert found.sd.iloc[0] == pytest.approx(known.sd.iloc[0])
    assert found.privacy_noise.iloc[0] == pytest.approx(known.privacy_noise.iloc[0])
    width = np.diff(known.conf_int().to_numpy()[0])[0]
    np.testing.assert_allclose(found.conf_int().to_numpy(), known.conf_int().to_numpy(), atol=0.05 * width)


def test_the_ends_of_a_ratio_are_the_values_that_tests_just_reject():
    fitted = model()
    low, high = fitted.combinations("-x / (2*x^2)").conf_int(0.9).iloc[0]
    for end in (low, high):
        assert fitted.t_test(f"x + {2 * end}*x^2 = 0").pvalue.iloc[0] == pytest.approx(0.1, rel=1e-3)
    assert low < 6 < high


def test_a_ratio_is_fiellers_interval_without_noise_in_the_moments():
    """The closed form, from the covariance, where the law of a sum is a t law."""
    fitted = model(epsilon=100.0)
    low, high = fitted.combinations("x / x^2").conf_int().iloc[0]
    b, C = fitted.params, fitted.cov_params()
    t = stats.t.ppf(0.975, fitted.inference.df)
    above, below, v_aa, v_ab, v_bb = b["x"], b["x^2"], C.loc["x", "x"], C.loc["x", "x^2"], C.loc["x^2", "x^2"]
    ends = np.roots([below**2 - t**2 * v_bb, -2 * (above * below - t**2 * v_ab), above**2 - t**2 * v_aa])
    np.testing.assert_allclose(sorted(ends), [low, high], rtol=1e-3)


def test_a_range_agrees_with_a_ratio():
    """The range of a ratio over all coefficients within t standard errors is Fieller's interval."""
    fitted = model(epsilon=100.0)
    own = fitted.combinations("-x / (2*x^2)").found[0]
    bent = Combination(own.expression, own.b, own.law)
    np.testing.assert_allclose(bent._of_range(0.95), own.interval(0.95), rtol=1e-3)


def test_an_exponential_has_the_exponential_of_the_interval():
    fitted = model()
    low, high = fitted.combinations("exp(s[True])").conf_int().iloc[0]
    ends = np.exp(fitted.conf_int().loc["s[True]"].to_numpy())
    np.testing.assert_allclose([low, high], ends, rtol=0.02)


def test_a_product_holds_its_extremes():
    found = model().combinations({"product": "x * s[True]"})
    ((low, high),) = found.conf_int().to_numpy()
    own = found.found[0]
    rng = np.random.default_rng(0)
    C, used = own.law.covariance, own.expression.used
    root = np.linalg.cholesky(C[np.ix_(used, used)])
    z = rng.normal(size=(20_000, 2))
    z *= float(own.law.quantile(0.95)) / np.linalg.norm(z, axis=1, keepdims=True)
    products = np.prod(own.b[used] + z @ root.T, axis=1)
    assert low <= products.min() <= low + 0.01 * (high - low)
    assert high >= products.max() >= high - 0.01 * (high - low)


def test_a_denominator_that_may_be_zero_leaves_no_interval():
    found = model().combinations({"ratio": "x / (s[True] - 0.5)"})
    assert found.conf_int().isna().all(axis=None)
    assert "cannot be told from zero" in found.reasons()[0]
    assert "cannot be told from zero" in str(found)


def test_a_logarithm_of_what_may_be_negative_leaves_no_interval():
    found = model().combinations("log(s[True] - 0.49)")
    assert found.conf_int().isna().all(axis=None)
    assert "no numbers" in str(found)


def test_a_model_without_intervals_says_why():
    found = case("claimed")[0].combinations("age / hours")
    assert found.sd.isna().all()
    assert "Sampling error needs" in str(found)


def test_withheld_coefficients_withhold_combinations():
    fitted = case("noisy")[0]
    names = list(fitted.coefficients)[1:]
    found = fitted.combinations(f"`{names[0]}` / `{names[1]}`")
    if isinstance(found, Unavailable):
        return
    held = fitted.std_err[names[:2]].isna().any()
    assert found.sd.isna().iloc[0] == held


def test_classes_have_combinations():
    import pandas as pd

    rng = np.random.default_rng(0)
    x, z = rng.random((2, 5000))
    table = pd.DataFrame({"x": x, "z": z, "y": rng.random(5000) < 1 / (1 + np.exp(-2 * x + 4 * z))})
    domain = Domain({"x": (0, 1), "z": (0, 1), "y": bool})
    fitted = DPLogisticRegression(epsilon=4, delta=1e-6, domain=domain, random_state=1).fit_source(table, "y").results_
    ((low, high),) = fitted.combinations("x / z").conf_int().to_numpy()
    assert low < fitted.params["x"] / fitted.params["z"] < high


def test_the_summary_names_what_it_shows():
    found = model().combinations({"turning point": "-x / (2*x^2)", "premium, %": "100*(exp(s[True]) - 1)"})
    assert list(found.to_frame().index) == ["turning point", "premium, %"]
    assert list(found.to_frame().columns) == ["effect", "sd", "privacy_noise", "low", "high"]
    assert "turning point" in str(found)
