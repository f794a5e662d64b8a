"""How an Arrow column becomes numbers or codes of levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.domain.columns import Categorical, Column, Numeric
from discreet.errors import MISSING, DataError

Floats = NDArray[np.float64]

_DAY = 86_400_000_000  # microseconds


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
            f"from public knowledge, or recode it before the release.{_bounds_meant(column)}"
        )
    positions: np.ndarray[Any, np.dtype[np.int32]] = found.to_numpy(zero_copy_only=False)
    return positions


def _bounds_meant(column: Categorical) -> str:
    """A hint where two numbers in a list may have been meant as bounds."""
    levels = column.levels
    if len(levels) != 2 or not all(isinstance(level, int) and not isinstance(level, bool) for level in levels):
        return ""
    low, high = levels
    return (
        f" A list such as [{low}, {high}] names levels: if bounds are meant, write ({low}, {high}) in Python, "
        f"{{ low = {low}, high = {high} }} in a schema."
    )


def read_column(array: pa.Array, name: str, column: Column) -> np.ndarray[Any, Any]:
    """Numbers, or codes of levels, of a column without missing values."""
    array = plain(array, column)
    if array.null_count or (isinstance(column, Categorical) and _has_nan(array)):
        raise DataError(f"Column {name!r} has missing values. Remedy: {MISSING}.")
    return numbers(array) if isinstance(column, Numeric) else codes(name, column, array)


def plain(array: pa.Array, column: Column) -> pa.Array:
    """A column; dictionary-encoded only where it is a category whose dictionary holds no null."""
    if pa.types.is_dictionary(array.type) and (isinstance(column, Numeric) or array.dictionary.null_count):
        array = array.dictionary_decode()
    return array.cast(pa.string()) if pa.types.is_string_view(array.type) else array


def _has_nan(array: pa.Array) -> bool:
    return pa.types.is_floating(array.type) and bool(pc.any(pc.is_nan(array)).as_py())


def _positions(array: pa.Array, column: Categorical) -> pa.Array:
    wide = level_type(column)
    return pc.index_in(array.cast(wide), value_set=pa.array(column.levels, type=wide))
