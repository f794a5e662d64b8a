"""Types of the entries of a column, and their conversion from Python objects, Arrow and text.

A type is never found from values, so that no entry changes what the others become (`discreet.domain.values`).
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from decimal import Decimal
from numbers import Real
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.arrays import Floats
from discreet.domain.keys import WHO, is_key_type, key_of
from discreet.errors import DataError

if TYPE_CHECKING:
    from discreet.domain.file_format import FileFormat

_DAY = 86_400_000_000
"""Microseconds of a day."""

_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_TICKS = {"W": 7 * _DAY, "D": _DAY, "h": _DAY // 24, "m": 60_000_000, "s": 1_000_000, "ms": 1_000, "us": 1}
_FRACTIONS = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}
_MOST_MONTHS = 12 * 300_000  # beyond the years that microseconds of 64 bits can count
_PLAIN = {float, int, bool, NoneType, np.bool_} | {np.dtype(code).type for code in "bBhHiIlLqQefd"}
"""Types of numbers that numpy converts to the nearest float64, one by one; None becomes NaN."""

_WORDS = {4: np.int32, 8: np.int64, 16: np.int64, 32: np.int64}
_EXACT = 1 << 53
_EXACT_POWER = 22
"""Whole numbers up to 2^53, and powers of ten up to this, are exact in float64, so their quotient is rounded once."""

_OTHERS = "; some of its entries are of another kind"
_HOW = "file = in a schema or in Domain, options such as --decimal or --date-format on the command line"


class ValueType(ABC):
    """The type of a column's entries."""

    kind: str  # its name in a schema, as `kind` finds it from an Arrow type
    plural: str  # the entries in words, for errors
    in_files = "text in UTF-8"  # the same, for errors about text files
    arrow: pa.DataType  # that objects and text become

    @abstractmethod
    def from_objects(self, values: list[Any]) -> pa.Array:
        """An Arrow array of Python objects, each converted by itself; raises for objects of another kind."""

    def wanted(self, written: FileFormat) -> str:
        """Return the text of an error: what a text file must hold, and the remedy."""
        return self.in_files + _OTHERS

    def check(self, name: str, type_: pa.DataType) -> None:
        """Refuse an Arrow type that cannot hold such entries; columns of 0 and 1 may be of truth values."""
        if kind(type_) != self.kind and {kind(type_), self.kind} != {"number", "bool"}:
            raise DataError(f"Column {name!r} is declared as a {self.kind} but the data hold {kind(type_)} ({type_}).")

    def is_parsed(self, written: FileFormat) -> bool:
        """Whether the entries of such a file are read by `from_text` rather than by Arrow."""
        return False

    def from_text(self, array: pa.Array, written: FileFormat) -> pa.Array:
        """Entries of the text in a file; raises `pa.ArrowInvalid` for other text; its message is not shown."""
        return array


class NumberType(ValueType):
    """Real numbers, in float64."""

    kind, plural, arrow = "number", "numbers", pa.float64()

    def from_objects(self, values: list[Any]) -> pa.Array:
        """Float64; missing where an entry is."""
        return pa.array(floats(values), from_pandas=True)

    def wanted(self, written: FileFormat) -> str:
        """Numbers, as the file writes them."""
        return _mended(f"numbers such as {written.number}")

    def is_parsed(self, written: FileFormat) -> bool:
        """Whether the file has thousands separators, which Arrow cannot read."""
        return written.thousands is not None

    def from_text(self, array: pa.Array, written: FileFormat) -> pa.Array:
        """Numbers with the marks of the file."""
        return written.read_numbers(pc.utf8_trim_whitespace(array))


class DateType(ValueType):
    """Dates and moments, in microseconds (UTC)."""

    kind, plural, arrow = "date", "dates", pa.timestamp("us")

    def from_objects(self, values: list[Any]) -> pa.Array:
        """Timestamps, rounded down to microseconds."""
        return pa.array(_each(_microseconds, values), type=pa.int64()).cast(self.arrow)

    def wanted(self, written: FileFormat) -> str:
        """Dates, as the file writes them."""
        return _mended(f"dates such as {written.date}")

    def is_parsed(self, written: FileFormat) -> bool:
        """Whether dates have another format than ISO, the only one that Arrow reads."""
        return written.date_format is not None

    def from_text(self, array: pa.Array, written: FileFormat) -> pa.Array:
        """Dates in the format of the file."""
        array = pc.utf8_trim_whitespace(array)
        return written.read_dates(array) if written.date_format else array.cast(self.arrow)


class LevelType(ValueType):
    """Entries that are levels of a category."""

    plural = "declared levels"
    plain: type
    """The type of the levels, and of entries that need no conversion."""

    @abstractmethod
    def convert(self, value: Any) -> Any:
        """A level of one object; raises TypeError for other objects."""

    @abstractmethod
    def places(self, array: pa.Array, levels: Sequence[Any]) -> pa.Array:
        """Places among the levels, null for an entry that is none of them; each entry is looked up by itself."""

    def from_objects(self, values: list[Any]) -> pa.Array:
        """The type of the levels."""
        plain = set(map(type, values)) <= {self.plain, NoneType}
        return pa.array(values if plain else _each(self.convert, values), type=self.arrow)


class TextType(LevelType):
    """Text."""

    kind, arrow, plain = "category", pa.string(), str

    def convert(self, value: Any) -> str:
        """Text as it is."""
        if not isinstance(value, str):
            raise TypeError("not text")
        return str.__str__(value)

    def places(self, array: pa.Array, levels: Sequence[Any]) -> pa.Array:
        """Look up the text itself."""
        return pc.index_in(array.cast(self.arrow), value_set=pa.array(levels, self.arrow))


class WholeType(LevelType):
    """Whole numbers of 64 bits."""

    kind, arrow, plain, in_files = "number", pa.int64(), int, "whole numbers"

    def convert(self, value: Any) -> int:
        """A number without a fraction."""
        if isinstance(value, (bool, np.bool_)):
            raise TypeError("a truth value is not a whole number")
        whole = int(_real(value))
        if whole != value:
            raise ValueError("not a whole number")
        return whole

    def places(self, array: pa.Array, levels: Sequence[Any]) -> pa.Array:
        """Look up the number, whatever its Arrow type."""
        return pc.index_in(_whole_numbers(array), value_set=pa.array([*map(int, levels)], pa.int64()))


class TruthType(LevelType):
    """False and true."""

    kind, arrow, plain, in_files = "bool", pa.bool_(), bool, "true or false"

    def convert(self, value: Any) -> bool:
        """A truth value."""
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError("not a truth value")
        return bool(value)

    def places(self, array: pa.Array, levels: Sequence[Any]) -> pa.Array:
        """Look up the truth value; numbers 0 and 1 stand for them."""
        if not pa.types.is_boolean(array.type):
            return WHOLE.places(array, levels)
        return pc.index_in(array, value_set=pa.array(levels, self.arrow))


class KeyType(ValueType):
    """Keys of persons (`discreet.domain.keys`), as text."""

    kind, plural, arrow = "key", WHO, pa.string()

    def from_objects(self, values: list[Any]) -> pa.Array:
        """The key of each entry."""
        return pa.array(_each(key_of, values), self.arrow)

    def check(self, name: str, type_: pa.DataType) -> None:
        """Refuse types that hold neither whole numbers nor text."""
        if not is_key_type(type_):
            raise DataError(f"Column {name!r} must hold {WHO}; the data hold {kind(type_)} ({type_}).")


NUMBERS, DATES, TEXT, WHOLE, TRUTH, KEYS = NumberType(), DateType(), TextType(), WholeType(), TruthType(), KeyType()


def _mended(what: str) -> str:
    return f"{what}{_OTHERS}. Remedy: mend them, or tell how the file writes them: {_HOW}"


def kind(type_: pa.DataType) -> str:
    """The name of an Arrow type in a schema: number, date, category or bool; other types keep their Arrow name."""
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


# -------------------------------------------------------------------- from Python objects


def floats(values: Sequence[Any]) -> Floats:
    """The nearest float64 of every number; NaN where one is missing."""
    plain = set(map(type, values)) <= _PLAIN
    return np.array(values if plain else _each(lambda value: float(_real(value)), values), dtype=np.float64)


def is_missing(value: Any) -> bool:
    """Whether an entry stands for a missing value: None, NaN, NaT, NA, or a masked entry."""
    if value is None or value is np.ma.masked:
        return True
    if isinstance(value, (float, np.floating, np.datetime64)):
        return bool(value != value)
    if isinstance(value, Decimal):
        return value.is_nan()
    own = type(value)
    return own.__name__ in ("NAType", "NaTType") and own.__module__.partition(".")[0] == "pandas"


def _each(convert: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
    return [None if is_missing(value) else convert(value) for value in values]


def _real(value: Any) -> Any:
    """Return a real number; refuse durations, which numpy counts among the whole numbers."""
    if isinstance(value, np.timedelta64) or not isinstance(value, (Real, Decimal, np.bool_)):
        raise TypeError("not a real number")
    return value


def _microseconds(value: Any) -> int:
    """Microseconds since 1970, in UTC, rounded down."""
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


# -------------------------------------------------------------------- from Arrow


def numbers(array: pa.Array) -> Floats:
    """Float64 values of a numeric or date column without nulls; dates are counted in days."""
    if pa.types.is_timestamp(array.type) or pa.types.is_date(array.type):
        return _days(array)
    if pa.types.is_decimal(array.type):
        return decimals(array)
    values: Floats = array.to_numpy(zero_copy_only=False)
    return values.astype(np.float64) if values.dtype == bool else values


def _days(array: pa.Array) -> Floats:
    """Days since 1970 of timestamps, rounded down to microseconds."""
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
    """The nearest float64 of every decimal number of a column without nulls, whatever the scale of its type."""
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


def _whole_numbers(array: pa.Array) -> pa.Array:
    """Whole numbers of 64 bits, exactly; null for numbers that are none."""
    if pa.types.is_floating(array.type):
        values = array.to_numpy(zero_copy_only=False).astype(np.float64)
        whole = (np.rint(values) == values) & (np.abs(values) < 2.0**63)
        return pa.array(np.where(whole, values, 0.0).astype(np.int64), mask=~whole)
    if pa.types.is_uint64(array.type):
        most = pa.scalar(2**63 - 1, pa.uint64())  # a scalar with a sign would make Arrow cast all
        return pc.if_else(pc.less_equal(array, most), array, None).cast(pa.int64())
    if pa.types.is_decimal(array.type):
        return pa.array(map(_exact_whole, array.to_pylist()), pa.int64())
    return array.cast(pa.int64())


def _exact_whole(value: Decimal | None) -> int | None:
    return int(value) if value is not None and value == int(value) and -(2**63) <= value < 2**63 else None
