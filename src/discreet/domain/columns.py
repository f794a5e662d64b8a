"""What is publicly known of one column: its bounds, or its levels."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.field_kinds import TEXT, by_name, many, whole
from discreet.core.fields import FieldKind, Fields, defined, ref
from discreet.domain.expressions import Expression
from discreet.errors import DomainError

Level = str | int | bool

LARGEST = 2.0**960
"""Bounds are at most this, and at least its inverse apart: a finite value minus a centre then stays finite."""

_EPOCH = dt.date(1970, 1, 1)
_HOW = (
    "Give (low, high) for a number, a pair of ISO dates for a date, a list of levels for a category, or bool. "
    "Take them from what is known of the subject, never from the data."
)

_BOUND = defined(
    "bound",
    FieldKind({"anyOf": [{"type": "number"}, {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}"}]}),
    "A number; for dates as 1990-12-31, mapped as days since 1970-01-01.",
)
_LEVEL = FieldKind({"type": ["string", "integer", "boolean"]})
COLUMN = defined(
    "column",
    FieldKind(
        {"anyOf": [ref(f"{kind}_column") for kind in ("product", "category", "number")]},
        write=lambda column: column.to_dict(),
    ),
)


@dataclass(frozen=True)
class Numeric:
    """A number, or a date counted in days, that lies between two public bounds.

    Examples
    --------
    >>> Numeric(18, 90, unit="years")
    Numeric(low=18.0, high=90.0, unit='years', date=False)
    """

    low: float
    high: float
    unit: str | None = None
    date: bool = False
    factors: tuple[Factor, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "low", float(self.low))
            object.__setattr__(self, "high", float(self.high))
        except OverflowError:
            raise DomainError(f"A bound is a number that no float can hold. {_HOW}") from None

    def check(self, name: str, *, in_ball: bool = False) -> None:
        """Refuse bounds that are not numbers, infinite, inverted, or beyond what float64 can centre and scale."""
        if math.isnan(self.low) or math.isnan(self.high):
            raise DomainError(f"Column {name!r}: a bound is NaN. {_HOW}")
        if self.unit is not None and not isinstance(self.unit, str):
            raise DomainError(f"Column {name!r}: the unit must be text.")
        if self.date and not all(math.isinf(bound) or _is_day(bound) for bound in (self.low, self.high)):
            raise DomainError(f"Column {name!r}: a date must lie in the years 1 to 9999. {_HOW}")
        if (self.date or not in_ball) and (math.isinf(self.low) or math.isinf(self.high)):
            raise DomainError(f"Column {name!r}: a bound is infinite, so no noise could hide one person. {_HOW}")
        if not self.low < self.high:
            raise DomainError(f"Column {name!r}: low = {self.low:g} must be below high = {self.high:g}.")
        half, largest = self.high / 2 - self.low / 2, max(abs(self.low), abs(self.high))
        if not in_ball and (largest > LARGEST or half < max(1 / LARGEST, largest * 2.0**-30)):
            raise DomainError(
                f"Column {name!r}: the bounds are too large or too close together for floating point. "
                "Shift or scale the column first."
            )

    def short(self) -> str:
        """The bounds as people write them."""
        if self.date:
            return f"({from_days(self.low)}, {from_days(self.high)})"
        return f"({self.low:g}, {self.high:g})"

    FIELDS = Fields(
        "number_column",
        "A number or a date. Values outside of the bounds were moved to the nearest. A release is about (x - c)/h: "
        "c = (low + high)/2 and h = (high - low)/2; without an intercept c = 0 and h = max(|low|, |high|); of "
        "norm_columns, which may have no bounds, c = 0 and h = data_norm.",
        low=_BOUND(absent=-math.inf),
        high=_BOUND(absent=math.inf),
        unit=TEXT("In which values are counted.", absent=None),
    )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        if self.factors:
            return _PRODUCT.write(self)
        bounds: dict[str, Any] = {}
        for key, value in (("low", self.low), ("high", self.high)):
            if math.isfinite(value):
                bounds[key] = from_days(value) if self.date else value
        return bounds | ({"unit": self.unit} if self.unit else {})


@dataclass(frozen=True)
class Categorical:
    """A category with a public list of levels; coefficients are reported against the first.

    Examples
    --------
    >>> Categorical(("F", "M")).to_dict()
    {'levels': ['F', 'M']}
    """

    levels: tuple[Level, ...]
    factors: tuple[Factor, ...] = field(default=(), repr=False)
    scale: float = field(default=1.0, repr=False)
    """The largest size of the number that a derived category multiplies; 1 where it multiplies none."""

    def check(self, name: str, *, in_ball: bool = False) -> None:
        """Refuse empty, duplicate or mixed levels."""
        if in_ball:
            raise DomainError(f"Column {name!r} is a category and cannot be one of norm_columns.")
        if len(self.levels) < 2:
            raise DomainError(f"Column {name!r}: a category needs at least two levels.")
        if len({type(level) for level in self.levels}) > 1 or not isinstance(self.levels[0], (str, int)):
            raise DomainError(f"Column {name!r}: levels must be all text, all whole numbers, or false and true.")
        if len(set(self.levels)) < len(self.levels):
            raise DomainError(f"Column {name!r}: a level is listed twice.")
        if any(isinstance(level, int) and not -(2**63) <= level < 2**63 for level in self.levels):
            raise DomainError(f"Column {name!r}: a level is too large; whole numbers must fit 64 bits.")

    def short(self) -> str:
        """The levels as people write them."""
        return f"{list(self.levels)}"

    FIELDS = Fields(
        "category_column",
        "A category: for each level a coordinate that is 1 or 0, named COLUMN[LEVEL].",
        levels=many(_LEVEL, minItems=2)("All values, the one that others are compared with first."),
    )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return (_PRODUCT if self.factors else self.FIELDS).write(self)


Column = Numeric | Categorical


def column_words(column: Column) -> tuple[str, str]:
    """The kind of a column, and what it may hold, for people.

    Examples
    --------
    >>> column_words(Numeric(18.0, 90.0, "year")), column_words(Categorical(("F", "M")))
    (('number', '(18, 90) year'), ('category', 'F, M'))
    """
    if isinstance(column, Categorical):
        return "category", ", ".join(map(str, column.levels))
    return "date" if column.date else "number", f"{column.short()} {column.unit or ''}".strip()


@dataclass(frozen=True)
class Identifier:
    """A column that tells whose a row is, in text or whole numbers; no coordinate of a row."""


Read = Column | Identifier
"""What may be read of a column."""


@dataclass(frozen=True)
class Factor:
    """One factor of a derived column: a number or an expression of numbers to some power, or a category.

    Parameters
    ----------
    column : str
        The declared column, or the expression as it is shown.
    spec : Numeric or Categorical
        What is declared of the column, or the range of the expression.
    power : int
        The power.
    expression : Expression, optional
        What is computed from declared numbers.
    """

    column: str
    spec: Column
    power: int = 1
    expression: Expression | None = None

    @property
    def inputs(self) -> dict[str, Column]:
        """The declared columns that it is made of."""
        return {self.column: self.spec} if self.expression is None else self.expression.columns

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description, with the public facts of each column."""
        if self.expression is None:
            return {"column": self.column, "power": self.power} | self.spec.to_dict()
        return _EXPRESSION.write(self)


_POWER = Fields(
    "column_factor",
    "A column to a power, with what is declared of it.",
    column=TEXT("A declared column."),
    power=whole(1),
    **Numeric.FIELDS.rows,
    levels=many(_LEVEL)(absent=()),
)
_EXPRESSION = Fields(
    "expression_factor",
    "A function of columns to a power.",
    expression=TEXT("As in a formula: log(wealth + 1).", attribute="expression.text", since=4),
    power=whole(1),
    columns=by_name(COLUMN)("What is declared of its columns.", attribute="inputs"),
)
_FACTOR = FieldKind({"oneOf": [ref(_POWER.name), ref(_EXPRESSION.name)]}, write=Factor.to_dict)
_PRODUCT = Fields(
    "product_column",
    "A product of other columns, as age^2 or age:sex, whose bounds follow from theirs.",
    product=many(_FACTOR, minItems=1)("Its factors.", attribute="factors", since=2),
)


def to_days(value: Any) -> float:
    """Days since 1970-01-01 of a date, a datetime or ISO text.

    Examples
    --------
    >>> to_days("1970-01-02T12:00:00")
    1.5
    """
    if isinstance(value, str):
        value = dt.datetime.fromisoformat(value)
    if isinstance(value, dt.datetime):
        moment = value.replace(tzinfo=None) if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)
        return (moment - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1)
    return float((value - _EPOCH).days)


def _is_day(days: float) -> bool:
    """Whether a number of days since 1970-01-01 is a date in the years 1 to 9999."""
    return -719_162 <= days < 2_932_897


def from_days(days: float) -> str:
    """ISO text of a number of days since 1970-01-01.

    Examples
    --------
    >>> from_days(1.5), from_days(1.0)
    ('1970-01-02T12:00:00', '1970-01-02')
    """
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(days=days)
    return moment.date().isoformat() if moment.time() == dt.time() else moment.isoformat()


def parse_column(name: str, spec: Any) -> Column:
    """Read one column's public facts from the short forms that people write.

    Examples
    --------
    >>> parse_column("age", (18, 90))
    Numeric(low=18.0, high=90.0, unit=None, date=False)
    >>> parse_column("member", bool)
    Categorical(levels=(False, True))
    """
    if isinstance(spec, (Numeric, Categorical)):
        return spec
    if spec is bool:
        return Categorical((False, True))
    if isinstance(spec, Mapping):
        return _parse_mapping(name, spec)
    if isinstance(spec, (list, set, frozenset)):
        if isinstance(spec, (set, frozenset)):
            raise DomainError(f"Column {name!r}: give the levels as a list, for the first one is the reference.")
        return Categorical(tuple(spec))
    if isinstance(spec, tuple) and len(spec) == 2:
        return _parse_bounds(name, spec[0], spec[1], None)
    raise DomainError(f"Column {name!r}: no usable bounds. {_HOW}")


def _parse_mapping(name: str, spec: Mapping[str, Any]) -> Column:
    unknown = set(spec) - {"low", "high", "unit", "levels", "type"}
    if unknown:
        raise DomainError(f"Column {name!r}: unknown entry {sorted(unknown)[0]!r}. {_HOW}")
    if "levels" in spec:
        if not isinstance(spec["levels"], (list, tuple)):
            raise DomainError(f"Column {name!r}: levels must be a list.")
        return Categorical(tuple(spec["levels"]))
    if spec.get("type") == "bool":
        return Categorical((False, True))
    if "low" not in spec or "high" not in spec:
        raise DomainError(f"Column {name!r}: bounds are missing. {_HOW}")
    return _parse_bounds(name, spec["low"], spec["high"], spec.get("unit"))


def _parse_bounds(name: str, low: Any, high: Any, unit: str | None) -> Numeric:
    dates = (str, dt.date)
    try:
        if isinstance(low, dates) and isinstance(high, dates):
            return Numeric(to_days(low), to_days(high), unit, date=True)
        return Numeric(float(low), float(high), unit)
    except (TypeError, ValueError, OverflowError):
        raise DomainError(f"Column {name!r}: the bounds are neither numbers nor ISO dates. {_HOW}") from None


def unbounded(spec: Any) -> Any:
    """A column's facts with infinite bounds where they are not written, which is allowed inside a ball."""
    if not isinstance(spec, Mapping) or not set(spec) <= {"low", "high", "unit"}:
        return spec
    return {"low": -math.inf, "high": math.inf, **spec}


def array_columns(
    features: list[str], targets: list[str], bounds_X: Any, bounds_y: Any, *, ball: bool
) -> dict[str, Column]:
    """The columns of plain arrays X and y; those of X need no bounds of their own inside a ball."""
    if bounds_X is None and ball:
        bounds_X = (-math.inf, math.inf)
    if (twice := checks.repeated(features + targets)) is not None:
        raise DomainError(f"Column {twice!r} is named twice among those of X and y.")
    return _bounded("bounds_X", bounds_X, features) | _bounded("bounds_y", bounds_y, targets)


def _bounded(argument: str, bounds: Any, names: Sequence[str]) -> dict[str, Column]:
    """Numeric columns from a pair of bounds, each a number for all of them or one number a column."""
    if not names:
        return {}
    how = f"{argument}=(low, high), each a number or one number a column, known without looking at the data"
    if bounds is None:
        instead = " (or data_norm=, a bound on the norm of a row)" if argument == "bounds_X" else ""
        raise DomainError(f"No bounds: give {how}{instead}.")
    try:
        low, high = bounds
        lows = np.broadcast_to(np.asarray(low, dtype=float), (len(names),))
        highs = np.broadcast_to(np.asarray(high, dtype=float), (len(names),))
    except (TypeError, ValueError, OverflowError):
        raise DomainError(f"{argument} has the wrong shape or is not numeric: give {how}.") from None
    return {name: Numeric(a, b) for name, a, b in zip(names, lows.tolist(), highs.tolist(), strict=True)}


def norm_columns_of(
    columns: dict[str, Column], data_norm: Any, names: Sequence[str] | None, declared: Sequence[str]
) -> tuple[str, ...]:
    """The columns that a bound on the norm covers: those named among the declared ones, or all numbers."""
    if data_norm is None:
        if names is not None:
            raise DomainError("norm_columns needs data_norm, the bound on their Euclidean norm.")
        return ()
    if not checks.is_real(data_norm) or not 1 / LARGEST <= data_norm <= LARGEST:
        raise DomainError(f"data_norm must be a finite number above 0, got {checks.shown(data_norm)}.")
    if names is None:
        names = [name for name, column in columns.items() if isinstance(column, Numeric) and not column.factors]
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise DomainError("norm_columns must be a list of column names.")
    if not names and len(columns) == len(declared):
        raise DomainError("data_norm bounds the norm of no column: name norm_columns, or leave data_norm out.")
    unknown = [name for name in names if name not in declared or (name in columns and columns[name].factors)]
    if unknown:
        hint = checks.meant(str(unknown[0]), declared)
        raise DomainError(f"norm_columns names {unknown[0]!r}, which is not a declared column of the data.{hint}")
    return tuple(dict.fromkeys(names))
