"""Formulas: the grammar, errors that point at the place, and models that are the same however they are asked for."""

import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_table import DOMAIN, people
from typer.testing import CliRunner

from discreet import SSP, Domain, DPLinearRegression, Moments, formula, release
from discreet.cli import app
from discreet.domain import limits
from discreet.domain.models import of_models
from discreet.errors import DataError, DiscreetError, DomainError, NotReleasedError, ParameterError
from discreet.gate.entropy import NO_NOISE

LEVELS = Domain({"a": (0, 1), "b": (0, 1), "c": ["u", "v"], "e": bool, "my col": (0, 1), "x.1": (0, 1), "y": (0, 1)})

SAME = {
    "y ~ a": ["a"],
    "y~a+b": ["a", "b"],
    "y ~ + a": ["a"],
    "y ~ a + a": ["a"],
    "y ~ a:b + b:a": ["a:b"],
    "y ~ a*b": ["a", "b", "a:b"],
    "y ~ b*a": ["b", "a", "b:a"],
    "y ~ a*b*c": ["a", "b", "c", "a:b", "a:c", "b:c", "a:b:c"],
    "y ~ a*b - a:b": ["a", "b"],
    "y ~ a*b - b:a - a": ["b"],
    "y ~ a:c*b": ["a:c", "b", "a:c:b"],
    "y ~ C(c) + C(c):a": ["c", "c:a"],
    "y ~ a^2 + a**3 + I(b**2)": ["a^2", "a^3", "b^2"],
    "y ~ a^1 + I(b)": ["a", "b"],
    "y ~ I(a*b) + I(a^2*b)": ["a:b", "a^2:b"],
    "y ~ a^2:c": ["a^2:c"],
    "y ~ (a + b)**2": ["a", "b", "a:b"],
    "y ~ (a + b + c)^2 - a:b": ["a", "b", "c", "a:c", "b:c"],
    "y ~ (a + b):c": ["a:c", "b:c"],
    "y ~ (a + b)*c - (a + b)": ["c", "a:c", "b:c"],
    "y ~ (a + a:b)^3": ["a", "a:b"],
    "y ~ log1p(a) + np.log1p(a)": ["log1p(a)"],
    "y ~ log1p( a ):c + I(log1p(a)**2)": ["log1p(a):c", "log1p(a)^2"],
    "y ~ I((a - 41)**2)": ["I((a - 41)^2)"],
    "y ~ I(a - b) + I(a + b)^2": ["I(a - b)", "I(a + b)^2"],
    "y ~ I(a*a) + I(2*a) + I(-a)": ["a^2", "I(2 * a)", "I(0 - a)"],
    "y ~ center(a) + center(b, 0.25) + scale(a)": ["center(a)", "center(b, 0.25)", "scale(a)"],
    "y ~ poly(a, 2)": ["poly(a, 2)[1]", "poly(a, 2)[2]"],
    "y ~ poly(a, 2):b - poly(a, 2)[2]:b": ["poly(a, 2)[1]:b"],
    "y ~ bs(a, knots=[0.5], degree=1)": ["bs(a, knots=[0.5], degree=1)[1]", "bs(a, knots=[0.5], degree=1)[2]"],
    "y ~ bs(a, df=3, degree=3)": [f"bs(a, df=3)[{i}]" for i in (1, 2, 3)],
    "y ~ cr(a, (0.5,))": ["cr(a, knots=[0.5])[1]", "cr(a, knots=[0.5])[2]"],
    'y ~ C(c, Treatment("v"))': ["c"],
    "y ~ C(c, Treatment(reference='v')):a": ["c:a"],
    "y ~ log1p(`my col`)": ["log1p(`my col`)"],
    "y ~ `my col` + x.1": ["my col", "x.1"],
    "y ~ `my col`^2:a": ["my col^2:a"],
    "y ~ . - e": ["a", "b", "c", "my col", "x.1"],
    "y ~ . + a:b": ["a", "b", "c", "e", "my col", "x.1", "a:b"],
    "y ~ 1": [],
    "y ~ 1 + a": ["a"],
    "y ~ a - 1 + 1": ["a"],
    " ~ a": ["a"],
    "c[v] ~ a": ["a"],
    "e ~ a": ["a"],
    "`my col` ~ a": ["a"],
}


@pytest.mark.parametrize(("text", "features"), SAME.items())
def test_grammar(text, features):
    model = formula(text, LEVELS)
    assert model.features == features
    assert model.domain.intercept
    left = text.partition("~")[0].strip().strip("`")
    assert model.target == (left or None)
    assert list(model.domain.columns) == features + ([left.partition("[")[0]] if left else [])


@pytest.mark.parametrize("text", ["y ~ a - 1", "y ~ a + 0", "y ~ 0 + a", "y ~ -1 + a + a:c"])
def test_no_intercept(text):
    assert not formula(text, LEVELS).domain.intercept
    assert not formula("y ~ a", Domain.from_dict(LEVELS.to_dict() | {"intercept": False})).domain.intercept


def test_a_derived_column_is_found_again():
    once = formula("y ~ a:b + a^2:c", LEVELS)
    again = formula("y ~ c:a^2 + I(b*a)", once.domain)
    assert again.features == ["a^2:c", "a:b"]
    assert again.domain.columns["a:b"] == once.domain.columns["a:b"]
    with pytest.raises(NotReleasedError, match="'a' is not there by itself"):
        formula("y ~ a", once.domain)


def test_the_ball_keeps_its_columns():
    ball = Domain(
        {"a": (-np.inf, np.inf), "b": (0, np.inf), "c": ["u", "v"], "y": (0, 1)}, data_norm=3, norm_columns=["a", "b"]
    )
    model = formula("y ~ a + a:b + a:c", ball)
    assert (model.domain.data_norm, model.domain.norm_columns) == (3, ("a",))
    assert (model.domain.columns["a:b"].low, model.domain.columns["a:b"].high) == (-9, 9)
    assert formula("y ~ c", ball).domain.data_norm is None


# ---------------------------------------------------------------- errors that point at the place

BAD = {
    "y": ("has a '~'", 1),
    "z ~ a": ("'z' is not declared", 0),
    "log(y) ~ a": ("between 0 and 1 by the declared bounds; there is no finite logarithm", 0),
    "log(y + 1) b ~ a": ("Expected '~', not 'b'", 11),
    "poly(y, 2) ~ a": ("The outcome is one number", 0),
    "c:a ~ b": ("The outcome is one number", 0),
    "log1p(y) ~ a + y": ("cannot explain itself", 15),
    "y ~": ("Expected a column, not 'the end'", 3),
    "y ~ a +": ("Expected a column, not 'the end'", 7),
    "y ~ a b": ("Expected '\\+'", 6),
    "y ~ z": ("'z' is not declared", 4),
    "y ~ a + `z z`": ("'z z' is not declared", 8),
    "y ~ a:a": ("'a' stands twice", 4),
    "y ~ a*a": ("'a' stands twice", 4),
    "y ~ b + a:c:a": ("'a' stands twice", 8),
    "y ~ log(a)": ("Declare a lower bound above 0", 4),
    "y ~ b + sqrt(a - 0.5)": ("a - 0.5 lies between -0.5 and 0.5", 8),
    "y ~ I(b / a)": ("a may be 0 by the declared bounds", 6),
    "y ~ exp(1000*a)": ("too large for floating point", 4),
    "y ~ centre(a)": ("no function 'centre'. Did you mean 'center'", 4),
    "y ~ sin(a)": ("no function 'sin'", 4),
    "y ~ log1p(c)": ("'c' is a category", 10),
    "y ~ log1p(2)": ("needs a column", 4),
    "y ~ I(2)": ("needs a column", 6),
    "y ~ I(poly(a, 2))": ("stands for several columns", 6),
    "y ~ poly(a)": ("Options: degree", 4),
    "y ~ poly(a, 2.5)": ("degree must be a whole number", 4),
    "y ~ poly(a, 2)[3]": ("has 2 columns here, so there is no \\[3\\]", 4),
    "y ~ log1p(a)[1]": ("has 1 column here", 4),
    "y ~ bs(a)": ("needs knots", 4),
    "y ~ bs(a, knots=[2])": ("lie inside the bounds", 4),
    "y ~ bs(a, knots=[0.5, 0.2])": ("ascending", 4),
    "y ~ bs(a, knots=[0.5], df=4)": ("give one of them", 4),
    "y ~ bs(a, df=2)": ("df must be at least 3", 4),
    "y ~ bs(a, foo=2)": ("Options: knots, degree, df", 4),
    "y ~ bs(a, df=4, df=5)": ("given twice", 16),
    "y ~ bs(a, df=4, [1])": ("stand last", 16),
    "y ~ bs(a, knots=b)": ("Expected a number", 16),
    "y ~ C(c, Sum)": ("compared with one of its levels", 9),
    'y ~ C(c, Treatment("w"))': ("'w' is not one of the levels: u, v", 19),
    'y ~ C(c, Treatment("v")) + C(c, Treatment("u")):a': ("two different levels", 32),
    "y ~ (a + 1)": ("outside of parentheses", 9),
    "y ~ (a + b": ("Expected '\\)'", 10),
    "y ~ (.)^9 + " + "(" * 60: ("nested too deeply", 52),
    "y ~ C(a)": ("'a' is declared as a number", 6),
    "y ~ C(c": ("Expected '\\)'", 7),
    "y ~ c^2": ("'c' is a category", 4),
    "y ~ a^0": ("whole number from 1 to 9", 6),
    "y ~ a^10": ("whole number from 1 to 9", 6),
    "y ~ a^" + "9" * 5000: ("whole number from 1 to 9", 6),
    "y ~ a^b": ("whole number from 1 to 9", 6),
    "y ~ a^-1": ("whole number from 1 to 9", 6),
    "y ~ a + 2": ("1 or 0 for the intercept", 8),
    "y ~ a - 0": ("1 or 0 for the intercept", 8),
    "y ~ a + y": ("cannot explain itself", 8),
    "y ~ a + y:b": ("cannot explain itself", 8),
    "y ~ a - b": ("not in the model", 8),
    "y ~ a + b/2": ("stands inside I", 9),
    "y ~ a + `b": ("cannot hold this character", 8),
    "y ~ a ~ b": ("Expected '\\+'", 6),
    "y ~ a | b": ("Only persons can be absorbed", 8),
    "y ~ a & b": ("cannot hold this character", 6),
    "y ~ a:": ("Expected a column", 6),
    "y ~ 1.5": ("1 or 0 for the intercept", 4),
    "y ~ ag": ("'ag' is not declared", 4),
}


@pytest.mark.parametrize(
    ("text", "message", "place"), [(t, *rest) for t, rest in BAD.items()], ids=[text[:20] for text in BAD]
)
def test_errors_point_at_the_place(text, message, place):
    with pytest.raises(ParameterError, match=message) as caught:
        formula(text, LEVELS)
    *_, shown, mark = str(caught.value).splitlines()
    assert shown == f"  {text}"
    assert mark == "  " + " " * place + "^"
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    ("text", "domain"), [("y ~ 0", LEVELS), ("~ 1", LEVELS), (5, LEVELS), ("y ~ a", {"a": (0, 1)})]
)
def test_other_errors(text, domain):
    with pytest.raises(ParameterError):
        formula(text, domain)


def test_a_product_with_the_name_of_a_column():
    with pytest.raises(ParameterError, match="has the name of a declared column"):
        formula("y ~ a:b", Domain({"a": (0, 1), "b": (0, 1), "a:b": (0, 1), "y": (0, 1)}))


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("y~ab ce+-:*^().01`CI2/[],='logbs") | st.characters(codec="utf-8"), max_size=20))
def test_any_text_is_a_formula_or_a_clear_error(text):
    try:
        model = formula("y ~" + text, LEVELS)
    except DiscreetError:
        return
    assert set(model.domain.inputs) <= set(LEVELS.columns)


# ---------------------------------------------------------------- fits

FORMULA = "income ~ age*hours + C(region) + age:region + I(age**2)"
TRUTH = {"age": 300, "hours": 200, "age:hours": 5, "region[south]": 4000, "region[west]": -1000}
TRUTH |= {"age:region[south]": 50, "age:region[west]": 0, "age^2": 2}


@pytest.fixture(scope="module")
def table():
    frame = people(2_000)
    south, west = frame["region"] == "south", frame["region"] == "west"
    values = {"age": frame["age"], "hours": frame["hours"], "age:hours": frame["age"] * frame["hours"]}
    values |= {"region[south]": south, "region[west]": west, "age^2": frame["age"] ** 2}
    values |= {"age:region[south]": frame["age"] * south, "age:region[west]": frame["age"] * west}
    frame["income"] = 10_000 + sum(TRUTH[name] * values[name] for name in TRUTH)
    return frame


def test_coefficients_are_those_of_the_products_in_user_units(table):
    model = SSP(epsilon=1, delta=1e-6, domain=DOMAIN, random_state=NO_NOISE).fit_formula(FORMULA, table)
    params = model.results_.coefficients
    assert set(params) == {"(intercept)", *TRUTH}
    assert params["(intercept)"] == pytest.approx(10_000, rel=1e-3)
    for name, value in TRUTH.items():
        assert params[name] == pytest.approx(value, rel=1e-3, abs=0.5), name
    predicted = model.predict(table)
    assert np.abs(predicted - table["income"]).max() < 5
    assert np.array_equal(model.predict(table[["hours", "region", "age"]]), predicted)
    assert model.feature_names_in_.tolist() == ["age", "hours", "region"]
    assert all(f.ok for f in model.certificate_.check() if "status" not in f.what)


def test_derived_columns_follow_their_clipped_inputs_when_predicting(table):
    model = SSP(epsilon=1, delta=1e-6, domain=DOMAIN, random_state=NO_NOISE).fit_formula("income ~ age^2", table)
    X = pd.DataFrame({"age": [90.0, 180.0]})
    assert np.diff(model.predict(X)) == 0
    assert np.diff(model.predict(X, clip=False))[0] == pytest.approx(model.coef_[0] * (180**2 - 90**2))
    with pytest.raises(DataError):
        model.predict(pd.DataFrame({"age": [np.nan]}))
    with pytest.raises(DataError):
        model.predict(np.array([[1.0]]))


@pytest.mark.parametrize("text", ["income ~ age + region", "income ~ age:region + hours - 1", "income ~ 1"])
def test_the_same_model_by_every_way(text, table):
    options = {"epsilon": 1, "delta": 1e-6, "random_state": 0}
    direct = DPLinearRegression(domain=DOMAIN, **options).fit_formula(text, table)
    model = formula(text, DOMAIN)
    by_source = DPLinearRegression(domain=model.domain, fit_intercept=model.domain.intercept, **options)
    by_source.fit_source(table, model.target, model.features)
    assert np.array_equal(direct.coef_, by_source.coef_)
    assert direct.certificate_ == by_source.certificate_
    assert len(direct.predict(table)) == len(table)
    if model.features:
        by_source.set_params(random_state=NO_NOISE)
        one = by_source.fit_source(table, "income").results_.coefficients
        X = table[list(model.domain.inputs)].drop(columns="income")
        other = by_source.fit(X, table["income"]).results_.coefficients  # own columns first, then derived ones
        assert {name: pytest.approx(value, rel=1e-6) for name, value in one.items()} == other


def test_fit_formula_needs_an_outcome_a_domain_and_names(table):
    model = SSP(epsilon=1, delta=1e-6, domain=DOMAIN)
    with pytest.raises(ParameterError, match="name the outcome"):
        model.fit_formula("~ age", table)
    with pytest.raises(DataError, match="names of columns"):
        model.fit_formula("income ~ age", np.zeros((5, 4)))
    with pytest.raises(DomainError, match="fit_formula needs domain="):
        SSP(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 1)).fit_formula("income ~ age", table)


def test_formulas_on_a_release(table):
    domain = formula("~ . + age:hours + age:region", DOMAIN).domain
    public = release(Moments.from_source(table, domain), epsilon=1, delta=1e-6)
    by_name = public.fit("income", ["age", "region", "age:hours"])
    assert public.fit("income ~ age + C(region) + hours:age").coefficients == by_name.coefficients
    assert public.fit("income ~ age:region").names == ("age:region[north]", "age:region[south]", "age:region[west]")
    assert "income" not in public.fit("income ~ .").names
    with pytest.raises(NotReleasedError, match=r"'age\^2' was not released"):
        public.fit("income ~ age^2")
    with pytest.raises(ParameterError, match="either a formula or features"):
        public.fit("income ~ age", ["age"])
    with pytest.raises(ParameterError, match="made with an intercept"):
        public.fit("income ~ age - 1")
    with pytest.raises(ParameterError, match="name the outcome"):
        public.fit("~ age")


# ---------------------------------------------------------------- the command line

SCHEMA = """[columns]
age = { low = 18, high = 90 }
region = { levels = ["north", "south", "west"] }
hours = { low = 0, high = 80 }
income = { low = 0, high = 200000 }
"""


@pytest.fixture
def run(tmp_path, table, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.toml").write_text(SCHEMA)
    (tmp_path / "folder").mkdir()
    table.to_csv("people.csv", index=False)
    table.to_csv("people.csv.gz", index=False)
    table[:900].to_csv("folder/a.csv", index=False)
    table[900:].to_csv("folder/b.csv.gz", index=False)

    def runner(*arguments):
        result = CliRunner().invoke(app, list(arguments))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.output

    return runner


PROMISE = ["--schema", "people.toml", "--epsilon", "1", "--delta", "1e-6"]


@pytest.mark.parametrize("data", ["people.csv", "people.csv.gz", "folder"])
def test_the_command_line_takes_formulas_csv_and_folders(run, data):
    run("schema", "check", "people.toml", data)
    text = "income ~ age + C(region) + age:hours"
    found = json.loads(run("fit", data, *PROMISE, "--formula", text, "--json"))
    names = ["(intercept)", "age", "region[south]", "region[west]", "age:hours"]
    assert list(found["params"]) == names
    stem = data.partition(".")[0]
    assert found["release"] == f"{stem}.income.release.json"
    assert list(json.loads(run("model", found["release"], "--formula", text, "--json"))["params"]) == names
    run("check", found["release"])
    run("release", data, *PROMISE, "--formula", "~ . + age^2", "-o", "all.json")
    assert "age^2" in run("model", "all.json", "--formula", "income ~ age + I(age**2)")
    assert "age^2" in run("model", "all.json", "--target", "income")


def test_the_command_line_wants_one_question(run):
    for arguments in ([], ["--formula", "~ age"]):
        with pytest.raises(ParameterError, match="Name the outcome"):
            run("fit", "people.csv", *PROMISE, *arguments)
    with pytest.raises(ParameterError, match="either --formula"):
        run("fit", "people.csv", *PROMISE, "--formula", "income ~ age", "--target", "income")
    with pytest.raises(ParameterError, match="either --formula"):
        run("release", "people.csv", *PROMISE, "--formula", "income ~ age", "--features", "age")


def test_a_form_for_csv_is_made_from_the_first_line(run, tmp_path):
    (tmp_path / "odd.csv").write_bytes(b"age,my col,region\n918273,SECRETLEVEL\xff\n")
    said = run("schema", "init", "odd.csv")
    form = (tmp_path / "odd.toml").read_text()
    assert "918273" not in form + said
    assert "SECRETLEVEL" not in form + said
    with pytest.raises(DomainError, match="'age' still says FILL IN"):
        run("schema", "check", "odd.toml", "odd.csv")
    lines = form.split("[columns]\n")[1].splitlines()
    assert [line.partition(" = ")[0] for line in lines] == ["age", '"my col"', "region"]
    filled = ["age = { low = 0, high = 99 }", '"my col" = { levels = ["", "x"] }', 'region = { type = "bool" }']
    (tmp_path / "odd.toml").write_text("[columns]\n" + "\n".join(filled))
    run("schema", "check", "odd.toml", "odd.csv")


def test_the_documentation_has_the_limits():
    page = (Path(__file__).parents[2] / "docs" / "howto" / "formulas.md").read_text(encoding="utf-8")
    for name in ("LONGEST", "DEEPEST", "MAX_POWER", "MOST_OPERATIONS", "MOST_TERMS", "MOST_PRODUCTS",
                 "MOST_COORDINATES", "MOST_WORK", "MOST_TOGETHER"):  # fmt: skip
        assert f"| {getattr(limits, name):,} | `{name}` |" in page


SLOW = "I({a}/({a} + b + 1.5)^9) + I(b/({a} + b + 2.5)^9) + I({a}*b/({a} + b + 3.5)^9)"


def test_several_formulas_and_the_columns_of_a_file_have_one_limit_together():
    """Twenty formulas of one request took twenty times as long as one, and so did the columns of a schema."""
    numbers = {"a": (1, 2), "b": (1, 2), "y": (0, 1)}
    started = time.perf_counter()
    with pytest.raises(DiscreetError, match="300,000 steps"):
        of_models(Domain(numbers), [f"y ~ {SLOW.format(a='a')} + I(a + {i})" for i in range(60)])
    text = "a/(a + b + {i}.5)^9"
    product = {"columns": {name: {"low": 1, "high": 2} for name in "ab"}}
    derived = {f"c{i}": {"product": [{"expression": text.format(i=i)} | product]} for i in range(400)}
    with pytest.raises(DiscreetError, match="300,000 steps"):
        Domain.from_dict({"columns": {"y": {"low": 0, "high": 1}} | derived})
    assert time.perf_counter() - started < 60
