"""Results for other programs: LaTeX, CSV, Excel, and pandas frames that keep their index."""

import builtins
import csv
import io
import re

import numpy as np
import pandas as pd
import pytest
from fitted import case

from discreet import Domain, DPLinearRegression
from discreet.errors import ParameterError
from discreet.results.summary import Summary


@pytest.fixture(scope="module")
def results():
    return case("verified")[0]


def test_text_and_html_are_what_is_shown(results):
    summary = results.summary()
    assert summary.as_text() == str(summary)
    assert summary.as_html() in summary._repr_html_()


def test_latex_holds_every_cell_and_stays_in_balance(results):
    text = results.summary().as_latex()
    for name in ("center", "tabular"):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") > 0
    plain = re.sub(r"\\[{}]", "", text)
    assert plain.count("{") == plain.count("}")
    rows = [line for line in text.splitlines() if line.endswith(r"\\") and line.count(" & ") > 3]
    assert len(rows) == 1 + len(results.coefficients)
    assert len({line.count(" & ") for line in rows}) == 1
    odd = Summary("a_b & 50 %", (("x^2", "$1"),), ("", "P>|t|"), (("#[{", "1"),), ("\\ ~",)).as_latex()
    assert r"a\_b \& 50 \%" in odd
    assert r"\#{[}\{ & 1 \\" in odd
    assert r"P\textgreater{}\textbar{}t\textbar{}" in odd
    assert r"\textbackslash{} \textasciitilde{}" in odd


def test_csv_is_read_back(results):
    rows = list(csv.reader(io.StringIO(results.summary().as_csv())))
    assert [row[0] for row in rows[1:]] == list(results.coefficients)
    table = pd.read_csv(io.StringIO(results.summary().as_csv()), index_col=0)
    np.testing.assert_allclose(table["estimate"], results.params, rtol=1e-4)


def test_excel_holds_all_digits_and_no_formulas(results, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    results.to_excel(tmp_path / "model.xlsx", 0.9)
    again = pd.read_excel(tmp_path / "model.xlsx", index_col=0)
    pd.testing.assert_frame_equal(again, results.to_frame(0.9), check_names=False)
    about = openpyxl.load_workbook(tmp_path / "model.xlsx")["about"]
    said = " ".join(str(cell.value) for row in about for cell in row)
    assert all(note in said for note in results.summary(0.9).notes)
    noisy, _ = case("noisy")
    noisy.to_excel(tmp_path / "noisy.xlsx")
    assert pd.read_excel(tmp_path / "noisy.xlsx")["std_err"].isna().all()
    domain = Domain({"=1+1": (0, 1), "y": (0, 1)})
    model = DPLinearRegression(epsilon=1, delta=1e-6, domain=domain).fit_source(
        pd.DataFrame({"=1+1": [0.0, 1.0] * 50, "y": [0.2, 0.8] * 50}), "y"
    )
    model.results_.to_excel(tmp_path / "odd.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "odd.xlsx")["coefficients"]
    assert (sheet["A3"].value, sheet["A3"].data_type) == ("=1+1", "s")


def test_excel_says_what_it_needs(results, tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("openpyxl"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ParameterError, match=r"discreet\[excel\]"):
        results.to_excel(tmp_path / "model.xlsx")
    assert not list(tmp_path.iterdir())


def test_predictions_of_a_frame_keep_its_index(results):
    frame = pd.DataFrame({"age": [30, 40], "region": ["south", "west"], "hours": [10, 20]}, index=["ann", "bob"])
    found = results.predict(frame)
    assert isinstance(found, pd.Series)
    assert list(found.index) == ["ann", "bob"]
    assert found.name == "income"
    plain = results.predict(frame.to_dict("list"))
    assert isinstance(plain, np.ndarray)
    assert list(found) == list(plain)
