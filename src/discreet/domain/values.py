"""Conversion of columns: any container to Arrow arrays, Arrow arrays to numbers or codes of levels.

Each entry becomes what is declared, by itself, whatever stands beside it.

Arrow, numpy and pandas find the type of a list by looking at all of its entries, so that one entry can change what the
others become: a date among datetimes takes the time of day from all of them, a float among whole numbers rounds them.
One row then moves more than itself. Here a type is never found from values. A container that has a type of its own (an
Arrow array, an array of numbers, a typed series) keeps it; Python objects become what the declaration asks for
(`discreet.domain.value_types`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.domain.kinds.base import Column, Readable
from discreet.errors import FILL, MISSING, DataError

FAILURES = (pa.ArrowException, TypeError, ValueError, ArithmeticError)
"""Errors of a conversion for an entry of another kind; their messages quote the entry."""

_ARROW_UNITS = ("D", "s", "ms", "us", "ns")


def as_arrow(values: Any, name: str, column: Readable) -> pa.Array | pa.ChunkedArray:
    """Convert a column of any container to an Arrow array.

    Python objects become float64, timestamps in microseconds (UTC), the type of the levels, or text, as declared.

    Examples
    --------
    >>> from decimal import Decimal
    >>> from discreet.domain import Numeric
    >>> as_arrow([1, Decimal("0.5"), None], "age", Numeric(0, 2)).to_pylist()
    [1.0, 0.5, None]
    """
    try:
        return _converted(values, column)
    except FAILURES:
        wanted = column.entries.plural
        raise DataError(f"Column {name!r} must hold {wanted}; some of its entries are of another kind.") from None


def entries(values: Any) -> list[Any]:
    """Return the entries of a column of any container as objects, each of the type that it has there.

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


# -------------------------------------------------------------------- containers


def _converted(values: Any, column: Readable) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if is_categories(values):
        codes, categories = _codes_and_categories(values)
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), _converted(categories, column))
    dtype = getattr(values, "dtype", None)
    if dtype is None or dtype == np.dtype(object):
        if isinstance(values, np.ma.MaskedArray):
            values = np.where(np.ma.getmaskarray(values), None, values.data)  # type: ignore[call-overload]
        return column.entries.from_objects(list(values))
    if not isinstance(dtype, np.dtype):
        known = _knows_arrow(values, dtype)
        return pa.array(values, from_pandas=True) if known else column.entries.from_objects(list(values))
    if dtype.kind == "T" or (dtype.kind == "M" and np.datetime_data(dtype) not in [(unit, 1) for unit in _ARROW_UNITS]):
        return column.entries.from_objects(list(values))
    if dtype.kind == "f" and dtype.itemsize > 8:
        values = values.astype(np.float64)
    elif not dtype.isnative:
        values = values.astype(dtype.newbyteorder("="))
    hidden = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    return pa.array(values if hidden is None else values.data, mask=hidden, from_pandas=True)


def _knows_arrow(values: Any, dtype: Any) -> bool:
    """Whether a pandas container has a type of its own that Arrow knows, so that none is guessed from values."""
    return getattr(dtype, "kind", "O") != "O" or hasattr(getattr(values, "array", values), "__arrow_array__")


def _codes_and_categories(values: Any) -> tuple[NDArray[Any], Any]:
    own = getattr(values, "cat", values)
    return np.asarray(own.codes), own.categories


# -------------------------------------------------------------------- Arrow to numbers and codes


@contextlib.contextmanager
def predicting() -> Iterator[None]:
    """Replace the advice on missing values by that for predictions."""
    try:
        yield
    except DataError as error:
        if MISSING not in str(error):
            raise
        raise DataError(*(line.replace(MISSING, FILL) for line in error.args)) from None


def read_column(array: pa.Array, name: str, column: Column) -> NDArray[Any]:
    """Return the numbers, or codes of levels, of a column without missing values."""
    array = plain(array, column)
    if array.null_count or (column.bounds is None and _has_nan(array)):
        raise DataError(f"Column {name!r} has missing values. Remedy: {MISSING}.")
    try:
        return column.read(array, name)
    except OverflowError:
        raise DataError(
            f"Column {name!r} holds dates that are too far away to be counted in microseconds. Remedy: mend them "
            "before the release."
        ) from None
    except pa.ArrowException:
        raise DataError(f"Column {name!r} is damaged: its Arrow array is not a valid one of its type.") from None


def plain(array: pa.Array, column: Column) -> pa.Array:
    """Decode a dictionary, unless the column is a category whose dictionary lacks no value."""
    if pa.types.is_dictionary(array.type):
        lacks = array.dictionary.null_count or _has_nan(array.dictionary)
        array = array.dictionary_decode() if column.bounds or lacks else array
    return array.cast(pa.string()) if pa.types.is_string_view(array.type) else array


def _has_nan(array: pa.Array) -> bool:
    return pa.types.is_floating(array.type) and bool(pc.any(pc.is_nan(array)).as_py())
