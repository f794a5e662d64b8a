"""A model was asked for by a formula of a table that declares persons and weights: 0.2.0 protected rows, unweighted.

`formula()` and `of_models()` made a new `Domain` of the columns, without person, rows_per_person, weights and
largest_weight, so `fit_formula`, `release(models=)`, `plan`, `--formula` and the whole service dropped them. Now a
`Domain` is changed by its own methods alone, which keep the unit (`with_columns`); tests/package/test_architecture.py
lists the few places that may make one, and tests/package/test_units_every_way_in.py goes through every way in.
"""

import json

import pytest
from panel import PANEL, PROMISE, SCHEMA, SHORT, check_slope, panel

from discreet import Budget, Domain, DPLinearRegression, DPLogisticRegression, formula, plan, release
from discreet.domain.models import of_models
from discreet.errors import DiscreetError, ParameterError
from discreet.gate.entropy import NO_NOISE

pytestmark = pytest.mark.filterwarnings("ignore")
TEXTS = (
    "y ~ x", "y ~ x - 1", "y ~ x + 0", "~ x", "y ~ .", "y ~ x*z + g", "y ~ x:g + x^2", "y ~ (x + z + g)^2 - x",
    'y ~ C(g, Treatment("b"))', "y ~ I(x + 2*z) + exp(x)", "y ~ bs(x, df=4) + poly(z, 2)", "exp(y) ~ x", "g ~ x",
)  # fmt: skip


@pytest.fixture(scope="module")
def frame():
    return panel()


@pytest.mark.parametrize("text", TEXTS)
def test_a_formula_keeps_the_unit_and_all_else_that_is_declared(text):
    declared = Domain.from_dict(PANEL.to_dict() | {"missing": "drop", "file": {"sep": ";"}})
    assert formula(text, declared).domain.unit == PANEL.unit
    assert of_models(declared, [text])[0].unit == PANEL.unit
    assert (formula(text, declared).domain.missing, formula(text, declared).domain.file.sep) == ("drop", ";")


def test_a_formula_keeps_a_ball_with_the_unit():
    ball = Domain({"a": (-1, 1), "b": (-1, 1), "y": (0, 9)}, data_norm=1, norm_columns=["a", "b"],
                  person="id", rows_per_person=3)  # fmt: skip
    found = formula("y ~ a + a:b", ball).domain
    assert (found.data_norm, found.norm_columns, found.unit) == (1, ("a",), ball.unit)


@pytest.mark.parametrize("text", ["y ~ x", "y ~ x - 1", "y ~ x + z + x:z", "y ~ x + C(g, Treatment('b'))"])
def test_a_fit_by_formula_is_about_weighted_persons(frame, text):
    model = DPLinearRegression(**PROMISE, domain=PANEL, random_state=NO_NOISE).fit_formula(text, frame)
    check_slope(model.coef_[0])
    assert model.certificate_.domain.unit.short == SHORT
    assert "'patient'" in model.certificate_.words()


def test_the_noise_of_a_fit_by_formula_is_that_for_persons(frame):
    """At one promise, noise is rows_per_person times that for rows."""
    given = {"domain": PANEL, "epsilon": 1, "delta": 1e-6, "random_state": 1, "stages": 1}
    by_formula = DPLinearRegression(**given).fit_formula("y ~ x", frame)
    by_names = DPLinearRegression(**given).fit_source(frame, "y", ["x"])
    noise = [[block.sd for block in model.certificate_.blocks] for model in (by_formula, by_names)]
    assert noise[0] == noise[1]


@pytest.mark.parametrize("models", ["y ~ x", ["y ~ x", "y ~ z + g"]])
def test_a_release_for_models_is_about_weighted_persons(frame, models):
    released = release(frame, domain=PANEL, models=models, **PROMISE, random_state=NO_NOISE)
    assert released.domain.unit == PANEL.unit
    check_slope(released.fit("y ~ x").coef[0])


@pytest.mark.parametrize("command", ["fit", "release"])
def test_commands_with_a_formula_are_about_weighted_persons(run, frame, tmp_path, command):
    frame.to_parquet(tmp_path / "panel.parquet")
    (tmp_path / "panel.toml").write_text(SCHEMA, encoding="utf-8")
    promise = ["--epsilon", "50", "--delta", "1e-6"]
    asked = ["--schema", "panel.toml", "--formula", "y ~ x", "--out", "out.json"]
    assert run(command, "panel.parquet", *asked, *promise).code == 0
    told = run("check", "out.json")
    assert told.code == 0
    assert "one row is one person" not in told.said
    assert "'patient'" in told.said
    assert json.loads(run("check", "out.json", "--json").out)["unit"] == SHORT
    model = json.loads(run("model", "out.json", "--formula", "y ~ x", "--json").out)
    check_slope(model["params"]["x"])


def test_a_plan_for_a_formula_prices_persons():
    found = plan(PANEL, "y ~ x", rows=1400, epsilon=[1], delta=1e-6, draws=2, methods=["SSP"], tighter=False)
    assert found.facts.domain.unit == PANEL.unit
    assert SHORT in dict(found.summary().facts)["Protected"]


def test_a_method_that_has_no_persons_refuses_a_formula_too(frame):
    yes = PANEL.to_dict() | {"columns": {"x": {"low": -1, "high": 1}, "g": {"levels": ["a", "b"]}}}
    model = DPLogisticRegression(epsilon=1, delta=1e-6, domain=Domain.from_dict(yes), stages=1)
    with Budget(epsilon=2, delta=1e-5) as budget:
        with pytest.raises(ParameterError, match="does not go with persons"):
            model.fit_formula("g ~ x", frame)
        assert budget.epsilon_spent == 0


def test_a_budget_is_charged_for_a_formula_as_for_the_names_of_its_columns(frame):
    """0.2.0 charged the one as persons, the other as rows."""
    spent = []
    for given in (("fit_source", frame, "y", ["x"]), ("fit_formula", "y ~ x", frame)):
        with Budget(epsilon=200, delta=1e-3, rows_per_person=8) as budget:
            getattr(DPLinearRegression(epsilon=1, delta=1e-6, domain=PANEL), given[0])(*given[1:])
        spent.append(budget.epsilon_spent)
    assert spent[0] == spent[1]


@pytest.mark.parametrize(
    "text",
    ["y ~ patient", "y ~ x + w", "patient ~ x", "w ~ x", "y ~ x:w", "y ~ I(x*w)", "y ~ log(w + 1)", "y ~ C(patient)",
     "y ~ `patient`", "y ~ bs(w, 3)", "log(w + 1) ~ x"],
)  # fmt: skip
def test_what_tells_whose_a_row_is_and_what_it_counts_is_no_term(text):
    with pytest.raises(DiscreetError, match=r"'(patient|w)'"):
        formula(text, PANEL)


@pytest.mark.parametrize(
    ("text", "name"),
    [("y ~ x:z", "x:z"), ("y ~ x^2", "x^2"), ("y ~ poly(x, 2)", "poly(x, 2)[1]"), ("exp(y) ~ x", "exp(y)")],
)
@pytest.mark.parametrize("role", ["person", "weights"])
def test_no_derived_column_has_the_name_of_one_of_the_unit(text, name, role):
    more = {"person": {"rows_per_person": 2}, "weights": {"largest_weight": 4}}[role]
    domain = Domain({"x": (-1, 1), "z": (-1, 1), "y": (-4, 4)}, **{role: name}, **more)
    with pytest.raises(DiscreetError, match="cannot be"):
        formula(text, domain)
