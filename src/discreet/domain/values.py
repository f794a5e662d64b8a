"""How the entries of a column become an Arrow array: by what is declared, each by itself, whatever stands beside it.

Arrow, numpy and pandas find the type of a list by looking at all of its entries, so that one entry can change what the
others become: a date among datetimes takes the time of day from all of them, a float among whole numbers rounds them.
One row then moves more than itself. Here a type is never found from values. A container that has a type of its own (an
Arrow array, an array of numbers, a typed series) keeps it; Python objects become what the declaration asks for.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from numbers import Real
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.domain.arrow_columns import DAY, level_type
from discreet.domain.columns import Column, Numeric
from discreet.errors import DataError

FAILURES = (pa.ArrowException, TypeError, ValueError, ArithmeticError)
"""What a conversion raises for an entry of another kind; the words of these errors quote it."""

_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_TICKS = {"W": 7 * DAY, "D": DAY, "h": DAY // 24, "m": 60_000_000, "s": 1_000_000, "ms": 1_000, "us": 1}
_FRACTIONS = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}
_MOST_MONTHS = 12 * 300_000  # beyond the years that microseconds of 64 bits can count
_ARROW_UNITS = ("D", "s", "ms", "us", "ns")
_PLAIN = {float, int, bool, NoneType, np.bool_} | {np.dtype(code).type for code in "bBhHiIlLqQefd"}
"""Types of numbers that numpy turns into the nearest float64 one by one, when told to; None becomes NaN."""


def as_arrow(values: Any, name: str, column: Column) -> pa.Array | pa.ChunkedArray:
    """A column of any container as an Arrow array.

    Parameters
    ----------
    values : Arrow array, pandas series, array of one dimension, or list
        The entries.
    name : str
        The column, for the error.
    column : Numeric or Categorical
        What is declared: Python objects become float64, timestamps in microseconds (UTC), or the type of the levels.

    Examples
    --------
    >>> as_arrow([1, Decimal("0.5"), None], "age", Numeric(0, 2)).to_pylist()
    [1.0, 0.5, None]
    """
    try:
        return _converted(values, column)
    except FAILURES:
        wanted = ("dates" if column.date else "numbers") if isinstance(column, Numeric) else "declared levels"
        raise DataError(f"Column {name!r} must hold {wanted}; some of its entries are of another kind.") from None


def floats(values: Sequence[Any]) -> NDArray[np.float64]:
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


# ---------------------------------------------------------------- containers


def _converted(values: Any, column: Column) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if is_categories(values):
        codes, categories = _codes_and_categories(values)
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), _converted(categories, column))
    dtype = getattr(values, "dtype", None)
    if dtype is None or dtype == np.dtype(object):
        return _declared(_without_masked(values), column)
    if not isinstance(dtype, np.dtype):
        return pa.array(values, from_pandas=True)
    if dtype.kind == "T" or (dtype.kind == "M" and np.datetime_data(dtype) not in [(unit, 1) for unit in _ARROW_UNITS]):
        return _declared(list(values), column)
    if dtype.kind == "f" and dtype.itemsize > 8:
        values = values.astype(np.float64)
    elif not dtype.isnative:
        values = values.astype(dtype.newbyteorder("="))
    hidden = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    return pa.array(values if hidden is None else values.data, mask=hidden, from_pandas=True)


def _codes_and_categories(values: Any) -> tuple[NDArray[Any], Any]:
    own = getattr(values, "cat", values)
    return np.asarray(own.codes), own.categories


def _without_masked(values: Any) -> list[Any]:
    if isinstance(values, np.ma.MaskedArray):
        values = np.where(np.ma.getmaskarray(values), None, values.data)  # type: ignore[call-overload]
    return list(values)


# ---------------------------------------------------------------- objects


def _declared(values: list[Any], column: Column) -> pa.Array:
    """Python objects as the type that is declared."""
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
        return (value - _EPOCH.date()).days * DAY
    raise TypeError("not a date")


def _numpy_microseconds(value: np.datetime64) -> int:
    unit, count = np.datetime_data(value.dtype)
    ticks = int(value.astype(np.int64)) * count
    if unit in ("Y", "M"):
        if abs(ticks) * (12 if unit == "Y" else 1) > _MOST_MONTHS:
            raise OverflowError("a date too far away")
        return int(value.astype("datetime64[D]").astype(np.int64)) * DAY
    return ticks * _TICKS[unit] if unit in _TICKS else ticks // _FRACTIONS[unit]
