"""Parameter checks, with one wording for their errors."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, Literal, TypeGuard

import numpy as np

from discreet.errors import DiscreetWarning, ParameterError

Neighbors = Literal["add-remove", "replace-one"]

LARGEST_ROWS = 2**53
"""The most rows that a table can have; all counts up to it are exact in floating point."""

LARGE_DELTA = 0.01
"""A larger delta leads to a warning: a mechanism could then publish one person out of a hundred."""


def is_real(value: Any) -> TypeGuard[float]:
    """Whether a value is a real number that a float can hold, and not a boolean."""
    if type(value) is float:
        return True
    if isinstance(value, bool):
        return False
    try:
        return isinstance(value, Real) and isinstance(float(value), float)
    except OverflowError:
        return False


def shown(value: Any) -> str:
    """Return a short text for any value, to be quoted in an error.

    Examples
    --------
    >>> shown(0.5), shown(10**5000)
    ('0.5', 'a whole number of more than 300 digits')
    """
    if isinstance(value, int) and abs(value) >= 10**300:
        return "a whole number of more than 300 digits"
    try:
        text = repr(value)
    except Exception:  # of a user's own type, or of a list of such numbers
        return f"a {type(value).__name__}"
    return text if len(text) <= 200 else text[:200] + "..."


def meant(name: str, known: Iterable[str]) -> str:
    """Return a hint if a name resembles a known one, else an empty text."""
    by_letters = {other.casefold().strip(): other for other in known}
    close = get_close_matches(name.casefold().strip(), by_letters, 1, 0.7)
    return f" Did you mean {by_letters[close[0]]!r}?" if close else ""


def positive(name: str, value: Any) -> float:
    """Return a value as a float if it is a finite real number above zero, else raise."""
    if not is_real(value) or not math.isfinite(value) or value <= 0:
        raise ParameterError(f"{name} must be a finite number above 0, got {shown(value)}.")
    return float(value)


def fraction(name: str, value: Any) -> float:
    """Return a value as a float if it lies strictly between zero and one, else raise."""
    if not is_real(value) or not 0 < value < 1:
        raise ParameterError(f"{name} must lie strictly between 0 and 1, got {shown(value)}.")
    return float(value)


def choice(name: str, value: Any, options: tuple[Any, ...]) -> Any:
    """Return a value if it is one of the options, else raise."""
    if not any(value is option or value == option for option in options):
        listed = ", ".join(repr(option) for option in options)
        raise ParameterError(f"{name} must be one of {listed}; got {shown(value)}.")
    return value


def flag(name: str, value: Any) -> bool:
    """Return a value if it is True or False, else raise.

    Examples
    --------
    >>> flag("clip", False)
    False
    """
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name} must be True or False, got {shown(value)}.")
    return bool(value)


def neighbors(value: Any) -> Neighbors:
    """Return a neighbour relation if it is known, else raise."""
    checked: Neighbors = choice("neighbors", value, ("add-remove", "replace-one"))
    return checked


def rows(value: Any) -> int | None:
    """Return the declared, public number of rows, or None, if it is valid, else raise."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) <= LARGEST_ROWS:
        raise ParameterError(
            f"rows must be a whole number of at least 1 and at most 2^53, got {shown(value)}. It is the "
            "public, rounded size of the table that you declare; it is never read from the data."
        )
    return int(value)


def epsilon(value: Any) -> float:
    """Return epsilon if it is valid, else raise; warn of a large one."""
    if value is None:
        raise ParameterError(
            "epsilon is required: it is the promise you make to the people in the table. "
            "Values from 0.1 (strong) to 1 (usual) are common, e.g. epsilon=1."
        )
    if not is_real(value) or not math.isfinite(value) or value <= 0:
        raise ParameterError(f"epsilon must be a finite number above 0, got {shown(value)}. Try epsilon=1.")
    if value > 10:
        warnings.warn(
            f"epsilon={value:g} promises little: an outcome may become e^{value:g} times as likely because of one "
            "person. Values up to 1 are usual.",
            DiscreetWarning,
            stacklevel=3,
        )
    return float(value)


def delta(value: Any, rows: int | None = None) -> float:
    """Return delta if it is valid, or 1/rows^2 if it is None and the public number of rows is declared, else raise."""
    if value is None:
        if rows is None:
            raise ParameterError(
                "delta is required, or declare the public size of the table with rows= and delta becomes "
                "1/rows^2. Choose it well below one over the number of people, e.g. delta=1e-6."
            )
        if rows < 2:
            raise ParameterError("delta is required when rows=1, for 1/rows^2 would be 1. Try delta=1e-6.")
        value = 1.0 / rows**2
    if not is_real(value) or not 0 < value < 1:
        raise ParameterError(f"delta must lie strictly between 0 and 1, got {shown(value)}. Try delta=1e-6.")
    if value > (LARGE_DELTA if rows is None else 1 / rows):
        above = f"{LARGE_DELTA:g}" if rows is None else "1/rows"
        warnings.warn(
            f"delta={value:g} is above {above}: a mechanism with this delta may publish one whole row. "
            "Choose delta well below one over the number of people.",
            DiscreetWarning,
            stacklevel=3,
        )
    return float(value)


def repeated(names: Sequence[str]) -> str | None:
    """Return the first name that occurs more than once, or None."""
    if len(set(names)) == len(names):
        return None
    counts = Counter(names)
    return next(name for name in names if counts[name] > 1)
