"""Numbers and dates."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.core.arrays import Floats
from discreet.core.field_kinds import TEXT
from discreet.core.fields import FieldKind, Fields, defined
from discreet.domain.kinds.base import HOW, Bounds, Column, Factor, Form, Question
from discreet.domain.value_types import DATES, NUMBERS, ValueType, numbers
from discreet.errors import DomainError, ParameterError

LARGEST = 2.0**960
"""The largest bound, and the inverse of the least distance of bounds: x - c then stays finite."""

_EPOCH = dt.date(1970, 1, 1)
_FAR = 1e9

DAYS = -719_162.0, 2_932_896.0
"""The first and the last day that a date can be, since 1970-01-01."""

BOUND = defined(
    "bound",
    FieldKind({"anyOf": [{"type": "number"}, {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}"}]}),
    "A number; for dates as 1990-12-31, mapped as days since 1970-01-01.",
)


@dataclass(frozen=True)
class Numeric(Column):
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
    levels = ()
    FIELDS = Fields(
        "number_column",
        "A number or a date. Values outside of the bounds were moved to the nearest. A release is about (x - c)/h: "
        "c = (low + high)/2 and h = (high - low)/2; without an intercept c = 0 and h = max(|low|, |high|); of "
        "norm_columns, which may have no bounds, c = 0 and h = data_norm.",
        low=BOUND(absent=-math.inf),
        high=BOUND(absent=math.inf),
        unit=TEXT("The unit of the values.", absent=None),
    )
    keys = frozenset(FIELDS.rows)

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "low", float(self.low))
            object.__setattr__(self, "high", float(self.high))
        except OverflowError:
            raise DomainError(f"A bound is a number that no float can hold. {HOW}") from None

    # ---------------------------------------------------------------- facts

    @property
    def bounds(self) -> Bounds:
        """Both bounds."""
        return self.low, self.high

    @classmethod
    def parse(cls, name: str, spec: Any) -> Numeric | None:
        """Parse a number from a pair of bounds, or a mapping with both; a date from ISO dates."""
        if isinstance(spec, Mapping):
            if "low" not in spec or "high" not in spec:
                raise DomainError(f"Column {name!r}: bounds are missing. {HOW}")
            return bounded(name, spec["low"], spec["high"], spec.get("unit"))
        return bounded(name, spec[0], spec[1], None) if isinstance(spec, tuple) and len(spec) == 2 else None

    def check(self, name: str, *, in_ball: bool = False) -> None:
        """Refuse bounds that are not numbers, infinite, inverted, or beyond what float64 can centre and scale."""
        if math.isnan(self.low) or math.isnan(self.high):
            raise DomainError(f"Column {name!r}: a bound is NaN. {HOW}")
        if self.unit is not None and not isinstance(self.unit, str):
            raise DomainError(f"Column {name!r}: the unit must be text.")
        if self.date and not all(math.isinf(bound) or _is_day(bound) for bound in (self.low, self.high)):
            raise DomainError(f"Column {name!r}: a date must lie in the years 1 to 9999. {HOW}")
        if (self.date or not in_ball) and (math.isinf(self.low) or math.isinf(self.high)):
            raise DomainError(f"Column {name!r}: a bound is infinite, so no noise could hide one person. {HOW}")
        if not self.low < self.high:
            raise DomainError(f"Column {name!r}: low = {self.low:g} must be below high = {self.high:g}.")
        half, largest = self.high / 2 - self.low / 2, max(abs(self.low), abs(self.high))
        if not in_ball and (largest > LARGEST or half < max(1 / LARGEST, largest * 2.0**-30)):
            raise DomainError(
                f"Column {name!r}: the bounds are too large or too close together for floating point. "
                "Shift or scale the column first."
            )

    def facts(self) -> dict[str, Any]:
        """Both bounds, if they are finite, and the unit."""
        bounds: dict[str, Any] = {}
        for key, value in (("low", self.low), ("high", self.high)):
            if math.isfinite(value):
                bounds[key] = from_days(value) if self.date else value
        return bounds | ({"unit": self.unit} if self.unit else {})

    def narrowed(self, low: float, high: float) -> Numeric:
        """The number with bounds that are at most as wide as (low, high)."""
        return replace(self, low=max(self.low, low), high=min(self.high, high))

    def is_narrowed(self, declared: Column) -> bool:
        """Whether its bounds lie inside those of the declared number, and nothing else differs."""
        if declared.bounds is None:
            return False
        low, high = declared.bounds
        return low <= self.low < self.high <= high and replace(self, low=low, high=high) == declared

    # ---------------------------------------------------------------- coordinates

    def coordinates(self, name: str) -> list[str]:
        """One, of the column's own name."""
        return [name]

    def map(self, *, centred: bool) -> tuple[float, float]:
        """The middle of the bounds and half their distance; not centred, 0 and the largest size."""
        if not centred:
            return 0.0, max(abs(self.low), abs(self.high))
        return self.low / 2 + self.high / 2, self.high / 2 - self.low / 2

    @property
    def range(self) -> Bounds:
        """The bounds."""
        return self.low, self.high

    def fill(self, out: Floats, numbers: Any, cells: Any, centre: float) -> None:
        """Write x - c."""
        np.subtract(numbers, centre, out=out[:, 0])

    @property
    def coordinate_unit(self) -> str | None:
        """The unit; days for dates."""
        return self.unit or ("day" if self.date else None)

    # ---------------------------------------------------------------- values

    @property
    def entries(self) -> ValueType:
        """Numbers or dates."""
        return DATES if self.date else NUMBERS

    def read(self, array: pa.Array, name: str) -> Floats:
        """Float64; dates are counted in days."""
        return numbers(array)

    def missing(self, rows: int) -> Floats:
        """NaN."""
        return np.full(rows, np.nan)

    def at_shares(self, shares: NDArray[Any]) -> Floats:
        """Values between the bounds; without bounds, between numbers that are far apart."""
        low, high = max(self.low, -_FAR), min(self.high, _FAR)
        found: Floats = low * (1 - shares) + high * shares
        return found

    def rounded(self, values: NDArray[Any], digits: int) -> list[Any]:
        """Dates, or numbers with few digits."""
        if self.date:
            days = np.clip(np.rint(values), np.ceil(self.low), np.floor(self.high))
            return [_day(day) for day in days.tolist()]
        width = self.high - self.low
        places = digits - int(np.ceil(np.log10(width))) if np.isfinite(width) else digits
        return list(np.clip(np.round(values, places), self.low, self.high).tolist())

    @property
    def extremes(self) -> tuple[Any, Any]:
        """The bounds."""
        return self._entry(self.low), self._entry(self.high)

    @property
    def typical(self) -> Any:
        """The middle of the bounds."""
        return self._entry((self.low + self.high) / 2)

    def _entry(self, value: float) -> Any:
        return _day(value) if self.date else value

    # ---------------------------------------------------------------- words

    @property
    def words(self) -> tuple[str, str]:
        """A number or a date, and its bounds."""
        return self.entries.kind, f"{self.short()} {self.unit or ''}".strip()

    def short(self) -> str:
        """The bounds, in the short form of schemas."""
        return f"({self.shown(self.low, '{:g}'.format)}, {self.shown(self.high, '{:g}'.format)})"

    def described(self, shown: Callable[[float], str]) -> str:
        """The bounds, with the unit."""
        if math.isinf(self.low) or math.isinf(self.high):
            return "bounded by the norm of the row"
        return f"{self.span(shown)[1]} {self.unit or ''}".strip()

    def shown(self, value: float, shown: Callable[[float], str]) -> str:
        """The number, or the ISO date."""
        return from_days(value) if self.date else shown(value)

    def span(self, shown: Callable[[float], str]) -> tuple[float, str]:
        """The width from the least to the largest value, and the range in words."""
        return self.high - self.low, f"{self.shown(self.low, shown)} to {self.shown(self.high, shown)}"

    # ---------------------------------------------------------------- effects

    @property
    def middle(self) -> Floats:
        """The middle of the bounds."""
        return np.array([self.low / 2 + self.high / 2])

    def as_rows(self, values: NDArray[Any]) -> Floats:
        """The numbers."""
        return np.asarray(values, dtype=float)

    def stands(self, name: str, most: int, shown: Callable[[float], str]) -> Iterator[tuple[str, Floats]]:
        """The least value, the middle and the largest value."""
        for x in (self.low, self.low / 2 + self.high / 2, self.high):
            yield f"{name} = {self.shown(x, shown)}", np.array([x])


def bounded(name: str, low: Any, high: Any, unit: str | None) -> Numeric:
    """Parse a pair of bounds: numbers, or dates."""
    dates = (str, dt.date)
    if low is None or high is None:
        raise DomainError(
            f"Column {name!r}: a bound is None. One that nobody knows is left out: {{'low': 0}}, or 'number' if "
            "neither is known; a private search finds it."
        )
    try:
        if isinstance(low, dates) and isinstance(high, dates):
            return Numeric(to_days(low), to_days(high), unit, date=True)
        return Numeric(float(low), float(high), unit)
    except (TypeError, ValueError, OverflowError):
        raise DomainError(f"Column {name!r}: the bounds are neither numbers nor ISO dates. {HOW}") from None


def _asked(name: str, answers: Mapping[str, Any], kind: str) -> Numeric:
    column = bounded(name, answers["low"], answers["high"], answers.get("unit") or None)
    column.check(name)
    return column


def _a_number(text: str) -> float:
    """Parse a finite number.

    Examples
    --------
    >>> _a_number("10,000")
    10000.0
    """
    try:
        value = float(text.replace(",", "").replace("_", ""))
    except ValueError:
        raise ParameterError("Give a number, such as 18 or 0.5.") from None
    if not abs(value) < math.inf:
        raise ParameterError("Give a finite number: without bounds no noise could hide one person.")
    return value


def _iso(text: str) -> str:
    try:
        return from_days(to_days(text))
    except (TypeError, ValueError):
        raise ParameterError("Give a date such as 1990-12-31.") from None


def to_days(value: Any) -> float:
    """Days since 1970-01-01 of a date, a datetime or ISO text."""
    if isinstance(value, str):
        value = dt.datetime.fromisoformat(value)
    if isinstance(value, dt.datetime):
        moment = value.replace(tzinfo=None) if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)
        return (moment - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1)
    return float((value - _EPOCH).days)


def _is_day(days: float) -> bool:
    """Whether a number of days since 1970-01-01 is a date in the years 1 to 9999."""
    return DAYS[0] <= days < DAYS[1] + 1


def from_days(days: float) -> str:
    """ISO text of a number of days since 1970-01-01."""
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(days=days)
    return moment.date().isoformat() if moment.time() == dt.time() else moment.isoformat()


def _day(days: float) -> dt.date:
    return dt.date.fromisoformat(from_days(math.floor(days))[:10])


_FILL_IN = '{ low = "FILL IN", high = "FILL IN" }'

Numeric.forms = (
    Form(
        word="number",
        article="a ",
        kind="number",
        holds=("number",),
        blank=_FILL_IN,
        questions=(
            Question("low", "The lowest value that anybody could have", _a_number),
            Question("high", "The highest", _a_number),
            Question("unit", "Its unit (Enter for none)", default=""),
        ),
        make=_asked,
    ),
    Form(
        word="date",
        article="a ",
        kind="date",
        holds=("date",),
        blank=f"{_FILL_IN}  # dates, e.g. 1990-12-31",
        questions=(
            Question("low", "The lowest value that anybody could have, as 1920-01-31", _iso),
            Question("high", "The highest, as 1920-01-31", _iso),
        ),
        make=_asked,
    ),
)
