"""Schemas: the public facts about a table as a TOML or JSON file that people fill in."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from discreet.core.checks import meant
from discreet.core.files import read_json, reading, refuse_special
from discreet.core.problems import Problems
from discreet.domain.columns import FORMS
from discreet.domain.file_format import FileFormat
from discreet.domain.unit import FACTS
from discreet.errors import DomainError, FileFormatError, ParameterError

T = TypeVar("T")

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
#   a number whose bounds nobody knows: wealth = { type = "number" } or { low = 0 }; a private search finds them
#
# Missing values are refused, unless the next line says that their rows are left out: then delete the #.
# missing = "drop"
#
# Where a person may have many rows, name the column that tells whose a row is, and how many rows one person counts
# for at most; where rows have weights, their column and a bound on them: see docs/howto/persons.md.
# person = "id"
# rows_per_person = 4
# weights = "weight"
# largest_weight = 100
#
# How a CSV or Excel file is written, where it is not the usual way: delete the # and what you do not need.
# file = { sep = ";", decimal = ",", thousands = ".", na = ["unknown"], date_format = "%d/%m/%Y" }

[columns]
"""

_DECIMAL = '# Where semicolons separate values, numbers often have a decimal comma: then add decimal = ",".\n'

KNOWN = {"columns", "data_norm", "norm_columns", "intercept", "missing", "file", *FACTS}
"""The keys of a schema."""

KINDS = {form.kind: form.blank for form in FORMS.values()} | {
    "any": '"FILL IN"  # { low = , high = } or { levels = ["", ""] } or { type = "bool" }'
}
"""The line to fill in for each kind of column; ``"any"`` if the kind is unknown."""

PARTS = 20
"""The most parts of a dotted key; a schema needs three, as in columns.age.low."""

_TOKENS = re.compile(
    r'"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\w-]+|[ \t]+|[\s\S]'
)
_PART = re.compile(r"""["'\w \t-]""")
"""The first character of a part of a key, or of the blanks around it."""


def blank_schema(columns: Iterable[tuple[str, str]], written: FileFormat | None = None) -> str:
    """Write TOML with a line to fill in for each (name, kind), kind one of number, date, category, bool, any.

    The format of files, `written`, is filled in already.

    Examples
    --------
    >>> print(blank_schema([("age", "number")]).splitlines()[-1])
    age = { low = "FILL IN", high = "FILL IN" }
    """
    head, told = _HEAD, {} if written is None else written.to_dict()
    if told:
        head = "\n".join(line for line in head.split("\n") if not line.startswith("# file ="))
        mark = _DECIMAL if told.get("sep") == ";" and "decimal" not in told else ""
        head = head.replace("\n[columns]", f"{mark}file = {_inline(told)}\n\n[columns]")
    return head + "".join(f"{_key(name)} = {KINDS[kind]}\n" for name, kind in columns)


def filled_schema(facts: Mapping[str, Any]) -> str:
    """Write the TOML of `Domain.to_dict`, which `Domain.from_file` reads back.

    Examples
    --------
    >>> columns = {"age": {"low": 18.0, "high": 90.0, "unit": "year"}, "sex": {"levels": ["F", "M"]}}
    >>> print(filled_schema({"columns": columns, "missing": "drop", "intercept": True}))
    missing = "drop"
    <BLANKLINE>
    [columns]
    age = { low = 18.0, high = 90.0, unit = "year" }
    sex = { levels = ["F", "M"] }
    <BLANKLINE>
    """
    plain = ("data_norm", "norm_columns", "missing", *FACTS)
    lines = [f"{name} = {_text(facts[name])}" for name in plain if name in facts]
    lines += [] if facts.get("intercept", True) else ["intercept = false"]
    lines += [f"file = {_inline(facts['file'])}"] if "file" in facts else []
    columns = [f"{_key(name)} = {_inline(spec)}" for name, spec in facts["columns"].items()]
    return "\n".join([*lines, "", "[columns]", *columns, ""])


def _inline(facts: Mapping[str, Any]) -> str:
    """Write an inline table of TOML."""
    return "{ " + ", ".join(f"{_key(name)} = {_text(value)}" for name, value in facts.items()) + " }"


def _key(name: str) -> str:
    bare = name and all(c.isascii() and (c.isalnum() or c in "_-") for c in name)
    return name if bare else _text(name)


def _text(value: Any) -> str:
    """Write text, or a list of it, as TOML and JSON both do."""
    quoted = json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in quoted)


def read_schema(path: str | Path) -> dict[str, Any]:
    """Read a schema file into the mapping that `Domain.from_dict` takes."""
    path = Path(path)
    refuse_special(path)
    facts = read_json(path) if path.suffix.lower() == ".json" else read_toml(path)
    with reading(path, kept=(DomainError,)):
        _check(path.name, facts)
    return dict(facts)


def load_schema(path: str | Path, build: Callable[[dict[str, Any]], T]) -> T:
    """Build an object from a schema file; errors other than our own name the file."""
    facts = read_schema(path)
    with reading(path, kept=(DomainError, ParameterError)):
        return build(facts)


def read_toml(path: Path, what: str = "a schema is a TOML or JSON file") -> dict[str, Any]:
    """Read a TOML file without more memory than its size deserves; `what` says which files are expected."""
    content = path.read_bytes()
    with reading(path):
        try:
            text = content.decode("utf-8")
            if _longest_key(text) > PARTS:
                raise FileFormatError("its entries are nested too deeply.")
            return tomllib.loads(text)
        except FileFormatError:
            raise
        except UnicodeDecodeError:
            raise FileFormatError(f"{path.name} is not text: {what}.") from None
        except tomllib.TOMLDecodeError as error:
            raise FileFormatError(f"{path.name} is not valid TOML: {error}.") from None
        except RecursionError:
            raise FileFormatError("its entries are nested too deeply.") from None
        except ValueError:  # Python reads no number of more than 4,300 digits, and no date such as 2024-02-30
            raise FileFormatError("it holds a number with too many digits, or a date that does not exist.") from None


def _longest_key(text: str) -> int:
    """The most parts of a dotted key, as a.b.c, outside strings and comments.

    Python's reader needs memory for the square of them: 2.4 GB for a file of 50 kB.
    """
    longest = parts = 1
    for token in _TOKENS.finditer(text):
        if token[0] == ".":
            longest, parts = max(longest, parts + 1), parts + 1
        elif not _PART.match(token[0]):
            parts = 1
    return longest


def _check(name: str, facts: Any) -> None:
    if not isinstance(facts, dict) or not isinstance(facts.get("columns"), dict):
        raise FileFormatError(f"{name} has no [columns] table. `discreet schema init FILE` writes a form to fill in.")
    problems = Problems()
    for entry in sorted(set(facts) - KNOWN):
        hint = meant(entry, KNOWN)
        problems.add(FileFormatError(f"{name}: unknown entry {entry!r}.{hint} Known: {', '.join(sorted(KNOWN))}."))
    for column, spec in facts["columns"].items():
        if "FILL IN" in json.dumps(spec, default=str):
            problems.add(
                DomainError(f"{name}: column {column!r} still says FILL IN. Give its bounds or levels, or delete it.")
            )
    problems.tell()
