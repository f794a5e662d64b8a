"""CSV files, folders, lazy frames, relations and streams: what is peculiar to each of them."""

import builtins
import gzip
import math

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from offers import BAD_ROW, NUMBERS, PEOPLE, SECRET_LEVEL, TABLES, Producer, csv, people, refused
from tables import full_text

from discreet import Domain, DPLinearRegression, Moments, formula
from discreet.data.sources import open_source
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
def test_the_default_estimator_reads_every_source_but_streams(name, tmp_path):
    table = people(500)
    model = DPLinearRegression(epsilon=1, delta=1e-6, domain=PEOPLE, random_state=0)
    source = TABLES[name](table, PEOPLE, tmp_path)
    if name.startswith("stream"):
        with pytest.raises(ParameterError, match="read only once"):
            model.fit_source(source, "income", ["age", "sex"])
        return
    expected = model.fit_source(table, "income", ["age", "sex"]).coef_
    assert np.array_equal(model.fit_source(source, "income", ["age", "sex"]).coef_, expected)


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
    "other columns": 'u,c,v,a\n"un\nused, ""1""",x,2001-01-01,1.5\n,y,,2e0\n',
    "a name with a line end": 'a,"u\nv",c\n1.5,1,x\n2,2,y\n',
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


def test_a_file_without_names_tells_nothing(write):
    refused(write(f"918273,{SECRET_LEVEL}\n1.5,x\n"), AB, column="a")


def test_opening_reads_the_first_line_only(write):
    open_source(write(f"a,c\n{SECRET_LEVEL}\n"), AB)


# ---------------------------------------------------------------- files and folders


def test_unknown_endings(write):
    for name in ("people.xlsx", "people", "people.gz", "people.parquet.gz"):
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
    monkeypatch.delattr(pl.LazyFrame, "collect_batches")
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
