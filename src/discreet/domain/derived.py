"""Derived columns (interactions, powers, functions): their ranges, units and values.

A derived column is a product of factors, each a number or an expression of numbers (`discreet.domain.expressions`) to a
whole power, or a category. Its range follows from its factors' own public facts, so it needs no bounds:

* only numbers, as in ``age:hours`` and ``age^2``: the number p = x_a x_b in the user's own units. Its bounds are the
  exact range of the product over the factors' bounds (interval arithmetic), and it is mapped to [-1, 1] as any other
  number is. It adds at most 1 to the squared norm of a row.
* only categories, as in ``region:sex``: a category whose levels are the cells. It adds at most 1.
* both, as in ``age:region``: the number where the level is the row's own, 0 elsewhere. It is divided by its largest
  size and never centred, so that it is 0 for all levels but one; it adds at most 1, however many levels there are.

Factors are moved into their bounds before they are multiplied, so p lies in its range but for rounding errors; p is
moved into its range again (`discreet.domain.expressions.held`), also where it overflowed or is no number. So every row
has a value, and none is refused for what a formula makes of it. The alternative, the product z_a z_b of the mapped
factors, has the same norm, but stands for x_a x_b only together with both main effects; the product in user units
stands for itself.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.arrays import SILENT, Floats
from discreet.core.problems import Problems
from discreet.domain.columns import parse_column
from discreet.domain.expressions import Call, Expression, Operation, Power, Variable, held, refuse_searched
from discreet.domain.expressions import power as to_power
from discreet.domain.grammar import expression
from discreet.domain.kinds.base import Column, Factor, Level, categories_of, numbers_of, product_unit
from discreet.domain.kinds.categorical import Categorical
from discreet.domain.kinds.deviation import Deviation
from discreet.domain.kinds.numeric import Numeric
from discreet.domain.limits import MAX_POWER, MOST_COORDINATES, MOST_TOGETHER, Effort
from discreet.errors import DataError, DomainError, ParameterError


def shown(made: Expression) -> str:
    """Write an expression as a term of a formula."""
    return made.text if isinstance(made, Call) else f"I({made.text})"


def computed(made: Expression, power: int = 1) -> Factor:
    """Make the factor of an expression; its range follows from its columns."""
    return Factor(shown(made), Numeric(*made.bounds, made.unit), power, made)


def factors_of(made: Expression) -> dict[Expression, int] | None:
    """Return the factors of an expression that is a product of columns and functions; None for others."""
    found: dict[Expression, int] | None = None
    if isinstance(made, (Variable, Call)):
        found = {made: 1}
    elif isinstance(made, Power) and (base := factors_of(made.base)):
        found = {own: power * made.power for own, power in base.items()}
    elif isinstance(made, Operation) and made.sign == "*":
        left, right = factors_of(made.left), factors_of(made.right)
        if left and right:
            found = left | {own: power + left.get(own, 0) for own, power in right.items()}
    return None if found is None or max(found.values()) > MAX_POWER else found


def product(name: str, factors: Sequence[Factor]) -> Column:
    """Make the derived column of some factors."""
    _check(name, factors)
    numbers, categories = numbers_of(factors), [factor.spec for factor in categories_of(factors)]
    low, high = _range(numbers)
    if not categories:
        return Numeric(low, high, product_unit(numbers), factors=tuple(factors))
    if numbers:
        Numeric(low, high).check(name)
    if math.prod(len(spec.levels) for spec in categories) > MOST_COORDINATES:
        raise DomainError(
            f"Column {name!r}: the product of these categories has more than {MOST_COORDINATES:,} cells. Declare fewer "
            "levels, or leave it out."
        )
    cells = [":".join(map(str, cell)) for cell in itertools.product(*(spec.levels for spec in categories))]
    scale = max(abs(low), abs(high)) if numbers else 1.0
    return Categorical(tuple(cells), tuple(factors), scale)


def _check(name: str, factors: Sequence[Factor]) -> None:
    columns = [factor.column for factor in factors]
    for factor in factors:
        if factor.spec.factors:
            raise DomainError(f"Column {name!r}: {factor.column!r} is itself derived. Give its own factors instead.")
        if columns.count(factor.column) > 1:
            raise DomainError(f"Column {name!r}: the factor {factor.column!r} stands twice. Give a power instead.")
        if type(factor.power) is not int or not 1 <= factor.power <= MAX_POWER:
            raise DomainError(f"Column {name!r}: powers are whole numbers from 1 to {MAX_POWER}.")
        if factor.power > 1 and factor.spec.bounds is None:
            raise DomainError(f"Column {name!r}: {factor.column!r} is a category, which has no powers.")
        for column, spec in factor.inputs.items():
            refuse_searched(column, spec, name)
            spec.check(column)
        factor.spec.check(factor.column)
    if not factors or (len(factors) == 1 and factors[0].power == 1 and factors[0].expression is None):
        raise DomainError(
            f"Column {name!r}: a derived column is a product of two factors or more, a power, or a function."
        )


def _range(numbers: Sequence[Factor]) -> tuple[float, float]:
    """Return the range of a product of powers of numbers that vary independently within their bounds."""
    low, high = 1.0, 1.0
    for factor in numbers:
        a, b = factor.spec.range
        with np.errstate(**SILENT):
            ends = [float(to_power(np.array(x), factor.power)) for x in (a, b)]
        if factor.power % 2 == 0 and a < 0 < b:
            ends.append(0.0)
        corners = [x * y if x and y else 0.0 for x in (low, high) for y in ends]
        low, high = min(corners), max(corners)
    return low, high


def parse_derived(name: str, spec: Any, effort: Effort) -> Any:
    """Parse a derived column ``{"product": [...]}``; return anything else as it is."""
    if not isinstance(spec, Mapping) or not {"product", "deviation"} & set(spec):
        return spec
    if "deviation" in spec:
        return _parse_deviation(name, spec, effort)
    parts = spec["product"]
    if len(spec) > 1 or not isinstance(parts, list) or not all(isinstance(part, Mapping) for part in parts):
        raise DomainError(f"Column {name!r}: a product is a list of factors, each a column with its bounds or levels.")
    return product(name, [_parse_factor(name, part, effort) for part in parts])


def _parse_deviation(name: str, spec: Mapping[str, Any], effort: Effort) -> Deviation:
    facts = spec["deviation"]
    if len(spec) > 1 or not isinstance(facts, Mapping) or not isinstance(facts.get("of"), str):
        raise DomainError(f"Column {name!r}: deviations are of a column, with its bounds or levels.")
    if set(facts) - {"of", "spec", "level", "low", "high"}:
        raise DomainError(f"Column {name!r}: its deviations have an unknown entry.")
    own = parse_column(facts["of"], parse_derived(facts["of"], facts.get("spec"), effort))
    own.check(facts["of"])
    level = facts.get("level")
    placed = type(level) is int and 0 <= level < len(own.coordinates(facts["of"]))
    if level is not None if own.bounds else not placed:
        raise DomainError(f"Column {name!r}: its deviations are of no number, and of no level.")
    found = Deviation.made(facts["of"], own, level)
    low, high = facts.get("low", found.low), facts.get("high", found.high)
    if not (checks.is_real(low) and checks.is_real(high) and found.low <= low < high <= found.high):
        raise DomainError(f"Column {name!r}: bounds of its deviations are wider than those of the column allow.")
    return replace(found, low=float(low), high=float(high))


def _parse_factor(name: str, part: Mapping[str, Any], effort: Effort) -> Factor:
    if "expression" in part:
        return _parse_expression(name, part, effort)
    facts = {key: value for key, value in part.items() if key not in ("column", "power")}
    if not isinstance(part.get("column"), str):
        raise DomainError(f"Column {name!r}: a factor of the product names no column.")
    return Factor(part["column"], parse_column(part["column"], facts), part.get("power", 1))


def _parse_expression(name: str, part: Mapping[str, Any], effort: Effort) -> Factor:
    text, columns = part["expression"], part.get("columns")
    if not isinstance(text, str) or not isinstance(columns, Mapping) or set(part) - {"expression", "columns", "power"}:
        raise DomainError(f"Column {name!r}: an expression is text, with the bounds of its columns.")
    specs = {str(key): parse_column(str(key), spec) for key, spec in columns.items()}
    numbers = {key: spec for key, spec in specs.items() if spec.bounds}
    for key, spec in numbers.items():
        spec.check(key)
    try:
        found = expression(text, numbers, effort)
    except ParameterError as error:
        raise DomainError(f"Column {name!r}: its expression cannot be read. {error}") from None
    if set(found.columns) != set(specs):
        raise DomainError(f"Column {name!r}: its expression and its columns do not belong together.")
    return computed(found, part.get("power", 1))


def bounded(spec: Column, radius: float | None) -> Column:
    """Narrow a factor's bounds to the radius of the ball that it lies in."""
    return spec if radius is None else spec.narrowed(-radius, radius)


def inputs_of(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return the columns to read from data: the declared ones, then factors that are not among them."""
    needed = {name: column for name, column in columns.items() if not column.factors and not column.deviates}
    for name, column in columns.items():
        if needed.get(name) is column:
            continue
        for own, spec in column.inputs(name).items():
            known = needed.setdefault(own, spec)
            if (known.levels, known.date) != (spec.levels, spec.date):
                raise DomainError(f"Column {name!r}: its factor {own!r} is declared in two ways.")
            if columns.get(own, spec).factors:
                raise DomainError(f"Column {name!r}: its factor {own!r} has the name of a derived column.")
    return needed


# ---------------------------------------------------------------- values of derived columns


def number(
    column: Column, values: Mapping[str, NDArray[Any]], finite: Callable[[str, NDArray[Any]], None], *, clip: bool
) -> Floats:
    """Compute the product of a column's numbers, clipped to its range; `finite` checks the declared inputs.

    Without `clip`, which is for predictions of the plain line, nothing is moved, and a product that is not finite is
    refused.
    """
    factors = numbers_of(column.factors)
    own = {name: np.asarray(values[name], dtype=float) for factor in factors for name in factor.inputs}
    for name, x in own.items():
        finite(name, x)
    with np.errstate(**SILENT):
        result: Any = 1.0
        for factor in factors:
            result = result * to_power(_made(factor, own, clip=clip), factor.power)
        if clip:
            return held(np.asarray(result), *column.range)
    if not np.isfinite(result).all():
        raise DataError(
            f"{':'.join(factor.column for factor in factors)!r} has no finite value for some rows: "
            f"{', '.join(map(repr, own))} lies outside of what is declared, or where floating point has no number."
        )
    return np.asarray(result)


def _made(factor: Factor, values: Mapping[str, Floats], *, clip: bool) -> Floats:
    """Compute the values of one factor, before its power."""
    own = {name: values[name] for name in factor.inputs}
    if clip:
        own = {name: np.clip(x, *factor.inputs[name].range) for name, x in own.items()}
    if factor.expression is None:
        return own[factor.column]
    x = factor.expression.values(own, clip=clip)
    return held(x, *factor.spec.range) if clip else x


def cell(column: Column, values: Mapping[str, NDArray[Any]]) -> NDArray[np.intp]:
    """Return the cell of each row, from the codes of its categories."""
    place: Any = 0
    for factor in categories_of(column.factors):
        place = place * len(factor.spec.levels) + values[factor.column]
    return np.asarray(place, dtype=np.intp)


def parse_all(facts: Any) -> dict[str, Any]:
    """Parse the derived columns among the facts; errors of all columns are reported together."""
    problems, effort, found = Problems(), Effort(MOST_TOGETHER), {}
    for name, spec in dict(facts).items():
        with problems.met(DomainError):
            found[name] = parse_derived(name, spec, effort)
    problems.tell()
    return found


# -------------------------------------------------------------------- what columns are made of


class Parts(NamedTuple):
    """The factors of a column: numbers by name with their powers, categories by name with their levels."""

    numbers: tuple[tuple[str, int], ...]
    categories: dict[str, tuple[Level, ...]]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of each category."""
        return tuple(map(len, self.categories.values()))

    def place(self, cell: int | None) -> tuple[Any, ...]:
        """Return the places of a cell among the levels of each category; none where there is no category."""
        return () if cell is None else np.unravel_index(cell, self.shape)


def parts_of(name: str, column: Column) -> Parts:
    """Return the factors of a column; a declared column is its own factor."""
    factors = column.parts(name)
    numbers = tuple(sorted((f.column, f.power) for f in numbers_of(factors)))
    return Parts(numbers, {f.column: f.spec.levels for f in categories_of(factors)})


def cells(categories: Mapping[str, Sequence[Level]]) -> Iterator[frozenset[str]]:
    """Yield, for each cell, the categories that are not at their first level."""
    for levels in itertools.product(*(range(len(own)) for own in categories.values())):
        yield frozenset(name for name, level in zip(categories, levels, strict=True) if level)


def formula_hint(name: str) -> str:
    """Say where functions and products of columns are made, if a name that is not declared looks like one; else "".

    Examples
    --------
    >>> formula_hint("log(wage)").startswith(" Formulas make functions"), formula_hint("wage")
    (True, '')
    """
    if re.search(r"\w\(.+\)|\S[~^:*]\S| ~ ", name) is None:
        return ""
    text = name if "~" in name else f"{name} ~ ..."
    several = f"for several outcomes release(models=[{text!r}, ...])"
    return f" Formulas make functions and products of columns: fit_formula({text!r}, ...), --formula; {several}."


def refuse_mixed(columns: Mapping[str, Column], *, plain: bool) -> None:
    """Refuse deviations from the means of persons beside other columns, or in a domain for `plain` columns only."""
    own = [column.deviates for column in columns.values()]
    if any(own) and not all(own):
        raise DomainError("Deviations from the means of persons, and plain columns, do not go together.")
    if any(own) and plain:
        raise DomainError("Deviations from the means of persons need person=, and no intercept.")
