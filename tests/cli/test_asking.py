"""`discreet schema init --ask`: questions whose answers are checked, from the names of the columns alone."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet import Domain, FileFormat
from discreet.cli import console
from discreet.cli.schema import app
from discreet.privacy import gdp
from discreet.results.summary import number

ANSWERS = [
    "20,000",  # people
    "",  # epsilon 1
    *("number", "18", "90", "year"),
    *("n", "ten", "0", "12345.67", "n", "10000", "EUR"),
    *("cat", "north", "north, south"),
    *("y", "no, yes"),
    *("d", "01/02/1990", "1920-01-01", "2010-12-31"),
    *("c", "1, 2, 3"),
    *("?", "s"),
    *("y", "%d.%m", "%d.%m.%Y"),  # missing, dates
    *("incom", "income"),  # to explain
]


@pytest.fixture
def ask(monkeypatch, tmp_path):
    """Run the command with answers; rows of the file are such that nobody can read them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(console.out, "_width", 200)
    (tmp_path / "t.csv").write_bytes(b'age,income,region,member, born ,grade,id\n"\xff\xfeunreadable\n')

    def call(answers, *arguments):
        ran = CliRunner().invoke(app, ["init", *arguments, "--ask"], input="\n".join(answers) + "\n")
        return ran, " ".join(ran.output.split())

    return call


def test_the_whole_way(ask, tmp_path):
    ran, said = ask(ANSWERS, "t.csv")
    assert ran.exit_code == 0, said
    found = Domain.from_file(tmp_path / "t.toml")
    assert found == Domain(
        {
            "age": {"low": 18, "high": 90, "unit": "year"},
            "income": {"low": 0, "high": 10_000, "unit": "EUR"},
            "region": ["north", "south"],
            "member": ["no", "yes"],
            "born": ("1920-01-01", "2010-12-31"),
            "grade": [1, 2, 3],
        },
        missing="drop",
    )
    assert found.file == FileFormat(date_format="%d.%m.%Y")
    for words in (
        "no row",
        "Give a number, such as 18",
        "12345.67 is not round",
        "choose a round number",
        "a category needs at least two levels",
        "Give a date such as 1990-12-31",
        "Answer number, date, category, yes/no, skip",
        "must tell the day, the month and the year",
        "Did you mean 'income'?",
    ):
        assert words in said


def test_what_bounds_cost_is_told(ask):
    _, said = ask(ANSWERS, "t.csv")
    mu = gdp.mu(1.0, 1 / 20_000**2)
    assert f"Noise would move its mean by about {number(36 / (mu * 20_000))} year" in said
    assert f"Noise would move its mean by about {number(5_000 / (mu * 20_000))} EUR" in said
    assert "The expected squared error is" in said
    assert "bounds" in said.split("The expected squared error is")[1]


def test_types_of_a_parquet_file_are_kept_to(ask, tmp_path):
    pq.write_table(pa.table({"age": [1.0], "sex": ["F"], "ok": [True]}), tmp_path / "t.parquet")
    answers = ["1000", "0.5", "date", "", "0", "5", "", "number", "c", "F, M", "", "", "n", ""]
    ran, said = ask(answers, "t.parquet")
    assert ran.exit_code == 0, said
    assert said.count("The file holds a") == 2
    found = Domain.from_file(tmp_path / "t.toml")
    assert found == Domain({"age": (0, 5), "sex": ["F", "M"], "ok": bool})


def test_nothing_is_written_without_an_end(ask, tmp_path):
    ran, _ = ask(ANSWERS[:10], "t.csv")
    assert ran.exit_code != 0
    assert not (tmp_path / "t.toml").exists()
    ran, _ = ask(["100", "", *["s"] * 7], "t.csv")
    assert not (tmp_path / "t.toml").exists()
