"""Deviations from the mean over a person's rows: what remains of a column once persons are absorbed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import Ints
from discreet.core.field_kinds import NUMBER, TEXT, maybe, whole
from discreet.core.fields import FieldKind, Fields, ref
from discreet.domain.kinds.base import COLUMN, Bounds, Column
from discreet.domain.kinds.numeric import Numeric
from discreet.errors import ParameterError

_PARTS = Fields(
    "deviation_parts",
    "A column, and which of its levels.",
    of=TEXT("The column."),
    spec=COLUMN("Its facts."),
    level=maybe(whole(0))("The place of the level.", absent=None),
    low=NUMBER("The least deviation."),
    high=NUMBER("The largest deviation."),
)
DEVIATION = Fields(
    "deviation_column",
    "A number, or one level of a category, less its mean over the rows of the same person.",
    deviation=FieldKind(ref(_PARTS.name))("What the mean is taken off."),
)


@dataclass(frozen=True, kw_only=True)
class Deviation(Numeric):
    """A number, or one level of a category, less its mean over the rows of the same person.

    Values lie in [l, h], so deviations lie in [-(h - l), h - l]; these bounds may be narrowed. The coordinate has the
    name of the number or of the level.

    Parameters
    ----------
    of : str
        The column, declared or derived.
    spec : Column
        Its facts.
    level : int, optional
        The place of the level, where the column is a category.

    Examples
    --------
    >>> Deviation.made("age", Numeric(18, 90)).bounds
    (-72.0, 72.0)
    """

    of: str
    spec: Column
    level: int | None = None
    deviates = True
    FIELDS = DEVIATION

    @classmethod
    def made(cls, of: str, spec: Column, level: int | None = None) -> Deviation:
        """The deviations of a column, or of one of its levels."""
        if spec.searched:
            raise ParameterError(
                f"Column {of!r} has no bounds, and deviations from a person's mean need them. Declare them, or let "
                "`discreet bounds` find them first."
            )
        low, high = (0.0, 1.0) if spec.is_indicator else spec.range
        return cls(low - high, high - low, spec.coordinate_unit, of=of, spec=spec, level=level)

    def facts(self) -> dict[str, Any]:
        """The column and its facts."""
        return DEVIATION.write(self)

    @property
    def deviation(self) -> dict[str, Any]:
        """The column and its facts."""
        return _PARTS.write(self)

    @property
    def width(self) -> float:
        """The width of the column's own range."""
        low, high = self.crossed
        return high - low

    def inputs(self, name: str) -> dict[str, Column]:
        """The columns to read."""
        return self.spec.inputs(self.of)

    def steps(self, numbers: Any, cells: NDArray[Any] | None, one: float) -> Ints:
        """The values before the mean is taken off: whole multiples of the width over `one`, within one/2 of 0.

        Parameters
        ----------
        numbers : array or float
            Values of the number; 1 where a level multiplies none.
        cells : array, optional
            The place of the level of each row.
        one : float
            The number of steps of the width.
        """
        low, high = self.crossed
        x = np.clip(numbers, low, high)
        if self.level is not None:
            x = np.where(cells == self.level, x, 0.0)
        found: Ints = np.rint((x - (low / 2 + high / 2)) * (one / (high - low))).astype(np.int64)
        return found

    @property
    def crossed(self) -> Bounds:
        """The bounds of the number itself; 0 and 1 for a level."""
        return (0.0, 1.0) if self.spec.is_indicator else self.spec.range

    # ---------------------------------------------------------------- words

    def span(self, shown: Callable[[float], str]) -> tuple[float, str]:
        """The width and the range of the number itself."""
        return self.spec.span(shown) if self.level is None else (1.0, "")

    def short(self) -> str:
        """That it is a deviation, with its bounds."""
        return f"deviations within {super().short()}"

    def described(self, shown: Callable[[float], str]) -> str:
        """That it is a deviation, with its bounds."""
        return f"less the person's mean: {super().described(shown)}"
