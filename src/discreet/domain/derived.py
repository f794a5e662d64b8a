"""Derived columns: products and powers of declared ones, with bounds that follow from theirs.

A derived column is a product of factors, each a number to a whole power or a category. What it may hold follows from
its factors' own public facts, so it needs no bounds of its own:

* only numbers, as in ``age:hours`` and ``age^2``: the number p = x_a x_b in the user's own units. Its bounds are the
  exact range of the product over the factors' bounds (interval arithmetic), and it is mapped to [-1, 1] as any other
  number is. It adds at most 1 to the squared norm of a row.
* only categories, as in ``region:sex``: a category whose levels are the cells. It adds at most 1.
* both, as in ``age:region``: the number where the level is the row's own, 0 elsewhere. It is divided by its largest
  size and never centred, so that it is 0 for all levels but one; it adds at most 1, however many levels there are.

Factors are clipped to their bounds before they are multiplied, so p lies in its range; rounding errors of the
product itself are clipped again. The alternative, the product z_a z_b of the mapped factors, has the same norm, but
stands for x_a x_b only together with both main effects; the product in user units stands for itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import Floats
from discreet.domain.columns import Categorical, Column, Factor, Numeric, parse_column
from discreet.errors import DiscreetError, DomainError, ParameterError

if TYPE_CHECKING:
    from discreet.domain.domain import Domain

MAX_POWER = 9
VERSIONS = (1, 2)
"""Versions of files that hold a domain: 2 has derived columns."""


def product(name: str, factors: Sequence[Factor]) -> Column:
    """The derived column of some factors.

    Examples
    --------
    >>> product("x^2", [Factor("x", Numeric(-3, 2), 2)])
    Numeric(low=0.0, high=9.0, unit=None, date=False)
    >>> product("x:sex", [Factor("x", Numeric(-3, 2)), Factor("sex", Categorical(("F", "M")))]).scale
    3.0
    """
    _check(name, factors)
    numbers = [factor for factor in factors if isinstance(factor.spec, Numeric)]
    categories = [factor.spec for factor in factors if isinstance(factor.spec, Categorical)]
    low, high = _range(numbers)
    unit = "*".join(filter(None, map(_unit, numbers))) or None
    if not categories:
        return Numeric(low, high, unit, factors=tuple(factors))
    if numbers:
        Numeric(low, high).check(name)
    cells = [":".join(map(str, cell)) for cell in itertools.product(*(spec.levels for spec in categories))]
    scale = max(abs(low), abs(high)) if numbers else 1.0
    return Categorical(tuple(cells), tuple(factors), scale)


def unit_of(column: Column) -> str | None:
    """The unit of a coordinate: that of a number, or of the number that a derived category multiplies."""
    if isinstance(column, Numeric):
        return column.unit or ("day" if column.date else None)
    return "*".join(filter(None, (_unit(f) for f in column.factors if isinstance(f.spec, Numeric)))) or None


def _unit(factor: Factor) -> str | None:
    unit = unit_of(factor.spec)
    return f"{unit}^{factor.power}" if unit and factor.power > 1 else unit


def _check(name: str, factors: Sequence[Factor]) -> None:
    columns = [factor.column for factor in factors]
    for factor in factors:
        if factor.spec.factors:
            raise DomainError(f"Column {name!r}: {factor.column!r} is itself derived. Give its own factors instead.")
        if columns.count(factor.column) > 1:
            raise DomainError(f"Column {name!r}: the factor {factor.column!r} stands twice. Give a power instead.")
        if type(factor.power) is not int or not 1 <= factor.power <= MAX_POWER:
            raise DomainError(f"Column {name!r}: powers are whole numbers from 1 to {MAX_POWER}.")
        if factor.power > 1 and isinstance(factor.spec, Categorical):
            raise DomainError(f"Column {name!r}: {factor.column!r} is a category, which has no powers.")
        factor.spec.check(factor.column)
    if len(factors) < 2 and not (factors and factors[0].power > 1):
        raise DomainError(f"Column {name!r}: a derived column is a product of two factors or more, or a power.")


def _range(numbers: Sequence[Factor]) -> tuple[float, float]:
    """The range of a product of powers of different numbers, each anywhere in its own bounds."""
    low, high = 1.0, 1.0
    for factor in numbers:
        a, b = factor.spec.low, factor.spec.high  # type: ignore[union-attr]
        with np.errstate(over="ignore"):
            ends = [float(_power(np.array(x), factor.power)) for x in (a, b)]
        if factor.power % 2 == 0 and a < 0 < b:
            ends.append(0.0)
        corners = [x * y if x and y else 0.0 for x in (low, high) for y in ends]
        low, high = min(corners), max(corners)
    return low, high


def _power(x: Floats, power: int) -> Floats:
    """Powers by repeated multiplication, the same for every memory layout."""
    result = x
    for _ in range(power - 1):
        result = result * x
    return result


# ---------------------------------------------------------------- in and out of files


def parse_derived(name: str, spec: Any) -> Any:
    """A derived column from ``{"product": [...]}``; anything else as it is."""
    if not isinstance(spec, Mapping) or "product" not in spec:
        return spec
    parts = spec["product"]
    if len(spec) > 1 or not isinstance(parts, list) or not all(isinstance(part, Mapping) for part in parts):
        raise DomainError(f"Column {name!r}: a product is a list of factors, each a column with its bounds or levels.")
    factors = []
    for part in parts:
        facts = {key: value for key, value in part.items() if key not in ("column", "power")}
        if not isinstance(part.get("column"), str):
            raise DomainError(f"Column {name!r}: a factor of the product names no column.")
        factors.append(Factor(part["column"], parse_column(part["column"], facts), part.get("power", 1)))
    return product(name, factors)


def format_version(domain: Domain) -> int:
    """The oldest version of files that can hold a domain, so that older programs read what they can."""
    return 2 if any(column.factors for column in domain.columns.values()) else 1


def bounded(spec: Column, radius: float | None) -> Column:
    """A factor's facts; inside a ball a number is also within the ball's radius."""
    if radius is None or not isinstance(spec, Numeric):
        return spec
    return replace(spec, low=max(spec.low, -radius), high=min(spec.high, radius))


# ---------------------------------------------------------------- columns to read


def inputs(columns: Mapping[str, Column]) -> dict[str, Column]:
    """The columns that must be read: those that are not derived, then the factors that are not among them."""
    needed = {name: column for name, column in columns.items() if not column.factors}
    for name, column in columns.items():
        for factor in column.factors:
            known = needed.setdefault(factor.column, factor.spec)
            if _kind(known) != _kind(factor.spec):
                raise DomainError(f"Column {name!r}: its factor {factor.column!r} is declared in two ways.")
            if columns.get(factor.column, factor.spec).factors:
                raise DomainError(f"Column {name!r}: its factor {factor.column!r} has the name of a derived column.")
    return needed


def _kind(column: Column) -> Any:
    return (Numeric, column.date) if isinstance(column, Numeric) else column.levels


def features_for(domain: Domain, outcome: str) -> list[str]:
    """The columns that can explain an outcome: all others that are not derived from it."""
    return [name for name in domain.columns if not uses(domain, name, outcome)]


def features_from(domain: Domain, names: Sequence[str], outcome: str) -> list[str]:
    """The features that a table with these columns gives: its own, and those derived from them alone."""
    own = [name for name in names if name in domain.columns or name not in domain.inputs]
    made = {name: {f.column for f in column.factors} for name, column in domain.columns.items() if column.factors}
    return own + [name for name, columns in made.items() if columns <= set(names) and not uses(domain, name, outcome)]


def uses(domain: Domain, name: str, column: str) -> bool:
    """Whether a column is another one, or derived from it."""
    spec = domain.columns.get(name)
    return name == column or (spec is not None and any(factor.column == column for factor in spec.factors))


def refuse_outcome(
    domain: Domain, outcome: str, features: Sequence[str], error: type[DiscreetError] = ParameterError
) -> None:
    """Refuse features that are the outcome, or derived from it."""
    for name in features:
        if uses(domain, name, outcome):
            place = "" if name == outcome else f", as in {name!r}"
            raise error(f"Column {outcome!r} cannot be outcome and feature at once{place}.")


def refuse_outcomes(
    domain: Domain, outcomes: set[str], features: Sequence[str], error: type[DiscreetError] = ParameterError
) -> None:
    """The same for many outcomes."""
    for name in features:
        spec = domain.columns.get(name)
        for column in outcomes & {name, *(factor.column for factor in (spec.factors if spec else ()))}:
            refuse_outcome(domain, column, [name], error)


# ---------------------------------------------------------------- values


def number(
    column: Column, values: Mapping[str, NDArray[Any]], finite: Callable[[str, NDArray[Any]], None], *, clip: bool
) -> Floats:
    """The product of a column's numbers, each first clipped to its bounds and checked by `finite`."""
    result: Any = 1.0
    for factor in column.factors:
        if isinstance(factor.spec, Numeric):
            x = np.asarray(values[factor.column], dtype=float)
            finite(factor.column, x)
            x = np.clip(x, factor.spec.low, factor.spec.high) if clip else x
            with np.errstate(over="ignore", invalid="ignore"):
                result = result * _power(x, factor.power)
    return np.asarray(result)


def cell(column: Column, values: Mapping[str, NDArray[Any]]) -> NDArray[np.intp]:
    """Which cell each row is in, from the codes of the categories."""
    place: Any = 0
    for factor in column.factors:
        if isinstance(factor.spec, Categorical):
            place = place * len(factor.spec.levels) + values[factor.column]
    return np.asarray(place, dtype=np.intp)
