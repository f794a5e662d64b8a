"""Arrow tables and streams, and how an Arrow column becomes numbers or codes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.columns import Categorical, Column, Numeric
from discreet.domain import Domain
from discreet.encoding import Encoder, Floats
from discreet.errors import DataError
from discreet.sources.base import Source, broken, check_lengths, check_names, hiding, spans

_DAY = 86_400_000_000  # microseconds


class ArrowSource(Source):
    """Record batches that hold the declared columns."""

    columnar = True

    def __init__(self, schema: pa.Schema, domain: Domain) -> None:
        self.domain = domain
        check_names(schema.names, domain)
        for name, column in domain.inputs.items():
            check_type(name, column, schema.field(name).type)

    def size(self, batch: pa.RecordBatch) -> int:
        """Number of rows of a batch."""
        return int(batch.num_rows)

    def fill(self, batch: pa.RecordBatch, A: Floats, encoder: Encoder) -> int:
        """Write x - c and the one-hot levels."""
        if self.domain.missing == "drop":
            batch = _without_missing(batch, self.domain)
        rows = int(batch.num_rows)
        values = {name: _read(batch, name, column) for name, column in self.domain.inputs.items()}
        for name in self.domain.columns:
            encoder.write(name, values, A[:rows])
        return rows


def _read(batch: pa.RecordBatch, name: str, column: Column) -> np.ndarray[Any, Any]:
    """Numbers, or codes of levels, of a column without missing values."""
    array = _values(batch, name, column)
    if array.null_count or (isinstance(column, Categorical) and _has_nan(array)):
        raise DataError(
            f"Column {name!r} has missing values. Remedy: declare missing='drop', or fill them before the release."
        )
    return numbers(array) if isinstance(column, Numeric) else codes(name, column, array)


class TableSource(ArrowSource):
    """An Arrow table in memory."""

    def __init__(self, table: pa.Table, domain: Domain) -> None:
        super().__init__(table.schema, domain)
        self._table = table.select(list(domain.inputs))
        self.total = table.num_rows

    def parts(self, rows: int) -> Iterator[Iterable[pa.RecordBatch]]:
        """Slices of the table."""
        wide = rows * 16
        return (
            self._table.slice(start, stop - start).to_batches(max_chunksize=rows)
            for start, stop in spans(self._table.num_rows, wide)
        )


class BatchSource(ArrowSource):
    """Record batches that come one after the other."""

    @abstractmethod
    def batches(self) -> Iterator[pa.RecordBatch]:
        """The record batches, of any length."""

    def parts(self, rows: int) -> Iterator[Iterable[pa.RecordBatch]]:
        """One part a batch."""
        for batch in self.batches():
            yield [batch.slice(start, stop - start) for start, stop in spans(batch.num_rows, rows)]


class StreamSource(BatchSource):
    """A stream of record batches; one that is a table's can be opened again, others are read once."""

    def __init__(self, reader: pa.RecordBatchReader, domain: Domain, *, once: bool = True) -> None:
        super().__init__(reader.schema, domain)
        self._reader = reader
        self.once = once

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The batches of the stream."""
        with hiding((pa.ArrowException, OSError), broken("stream of rows")):
            yield from self._reader


def open_stream(source: Any) -> pa.RecordBatchReader:
    """Read anything that offers its rows as an Arrow stream."""
    try:
        return pa.RecordBatchReader.from_stream(source)
    except (pa.ArrowException, TypeError, ValueError, OSError):
        raise DataError(f"Cannot read rows from {type(source).__name__}: its stream holds no columns.") from None


def is_stored(source: Any) -> bool:
    """Whether a source of an Arrow stream is a table, which has a size and can be read again and again."""
    return any(hasattr(source, name) for name in ("__len__", "num_rows", "shape")) and not hasattr(source, "__next__")


def with_outcome(table: pa.Table, y: Any, name: str) -> pa.Table:
    """A table with the outcome as one more column."""
    try:
        values = y if isinstance(y, (pa.Array, pa.ChunkedArray)) else pa.array(np.ravel(y), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise DataError(
            "y must hold numbers or the levels of one category; its entries are of several kinds."
        ) from None
    check_lengths([len(values), table.num_rows])
    return table.append_column(name, values)


def kind(type_: pa.DataType) -> str:
    """What an Arrow type is to a schema: number, date, category or bool; other types are named as they are."""
    t = pa.types
    if t.is_dictionary(type_):
        type_ = type_.value_type
    if t.is_integer(type_) or t.is_floating(type_) or t.is_decimal(type_):
        return "number"
    if t.is_date(type_) or t.is_timestamp(type_):
        return "date"
    if t.is_string(type_) or t.is_large_string(type_) or t.is_string_view(type_):
        return "category"
    return "bool" if t.is_boolean(type_) else str(type_)


def check_type(name: str, column: Column, type_: pa.DataType) -> None:
    """Refuse a column whose type cannot hold what its schema declares."""
    if isinstance(column, Numeric):
        wanted = "date" if column.date else "number"
    else:
        wanted = {bool: "bool", int: "number"}.get(type(column.levels[0]), "category")
    if kind(type_) != wanted:
        raise DataError(f"Column {name!r} is declared as a {wanted} but the data hold {kind(type_)} ({type_}).")


def level_type(column: Categorical) -> pa.DataType:
    """The Arrow type of a category's levels."""
    return {bool: pa.bool_(), int: pa.int64()}.get(type(column.levels[0]), pa.string())


def numbers(array: pa.Array) -> Floats:
    """Float64 values of a numeric or date column without nulls."""
    if pa.types.is_timestamp(array.type) or pa.types.is_date(array.type):
        micro = array.cast(pa.timestamp("us", getattr(array.type, "tz", None)), safe=False).cast(pa.int64())
        days: Floats = micro.to_numpy(zero_copy_only=False) / float(_DAY)
        return days
    if pa.types.is_decimal(array.type):
        array = array.cast(pa.float64(), safe=False)
    values: Floats = array.to_numpy(zero_copy_only=False)
    return values


def codes(name: str, column: Categorical, array: pa.Array) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Positions of the levels; an undeclared one is an error that names the column only."""
    try:
        if pa.types.is_dictionary(array.type):
            found = _positions(array.dictionary, column).take(array.indices)
        else:
            found = _positions(array, column)
    except pa.ArrowInvalid:  # a number that is not whole
        found = None
    if found is None or found.null_count:
        raise DataError(
            f"Column {name!r} holds a category that is not declared. Remedy: add it to the levels in the schema, "
            "from public knowledge, or recode it before the release."
        )
    positions: np.ndarray[Any, np.dtype[np.int32]] = found.to_numpy(zero_copy_only=False)
    return positions


def _values(batch: pa.RecordBatch, name: str, column: Column) -> pa.Array:
    """A column of a batch; dictionary-encoded only where it is a category whose dictionary holds no null."""
    array = batch.column(batch.schema.get_field_index(name))
    if pa.types.is_dictionary(array.type) and (isinstance(column, Numeric) or array.dictionary.null_count):
        array = array.dictionary_decode()
    return array.cast(pa.string()) if pa.types.is_string_view(array.type) else array


def _has_nan(array: pa.Array) -> bool:
    return pa.types.is_floating(array.type) and bool(pc.any(pc.is_nan(array)).as_py())


def _positions(array: pa.Array, column: Categorical) -> pa.Array:
    wide = level_type(column)
    return pc.index_in(array.cast(wide), value_set=pa.array(column.levels, type=wide))


def _without_missing(batch: pa.RecordBatch, domain: Domain) -> pa.RecordBatch:
    arrays = {name: _values(batch, name, column) for name, column in domain.inputs.items()}
    kept: Any = None
    for array in arrays.values():
        valid = pc.invert(pc.is_null(array, nan_is_null=pa.types.is_floating(array.type)))
        kept = valid if kept is None else pc.and_(kept, valid)
    return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays)).filter(kept)
