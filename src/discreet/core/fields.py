"""Tables of fields: one row says how a field of a file is written, how it is read, and how it is described.

A class of what files hold names its fields once, in `FIELDS`. Its `to_dict`, its `from_dict` and its part of
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
"""Of a field that is always there."""


def same(value: Any) -> Any:
    """A value as it is."""
    return value


@dataclass(frozen=True)
class FieldKind:
    """How values of one kind are described, read and written; `core.field_kinds` has those that there are.

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
    read: Callable[[Any], Any] = same
    write: Callable[[Any], Any] = same

    def take(self, value: Any, wrong: str = "it is damaged, its parts do not fit together.") -> Any:
        """Convert a value of a file; refuse one of another kind."""
        if not self.fits(value):
            raise FileFormatError(wrong)
        return self.read(value)

    def __call__(self, words: str = "", **options: Any) -> Field:
        """A field of this kind, with a description; options are those of `Field`."""
        return Field(self, words, **options)


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
    beside : str
        The attribute beside which it is written: not where that is None.
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

    def is_written(self, thing: Any) -> bool:
        """Whether a file of a thing has the field."""
        if self.absent is REQUIRED or self.old:
            return True
        value = attrgetter(self.beside or self.attribute)(thing)
        absent = None if self.beside else self.absent
        return type(value) is not type(absent) or bool(value != absent)

    @property
    def schema(self) -> dict[str, Any]:
        """Its JSON schema."""
        words = self.words if self.since == 1 else f"{self.words.removesuffix('.')}; since version {self.since}."
        return self.kind.schema | ({"description": words} if words else {})


def fixed(value: Any) -> Field:
    """A field that always holds the same."""
    kind = FieldKind({"const": value}, write=lambda _: value)
    return kind(attribute="__class__", derived=True)


DEFINED: dict[str, Fields | Mapping[str, Any]] = {}
"""Tables, and schemas that several of them share, by the names that the schema of files has for them."""


def ref(name: str) -> dict[str, Any]:
    """The schema of what is defined under a name."""
    return {"$ref": f"#/$defs/{name}"}


def defined(name: str, kind: FieldKind, words: str = "") -> FieldKind:
    """The same kind, described once under a name."""
    DEFINED[name] = kind.schema | ({"description": words} if words else {})
    return replace(kind, schema=ref(name))


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
    >>> word = FieldKind({"type": "string"}, lambda value: isinstance(value, str))
    >>> person = Fields("person", "Somebody.", name=word("How they are called."), title=word(absent=""))
    >>> person.read({"name": "Ada"}), person.schema["required"]
    ({'name': 'Ada', 'title': ''}, ['name'])
    >>> person.read({"name": 1})
    Traceback (most recent call last):
    ...
    discreet.errors.FileFormatError: it is damaged, its parts do not fit together: name is of another kind.
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
        """Return the fields of a thing, as files hold them."""
        return {
            key: one.kind.write(attrgetter(one.attribute)(thing))
            for key, one in self.rows.items()
            if one.is_written(thing)
        }

    def read(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """The values of all fields but derived ones, by attribute; refuse what is of another kind."""
        values = {}
        for key, one in self.rows.items():
            if one.derived:
                continue
            missing = one.absent is not REQUIRED and key not in facts
            wrong = self._wrong.format(name=key)
            values[one.attribute] = one.absent if missing else one.kind.take(facts[key], wrong)
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


class ClosedFields(Fields):
    """The fields of a thing that has no others."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of such a thing."""
        return super().schema | {"additionalProperties": False}


class Written:
    """A thing whose fields a table describes and writes."""

    FIELDS: ClassVar[Fields]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return self.FIELDS.write(self)


class FileRecord(Written):
    """A thing whose fields a table describes, writes and reads."""

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
        found["properties"] |= {"format_version": {"enum": list(self.versions)}, "sha256": ref("sha256")}
        return found
