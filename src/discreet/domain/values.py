"""How the entries of a column become an Arrow array, and how that becomes numbers or codes of levels.

Each entry becomes what is declared, by itself, whatever stands beside it.

Arrow, numpy and pandas find the type of a list by looking at all of its entries, so that one entry can change what the
others become: a date among datetimes takes the time of day from all of them, a float among whole numbers rounds them.
One row then moves more than itself. Here a type is never found from values. A container that has a type of its own (an
Arrow array, an array of numbers, a typed series) keeps it; Python objects become what the declaration asks for.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from numbers import Real
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.core.arrays import Floats
from discreet.domain.columns import Categorical, Column, Identifier, Numeric, Read
from discreet.domain.keys import WHO, is_key_type, key_of
from discreet.errors import FILL, MISSING, DataError

FAILURES = (pa.ArrowException, TypeError, ValueError, ArithmeticError)
"""What a conversion raises for an entry of another kind; the words of these errors quote it."""

_DAY = 86_400_000_000
"""Microseconds of a day."""

_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_TICKS = {"W": 7 * _DAY, "D": _DAY, "h": _DAY // 24, "m": 60_000_000, "s": 1_000_000, "ms": 1_000, "us": 1}
_FRACTIONS = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}
_MOST_MONTHS = 12 * 300_000  # beyond the years that microseconds of 64 bits can count
_ARROW_UNITS = ("D", "s", "ms", "us", "ns")
_PLAIN = {float, int, bool, NoneType, np.bool_} | {np.dtype(code).type for code in "bBhHiIlLqQefd"}
"""Types of numbers that numpy turns into the nearest float64 one by one, when told to; None becomes NaN."""

_WORDS = {4: np.int32, 8: np.int64, 16: np.int64, 32: np.int64}
_EXACT = 1 << 53
_EXACT_POWER = 22
"""Whole numbers up to 2^53, and powers of ten up to this, are exact in float64, so their quotient is rounded once."""


def as_arrow(values: Any, name: str, column: Read) -> pa.Array | pa.ChunkedArray:
    """A column of any container as an Arrow array.

    Parameters
    ----------
    values : Arrow array, pandas series, array of one dimension, or list
        The entries.
    name : str
        The column, for the error.
    column : Numeric, Categorical or Identifier
        What is declared: Python objects become float64, timestamps in microseconds (UTC), the type of the levels, or
        text.

    Examples
    --------
    >>> as_arrow([1, Decimal("0.5"), None], "age", Numeric(0, 2)).to_pylist()
    [1.0, 0.5, None]
    """
    try:
        return _converted(values, column)
    except FAILURES:
        wanted = ("dates" if column.date else "numbers") if isinstance(column, Numeric) else "declared levels"
        wanted = WHO if isinstance(column, Identifier) else wanted
        raise DataError(f"Column {name!r} must hold {wanted}; some of its entries are of another kind.") from None


def floats(values: Sequence[Any]) -> Floats:
    """The nearest float64 of every number; NaN where one is missing.

    Examples
    --------
    >>> floats([1, Decimal("0.1"), None]).tolist()
    [1.0, 0.1, nan]
    """
    plain = set(map(type, values)) <= _PLAIN
    return np.array(values if plain else [_number(value) for value in values], dtype=np.float64)


def entries(values: Any) -> list[Any]:
    """The entries of a column of any container as objects, each of the type that it has there.

    Examples
    --------
    >>> entries(np.array([1, 2])), entries(pa.array(["a", None]))
    ([1, 2], ['a', None])
    """
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return list(values.to_pylist())
    if is_categories(values):
        codes, categories = _codes_and_categories(values)
        known = [*entries(categories), None]
        return [known[code] for code in codes.tolist()]
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        return list(values)
    return list(values.tolist() if hasattr(values, "tolist") else values)


def is_categories(values: Any) -> bool:
    """Whether a column is a pandas categorical."""
    return type(getattr(values, "dtype", None)).__name__ == "CategoricalDtype"


def is_missing(value: Any) -> bool:
    """Whether an entry stands for a missing value: None, NaN, NaT, NA, or what a mask hides."""
    if value is None or value is np.ma.masked:
        return True
    if isinstance(value, (float, np.floating, np.datetime64)):
        return bool(value != value)
    if isinstance(value, Decimal):
        return value.is_nan()
    kind = type(value)
    return kind.__name__ in ("NAType", "NaTType") and kind.__module__.partition(".")[0] == "pandas"


# -------------------------------------------------------------------- containers


def _converted(values: Any, column: Read) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if is_categories(values):
        codes, categories = _codes_and_categories(values)
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), _converted(categories, column))
    dtype = getattr(values, "dtype", None)
    if dtype is None or dtype == np.dtype(object):
        return _declared(_without_masked(values), column)
    if not isinstance(dtype, np.dtype):
        return pa.array(values, from_pandas=True) if _knows_arrow(values, dtype) else _declared(list(values), column)
    if dtype.kind == "T" or (dtype.kind == "M" and np.datetime_data(dtype) not in [(unit, 1) for unit in _ARROW_UNITS]):
        return _declared(list(values), column)
    if dtype.kind == "f" and dtype.itemsize > 8:
        values = values.astype(np.float64)
    elif not dtype.isnative:
        values = values.astype(dtype.newbyteorder("="))
    hidden = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    return pa.array(values if hidden is None else values.data, mask=hidden, from_pandas=True)


def _knows_arrow(values: Any, dtype: Any) -> bool:
    """Whether a container of pandas has a type that is one of Arrow's, which finds one for objects from values."""
    return getattr(dtype, "kind", "O") != "O" or hasattr(getattr(values, "array", values), "__arrow_array__")


def _codes_and_categories(values: Any) -> tuple[NDArray[Any], Any]:
    own = getattr(values, "cat", values)
    return np.asarray(own.codes), own.categories


def _without_masked(values: Any) -> list[Any]:
    if isinstance(values, np.ma.MaskedArray):
        values = np.where(np.ma.getmaskarray(values), None, values.data)  # type: ignore[call-overload]
    return list(values)


# -------------------------------------------------------------------- objects


def _declared(values: list[Any], column: Read) -> pa.Array:
    """Python objects as the type that is declared."""
    if isinstance(column, Identifier):
        return pa.array(_each(key_of, values), pa.string())
    if isinstance(column, Numeric):
        if not column.date:
            return pa.array(floats(values), from_pandas=True)
        return pa.array(_each(_microseconds, values), type=pa.int64()).cast(pa.timestamp("us"))
    convert, plain = {bool: (_truth, bool), int: (_whole, int)}.get(type(column.levels[0]), (_text, str))
    if set(map(type, values)) <= {plain, NoneType}:
        return pa.array(values, type=level_type(column))
    return pa.array(_each(convert, values), type=level_type(column))


def _each(convert: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
    return [None if is_missing(value) else convert(value) for value in values]


def _number(value: Any) -> float:
    return np.nan if is_missing(value) else float(_real(value))


def _real(value: Any) -> Any:
    """A real number as it is; numpy counts lengths of time among the whole numbers."""
    if isinstance(value, np.timedelta64) or not isinstance(value, (Real, Decimal, np.bool_)):
        raise TypeError("not a real number")
    return value


def _whole(value: Any) -> int:
    if isinstance(value, (bool, np.bool_)):
        raise TypeError("a truth value is not a whole number")
    whole = int(_real(value))
    if whole != value:
        raise ValueError("not a whole number")
    return whole


def _truth(value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError("not a truth value")
    return bool(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not text")
    return str.__str__(value)


def _microseconds(value: Any) -> int:
    """Microseconds since 1970, in UTC; what is finer is cut off towards the past."""
    if isinstance(value, dt.datetime) and hasattr(value, "to_datetime64"):  # of pandas, which knows more units
        value = value.to_datetime64()
    if isinstance(value, np.datetime64):
        return _numpy_microseconds(value)
    if isinstance(value, dt.datetime):
        return (value.replace(tzinfo=None) - _EPOCH - (value.utcoffset() or dt.timedelta())) // _MICROSECOND
    if isinstance(value, dt.date):
        return (value - _EPOCH.date()).days * _DAY
    raise TypeError("not a date")


def _numpy_microseconds(value: np.datetime64) -> int:
    unit, count = np.datetime_data(value.dtype)
    ticks = int(value.astype(np.int64)) * count
    if unit in ("Y", "M"):
        if abs(ticks) * (12 if unit == "Y" else 1) > _MOST_MONTHS:
            raise OverflowError("a date too far away")
        return int(value.astype("datetime64[D]").astype(np.int64)) * _DAY
    return ticks * _TICKS[unit] if unit in _TICKS else ticks // _FRACTIONS[unit]


# -------------------------------------------------------------------- Arrow to numbers and codes


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


def check_type(name: str, column: Read, type_: pa.DataType) -> None:
    """Refuse a column whose type cannot hold what its schema declares; columns of 0 and 1 may be of truth values."""
    if isinstance(column, Identifier):
        if not is_key_type(type_):
            raise DataError(f"Column {name!r} must hold {WHO}; the data hold {kind(type_)} ({type_}).")
        return
    if isinstance(column, Numeric):
        wanted = "date" if column.date else "number"
    else:
        wanted = {bool: "bool", int: "number"}.get(type(column.levels[0]), "category")
    if kind(type_) != wanted and {kind(type_), wanted} != {"number", "bool"}:
        raise DataError(f"Column {name!r} is declared as a {wanted} but the data hold {kind(type_)} ({type_}).")


def level_type(column: Categorical) -> pa.DataType:
    """The Arrow type of a category's levels."""
    return {bool: pa.bool_(), int: pa.int64()}.get(type(column.levels[0]), pa.string())


@contextlib.contextmanager
def predicting() -> Iterator[None]:
    """Read rows that are to be predicted: a remedy for missing values is one that helps there."""
    try:
        yield
    except DataError as error:
        if MISSING not in str(error):
            raise
        raise DataError(*(line.replace(MISSING, FILL) for line in error.args)) from None


def _numbers(array: pa.Array) -> Floats:
    """Float64 values of a numeric or date column without nulls; dates are counted in days."""
    if pa.types.is_timestamp(array.type) or pa.types.is_date(array.type):
        return _days(array)
    if pa.types.is_decimal(array.type):
        return decimals(array)
    values: Floats = array.to_numpy(zero_copy_only=False)
    return values.astype(np.float64) if values.dtype == bool else values


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
    days: Floats = ticks / float(_DAY)
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


def _codes(name: str, column: Categorical, array: pa.Array) -> np.ndarray[Any, np.dtype[np.int32]]:
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
    try:
        return _codes(name, column, array) if isinstance(column, Categorical) else _numbers(array)
    except OverflowError:
        raise DataError(
            f"Column {name!r} holds dates that are too far away to be counted in microseconds. Remedy: mend them "
            "before the release."
        ) from None
    except pa.ArrowException:
        raise DataError(f"Column {name!r} is damaged: its Arrow array is not a valid one of its type.") from None


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
    if pa.types.is_boolean(wide) and not pa.types.is_boolean(array.type):
        wide = pa.int64()
    array = _whole_numbers(array) if pa.types.is_int64(wide) else array.cast(wide)
    return pc.index_in(
        array, value_set=pa.array([*map(int, column.levels)] if wide == pa.int64() else column.levels, wide)
    )


def _whole_numbers(array: pa.Array) -> pa.Array:
    """Whole numbers of 64 bits, exactly; null for numbers that are none."""
    if pa.types.is_floating(array.type):
        values = array.to_numpy(zero_copy_only=False).astype(np.float64)
        whole = (np.rint(values) == values) & (np.abs(values) < 2.0**63)
        return pa.array(np.where(whole, values, 0.0).astype(np.int64), mask=~whole)
    if pa.types.is_uint64(array.type):
        most = pa.scalar(
            np.iinfo(np.int64).max, pa.uint64()
        )  # a scalar of 64 bits with a sign would make Arrow cast all
        return pc.if_else(pc.less_equal(array, most), array, None).cast(pa.int64())
    if pa.types.is_decimal(array.type):
        return pa.array(map(_exact_whole, array.to_pylist()), pa.int64())
    return array.cast(pa.int64())


def _exact_whole(value: Decimal | None) -> int | None:
    return int(value) if value is not None and value == int(value) and -(2**63) <= value < 2**63 else None
