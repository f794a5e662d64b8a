"""CSV files, folders, lazy frames, relations and streams: what is peculiar to each of them."""

import builtins
import contextlib
import gzip
import math
import os
import re
import socket

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from offers import BAD_ROW, NUMBERS, PEOPLE, SECRET_LEVEL, TABLES, Producer, csv, people, refused
from tables import full_text

from discreet import Domain, DPLinearRegression, Moments, PrivateMoments, formula
from discreet.core.files import read_json
from discreet.data.sources.csv import is_strict
from discreet.data.sources.paths import column_kinds
from discreet.data.tables import open_source
from discreet.domain.schema import read_schema
from discreet.errors import DataError, FileFormatError, ParameterError

AB = Domain({"a": (0, 10), "c": ["x", "y"]})
TABLE = pa.table({"a": [1.5, 2.0], "c": ["x", "y"]})
GOOD = Moments.from_source(TABLE, AB)


@pytest.fixture
def write(tmp_path):
    def writer(text, name="people.csv"):
        path = tmp_path / name
        content = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return writer


# ---------------------------------------------------------------- derived columns on every source

DERIVED = formula("income ~ age + sex + score:age + sex:grade + age:member + I(score**3) + born:score", PEOPLE).domain


@pytest.fixture(scope="module")
def derived_moments():
    return Moments.from_source(people(3_000), DERIVED, n_jobs=1)


@pytest.mark.parametrize("name", TABLES)
def test_derived_columns_have_the_same_bits_everywhere(name, derived_moments, tmp_path):
    assert Moments.from_source(TABLES[name](people(3_000), PEOPLE, tmp_path), DERIVED, n_jobs=2) == derived_moments


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(("column", "value"), [("score", None), ("score", math.inf), ("age", math.nan)])
def test_a_bad_factor_is_named(name, column, value, tmp_path):
    """Clipping would hide an infinite factor that is not a column itself."""
    table = people(300)
    values = table[column].to_pylist()
    values[137] = value
    table = table.set_column(table.column_names.index(column), column, pa.array(values))
    hidden = formula("income ~ score:age", PEOPLE).domain
    refused(TABLES[name](table, PEOPLE, tmp_path), hidden, column=column)


# ---------------------------------------------------------------- read again, or once only


@pytest.mark.parametrize("name", TABLES)
def test_the_default_estimator_reads_every_source_again_but_streams(name, tmp_path):
    """Streams have one stage, in the bounds as declared; stages that are asked for are refused."""
    table = people(500)
    given, asked = {"epsilon": 1, "delta": 1e-6, "domain": PEOPLE, "random_state": 0}, ("income", ["age", "sex"])
    stream = name.startswith("stream")
    expected = DPLinearRegression(**given, narrow=not stream).fit_source(table, *asked)
    found = DPLinearRegression(**given).fit_source(TABLES[name](table, PEOPLE, tmp_path), *asked)
    assert np.array_equal(found.coef_, expected.coef_)
    assert bool(found.release_.stages) != stream
    for stages, why in ((1, "read only once"), (2, "no stream")) if stream else ():
        with pytest.raises(ParameterError, match=why):
            DPLinearRegression(**given, stages=stages).fit_source(TABLES[name](table, PEOPLE, tmp_path), *asked)


def test_a_producer_without_a_size_is_read_once():
    producer = Producer(TABLE)
    assert not open_source(producer, AB).once
    del producer.num_rows
    assert open_source(producer, AB).once


@pytest.mark.parametrize(
    "make", [pl.from_arrow, lambda t: t, lambda t: t.to_pandas()], ids=["polars", "Arrow", "pandas"]
)
def test_estimators_go_by_the_names_of_a_table(make):
    """The columns stand in another order than in the domain, and are no matrix without names."""
    table = people(400)
    X, y = table.select(["score", "age"]), table.select(["income"])
    domain = NUMBERS.select(["age", "score", "income"])
    by_name = DPLinearRegression(epsilon=1, delta=1e-6, domain=domain, random_state=0)
    expected = by_name.fit_source(table, "income", ["score", "age"])
    coef = expected.coef_
    assert np.array_equal(by_name.fit(make(X), make(y)["income"]).coef_, coef)
    assert by_name.results_.target == "income"
    assert np.array_equal(by_name.predict(make(X)), by_name.predict(make(X.select(["age", "score"]))))
    assert np.array_equal(by_name.fit(make(X), make(y)).coef_, coef)


# ---------------------------------------------------------------- CSV files

SAME = {
    "plain": "a,c\n1.5,x\n2,y\n",
    "no last line end": "a,c\n1.5,x\n2,y",
    "other line ends": "a,c\r\n1.5,x\r\n2,y\r\n",
    "byte order mark": b"\xef\xbb\xbfa,c\n1.5,x\n2,y\n",
    "tabs": "a\tc\n1.5\tx\n2\ty\n",
    "quoted": '"a","c"\n"1.5","x"\n"2","y"\n',
    "other columns": 'u,c,v,a\n"unused, ""1""",x,2001-01-01,1.5\n,y,,2e0\n',
    "names with delimiters": '"u;;;",c,a\n1,x,1.5\n"",y,2\n',
    "blank lines": "a,c\n\n1.5,x\n\r\n\n2,y\n\n",
    "quotes at the end": 'u,a,c\n"""",1.5,"x"\n"""""",2,"y"',
    "other columns are not text": b"a,c,u\n1.5,x,\xff\x00\n2,y,\xe4",
}


@pytest.mark.parametrize("name", ["people.csv", "PEOPLE.CSV", "people.csv.gz"])
@pytest.mark.parametrize("text", SAME.values(), ids=SAME.keys())
def test_csv_as_people_write_it(text, name, write):
    assert Moments.from_source(write(text, name), AB) == GOOD
    assert Moments.from_source(str(write(text, name)), AB) == GOOD


@pytest.mark.parametrize("hole", ["", '""', "NA", "NaN", "null", "#N/A"])
def test_missing_values_in_csv(hole, write):
    for text in (f"a,c\n1.5,x\n{hole},y\n2,y\n", f"a,c\n1.5,x\n7,{hole}\n2,y\n"):
        assert "missing values" in refused(write(text), AB)
        drop = Domain.from_dict(AB.to_dict() | {"missing": "drop"})
        assert Moments.from_source(write(text), drop) == Moments.from_source(TABLE, drop)


def test_a_level_that_others_take_for_missing(write):
    countries = Domain({"c": ["DE", "NA"]})
    both = Moments.from_source(pa.table({"c": ["NA", "DE"]}), countries)
    assert Moments.from_source(write("c\nNA\nDE\n"), countries) == both


@pytest.mark.parametrize(
    ("column", "value", "wanted"),
    [
        ("a", SECRET_LEVEL, "numbers"),
        ("a", "918273,5", "lines"),
        ("c", SECRET_LEVEL, "not declared"),
        ("g", SECRET_LEVEL, "whole numbers"),
        ("g", "918273.5", "whole numbers"),
        ("b", "918273", "true or false"),
        ("d", SECRET_LEVEL, "dates"),
        ("d", "918273", "dates"),
    ],
)
def test_csv_values_that_cannot_be_read(column, value, wanted, write):
    """Arrow's own messages quote the value and the row; the columns stand in another order than the domain's."""
    domain = Domain({"d": ("1990-01-01", "2020-01-01"), "g": [1, 2], "b": bool, "c": ["x", "y"], "a": (0, 10)})
    row = {"u": "0", "a": "1", "b": "true", "c": "x", "d": "2001-02-03", "g": "2"}
    lines = [",".join(row), *[",".join(row.values())] * BAD_ROW, ",".join((row | {column: value}).values())]
    error = FileFormatError if wanted == "lines" else DataError
    named = None if wanted == "lines" else column
    assert wanted in refused(write("\n".join(lines)), domain, column=named, error=error)


BROKEN = {
    "empty": b"",
    "blank": b"\n\n",
    "short line": f"a,c\n1.5,x\n{SECRET_LEVEL}\n".encode(),
    "long line": f"a,c\n1.5,x,{SECRET_LEVEL}\n".encode(),
    "not text": b"a,c\xff\n1,x\n",
    "not text inside": b"a,c\n1,SECRETLEVEL\xff\n",
    "quote left open": b'"a,c\n918273,SECRETLEVEL\n' + b"918273,SECRETLEVEL\n" * 20_000,
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_broken_csv(content, write):
    error = DataError if b"SECRETLEVEL\xff" in content else FileFormatError
    refused(write(content), AB, error=error)
    refused(write(content, "people.csv.gz"), AB, error=error)


def test_broken_compression(write, tmp_path):
    path = write("a,c\n" + "1.5,x\n" * 100_000, "people.csv.gz")
    path.write_bytes(path.read_bytes()[:-200])
    refused(path, AB, error=FileFormatError)
    path.write_bytes(b"a,c\n1.5,x\n")
    refused(path, AB, error=FileFormatError)


def test_csv_columns(write):
    assert "declared but not in the data" in refused(write("a,d\n1,x\n"), AB, column="c")
    assert "stands twice" in refused(write("a,c,a\n1,x,2\n"), AB, column="a")
    assert "stands twice" in refused(write("a;c;a\n1;x;2\n"), AB, column="a")


# ---------------------------------------------------------------- a row of a CSV file is one line

LOOSE = {
    "left open": '1,x,"{}',
    "left open in a declared column": '1,"x,{}',
    "closed in the next line": '1,x,"{}\n2,y,{}"',
    "a line break": '1,x,"{}\n"',
    "a carriage return": '1,x,"{}\r"',
    "a carriage return without quotes": "1,x,{}\r2,y,{}",
    "inside bare text": '1,x,{} 5" wide',
    "after bare text": '1,x,{}"',
    "text after a quote": '1,x,"{}" wide',
    "text before a quote": '1,x, "{}"',
    "quotes that are not doubled": '1,x,"{} "so" {}"',
    "one quote": '1,x,"',
    "three quotes": '1,x,"""',
}


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz"])
@pytest.mark.parametrize("loose", LOOSE.values(), ids=LOOSE.keys())
def test_a_line_that_is_not_a_row_by_itself_is_refused(loose, name, write):
    """The text stands in a column that nobody declared; the line is the last, the first, or among others."""
    line = loose.replace("{}", SECRET_LEVEL) + "\n"
    others = '1,x,\n2,y,"it is ""so"", or so"\n' * 250
    for lines in (line, line[:-1], line + others, others + line, others + line + others):
        said = refused(write("a,c,u\n" + lines, name), AB, error=FileFormatError)
        assert name in said
        assert "write the table as Parquet" in said


@pytest.mark.parametrize("first", ['a,c,"u\nv"', 'a,c,"u', 'a,c,u"v', 'a,c,"u"v', "a,c,u\rv"])
def test_names_are_one_line(first, write):
    assert "one row" in refused(write(first + "\n1,x,\n" + '1,x,"\n' * 3), AB, error=FileFormatError)


def test_a_file_of_carriage_returns_is_refused(write):
    assert "one row" in refused(write("a,c\r1.5,x\r2,y\r"), AB, error=FileFormatError)


@pytest.mark.parametrize("line", ["1,x", "1,x,u,u", "1;x;u", " ", ",,,"])
def test_every_line_has_a_value_for_each_name(line, write):
    text = "a,c,u\n" + "1,x,u\n" * 10 + line + "\n" + "1,x,u\n" * 10
    assert "same columns" in refused(write(text), AB, error=FileFormatError)


NUMBERS_AS_TEXT = ["1.5", "-2", "1e400", " 3", '"4"', "nan", "NA", "", '""', "inf", "x", "\ufeff1", '1"']
DATES = ["2001-02-03", "1890-01-01", "2001-02-03 04:05", "2001-02-03T04:05:06Z", '"2001-02-03"', "NaN", "2001"]
VALUES = {
    "c": ["x", "y", "\ufeffx", '"y"', "NA", "", "z", '"x', '"x\ny"', '\ufeff"x"'],
    "a": NUMBERS_AS_TEXT,
    "d": DATES,
    "g": ["0", "3", " 3", "03", "3.0", "null", '"0"'],
    "b": ["true", "false", "1", "0", "TRUE", "", '"1"', "2"],
    "u": ["u", "\ufeff", '"a, b"', '"a ""b"""', '""', '"', '5"', '"5" "', '"\n"', "\r", "\x00", "1,2"],
}
KINDS = {"a": (0, 10), "c": ["x", "y", "\ufeffx"], "d": ("1990-01-01", "2020-01-01"), "g": [0, 3], "b": bool}
WIDE = Domain(KINDS, missing="drop")
NAMES = ",".join(VALUES)
GOOD_LINE = ",".join(values[0] for values in VALUES.values())
ODD = [(i, value) for i, values in enumerate(VALUES.values()) for value in values]
LAST = st.sampled_from(VALUES["u"]).map(lambda value: changed(GOOD_LINE, [(5, value)]))
LINE = LAST | st.lists(st.sampled_from(ODD), min_size=1, max_size=2).map(lambda odd: changed(GOOD_LINE, odd))
LINE |= st.text(st.sampled_from('x,"\n\r 1.5'))


def changed(line, odd):
    """A line with other values in some places."""
    values = line.split(",")
    for i, value in odd:
        values[i] = value
    return ",".join(values)


def either(lines, end, path):
    """The moments of a CSV file, or None where it is refused."""
    path.write_bytes((NAMES + end + "".join(line + end for line in lines)).encode())
    try:
        return Moments.from_source(path, WIDE, n_jobs=1)
    except (DataError, FileFormatError):
        return None


def rows(moments):
    """How many rows were summed, times a constant."""
    return moments.integers([0], [0])[0]


@pytest.mark.parametrize("read", [8, 1 << 22])
@settings(max_examples=60, deadline=None)
@given(lines=st.lists(st.just(GOOD_LINE) | LINE, max_size=4), line=LINE, end=st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_a_line_adds_its_own_row_and_changes_no_other(read, lines, line, end, tmp_path_factory):
    """moments(file and line) - moments(file) is the line's own z z', wherever it stands and however bytes are read."""
    path = tmp_path_factory.getbasetemp() / "any.csv"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("discreet.data.sources.csv._READ", read)
        alone = either([line], end, path)
        others = [one for one in lines if either([one], end, path)]
        rest = either(others, end, path)
        assert rest is not None
        for place in {0, len(others) // 2, len(others)}:
            both = either([*others[:place], line, *others[place:]], end, path)
            assert both == (None if alone is None else rest + alone)
        one = either([GOOD_LINE], end, path)
    if alone is not None:
        assert rows(alone) <= rows(one) * (1 + line.count("\n"))
        event("a row" if rows(alone) else "no row")


@given(st.text(st.sampled_from('a,"\r\n'), max_size=12))
def test_strict_lines_are_those_of_the_grammar(text):
    """The check of whole blocks agrees with the grammar, spelled out for one line at a time."""
    value = r'(?:"(?:[^"\r\n]|"")*"|[^",\r\n]*)'
    row = re.compile(rf"{value}(?:,{value})*\r?")
    by_line = all(row.fullmatch(line) for line in text.split("\n"))
    assert is_strict(f"\n{text}\n".encode(), ",") == by_line


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz"])
def test_long_lines_are_read_and_those_too_long_refused(name, write, monkeypatch):
    monkeypatch.setattr("discreet.data.sources.csv._READ", 1 << 10)
    monkeypatch.setattr("discreet.data.sources.csv._LONGEST", 1 << 12)
    for before in range(0, 3000, 97):
        rows = "1,x,\n" * (before // 5) + "\n" * (before % 5)
        expected = Moments.from_source(write("a,c,u\n" + rows + "1,x,\n", name), AB)
        for end in ("\n", ""):
            longest = "1,x," + "u" * ((1 << 12) - 4)
            assert Moments.from_source(write("a,c,u\n" + rows + longest + end, name), AB) == expected
            too_long = "a,c,u\n" + rows + longest + "u" + end
            assert "Parquet" in refused(write(too_long, name), AB, error=FileFormatError)
    assert "Parquet" in refused(write("a,c," + "u" * (1 << 12), name), AB, error=FileFormatError)


def test_lines_longer_than_what_is_read_at_once(write):
    expected = Moments.from_source(write("a,c,u\n1.5,x,\n2,y,\n"), AB)
    assert Moments.from_source(write("a,c,u\n1.5,x," + "u" * (5 << 20) + "\n2,y,\n"), AB) == expected
    refused(write("a,c,u\n1.5,x," + SECRET_LEVEL * (2 << 20) + "\n2,y,\n"), AB, error=FileFormatError)


def test_each_file_of_a_list_is_read_by_itself(write):
    paths = [write("a,c\n1.5,x\n", "one.csv"), write('u;c;a\n"a,c";y;2\n', "two.csv")]
    assert Moments.from_source(paths, AB) == GOOD
    assert Moments.from_source([*paths, write("c\ta\n", "three.csv")], AB) == GOOD


def test_a_file_whose_names_change_after_it_was_opened_is_refused(write):
    source = open_source(write("a,c\n1,x\n"), AB)
    write("c,a\nx,1\n")
    with pytest.raises(FileFormatError, match="has changed"):
        list(source.parts(10))


def test_a_file_without_names_tells_nothing(write):
    refused(write(f"918273,{SECRET_LEVEL}\n1.5,x\n"), AB, column="a")


def test_opening_reads_the_first_line_only(write):
    open_source(write(f"a,c\n{SECRET_LEVEL}\n"), AB)


# ---------------------------------------------------------------- files and folders


def test_unknown_endings(write):
    for name in ("people.ods", "people", "people.gz", "people.parquet.gz"):
        assert "Parquet files end in .parquet" in refused(write("a,c\n", name), AB)


def test_mixed_kinds(write, tmp_path):
    path = write("a,c\n1.5,x\n")
    pq.write_table(TABLE, tmp_path / "people.parquet")
    assert "one kind only" in refused(tmp_path, AB)
    assert "one kind only" in refused([path, tmp_path / "people.parquet"], AB)


def test_folders_leave_out_other_files(write, tmp_path):
    for name in ("_SUCCESS", "notes.txt", ".people.csv", "people.csv.crc"):
        write(SECRET_LEVEL, name)
    write(SAME["plain"])
    (tmp_path / "odd.csv").mkdir()
    assert Moments.from_source(tmp_path, AB) == GOOD


def test_a_file_twice(write, tmp_path):
    path = write(SAME["plain"])
    for paths in ([path, path], [path, tmp_path], [path, tmp_path / ".." / tmp_path.name / "people.csv"]):
        assert "named twice" in refused(paths, AB)


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_a_file_under_two_names(link, write, tmp_path):
    path, other = write(SAME["plain"]), tmp_path / "again.csv"
    link(path, other)
    for paths in (tmp_path, [path, other], [other, tmp_path]):
        said = refused(paths, AB)
        assert "named twice" in said
        assert "again.csv" in said


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_a_copy_of_a_file(ending, write, tmp_path):
    """Files of equal size are copies only if all of their bytes agree, those far from the beginning too."""
    (tmp_path / "below").mkdir()
    for i, last in enumerate(["x", "y"]):
        table = pa.table({"a": np.tile([1.5, 2.0], 10_000), "c": ["x"] * 19_999 + [last]})
        if ending == ".parquet":
            pq.write_table(table, tmp_path / f"{i}.parquet", compression="none")
        else:
            write(table.to_pandas().to_csv(index=False), f"{i}{ending}")
    first, second = (tmp_path / f"{i}{ending}" for i in (0, 1))
    Moments.from_source(tmp_path, AB)
    copy = tmp_path / "below" / f"copy{ending}"
    copy.write_bytes(second.read_bytes())
    for paths in (tmp_path, [copy, second], [first, second, copy]):
        said = refused(paths, AB)
        assert "would count twice" in said
        assert copy.name in said
        assert second.name in said


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_files_without_rows_are_alike_and_harmless(ending, write, tmp_path):
    for i in range(3):
        if ending == ".parquet":
            pq.write_table(TABLE[:0], tmp_path / f"{i}.parquet")
        else:
            write("a,c\n\n", f"{i}{ending}")
    pq.write_table(TABLE, tmp_path / "full.parquet") if ending == ".parquet" else write(SAME["plain"], f"full{ending}")
    assert Moments.from_source(tmp_path, AB) == GOOD


def special(path, kind):
    """Put something at a path that is not an ordinary file."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    else:
        with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names on this system")
@pytest.mark.parametrize("kind", ["pipe", "device", "socket"])
@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.parquet"])
def test_what_is_not_a_file_is_refused_before_it_is_opened(kind, name, write, tmp_path):
    """Opening a pipe without a writer would wait for ever."""
    path = tmp_path / name
    special(path, kind)
    for paths in (path, tmp_path, [path, write(SAME["plain"], "more.csv")]):
        assert f"{name} is a pipe, a socket or a device" in refused(paths, AB, error=FileFormatError)
    with pytest.raises(FileFormatError, match="a pipe, a socket or a device"):
        column_kinds(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names on this system")
@pytest.mark.parametrize("kind", ["pipe", "device", "socket", "folder"])
@pytest.mark.parametrize("name", ["any.toml", "any.json", "any.npz"])
def test_other_files_are_ordinary_too(kind, name, tmp_path):
    special(tmp_path / name, kind)
    for read in (read_schema, read_json, Domain.from_file, PrivateMoments.load, Moments.load):
        with pytest.raises(FileFormatError, match=f"{name} is a "):
            read(tmp_path / name)


def test_a_link_to_nothing(write, tmp_path):
    write(SAME["plain"])
    (tmp_path / "more.csv").symlink_to(tmp_path / "gone.csv")
    assert "There is no file more.csv" in refused(tmp_path, AB)


def test_nothing_there(tmp_path):
    assert "There is no file" in refused(tmp_path / "people.csv", AB)
    assert "holds no .parquet, .csv" in refused(tmp_path, AB)


def test_one_csv_of_several_lacks_a_column(write):
    paths = [write(SAME["plain"], "one.csv"), write("a,d\n1,x\n", "two.csv")]
    refused(paths, AB, column="c")


# ---------------------------------------------------------------- queries


def test_a_lazy_frame_that_fails_tells_nothing():
    lazy = pl.LazyFrame({"a": ["1.5", SECRET_LEVEL], "c": ["x", "y"]}).with_columns(pl.col("a").cast(pl.Float64))
    assert "lazy frame broke off" in refused(lazy, AB)
    assert "lazy frame broke off" in refused(lazy.select(pl.col("no such column")), AB)


def test_a_lazy_frame_is_streamed(tmp_path):
    csv()(people(), PEOPLE, tmp_path)
    lazy = pl.scan_csv(tmp_path / "people.csv").select("age", "income", "score", "count")
    assert Moments.from_source(lazy, NUMBERS) == Moments.from_source(people(), NUMBERS)


def test_an_older_polars_collects(monkeypatch):
    monkeypatch.delattr(pl.LazyFrame, "collect_batches", raising=False)
    assert Moments.from_source(pl.from_arrow(TABLE).lazy(), AB) == GOOD


@pytest.fixture
def connection():
    with duckdb.connect() as own:
        yield own


def test_a_relation_that_fails_tells_nothing(connection):
    connection.execute(f"create table t as select '{SECRET_LEVEL}' as a, 'x' as c")
    assert "DuckDB relation broke off" in refused(connection.sql("select cast(a as double) as a, c from t"), AB)
    assert Moments.from_source(connection.sql("select 1.5 as a, 'x' as c union all select 2, 'y'"), AB) == GOOD


def test_a_failure_leaves_the_connection_free(connection):
    connection.register("t", people())
    bad = connection.sql("select * replace ('?' as sex) from t")
    for _ in range(5):
        assert "not declared" in refused(bad, PEOPLE, column="sex")
    assert connection.sql("select 1").fetchall() == [(1,)]


def test_a_result_that_is_pending_is_named_as_the_cause(connection):
    busy = connection.cursor()
    relation = busy.sql("select 0.5 as a, 'x' as c from range(100000)")
    busy.execute("select * from range(100000)")
    try:
        Moments.from_source(relation, AB)
    except DataError as error:  # DuckDB 2; earlier ones let go of the pending result
        assert "another result that was not read to its end" in str(error)  # noqa: PT017


def test_types_and_names_of_duckdb(connection):
    kinds = "1.5::decimal(9, 2) as \"a \"\"b\", 'x'::enum('y', 'x') as c, 2::hugeint as h, date '2001-02-03' as d"
    domain = Domain({'a "b': (0, 10), "c": ["x", "y"], "h": (0, 5), "d": ("2000-01-01", "2002-01-01")})
    frame = pd.DataFrame({'a "b': [1.5], "c": ["x"], "h": [2.0], "d": pd.to_datetime(["2001-02-03"])})
    assert Moments.from_source(connection.sql(f"select {kinds}"), domain) == Moments.from_source(frame, domain)


@pytest.mark.parametrize("query", ["select 1 as a, 2 as a, 'x' as c", "select 1 as a, 2 as A, 'x' as c"])
def test_duplicate_columns_of_a_relation(query, connection):
    assert "stands twice" in refused(connection.sql(query), AB, column="a")


# ---------------------------------------------------------------- packages that are not there


@pytest.mark.parametrize(
    ("package", "source"), [("polars", pl.from_arrow(TABLE).lazy()), ("duckdb", duckdb.from_arrow(TABLE))]
)
def test_a_missing_package_is_named_with_its_install_line(package, source, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **options):
        if name == package:
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DataError) as caught:
        Moments.from_source(source, AB)
    assert f'pip install "discreet[{package}]"' in str(caught.value)
    assert "ImportError" not in full_text(caught.value)
