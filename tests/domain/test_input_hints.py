"""Errors that tell a new user what was probably meant."""

import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from discreet import Domain, DPLinearRegression, DPLogisticRegression, Moments, ReuseCov, plan
from discreet.cli import app
from discreet.core.checks import delta
from discreet.domain.schema import blank_schema, read_schema
from discreet.errors import (
    DataError,
    DataTypeError,
    DiscreetWarning,
    DomainError,
    NotReleasedError,
    ParameterError,
)
from discreet.mechanisms.registry import METHODS
from discreet.per_instance import compose

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.random((60, 4)), columns=["a", "b", "y", "z"])
DOMAIN = Domain(dict.fromkeys(FRAME, (0, 1)))
X, Y = FRAME[["a", "b"]], FRAME[["y", "z"]]
MATRIX = X.to_numpy()


def model(kind=DPLinearRegression, **given):
    return kind(epsilon=1, delta=1e-6, **({"domain": DOMAIN} | given))


# -------------------------------------------------------------------- which column is y?


@pytest.mark.parametrize("kind", [DPLinearRegression, DPLogisticRegression, ReuseCov], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("y", [FRAME["y"].to_numpy(), FRAME["y"].rename(None), pa.array(FRAME["y"])], ids=type)
def test_an_outcome_without_a_name_is_refused_where_several_columns_could_be_it(kind, y, no_noise_yet):
    with pytest.raises(DataError, match="beside the features there are y, z"):
        model(kind).fit(X, y)
    with pytest.raises(DataError, match="beside the features there are none"):
        model(kind, domain=DOMAIN.select(["a", "b"])).fit(X, y)


def test_an_outcome_without_a_name_is_the_one_column_that_is_left():
    assert model(domain=DOMAIN.select(["y", "a", "b"])).fit(X, FRAME["y"].to_numpy()).results_.target == "y"
    assert model().fit(X, Y.to_numpy()).results_.targets == ("y", "z")
    assert model(domain=DOMAIN.select(["b", "z", "y", "a"])).fit(X, Y.to_numpy()).results_.targets == ("z", "y")
    with pytest.raises(DataError, match="there are b, y, z"):
        model().fit(X[["a"]], Y.to_numpy())


@pytest.mark.parametrize("target", [None, 3, [], [None], ["y", 3], {"y": 1}], ids=str)
@pytest.mark.parametrize("kind", [DPLinearRegression, DPLogisticRegression, ReuseCov], ids=lambda kind: kind.__name__)
def test_an_outcome_of_a_source_is_named(kind, target, no_noise_yet):
    with pytest.raises(ParameterError, match=r"target must name the outcome, for example 'income', or list several"):
        model(kind).fit_source(FRAME, target)


def test_the_error_about_an_outcome_does_not_quote_what_it_was_given(no_noise_yet):
    with pytest.raises(ParameterError, match=r"got Series\.$"):
        model().fit_source(FRAME, FRAME["y"])


@pytest.mark.parametrize("target", ["log(y)", ["log(y)", "sqrt(y)"], "a:b", "y ~ a"], ids=str)
def test_functions_of_columns_that_are_named_as_columns_are_for_formulas(target, no_noise_yet):
    with pytest.raises(NotReleasedError, match=r"is not declared.*fit_formula\(.*release\(models=\["):
        model().fit_source(FRAME, target, ["a", "b"])
    with pytest.raises(NotReleasedError) as caught:
        model().fit_source(FRAME, "income")
    assert "formula" not in str(caught.value).lower()


def test_beside_a_matrix_the_outcome_is_the_last_column():
    assert model(domain=DOMAIN.select(["a", "b", "z"])).fit(MATRIX, FRAME["z"].to_numpy()).results_.target == "z"


# -------------------------------------------------------------------- what kind of thing is X?


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
@pytest.mark.parametrize("given", ["people.parquet", b"x", None, pytest.param(pa.__file__, id="path")], ids=repr)
def test_a_path_or_nothing_in_place_of_rows(method, given):
    bounds = {"domain": None, "bounds_X": (0, 1), "rows": 60}
    bounds |= {"classes": [0, 1]} if method.name in ("DPLogisticRegression", "DPLinearSVC") else {"bounds_y": (0, 1)}
    with pytest.raises(DataTypeError, match="fit_source"):
        model(method.estimator, **bounds).fit(given, FRAME["y"])


def test_dates_in_an_array():
    days = np.full((60, 2), np.datetime64("2020-01-01"))
    with pytest.raises(DataError, match=r"datetime64\. For dates, give a table"):
        model(domain=None, bounds_X=(0, 1), bounds_y=(0, 1)).fit(days, FRAME["y"])


def test_a_lazy_frame_in_place_of_rows():
    polars = pytest.importorskip("polars")
    with pytest.raises(DataTypeError, match=r"not LazyFrame\. Files, lazy frames and queries are read by fit_source"):
        model().fit(polars.from_pandas(X).lazy(), FRAME["y"])


def test_decimals_in_a_frame_are_numbers():
    exact = FRAME.assign(a=[decimal.Decimal(value) for value in FRAME["a"]])
    domain = DOMAIN.select(["a", "y"])
    assert Moments.from_source(exact, domain) == Moments.from_source(FRAME, domain)
    missing = Domain({"a": (0, 1), "y": (0, 1)}, missing="drop")
    holes = [
        Moments.from_source(frame.assign(a=frame["a"].where(FRAME["b"] > 0.2)), missing) for frame in (exact, FRAME)
    ]
    assert holes[0] == holes[1]
    for odd in ("inf", "sNaN"):
        with pytest.raises(DataError, match="'a'"):
            Moments.from_source(exact.assign(a=decimal.Decimal(odd)), domain)


def test_decimals_are_numbers():
    exact = np.vectorize(decimal.Decimal)(MATRIX)
    seeded = {"domain": None, "bounds_X": (0, 1), "bounds_y": (0, 1), "random_state": 1}
    of = [model(**seeded).fit(given, FRAME["y"]).coef_ for given in (exact, MATRIX)]
    np.testing.assert_array_equal(*of)


# -------------------------------------------------------------------- bounds, missing values, delta


@pytest.mark.parametrize(
    "table", [FRAME.assign(a=50), pa.table({name: [50] for name in FRAME})], ids=["frame", "arrow"]
)
def test_bounds_written_as_a_list_of_levels(table):
    domain = Domain({"a": [0, 100], "y": (0, 1)})
    with pytest.raises(DataError, match=r"\[0, 100\] names levels: if bounds are meant, write \(0, 100\)"):
        Moments.from_source(table, domain)
    with pytest.raises(DataError) as told:
        Moments.from_source(table, Domain({"a": [0, 1, 2], "y": (0, 1)}))
    assert "bounds are meant" not in str(told.value)


@pytest.mark.parametrize("table", [FRAME.assign(a=np.nan), pa.table({"a": [None, 1.0], "y": [1.0, 1.0]})], ids=type)
def test_missing_values_say_where_to_declare_what_becomes_of_them(table):
    with pytest.raises(DataError, match=r"missing='drop', in Domain or above \[columns\] in a schema"):
        Moments.from_source(table, DOMAIN.select(["a", "y"]))


def test_the_form_holds_the_line_for_missing_values(tmp_path):
    form = blank_schema([("a", "bool")])
    for text, missing in ((form, None), (form.replace('# missing = "drop"', 'missing = "drop"'), "drop")):
        (tmp_path / "s.toml").write_text(text)
        assert read_schema(tmp_path / "s.toml").get("missing") == missing


@pytest.mark.parametrize(("value", "rows"), [(0.02, None), (0.5, None), (0.002, 1000)])
def test_a_delta_that_may_publish_somebody_is_warned_of(value, rows):
    with pytest.warns(DiscreetWarning, match="one whole row"):
        delta(value, rows)


@pytest.mark.parametrize(("value", "rows"), [(0.01, None), (0.001, 1000), (0.02, 20)])
def test_other_deltas_pass_in_silence(value, rows, recwarn):
    assert delta(value, rows) == value
    assert not recwarn.list


@pytest.mark.parametrize("given", [{"a": (0, 1)}, "people.toml", None])
def test_a_domain_that_is_none_is_told_how_to_become_one(given):
    with pytest.raises(ParameterError, match="from_file"):
        plan(given, "y", rows=100)
    with pytest.raises(ParameterError, match="from_file"):
        Moments.from_source(FRAME, given)


@pytest.mark.parametrize("given", [(), (3,), ([1.0, 2.0],)])
def test_only_losses_are_composed(given):
    with pytest.raises(ParameterError, match="Give the losses of at least one release"):
        compose(*given)


# ---------------------------------------------------------------- columns of 0 and 1, and almost right names

YES_NO = {"flag": [True, False, True, False], "y": [1.0, 2.0, 3.0, 4.0]}
DECLARED = {"number": (0, 1), "levels": [0, 1], "bool": bool}


@pytest.mark.parametrize("values", [[True, False, True, False], [1, 0, 1, 0], [1.0, 0.0, 1.0, 0.0]], ids=repr)
@pytest.mark.parametrize("spec", DECLARED.values(), ids=DECLARED.keys())
@pytest.mark.parametrize("container", [pd.DataFrame, pa.table])
def test_columns_of_0_and_1_may_be_of_truth_values(values, spec, container):
    domain = Domain({"flag": spec, "y": (0, 5)})
    expected = Moments.from_source(pd.DataFrame(YES_NO | {"flag": [1, 0, 1, 0]}), Domain({"flag": [0, 1], "y": (0, 5)}))
    found = Moments.from_source(container(YES_NO | {"flag": values}), domain)
    assert found.count == expected.count
    if spec != (0, 1):
        assert np.array_equal(found.floats([0, 1, 2, 3]), expected.floats([0, 1, 2, 3]))
    else:
        assert found.floats([0, 1])[0, 1] == 0  # two of four, about the middle


@pytest.mark.parametrize("values", [[2, 0], [0.5, 1.0]])
def test_other_numbers_are_no_truth_values(values):
    with pytest.raises(DataError, match="not declared"):
        Moments.from_source(pd.DataFrame({"flag": values, "y": [1.0, 2.0]}), Domain({"flag": bool, "y": (0, 5)}))


def test_almost_right_names_are_answered():
    domain = Domain({"income": (0, 5), "y": (0, 5)})
    with pytest.raises(DomainError, match="Did you mean 'income'"):
        domain.select(["incme"])
    with pytest.raises(NotReleasedError, match="Did you mean 'income'"):
        domain.target("Income")
    with pytest.raises(DataError, match=r"'income' is declared but not in the data\. Did you mean ' Income'"):
        Moments.from_source(pd.DataFrame({" Income": [1.0], "y": [1.0]}), domain)


def test_epsilon_is_asked_for_first():
    with pytest.raises(ParameterError, match="epsilon is required"):
        DPLinearRegression(bounds_X=(0, 1), bounds_y=(0, 1)).fit(np.zeros((5, 1)), np.zeros(5))


def test_missing_values_in_predictions_are_to_be_filled():
    domain = Domain({"x": (0, 1), "z": (0, 1), "y": (0, 1)}, missing="drop")
    rows = pd.DataFrame({"x": [0.1, 0.2], "z": [0.1, 0.2], "y": [0.3, 0.4]})
    model = DPLinearRegression(epsilon=1, delta=1e-5, domain=domain).fit_source(rows, "y")
    for predict in (model.predict, model.results_.predict):
        with pytest.raises(DataError, match=r"[Ff]ill them") as caught:
            predict(pd.DataFrame({"z": [0.1, np.nan], "x": [0.1, 0.2]}))
        assert "missing=" not in str(caught.value)


def test_a_saved_release_is_not_replaced_by_chance(tmp_path):
    domain = Domain({"x": (0, 1), "y": (0, 1)})
    rows = pd.DataFrame({"x": [0.1, 0.2], "y": [0.3, 0.4]})
    public = DPLinearRegression(epsilon=1, delta=1e-5, domain=domain).fit_source(rows, "y").release_
    public.save(tmp_path / "r.json")
    with pytest.raises(ParameterError, match="overwrite=True"):
        public.save(tmp_path / "r.json")
    public.save(tmp_path / "r.json", overwrite=True)


def test_the_only_outcome_of_a_release_need_not_be_named(tmp_path):
    domain = Domain({"x": (0, 1), "y": (0, 1)})
    rows = pd.DataFrame({"x": [0.1, 0.2], "y": [0.3, 0.4]})
    DPLinearRegression(epsilon=1, delta=1e-5, domain=domain).fit_source(rows, "y").release_.save(tmp_path / "r.json")
    for command in ("model", "select"):
        result = CliRunner().invoke(app, [command, str(tmp_path / "r.json"), "--json"], catch_exceptions=False)
        assert result.exit_code == 0
        assert '"y"' in result.output
