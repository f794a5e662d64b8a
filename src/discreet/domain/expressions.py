"""Expressions of declared numbers, evaluated row by row: ``log(age)``, ``(age - 41)**2``, ``weight/height**2``.

An expression knows its text, its unit, the columns it is made of, and the range of its values over their bounds. The
range is found by interval arithmetic with fractions, so without rounding, and rounded outwards once, at the end. It is
exact where each column stands once; where one stands several times its bounds are cut into pieces, and the union of
the pieces' ranges covers the range, hardly wider than it is. Fractions of more than 1,024 bits are rounded outwards to
256, and `effort` says beforehand what a range takes, so that no text can keep a computer busy.

Values are computed in float64 by sums, differences, products, quotients and the curves of `discreet.domain.curves`,
element by element: the same bits wherever a row stands. Ranges are exact and values are not, so a value can overflow,
vanish or be no number where its range is finite. `held` then decides: what lies beyond a range is moved to the nearest
end, and what has no nearest end, NaN, to the middle. No value of any row is ever refused.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain.curves import SEVERAL, Bounds, Curve, Options, constant, curves, written
from discreet.errors import DomainError

if TYPE_CHECKING:
    from discreet.domain.kinds.base import Column

Range = tuple[Fraction, Fraction]

_CUTS = {1: 1024, 2: 32}
_BITS, _KEPT, _TINY = 1024, 256, 4096
"""Fractions with more than 1024 bits are rounded outwards to 256 bits, and to multiples of 2^-4096."""

_LARGEST = Fraction(2) ** 1024
_ATOM, _POWER, _PRODUCT, _SUM, _RELATION = 3, 2, 1, 0, -1


class Expression(ABC):
    """A number made of declared numbers."""

    rank = _ATOM
    """The precedence of its operator, which decides on parentheses."""

    cost = 0
    """The cost of the operator in one evaluation of `range`: 1 for a sum."""

    truth = False
    """Whether it is a comparison, which is 1 or 0."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The expression as it stands in a formula."""

    @property
    @abstractmethod
    def unit(self) -> str | None:
        """The unit; None for a plain number."""

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The expressions that it is made of."""
        return ()

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The declared numbers, with repetitions."""
        return tuple(itertools.chain.from_iterable(own.variables for own in self.operands))

    @abstractmethod
    def range(self, inside: Mapping[str, Range]) -> Range:
        """Return a range that covers the values, given a range for each column."""

    @abstractmethod
    def values(self, columns: Mapping[str, Floats], *, clip: bool) -> Floats:
        """Evaluate every row; with `clip`, arguments of functions are clipped to their ranges."""

    @cached_property
    def work(self) -> int:
        """The cost of one evaluation of `range`."""
        return self.cost + sum(own.work for own in self.operands)

    @cached_property
    def effort(self) -> int:
        """The cost of `bounds`."""
        several = self._several
        return self.work * int(_cuts(len(several)) ** len(several))

    @cached_property
    def _several(self) -> list[str]:
        """The columns that occur more than once."""
        counts = Counter(variable.name for variable in self.variables)
        return [name for name, count in counts.items() if count > 1]

    @property
    def columns(self) -> dict[str, Column]:
        """The columns that it is made of, with their public facts."""
        return {variable.name: variable.spec for variable in self.variables}

    @cached_property
    def bounds(self) -> Bounds:
        """The range of the values over the columns' bounds, rounded outwards."""
        for name, spec in self.columns.items():
            refuse_searched(name, spec, self.text)
        ends = {name: spec.range for name, spec in self.columns.items()}
        whole = {name: (Fraction(low), Fraction(high)) for name, (low, high) in ends.items()}
        several = self._several
        pieces = itertools.product(*(_pieces(whole[name], _cuts(len(several))) for name in several))
        ranges = [self.range(whole | dict(zip(several, piece, strict=True))) for piece in pieces]
        return _outward(min(low for low, _ in ranges), max(high for _, high in ranges))

    def _short(self, low: Fraction, high: Fraction) -> Range:
        """Return a range with few digits; refuse one that exceeds float64."""
        if high > _LARGEST or low < -_LARGEST:
            raise DomainError(f"{self.text}: its values are too large for floating point. Scale the columns first")
        return -_rounded_up(-low), _rounded_up(high)

    def within(self, rank: int) -> str:
        """Return the text, in parentheses where precedence needs them."""
        return self.text if self.rank >= rank else f"({self.text})"


def refuse_searched(name: str, spec: Column, where: str) -> None:
    """Refuse a column without declared bounds as part of a derived one, whose range follows from them."""
    if spec.searched:
        raise DomainError(
            f"Column {name!r} has no declared bounds, and {where!r} needs them: its own range follows from them. "
            f"Declare bounds for {name!r}, or search for them first: discreet.bounds."
        )


@dataclass(frozen=True)
class Variable(Expression):
    """A declared number."""

    name: str
    spec: Column

    @property
    def text(self) -> str:
        """The name, in backticks where it needs them."""
        plain = all(part.isidentifier() or (i and part.isalnum()) for i, part in enumerate(self.name.split(".")))
        return self.name if plain else f"`{self.name}`"

    @property
    def unit(self) -> str | None:
        """The declared unit; days for dates."""
        return self.spec.coordinate_unit

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variable itself."""
        return (self,)

    def range(self, inside: Mapping[str, Range]) -> Range:
        """The declared range."""
        return inside[self.name]

    def values(self, columns: Mapping[str, Floats], *, clip: bool) -> Floats:
        """The column's values."""
        return columns[self.name]


@dataclass(frozen=True)
class Constant(Expression):
    """A constant in the formula."""

    value: float
    unit = None

    @property
    def rank(self) -> int:  # type: ignore[override]
        """The precedence: negative numbers bind like a sum."""
        return _ATOM if self.value >= 0 else _SUM

    @property
    def text(self) -> str:
        """The number."""
        return constant(self.value)

    def range(self, inside: Mapping[str, Range]) -> Range:
        """The number at both ends."""
        return Fraction(self.value), Fraction(self.value)

    def values(self, columns: Mapping[str, Floats], *, clip: bool) -> Floats:
        """The number itself."""
        return np.asarray(self.value)


@dataclass(frozen=True)
class Operation(Expression):
    """Two expressions with ``+``, ``-``, ``*`` or ``/`` between them."""

    sign: str
    left: Expression
    right: Expression

    @property
    def rank(self) -> int:  # type: ignore[override]
        """The precedence: products bind more tightly than sums."""
        return _SUM if self.sign in "+-" else _PRODUCT

    @cached_property
    def text(self) -> str:
        """Both sides, with the operator between them."""
        return f"{self.left.within(self.rank)} {self.sign} {self.right.within(self.rank + 1)}"

    @cached_property
    def unit(self) -> str | None:
        """The common unit of both sides of a sum; the product, or the quotient, of the units otherwise."""
        left, right = self.left.unit, self.right.unit
        if self.sign in "+-":
            numbers = [side.unit for side in (self.left, self.right) if side.variables]
            return numbers[0] if len(set(numbers)) == 1 else None
        if self.sign == "*" or right is None:
            return "*".join(filter(None, (left, right))) or None
        return f"{left or 1}/({right})" if "*" in right or "/" in right else f"{left or 1}/{right}"

    @property
    def operands(self) -> tuple[Expression, ...]:
        """Both sides."""
        return self.left, self.right

    @property
    def cost(self) -> int:  # type: ignore[override]
        """The cost of the operator."""
        return {"+": 1, "-": 1, "*": 2, "/": 4}[self.sign]

    def range(self, inside: Mapping[str, Range]) -> Range:
        """The range by interval arithmetic."""
        (a, b), (c, d) = self.left.range(inside), self.right.range(inside)
        if self.sign == "+":
            return self._short(a + c, b + d)
        if self.sign == "-":
            return self._short(a - d, b - c)
        if self.sign == "/":
            if c <= 0 <= d:
                raise DomainError(
                    f"{self.text}: {self.right.text} may be 0 by the declared bounds, and the quotient is then "
                    "infinite. Declare bounds that leave 0 out"
                )
            c, d = 1 / d, 1 / c
        if a >= 0 and c >= 0:
            return self._short(a * c, b * d)
        corners = [a * c, a * d, b * c, b * d]
        return self._short(min(corners), max(corners))

    def values(self, columns: Mapping[str, Floats], *, clip: bool) -> Floats:
        """The values, by one operation a row."""
        apply: Any = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[self.sign]
        result: Floats = apply(self.left.values(columns, clip=clip), self.right.values(columns, clip=clip))
        return result


_COMPARED: dict[str, tuple[Any, Callable[[Range, Range], bool], Callable[[Range, Range], bool]]] = {
    "<": (np.less, lambda a, b: a[1] < b[0], lambda a, b: a[0] >= b[1]),
    "<=": (np.less_equal, lambda a, b: a[1] <= b[0], lambda a, b: a[0] > b[1]),
    ">": (np.greater, lambda a, b: a[0] > b[1], lambda a, b: a[1] <= b[0]),
    ">=": (np.greater_equal, lambda a, b: a[0] >= b[1], lambda a, b: a[1] < b[0]),
    "==": (np.equal, lambda a, b: a[0] == a[1] == b[0] == b[1], lambda a, b: a[1] < b[0] or a[0] > b[1]),
    "!=": (np.not_equal, lambda a, b: a[1] < b[0] or a[0] > b[1], lambda a, b: a[0] == a[1] == b[0] == b[1]),
}
"""Each comparison: its function, and where ranges tell that it always or never holds."""

RELATIONS = tuple(_COMPARED)


@dataclass(frozen=True)
class Relation(Expression):
    """1 where a comparison holds, and 0 elsewhere."""

    sign: str
    left: Expression
    right: Expression
    unit = None
    rank, cost = _RELATION, 2
    truth = True

    @cached_property
    def text(self) -> str:
        """Both sides, with the sign between them."""
        return f"{self.left.within(_SUM)} {self.sign} {self.right.within(_SUM)}"

    @property
    def operands(self) -> tuple[Expression, ...]:
        """Both sides."""
        return self.left, self.right

    def range(self, inside: Mapping[str, Range]) -> Range:
        """0 and 1, or the one of them that the ranges of both sides leave."""
        a, b = self.left.range(inside), self.right.range(inside)
        _, always, never = _COMPARED[self.sign]
        return Fraction(always(a, b)), Fraction(not never(a, b))

    def values(self, columns: Mapping[str, Floats], *, clip: bool) -> Floats:
        """1 or 0 in each row."""
        apply = _COMPARED[self.sign][0]
        found = apply(self.left.values(columns, clip=clip), self.right.values(columns, clip=clip))
        return np.asarray(found, dtype=float)


@dataclass(frozen=True)
class Power(Expression):
    """An expression to a whole power."""

    base: Expression
    power: int
    rank, cost = _POWER, 2

    @property
    def text(self) -> str:
        """The base, in parentheses where it needs them, and the power."""
        return f"{self.base.within(_ATOM)}^{self.power}"

    @property
    def unit(self) -> str | None:
        """The power of the unit."""
        unit = self.base.unit
        return unit and (f"({unit})^{self.power}" if "*" in unit or "/" in unit else f"{unit}^{self.power}")

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The base."""
        return (self.base,)

    def range(self, inside: Mapping[str, Range]) -> Range:
        """The powers of the ends, and 0 where an even power passes it."""
        a, b = self.base.range(inside)
        ends = [a**self.power, b**self.power]
        return self._short(Fraction(0) if self.power % 2 == 0 and a < 0 < b else min(ends), max(ends))

    def values(self, columns: Mapping[str, Floats], *, clip: bool) -> Floats:
        """The values by repeated multiplication."""
        return power(self.base.values(columns, clip=clip), self.power)


@dataclass(frozen=True)
class Call(Expression):
    """A function of an expression, or one column of a function that makes several."""

    function: str
    argument: Expression
    options: Options = ()
    part: int = 1
    cost = 20  # of the curve at both ends

    @property
    def text(self) -> str:
        """The call as written in a formula; its columns are numbered from 1."""
        part = f"[{self.part}]" if self.function in SEVERAL else ""
        return f"{self.function}({self.argument.text}{written(self.function, self.options)}){part}"

    @property
    def unit(self) -> str | None:
        """The unit of the argument for `center`; other functions make plain numbers."""
        return self.argument.unit if self.function == "center" else None

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The argument."""
        return (self.argument,)

    @property
    def effort(self) -> int:
        """The cost of the argument, and of the curve's polynomials, once over the argument's bounds."""
        return self.argument.effort + 10 * self.parts[self.part - 1].polynomials

    @cached_property
    def bounds(self) -> Bounds:
        """The range of the curve over the argument's bounds."""
        low, high = self.argument.bounds
        return self._over(low, high)

    @property
    def parts(self) -> list[Curve]:
        """The curves of all columns of the function."""
        low, high = self.argument.bounds
        try:
            if not (math.isfinite(low) and math.isfinite(high)):
                raise DomainError("that is too large for floating point. Scale the column first")
            return curves(self.function, (low, high), self.options)
        except DomainError as error:
            raise DomainError(
                f"{self.function}({self.argument.text}): {self.argument.text} lies between {low:g} and {high:g} by the "
                f"declared bounds; {error}"
            ) from None

    def range(self, inside: Mapping[str, Range]) -> Range:
        """The range of the curve over the argument's range."""
        low, high = self._over(*_outward(*self.argument.range(inside)))
        return Fraction(low), Fraction(high)

    def _over(self, low: float, high: float) -> Bounds:
        low, high = self.parts[self.part - 1].over(low, high)
        if not (math.isfinite(low) and math.isfinite(high)):
            raise DomainError(f"{self.text}: its values are too large for floating point. Scale the column first")
        return low, high

    def values(self, columns: Mapping[str, Floats], *, clip: bool) -> Floats:
        """The curve at the argument."""
        x = np.asarray(self.argument.values(columns, clip=clip), dtype=float)
        return self.parts[self.part - 1].values(held(x, *self.argument.bounds) if clip else x)


def held(x: Floats, low: float, high: float) -> Floats:
    """Clip values to a public range; NaN becomes the middle.

    Examples
    --------
    >>> held(np.array([0.5, 7.0, -np.inf, np.nan]), 0.0, 4.0).tolist()
    [0.5, 4.0, 0.0, 2.0]
    """
    within: Floats = np.clip(x, low, high)
    return np.where(np.isnan(within), low / 2 + high / 2, within)


def power(x: Floats, power: int) -> Floats:
    """Compute powers by repeated multiplication: the same bits for every memory layout."""
    result = x
    for _ in range(power - 1):
        result = result * x
    return result


def _cuts(several: int) -> int:
    """Return the number of pieces that bounds are cut into, if so many columns occur more than once."""
    return _CUTS.get(several, 4 if several < 6 else 1)


def _rounded_up(x: Fraction) -> Fraction:
    """Round up to a number with few digits."""
    over, under = x.numerator.bit_length(), x.denominator.bit_length()
    if over + under <= _BITS:
        return x
    places = min(_KEPT - (over - under), _TINY)
    return Fraction(math.ceil(x * Fraction(2) ** places)) / Fraction(2) ** places


def _pieces(whole: Range, cuts: int) -> list[Range]:
    low, high = whole
    ends = [low + (high - low) * i / cuts for i in range(cuts + 1)]
    return list(itertools.pairwise(ends))


def _outward(low: Fraction, high: Fraction) -> Bounds:
    """Return the nearest floats that enclose a range; infinite beyond the largest float."""
    return 0.0 - _above(-low), _above(high)


def _above(x: Fraction) -> float:
    try:
        nearest = float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf
    return nearest if nearest >= x else math.nextafter(nearest, math.inf)
