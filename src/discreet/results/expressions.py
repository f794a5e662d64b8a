"""Expressions of coefficients: ``-age / (2*`age^2`)``, ``exp(sex[male]) - 1``.

Grammar::

    expression  =  product { ("+" | "-") product }
    product     =  signed { ("*" | "/") signed }
    signed      =  { "-" | "+" } power
    power       =  atom [ ("^" | "**") signed ]
    atom        =  number | name | "`" name "`" | function "(" expression ")" | "(" expression ")"
    function    =  "exp" | "log" | "sqrt"

A name is that of a coefficient, the longest that fits, as in `results.constraints`: where ``age^2`` is a coefficient it
is meant, not the square of ``age``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.arrays import Floats
from discreet.errors import ParameterError
from discreet.results.constraints import CoefficientReader

Value = tuple[float, Floats]
"""A number and its gradient in the coefficients."""


@dataclass(frozen=True, eq=False)
class CoefficientExpression:
    """A function of the coefficients b.

    Parameters
    ----------
    at : callable
        The value and its gradient at b.
    used : list of int
        The places of the coefficients in it.
    linear : array, optional
        Its weights and its constant, where it is a weighted sum.
    ratio : pair of arrays, optional
        Those of numerator and denominator, where it is a ratio of weighted sums.
    """

    at: Callable[[Floats], Value]
    used: list[int]
    linear: Floats | None = None
    ratio: tuple[Floats, Floats] | None = None


def _weighted(row: Floats) -> CoefficientExpression:
    """A weighted sum, from its weights and its constant."""
    row = row + 0.0
    return CoefficientExpression(
        lambda b: (float(row[:-1] @ b + row[-1]), row[:-1].copy()), np.flatnonzero(row[:-1]).tolist(), linear=row
    )


def _quotient(above: Floats, below: Floats) -> CoefficientExpression:
    """A ratio of weighted sums."""
    above, below = above + 0.0, below + 0.0
    found = _divided(_weighted(above), _weighted(below))
    return CoefficientExpression(found.at, found.used, ratio=(above, below))


def _joined(
    a: CoefficientExpression, b: CoefficientExpression, at: Callable[[Value, Value], Value]
) -> CoefficientExpression:
    return CoefficientExpression(lambda x: at(a.at(x), b.at(x)), sorted({*a.used, *b.used}))


def _divided(a: CoefficientExpression, b: CoefficientExpression) -> CoefficientExpression:
    def at(one: Value, other: Value) -> Value:
        with np.errstate(all="ignore"):
            value = float(np.divide(one[0], other[0]))
            return value, (one[1] - value * other[1]) / other[0]

    return _joined(a, b, at)


def _constant(own: CoefficientExpression) -> float | None:
    """The number that an expression is, if it has no coefficient."""
    return None if own.linear is None or own.used else float(own.linear[-1])


def _plus(a: CoefficientExpression, b: CoefficientExpression, sign: float) -> CoefficientExpression:
    if a.linear is not None and b.linear is not None:
        return _weighted(a.linear + sign * b.linear)
    for one, other, own, another in ((a, b, 1.0, sign), (b, a, sign, 1.0)):
        number = _constant(other)
        if one.ratio is not None and number is not None:
            above, below = one.ratio
            return _quotient(own * above + another * number * below, below)
    return _joined(a, b, lambda one, other: (one[0] + sign * other[0], one[1] + sign * other[1]))


def _times(a: CoefficientExpression, b: CoefficientExpression) -> CoefficientExpression:
    for one, other in ((a, b), (b, a)):
        number = _constant(one)
        if number is not None and other.linear is not None:
            return _weighted(number * other.linear)
        if number is not None and other.ratio is not None:
            return _quotient(number * other.ratio[0], other.ratio[1])
    return _joined(a, b, lambda one, other: (one[0] * other[0], one[0] * other[1] + other[0] * one[1]))


def _over(a: CoefficientExpression, b: CoefficientExpression) -> CoefficientExpression:
    number = _constant(b)
    if number:
        return _times(a, _weighted(b.linear * 0 + np.eye(len(b.linear))[-1] / number))  # type: ignore[arg-type,operator]
    if a.linear is not None and b.linear is not None and b.used:
        return _quotient(a.linear, b.linear)
    return _divided(a, b)


def _of(inner: CoefficientExpression, f: Callable[[float], tuple[float, float]]) -> CoefficientExpression:
    """A function, from its value and its slope at a number."""

    def at(x: Floats) -> Value:
        value, gradient = inner.at(x)
        with np.errstate(all="ignore"):
            found, slope = f(value)
        return float(found), float(slope) * gradient

    return CoefficientExpression(at, inner.used)


_FUNCTIONS: dict[str, Callable[[float], tuple[float, float]]] = {
    "exp": lambda x: (np.exp(x), np.exp(x)),
    "log": lambda x: (np.log(x), np.divide(1.0, x)),
    "sqrt": lambda x: (np.sqrt(x), np.divide(0.5, np.sqrt(x))),
}


class _Expressions(CoefficientReader[CoefficientExpression]):
    """Parser of one expression."""

    def read(self) -> CoefficientExpression:
        found = self._sum()
        if self.place < len(self.text):
            self._fail(self.place, "Expected '+', '-', '*', '/' or '^'")
        if not found.used:
            self._fail(0, "This says nothing of a coefficient")
        return found

    def _named(self, place: int) -> CoefficientExpression:
        return _weighted(np.eye(len(self.names) + 1)[place])

    def _numeral(self, value: float) -> CoefficientExpression:
        return _weighted(value * np.eye(len(self.names) + 1)[-1])

    def _sum(self) -> CoefficientExpression:
        total = self._product()
        while sign := self._take("+", "-"):
            total = _plus(total, self._product(), 1.0 if sign == "+" else -1.0)
        return total

    def _product(self) -> CoefficientExpression:
        result = self._signed()
        while sign := self._take("*", "/"):
            result = _times(result, self._signed()) if sign == "*" else _over(result, self._signed())
        return result

    def _signed(self) -> CoefficientExpression:
        self._skip()
        sign = 1.0
        while taken := self._take("-", "+"):
            sign = -sign if taken == "-" else sign
        found = self._power()
        return found if sign > 0 else _times(self._numeral(-1.0), found)

    def _power(self) -> CoefficientExpression:
        base = self._atom()
        if not self._take_power():
            return base
        place = self.place
        number = _constant(self._signed())
        if number is None:
            self._fail(place, "A power is a number")
        return base if number == 1 else _of(base, lambda x: (np.power(x, number), number * np.power(x, number - 1)))

    def _take_power(self) -> bool:
        self._skip()
        for sign in ("**", "^"):
            if self.text.startswith(sign, self.place):
                self.place += len(sign)
                return True
        return False

    def _take(self, *signs: str) -> str | None:
        self._skip()
        return None if self.text.startswith("**", self.place) else super()._take(*signs)

    def _atom(self) -> CoefficientExpression:
        start = self.place
        for name, function in _FUNCTIONS.items():
            if self.text.startswith(f"{name}(", start) and not self._is_name():
                self.place += len(name)
                return _of(self._atom(), function)
        return super()._atom()


def expressions(said: Any, names: Sequence[str]) -> dict[str, CoefficientExpression]:
    """Read expressions of coefficients, by their names: the texts, or those of a mapping.

    Examples
    --------
    >>> found = expressions("-a / (2*b)", ["a", "b"])["-a / (2*b)"]
    >>> found.at(np.array([4.0, -0.5]))[0], [part.tolist() for part in found.ratio]
    (4.0, [[-1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    """
    texts = {said: said} if isinstance(said, str) else said
    if isinstance(texts, (list, tuple)):
        texts = {text: text for text in texts}
    proper = isinstance(texts, Mapping) and texts and all(isinstance(t, str) for own in texts.items() for t in own)
    if not proper:
        raise ParameterError(
            f"Write what is computed of coefficients, as '{names[-1]} / (2 * {names[0]})', a list of such texts, "
            "or a mapping that names them."
        )
    return {name: _Expressions(text, list(names)).read() for name, text in texts.items()}
