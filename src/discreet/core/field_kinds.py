"""The kinds of values of fields of files."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.checks import Neighbors, is_real
from discreet.core.fields import FieldKind, Fields, defined, ref, same
from discreet.errors import FileFormatError

_BOUNDS = {
    "minimum": operator.ge,
    "exclusiveMinimum": operator.gt,
    "maximum": operator.le,
    "exclusiveMaximum": operator.lt,
}


def number(**bounds: float) -> FieldKind:
    """A finite number within bounds, named as in JSON schemas; booleans and text are refused."""

    def fits(value: Any) -> bool:
        finite = is_real(value) and math.isfinite(value)
        return finite and all(_BOUNDS[name](value, end) for name, end in bounds.items())

    return FieldKind({"type": "number"} | bounds, fits, float)


def whole(minimum: int, **bounds: int) -> FieldKind:
    """A whole number of at least `minimum`, within other bounds too."""
    inside = number(minimum=minimum, **bounds)
    return FieldKind(inside.schema | {"type": "integer"}, lambda value: type(value) is int and inside.fits(value))


def kept(kind: FieldKind) -> FieldKind:
    """The same kind without conversion: whole numbers stay integers."""
    return replace(kind, read=same)


def choice(*options: Any) -> FieldKind:
    """One of some words, or of the words of a `Literal` type."""
    known = [one for option in options for one in (get_args(option) or (option,))]
    return FieldKind({"enum": known}, lambda value: isinstance(value, str) and value in known)


def one_of(names: Callable[[], Iterable[str]]) -> FieldKind:
    """One of the names of a table that may grow; the JSON schema lists the present ones."""
    return FieldKind({"enum": list(names())}, lambda value: isinstance(value, str) and value in names())


def either(*kinds: FieldKind) -> FieldKind:
    """A value of one of several kinds, without conversion."""
    return FieldKind({"anyOf": [kind.schema for kind in kinds]}, lambda value: any(kind.fits(value) for kind in kinds))


def maybe(kind: FieldKind) -> FieldKind:
    """A value of a kind, or null."""
    return FieldKind(
        {"anyOf": [kind.schema, {"type": "null"}]},
        lambda value: value is None or kind.fits(value),
        lambda value: None if value is None else kind.read(value),
        lambda value: None if value is None else kind.write(value),
    )


def many(kind: FieldKind, **sizes: int) -> FieldKind:
    """A list of values of a kind, of at least `minItems` and at most `maxItems`."""
    least, most = sizes.get("minItems", 0), sizes.get("maxItems", math.inf)
    return FieldKind(
        {"type": "array", "items": kind.schema} | sizes,
        lambda value: isinstance(value, list) and least <= len(value) <= most and all(map(kind.fits, value)),
        tuple if kind.read is same else lambda value: tuple(map(kind.read, value)),
        list if kind.write is same else lambda value: list(map(kind.write, value)),
    )


def by_name(kind: FieldKind) -> FieldKind:
    """A mapping from names to values of a kind."""
    return FieldKind(
        {"type": "object", "additionalProperties": kind.schema},
        lambda value: isinstance(value, dict) and all(map(kind.fits, value.values())),
        lambda value: {name: kind.read(one) for name, one in value.items()},
        lambda value: {name: kind.write(one) for name, one in value.items()},
    )


def record(described: type[Any] | Fields) -> FieldKind:
    """An object of a class with a table of fields, read by its `from_dict` if it has one; or a mapping."""
    if isinstance(described, Fields):
        return replace(OBJECT, schema=ref(described.name), read=described.read, write=described.write)
    read = getattr(described, "from_dict", same)
    return replace(OBJECT, schema=ref(described.FIELDS.name), read=read, write=lambda value: value.to_dict())


def check_shapes(values: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse arrays of a shape other than the given one; other values are ignored."""
    for name, shape in shapes.items():
        if isinstance(values[name], np.ndarray) and values[name].shape != shape:
            raise FileFormatError(f"it is damaged, its parts do not fit together: {name} is of another size.")


def _is_array(dimensions: int) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        array = np.array(value if isinstance(value, list) else None)
        known = array.ndim == dimensions and (not array.size or array.dtype.kind in "iuf")
        return known and (not array.size or bool(np.isfinite(array).all()))

    return fits


def _floats(value: Any) -> Floats:
    return np.array(value, dtype=float)


ANYTHING = FieldKind({})
OBJECT = FieldKind({"type": "object"}, lambda value: isinstance(value, dict))
TEXT = FieldKind({"type": "string"}, lambda value: isinstance(value, str))
FLAG = FieldKind({"type": "boolean"}, lambda value: isinstance(value, bool))
WHOLE = FieldKind({"type": "integer"}, lambda value: type(value) is int)
COUNT, TEXTS = whole(0), many(TEXT)
NUMBER, ABOVE_0, FROM_0 = number(), number(exclusiveMinimum=0), number(minimum=0)
PAIR = many(NUMBER, minItems=2, maxItems=2)
_BOTH = "add-remove hides one person's presence; replace-one their content, not the number of rows."
NEIGHBORS = defined("neighbors", choice(Neighbors), _BOTH)
_NAMED = "Names of coordinates: a column, a level as region[south], (intercept) for the constant 1."
NAMES = defined("names", TEXTS, _NAMED)
SHA256 = defined("sha256", replace(TEXT, schema=TEXT.schema | {"pattern": "^[0-9a-f]{64}$"}), "SHA-256 in hexadecimal.")
VECTOR = defined("vector", FieldKind(many(NUMBER).schema, _is_array(1), _floats, np.ndarray.tolist))
MATRIX = defined("matrix", FieldKind(many(VECTOR).schema, _is_array(2), _floats, np.ndarray.tolist), "Row by row.")
