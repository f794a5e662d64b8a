"""The sources by which a table may reach an estimator: in memory, in files, or in an engine."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from discreet.data.sources.base import missing_package
from discreet.errors import ParameterError

_PARTS = 3


def _parquet(table: pa.Table, folder: Path) -> Any:
    pa.parquet.write_table(table, folder / "table.parquet", row_group_size=8)
    return folder / "table.parquet"


def _csv(table: pa.Table, folder: Path) -> Any:
    pa.csv.write_csv(table, folder / "table.csv")
    return folder / "table.csv"


def _polars(table: pa.Table, folder: Path) -> Any:
    try:
        import polars
    except ImportError:
        raise missing_package("polars") from None
    return polars.from_arrow(table).lazy()  # type: ignore[union-attr]


def _duckdb(table: pa.Table, folder: Path) -> Any:
    try:
        import duckdb
    except ImportError:
        raise missing_package("duckdb") from None
    return duckdb.connect().from_arrow(table)


def _dask(table: pa.Table, folder: Path) -> Any:
    try:
        import dask.dataframe
    except ImportError:
        raise missing_package("dask") from None
    return dask.dataframe.from_pandas(table.to_pandas(), npartitions=_PARTS, sort=False)


Way = Callable[[pa.Table, Path], Any]
"""A function from a table and an empty folder to a source of rows."""

PATHS: dict[str, Way] = {
    "memory": lambda table, folder: table,
    "pandas": lambda table, folder: table.to_pandas(),
    "parquet": _parquet,
    "csv": _csv,
    "polars": _polars,
    "duckdb": _duckdb,
    "dask": _dask,
}
"""The functions by name."""


@contextlib.contextmanager
def offered(tables: tuple[pa.Table, pa.Table], path: str | Way) -> Iterator[tuple[Any, Any]]:
    """Offer two tables as sources of rows inside a ``with`` block."""
    if isinstance(path, str) and path not in PATHS:
        raise ParameterError(f"There is no path {path!r}. Known: {', '.join(PATHS)}.")
    way = PATHS[path] if isinstance(path, str) else path
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder, side) for side in ("first", "second")]
        for place in places:
            place.mkdir()
        first, second = (way(table, place) for table, place in zip(tables, places, strict=True))
        yield first, second
