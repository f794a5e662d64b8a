"""Pandas frames and series, recognised by their shape so that pandas is never imported here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from discreet.columns import Column, Numeric
from discreet.domain import Domain
from discreet.errors import DataError
from discreet.sources.arrow import ArrowSource, check_type
from discreet.sources.base import check_names, spans


def is_frame(value: Any) -> bool:
    """Whether a value is a pandas DataFrame."""
    return type(value).__module__.startswith("pandas.") and hasattr(value, "columns") and hasattr(value, "iloc")


def is_series(value: Any) -> bool:
    """Whether a value is a pandas Series."""
    return type(value).__module__.startswith("pandas.") and hasattr(value, "name") and hasattr(value, "iloc")


class FrameSource(ArrowSource):
    """Named columns, each a pandas Series or a one-dimensional array, turned to Arrow a slice at a time."""

    def __init__(self, columns: dict[str, Any], names: list[Any], domain: Domain) -> None:
        self.domain = domain
        check_names([str(name) for name in names], domain)
        self._columns = {name: columns[name] for name in domain.columns}
        lengths = {len(values) for values in self._columns.values()}
        if len(lengths) > 1:
            raise DataError("X and y have different lengths: they must describe the same people.")
        self.total = lengths.pop()
        for name, column in domain.columns.items():
            check_type(name, column, self._slice(name, 0, min(self.total, 1)).type)

    def parts(self, rows: int) -> Iterator[Iterable[pa.RecordBatch]]:
        """Slices of the frame."""
        return (self._batches(start, stop) for start, stop in spans(self.total or 0, rows))

    def _batches(self, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        arrays = [self._slice(name, start, stop) for name in self._columns]
        yield pa.RecordBatch.from_arrays(arrays, names=list(self._columns))

    def _slice(self, name: str, start: int, stop: int) -> pa.Array:
        values = self._columns[name]
        part = values.iloc[start:stop] if is_series(values) else values[start:stop]
        column = self.domain.columns[name]
        try:
            if part.dtype == object:
                return pa.array(part, type=_type(column), from_pandas=True)
            return pa.array(part, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            wanted = "numbers" if isinstance(column, Numeric) else "declared levels"
            raise DataError(f"Column {name!r} must hold {wanted}; some of its entries are of another kind.") from None


def _type(column: Column) -> pa.DataType:
    if isinstance(column, Numeric):
        return pa.timestamp("us") if column.date else pa.float64()
    return {bool: pa.bool_(), int: pa.int64()}.get(type(column.levels[0]), pa.string())
