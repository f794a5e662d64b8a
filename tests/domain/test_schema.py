"""Schemas: a form to fill in, read back as TOML or JSON, with errors that name the file and the column."""

import datetime as dt
import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import Domain
from discreet.domain.schema import blank_schema, read_schema
from discreet.errors import DiscreetError, DomainError, FileFormatError

TOML = """
missing = "drop"
intercept = false

[columns]
age    = { low = 18, high = 90, unit = "years" }
sex    = { levels = ["F", "M"] }
member = { type = "bool" }
born   = { low = 1920-01-01, high = 2010-12-31 }
grade  = [1, 2, 3]
"""
JSON = {
    "missing": "drop",
    "intercept": False,
    "columns": {
        "age": {"low": 18, "high": 90, "unit": "years"},
        "sex": {"levels": ["F", "M"]},
        "member": {"type": "bool"},
        "born": {"low": "1920-01-01", "high": "2010-12-31"},
        "grade": [1, 2, 3],
    },
}
SAME = Domain(
    {
        "age": {"low": 18, "high": 90, "unit": "years"},
        "sex": ["F", "M"],
        "member": bool,
        "born": (dt.date(1920, 1, 1), dt.date(2010, 12, 31)),
        "grade": [1, 2, 3],
    },
    missing="drop",
    intercept=False,
)


@pytest.fixture
def write(tmp_path):
    def writer(text, name="people.toml"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return writer


@pytest.mark.parametrize(
    ("text", "name"),
    [(TOML, "people.toml"), (TOML, "people"), (json.dumps(JSON), "people.json"), (json.dumps(JSON), "people.JSON")],
)
def test_toml_and_json_say_the_same(write, text, name):
    assert Domain.from_file(write(text, name)) == SAME
    assert Domain.from_file(str(write(text, name))) == SAME


def test_a_domain_written_as_json_is_a_schema(write):
    assert Domain.from_file(write(json.dumps(SAME.to_dict()), "people.json")) == SAME


def test_a_ball_in_a_schema(write):
    text = 'data_norm = 2\nnorm_columns = ["a", "b"]\n[columns]\na = {}\nb = { low = 0 }\ny = { low = 0, high = 1 }\n'
    inf = float("inf")
    columns = {"a": (-inf, inf), "b": (0, inf), "y": (0, 1)}
    assert Domain.from_file(write(text)) == Domain(columns, data_norm=2, norm_columns=["a", "b"])


# ---------------------------------------------------------------- bad schemas

ONE = "[columns]\na = { low = 0, high = 1 }\n"
BAD = {
    "broken TOML": ("[columns\n", "people.toml", FileFormatError, "people.toml is not valid TOML"),
    "truncated TOML": (ONE[:-4], "people.toml", FileFormatError, "not valid TOML"),
    "column twice": (ONE + "a = { low = 0, high = 2 }\n", "people.toml", FileFormatError, "not valid TOML"),
    "not text": (b"\xff\xfe\x00PAR1", "people.toml", FileFormatError, "not text"),
    "broken JSON": ('{"columns": {', "people.json", FileFormatError, "people.json is not complete JSON"),
    "binary JSON": (b"\xff\xfe\xff", "people.json", FileFormatError, "not complete JSON"),
    "column twice in JSON": (
        '{"columns": {"a": {"low": 0, "high": 1}, "a": {"low": 0, "high": 2}}}',
        "people.json",
        FileFormatError,
        "people.json: the entry 'a' stands twice",
    ),
    "list": ("[]", "people.json", FileFormatError, "no \\[columns\\]"),
    "empty": ("", "people.toml", FileFormatError, "no \\[columns\\]"),
    "columns a list": ('{"columns": ["a"]}', "people.json", FileFormatError, "no \\[columns\\]"),
    "no column": ("[columns]\n", "people.toml", DomainError, "at least one column"),
    "unknown option": ("datanorm = 1\n" + ONE, "people.toml", FileFormatError, "unknown entry 'datanorm'"),
    "unknown entry": ("[columns]\na = { low = 0, hi = 1 }", "people.toml", DomainError, "'a': unknown entry 'hi'"),
    "bounds FILL IN": (
        '[columns]\na = { low = 0, high = "FILL IN" }',
        "people.toml",
        DomainError,
        "people.toml: column 'a' still says FILL IN",
    ),
    "levels FILL IN": ('[columns]\na = { levels = ["x", "FILL IN"] }', "people.toml", DomainError, "FILL IN"),
    "NaN": ("[columns]\na = { low = nan, high = 1 }", "people.toml", DomainError, "NaN"),
    "NaN in JSON": ('{"columns": {"a": {"low": NaN, "high": 1}}}', "people.json", DomainError, "NaN"),
    "infinite": ("[columns]\na = { low = 0, high = inf }", "people.toml", DomainError, "infinite"),
    "inverted": ("[columns]\na = { low = 1, high = 0 }", "people.toml", DomainError, "must be below"),
    "a time of day": ("[columns]\na = { low = 07:00:00, high = 08:00:00 }", "people.toml", DomainError, "neither"),
    "one number": ("[columns]\na = 5", "people.toml", DomainError, "no usable bounds"),
    "bool as text": ('[columns]\na = "bool"', "people.toml", DomainError, r'has \{ type = "bool" \} for a yes or no'),
    "intercept as text": ('intercept = "false"\n' + ONE, "people.toml", DiscreetError, "intercept must be"),
    "missing": ('missing = "mean"\n' + ONE, "people.toml", DiscreetError, "missing must be"),
    "data_norm as text": ('data_norm = "1"\n' + ONE, "people.toml", DomainError, "data_norm must be"),
    "norm_columns": ('data_norm = 1\nnorm_columns = "a"\n' + ONE, "people.toml", DomainError, "norm_columns must be"),
}


@pytest.mark.parametrize(("text", "name", "error", "message"), BAD.values(), ids=BAD.keys())
def test_bad_schemas(write, text, name, error, message):
    with pytest.raises(error, match=message) as caught:
        Domain.from_file(write(text, name))
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_no_such_schema(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.toml"):
        Domain.from_file(tmp_path / "nothing.toml")


# ---------------------------------------------------------------- forms to fill in

KINDS = ("number", "date", "category", "bool", "any")


def test_a_form_must_be_filled_in(write):
    form = blank_schema([("age", "number"), ("born", "date"), ("sex", "category"), ("member", "bool")])
    path = write(form)
    for column, filled in (
        ("age", "age = { low = 18, high = 90 }"),
        ("born", "born = { low = 1920-01-01, high = 2010-12-31 }"),
        ("sex", 'sex = { levels = ["F", "M"] }'),
    ):
        with pytest.raises(DomainError, match=f"'{column}' still says FILL IN"):
            Domain.from_file(path)
        lines = [filled if line.startswith(f"{column} = ") else line for line in path.read_text().splitlines()]
        path.write_text("\n".join(lines))
    assert list(Domain.from_file(path).columns) == ["age", "born", "sex", "member"]


@given(st.dictionaries(st.text(st.characters(codec="utf-8"), min_size=1), st.sampled_from(KINDS), min_size=1))
def test_a_form_is_valid_toml_for_any_names(columns):
    assert list(tomllib.loads(blank_schema(columns.items()))["columns"]) == list(columns)


def test_reading_gives_plain_facts(write):
    assert read_schema(write(ONE)) == {"columns": {"a": {"low": 0, "high": 1}}}
