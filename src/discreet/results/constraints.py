"""Linear hypotheses about coefficients, as weights: ``age - hours = 0``, ``(region[south] + region[west])/2 = 1``.

Grammar::

    statements  =  statement { "," statement }
    statement   =  sum [ "=" sum ]
    sum         =  product { ("+" | "-") product }
    product     =  sign { ("*" | "/") sign }
    sign        =  { "-" | "+" } atom
    atom        =  number | name | "`" name "`" | "(" sum ")"

A name is that of a coefficient, the longest that fits; one that looks like a number or begins with a sign stands in
backticks. Everything is linear: one side of ``*`` is a number, and so is what stands below ``/``.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.checks import meant
from discreet.domain import CONSTANT
from discreet.errors import ParameterError, printable

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9]+")
_DEEPEST = 50
_INTERCEPTS = ("Intercept", "const")
"""Names that other programs give the intercept."""


class Constraints(NamedTuple):
    """Weighted sums of coefficients, and their hypothesised values."""

    labels: tuple[str, ...]
    weights: Floats
    values: Floats


def constraints(said: Any, names: Sequence[str]) -> Constraints:
    """Read statements about coefficients.

    `said`: statements; or weights, one for each coefficient; or a matrix of them, a row for each sum.

    Examples
    --------
    >>> found = constraints("a - 2*b = 3, c", ["a", "b", "c"])
    >>> found.weights.tolist(), found.values.tolist()
    ([[1.0, -2.0, 0.0], [0.0, 0.0, 1.0]], [3.0, 0.0])
    """
    texts = [said] if isinstance(said, str) else said
    if isinstance(texts, (list, tuple)) and texts and all(isinstance(text, str) for text in texts):
        rows = [row for text in texts for row in _Statements(text, list(names)).read()]
        weights = np.array([row for _, row in rows])
        return Constraints(tuple(label for label, _ in rows), weights[:, :-1], 0.0 - weights[:, -1])
    try:
        weights = np.atleast_2d(np.asarray(said, dtype=float))
    except (TypeError, ValueError, OverflowError):
        weights = np.empty((0, 0, 0))
    if weights.ndim != 2 or weights.shape[1] != len(names) or not len(weights) or not np.isfinite(weights).all():
        example = f"{' - '.join([*names][-2:])} = 0"
        raise ParameterError(
            f"Say what is tested, as {example!r}, or give {len(names)} weights, one for each coefficient: "
            f"{', '.join(names)}; several tests are a matrix of them."
        )
    labels = tuple(_label(row, names) for row in weights)
    return Constraints(labels, weights, np.zeros(len(weights)))


def _label(weights: Floats, names: Sequence[str]) -> str:
    parts = ""
    for name, weight in zip(names, weights.tolist(), strict=True):
        if weight:
            sign = (" - " if weight < 0 else " + ") if parts else ("-" if weight < 0 else "")
            parts += sign + (name if abs(weight) == 1 else f"{abs(weight):g}*{name}")
    return parts or "0"


T = TypeVar("T")


@dataclass
class CoefficientReader(ABC, Generic[T]):
    """Parser of a text about coefficients; T is what a sum is read as."""

    text: str
    names: list[str]
    place: int = 0
    deep: int = 0

    def _fail(self, place: int, message: str) -> NoReturn:
        before = printable(self.text[:place])
        raise ParameterError(f"{message}:", f"  {self.text}", f"  {' ' * len(before)}^")

    def _skip(self) -> None:
        while self.text[self.place : self.place + 1].isspace():
            self.place += 1

    def _take(self, *signs: str) -> str | None:
        self._skip()
        sign = self.text[self.place : self.place + 1]
        if not sign or sign not in signs:
            return None
        self.place += 1
        self._skip()
        return sign

    @abstractmethod
    def _sum(self) -> T:
        """Read a sum."""

    @abstractmethod
    def _named(self, place: int) -> T:
        """Return the coefficient at a place."""

    @abstractmethod
    def _numeral(self, value: float) -> T:
        """Return a number."""

    def _atom(self) -> T:
        place = self.place
        if (name := self._name()) is not None:
            found = self._named(self.names.index(name))
        elif match := _NUMBER.match(self.text, place):
            found = self._numeral(float(match[0]))
            self.place = match.end()
        elif self._take("("):
            self.deep += 1
            if self.deep > _DEEPEST:
                self._fail(place, "Too many parentheses")
            found = self._sum()
            if not self._take(")"):
                self._fail(self.place, "Expected ')'")
            self.deep -= 1
        else:
            self._unknown(place)
        return found

    def _name(self) -> str | None:
        """Read the longest coefficient name at this position, or one in backticks."""
        rest, aliases = self.text[self.place :], _INTERCEPTS if CONSTANT in self.names else ()
        plain = [name for name in (*self.names, *aliases) if not _NUMBER.fullmatch(name)]
        fitting = [name for name in plain if rest.startswith(name) and _ends(name, rest)]
        fitting += [f"`{name}`" for name in self.names if rest.startswith(f"`{name}`")]
        if not fitting:
            return None
        found = max(fitting, key=len)
        self.place += len(found)
        bare = found[1:-1] if found not in self.names and found[0] == "`" else found
        return bare if bare in self.names else CONSTANT

    def _unknown(self, place: int) -> NoReturn:
        word = re.match(r"`[^`]*`|[^\s=+*/,()-]+", self.text[place:])
        if word is None:
            self._fail(place, "Expected a coefficient or a number")
        hint = meant(word[0].strip("`"), self.names)
        self._fail(place, f"{word[0]!r} is not a coefficient.{hint} Known: {', '.join(self.names)}")

    def _is_name(self) -> bool:
        """Whether the name of a coefficient begins here."""
        place = self.place
        found = self._name() is not None
        self.place = place
        return found


class _Statements(CoefficientReader[Floats]):
    """Parser of statements; a sum is a vector of weights, with the constant last."""

    def _named(self, place: int) -> Floats:
        found: Floats = np.eye(len(self.names) + 1)[place]
        return found

    def _numeral(self, value: float) -> Floats:
        found: Floats = value * np.eye(len(self.names) + 1)[-1]
        return found

    def read(self) -> list[tuple[str, Floats]]:
        found = []
        while True:
            start = self.place
            row = self._sum()
            if self._take("="):
                row = row - self._sum()
            if not row[:-1].any():
                self._fail(start, "This says nothing of a coefficient")
            found.append((self.text[start : self.place].strip(), row))
            if not self._take(","):
                break
        if self.place < len(self.text):
            self._fail(self.place, "Expected '+', '-', '*', '/', '=' or ','")
        return found

    def _sum(self) -> Floats:
        total = self._product()
        while sign := self._take("+", "-"):
            part = self._product()
            total = total + part if sign == "+" else total - part
        return total

    def _product(self) -> Floats:
        result = self._signed()
        while sign := self._take("*", "/"):
            place = self.place
            factor = self._signed()
            if sign == "*" and not factor[:-1].any():
                result = result * factor[-1]
            elif sign == "*" and not result[:-1].any():
                result = result[-1] * factor
            elif sign == "/" and not factor[:-1].any() and factor[-1]:
                result = result / factor[-1]
            else:
                self._fail(place, "Coefficients can be multiplied with numbers, and divided by numbers, only")
        return result

    def _signed(self) -> Floats:
        self._skip()
        sign = 1.0
        while taken := self._take("-", "+"):
            sign = -sign if taken == "-" else sign
        return sign * self._atom()


def _ends(name: str, rest: str) -> bool:
    """Whether a name is a whole word at the beginning of a text."""
    after = rest[len(name) : len(name) + 1]
    return not (name[-1:].isalnum() or name[-1:] == "_") or not (after.isalnum() or after == "_")
