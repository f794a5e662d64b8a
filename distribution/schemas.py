"""The JSON schema of saved files, from the tables of their fields: ``python -m distribution.schemas`` writes it."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import discreet
from discreet.core.fields import DEFINED, DocumentFields, Fields, ref
from discreet.core.files import KINDS

FILE = Path(discreet.__file__).parent / "schemas" / "documents.json"
HOLDERS = ("core.signing", "ledger.documents", "planning.documents", "results.saved")
"""Modules whose tables describe files; they import those of what files hold."""

WIDTH = 120


def schema() -> dict[str, Any]:
    """The JSON schema of all files."""
    for name in HOLDERS:
        importlib.import_module(f"discreet.{name}")
    tables = [table for table in DEFINED.values() if isinstance(table, DocumentFields)]
    latest = max(version for table in tables for version in table.versions)
    words = "All versions up to the one that the id ends with. A field that is not described here may be ignored."
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:discreet:documents:{latest}",
        "title": "Files that discreet writes",
        "description": words,
        "type": "object",
        "required": ["kind", "format_version", "sha256"],
        "properties": {"kind": {"enum": list(KINDS)}, "format_version": {"type": "integer"}, "sha256": ref("sha256")},
        "allOf": [*(_of_kind(kind, tables) for kind in KINDS), *_of_versions(latest)],
        "$defs": {name: described(name) for name in _reached(tables)},
    }


def described(name: str) -> Mapping[str, Any]:
    """The schema of what is defined under a name."""
    found = DEFINED[name]
    return found.schema if isinstance(found, Fields) else found


def _of_kind(kind: str, tables: list[DocumentFields]) -> dict[str, Any]:
    own = [ref(table.name) for table in tables if table.kind == kind]
    return {"if": {"properties": {"kind": {"const": kind}}}, "then": own[0] if len(own) == 1 else {"oneOf": own}}


def _of_versions(latest: int) -> Iterator[dict[str, Any]]:
    """Refuse in older files what a version brought to certificates."""
    for version in range(2, latest + 1):
        if newer := _newer(ref("certificate"), version, frozenset()):
            yield {
                "description": f"Fields since version {version}.",
                "if": {"properties": {"format_version": {"maximum": version - 1}}},
                "then": {"properties": {"certificate": newer}},
            }


def _newer(part: Mapping[str, Any], version: int, above: frozenset[str]) -> dict[str, Any]:
    """A schema that refuses the fields that a version brought; what lies within itself is looked into once."""
    if name := part.get("$ref", "").rpartition("/")[2]:
        found, within = DEFINED[name], above | {name}
        if name in above:
            return {}
        return _without(found, version, within) if isinstance(found, Fields) else _newer(found, version, within)
    parts = [_newer(one, version, above) for how in ("anyOf", "oneOf") for one in part.get(how, ())]
    inner = {how: part[how] for how in ("items", "additionalProperties") if how in part}
    return _all([*parts, *({how: _newer(one, version, above)} for how, one in inner.items())])


def _without(table: Fields, version: int, above: frozenset[str]) -> dict[str, Any]:
    brought = {name: False for name, field in table.rows.items() if field.since == version}
    inside = {name: _newer(field.kind.schema, version, above) for name, field in table.rows.items()}
    return _all([{"properties": brought | {name: one for name, one in inside.items() if one}}])


def _all(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The schema of what all of some schemas allow, each of which is said once."""
    said: list[dict[str, Any]] = []
    for part in parts:
        said += [part] if any(part.values()) and part not in said else []
    return {} if not said else said[0] if len(said) == 1 else {"allOf": said}


def _reached(tables: list[DocumentFields]) -> list[str]:
    """Names of all that the schemas of files refer to."""
    reached, new = set[str](), {"sha256", *(table.name for table in tables)}
    while new:
        reached |= new
        texts = [json.dumps(described(name)) for name in new]
        new = {name for text in texts for name in re.findall(r'"#/\$defs/(\w+)"', text)} - reached
    return sorted(reached)


def laid_out(value: Any, before: int = 0, indent: int = 0) -> str:
    """JSON whose parts are on one line each, if they fit one.

    Examples
    --------
    >>> laid_out({"a": [1, 2]})
    '{"a": [1, 2]}'
    """
    plain = json.dumps(value)
    if not isinstance(value, dict | list) or not value or before + len(plain) + 1 <= WIDTH:
        return plain
    within, ends = " " * (indent + 1), "{}" if isinstance(value, dict) else "[]"
    keys = [f"{json.dumps(key)}: " for key in value] if isinstance(value, dict) else [""] * len(value)
    parts = zip(keys, value.values() if isinstance(value, dict) else value, strict=True)
    lines = [f"{within}{key}{laid_out(one, len(within + key), indent + 1)}" for key, one in parts]
    return ends[0] + "\n" + ",\n".join(lines) + "\n" + " " * indent + ends[1]


def page() -> str:
    """The text of the file."""
    return laid_out(schema()) + "\n"


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
    print(FILE)
