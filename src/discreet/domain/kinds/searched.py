"""Numbers and dates without bounds: a private search finds these, and rows are encoded by sign and power of two."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.field_kinds import TEXT, choice
from discreet.core.fields import Fields
from discreet.domain.kinds.base import HOW, Bounds, Column
from discreet.domain.kinds.numeric import BOUND, DAYS, LARGEST, Numeric, bounded, from_days
from discreet.errors import DomainError

LEAST, MOST = -40, 60
"""The least and the largest exponent of a power of two that are told apart."""

POWERS = MOST - LEAST + 1

HALF = 128
"""Half the number of cells in the encoded range: a power of two above `POWERS`, so that cells are lattice points."""


class Searched(Numeric):
    """A number, or a date, of which at least one bound is not known; an infinite bound stands for that.

    A row is encoded by the cell of x - origin, the origin being the known bound or 0: 0 for zero, and otherwise a
    number from 1 to 101 for the power of two at or below its size, with its sign. Cells are divided by 128, so that
    they are lattice points of [-1, 1].

    Examples
    --------
    >>> Searched(-math.inf, math.inf).cells(np.array([0.0, 1.0, 1.9, -2.0, 1e300]))
    array([  0.,  41.,  41., -42., 101.])
    """

    searched = True
    forms = ()
    FIELDS = Fields(
        "searched_column",
        "A number or a date of which at least one bound is not declared. A private search finds it; rows are encoded "
        "by c/128, with c = 0 for x = origin and else the sign of x - origin times e + 41, 2^e being the largest power "
        "of two at or below its size, e at least -40 and at most 60. The origin is the declared bound, or 0.",
        type=choice("number", "date")("date: values are days since 1970-01-01."),
        low=BOUND(absent=-math.inf),
        high=BOUND(absent=math.inf),
        unit=TEXT("The unit of the values.", absent=None),
    )
    keys = frozenset(FIELDS.rows)

    # ---------------------------------------------------------------- facts

    @property
    def type(self) -> Literal["number", "date"]:
        """Whether values are numbers or dates."""
        return "date" if self.date else "number"

    @property
    def origin(self) -> float:
        """The point from which sizes are measured: the known bound, or 0."""
        return next((bound for bound in (self.low, self.high) if math.isfinite(bound)), 0.0)

    @classmethod
    def parse(cls, name: str, spec: Any) -> Searched | None:
        """Parse "number", "date", or a mapping with such a type or with one of both bounds."""
        if spec in ("number", "date"):
            spec = {"type": spec}
        if not isinstance(spec, Mapping) or not set(spec) <= cls.keys or {"low", "high"} <= set(spec):
            return None
        if not {"type", "low", "high"} & set(spec) or spec.get("type", "number") not in ("number", "date"):
            return None
        known = next((spec[key] for key in ("low", "high") if key in spec), None)
        date = spec.get("type") == "date" or ("type" not in spec and isinstance(known, (str, dt.date)))
        if known is None:
            return cls(-math.inf, math.inf, spec.get("unit"), date=date)
        found = bounded(name, known, known, spec.get("unit"))
        if found.date != date:
            raise DomainError(f"Column {name!r}: its type and its bound do not go together. {HOW}")
        low, high = (found.low, math.inf) if "low" in spec else (-math.inf, found.high)
        return cls(low, high, found.unit, date=date)

    def check(self, name: str, *, in_ball: bool = False) -> None:
        """Refuse a known bound that is no number or too large, and columns of a ball."""
        if in_ball:
            raise DomainError(
                f"Column {name!r} is one of norm_columns, where data_norm is its bound, and none is searched for. "
                "Declare it with infinite or finite bounds."
            )
        known = self.origin
        if math.isnan(self.low) or math.isnan(self.high) or math.isfinite(self.high - self.low):
            raise DomainError(f"Column {name!r}: a bound is NaN, or both are known. {HOW}")
        if self.low == math.inf or self.high == -math.inf or abs(known) > LARGEST / 2:
            raise DomainError(f"Column {name!r}: the bound is too large for floating point. Scale the column first.")
        if self.date and not DAYS[0] + 1 <= known <= DAYS[1] - 1:
            raise DomainError(f"Column {name!r}: a date must lie in the years 1 to 9999. {HOW}")
        if self.unit is not None and not isinstance(self.unit, str):
            raise DomainError(f"Column {name!r}: the unit must be text.")

    def facts(self) -> dict[str, Any]:
        """The type, the known bound if there is one, and the unit."""
        bounds = {"low": self.low, "high": self.high}
        known = {key: from_days(own) if self.date else own for key, own in bounds.items() if math.isfinite(own)}
        return {"type": self.type} | known | ({"unit": self.unit} if self.unit else {})

    def resolved(self, low: float, high: float) -> Numeric:
        """The column with bounds that were found; they are widened where floating point or the calendar asks for it."""
        least = max(abs(low), abs(high), 2.0**-500) * 2.0**-28
        if self.date:
            low, high, least = max(math.floor(low), DAYS[0]), min(math.ceil(high), DAYS[1]), 1.0
        low, high = max(low, self.low), min(high, self.high)
        if high - low < least:
            low, high = (high - least, high) if math.isfinite(self.high) else (low, low + least)
        return Numeric(low, high, self.unit, self.date)

    def admits(self, column: Column) -> bool:
        """Whether a column is this one with bounds that a search may have found."""
        if type(column) is not Numeric or column.factors or (column.unit, column.date) != (self.unit, self.date):
            return False
        return all(own in (column.low, column.high) for own in self._known.values())

    # ---------------------------------------------------------------- coordinates

    def cells(self, values: Floats) -> Floats:
        """The cell of each value, by itself; what is not finite stays as it is, and is refused as everywhere."""
        x = np.asarray(values, dtype=float)
        size = np.clip(x, self.low, self.high) - self.origin
        power = np.clip(np.frexp(size)[1] - 1, LEAST, MOST) - LEAST + 1
        found: Floats = np.where(np.isfinite(x), np.sign(size) * power, x)
        return found

    def map(self, *, centred: bool) -> tuple[float, float]:
        """The centre 0, and half the number of cells."""
        return 0.0, float(HALF)

    @property
    def range(self) -> Bounds:
        """The cells."""
        return -float(HALF), float(HALF)

    def fill(self, out: Floats, numbers: Any, cells: Any, centre: float) -> None:
        """Write the cell of x."""
        out[:, 0] = self.cells(numbers)

    # ---------------------------------------------------------------- words

    def short(self) -> str:
        """The type, with the known bound."""
        known = [f"{key} = {self.shown(own, '{:g}'.format)}" for key, own in self._known.items()]
        return ", ".join([self.type, *known])

    def described(self, shown: Callable[[float], str]) -> str:
        """The known bound, and that the other is searched for."""
        known = [f"{key} {self.shown(own, shown)}" for key, own in self._known.items()]
        found = "the other bound is" if known else "bounds are"
        return f"{', '.join([*known, f'{found} searched for'])} {self.unit or ''}".strip()

    @property
    def _known(self) -> dict[str, float]:
        return {key: own for key, own in (("low", self.low), ("high", self.high)) if math.isfinite(own)}

    def span(self, shown: Callable[[float], str]) -> tuple[float, str]:
        """No width and no range: nothing is known yet."""
        return math.inf, self.described(shown)

    @property
    def words(self) -> tuple[str, str]:
        """A number or a date, whose bounds are searched for."""
        return self.type, self.described("{:g}".format)

    def is_narrowed(self, declared: Column) -> bool:
        """Never: no bounds were narrowed to none."""
        return False
