"""Functions in formulas: ranges against brute force, values that a row alone decides, files that keep them."""

import json
import math
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_table import DOMAIN, people
from tables import unit_rows
from typer.testing import CliRunner

from discreet import SSP, Domain, DPLinearRegression, Moments, PrivateMoments, formula, plan, release
from discreet.cli import app
from discreet.domain import elementary
from discreet.domain.encoding import Encoder
from discreet.domain.grammar import expression
from discreet.domain.kinds.numeric import Numeric
from discreet.errors import DataError, DiscreetWarning, DomainError, NotReleasedError, ParameterError
from discreet.gate.entropy import NO_NOISE

BASE = Domain(
    {
        "age": {"low": 18, "high": 90, "unit": "year"},
        "x": (-3, 2),
        "wealth": {"low": 1, "high": 1e6, "unit": "EUR"},
        "born": ("1970-01-01", "1970-01-11"),
        "c": ["a", "b", "c"],
        "e": bool,
        "y": {"low": 0, "high": 10, "unit": "kg"},
    }
)
NUMBERS = {name: spec for name, spec in BASE.columns.items() if isinstance(spec, Numeric)}
TERMS = [
    "log(wealth)", "log1p(age - 18)", "sqrt(age)", "sqrt(x + 3)", "exp(x)", "exp(-age / 20)", "center(age)",
    "center(age, 41)", "scale(x)", "scale(age, 50, 10)", "I((age - 41)**2)", "I((x - 0.3)**3)", "I(age - 41)",
    "I(3 / (x + 4))", "I(wealth / age)", "I(x * (1 - x))", "I(x**3 - 2*x)", "I(age - 2*x)", "log(center(age) + 40)",
    "poly(age, 5)", "poly(log(wealth), 2)", "bs(age, knots=[30, 40, 65])", "bs(x, knots=[0], degree=1)", "bs(x, df=7)",
    "bs(age, knots=[50], degree=2)", "cr(age, knots=[30, 45, 60])", "cr(x, df=6)", "center(born)",
    "I(age > 40)", "I((x <= 0) * age)", "I((age >= 30) * (x < 1.5))", "I(age == 18)", "I(age + x != 40)",
    "I((1 < x) + (wealth > 1000))", "cut(age, [18, 30, 65, 90])", "cut(x, 4)", "cut(log(wealth), [0, 5, 20])",
]  # fmt: skip


def columns(term, domain=BASE):
    model = formula(f"y ~ {term}", domain)
    return [model.domain.columns[name] for name in model.features]


def grid(names):
    sides = [np.linspace(NUMBERS[name].low, NUMBERS[name].high, 20_001 if len(names) == 1 else 201) for name in names]
    return {name: values.ravel() for name, values in zip(names, np.meshgrid(*sides), strict=True)}


# ---------------------------------------------------------------- ranges


@pytest.mark.parametrize("term", TERMS)
def test_ranges_cover_the_values_and_are_hardly_wider(term):
    for column in columns(term):
        (factor,) = column.factors
        values = factor.expression.values(grid(list(factor.inputs)), clip=False)
        width = column.high - column.low
        assert column.low - 1e-12 * width <= values.min() <= column.low + 4e-3 * width
        assert column.high - 4e-3 * width <= values.max() <= column.high + 1e-12 * width


def test_ranges_of_single_columns_are_exact():
    def ranges(term):
        return [(column.low, column.high) for column in columns(term)]

    assert ranges("I((age - 41)**2)") == [(0, 49**2)]
    assert ranges("center(age)") == [(-36, 36)]
    assert ranges("scale(age)") == [(-1, 1)]
    assert ranges("I(0.1 * age)") == [(pytest.approx(1.8, rel=1e-15), pytest.approx(9, rel=1e-15))]
    assert ranges("sqrt(x + 3)") == [(0, math.sqrt(5))]
    assert ranges("poly(age, 2)") == [(-1, 1), (-0.5, 1)]
    assert ranges("bs(x, knots=[0], degree=1)") == [(0, 1), (0, 1)]


def test_polynomials_are_orthogonal_over_the_bounds():
    nodes, weights = np.polynomial.legendre.leggauss(20)
    P = np.column_stack([f.expression.values({"age": 54 + 36 * nodes}, clip=True) for f in factors("poly(age, 5)")])
    G = P.T @ (P * weights[:, None])
    assert np.abs(G - np.diag(np.diag(G))).max() < 1e-14
    assert np.diag(G) == pytest.approx([2 / (2 * j + 1) for j in range(1, 6)])


def factors(term):
    return [column.factors[0] for column in columns(term)]


def test_splines_are_those_of_scipy():
    from scipy.interpolate import BSpline, CubicSpline

    x = np.linspace(18, 90, 1001)
    t = [18] * 4 + [30, 40, 65] + [90] * 4
    B = BSpline.design_matrix(x, t, 3).toarray()
    ours = [f.expression.values({"age": x}, clip=True) for f in factors("bs(age, knots=[30, 40, 65])")]
    assert np.abs(np.column_stack(ours) - B[:, 1:]).max() < 1e-13
    natural = CubicSpline([18, 30, 60, 90], np.eye(4), bc_type="natural")
    ours = [f.expression.values({"age": x}, clip=True) for f in factors("cr(age, knots=[30, 60])")]
    assert np.abs(np.column_stack(ours) - natural(x)[:, 1:]).max() < 1e-13
    outside = np.array([0.0, 18.0, 90.0, 120.0])
    for f, basis in zip(factors("cr(age, knots=[30, 60])"), natural.c[:, :, 1:].T, strict=True):
        values = f.expression.values({"age": outside}, clip=False)
        assert values[0] == pytest.approx(values[1] - 18 * basis[0][2])
        assert values[3] - values[2] == pytest.approx(30 * f.expression.values({"age": np.array([91.0])}, clip=False)[0]
                                                      - 30 * values[2])  # fmt: skip


def test_evenly_spaced_knots_are_public():
    (one, *_), (other, *_) = columns("bs(age, df=5)"), columns("bs(age, knots=[42, 66])")
    x = np.linspace(18, 90, 99)
    values = [c.factors[0].expression.values({"age": x}, clip=True) for c in (one, other)]
    assert values[0] == pytest.approx(values[1])


def test_bounds_that_are_infinite_say_what_to_declare():
    domain = Domain({"wage": (0, 100), "y": (0, 1)})
    with pytest.raises(ValueError, match=r"wage lies between 0 and 100 .* Declare a lower bound above 0, .* log1p"):
        formula("y ~ log(wage)", domain)
    assert formula("y ~ log1p(wage)", domain).features == ["log1p(wage)"]
    assert formula("y ~ log(wage + 1)", domain).features == ["log(wage + 1)"]


# ---------------------------------------------------------------- values


@settings(max_examples=200, deadline=None)
@given(st.floats(5e-324, 1e308))
def test_logarithms(x):
    found = float(elementary.log(np.array([x]))[0])
    assert abs(found - math.log(x)) <= 2**-51 * abs(math.log(x))
    if x < 1e300:
        assert float(elementary.log1p(np.array([x]))[0]) == pytest.approx(math.log1p(x), rel=2**-50)


@settings(max_examples=200, deadline=None)
@given(st.floats(-700, 700))
def test_exponentials(x):
    assert float(elementary.exp(np.array([x]))[0]) == pytest.approx(math.exp(x), rel=2**-51)


def test_elementary_functions_beyond_their_domain():
    odd = np.array([-1.0, 0.0, np.inf, np.nan])
    assert np.isnan(elementary.log(odd)).all()
    found = elementary.exp(np.array([-np.inf, -900, 900, np.inf, np.nan]))
    assert np.array_equal(found, [0, 0, np.inf, np.inf, np.nan], equal_nan=True)


EVERYTHING = formula("~ y + " + " + ".join([*TERMS, "c:log(wealth)", "poly(age, 2):x", "c:bs(x, df=4)"]), BASE).domain


def test_a_row_alone_decides_its_values():
    """The same bits at every place of a batch, in both memory orders, from strided columns."""
    rng = np.random.default_rng(5)
    n = 257
    values = {name: rng.uniform(spec.low - 1, spec.high + 1, n) for name, spec in NUMBERS.items()}
    values |= {"c": rng.integers(0, 3, n), "e": rng.integers(0, 2, n)}
    encoder = Encoder(EVERYTHING)

    def encoded(rows, columnar=False, strided=False):
        A = encoder.empty(len(rows), columnar=columnar)
        own = {name: column[rows] for name, column in values.items()}
        if strided:
            own = {name: np.repeat(column, 3)[::3] for name, column in own.items()}
        for name in EVERYTHING.columns:
            encoder.write(name, own, A)
        raw = A.copy()
        encoder.finish(A)
        return raw, A

    everyone = np.arange(n)
    raw, whole = encoded(everyone)
    for rows in (everyone[::-1], everyone[3:], rng.permutation(n), *everyone[:40, None], everyone[:7]):
        for columnar in (False, True):
            for found, expected in zip(encoded(rows, columnar, strided=columnar), (raw, whole), strict=True):
                assert np.array_equal(found, expected[rows])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3), st.booleans())
def test_no_row_is_longer_than_its_bound(values, intercept):
    domain = EVERYTHING.with_intercept(intercept)
    table = dict.fromkeys(("age", "wealth", "y"), values) | {"x": values[::-1], "c": ["a", "b", "c"]}
    Z = unit_rows(domain, pa.table(table | {"born": pa.array([1, 2, 99], pa.date32()), "e": [True] * 3}))
    assert np.abs(Z).max() <= 1
    assert (Z**2).sum(axis=1).max() <= domain.norm_squared(range(len(domain.entries)))


# ---------------------------------------------------------------- names, units, files


@pytest.mark.parametrize("term", TERMS)
def test_names_are_terms_of_formulas(term):
    model = formula(f"y ~ {term}", BASE)
    again = formula("y ~ " + " + ".join(model.features), BASE)
    assert again == model


def test_domains_round_trip():
    again = Domain.from_dict(json.loads(json.dumps(EVERYTHING.to_dict())))
    assert again == EVERYTHING
    assert hash(again) == hash(EVERYTHING)
    assert pickle.loads(pickle.dumps(EVERYTHING)) == EVERYTHING
    assert again.inputs.keys() == BASE.inputs.keys() - {"e"}
    assert EVERYTHING.made_of("poly(age, 2)[1]:x") == {"poly(age, 2)[1]:x", "age", "x"}
    assert EVERYTHING.format_version == 4


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        ({"expression": "log(a)", "columns": {"a": {"low": 0, "high": 1}}}, "no finite logarithm"),
        ({"expression": "log(a) b", "columns": {"a": {"low": 1, "high": 2}}}, "Expected the end"),
        ({"expression": "log(a)", "columns": {"b": {"low": 1, "high": 2}}}, "not a declared number"),
        ({"expression": "log(a)", "columns": {key: {"low": 1, "high": 2} for key in "ab"}}, "belong together"),
        ({"expression": "log(a)", "columns": {"a": {"levels": ["u", "v"]}}}, "not a declared number"),
        ({"expression": "log(a)", "columns": {"a": {"low": 1, "high": math.inf}}}, "infinite"),
        ({"expression": 5, "columns": {}}, "is text"),
        ({"expression": "a"}, "is text"),
        ({"expression": "(" * 5000 + "a" + ")" * 5000, "columns": {"a": {"low": 1, "high": 2}}}, "nested too deeply"),
        ({"expression": "a+" * 900 + "a", "columns": {"a": {"low": 1, "high": 2}}}, "at most 100 operations"),
        ({"expression": "log(a)", "power": 10, "columns": {"a": {"low": 1, "high": 2}}}, "powers are whole numbers"),
    ],
)  # fmt: skip
def test_bad_expressions_in_files(factor, message):
    with pytest.raises(DomainError, match=message):
        Domain.from_dict({"columns": {"p": {"product": [factor]}}})


def test_units():
    model = formula(
        "y ~ center(age) + log(wealth) + I((age - 41)^2) + I(wealth/age) + c:center(age) + center(born)", BASE
    )
    rows = {"age": [20.0], "wealth": [5.0], "c": ["a"], "y": [1.0], "born": pa.array([5], pa.date32())}
    results = release(Moments.from_source(pa.table(rows), model.domain), epsilon=1, delta=1e-5).fit("y")
    found = {name: results.unit(name) for name in results.names}
    assert found["center(age)"] == found["c:center(age)[b]"] == "kg/year"
    assert found["log(wealth)"] == "kg"
    assert found["I((age - 41)^2)"] == "kg/year^2"
    assert found["I(wealth / age)"] == "kg/(EUR/year)"
    assert found["center(born)"] == "kg/day"


# ---------------------------------------------------------------- terms that say the same


@pytest.mark.parametrize(
    ("terms", "same"),
    [
        ("age + center(age)", r"center\(age\)"),
        ("poly(age, 2) + age", "age"),
        ("x + bs(x, df=5)", r"bs\(x, df=5\)\[5\]"),
        ("age^2 + I((age - 41)^2) + age", "age"),
        ("log(wealth) + log(2 * wealth)", r"log\(2 \* wealth\)"),
        ("c + c:x + c:center(x)", r"c:center\(x\)\[a\], c:center\(x\)\[b\], c:center\(x\)\[c\]"),
    ],
)
def test_terms_that_say_the_same_are_told(terms, same):
    with pytest.warns(DiscreetWarning, match=f": {same} says nothing"):
        formula(f"y ~ {terms}", BASE)


@pytest.mark.parametrize(
    "terms", ["poly(age, 9)", "bs(x, df=20) - 1", "cr(age, df=9):c", "log(wealth)*c + wealth", "exp(x) + x + x^2 + x^3"]
)
def test_terms_that_differ_are_not(terms, recwarn):
    formula(f"y ~ {terms}", BASE)
    assert not recwarn


# ---------------------------------------------------------------- models

TRUTH = "10000 + 3*age + 2000*log(hours + 1) - 2*(age - 41)^2"


@pytest.fixture(scope="module")
def table():
    frame = people(2_000)
    numbers = {"age": Numeric(18, 90), "hours": Numeric(0, 80)}
    made = expression(TRUTH, numbers)
    frame["income"] = made.values({name: frame[name].to_numpy(dtype=float) for name in numbers}, clip=False)
    frame.loc[frame["region"] == "south", "income"] += 4_000
    return frame


OPTIONS = {"epsilon": 1, "delta": 1e-6, "domain": DOMAIN}


def test_coefficients_are_in_the_units_of_the_functions(table):
    text = "income ~ age + log(hours + 1) + I((age - 41)**2) + region"
    model = SSP(**OPTIONS, random_state=NO_NOISE).fit_formula(text, table)
    assert model.results_.predicting == pytest.approx(
        {"(intercept)": 10_000, "age": 3, "log(hours + 1)": 2000, "I((age - 41)^2)": -2, "region[south]": 4000,
         "region[west]": 0}, rel=1e-3, abs=1
    )  # fmt: skip
    assert np.abs(model.predict(table) - table["income"]).max() < 10
    assert model.feature_names_in_.tolist() == ["age", "region", "hours"]
    with pytest.raises(DataError, match=r"'log\(hours \+ 1\)' has no finite value"):
        model.predict(table.assign(hours=-1.0), clip=False)
    np.testing.assert_array_equal(model.predict(table.assign(hours=-1.0)), model.predict(table.assign(hours=0.0)))


@pytest.mark.parametrize("term", ["poly(age, 2)", "bs(age, knots=[40])", "center(age) + center(age)^2"])
def test_curves_fit_a_square(term, table):
    model = SSP(**OPTIONS, random_state=NO_NOISE).fit_formula(f"income ~ {term} + log1p(hours) + region", table)
    assert np.abs(model.predict(table) - table["income"]).max() < 30


def test_a_category_without_an_intercept_has_all_levels(table):
    for text, names in {
        "income ~ region - 1": ["region[north]", "region[south]", "region[west]"],
        "income ~ 0 + age + region": ["age", "region[north]", "region[south]", "region[west]"],
    }.items():
        model = SSP(**OPTIONS, random_state=NO_NOISE).fit_formula(text, table)
        assert list(model.results_.coefficients) == names
    means = table.groupby("region")["income"].mean()
    found = SSP(**OPTIONS, random_state=NO_NOISE).fit_formula("income ~ region - 1", table).results_.coefficients
    assert found == pytest.approx({f"region[{name}]": mean for name, mean in means.items()}, rel=1e-3)
    private = DPLinearRegression(**OPTIONS, random_state=1).fit_formula("income ~ region - 1", table)
    assert private.results_.coefficients == pytest.approx(found, rel=0.2)
    assert all(finding.ok for finding in private.certificate_.check() if "status" not in finding.what)


def test_the_level_that_others_are_compared_with(table):
    model = SSP(**OPTIONS, random_state=NO_NOISE).fit_formula('income ~ age + C(region, Treatment("south"))', table)
    plain = SSP(**OPTIONS, random_state=NO_NOISE).fit_formula("income ~ age + region", table).results_.predicting
    assert list(model.results_.coefficients) == ["(intercept)", "age", "region[north]", "region[west]"]
    assert model.results_.predicting["region[north]"] == pytest.approx(-plain["region[south]"], rel=1e-3)
    assert model.release_.fit("income ~ age + region").names == model.results_.names
    again = model.release_.fit('income ~ age + C(region, Treatment("west"))')
    assert list(again.coefficients) == ["(intercept)", "age", "region[south]", "region[north]"]
    declared = model.release_.fit("income ~ age + region").coefficients
    assert again.coefficients["region[south]"] == pytest.approx(-declared["region[west]"], rel=1e-9)


@pytest.mark.parametrize(("model", "alpha"), [("lasso", 0.001), ("ridge", 0.2), ("elastic-net", 0.001)])
def test_a_penalty_draws_towards_the_level_that_is_asked_for(table, model, alpha):
    """The same, in the limit of no noise, as with that level declared first."""
    south = Domain(DOMAIN.columns | {"region": ["south", "north", "west"]})
    options = {"alpha": alpha, "model": model}
    one, other = (SSP(**OPTIONS | {"domain": own}, random_state=NO_NOISE) for own in (DOMAIN, south))
    asked = one.fit_source(table, "income", ["age", "region"]).release_
    asked = asked.fit('income ~ age + C(region, Treatment("south"))', **options)
    declared = other.fit_source(table, "income", ["age", "region"]).release_.fit("income ~ age + region", **options)
    assert asked.names == declared.names
    assert asked.predicting == pytest.approx(declared.predicting, rel=1e-4, abs=1e-2)
    plain = one.release_.fit("income ~ age + region", **options)
    assert plain.predicting["(intercept)"] != pytest.approx(declared.predicting["(intercept)"], rel=1e-4)
    np.testing.assert_allclose(asked.path().coef[:, 0], declared.path().coef[:, 0], rtol=1e-3, atol=1e-2)


def test_an_outcome_can_be_a_function(table):
    model = SSP(**OPTIONS, random_state=NO_NOISE).fit_formula("log1p(income) ~ age + region", table)
    assert model.results_.target == "log1p(income)"
    fitted = np.polynomial.Polynomial.fit(table["age"], np.log1p(table["income"]), 1).convert().coef
    assert model.results_.coefficients["age"] == pytest.approx(fitted[1], rel=0.2)
    private = DPLinearRegression(**OPTIONS, random_state=1).fit_formula("log1p(income) ~ age", table)
    assert private.release_.fit("log1p(income) ~ age").coefficients == private.results_.coefficients


def test_releases_models_and_moments_are_saved_and_checked(table, tmp_path):
    text = "income ~ log1p(hours) + bs(age, knots=[40]) + region:center(hours)"
    made = formula(text, DOMAIN)
    moments = Moments.from_source(table, made.domain)
    moments.save(tmp_path / "m")
    assert Moments.load(tmp_path / "m") == moments
    model = DPLinearRegression(**OPTIONS).fit_formula(text, table)
    assert made.domain.format_version == 4  # an older program would not know expressions
    model.release_.save(tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text())["format_version"] == 6  # the rules of the stages
    SSP(**OPTIONS).fit_formula(text, table).release_.save(tmp_path / "plain.json")
    assert json.loads((tmp_path / "plain.json").read_text())["format_version"] == 4
    again = PrivateMoments.load(tmp_path / "r.json")
    assert again == model.release_
    assert all(finding.ok for finding in again.certificate.check())
    assert again.fit(text).coefficients == model.results_.coefficients
    assert again.select(text).to_dict() == again.select("income").to_dict()
    X = table[["hours", "age", "region"]]
    assert list(again.fit(text).predict(X)) == pytest.approx(model.predict(X), rel=1e-12)
    with pytest.raises(NotReleasedError, match="was not released"):
        again.fit("income ~ sqrt(hours)")
    assert "bs(age, knots=[40])[2]" in str(model.results_.summary())


def test_results_and_frames_agree(table):
    """A row predicted alone is the row predicted among others."""
    model = DPLinearRegression(**OPTIONS, random_state=1).fit_formula("income ~ exp(age / 90) + cr(hours, df=4)", table)
    everyone = model.predict(table)
    alone = [model.predict(pd.DataFrame(table.iloc[[i]]))[0] for i in range(5)]
    assert alone == pytest.approx(everyone[:5].tolist(), rel=1e-12)


def test_plans_take_formulas(tmp_path):
    domain = Domain({"age": (18, 90), "dose": (0, 10), "ward": ["a", "b"], "stay": (0, 30)})
    options = {"rows": 5_000, "epsilon": 1, "draws": 2, "methods": ["SSP"], "tighter": False}
    found = plan(domain, "stay ~ poly(age, 2) + log1p(dose) + ward", **options)
    assert found.names == ["(intercept)", "poly(age, 2)[1]", "poly(age, 2)[2]", "log1p(dose)", "ward[b]"]
    with pytest.raises(ParameterError, match="either a formula or features"):
        plan(domain, "stay ~ age", ["age"], **options)
    with pytest.raises(ParameterError, match="name the outcome"):
        plan(domain, "~ age", **options)
    assert plan(domain, "stay ~ ward - 1", **options).names[-2:] == ["ward[a]", "ward[b]"]


def test_the_command_line(tmp_path, monkeypatch, table):
    monkeypatch.chdir(tmp_path)
    schema = {"columns": {name: spec.to_dict() for name, spec in DOMAIN.columns.items()}}
    (tmp_path / "people.json").write_text(json.dumps(schema))
    table.to_csv("people.csv", index=False)

    def run(*arguments):
        result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    text = "income ~ bs(age, knots=[40]) + log1p(hours) + region - 1"
    promise = ["--schema", "people.json", "--epsilon", "1", "--delta", "1e-6"]
    found = json.loads(run("fit", "people.csv", *promise, "--formula", text, "--json"))
    assert list(found["params"])[3:6] == ["bs(age, knots=[40])[4]", "log1p(hours)", "region[north]"]
    run("check", found["release"])
    again = json.loads(run("model", found["release"], "--formula", text, "--json"))
    assert again["params"] == found["params"]
    named = run(
        "model", found["release"], "--target", "income", "--features", "bs(age, knots=[40])[4], region", "--json"
    )
    assert len(json.loads(named)["params"]) == 4
    assert "log1p(hours)" in run("select", found["release"], "--formula", text, "--json")


# ---------------------------------------------------------------- comparisons and intervals


def values_of(term, table, domain=BASE):
    model = formula(f"y ~ {term}", domain)
    found = []
    for name in model.features:
        column = model.domain.columns[name]
        (factor,) = column.factors
        found.append(factor.expression.values({key: np.asarray(table[key]) for key in factor.inputs}, clip=True))
    return found


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">=", "==", "!="])
def test_comparisons_are_those_of_numpy(sign):
    x = np.array([-3, -0.5, 0, 0.5, 2, np.nextafter(0.5, 1)])
    (found,) = values_of(f"I(x {sign} 0.5)", {"x": x})
    expected = {"<": x < 0.5, "<=": x <= 0.5, ">": x > 0.5, ">=": x >= 0.5, "==": x == 0.5, "!=": x != 0.5}[sign]
    np.testing.assert_array_equal(found, expected.astype(float))


def test_intervals_are_those_of_pandas():
    age = np.array([18, 29.9, 30, np.nextafter(30, 99), 64, 65, 65.1, 90])
    edges = [17, 30, 65, 90]
    codes = pd.cut(age, edges).codes
    found = values_of("cut(age, [17, 30, 65, 90])", {"age": age})
    for interval, own in enumerate(found, 1):
        np.testing.assert_array_equal(own, (codes == interval).astype(float))
    (first,) = values_of("cut(age, [17, 30, 65, 90])[1]", {"age": age})
    np.testing.assert_array_equal(first, (codes == 0).astype(float))


def test_a_number_of_intervals_divides_the_bounds():
    names = formula("y ~ cut(age, 3)", BASE).features
    assert names == ["cut(age, 3)[2]", "cut(age, 3)[3]"]
    age = np.linspace(18, 90, 1001)
    second, third = values_of("cut(age, 3)", {"age": age})
    np.testing.assert_array_equal(second, ((age > 42) & (age <= 66)).astype(float))
    np.testing.assert_array_equal(third, (age > 66).astype(float))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I(age > 100)", "This is 0 everywhere within the declared bounds"),
        ("I(age > 17)", "This is 1 everywhere within the declared bounds"),
        ("I(1 < x < 3)", "Compare two at a time"),
        ("age > 3", r"A comparison stands inside I\(...\)"),
        ("I(c > 3)", "is a category, which is no number"),
        ("I(3 > 2)", "Arithmetic needs a column"),
        ("cut(age, [18, 90])", "cut needs from 2 to 30 intervals"),
        ("cut(age, [18, 65, 30, 90])", "ascending order"),
        ("cut(age, [0, 10, 90])", "must lie within the bounds"),
        ("cut(age)", "lacks some"),
        ("cut(age, [18, 40, 90])[3]", r"there is no \[3\]"),
        ("lag(age)", "'lag' looks at other rows"),
        ("I(age - mean(age))", "'mean' looks at other rows"),
        ("C(c, levels=['b', 'a'])", "Missing: c"),
        ("C(c, levels=['b', 'a', 'd'])", "'d' is not one of the levels: a, b, c"),
        ("C(c, levels=['b', 'a', 'c', 'b'])", "'b' stands twice"),
        ("C(c, levels=['b', 'a', 'c']) + C(c, Treatment('a')):x", "two orders"),
    ],
)
def test_what_cannot_be_said_is_pointed_at(text, words):
    with pytest.raises((ParameterError, DomainError), match=words):
        formula(f"y ~ {text}", BASE)


def test_levels_have_the_order_that_is_asked_for(table):
    assert formula("y ~ C(c, levels=['b', 'c', 'a'])", BASE).domain.columns["c"].levels == ("b", "c", "a")
    levels = DOMAIN.columns["region"].levels[::-1]
    public = release(table, **OPTIONS, models=["income ~ region"], random_state=0)
    found = public.fit(f"income ~ C(region, levels={list(levels)})").coefficients
    plain = public.fit("income ~ region").coefficients
    assert list(found) == ["(intercept)", *(f"region[{level}]" for level in levels[1:])]
    for level in levels[1:-1]:
        assert found[f"region[{level}]"] == pytest.approx(plain[f"region[{level}]"] - plain[f"region[{levels[0]}]"])


def test_an_outcome_can_be_a_comparison(table):
    model = SSP(**OPTIONS, random_state=NO_NOISE).fit_formula("I(income > 15000) ~ I(age <= 40)", table)
    rich, young = (table["income"] > 15000).astype(float), (table["age"] <= 40).astype(float)
    A = np.column_stack([np.ones(len(table)), young])
    expected = np.linalg.lstsq(A, rich, rcond=None)[0]
    np.testing.assert_allclose(list(model.results_.predicting.values()), expected, atol=1e-3)
