"""Categories, and yes or no."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.core.arrays import Floats
from discreet.core.field_kinds import many
from discreet.core.fields import FieldKind, Fields
from discreet.domain.kinds.base import Bounds, Column, Factor, Form, Level, Question, numbers_of, product_unit
from discreet.domain.value_types import TEXT, TRUTH, WHOLE, LevelType
from discreet.errors import DataError, DomainError, ParameterError

LEVEL = FieldKind({"type": ["string", "integer", "boolean"]})


@dataclass(frozen=True)
class Categorical(Column):
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

    date = False
    FIELDS = Fields(
        "category_column",
        "A category: for each level a coordinate that is 1 or 0, named COLUMN[LEVEL].",
        levels=many(LEVEL, minItems=2)("All levels, the reference level first."),
    )
    keys = frozenset({*FIELDS.rows, "type"})

    # ---------------------------------------------------------------- facts

    @property
    def bounds(self) -> None:
        """None."""

    @classmethod
    def parse(cls, name: str, spec: Any) -> Categorical | None:
        """Parse a category from a list of levels, or a mapping with them; no and yes from ``bool``."""
        if isinstance(spec, (set, frozenset)):
            raise DomainError(f"Column {name!r}: give the levels as a list, for the first one is the reference.")
        if isinstance(spec, Mapping) and "levels" in spec:
            if not isinstance(spec["levels"], (list, tuple)):
                raise DomainError(
                    f"Column {name!r}: levels must be a list. They are never searched for: a level "
                    "that is listed tells that somebody has it."
                )
            return cls(tuple(spec["levels"]))
        if spec is bool or (isinstance(spec, Mapping) and spec.get("type") == "bool"):
            return cls((False, True))
        return cls(tuple(spec)) if isinstance(spec, list) else None

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

    def facts(self) -> dict[str, Any]:
        """The levels."""
        return self.FIELDS.write(self)

    # ---------------------------------------------------------------- coordinates

    def coordinates(self, name: str) -> list[str]:
        """One for each level."""
        return [f"{name}[{level}]" for level in self.levels]

    def map(self, *, centred: bool) -> tuple[float, float]:
        """Levels are never centred, so that all but one are 0."""
        return 0.0, self.scale

    @property
    def range(self) -> Bounds:
        """The range of the number that the levels multiply, symmetric about 0."""
        return -self.scale, self.scale

    def fill(self, out: Floats, numbers: Any, cells: Any, centre: float) -> None:
        """Write the number, or one, at the level of each row."""
        out[:] = 0.0
        out[np.arange(len(out)), cells] = numbers

    @property
    def coordinate_unit(self) -> str | None:
        """The unit of the numbers that the levels multiply."""
        return product_unit(numbers_of(self.factors))

    # ---------------------------------------------------------------- values

    @property
    def entries(self) -> LevelType:
        """The type of the levels."""
        found: LevelType = {bool: TRUTH, int: WHOLE}.get(type(self.levels[0]), TEXT)
        return found

    def read(self, array: pa.Array, name: str) -> NDArray[np.int32]:
        """Codes: places of the levels; an undeclared one is an error that names the column only."""
        if pa.types.is_dictionary(array.type):
            found = self.entries.places(array.dictionary, self.levels).take(array.indices)
        else:
            found = self.entries.places(array, self.levels)
        if found.null_count:
            raise DataError(
                f"Column {name!r} holds a category that is not declared. Remedy: add it to the levels in the schema, "
                f"from public knowledge, or recode it before the release.{self._bounds_meant()}"
            )
        codes: NDArray[np.int32] = found.to_numpy(zero_copy_only=False)
        return codes

    def _bounds_meant(self) -> str:
        """Return a hint if two numbers in a list may be meant as bounds."""
        if len(self.levels) != 2 or self.entries is not WHOLE:
            return ""
        low, high = self.levels
        return (
            f" A list such as [{low}, {high}] names levels: if bounds are meant, write ({low}, {high}) in Python, "
            f"{{ low = {low}, high = {high} }} in a schema."
        )

    def missing(self, rows: int) -> NDArray[np.int32]:
        """The code -1."""
        return np.full(rows, -1, dtype=np.int32)

    def at_shares(self, shares: NDArray[Any]) -> NDArray[np.intp]:
        """Levels in their order, each for an equal part."""
        return (shares * len(self.levels)).astype(np.intp)

    def rounded(self, values: NDArray[Any], digits: int) -> list[Any]:
        """Levels of codes."""
        return [self.levels[code] for code in values.tolist()]

    @property
    def extremes(self) -> tuple[Any, Any]:
        """The first and the last level."""
        return self.levels[0], self.levels[-1]

    @property
    def typical(self) -> Any:
        """The first level."""
        return self.levels[0]

    # ---------------------------------------------------------------- words

    @property
    def words(self) -> tuple[str, str]:
        """A category, and its levels."""
        return "category", self._listed

    def short(self) -> str:
        """The levels, in the short form of schemas."""
        return f"{list(self.levels)}"

    def described(self, shown: Callable[[float], str]) -> str:
        """The levels, and the numbers that they multiply.

        Examples
        --------
        >>> Categorical(("F", "M")).described(str)
        'one of F, M'
        """
        numbers = numbers_of(self.factors)
        if not numbers:
            return f"one of {self._listed}"
        parts = [f.column if f.power == 1 else f"{f.column}^{f.power}" for f in numbers]
        told = (f"{part} ({f.spec.described(shown)})" for part, f in zip(parts, numbers, strict=True))
        return f"{' times '.join(told)} for each of {self._listed}"

    @property
    def _listed(self) -> str:
        return ", ".join(map(str, self.levels))

    def span(self, shown: Callable[[float], str]) -> tuple[float, str]:
        """One; or the largest size of the number that the levels multiply."""
        return self.scale, f"0 to {shown(self.scale)}" if numbers_of(self.factors) else ""

    # ---------------------------------------------------------------- effects

    @property
    def middle(self) -> Floats:
        """Equal shares of the levels."""
        return np.full((1, len(self.levels)), 1 / len(self.levels))

    def as_rows(self, values: NDArray[Any]) -> Floats:
        """The share 1 of the level of each code."""
        rows: Floats = np.eye(len(self.levels))[values]
        return rows

    def stands(self, name: str, most: int, shown: Callable[[float], str]) -> Iterator[tuple[str, Floats]]:
        """The first levels, as shares."""
        for label, row in zip(self.coordinates(name), np.eye(len(self.levels))[:most], strict=False):
            yield label, row[None]


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


def _asked(name: str, answers: Mapping[str, Any], kind: str) -> Categorical:
    """Make the category of the answers; they become whole numbers if all of them are, and the file may hold numbers."""
    words = answers["levels"]
    whole = kind != "category" and all(word == str(_whole(word)) for word in words)
    column = Categorical(tuple(int(word) if whole else word for word in words))
    column.check(name)
    return column


def _asked_yes_no(name: str, answers: Mapping[str, Any], kind: str) -> Categorical:
    words = answers["levels"]
    if [word.lower() for word in words] in (["false", "true"], ["0", "1"]):
        return Categorical((False, True))
    column = _asked(name, answers, kind)
    if len(words) != 2:
        raise ParameterError("Give two words, that for no first, as no, yes.")
    return column


def _whole(word: str) -> int | None:
    try:
        return int(word)
    except ValueError:
        return None


Categorical.forms = (
    Form(
        word="category",
        article="a ",
        kind="category",
        holds=("category", "number"),
        blank='{ levels = ["FILL IN", "FILL IN"] }',
        questions=(
            Question("levels", "All levels that there could be, the first to compare with, as north, south", _words),
        ),
        make=_asked,
    ),
    Form(
        word="yes/no",
        article="",
        kind="bool",
        holds=("bool", "number"),
        blank='{ type = "bool" }',
        questions=(Question("levels", "How are no and yes written", _words, "false, true"),),
        make=_asked_yes_no,
    ),
)
