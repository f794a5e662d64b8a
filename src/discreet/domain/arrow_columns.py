"""How an Arrow column becomes numbers or codes of levels."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.domain.columns import Categorical, Column, Numeric
from discreet.errors import MISSING, DataError

Floats = NDArray[np.float64]

DAY = 86_400_000_000
"""Microseconds of a day."""

_TICKS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_WORDS = {4: np.int32, 8: np.int64, 16: np.int64, 32: np.int64}
_EXACT = 1 << 53
_EXACT_POWER = 22
"""Whole numbers up to 2^53, and powers of ten up to this, are exact in float64, so their quotient is rounded once."""


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
    """Float64 values of a numeric or date column without nulls; dates are counted in days."""
    if pa.types.is_timestamp(array.type) or pa.types.is_date(array.type):
        return _days(array)
    if pa.types.is_decimal(array.type):
        return decimals(array)
    values: Floats = array.to_numpy(zero_copy_only=False)
    return values


def _days(array: pa.Array) -> Floats:
    """Days since 1970 of moments, to the microsecond; what is finer is cut off towards the past."""
    if pa.types.is_date32(array.type):
        whole: Floats = array.cast(pa.int32()).to_numpy(zero_copy_only=False).astype(np.float64)
        return whole
    unit = "ms" if pa.types.is_date64(array.type) else array.type.unit
    ticks = array.cast(pa.int64()).to_numpy(zero_copy_only=False)
    if unit == "ns":
        ticks = ticks // 1000
    elif unit != "us":
        most = np.iinfo(np.int64).max // _TICKS[unit]
        if len(ticks) and (ticks.min() < -most or ticks.max() > most):
            raise OverflowError("a date too far away")
        ticks = ticks * _TICKS[unit]
    days: Floats = ticks / float(DAY)
    return days


def decimals(array: pa.Array) -> Floats:
    """The nearest float64 of every decimal number of a column without nulls, whatever the scale of its type.

    Examples
    --------
    >>> from decimal import Decimal
    >>> decimals(pa.array([Decimal("0.10"), Decimal("-2.50")])).tolist()
    [0.1, -2.5]
    """
    width, scale = array.type.byte_width, array.type.scale
    words, end = max(1, width // 8), array.offset + len(array)
    parts = np.frombuffer(array.buffers()[1] or b"", dtype=_WORDS[width], count=end * words).reshape(-1, words)
    parts = parts[array.offset :]
    low = parts[:, 0].astype(np.int64)
    exact = (low >= -_EXACT) & (low <= _EXACT) & (parts[:, 1:] == (low >> 63)[:, None]).all(axis=1)
    power = 10.0 ** min(abs(scale), _EXACT_POWER)
    values: Floats = low * power if scale < 0 else low / power
    rest = np.arange(len(array)) if abs(scale) > _EXACT_POWER else np.flatnonzero(~exact)
    values[rest] = [float(value) for value in array.take(pa.array(rest)).to_pylist()]
    return values


def codes(name: str, column: Categorical, array: pa.Array) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Positions of the levels; an undeclared one is an error that names the column only."""
    if pa.types.is_dictionary(array.type):
        found = _positions(array.dictionary, column).take(array.indices)
    else:
        found = _positions(array, column)
    if found.null_count:
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
    if isinstance(column, Categorical):
        return codes(name, column, array)
    try:
        return numbers(array)
    except OverflowError:
        raise DataError(
            f"Column {name!r} holds dates that are too far away to be counted in microseconds. Remedy: mend them "
            "before the release."
        ) from None


def plain(array: pa.Array, column: Column) -> pa.Array:
    """A column; dictionary-encoded only where it is a category whose dictionary lacks no value."""
    if pa.types.is_dictionary(array.type):
        lacks = array.dictionary.null_count or _has_nan(array.dictionary)
        array = array.dictionary_decode() if isinstance(column, Numeric) or lacks else array
    return array.cast(pa.string()) if pa.types.is_string_view(array.type) else array


def _has_nan(array: pa.Array) -> bool:
    return pa.types.is_floating(array.type) and bool(pc.any(pc.is_nan(array)).as_py())


def _positions(array: pa.Array, column: Categorical) -> pa.Array:
    """Places among the levels, null for what is none of them; each entry is looked up by itself."""
    wide = level_type(column)
    array = _whole(array) if pa.types.is_int64(wide) else array.cast(wide)
    return pc.index_in(array, value_set=pa.array(column.levels, type=wide))


def _whole(array: pa.Array) -> pa.Array:
    """Whole numbers of 64 bits, exactly; null for numbers that are none."""
    if pa.types.is_floating(array.type):
        values = array.to_numpy(zero_copy_only=False).astype(np.float64)
        whole = (np.rint(values) == values) & (np.abs(values) < 2.0**63)
        return pa.array(np.where(whole, values, 0.0).astype(np.int64), mask=~whole)
    if pa.types.is_uint64(array.type):
        return pc.if_else(pc.less_equal(array, np.iinfo(np.int64).max), array, None).cast(pa.int64())
    if pa.types.is_decimal(array.type):
        return pa.array(map(_as_whole, array.to_pylist()), pa.int64())
    return array.cast(pa.int64())


def _as_whole(value: Decimal | None) -> int | None:
    return int(value) if value is not None and value == int(value) and -(2**63) <= value < 2**63 else None
