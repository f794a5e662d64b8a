"""Derived numbers as SQL: sums, products, quotients, powers, log, log1p, sqrt and exp of declared numbers.

The arithmetic is that of `domain.derived`, `domain.expressions` and `domain.elementary`, operation by operation, so the
bits are the same. PostgreSQL refuses results that overflow, and products and quotients that vanish. Rounding to the
nearest keeps order, so the operations at both ends of the ranges of their operands give the range of all results: a
public fact, by which overflow is ruled out before any row is read. Results that vanish are found by scaling, and are 0
as in numpy.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Mapping
from typing import NamedTuple

from discreet.data.engines.sql import float8, with_columns
from discreet.domain import elementary
from discreet.domain.expressions import Call, Constant, Expression, Operation, Power, Relation, Variable
from discreet.domain.kinds.base import Column, Factor
from discreet.errors import ParameterError

_LARGEST = 2.0**900
"""Numbers of a larger size are left to this side: PostgreSQL refuses results that overflow."""

_DIVISORS = 2.0**-100, 2.0**100
"""Sizes of divisors, so that quotients neither overflow nor vanish but for tiny numerators."""

_EXPONENTS = 600.0
"""The largest size of the argument of exp: its powers of two are then far from the ends of float64."""

_SMALL, _TINY = 2.0**-500, 2.0**-540
"""Products of two numbers of at least the first size do not vanish; of two below the second all do."""


class Term(NamedTuple):
    """A number of each row: its SQL, the range of its values, and the number of steps that it takes."""

    sql: str
    low: float
    high: float
    step: int = 0

    @property
    def least(self) -> float:
        """The least size of a value."""
        return 0.0 if self.low <= 0 <= self.high else min(abs(self.low), abs(self.high))


class DerivedNumbers:
    """Makes derived columns of numbers in steps, each of which names its results for the next.

    Parameters
    ----------
    inputs : mapping of str to str
        The declared columns in float8, by name.

    Examples
    --------
    >>> from discreet.domain import Domain
    >>> from discreet.domain.formula import formula
    >>> made = DerivedNumbers({"x": "i0"})
    >>> made.add(formula("sqrt(x) ~ 1", Domain({"x": (0, 4)})).domain.columns["sqrt(x)"])
    'd4'
    >>> made.rows("people").count("SELECT")
    5
    """

    def __init__(self, inputs: Mapping[str, str]) -> None:
        self._inputs = inputs
        self._steps: list[list[str]] = []
        self._names = (f"d{i}" for i in itertools.count())

    def add(self, column: Column) -> str:
        """Make a derived column; return the name of its values."""
        result: Term | None = None
        for factor in column.factors:
            own = self._power(self._factor(factor), factor.power)
            result = own if result is None else self._product(result, own)
        assert result is not None
        return self._held(result, *column.range).sql

    def rows(self, rows: str) -> str:
        """Return SQL for rows with the columns that were added."""
        for columns in self._steps:
            rows = with_columns(rows, columns)
        return rows

    def _factor(self, factor: Factor) -> Term:
        if factor.spec.bounds is None:
            raise ParameterError("it multiplies the levels of a category")
        if factor.expression is None:
            return self._variable(factor.column, factor.spec)
        return self._held(self._expression(factor.expression), *factor.spec.range)

    def _variable(self, name: str, column: Column) -> Term:
        return self._held(Term(self._inputs[name], -math.inf, math.inf), *column.range)

    # ------------------------------------------------------------ expressions

    def _expression(self, made: Expression) -> Term:
        if isinstance(made, Variable):
            return self._variable(made.name, made.spec)
        if isinstance(made, Constant):
            return Term(float8(made.value), made.value, made.value)
        if isinstance(made, Power):
            return self._power(self._expression(made.base), made.power)
        if isinstance(made, Relation):
            return self._relation(made)
        if isinstance(made, Operation):
            known = {"+": self._sum, "-": self._difference, "*": self._product, "/": self._quotient}
            return known[made.sign](self._expression(made.left), self._expression(made.right))
        if not isinstance(made, Call) or made.function not in self._functions:
            raise ParameterError(f"the database does not compute {made.text}")
        x = self._held(self._expression(made.argument), *made.argument.bounds)
        low, high = made.bounds
        return self._functions[made.function](x)._replace(low=low, high=high)

    @property
    def _functions(self) -> dict[str, Callable[[Term], Term]]:
        return {"log": self._log, "log1p": self._log1p, "sqrt": self._root, "exp": self._exp}

    # ------------------------------------------------------------ operations

    def _keep(self, sql: str, low: float, high: float, *operands: Term) -> Term:
        """Name a result, one step after its operands."""
        if not max(abs(low), abs(high)) <= _LARGEST:
            raise ParameterError("its values may be too large for the database")
        name, step = next(self._names), max(own.step for own in operands)
        if step == len(self._steps):
            self._steps.append([])
        self._steps[step].append(f"{sql} AS {name}")
        return Term(name, low, high, step + 1)

    def _held(self, x: Term, low: float, high: float) -> Term:
        """Clip values to a range; none is NaN."""
        return self._keep(f"least(greatest({x.sql}, {float8(low)}), {float8(high)})", low, high, x)

    def _sum(self, a: Term, b: Term) -> Term:
        return self._keep(f"{a.sql} + {b.sql}", a.low + b.low, a.high + b.high, a, b)

    def _difference(self, a: Term, b: Term) -> Term:
        return self._keep(f"{a.sql} - {b.sql}", a.low - b.high, a.high - b.low, a, b)

    def _product(self, a: Term, b: Term) -> Term:
        x, y = a.sql, b.sql
        small, large = (f"{which}(abs({x}), abs({y}))" for which in ("least", "greatest"))
        sql = f"{x} * {y}"
        if min(a.least, b.least) < _SMALL:
            sql = (
                f"CASE WHEN {small} >= {float8(_SMALL)} OR {small} = 0 THEN {sql} "
                f"WHEN {large} < {float8(_TINY)} THEN 0::float8 "
                f"WHEN ({small} * {float8(2.0**600)}) * {large} <= {float8(2.0**-475)} THEN 0::float8 ELSE {sql} END"
            )
        return self._keep(sql, *_corners(operator.mul, a, b), a, b)

    def _relation(self, made: Relation) -> Term:
        a, b = self._expression(made.left), self._expression(made.right)
        sign = {"==": "=", "!=": "<>"}.get(made.sign, made.sign)
        return self._keep(f"({a.sql} {sign} {b.sql})::int::float8", 0.0, 1.0, a, b)

    def _quotient(self, a: Term, b: Term) -> Term:
        if not _DIVISORS[0] <= b.least <= max(abs(b.low), abs(b.high)) <= _DIVISORS[1]:
            raise ParameterError("it is divided by what may be too small or too large for the database")
        x, y = a.sql, b.sql
        sql = (
            f"CASE WHEN abs({x}) >= {float8(2.0**-900)} OR {x} = 0 THEN {x} / {y} "
            f"WHEN abs(({x} * {float8(2.0**500)}) / {y}) <= {float8(2.0**-575)} THEN 0::float8 ELSE {x} / {y} END"
        )
        return self._keep(sql, *_corners(operator.truediv, a, b), a, b)

    def _power(self, x: Term, power: int) -> Term:
        result = x
        for _ in range(power - 1):
            result = self._product(result, x)
        return result

    # ------------------------------------------------------------ functions

    def _root(self, x: Term) -> Term:
        return self._keep(f"sqrt({x.sql})", math.sqrt(x.low), math.sqrt(x.high), x)

    def _log(self, x: Term) -> Term:
        """The steps of `elementary.log`; the exponent is the place of x among powers of two."""
        if x.low < 1 / _LARGEST:
            raise ParameterError("its logarithm is that of what may be too small for the database")
        first, last = math.frexp(x.low)[1], math.frexp(x.high)[1]
        bins = f"width_bucket({x.sql}, ARRAY[{_powers(first, last)}])"
        place = self._keep(bins, 0.0, float(last - first), x)
        m = self._keep(f"{x.sql} * (ARRAY[{_powers(-first, -last)}])[{place.sql} + 1]", 0.5, 1.0, x, place)
        small = self._keep(f"({m.sql} < {float8(math.sqrt(0.5))})::int", 0.0, 1.0, m)
        f = self._keep(
            f"CASE {small.sql} WHEN 1 THEN {m.sql} + {m.sql} ELSE {m.sql} END - {float8(1.0)}", -0.5, 0.5, m, small
        )
        k = self._keep(f"({first} + {place.sql} - {small.sql})::float8", -1e4, 1e4, place, small)
        s = self._keep(f"{f.sql} / ({float8(2.0)} + {f.sql})", -0.2, 0.2, f)
        square = self._keep(f"{s.sql} * {s.sql}", 0.0, 0.1, s)
        R = self._keep(f"{_horner(elementary.ATANH, square.sql)} * {square.sql}", 0.0, 0.1, square)
        high, low = (float8(part) for part in elementary.LN2)
        sql = f"{k.sql} * {high} - (({s.sql} * ({f.sql} - {R.sql}) - {k.sql} * {low}) - {f.sql})"
        return self._keep(sql, -1e4, 1e4, k, s, f, R)

    def _log1p(self, x: Term) -> Term:
        """The steps of `elementary.log1p`."""
        u = self._sum(Term(float8(1.0), 1.0, 1.0), x)
        log = self._log(u)
        sql = f"{log.sql} + ({x.sql} - ({u.sql} - {float8(1.0)})) / {u.sql}"
        return self._keep(sql, -1e4, 1e4, x, u, log)

    def _exp(self, x: Term) -> Term:
        """The steps of `elementary.exp`; the power of two is looked up."""
        if not -_EXPONENTS <= x.low <= x.high <= _EXPONENTS:
            raise ParameterError("its exponential may be too large or too small for the database")
        inverse, (high, low) = 1 / math.log(2), (float8(part) for part in elementary.LN2)
        first, last = round(x.low * inverse), round(x.high * inverse)
        k = self._keep(f"round({x.sql} * {float8(inverse)})", float(first), float(last), x)
        r = self._keep(f"({x.sql} - {k.sql} * {high}) - {k.sql} * {low}", -0.4, 0.4, x, k)
        near = self._keep(f"CASE WHEN abs({r.sql}) < {float8(_SMALL)} THEN 0::float8 ELSE {r.sql} END", -0.4, 0.4, r)
        factor = self._keep(_horner(elementary.TAYLOR, near.sql), 0.0, 1.0, near)
        tail = self._product(self._product(r, r), factor)
        sums = self._keep(f"{float8(1.0)} + ({r.sql} + {tail.sql})", 0.5, 2.0, r, tail)
        two = f"(ARRAY[{_powers(first, last)}])[{k.sql}::int - {first} + 1]"
        return self._keep(f"{sums.sql} * {two}", 0.0, _LARGEST, sums, k)


def _corners(operation: Callable[[float, float], float], a: Term, b: Term) -> tuple[float, float]:
    """Return the range of an operation that is monotone in each operand."""
    found = list(itertools.starmap(operation, itertools.product((a.low, a.high), (b.low, b.high))))
    return min(found), max(found)


def _horner(coefficients: tuple[float, ...], x: str) -> str:
    result = float8(coefficients[0])
    for coefficient in coefficients[1:]:
        result = f"({result} * {x} + {float8(coefficient)})"
    return result


def _powers(first: int, last: int) -> str:
    """Return SQL for the powers of two from one exponent to another."""
    step = 1 if last >= first else -1
    return ", ".join(float8(math.ldexp(1.0, k)) for k in range(first, last + step, step))
