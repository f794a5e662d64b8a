"""Where rows come from: arrays, frames, tables, files, queries and streams; one way to read them all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.data.sources.arrays import ArraySource, as_cells
from discreet.data.sources.arrow import StreamSource, TableSource, is_stored, open_stream, with_outcome
from discreet.data.sources.base import Source
from discreet.data.sources.duckdb import RelationSource, is_relation
from discreet.data.sources.frames import FrameSource, is_frame, is_series
from discreet.data.sources.paths import open_files
from discreet.data.sources.polars import LazySource, is_lazy, is_polars
from discreet.domain import Domain
from discreet.errors import DataError


def open_source(source: Any, domain: Domain) -> Source:
    """Choose the reader for a source and check its columns against the domain, before anything is scanned."""
    if isinstance(source, (str, Path)):
        return open_files([source], domain)
    if isinstance(source, list) and source and all(isinstance(item, (str, Path)) for item in source):
        return open_files(source, domain)
    if isinstance(source, tuple) and len(source) == 2:
        return _open_pair(source[0], source[1], domain)
    if isinstance(source, np.ndarray):
        return ArraySource(source, None, domain)
    if is_frame(source):
        return FrameSource({str(name): source[name] for name in source.columns}, list(source.columns), domain)
    if is_arrow(source):
        return TableSource(as_table(source), domain)
    if is_lazy(source):
        return LazySource(source, domain)
    if is_relation(source):
        return RelationSource(source, domain)
    if hasattr(source, "__arrow_c_stream__"):
        return StreamSource(open_stream(source), domain, once=not is_stored(source))
    raise DataError(
        f"Cannot read rows from {type(source).__name__}. Give a Parquet or CSV path, a list of paths, a pandas or "
        "polars frame, an Arrow table or stream, a DuckDB relation, an array, or a pair (X, y)."
    )


def is_arrow(value: Any) -> bool:
    """Whether a value is an Arrow table in memory, or at once turned into one."""
    return isinstance(value, (pa.Table, pa.RecordBatch)) or is_polars(value)


def as_table(value: Any) -> pa.Table:
    """An Arrow table of what `is_arrow` finds."""
    if isinstance(value, pa.Table):
        return value
    return pa.Table.from_batches([value]) if isinstance(value, pa.RecordBatch) else pa.table(value)


def _open_pair(X: Any, y: Any, domain: Domain) -> Source:
    if not is_arrow(X) and not is_frame(X):
        return ArraySource(X, y, domain)
    outcomes = _outcomes(y, domain)
    if is_frame(X):
        columns = {str(name): X[name] for name in X.columns} | dict(outcomes)
        return FrameSource(columns, [*X.columns, *(name for name, _ in outcomes)], domain)
    table = as_table(X)
    for name, values in outcomes:
        if name in domain.inputs:
            table = with_outcome(table, values, name, domain.inputs[name])
    return TableSource(table, domain)


def _outcomes(y: Any, domain: Domain) -> list[tuple[str, Any]]:
    """The columns of y by name."""
    if isinstance(y, Mapping):
        return list(y.items())
    if is_frame(y):
        return [(str(name), y.iloc[:, i]) for i, name in enumerate(y.columns)]
    if is_arrow(y):
        table = as_table(y)
        return list(zip(table.column_names, table.columns, strict=True))
    values = as_column(y)
    if not is_series(values) and not isinstance(values, (pa.Array, pa.ChunkedArray)):
        values = as_cells("y", values)
        if values.ndim != 1 and values.size != len(values):
            raise DataError("y must have one column, or columns with names: give a frame or a table.")
        values = values.ravel()
    return [(_outcome_name(y, domain), values)]


def _outcome_name(y: Any, domain: Domain) -> str:
    return outcome_name(y) or next(name for name in reversed(domain.columns) if not domain.columns[name].factors)


def outcome_name(y: Any) -> str | None:
    """The name of a series, or of the only column of a table, if it has one."""
    if is_arrow(y):
        return as_table(y).column_names[0] if y.shape[1] == 1 else None
    name = getattr(y, "name", None) if is_series(y) or hasattr(y, "__arrow_c_stream__") else None
    return None if name is None or name == "" else str(name)


def as_column(y: Any) -> Any:
    """A polars series, or another one that offers an Arrow stream, as an Arrow array; others as they are."""
    if is_series(y) or isinstance(y, (pa.Array, pa.ChunkedArray)) or not hasattr(y, "__arrow_c_stream__"):
        return y
    try:
        return pa.chunked_array(y)
    except (pa.ArrowException, TypeError, ValueError, OSError):
        raise DataError("y must be one column of numbers, or of the levels of one category.") from None


__all__ = ["Source", "as_column", "as_table", "is_arrow", "open_source", "outcome_name"]
