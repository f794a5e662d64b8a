"""Tables of the fields of files: one row defines how a field is written, read and described.

A class that is saved names its fields once, in `FIELDS`. Its `to_dict`, its `from_dict` and its part of
``schemas/documents.json`` (``python -m distribution.schemas``) follow from them; rules about several fields at once are
its own, in a `from_dict` that calls this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, ClassVar, Self

from discreet.errors import FileFormatError

REQUIRED: Any = object()
"""The default of a field that must be present."""


def same(value: Any) -> Any:
    """Return a value unchanged."""
    return value


@dataclass(frozen=True)
class FieldKind:
    """A kind of values: JSON schema, check, reader and writer of JSON values; `core.field_kinds` lists the kinds."""

    schema: dict[str, Any]
    fits: Callable[[Any], bool] = lambda value: True
    read: Callable[[Any], Any] = same
    write: Callable[[Any], Any] = same

    def take(self, value: Any, wrong: str = "it is damaged, its parts do not fit together.") -> Any:
        """Convert a JSON value; refuse one of another kind."""
        if not self.fits(value):
            raise FileFormatError(wrong)
        return self.read(value)

    def __call__(self, words: str = "", **options: Any) -> Field:
        """Make a field of this kind, with a description; options are those of `Field`."""
        return Field(self, words, **options)


@dataclass(frozen=True)
class Field:
    """One field of a file."""

    kind: FieldKind
    words: str = ""
    attribute: str = ""  # that holds its value, as "unit.person"; the field's name by default
    absent: Any = REQUIRED  # its value where the field is missing; it is not written
    old: bool = False  # always written, and missing only in old files
    beside: str = ""  # an attribute; the field is written only where that is not None
    derived: bool = False  # follows from other fields: it is written and compared, but not read
    since: int = 1  # the first version of files that has it

    def is_written(self, thing: Any) -> bool:
        """Whether the field is written for this object."""
        if self.absent is REQUIRED or self.old:
            return True
        value = attrgetter(self.beside or self.attribute)(thing)
        absent = None if self.beside else self.absent
        return type(value) is not type(absent) or bool(value != absent)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the field."""
        words = self.words if self.since == 1 else f"{self.words.removesuffix('.')}; since version {self.since}."
        return self.kind.schema | ({"description": words} if words else {})


def fixed(value: Any) -> Field:
    """Make a field with a constant value."""
    kind = FieldKind({"const": value}, write=lambda _: value)
    return kind(attribute="__class__", derived=True)


DEFINED: dict[str, Fields | Mapping[str, Any]] = {}
"""Tables and shared schemas, by their names in the JSON schema."""


def ref(name: str) -> dict[str, Any]:
    """Return a reference to the schema that is defined under a name."""
    return {"$ref": f"#/$defs/{name}"}


def defined(name: str, kind: FieldKind, words: str = "") -> FieldKind:
    """Define the schema of a kind under a name, and return the kind with a reference to it."""
    DEFINED[name] = kind.schema | ({"description": words} if words else {})
    return replace(kind, schema=ref(name))


class Fields:
    """The fields of a class, in the order in which they are written.

    `wrong` is the error for a value of another kind; {name} stands for the name of the field.
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
        """Return the fields of an object, JSON-ready."""
        rows = {key: one for key, one in self.rows.items() if one.is_written(thing)}
        return {key: one.kind.write(attrgetter(one.attribute)(thing)) for key, one in rows.items()}

    def read(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of all fields except derived ones, by attribute; refuse values of another kind."""
        values = {}
        for key, one in self.rows.items():
            if one.derived:
                continue
            missing = one.absent is not REQUIRED and key not in facts
            wrong = self._wrong.format(name=key)
            values[one.attribute] = one.absent if missing else one.kind.take(facts[key], wrong)
        return values

    def version(self, thing: Any) -> int:
        """Return the oldest version of files that has all written fields of an object."""
        return max(one.since for one in self.rows.values() if one.is_written(thing))

    def inside(self, whole: str) -> dict[str, Field]:
        """Return the same fields for the table of a class that holds the object as an attribute."""
        return {
            key: replace(one, attribute=f"{whole}.{one.attribute}", beside=one.beside and f"{whole}.{one.beside}")
            for key, one in self.rows.items()
        }

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the class."""
        return ({"description": self.words} if self.words else {}) | {
            "type": "object",
            "required": [key for key, one in self.rows.items() if one.absent is REQUIRED],
            "properties": {key: one.schema for key, one in self.rows.items()},
        }


class ClosedFields(Fields):
    """The fields of a class; other fields are refused."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the class."""
        return super().schema | {"additionalProperties": False}


class Written:
    """An object that is written by its table of fields."""

    FIELDS: ClassVar[Fields]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return self.FIELDS.write(self)


class FileRecord(Written):
    """An object that is written and read by its table of fields."""

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Rebuild from `to_dict`."""
        return cls(**cls.FIELDS.read(facts))


class DocumentFields(Fields):
    """The fields of a document, besides its kind, version and digest; `versions` are those that can be read."""

    def __init__(
        self, kind: str, words: str, versions: tuple[int, ...], name: str = "", /, **fields: FieldKind | Field
    ) -> None:
        super().__init__(name or kind.replace(" ", "_"), words, kind=fixed(kind), **fields)
        self.kind, self.versions = kind, versions

    def body(self, thing: Any, version: int) -> dict[str, Any]:
        """Return the document of an object, without its digest."""
        return {"kind": self.kind, "format_version": version} | self.write(thing)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the document."""
        found = super().schema
        found["required"] += ["format_version", "sha256"]
        found["properties"] |= {"format_version": {"enum": list(self.versions)}, "sha256": ref("sha256")}
        return found
