"""Dask shuffled raw keys and compared converted ones, so that one person counted twice: epsilon 1.97, promised 1.

A person whose keys were 1, 1.0, "1" and Decimal(1) had rows in several parts, each of which counted m of them; keys 1,
1.0 and 1.00 of PostgreSQL's numeric were three persons. Now there is one conversion of keys, before any hash, sort or
count (`domain/keys.py`): whole numbers and text are keys, and other types are refused everywhere, in the same words.
"""

import datetime as dt
import itertools
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import Domain, DPLinearRegression, Moments, Postgres
from discreet.data import persons
from discreet.errors import DataError

COLUMNS = {"x": (-1, 1), "y": (-1, 1)}
DOMAIN = Domain(COLUMNS, person="id", rows_per_person=1)
WORDS = "must hold whole numbers or text, which tell whose a row is"
_NUMBERS = itertools.count()


def weight(source, domain=DOMAIN):
    """What all rows of a table count together."""
    return Moments.from_source(source, domain).integers([0], [0])[0] / 2**60


def frame(ids, dtype=object):
    return pd.DataFrame({"id": pd.Series(ids, dtype=dtype), "x": 1.0, "y": 1.0})


@pytest.fixture
def dask():
    """Dask that leaves Python objects as they are."""
    frames = pytest.importorskip("dask.dataframe", reason="dask is not installed: pip install 'discreet[dask]'")
    import dask

    with dask.config.set({"dataframe.convert-string": False}):

        def offer(parts):
            delayed = [dask.delayed(part) for part in parts]
            return frames.from_delayed(delayed, meta=parts[0].iloc[:0], verify_meta=False)

        yield offer


@pytest.fixture(scope="module")
def execute(database_server):
    pytest.importorskip("adbc_driver_postgresql", reason="no driver: pip install 'discreet[postgres]'")
    import psycopg

    with psycopg.connect(database_server, autocommit=True) as connection:
        yield connection.execute


def stored(execute, kind, values):
    """The name of a table whose persons are of this type."""
    name = f"owned{next(_NUMBERS)}"
    execute(f"CREATE TABLE {name} (id {kind}, x float8, y float8)")
    for value in values:
        execute(f"INSERT INTO {name} VALUES ({value}, 1, 1)")
    return name


# ---------------------------------------------------------------- Dask


def test_a_person_of_many_types_counts_once_or_is_refused(dask):
    """40 persons, with m = 1: whatever is released, they count 40."""
    people = range(40)
    for kinds in ((int, float, str, lambda k: Decimal(f"{k}.00")), (int, float), (str, Decimal)):
        parts = [frame([kind(k) for k in people]) for kind in kinds]
        with pytest.raises(DataError, match=WORDS):
            weight(dask(parts))
        with pytest.raises(DataError, match=WORDS):
            weight(pd.concat(parts))


def test_whole_numbers_and_text_are_one_person_in_any_part(dask):
    people = range(40)
    parts = [
        frame([int(k) for k in people]),
        frame([str(k) for k in people]),
        frame([np.int16(k) for k in people]),
        frame(people, "int64"),
        frame(people, "uint8"),
        frame(people, "Int32"),
        frame([str(k) for k in people], "string"),
        frame([str(k) for k in people], "category"),
    ]
    found = Moments.from_source(dask(parts), DOMAIN)
    assert found == Moments.from_source(pd.concat([part.astype({"id": object}) for part in parts]), DOMAIN)
    assert 39.999 < found.integers([0], [0])[0] / 2**60 <= 40


def test_a_fit_on_dask_has_the_bits_of_one_machine(dask):
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 150, 1200)
    rows = pd.DataFrame({"id": ids, "x": rng.uniform(-1, 1, 1200), "y": rng.uniform(-1, 1, 1200)})
    text = rows.iloc[600:].assign(id=[str(i) for i in ids[600:]])
    model = DPLinearRegression(epsilon=2, delta=1e-6, domain=DOMAIN, random_state=3)
    there = model.fit_source(dask([rows.iloc[:300], rows.iloc[300:600], text]), "y").coef_
    assert np.array_equal(there, model.fit_source(rows, "y").coef_)


# ---------------------------------------------------------------- PostgreSQL


def test_numeric_keys_of_a_database_are_refused(database_server, execute):
    """1, 1.0 and 1.00 are one number; three persons of it would count three times."""
    name = stored(execute, "numeric", ["1", "1.0", "1.00"])
    with pytest.raises(DataError, match=WORDS):
        weight(Postgres(database_server, name))
    assert weight(Postgres(database_server, f"SELECT id::bigint AS id, x, y FROM {name}")) <= 1


REFUSED = {
    "numeric": "1",
    "float8": "1.5",
    "float4": "1",
    "bool": "true",
    "date": "'2001-02-03'",
    "timestamptz": "'2001-02-03'",
    "bytea": r"'\x01'",
    "jsonb": "'1'",
    "inet": "'10.0.0.1'",
    "money": "'1'",
}


@pytest.mark.parametrize("kind", REFUSED)
def test_other_types_of_a_database_are_refused(kind, database_server, execute):
    with pytest.raises(DataError, match=WORDS):
        weight(Postgres(database_server, stored(execute, kind, [REFUSED[kind]])))


KEPT = {
    "int2": ["1", "1", "2"],
    "int8": [str(2**62), str(2**62), str(2**62 + 1)],
    "text": ["'a'", "'a'", "'A'"],
    "varchar": ["'a'", "'a'", "'a '"],
    "char(4)": ["'a'", "'a '", "'b'"],
    "uuid": [f"'{'0' * 8}-0000-4000-8000-00000000000{k}'" for k in "aab"],
}


@pytest.mark.parametrize("kind", KEPT)
def test_whole_numbers_and_text_of_a_database_are_keys(kind, database_server, execute):
    assert weight(Postgres(database_server, stored(execute, kind, KEPT[kind]))) == 2


# ---------------------------------------------------------------- containers

OTHERS = {
    "float": [1.0, 2.0],
    "float that is not whole": [1.5, 2.0],
    "large float": [2.0**53, 2.0**53 + 2],
    "decimal": [Decimal(1), Decimal("2.00")],
    "truth value": [True, False],
    "bytes": [b"1", b"2"],
    "date": [dt.date(2001, 2, 3), dt.date(2001, 2, 4)],
    "moment": [dt.datetime(2001, 2, 3), dt.datetime(2001, 2, 4)],
    "length of time": [dt.timedelta(1), dt.timedelta(2)],
}


def containers(ids, folder):
    """A table whose persons have the type that Arrow finds for these values, in every container."""
    large = isinstance(ids[0], int) and max(ids) >= 2**63
    table = pa.table({"id": pa.array(ids, pa.uint64()) if large else ids, "x": [1.0] * len(ids), "y": [1.0] * len(ids)})
    pq.write_table(table, folder / "rows.parquet")
    yield table
    yield folder / "rows.parquet"
    yield duckdb.from_arrow(table)
    yield table.to_pandas()
    yield frame(ids)
    yield table.to_pandas(types_mapper=pd.ArrowDtype)
    yield table.to_reader()
    yield table.set_column(0, "id", table["id"].dictionary_encode())
    yield frame(ids).astype({"id": "category"})
    yield pl.from_arrow(table)
    yield pl.from_arrow(table).lazy()


@pytest.mark.parametrize("kind", OTHERS)
def test_other_types_are_refused_in_every_container(kind, tmp_path):
    for source in containers(OTHERS[kind], tmp_path):
        with pytest.raises(DataError, match=WORDS) as caught:
            weight(source)
        assert "2001" not in str(caught.value)


@pytest.mark.parametrize(
    ("ids", "people"),
    [
        ([1, 1, 2], 2),
        ([2**53, 2**53 + 1, 2**53], 2),
        ([2**63 - 1, -(2**63), 2**63 - 1], 2),
        ([2**64 - 1, 2**64 - 2, 2**64 - 1], 2),
        (["1", "01", "1", " 1", "1 ", "1.0"], 5),
        (["a", "A", "á", "a\u0301", "a"], 4),
        (["a\0b", "a", "a\0c", "a\0b"], 3),
        (["", "0", "", "NA "], 3),
    ],
)
@pytest.mark.parametrize("held", ["memory", "disk"])
def test_the_same_rows_are_the_same_persons_in_every_container(ids, people, held, tmp_path, monkeypatch):
    """Letter by letter, digit by digit; on disk, where DuckDB puts rows in order, as in memory."""
    if held == "disk":
        monkeypatch.setattr(persons, "IN_MEMORY", 0)
    reference = Moments.from_source(frame([f"{key}" for key in ids]), DOMAIN)
    for source in containers(ids, tmp_path):
        assert Moments.from_source(source, DOMAIN) == reference
    assert people - 1e-3 < reference.integers([0], [0])[0] / 2**60 <= people


def test_text_that_is_no_text_is_refused():
    lone = frame(["a", "\ud800"])
    with pytest.raises(DataError, match=WORDS):
        weight(lone)
    broken = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")])
    with pytest.raises(DataError, match=WORDS):
        weight(pa.table({"id": broken, "x": [1.0], "y": [1.0]}))


def test_rows_of_files_of_several_types_are_one_table(tmp_path):
    """One file has numbers, another one text: the same persons."""
    numbers = pa.table({"id": pa.array([7, 8], pa.int32()), "x": [1.0, 1.0], "y": [1.0, 1.0]})
    pq.write_table(numbers, tmp_path / "a.parquet")
    pq.write_table(numbers.set_column(0, "id", pa.array(["7", "9"])), tmp_path / "b.parquet")
    assert weight(tmp_path) == 3
    (tmp_path / "c.csv").write_text("id,x,y\n7,1,1\n07,1,1\n7,1,1\n")
    assert weight(tmp_path / "c.csv") == 2


def test_somebody_who_stands_in_two_places_is_noticed(monkeypatch):
    """An engine that takes one person for two, unseen: each part counts for itself, and tells so."""
    monkeypatch.setattr(persons, "IN_MEMORY", 0)
    right = persons.sort_to_file

    def apart(rows, folder, more=()):
        right(rows, folder, more)
        found = pq.read_table(folder / "rows.parquet").to_pandas()
        two = pd.concat([found.iloc[:1], found.iloc[2:], found.iloc[1:2]]).assign(n=1)
        pq.write_table(pa.Table.from_pandas(two, preserve_index=False), folder / "rows.parquet")

    monkeypatch.setattr(persons, "sort_to_file", apart)
    with pytest.raises(DataError, match="not put in the order of persons"):
        weight(frame(["a", "a", "b"]))
