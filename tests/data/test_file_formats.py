"""Files as people write them: decimal commas, other separators and dates, Excel; told by people, never guessed."""

import datetime as dt
import functools
import operator
import sys

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
from offers import refused
from tables import full_text

from discreet import Domain, DPLinearRegression, FileFormat, Moments, PrivateMoments
from discreet.errors import DataError, DomainError, FileFormatError

COLUMNS = {
    "age": (18, 90),
    "income": (0, 9_999),
    "born": ("1920-01-01", "2010-12-31"),
    "region": ["north", "south"],
    "member": bool,
    "grade": [1, 2, 3],
}
GERMAN = FileFormat(sep=";", decimal=",", thousands=".", na=("unbekannt",), date_format="%d.%m.%Y")
PROMISE = {"epsilon": 1, "delta": 1e-6}


def people(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(10, 99, rows) + rng.integers(0, 4, rows) / 4,
            "income": rng.integers(0, 12_000, rows) + rng.integers(0, 4, rows) / 4,
            "born": pa.array(rng.integers(-18_000, 14_000, rows).astype("datetime64[D]")),
            "region": rng.choice(["north", "south"], rows),
            "member": rng.random(rows) < 0.4,
            "grade": rng.integers(1, 4, rows),
        }
    )


def german(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))
    return value.strftime("%d.%m.%Y") if isinstance(value, dt.date) else str(value)


def german_lines(table):
    return [";".join(map(german, row.values())) + "\n" for row in table.to_pylist()]


def write_german(path, table):
    path.write_text(" age ; income;born;region;member;grade\n" + "".join(german_lines(table)))
    return path


def write_excel(path, table, sheets=("people",)):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title in sheets:
        sheet = book.create_sheet(title)
        sheet.append([f" {name}" for name in table.column_names])
        for row in table.to_pylist():
            sheet.append(list(row.values()))
        sheet.append([None] * table.num_columns)
    book.save(path)
    return path


# ---------------------------------------------------------------- the same bits


def test_a_german_csv_is_the_same_table(tmp_path):
    table = people()
    expected = Moments.from_source(table, Domain(COLUMNS))
    assert Moments.from_source(write_german(tmp_path / "t.csv", table), Domain(COLUMNS, file=GERMAN)) == expected


def test_an_excel_file_is_the_same_table(tmp_path):
    table = people()
    expected = Moments.from_source(table, Domain(COLUMNS))
    path = write_excel(tmp_path / "t.xlsx", table, ("notes", "people"))
    assert Moments.from_source(path, Domain(COLUMNS, file={"sheet": "people"})) == expected
    assert Moments.from_source(path, Domain(COLUMNS)) == expected


def test_text_in_excel_is_read_as_in_a_csv_file(tmp_path):
    texts = pa.table({name: list(map(german, people()[name].to_pylist())) for name in ("age", "income", "born")})
    path, domain = write_excel(tmp_path / "t.xlsx", texts), Domain(COLUMNS, file=GERMAN)
    some = domain.select(["age", "income", "born"])
    assert Moments.from_source(path, some) == Moments.from_source(people(), some)


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_each_row_is_read_by_itself(kind, tmp_path):
    table, domain = people(24), Domain(COLUMNS, file=GERMAN)
    write = write_german if kind == "csv" else write_excel
    alone = [Moments.from_source(write(tmp_path / f"{i}.{kind}", table[i : i + 1]), domain) for i in range(24)]
    assert functools.reduce(operator.add, alone) == Moments.from_source(write(tmp_path / f"all.{kind}", table), domain)


def test_tabs_bars_and_names_with_blanks(tmp_path):
    expected = Moments.from_source(pa.table({"a": [1.5, 2.0]}), Domain({"a": (0, 9)}))
    for sep, name in (("tab", "t.tsv"), ("|", "t.csv")):
        between = "\t" if sep == "tab" else sep
        (tmp_path / name).write_text(f"u{between} a \nx,y{between}1.5\nz{between} 2\n")
        assert Moments.from_source(tmp_path / name, Domain({"a": (0, 9)}, file={"sep": sep})) == expected
    (tmp_path / "t.csv").write_text("u, a\n0,1.5\n0,2\n")
    assert Moments.from_source(tmp_path / "t.csv", Domain({"a": (0, 9)})) == expected
    assert Moments.from_source(tmp_path / "t.csv", Domain({" a": (0, 9)})).domain.columns.keys() == {" a"}


def test_words_for_a_missing_value(tmp_path):
    (tmp_path / "t.csv").write_text("a,c\n1,x\nunknown,x\n-9,y\n2,-9\n")
    domain = Domain({"a": (0, 9), "c": ["x", "y"]}, missing="drop", file={"na": ["unknown", "-9"]})
    expected = Moments.from_source(pa.table({"a": [1.0], "c": ["x"]}), domain)
    assert Moments.from_source(tmp_path / "t.csv", domain) == expected
    assert "missing values" in refused(tmp_path / "t.csv", Domain(domain.columns, file=domain.file), column="a")


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("value", ["1.23", "1.2345", "12.34,5", ",", "1,2,3", "1e", "x", "1.234.56"])
def test_thousands_stand_between_groups_of_three(value, tmp_path):
    (tmp_path / "t.csv").write_text(f"a\n1.234,5\n{value}\n")
    said = refused(tmp_path / "t.csv", Domain({"a": (0, 9)}, file={"sep": ";", "decimal": ",", "thousands": "."}))
    assert "'a' must hold numbers such as -1.234,5" in said
    assert value not in said.replace("-1.234,5", "") or len(value) == 1


@pytest.mark.parametrize("value", ["31/02/1990", "1990-12-31", "31/12/90", "x", "12/31/1990"])
def test_dates_that_do_not_exist_are_refused(value, tmp_path):
    (tmp_path / "t.csv").write_text(f"a\n01/02/1990\n{value}\n")
    domain = Domain({"a": ("1980-01-01", "2000-01-01")}, file={"date_format": "%d/%m/%Y"})
    assert "dates such as 31/12/1990" in refused(tmp_path / "t.csv", domain, column="a")


def test_an_error_tells_how_to_say_it(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1,5;31/12/1990\n")
    said = refused(tmp_path / "t.csv", Domain({"a": (0, 9), "b": ("1980-01-01", "2000-01-01")}))
    assert "--decimal" in said
    assert "--date-format" in said
    assert "2 problems" in said


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"sep": ";;"}, "sep must be one character"),
        ({"sep": 5}, "sep must be one character"),
        ({"decimal": ";"}, "decimal must be"),
        ({"thousands": ".", "decimal": "."}, "thousands cannot be"),
        ({"na": [1]}, "na must be a list"),
        ({"date_format": "%d/%m"}, "day, the month and the year"),
        ({"date_format": "dd/mm/yyyy"}, "day, the month and the year"),
        ({"sheet": 1}, "sheet must be text"),
        ({"decimals": ","}, "Did you mean 'decimal'?"),
        ("latin1", "must be a mapping"),
        ({"na": ["south"]}, "'south' is a level"),
    ],
)
def test_formats_that_cannot_be_used(given, words):
    with pytest.raises(DomainError, match=words.replace("?", r"\?")):
        Domain(COLUMNS, file=given)


def test_all_that_is_wrong_with_a_format_is_told_at_once():
    with pytest.raises(DomainError) as caught:
        FileFormat(sep="ab", decimal=";", date_format="x")
    assert all(f"- {name} must" in str(caught.value) for name in ("sep", "decimal", "date_format"))


def test_excel_files_that_cannot_be_read(tmp_path, monkeypatch):
    (tmp_path / "t.xlsx").write_text("no workbook")
    domain = Domain(COLUMNS)
    assert "not a complete Excel file" in refused(tmp_path / "t.xlsx", domain, error=FileFormatError)
    write_excel(tmp_path / "t.xlsx", people(2))
    some = Domain(COLUMNS, file={"sheet": "men"})
    assert "no sheet 'men'. It has: people" in refused(tmp_path / "t.xlsx", some, error=FileFormatError)
    wrong = Domain({"region": (0, 1), "age": ("1980-01-01", "1990-01-01")})
    with pytest.raises(DataError) as caught:
        Moments.from_source(tmp_path / "t.xlsx", wrong)
    assert all(f"'{name}' must hold" in str(caught.value) for name in ("region", "age"))
    assert "north" not in full_text(caught.value)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert 'pip install "discreet[excel]"' in refused(tmp_path / "t.xlsx", domain)


# ---------------------------------------------------------------- where it is told


def test_a_schema_a_release_and_a_model_know_how_files_are_written(tmp_path):
    schema = tmp_path / "t.toml"
    schema.write_text(
        'file = { sep = ";", decimal = "," }\n[columns]\na = { low = 0, high = 9 }\nb = { low = 0, high = 9 }'
    )
    domain = Domain.from_file(schema)
    assert (domain.file, domain.with_file(sep="|").file) == (FileFormat(";", ","), FileFormat("|", ","))
    path = tmp_path / "t.csv"
    path.write_text("a;b\n" + "1,5;2,5\n3,5;4,5\n" * 400)
    model = DPLinearRegression(domain=domain, **PROMISE).fit_formula("b ~ a + I(a^2)", path)
    model.release_.save(tmp_path / "r.json")
    assert PrivateMoments.load(tmp_path / "r.json").domain.file == domain.file
    assert domain == Domain(domain.columns)  # how a file is written is no fact of the columns


def test_options_of_the_command_line(run, tmp_path):
    write_german(tmp_path / "t.csv", people())
    told = ["--sep", ";", "--decimal", ",", "--thousands", ".", "--na", "unbekannt", "--date-format", "%d.%m.%Y"]
    assert run("schema", "init", "t.csv", *told).code == 0
    form = (tmp_path / "t.toml").read_text()
    assert 'file = { sep = ";", decimal = ","' in form
    assert "\nage = " in form
    (tmp_path / "t.toml").write_text("[columns]\nage = { low = 18, high = 90 }\nincome = { low = 0, high = 9999 }\n")
    fit = ["fit", "t.csv", "--schema", "t.toml", "--target", "income", "--epsilon", 1, "--delta", 1e-6]
    ran = run(*fit)
    assert ran.code == 2
    assert "--decimal" in ran.said
    assert run("schema", "check", "t.toml", "t.csv", *told[:2]).code == 0
    assert run(*fit, *told, "--out", "r.json").code == 0
    assert run("pdp", "t.csv", "--release", "r.json", "--out", "c.parquet").code == 0
    assert run("release", "t.csv", "--schema", "t.toml", "--epsilon", 1, "--delta", 1e-6, *told).code == 0
    write_excel(tmp_path / "t.xlsx", people())
    assert run("fit", "t.xlsx", *fit[2:], "--sheet", "people", "--out", "x.json").code == 0
    assert run("fit", "t.xlsx", *fit[2:], "--sheet", "peple", "--force").code == 2
