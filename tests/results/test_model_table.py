"""Tables of models: what stands in a column, in every form that papers are written in."""

import csv
import io
import itertools
import json
import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from fitted import case

import discreet
from discreet import Domain, DPLinearRegression, DPLogisticRegression, DPPoissonRegression, release, table
from discreet.errors import DiscreetWarning, ParameterError
from discreet.results.summary import number

DOMAIN = Domain(
    {
        "age": {"low": 18, "high": 90, "unit": "year"},
        "smoker": bool,
        "ward": ["medical", "surgical", "cardiac"],
        "stay": {"low": 0, "high": 30, "unit": "day"},
        "visits": (0, 30),
    }
)
SPECIFICATIONS = ("stay ~ age", "stay ~ age + smoker", "stay ~ age + smoker + ward")


def patients(n=6000, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"age": rng.integers(18, 91, n), "smoker": rng.random(n) < 0.3})
    table["ward"] = rng.choice(["medical", "surgical", "cardiac"], n)
    table["stay"] = 1 + 0.05 * table["age"] - table["smoker"] + rng.exponential(1, n)
    table["visits"] = rng.poisson(1 + 0.5 * table["smoker"])
    return table


@pytest.fixture(scope="module")
def public():
    return release(patients(), domain=DOMAIN, epsilon=4, delta=1e-6, targets=["stay"], random_state=1)


@pytest.fixture(scope="module")
def models(public):
    return [public.fit(text) for text in SPECIFICATIONS]


def rows_of(text):
    """The cells of a table as CSV: a label, and the cells of each model."""
    return list(csv.reader(io.StringIO(text)))


# -------------------------------------------------------------------- numbers


def test_each_column_is_its_model(models):
    found = table(models)
    for fitted in models:
        own = found.numbers(fitted)
        for name in fitted.coefficients:
            assert own[name]["estimate"] == fitted.params[name]
            np.testing.assert_equal(own[name]["std_err"], fitted.std_err[name])
            np.testing.assert_equal(own[name]["p_value"], fitted.pvalues[name])
            np.testing.assert_equal((own[name]["low"], own[name]["high"]), tuple(fitted.conf_int().loc[name]))


def test_a_coefficient_stands_in_the_columns_of_models_that_have_it(models):
    found = table(models, names=["a", "b", "c"])
    shown = rows_of(found.as_csv())
    assert shown[0] == ["", "a", "b", "c"]
    body = {row[0]: (row, below) for row, below in itertools.pairwise(shown) if row[0]}
    row, below = body["smoker[True]"]
    assert row[1] == below[1] == ""
    assert float(row[2]) == pytest.approx(models[1].params["smoker[True]"], rel=0.05)
    assert re.fullmatch(r"\([0-9.]+\)", below[2])
    assert [row[0] for row in shown if row[0]][: len(found.coefficients)] == list(found.coefficients)
    assert found.coefficients[-1] == "(intercept)"


def test_numbers_have_two_digits_of_their_standard_error(models):
    found = table(models)
    assert found._number(1.23456, 0.0123) == "1.235"
    assert found._number(12345.6, 1234) == "12,300"
    assert found._number(-0.0001, 0.5) == "0.00"
    assert found._number(1.5, math.nan) == number(1.5)
    assert table(models, decimals=3)._number(1.23456, 0.5) == "1.235"


def test_stars_follow_p_values(models):
    found = table(models, stars=True)
    stars = {0.2: "", 0.07: "*", 0.02: "**", 0.001: "***", math.nan: ""}
    for p, expected in stars.items():
        assert found._estimate({"estimate": 1.0, "std_err": 0.1, "p_value": p}) == "1.00" + expected
    assert "* p < 0.1, ** p < 0.05, *** p < 0.01." in str(found)
    assert "* p < 0.05, ** p < 0.001." in str(table(models, stars=(0.05, 0.001)))
    assert "*" not in str(table(models))


@pytest.mark.parametrize(("below", "bracket"), [("std_err", "("), ("p_value", "("), ("interval", "[")])
def test_what_stands_below(models, below, bracket):
    shown = rows_of(table(models, below=below).as_csv())
    assert shown[2][1].startswith(bracket)


def test_the_foot_tells_of_whole_models(models):
    foot = table(models, omit=["ward"]).to_dict()["facts"]
    assert foot["ward"] == ["no", "no", "yes"]
    assert len(set(foot["Rows"])) == 1
    assert foot["Epsilon"] == ["4"] * 3
    assert foot["Delta"] == ["1e-06"] * 3
    assert set(foot["Standard errors"]) <= {"robust", "classical"}
    assert foot["Guarantee"] == ["simulation"] * 3
    assert "Outcome" not in foot


def test_one_model_is_one_column(models):
    found = table(models[0])
    assert found.names == ("(1)",)
    assert "All models" not in str(found)


def test_a_mapping_gives_headings_and_estimators_are_taken():
    model = DPLinearRegression(epsilon=1, delta=1e-6, domain=DOMAIN).fit_source(patients(), "stay")
    found = table({"now": model, "later": model.results_})
    assert found.names == ("now", "later")
    assert "Guarantee" not in found.to_dict()["facts"]
    assert found.models[0].release == found.models[1].release


# -------------------------------------------------------------------- families


def test_classes_counts_and_numbers_stand_in_one_table():
    given = {"epsilon": 4, "delta": 1e-6, "domain": DOMAIN}
    yes = DPLogisticRegression(**given).fit_source(patients(), "smoker", ["age"])
    count = DPPoissonRegression(**given).fit_source(patients(), "visits", ["smoker"])
    line = DPLinearRegression(**given).fit_source(patients(), "stay", ["age"])
    found = table([yes, count, line])
    foot = found.to_dict()["facts"]
    assert foot["Outcome"] == ["smoker", "visits", "stay"]
    assert foot["Model"] == [model.results_.kind for model in (yes, count, line)]
    assert foot["R-squared"][:2] == ["", ""]
    assert foot["Dispersion"][0] == foot["Dispersion"][2] == ""
    ratios = table([yes, count], exponentiate=True)
    own = ratios.numbers(ratios.models[0])["age"]
    assert own["estimate"] == pytest.approx(math.exp(ratios.models[0].params["age"]))
    assert own["low"] < own["estimate"] < own["high"]
    with pytest.raises(ParameterError, match="exponentiate"):
        table([yes, line], exponentiate=True)


# -------------------------------------------------------------------- promises


def test_one_release_covers_all_its_models(models):
    assert "All models come from one release" in str(table(models))
    assert table(models).to_dict()["epsilon_together"] is None


def test_epsilons_of_three_releases_are_composed():
    given = {"epsilon": 1, "delta": 1e-6, "domain": DOMAIN}
    three = [DPLinearRegression(**given).fit_source(patients(), "stay", ["age"]) for _ in range(3)]
    pairs = discreet.compare(*three[:2]).together
    together = table(three).to_dict()["epsilon_together"]
    assert 1 < pairs < together < 3
    assert f"epsilon = {together:.4g}" in str(table(three))


def test_different_rows_are_warned_of():
    given = {"epsilon": 4, "delta": 1e-6, "domain": DOMAIN}
    few, many = (DPLinearRegression(**given).fit_source(patients(n), "stay", ["age"]) for n in (3000, 6000))
    with pytest.warns(DiscreetWarning, match="different rows"):
        found = table([few, many])
    assert "different rows" in str(found)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table([few, few])


def test_simulations_and_claims_are_told():
    assert "SIMULATION" in str(table(case("simulation")[0]))
    assert table(case("claimed")[0]).to_dict()["facts"]["Guarantee"] == ["claimed"]


def test_why_intervals_are_missing_is_told(models):
    without = case("claimed")[0]
    with pytest.warns(DiscreetWarning, match="different rows"):
        assert "Intervals of (2) are" in str(table([models[0], without]))
    assert "(withheld)" in table(without).as_csv()


# -------------------------------------------------------------------- forms


def test_every_form_holds_every_cell(models, tmp_path):
    found = table(models, stars=True, omit=["ward"])
    cells = [cell for row in (*found.summary().rows, *found.summary().foot) for cell in row if cell]
    for form in ("txt", "md", "tex", "html", "csv", "docx", "xlsx"):
        found.save(tmp_path / f"table.{form}")
    plain = {form: (tmp_path / f"table.{form}").read_text() for form in ("txt", "md", "tex", "html", "csv")}
    assert all(cell in plain["txt"] for cell in cells)
    assert all(cell in plain["html"] for cell in cells)
    assert all(cell.replace("*", r"\*").replace("[", r"\[").replace("]", r"\]") in plain["md"] for cell in cells)
    assert plain["tex"].count(r"\midrule") == 2
    assert r"\textsuperscript{***}" in plain["tex"]
    assert "$-$" in plain["tex"]
    assert "<tfoot>" in plain["html"]
    for form in ("docx", "xlsx"):
        assert (tmp_path / f"table.{form}").stat().st_size > 1000
    with pytest.raises(ParameterError, match=r"\.docx"):
        found.save(tmp_path / "table.pdf")


def test_word_holds_the_table_and_the_notes(models, tmp_path):
    docx = pytest.importorskip("docx")
    found = table(models)
    found.save(tmp_path / "table.docx")
    document = docx.Document(str(tmp_path / "table.docx"))
    shown = [[cell.text for cell in row.cells] for row in document.tables[0].rows]
    summary = found.summary()
    assert shown == [list(row) for row in (summary.columns, *summary.rows, *summary.foot)]
    assert [p.text for p in document.paragraphs][-len(summary.notes) :] == list(summary.notes)


def test_excel_holds_the_table_and_all_digits(models, tmp_path):
    pytest.importorskip("openpyxl")
    found = table(models)
    found.save(tmp_path / "table.xlsx")
    again = pd.read_excel(tmp_path / "table.xlsx", sheet_name="numbers", index_col=0)
    pd.testing.assert_frame_equal(again, found.to_frame(), check_names=False, check_dtype=False)


def test_json_is_json(models):
    again = json.loads(json.dumps(table(models).to_dict(), allow_nan=False))
    assert again["names"] == ["(1)", "(2)", "(3)"]


# -------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"names": ["a"]}, "names must be 3 different texts"),
        ({"names": ["a", "a", "b"]}, "names must be 3 different texts"),
        ({"below": "t"}, "below"),
        ({"stars": [0.01, 0.05]}, "falling"),
        ({"omit": ["wards"]}, "Did you mean 'ward'"),
        ({"decimals": -1}, "decimals"),
        ({"decimals": 1.5}, "decimals"),
        ({"level": 95}, "level"),
    ],
)
def test_bad_options_are_refused(models, options, words):
    with pytest.raises(ParameterError, match=words):
        table(models, **options)


@pytest.mark.parametrize("models", [[], ["stay ~ age"], 3])
def test_what_is_no_model_is_refused(models):
    with pytest.raises(ParameterError, match="table needs fitted models"):
        table(models)


def test_labels_name_coefficients_and_columns(models):
    found = table(models, labels={"age": "Age (years)", "ward": "Ward", "(intercept)": "Constant"})
    names = [row[0] for row in found.summary().rows if row[0]]
    assert names == ["Age (years)", "smoker[True]", "Ward[surgical]", "Ward[cardiac]", "Constant"]
