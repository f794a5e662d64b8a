"""The base of all kinds of columns.

A kind of column says how its entries are read, which coordinates it has in an encoded row and how they are mapped to
[-1, 1], which outcomes it can be, and how it is shown to people. Other modules ask the column instead of its class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import pyarrow as pa
from numpy.typing import NDArray

from discreet.core.arrays import Floats
from discreet.core.field_kinds import TEXT, by_name, many, whole
from discreet.core.fields import FieldKind, Fields, ref
from discreet.domain.expressions import Expression
from discreet.domain.value_types import KEYS, ValueType
from discreet.errors import ParameterError

Level = str | int | bool
Bounds = tuple[float, float]

HOW = (
    "Give (low, high) for a number, a pair of ISO dates for a date, a list of levels for a category, or bool. "
    "Take them from what is known of the subject, never from the data; where nobody knows them, 'number' or 'date' "
    "has them searched for, privately."
)


@dataclass(frozen=True)
class Question:
    """One question about a column."""

    key: str  # of the answer
    text: str
    read: Callable[[str], Any] = str.strip  # the answer of a text; raises `ParameterError`, with the reason
    default: str | None = None  # the text that stands for no answer; one is required by default


@dataclass(frozen=True)
class Form:
    """The questions about a column of one kind, asked by prompts or as a line to fill in."""

    word: str  # the kind, as people choose it
    article: str  # before the word in a sentence
    kind: str  # the type of entries in a file (`value_types.kind`) that are taken to be of this kind
    holds: tuple[str, ...]  # the types of entries that may be of this kind
    blank: str  # the TOML value to fill in
    questions: tuple[Question, ...]
    make: Callable[[str, Mapping[str, Any], str], Column]  # of name, answers by key and type of entries; may refuse


class Readable(ABC):
    """A column that is read from the data."""

    levels: tuple[Level, ...]
    """The levels of a category; none for others."""

    @property
    @abstractmethod
    def entries(self) -> ValueType:
        """The type of the entries."""


@dataclass(frozen=True)
class Identifier(Readable):
    """A column that identifies persons, in text or whole numbers; no coordinate of a row."""

    levels = ()

    @property
    def entries(self) -> ValueType:
        """Keys."""
        return KEYS


class Column(Readable):
    """The public facts of one column, and everything derived from them.

    Values of a column are float64 numbers, or codes (places among the levels). Derived columns have factors.
    """

    date: bool  # whether values are days since 1970
    factors: tuple[Factor, ...]  # whose product a derived column is; none for a declared column
    searched: ClassVar[bool] = False
    """Whether bounds are not declared, and are to be searched for."""

    deviates: ClassVar[bool] = False
    """Whether values are deviations from the mean over the rows of a person."""

    FIELDS: ClassVar[Fields]
    """The fields of a declared column in files."""

    keys: ClassVar[frozenset[str]]
    """The keys of `facts` and of mappings that people write."""

    forms: ClassVar[tuple[Form, ...]]
    """The questions to ask people about such a column."""

    # ---------------------------------------------------------------- facts

    @property
    @abstractmethod
    def bounds(self) -> Bounds | None:
        """The least and the largest value of a number; None for a category."""

    @classmethod
    @abstractmethod
    def parse(cls, name: str, spec: Any) -> Self | None:
        """The column of a short form that people write, or of `to_dict`; None if it is of another kind."""

    @abstractmethod
    def check(self, name: str, *, in_ball: bool = False) -> None:
        """Refuse facts that no column can have."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """The JSON-ready facts of a declared column."""

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description; of a derived column, each factor with its own public facts."""
        return PRODUCT.write(self) if self.factors else self.facts()

    def narrowed(self, low: float, high: float) -> Column:
        """The column with bounds that are at most as wide as (low, high); a category stays as it is."""
        return self

    def is_narrowed(self, declared: Column) -> bool:
        """Whether bounds lie inside the declared ones, and nothing else differs."""
        return False

    def admits(self, column: Column) -> bool:
        """Whether a column is this one with bounds that a private search may have found."""
        return False

    def parts(self, name: str) -> tuple[Factor, ...]:
        """The factors; the column itself where it is not derived."""
        return self.factors or (Factor(name, self),)

    def inputs(self, name: str) -> dict[str, Column]:
        """The columns to read: itself, or those that it is derived from."""
        if not self.factors:
            return {name: self}
        return {own: spec for factor in self.factors for own, spec in factor.inputs.items()}

    # ---------------------------------------------------------------- coordinates

    @abstractmethod
    def coordinates(self, name: str) -> list[str]:
        """Names of the column's coordinates in an encoded row."""

    @abstractmethod
    def map(self, *, centred: bool) -> tuple[float, float]:
        """Centre c and half-width h with z = (x - c)/h in [-1, 1]; c is 0 if not centred."""

    @property
    @abstractmethod
    def range(self) -> Bounds:
        """The range of a coordinate before it is mapped."""

    @property
    def is_indicator(self) -> bool:
        """Whether each coordinate is 0 or 1: levels that multiply no number."""
        return self.bounds is None and not numbers_of(self.factors)

    @abstractmethod
    def fill(self, out: Floats, numbers: Any, cells: Any, centre: float) -> None:
        """Write the coordinates of rows: x - c of numbers, or the numbers at the cell of each row and 0 elsewhere."""

    @property
    @abstractmethod
    def coordinate_unit(self) -> str | None:
        """The unit of a coordinate: that of a number, or of the number that a category multiplies."""

    @property
    def compares(self) -> bool:
        """Whether it is derived by a comparison, and may be 0 and 1."""
        return self.bounds == (0.0, 1.0) and [(own.truth, own.power) for own in self.factors] == [(True, 1)]

    # ---------------------------------------------------------------- values

    @abstractmethod
    def read(self, array: pa.Array, name: str) -> NDArray[Any]:
        """Values of an Arrow array without missing ones; errors name the column only."""

    @abstractmethod
    def missing(self, rows: int) -> NDArray[Any]:
        """Values that stand for missing entries."""

    @abstractmethod
    def at_shares(self, shares: NDArray[Any]) -> NDArray[Any]:
        """Values at shares of the declared range, from 0 to 1."""

    @abstractmethod
    def rounded(self, values: NDArray[Any], digits: int) -> list[Any]:
        """Convert values to entries of a table; numbers are rounded to about so many digits, dates to days."""

    @property
    @abstractmethod
    def extremes(self) -> tuple[Any, Any]:
        """The entries at both ends: the bounds, or the first and the last level."""

    @property
    @abstractmethod
    def typical(self) -> Any:
        """The entry with the least effect on sums: the middle of the bounds, or the first level."""

    # ---------------------------------------------------------------- outcomes

    def as_number(self, name: str, model: str) -> Bounds:
        """The bounds of an outcome of a model that explains numbers; refuses other columns."""
        if self.bounds is None:
            raise ParameterError(f"Column {name!r} is a category; {model} needs a number as the outcome.")
        return self.bounds

    def as_count(self, name: str) -> Bounds:
        """The bounds of an outcome that is a count; refuses other columns."""
        if self.bounds is None or self.bounds[0] < 0:
            raise ParameterError(f"Counts are at least 0: declare bounds from 0 on for {name!r}.")
        return self.bounds

    def as_classes(self, name: str) -> tuple[Level, ...]:
        """The classes of an outcome of a classifier; refuses columns without levels that are no comparison."""
        if self.compares:
            return (False, True)
        if self.bounds is not None:
            raise ParameterError(
                f"Column {name!r} is declared as a number, and a classifier needs classes: declare its levels, "
                "for example [0, 1], or bool, or compare it in a formula: 'I(income > 50000) ~ age'."
            )
        return self.levels

    # ---------------------------------------------------------------- words

    @property
    @abstractmethod
    def words(self) -> tuple[str, str]:
        """Describe the kind of the column and its possible values."""

    @abstractmethod
    def short(self) -> str:
        """The bounds or levels, in the short form of schemas."""

    @abstractmethod
    def described(self, shown: Callable[[float], str]) -> str:
        """Describe the public facts in words; `shown` writes a number."""

    def shown(self, value: float, shown: Callable[[float], str]) -> str:
        """Format one value of a number or a date."""
        return shown(value)

    @abstractmethod
    def span(self, shown: Callable[[float], str]) -> tuple[float, str]:
        """The width of the range that a coordinate crosses, and the range in words; "" for levels."""

    # ---------------------------------------------------------------- effects

    @property
    def crossed(self) -> Bounds | None:
        """The range that an effect crosses: the bounds of a number."""
        return self.bounds

    @property
    @abstractmethod
    def middle(self) -> Floats:
        """One row of a variable of a model: the middle of the range, or equal shares of the levels."""

    @abstractmethod
    def as_rows(self, values: NDArray[Any]) -> Floats:
        """Values as rows of a variable of a model: numbers, or shares of the levels."""

    @abstractmethod
    def stands(self, name: str, most: int, shown: Callable[[float], str]) -> Iterator[tuple[str, Floats]]:
        """Rows at which a variable of a model is shown, with their names: both ends and the middle, or levels."""


@dataclass(frozen=True)
class Factor:
    """One factor of a derived column: a number or an expression of numbers to some power, or a category."""

    column: str  # the declared column, or the expression as it is shown
    spec: Column  # the declared facts of the column, or the range of the expression
    power: int = 1
    expression: Expression | None = None  # of declared numbers

    @property
    def inputs(self) -> dict[str, Column]:
        """The declared columns that it is made of."""
        return {self.column: self.spec} if self.expression is None else self.expression.columns

    @property
    def truth(self) -> bool:
        """Whether it is a comparison, which is 1 or 0."""
        return self.expression is not None and self.expression.truth

    @property
    def unit(self) -> str | None:
        """The unit of a number to its power."""
        unit = self.spec.coordinate_unit
        return f"{unit}^{self.power}" if unit and self.power > 1 else unit

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description, with the public facts of each column."""
        if self.expression is None:
            return {"column": self.column, "power": self.power} | self.spec.to_dict()
        return _EXPRESSION.write(self)


COLUMN = FieldKind(ref("column"), write=Column.to_dict)
_EXPRESSION = Fields(
    "expression_factor",
    "A function of columns to a power.",
    expression=TEXT("As in a formula: log(wealth + 1).", attribute="expression.text", since=4),
    power=whole(1),
    columns=by_name(COLUMN)("The declared facts of its columns.", attribute="inputs"),
)
_FACTOR = FieldKind({"oneOf": [ref("column_factor"), ref(_EXPRESSION.name)]}, write=Factor.to_dict)
PRODUCT = Fields(
    "product_column",
    "A product of other columns, as age^2 or age:sex, whose bounds follow from theirs.",
    product=many(_FACTOR, minItems=1)("Its factors.", attribute="factors", since=2),
)


def numbers_of(factors: Sequence[Factor]) -> list[Factor]:
    """The factors that are numbers."""
    return [factor for factor in factors if factor.spec.bounds is not None]


def categories_of(factors: Sequence[Factor]) -> list[Factor]:
    """The factors that are categories."""
    return [factor for factor in factors if factor.spec.bounds is None]


def product_unit(factors: Sequence[Factor]) -> str | None:
    """The unit of a product."""
    return "*".join(filter(None, (factor.unit for factor in factors))) or None
