"""Schemas: the public facts about a table as a TOML or JSON file that people fill in."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from discreet.core.files import read_json, refuse_special
from discreet.errors import DomainError, FileFormatError

_HEAD = """\
# What is publicly known about the columns of this table.
#
# Fill in the bounds from what is known of the subject: laws, questionnaires, common sense. Never take them
# from the data: a minimum, a maximum or a list of the values that occur is itself private information.
# Values outside the bounds are moved to the nearest bound. Delete the columns that you do not need.
#
#   a number     age    = { low = 18, high = 90, unit = "years" }
#   a category   region = { levels = ["north", "south"] }     the first level is the reference
#   yes or no    member = { type = "bool" }
#   a date       born   = { low = 1920-01-01, high = 2010-12-31 }
#
# Missing values are refused, unless the next line says that their rows are left out: then delete the #.
# missing = "drop"

[columns]
"""

KINDS = {
    "number": '{ low = "FILL IN", high = "FILL IN" }',
    "date": '{ low = "FILL IN", high = "FILL IN" }  # dates, e.g. 1990-12-31',
    "category": '{ levels = ["FILL IN", "FILL IN"] }',
    "bool": '{ type = "bool" }',
    "any": '"FILL IN"  # { low = , high = } or { levels = ["", ""] } or { type = "bool" }',
}
"""What the form says for each kind of column; ``"any"`` where the file does not tell."""


def blank_schema(columns: Iterable[tuple[str, str]]) -> str:
    """TOML text with a line to fill in for each (name, kind), kind one of number, date, category, bool, any.

    Examples
    --------
    >>> print(blank_schema([("age", "number")]).splitlines()[-1])
    age = { low = "FILL IN", high = "FILL IN" }
    """
    return _HEAD + "".join(f"{_key(name)} = {KINDS[kind]}\n" for name, kind in columns)


def _key(name: str) -> str:
    bare = name and all(c.isascii() and (c.isalnum() or c in "_-") for c in name)
    if bare:
        return name
    quoted = json.dumps(name, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in quoted)


def read_schema(path: str | Path) -> dict[str, Any]:
    """Read a schema file into the mapping that `Domain.from_dict` takes."""
    path = Path(path)
    refuse_special(path)
    if path.suffix.lower() == ".json":
        facts = read_json(path)
    else:
        try:
            facts = tomllib.loads(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise FileFormatError(f"{path.name} is not text: a schema is a TOML or JSON file.") from None
        except tomllib.TOMLDecodeError as error:
            raise FileFormatError(f"{path.name} is not valid TOML: {error}.") from None
    _check(path.name, facts)
    return dict(facts)


def _check(name: str, facts: Any) -> None:
    if not isinstance(facts, dict) or not isinstance(facts.get("columns"), dict):
        raise FileFormatError(f"{name} has no [columns] table. `discreet schema init FILE` writes a form to fill in.")
    known = {"columns", "data_norm", "norm_columns", "intercept", "missing"}
    unknown = sorted(set(facts) - known)
    if unknown:
        raise FileFormatError(f"{name}: unknown entry {unknown[0]!r}. Known: {', '.join(sorted(known))}.")
    for column, spec in facts["columns"].items():
        if "FILL IN" in json.dumps(spec, default=str):
            raise DomainError(f"{name}: column {column!r} still says FILL IN. Give its bounds or levels, or delete it.")
