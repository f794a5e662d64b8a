"""One table of made-up people, every way to offer it, and the check that a refusal tells nothing."""

import itertools

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tables import full_text

from discreet import Domain, Moments
from discreet.domain.kinds.categorical import Categorical
from discreet.errors import DataError

ROWS, BAD_ROW = 20_011, 13_717
SECRET_NUMBER, SECRET_LEVEL = 918273.645, "SECRETLEVEL"

NUMBERS = Domain({"age": (18, 90), "score": (-2, 5), "count": (0, 100), "income": (0, 200_000)})
PEOPLE = Domain(
    {
        "age": (18, 90),
        "sex": ["F", "M"],
        "score": (-2, 5),
        "grade": [3, 1, 2],
        "member": bool,
        "born": ("1920-01-01", "2010-12-31"),
        "income": (0, 200_000),
    }
)
BALL = Domain.from_bounds(["age", "score", "count"], ["income"], data_norm=30.0, bounds_y=(0, 200_000))


def people(rows=ROWS, seed=0):
    """A table of made-up people, some of whose values lie outside the bounds; numbers fit float32."""
    rng = np.random.default_rng(seed)
    days = rng.integers(-20_000, 16_000, rows).astype("datetime64[D]")
    return pa.table(
        {
            "unused": pa.array([None] * rows, pa.float64()),
            "age": rng.normal(50, 25, rows).astype(np.float32).astype(float),
            "sex": rng.choice(["F", "M"], rows),
            "score": rng.normal(size=rows).astype(np.float32).astype(float),
            "grade": rng.integers(1, 4, rows),
            "member": rng.random(rows) < 0.3,
            "born": pa.array(days),
            "count": rng.integers(-5, 120, rows),
            "income": rng.lognormal(10, 1, rows).astype(np.float32).astype(float),
        }
    )


# ---------------------------------------------------------------- the ways to offer a table


def matrix(table, names):
    """The columns as one float64 matrix, missing values as NaN."""
    return np.column_stack([table[name].cast(pa.float64()).to_numpy() for name in names])


def arrays(order="C", dtype=float):
    def offer(table, domain, _):
        A = np.asarray(matrix(table, list(domain.columns)), dtype=dtype, order=order)
        return A[:, :-1], A[:, -1]

    return offer


def one_array(table, domain, _):
    return matrix(table, list(domain.columns))


def lists(table, domain, _):
    A = matrix(table, list(domain.columns))
    return A[:, :-1].tolist(), A[:, -1].tolist()


def objects(table, domain, _):
    A = matrix(table, list(domain.columns)).astype(object)
    return A[:, :-1], A[:, -1]


def frame(change=lambda frame, domain: frame, **options):
    return lambda table, domain, _: change(table.to_pandas(**options), domain)


def as_objects(frame, domain):
    return frame.astype(object)


def as_categories(frame, domain):
    names = [name for name, spec in domain.columns.items() if isinstance(spec, Categorical)]
    return frame.astype(dict.fromkeys(names, "category"))


def as_nullable(frame, domain):
    kinds = {"count": "Int64", "grade": "Int64", "member": "boolean", "sex": "string", "age": "Float64"}
    return frame.astype(kinds)


def as_pieces(frame, domain):
    return pd.concat([frame[:100], frame[100:101], frame[101:]])


def as_pair(frame, domain):
    *features, target = domain.columns
    return frame[features], frame[target]


def as_unnamed_pair(frame, domain):
    X, y = as_pair(frame, domain)
    return X, y.to_numpy()


def as_frame_pair(frame, domain):
    X, y = as_pair(frame, domain)
    return X, y.to_frame()


def table(change=lambda table: table):
    return lambda table, domain, _: change(table)


def chunked(table, size):
    return pa.Table.from_batches(table.to_batches(max_chunksize=size), table.schema)


def dictionaries(table):
    for i, name in enumerate(table.column_names):
        if name not in ("unused", "age"):
            table = table.set_column(i, name, table[name].dictionary_encode())
    return table


def wide_types(table):
    kinds = {"sex": pa.large_string(), "count": pa.int16(), "grade": pa.float64(), "income": pa.float32()}
    return table.cast(pa.schema([(field.name, kinds.get(field.name, field.type)) for field in table.schema]))


def stream(size):
    return lambda table, domain, _: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(size))


def parquet(size):
    def offer(table, _, folder):
        pq.write_table(table, folder / "people.parquet", row_group_size=size)
        return folder / "people.parquet"

    return offer


def parquet_parts(table, folder):
    cuts = [0, 1, 5_000, 5_001, max(5_001, table.num_rows)]
    for i, (start, stop) in enumerate(itertools.pairwise(cuts)):
        (folder / f"{i % 2}").mkdir(exist_ok=True)
        path = folder / f"{i % 2}" / f"part{i}.parquet"
        pq.write_table(table.slice(start, stop - start), path, row_group_size=700)
        yield str(path)


def parquet_folder(table, _, folder):
    return str([folder, *parquet_parts(table, folder)][0])


def parquet_list(table, _, folder):
    return list(parquet_parts(table, folder))


def csv(ending=".csv", **options):
    def offer(table, _, folder):
        path = folder / f"people{ending}"
        with pa.CompressedOutputStream(path, "gzip") if ending.endswith(".gz") else pa.OSFile(str(path), "wb") as file:
            pyarrow.csv.write_csv(table, file, pyarrow.csv.WriteOptions(**options))
        return path

    return offer


def csv_parts(table, folder):
    for i, (start, stop) in enumerate([(0, 1), (1, 5_000), (5_000, max(5_000, table.num_rows))]):
        ending = [".csv", ".CSV", ".csv.gz"][i]
        (folder / f"{i}").mkdir(exist_ok=True)
        reordered = table.select(table.column_names[:: (-1) ** i])
        yield str(csv(ending)(reordered[start:stop], None, folder / f"{i}"))


def csv_folder(table, _, folder):
    return [folder, *csv_parts(table, folder)][0]


def csv_list(table, _, folder):
    return list(csv_parts(table, folder))


def polars_frame(change=lambda frame: frame):
    return lambda table, domain, _: change(pl.from_arrow(table))


def polars_categories(frame):
    return frame.with_columns(pl.col("sex").cast(pl.Categorical), pl.col("count").cast(pl.Int16))


def polars_pair(frame):
    return frame.drop("income"), frame["income"]


class Producer:
    """A table of a package that nobody knows, which offers its rows as an Arrow stream."""

    def __init__(self, table):
        self.table = table
        self.num_rows = table.num_rows

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def relation(table, domain, _):
    return duckdb.from_arrow(table)


def relation_of_file(table, domain, folder):
    pq.write_table(table, folder / "people.parquet")
    return duckdb.read_parquet(str(folder / "people.parquet")).filter("true")


ARRAYS = {
    "arrays": arrays(),
    "Fortran arrays": arrays("F"),
    "float32 arrays": arrays(dtype=np.float32),
    "object arrays": objects,
    "one array": one_array,
    "lists": lists,
}
TABLES = {
    "pandas": frame(),
    "pandas objects": frame(as_objects),
    "pandas categories": frame(as_categories),
    "pandas nullable": frame(as_nullable),
    "pandas Arrow": frame(types_mapper=pd.ArrowDtype),
    "pandas pieces": frame(as_pieces, types_mapper=pd.ArrowDtype),
    "pandas pair": frame(as_pair),
    "pandas pair, unnamed": frame(as_unnamed_pair),
    "pandas pair of frames": frame(as_frame_pair),
    "Arrow": table(),
    "Arrow, small chunks": table(lambda t: chunked(t, 999)),
    "Arrow, odd chunks": table(lambda t: pa.concat_tables([t[:1], t[1:17_000], t[17_000:]])),
    "Arrow dictionaries": table(dictionaries),
    "Arrow, other types": table(wide_types),
    "Arrow, other order": table(lambda t: t.select(t.column_names[::-1])),
    "stream of 7,001": stream(7_001),
    "stream of 130": stream(130),
    "Parquet": parquet(1 << 20),
    "Parquet, groups of 3,001": parquet(3_001),
    "Parquet, groups of 250": parquet(250),
    "Parquet folder": parquet_folder,
    "list of Parquet files": parquet_list,
    "CSV": csv(),
    "CSV, semicolons": csv(delimiter=";"),
    "CSV, quoted": csv(quoting_style="all_valid"),
    "CSV, compressed": csv(".csv.gz"),
    "CSV folder": csv_folder,
    "list of CSV files": csv_list,
    "polars": polars_frame(),
    "polars, other types": polars_frame(polars_categories),
    "polars, lazy": polars_frame(lambda frame: frame.lazy()),
    "polars pair": polars_frame(polars_pair),
    "DuckDB": relation,
    "DuckDB on a file": relation_of_file,
    "unknown producer": table(Producer),
    "record batch": table(lambda t: t.combine_chunks().to_batches()[0] if t.num_rows else t),
}
OFFERS = {NUMBERS: ARRAYS | TABLES, PEOPLE: TABLES}


SECRETS = [str(ROWS), str(BAD_ROW), str(BAD_ROW + 1), "918273", SECRET_LEVEL]


def refused(source, domain, *, column=None, error=DataError, **options):
    """The source is refused, the column is named, and nothing else is told, in chained exceptions neither."""
    with pytest.raises(error) as caught:
        Moments.from_source(source, domain, **options)
    assert column is None or f"'{column}'" in str(caught.value)
    text = full_text(caught.value)
    assert not [secret for secret in SECRETS if secret in text]
    return str(caught.value)
