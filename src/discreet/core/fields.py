"""Tables of fields: one row says how a field of a file is written, how it is read, and how it is described.

A class of what files hold names its fields once, in `FIELDS`. Its `to_dict`, its `from_dict` and its part of
``schemas/documents.json`` (``python -m distribution.schemas``) follow from them; rules about several fields at once are
its own, in a `from_dict` that calls this one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, ClassVar, Self, TypeVar, get_args

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.checks import Neighbors, is_real
from discreet.errors import FileFormatError

T = TypeVar("T")


def _same(value: T) -> T:
    return value


# ---------------------------------------------------------------- kinds of values


@dataclass(frozen=True)
class FieldKind:
    """How values of one kind are described, read and written.

    Parameters
    ----------
    schema : dict
        Their JSON schema.
    fits : callable
        Whether a value of a JSON file is one.
    read, write : callable
        What is made of a value that fits, and what JSON has for it.
    """

    schema: dict[str, Any]
    fits: Callable[[Any], bool] = lambda value: True
    read: Callable[[Any], Any] = _same
    write: Callable[[Any], Any] = _same

    def __call__(self, words: str = "", **options: Any) -> Field:
        """A field of this kind, with a description; options are those of `Field`."""
        return Field(self, words, **options)


def number(
    *, above: float | None = None, least: float | None = None, below: float | None = None, most: float | None = None
) -> FieldKind:
    """A finite number within bounds, which neither a truth value nor a text is taken for."""
    bounds = {"exclusiveMinimum": above, "minimum": least, "exclusiveMaximum": below, "maximum": most}

    def fits(value: Any) -> bool:
        inside = is_real(value) and math.isfinite(value) and (above is None or value > above)
        inside = inside and (least is None or value >= least) and (below is None or value < below)
        return inside and (most is None or value <= most)

    return FieldKind({"type": "number"} | {name: end for name, end in bounds.items() if end is not None}, fits, float)


def whole(least: int | None = None, most: int | None = None) -> FieldKind:
    """A whole number within bounds."""
    inside = number(least=least, most=most)
    return FieldKind(inside.schema | {"type": "integer"}, lambda value: type(value) is int and inside.fits(value))


def choice(*options: Any) -> FieldKind:
    """One of some values, or of those of a literal type."""
    known = [one for option in options for one in (get_args(option) or (option,))]
    schema = {"const": known[0]} if len(known) == 1 else {"enum": known}
    return FieldKind(schema, lambda value: any(type(value) is type(one) and value == one for one in known))


def kept(kind: FieldKind) -> FieldKind:
    """The same kind, whose values are kept as they were read: whole numbers as such."""
    return replace(kind, read=_same)


def maybe(kind: FieldKind) -> FieldKind:
    """A value of a kind, or null."""
    return FieldKind(
        {"anyOf": [kind.schema, {"type": "null"}]},
        lambda value: value is None or kind.fits(value),
        lambda value: None if value is None else kind.read(value),
        lambda value: None if value is None else kind.write(value),
    )


def many(kind: FieldKind, least: int | None = None, most: int | None = None) -> FieldKind:
    """A list of values of a kind."""
    sizes = {name: size for name, size in (("minItems", least), ("maxItems", most)) if size is not None}
    few, lots = least or 0, math.inf if most is None else most
    return FieldKind(
        {"type": "array", "items": kind.schema} | sizes,
        lambda value: isinstance(value, list) and few <= len(value) <= lots and all(map(kind.fits, value)),
        tuple if kind.read is _same else lambda value: tuple(map(kind.read, value)),
        list if kind.write is _same else lambda value: list(map(kind.write, value)),
    )


def by_name(kind: FieldKind) -> FieldKind:
    """An object that has a value of a kind for each of some names."""
    return FieldKind(
        {"type": "object", "additionalProperties": kind.schema},
        lambda value: isinstance(value, dict) and all(map(kind.fits, value.values())),
        lambda value: {name: kind.read(one) for name, one in value.items()},
        lambda value: {name: kind.write(one) for name, one in value.items()},
    )


def record(kind: type[Any]) -> FieldKind:
    """What the table of another class describes; read by its `from_dict`, if it has one."""
    read = getattr(kind, "from_dict", _same)
    return FieldKind(ref(kind.FIELDS.name), is_object, read, lambda value: value.to_dict())


def part(table: Fields) -> FieldKind:
    """What another table describes, as a mapping of its values."""
    return FieldKind(ref(table.name), is_object, table.read, table.write)


def is_object(value: Any) -> bool:
    """Whether a value of a JSON file is an object."""
    return isinstance(value, dict)


def ref(name: str) -> dict[str, Any]:
    """The schema of what is defined under a name."""
    return {"$ref": f"#/$defs/{name}"}


DEFINED: dict[str, Fields | Mapping[str, Any]] = {}
"""Tables, and schemas that several of them share, by name; files are described by them."""


def defined(name: str, kind: FieldKind, words: str = "") -> FieldKind:
    """The same kind, described once under a name."""
    DEFINED[name] = {**kind.schema} | ({"description": words} if words else {})
    return replace(kind, schema=ref(name))


def _array(dimensions: int) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        try:
            array = np.array(value if isinstance(value, list) else None)
        except ValueError:
            return False
        known = array.ndim == dimensions and (not array.size or array.dtype.kind in "iuf")
        return known and (not array.size or bool(np.isfinite(array).all()))

    return fits


def _floats(value: Any) -> Floats:
    return np.array(value, dtype=float)


def check_shapes(values: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse arrays of a file that are of another size than they must be; what is no array has no size."""
    for name, shape in shapes.items():
        if isinstance(values[name], np.ndarray) and values[name].shape != shape:
            raise FileFormatError(f"it is damaged, its parts do not fit together: {name} is of another size.")


ANYTHING = FieldKind({})
TEXT = FieldKind({"type": "string"}, lambda value: isinstance(value, str))
FLAG = FieldKind({"type": "boolean"}, lambda value: isinstance(value, bool))
TEXTS = many(TEXT)
NUMBER, ABOVE_0, FROM_0 = number(), number(above=0), number(least=0)
PAIR = many(NUMBER, 2, 2)
NEIGHBORS = defined(
    "neighbors",
    choice(Neighbors),
    "add-remove hides one person's presence; replace-one their content, not the number of rows.",
)
NAMES = defined(
    "names", TEXTS, "Names of coordinates: a column, a level as region[south], (intercept) for the constant 1."
)
SHA256 = defined("sha256", replace(TEXT, schema=TEXT.schema | {"pattern": "^[0-9a-f]{64}$"}), "SHA-256 in hexadecimal.")
_VECTOR = {"type": "array", "items": {"type": "number"}}
VECTOR = defined("vector", FieldKind(_VECTOR, _array(1), _floats, np.ndarray.tolist))
MATRIX = defined(
    "matrix",
    FieldKind({"type": "array", "items": VECTOR.schema}, _array(2), _floats, np.ndarray.tolist),
    "Row by row.",
)


# ---------------------------------------------------------------- tables


REQUIRED: Any = object()
"""Of a field that is always there."""


@dataclass(frozen=True)
class Field:
    """One field of a file.

    Parameters
    ----------
    kind, words : FieldKind, str
        What it holds, and a description for people.
    attribute : str
        Where its value is found in what is written, as "unit.person"; the field's name by default.
    absent : object, optional
        The value that it stands for where it is missing, and which is not written.
    old : bool
        Whether it is missing in old files only, and always written.
    beside : str, optional
        The attribute that decides whether it is written, where that is another one.
    derived : bool
        Whether it follows from the others: it is written, and compared, not read.
    since : int
        The version of files that brought it.
    """

    kind: FieldKind
    words: str = ""
    attribute: str = ""
    absent: Any = REQUIRED
    old: bool = False
    beside: str = ""
    derived: bool = False
    since: int = 1

    def value(self, thing: Any) -> Any:
        """What a thing has of it."""
        return attrgetter(self.attribute)(thing)

    def is_written(self, thing: Any) -> bool:
        """Whether a file of a thing has the field."""
        if self.absent is REQUIRED or self.old:
            return True
        value = attrgetter(self.beside)(thing) if self.beside else self.value(thing)
        return type(value) is not type(self.absent) or bool(value != self.absent)

    @property
    def schema(self) -> dict[str, Any]:
        """Its JSON schema."""
        since = "" if self.since == 1 else f"; since version {self.since}."
        words = self.words.removesuffix("." if since else "") + since
        return {**self.kind.schema} | ({"description": words} if words else {})


def fixed(value: Any) -> Field:
    """A field that always holds the same."""
    return Field(replace(choice(value), write=lambda _: value), attribute="__class__", derived=True)


class Fields:
    """The fields of one kind of thing, in the order in which they are written.

    Parameters
    ----------
    name, words : str
        By which the schema knows the thing, and what it is.
    wrong : str
        What to tell of a field that holds something else; {name} stands for its name.
    **fields : FieldKind or Field
        The table: what each field holds.

    Examples
    --------
    >>> point = Fields("point", "A point in the plane.", x=NUMBER, y=NUMBER("Height."), label=TEXT(absent=""))
    >>> point.read({"x": 1, "y": 2}), point.schema["required"]
    ({'x': 1.0, 'y': 2.0, 'label': ''}, ['x', 'y'])
    >>> point.read({"x": True, "y": 2})
    Traceback (most recent call last):
    ...
    discreet.errors.FileFormatError: it is damaged, its parts do not fit together: x is of another kind.
    """

    def __init__(
        self,
        name: str,
        words: str,
        wrong: str = "it is damaged, its parts do not fit together: {name} is of another kind.",
        /,
        **fields: FieldKind | Field,
    ) -> None:
        given = {key: one() if isinstance(one, FieldKind) else one for key, one in fields.items()}
        self.rows = {key: replace(one, attribute=one.attribute or key) for key, one in given.items()}
        self.name, self.words, self._wrong = name, words, wrong
        DEFINED[name] = self

    def write(self, thing: Any) -> dict[str, Any]:
        """What a file holds of a thing."""
        return {key: one.kind.write(one.value(thing)) for key, one in self.rows.items() if one.is_written(thing)}

    def read(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """The values of all fields but derived ones, by attribute; refuse what is of another kind."""
        values = {}
        for key, one in self.rows.items():
            if one.derived:
                continue
            if one.absent is not REQUIRED and key not in facts:
                values[one.attribute] = one.absent
                continue
            if not one.kind.fits(facts[key]):
                raise FileFormatError(self._wrong.format(name=key))
            values[one.attribute] = one.kind.read(facts[key])
        return values

    def version(self, thing: Any) -> int:
        """The oldest version of files that has all fields of a thing."""
        return max(one.since for one in self.rows.values() if one.is_written(thing))

    def inside(self, whole: str) -> dict[str, Field]:
        """The same fields, for a table of what has the thing as an attribute."""
        return {
            key: replace(one, attribute=f"{whole}.{one.attribute}", beside=one.beside and f"{whole}.{one.beside}")
            for key, one in self.rows.items()
        }

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of such a thing."""
        return ({"description": self.words} if self.words else {}) | {
            "type": "object",
            "required": [key for key, one in self.rows.items() if one.absent is REQUIRED],
            "properties": {key: one.schema for key, one in self.rows.items()},
        }


class Written:
    """What a table describes, and writes."""

    FIELDS: ClassVar[Fields]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return self.FIELDS.write(self)


class FileRecord(Written):
    """What a table describes, writes and reads."""

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Rebuild from `to_dict`."""
        return cls(**cls.FIELDS.read(facts))


class DocumentFields(Fields):
    """The fields of a file of its own, beside its kind, its version and its digest.

    Parameters
    ----------
    kind, words : str
        What the file says that it is, and what that means.
    versions : tuple of int
        Versions that can be read.
    name : str
        By which the schema knows it, where several things are of that kind.
    **fields : FieldKind or Field
        The table.
    """

    def __init__(
        self, kind: str, words: str, versions: tuple[int, ...], name: str = "", /, **fields: FieldKind | Field
    ) -> None:
        super().__init__(name or kind.replace(" ", "_"), words, kind=fixed(kind), **fields)
        self.kind, self.versions = kind, versions

    def body(self, thing: Any, version: int) -> dict[str, Any]:
        """A whole file of a thing, but for its digest."""
        return {"kind": self.kind, "format_version": version} | self.write(thing)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of such a file."""
        found = super().schema
        found["required"] += ["format_version", "sha256"]
        found["properties"] |= {"format_version": {"enum": list(self.versions)}, "sha256": SHA256.schema}
        return found
