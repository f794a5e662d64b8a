"""Guesses about columns, as texts: those of the command line and of forms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from discreet.errors import ParameterError


def guesses(given: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Parse guesses by column, from texts such as ``age.mean=50``.

    Examples
    --------
    >>> guesses(["age.mean=50", "age.sd=18", "a=b.shares=0.6,0.4"])
    {'age': {'mean': 50.0, 'sd': 18.0}, 'a=b': {'shares': [0.6, 0.4]}}
    """
    found: dict[str, dict[str, Any]] = {}
    for text in given:
        left, equals, value = text.rpartition("=")
        column, dot, what = left.rpartition(".")
        if not equals or not dot:
            known = "COLUMN.mean=, COLUMN.sd=, COLUMN.low=, COLUMN.high= or COLUMN.shares="
            raise ParameterError(f"The guess {text!r}: give {known} and figures.")
        found.setdefault(column, {})[what] = _guess(what, value)
    return found


def _guess(what: str, value: str) -> float | str | list[float]:
    """Parse shares, a number, or a date, which is left as text."""
    if what == "shares":
        return [_number(part) for part in value.split(",")]
    is_date = what in ("mean", "low", "high") and value[:4].isdigit() and value[4:5] == "-"
    return value if is_date else _number(value)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"The guess {text!r} is not a number.") from None
