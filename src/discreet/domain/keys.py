"""Keys of persons: the canonical text of an identifier, before it is compared, hashed or sorted.

A whole number is its decimal digits, text is itself, letter by letter, and a UUID is its 36 lower-case letters. So 7
and "7" are the same person in every container and engine. All else is refused by its type, everywhere alike: floats and
decimals (7, 7.0 and 7.00 would be one number in three spellings, and large numbers lose digits), truth values, dates
and bytes.
"""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import DataError

WHO = "whole numbers or text, which tell whose a row is"

_UUID = "arrow.uuid"


def key_of(value: Any) -> str:
    """Return the key of one Python object; raises TypeError for objects that are none.

    Examples
    --------
    >>> key_of(7), key_of(np.int8(7)), key_of("7"), key_of(" 07")
    ('7', '7', '7', ' 07')
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64)):
        return str(int(value))
    raise TypeError("neither a whole number nor text")


def is_key_type(type_: pa.DataType) -> bool:
    """Whether a column of this Arrow type can identify persons."""
    t = pa.types
    if t.is_dictionary(type_):
        type_ = type_.value_type
    return t.is_integer(type_) or _is_text(type_) or _is_uuid(type_)


def keys(array: pa.Array, name: str) -> pa.Array:
    """Return the keys of a column of a type that `is_key_type` accepts, as text; null where one is missing."""
    if not is_key_type(array.type):
        raise DataError(f"Column {name!r} must hold {WHO}; some of its entries are of another kind.")
    try:
        if pa.types.is_dictionary(array.type):
            return keys(array.dictionary, name).take(array.indices)
        if _is_uuid(array.type):
            found = [None if value is None else str(uuid.UUID(bytes=value)) for value in array.storage.to_pylist()]
            return pa.array(found, pa.string())
        if pa.types.is_integer(array.type):
            return array.cast(pa.string())
        return array.cast(pa.large_binary()).cast(pa.large_string()).cast(pa.string())  # refuses what is not UTF-8
    except pa.ArrowException:
        raise DataError(f"Column {name!r} must hold {WHO}; some of its entries are not text in UTF-8.") from None


def _is_text(type_: pa.DataType) -> bool:
    t = pa.types
    return bool(t.is_string(type_) or t.is_large_string(type_) or t.is_string_view(type_))


def _is_uuid(type_: pa.DataType) -> bool:
    return isinstance(type_, pa.BaseExtensionType) and type_.extension_name == _UUID
