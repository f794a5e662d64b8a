"""Every source of rows must keep the same contract: the same table gives the same bits, and errors tell nothing."""

import datetime as dt
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from offers import (
    ARRAYS,
    BAD_ROW,
    BALL,
    NUMBERS,
    OFFERS,
    PEOPLE,
    ROWS,
    SECRET_LEVEL,
    SECRET_NUMBER,
    TABLES,
    lists,
    parquet,
    parquet_parts,
    people,
    refused,
)

from discreet import Domain, Moments
from discreet.errors import DataError, FileFormatError

every_offer = pytest.mark.parametrize("offer", [*ARRAYS.values(), *TABLES.values()], ids=[*ARRAYS, *TABLES])
every_table = pytest.mark.parametrize("offer", TABLES.values(), ids=TABLES.keys())


@pytest.fixture(scope="module")
def everyone():
    return people()


@pytest.fixture(scope="module")
def expected(everyone):
    """The moments of each domain from plain Arrow tables, on one thread."""
    return {domain: Moments.from_source(everyone, domain, n_jobs=1) for domain in (NUMBERS, PEOPLE, BALL)}


# ---------------------------------------------------------------- the same bits


@every_offer
@pytest.mark.parametrize("domain", [NUMBERS, BALL], ids=["box", "ball"])
def test_numbers(offer, domain, everyone, expected, tmp_path):
    assert Moments.from_source(offer(everyone, domain, tmp_path), domain, n_jobs=2) == expected[domain]


@every_table
def test_every_kind_of_column(offer, everyone, expected, tmp_path):
    assert Moments.from_source(offer(everyone, PEOPLE, tmp_path), PEOPLE, n_jobs=2) == expected[PEOPLE]


@every_table
@pytest.mark.parametrize("n_jobs", [1, 3, None])
def test_permuted_rows_and_threads(offer, n_jobs, everyone, expected, tmp_path):
    shuffled = everyone.take(np.random.default_rng(1).permutation(ROWS))
    assert Moments.from_source(offer(shuffled, PEOPLE, tmp_path), PEOPLE, n_jobs=n_jobs) == expected[PEOPLE]


def test_the_comparison_sees_one_value(everyone, expected):
    scores = everyone["score"].to_numpy().copy()
    scores[BAD_ROW] += 2.0**-17
    changed = everyone.set_column(everyone.column_names.index("score"), "score", pa.array(scores))
    assert Moments.from_source(changed, PEOPLE) != expected[PEOPLE]


@every_offer
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_few_rows(offer, rows, tmp_path):
    few = people(rows)
    if offer is lists and rows == 0:  # an empty list has no columns
        assert "two dimensions" in refused(offer(few, NUMBERS, tmp_path), NUMBERS)
        return
    moments = Moments.from_source(offer(few, NUMBERS, tmp_path), NUMBERS)
    assert moments == Moments.from_source(few, NUMBERS)
    assert moments.integers([0], [0]).tolist() == [rows << 40]


# ---------------------------------------------------------------- missing values


def with_holes(table, names, seed=5):
    """The table with nulls in the given columns, and the same table without those rows."""
    rng = np.random.default_rng(seed)
    kept = np.ones(table.num_rows, dtype=bool)
    for name in names:
        hole = rng.random(table.num_rows) < 0.03
        kept &= ~hole
        values = pa.array(table[name].to_pylist(), table.schema.field(name).type, mask=hole)
        table = table.set_column(table.column_names.index(name), name, values)
    return table, table.filter(pa.array(kept))


def dropping(domain):
    return Domain.from_dict(domain.to_dict() | {"missing": "drop"})


@pytest.mark.parametrize(("domain", "offers"), OFFERS.items(), ids=["numbers", "every kind"])
def test_drop_is_dropping_by_hand(domain, offers, everyone, tmp_path):
    holes, whole = with_holes(everyone, list(domain.columns))
    assert whole.num_rows < 0.9 * ROWS
    drop = dropping(domain)
    by_hand = Moments.from_source(whole, drop)
    for i, (name, offer) in enumerate(offers.items()):
        (tmp_path / str(i)).mkdir()
        assert Moments.from_source(offer(holes, domain, tmp_path / str(i)), drop) == by_hand, name


def test_drop_sees_every_kind_of_missing():
    drop = Domain({"a": (0, 1), "g": [1, 2]}, missing="drop")
    holes = pa.table({"a": [0.5, math.nan, None, 1.0, 0.2], "g": [1.0, 1.0, 1.0, math.nan, 2.0]})
    kept = Moments.from_source(pa.table({"a": [0.5, 0.2], "g": [1, 2]}), drop)
    assert Moments.from_source(holes, drop) == kept
    null_level = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0]), pa.array([1, None, 2]))
    assert Moments.from_source(pa.table({"a": [0.5, 0.7, 0.2, None], "g": null_level}), drop) == kept
    masked = np.ma.array([[0.5, 0.2], [0.1, 0.4]], mask=[[False, False], [True, False]])
    plain = Domain({"a": (0, 1), "b": (0, 1)}, missing="drop")
    assert Moments.from_source(masked, plain) == Moments.from_source(np.array([[0.5, 0.2]]), plain)


# ---------------------------------------------------------------- dates

MOMENTS = [dt.datetime(1969, 7, 20), dt.datetime(2001, 9, 9), dt.datetime(1850, 1, 1), dt.datetime(2400, 1, 1)]
TIMES = [moment + dt.timedelta(hours=5, microseconds=7) for moment in MOMENTS]
TOKYO = dt.timezone(dt.timedelta(hours=9))
DATES = {
    **{f"timestamp {unit}": pa.array(MOMENTS, pa.timestamp(unit)) for unit in ("s", "ms", "us")},
    "timestamp in Tokyo": pa.array(MOMENTS, pa.timestamp("us", "Asia/Tokyo")),
    "date32": pa.array(MOMENTS, pa.date32()),
    "date64": pa.array(MOMENTS, pa.date64()),
    "dictionary": pa.array(MOMENTS, pa.timestamp("us")).dictionary_encode(),
    "pandas": pd.Series(MOMENTS, dtype="datetime64[us]"),
    "pandas with zone": pd.Series(MOMENTS, dtype="datetime64[us]").dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
    "datetime objects": pd.Series(MOMENTS, dtype=object),
    "date objects": pd.Series([moment.date() for moment in MOMENTS], dtype=object),
    "dates and datetimes": pd.Series([MOMENTS[0].date(), *MOMENTS[1:]], dtype=object),
    "objects with zone": pd.Series([m.replace(tzinfo=dt.UTC).astimezone(TOKYO) for m in MOMENTS], dtype=object),
}
BORN = Domain({"born": ("1900-01-01", "2050-01-01")})


def one_column(values):
    return pd.DataFrame({"born": values}) if isinstance(values, pd.Series) else pa.table({"born": values})


@pytest.mark.parametrize("values", DATES.values(), ids=DATES.keys())
def test_dates(values):
    days = [(moment - dt.datetime(1970, 1, 1)).days for moment in MOMENTS]
    as_numbers = Domain({"born": (BORN.columns["born"].low, BORN.columns["born"].high)})
    expected = Moments.from_source(np.array(days, dtype=float)[:, None], as_numbers)
    assert np.array_equal(Moments.from_source(one_column(values), BORN).floats([0, 1]), expected.floats([0, 1]))


def test_times_of_day_count():
    bounds = Domain({"born": ("2001-09-09", "2001-09-10")})
    Z = Moments.from_source(pa.table({"born": [dt.datetime(2001, 9, 9, 18)]}), bounds).floats([0, 1])
    assert Z[0, 1] == 0.5
    for values in (pa.array(TIMES), pd.Series(TIMES, dtype=object), pa.array(TIMES, pa.timestamp("us", "UTC"))):
        assert Moments.from_source(one_column(values), BORN) == Moments.from_source(pa.table({"born": TIMES}), BORN)


@pytest.mark.parametrize("values", [[5, 6], ["2001-09-09", "x"], [dt.time(5), dt.time(6)]])
def test_not_dates(values):
    for source in (pa.table({"born": values}), pd.DataFrame({"born": pd.Series(values, dtype=object)})):
        with pytest.raises(DataError, match=r"'born'.*date"):
            Moments.from_source(source, BORN)


# ---------------------------------------------------------------- errors that tell nothing


def spoilt(table, name, value):
    """The table with one bad value, and secrets beside it."""
    values = table[name].to_pylist()
    values[BAD_ROW] = value
    return table.set_column(table.column_names.index(name), name, pa.array(values))


@pytest.fixture(scope="module")
def secretive(everyone):
    incomes = everyone["income"].to_numpy().copy()
    incomes[BAD_ROW - 1 : BAD_ROW + 2] = SECRET_NUMBER
    return everyone.set_column(everyone.column_names.index("income"), "income", pa.array(incomes))


BAD_VALUES = {
    "NaN": (math.nan, "score", NUMBERS, "missing values"),
    "infinite": (math.inf, "income", NUMBERS, "infinite"),
    "minus infinite": (-math.inf, "income", NUMBERS, "infinite"),
    "null": (None, "count", NUMBERS, "missing values"),
    "undeclared level": (SECRET_LEVEL, "sex", PEOPLE, "not declared"),
    "undeclared number": (918273, "grade", PEOPLE, "not declared"),
    "null level": (None, "sex", PEOPLE, "missing values"),
    "null number": (None, "grade", PEOPLE, "missing values"),
    "null bool": (None, "member", PEOPLE, "missing values"),
    "null date": (None, "born", PEOPLE, "missing values"),
}


PAIRS = [(bad, name) for bad, (_, _, domain, _) in BAD_VALUES.items() for name in OFFERS[domain]]


@pytest.mark.parametrize(("bad", "name"), PAIRS, ids=[f"{bad}, {name}" for bad, name in PAIRS])
def test_bad_values(bad, name, secretive, tmp_path):
    value, column, domain, message = BAD_VALUES[bad]
    source = OFFERS[domain][name](spoilt(secretive, column, value), domain, tmp_path)
    assert message in refused(source, domain, column=column)


GRADES = Domain({"g": [1, 2]})


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1.0, SECRET_NUMBER]),
        pa.array([1, 918273_0000000000000], pa.uint64()),
        pa.array([1.0, SECRET_NUMBER]).dictionary_encode(),
        pd.Series([1.0, SECRET_NUMBER]),
        pd.Series([1, SECRET_NUMBER], dtype=object),
        pd.Series([1, SECRET_LEVEL], dtype=object),
        pd.Series([1, 918273 * 10**30], dtype=object),
    ],
    ids=str,
)
def test_levels_that_are_not_whole_numbers(values):
    refused(
        pd.DataFrame({"g": values}) if isinstance(values, pd.Series) else pa.table({"g": values}), GRADES, column="g"
    )


@pytest.mark.parametrize(
    "values",
    [
        [1.0, SECRET_LEVEL],
        [1.0, "918273.645"],
        [1.0, [SECRET_NUMBER]],
        [1.0, 918273 * 10**400],
        [1.0, dt.date(2000, 1, 1)],
    ],
    ids=["text", "digits", "list", "beyond float", "date"],
)
def test_objects_that_are_not_numbers(values):
    domain = Domain({"a": (0, 1)})
    refused(pd.DataFrame({"a": pd.Series(values, dtype=object)}), domain, column="a")
    column = np.empty((2, 1), dtype=object)
    column[:, 0] = values
    if values[1] != "918273.645":  # numpy reads digits as a number
        refused(column, domain)


def test_levels_that_are_not_text():
    domain = Domain({"c": ["a", "b"]})
    for odd in (5, "\ud800" + SECRET_LEVEL, dt.date(2000, 1, 1)):
        refused(pd.DataFrame({"c": pd.Series(["a", odd], dtype=object)}), domain, column="c")


TYPED = [name for name in TABLES if name not in ("Arrow, other types", "pandas nullable", "polars, other types")]


@pytest.mark.parametrize("name", TYPED)
@pytest.mark.parametrize(("column", "kind"), [("age", pa.string()), ("sex", pa.int64()), ("member", pa.int64())])
def test_wrong_types(name, column, kind, everyone, tmp_path):
    values = {pa.string(): [SECRET_LEVEL] * 50, pa.int64(): [918273] * 50}[kind]
    few = everyone[:50]
    wrong = few.set_column(few.column_names.index(column), column, pa.array(values, kind))
    refused(TABLES[name](wrong, PEOPLE, tmp_path), PEOPLE, column=column)


@every_table
def test_missing_column(offer, everyone, tmp_path):
    more = Domain({"weight": (0, 3)} | NUMBERS.columns)
    message = refused(offer(everyone, NUMBERS, tmp_path), more, column="weight")
    assert "declared but not in the data" in message


def twice(table):
    return table.append_column("age", table["age"])


@pytest.mark.parametrize(
    "make",
    [
        twice,
        lambda t: pd.concat([t.to_pandas(), t.to_pandas()[["age"]]], axis=1),
        lambda t: (t.to_pandas(), t.to_pandas()["age"]),
        lambda t: t.to_pandas().rename(columns={"unused": "age"}),
        lambda t: twice(t).to_reader(),
    ],
    ids=["Arrow", "pandas", "pair", "renamed", "stream"],
)
def test_duplicate_column(make, everyone):
    assert "stands twice" in refused(make(everyone[:50]), NUMBERS, column="age")


X4, Y4 = np.full((4, 3), 918273.645), np.full(4, 918273.645)
SHAPES = {
    "1-D X": (X4[:, 0], Y4),
    "3-D X": (X4[None], Y4),
    "scalar": (np.float64(SECRET_NUMBER), Y4),
    "ragged X": ([[1.0], [2.0, SECRET_NUMBER]], Y4),
    "too few columns": (X4[:, :2], Y4),
    "too many outcomes": (X4, np.column_stack([Y4, Y4])),
    "different lengths": (np.zeros((ROWS, 3)), np.zeros(ROWS - 1)),
    "frame and different length": (pd.DataFrame(np.zeros((ROWS, 3)), columns=["age", "score", "count"]), [0.0] * 5),
    "frame and ragged y": (pd.DataFrame(X4, columns=["age", "score", "count"]), [[1.0], [2.0, SECRET_NUMBER]]),
    "text": (np.full((4, 3), SECRET_LEVEL), Y4),
    "times": (np.zeros((4, 3), "datetime64[D]"), Y4),
    "complex": (X4 + 1j, Y4),
    "nothing": (None, Y4),
    "list": [X4, Y4],
    "number": 918273,
    "a column": pa.chunked_array([[SECRET_NUMBER]]),
}


@pytest.mark.parametrize("source", SHAPES.values(), ids=SHAPES.keys())
def test_wrong_shapes(source):
    refused(source, NUMBERS)


def test_categories_need_names():
    assert "named columns" in refused((np.zeros((4, 6)), Y4), PEOPLE)


# ---------------------------------------------------------------- files and streams that break


def test_a_stream_that_fails_tells_nothing(tmp_path):
    """A CSV stream quotes the value and the row that it cannot read."""
    lines = ["age,score,count,income"] + ["20,1,2,3000"] * 100_000 + [f"20,1,2,{SECRET_LEVEL}"]
    (tmp_path / "people.csv").write_text("\n".join(lines))
    options = pyarrow.csv.ReadOptions(block_size=1 << 16)
    assert "broke off" in refused(pyarrow.csv.open_csv(tmp_path / "people.csv", read_options=options), NUMBERS)


def test_a_stream_is_read_batch_by_batch(everyone, expected):
    drawn = []

    def batches():
        for batch in everyone.to_batches(1000):
            drawn.append(batch.num_rows)
            yield batch

    reader = pa.RecordBatchReader.from_batches(everyone.schema, batches())
    assert Moments.from_source(reader, PEOPLE) == expected[PEOPLE]
    assert len(drawn) == -(-ROWS // 1000)


@pytest.mark.parametrize("damage", ["truncated", "foreign", "empty"])
def test_damaged_parquet(damage, everyone, tmp_path):
    path = parquet(1000)(everyone, PEOPLE, tmp_path)
    content = {"truncated": path.read_bytes()[:-100], "foreign": b"a,b\n1,2\n", "empty": b""}[damage]
    path.write_bytes(content)
    assert "people.parquet is not a complete" in refused(path, PEOPLE, error=FileFormatError)


def test_damage_inside_parquet(everyone, tmp_path):
    path = parquet(1000)(everyone, PEOPLE, tmp_path)
    content = bytearray(path.read_bytes())
    content[len(content) // 4 : len(content) // 2] = bytes(len(content) // 2 - len(content) // 4)
    path.write_bytes(content)
    assert "people.parquet is damaged" in refused(path, PEOPLE, error=FileFormatError, n_jobs=2)


def test_one_file_of_several_lacks_a_column(everyone, tmp_path):
    paths = list(parquet_parts(everyone, tmp_path))
    pq.write_table(everyone.drop_columns(["sex"])[:10], paths[2])
    refused(paths, PEOPLE, column="sex")


@pytest.mark.parametrize(("name", "message"), [("none.parquet", "no file"), (".", "holds no .parquet")])
def test_no_parquet(name, message, tmp_path):
    assert message in refused(tmp_path / name, PEOPLE)


def test_names_with_dots_and_brackets(tmp_path):
    names = {"a": (0, 1), "a.b": (0, 1), "a.b.c": ["x", "y"], "ä[0]": (0, 1)}
    domain = Domain(names)
    values = {"a": [0.1, 0.2], "a.b": [0.3, 0.4], "a.b.c": ["x", "y"], "ä[0]": [0.5, 0.6]}
    path = parquet(1)(pa.table(values), domain, tmp_path)
    assert Moments.from_source(path, domain) == Moments.from_source(pd.DataFrame(values), domain)
