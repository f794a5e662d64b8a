"""Tables of all kinds, valid and invalid, with planted values."""

from __future__ import annotations

import datetime
import decimal
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from discreet import Domain
from tools.soak.watch import Marks

SCHEMA = {"age": (0, 100), "score": (-3, 3), "region": ["north", "south", "west"], "smoker": bool, "income": (0, 100)}
FEATURES = ["age", "score", "region", "smoker"]

SPOILT: tuple[Any, ...] = (
    None, float("nan"), float("inf"), -1e308, 1e308, 5e-324, 2**70, "", " ", "north ", "47", "x", b"north", True, "NaN",
    "1e400", [1, 2], {"a": 1}, decimal.Decimal("1.5"), decimal.Decimal("NaN"), datetime.date(2020, 1, 1), pd.NaT, pd.NA,
    datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), datetime.timedelta(1), 1j, np.float16(3), "\x00", "\ud800",
)  # fmt: skip


def frame(rng: random.Random, marks: Marks) -> pd.DataFrame:
    """Made-up people, one of whom has the marks for values."""
    draw = np.random.default_rng(rng.randrange(2**32))
    n = marks.rows
    people = pd.DataFrame({"age": draw.uniform(0, 100, n), "score": draw.normal(size=n)})
    people["region"], people["smoker"] = draw.choice(SCHEMA["region"], n), draw.random(n) < 0.4
    people["income"] = np.clip(30 + 0.3 * people["age"] + draw.normal(0, 10, n), 0, 100)
    at = rng.randrange(n)
    people.loc[at, ["age", "income"]] = marks.numbers[:2]
    return people


def spoilt(people: pd.DataFrame, rng: random.Random, marks: Marks) -> pd.DataFrame:
    """The same with something wrong, or odd, in some place; sometimes the mark is what is wrong."""
    kind = rng.randrange(9)
    name = rng.choice(list(people.columns))
    if kind <= 3:
        bad = rng.choice([*SPOILT, marks.word, str(marks.numbers[2]), marks.numbers[2], 1e6 * marks.numbers[2]])
        values = people[name].astype(object).tolist()
        for _ in range(rng.choice([1, 1, 3])):
            values[rng.randrange(len(values))] = bad
        return people.assign(**{name: pd.Series(values, dtype=object)})
    if kind == 4:
        return people.drop(columns=[name])
    if kind == 5:
        return people.rename(columns={name: rng.choice(["Age", "income", "", " age", "region\n"])})
    if kind == 6:
        types = ["float32", "Int64", "category", "string", "datetime64[ns]", "float16", "int8", "complex128", "bool"]
        try:
            return people.astype({name: rng.choice(types)})
        except Exception:
            return people
    if kind == 7:
        return people.iloc[: rng.choice([0, 1, 2])]
    return pd.concat([people, people[[name]]], axis=1)


def offered(people: pd.DataFrame, rng: random.Random, folder: Path) -> Any:
    """The frame as one of the things that people pass; some cannot hold it, and it stays a frame then."""
    kind = rng.choice(
        ["pandas", "polars", "lazy", "arrow", "stream", "csv", "parquet", "duckdb", "array", "list", "path"]
    )
    try:
        table = pa.Table.from_pandas(people, preserve_index=False)
        if kind == "polars":
            return pl.from_pandas(people)
        if kind == "lazy":
            return pl.from_pandas(people).lazy()
        if kind == "arrow":
            return table
        if kind == "stream":
            return table.to_reader()
        if kind in ("csv", "path"):
            path = folder / "people.csv"
            if rng.random() < 0.5:
                csv.write_csv(table, path)
            else:
                people.to_csv(path, index=rng.random() < 0.2, sep=rng.choice(",,;\t|"), encoding=rng.choice(_CODES))
            return str(path) if kind == "path" else path
        if kind == "parquet":
            pq.write_table(table, folder / "people.parquet", row_group_size=rng.choice([1, 50, 10_000]))
            return folder / "people.parquet"
        if kind == "duckdb":
            import duckdb

            return duckdb.connect().from_arrow(table)
    except Exception:
        return people
    return people.to_numpy() if kind == "array" else people.values.tolist() if kind == "list" else people


_CODES = ("utf-8", "utf-8", "latin-1", "utf-16", "utf-8-sig")


def domain(rng: random.Random) -> Domain:
    """The schema, or a part of it, or one that says something else."""
    columns: dict[str, Any] = dict(SCHEMA)
    if rng.random() < 0.3:
        name = rng.choice(list(columns))
        columns[name] = rng.choice([(0, 1), (-1e300, 1e300), ["a", "b"], [1, 2, 3], bool, (50, 50.0001), ("a", "b")])
    if rng.random() < 0.1:
        columns = {name: columns[name] for name in rng.sample(list(columns), rng.randrange(1, 5))}
    options: dict[str, Any] = {}
    if rng.random() < 0.2:
        options["missing"] = rng.choice(["drop", "error"])
    if rng.random() < 0.15:
        options |= {"person": "region", "rows_per_person": rng.choice([1, 5, 1000])}
        columns.pop("region", None)
    if rng.random() < 0.1:
        options |= {"weights": "age", "largest_weight": rng.choice([1.0, 100.0])}
        columns.pop("age", None)
    return Domain(columns, **options)
