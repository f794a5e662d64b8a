"""Pandas frames and series, recognised by their shape so that pandas is never imported here."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from decimal import Decimal
from numbers import Real
from typing import Any

import pyarrow as pa

from discreet.data.sources.arrow import ArrowSource
from discreet.data.sources.base import check_lengths, check_names, comes_from, spans
from discreet.domain import Domain
from discreet.domain.arrow_columns import check_type, level_type
from discreet.domain.columns import Column, Numeric
from discreet.errors import DataError


def is_frame(value: Any) -> bool:
    """Whether a value is a pandas DataFrame."""
    return _is_pandas(value) and hasattr(value, "iloc") and hasattr(value, "columns")


def is_series(value: Any) -> bool:
    """Whether a value is a pandas Series."""
    return _is_pandas(value) and hasattr(value, "iloc") and not hasattr(value, "columns")


def _is_pandas(value: Any) -> bool:
    return comes_from(value, "pandas")


class FrameSource(ArrowSource):
    """Named columns, each a pandas Series or a one-dimensional array, turned to Arrow a slice at a time."""

    def __init__(self, columns: dict[str, Any], names: list[Any], domain: Domain) -> None:
        self.domain = domain
        check_names([str(name) for name in names], domain)
        self._columns = {name: columns[name] for name in domain.inputs}
        self.total = check_lengths(len(values) for values in self._columns.values())
        for name, column in domain.inputs.items():
            check_type(name, column, self._slice(name, 0, min(self.total, 1)).type)

    def parts(self, rows: int) -> Iterator[Iterable[pa.RecordBatch]]:
        """Slices of the frame."""
        return (self._batches(start, stop, rows) for start, stop in spans(self.total or 0, rows * 16))

    def _batches(self, start: int, stop: int, rows: int) -> Iterator[pa.RecordBatch]:
        arrays = [self._slice(name, start, stop) for name in self._columns]
        wide = pa.RecordBatch.from_arrays(arrays, names=list(self._columns))
        for i, j in spans(stop - start, rows):
            yield wide.slice(i, j - i)

    def _slice(self, name: str, start: int, stop: int) -> pa.Array:
        values = self._columns[name]
        part = values.iloc[start:stop] if is_series(values) else values[start:stop]
        column = self.domain.inputs[name]
        try:
            array = _objects(part, column) if part.dtype == object else pa.array(part, from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            wanted = ("dates" if column.date else "numbers") if isinstance(column, Numeric) else "declared levels"
            raise DataError(f"Column {name!r} must hold {wanted}; some of its entries are of another kind.") from None
        return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _objects(part: Any, column: Column) -> pa.Array:
    """Python objects as the type that the schema declares, whatever the other entries of the slice are."""
    if isinstance(column, Numeric):
        if column.date:
            return pa.array([_moment(value) for value in part], type=pa.timestamp("us"), from_pandas=True)
        try:
            return pa.array(part, type=pa.float64(), from_pandas=True)
        except pa.ArrowException:
            plain = [float(value) if isinstance(value, Decimal) else value for value in part]
            return pa.array(plain, type=pa.float64(), from_pandas=True)
    return pa.array(part, type=level_type(column), from_pandas=True)


def _moment(value: Any) -> Any:
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return dt.datetime.combine(value, dt.time())
    if isinstance(value, Real) and value == value:
        raise TypeError("a number is not a date")
    return value
