"""Public facts about a table: bounds and levels of its columns, and the encoding of rows as bounded vectors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from discreet.core import checks
from discreet.core.arrays import Bools, Floats
from discreet.core.field_kinds import ABOVE_0, FLAG, NAMES, by_name, choice, record
from discreet.core.fields import Fields, Written
from discreet.core.placeholders import Remembered
from discreet.core.problems import Problems
from discreet.domain.columns import array_columns, norm_columns_of, parse_column, unbounded
from discreet.domain.derived import Parts, cells, formula_hint, inputs_of, parse_all, parts_of, refuse_mixed
from discreet.domain.file_format import FileFormat
from discreet.domain.kinds.base import COLUMN, Column, Readable
from discreet.domain.unit import FACTS, ROWS, Unit
from discreet.errors import DiscreetError, DomainError, NotReleasedError, ParameterError

LATTICE_BITS = 20
"""Entries are rounded to multiples of 2^-20, so a sum of 8,192 products is exact in float64."""

CONSTANT = "(intercept)"
"""Name of the column of ones."""

_EMPTY = (
    "A domain needs bounds for at least one column, for example Domain({'age': (18, 90)}). "
    "`discreet schema init FILE` writes a form to fill in."
)


def rounded_ball(dimensions: int) -> int:
    """Return the squared norm that a point of the unit ball never exceeds once it is rounded, in lattice units."""
    return ((1 << LATTICE_BITS) + math.isqrt(dimensions) // 2 + 2) ** 2


class EncodedCoordinate(NamedTuple):
    """One coordinate of an encoded row: a number, or one level of a category."""

    name: str
    column: str
    level: int | None


@dataclass(frozen=True, init=False)
class Domain(Written):
    """Public bounds and categories of the columns of a table.

    Parameters
    ----------
    columns : mapping of name to bounds
        ``(low, high)`` for a number, a pair of ISO dates for a date, a list of levels for a category, ``bool``,
        or a dict with ``low``, ``high``, ``unit`` or ``levels``. Bounds are facts known without looking at the data:
        values outside are moved to the nearest, silently. ``"number"``, ``"date"``, or one bound alone: a private
        search finds what is left out, which costs accuracy.
    data_norm : float, optional
        Bound on the norm of ``norm_columns``; longer rows are clipped to it, after the columns' own bounds.
    norm_columns : sequence of str, optional
        The columns that `data_norm` covers; all numeric ones by default.
    intercept : bool
        Whether models have an intercept. Without one, columns are scaled but not centred.
    missing : {"error", "drop"}
        Whether a row that lacks a value in one of the columns in use is an error or is left out.
    file : FileFormat or mapping, optional
        The format of CSV and Excel files, where it is not the default: ``{"sep": ";", "decimal": ","}``.
    person, rows_per_person : str and int, optional
        The column that tells whose a row is, and how many rows a person counts for at most; see `unit`.
    weights, largest_weight : str and float, optional
        The column of weights, and a public bound on them.

    Examples
    --------
    >>> domain = Domain({"age": (18, 90), "sex": ["F", "M"], "income": (0, 200_000)})
    >>> [entry.name for entry in domain.entries], domain.norm_squared(range(4))
    (['(intercept)', 'age', 'sex[F]', 'sex[M]', 'income'], 3.0)
    """

    columns: dict[str, Column]
    data_norm: float | None
    norm_columns: tuple[str, ...]
    intercept: bool
    missing: Literal["error", "drop"]
    file: FileFormat
    unit: Unit

    def __init__(
        self,
        columns: Mapping[str, Any],
        *,
        data_norm: float | None = None,
        norm_columns: Sequence[str] | None = None,
        intercept: bool = True,
        missing: Literal["error", "drop"] = "error",
        file: FileFormat | Mapping[str, Any] | None = None,
        person: str | None = None,
        rows_per_person: int | None = None,
        weights: str | None = None,
        largest_weight: float | None = None,
    ) -> None:
        if not isinstance(columns, Mapping) or not columns:
            raise DomainError(_EMPTY)
        checks.choice("intercept", intercept, (True, False))
        checks.choice("missing", missing, ("error", "drop"))
        names, problems = [str(name) for name in columns], Problems()
        if len(set(names)) < len(columns):
            raise DomainError("Two columns have the same name once it is written as text. Rename one of them.")
        parsed: dict[str, Column] = {}
        for name, spec in zip(names, columns.values(), strict=True):
            with problems.met(DomainError):
                parsed[name] = parse_column(name, spec)
        ball: tuple[str, ...] = ()
        with problems.met(DomainError):
            ball = norm_columns_of(parsed, data_norm, norm_columns, names)
        for name, column in parsed.items():
            with problems.met(DomainError):
                if not name or name == CONSTANT:
                    raise DomainError(f"{name!r} cannot be the name of a column.")
                column.check(name, in_ball=name in ball)
        with problems.met(DomainError):
            refuse_mixed(parsed, plain=bool(intercept or person is None or ball))
            file = FileFormat.of(file, parsed)
        told = dict(zip(FACTS, (person, rows_per_person, weights, largest_weight), strict=True))
        with problems.met(DomainError):
            unit = Unit.of(told, {*parsed, *inputs_of(parsed)})
        problems.tell()
        self._hold(parsed, None if data_norm is None else float(data_norm), ball, bool(intercept), missing, file, unit)
        if (twice := checks.repeated([entry.name for entry in self.entries])) is not None:
            raise DomainError(f"Two columns would both be shown as {twice!r}. Rename one of them.")
        _ = self.inputs

    def _hold(self, *facts: Any) -> None:
        """Set the facts, once they are checked."""
        for field, value in zip(fields(self), facts, strict=True):
            object.__setattr__(self, field.name, value)

    @classmethod
    def from_bounds(
        cls,
        features: Sequence[str],
        targets: Sequence[str] = (),
        *,
        bounds_X: Any = None,
        bounds_y: Any = None,
        data_norm: float | None = None,
        intercept: bool = True,
    ) -> Domain:
        """Describe plain arrays by the bounds of X and y.

        Parameters
        ----------
        features, targets : sequence of str
            Names for the columns of X and of y.
        bounds_X, bounds_y : (low, high)
            Each a number for all columns or one number a column.
        data_norm : float, optional
            Bound on the Euclidean norm of a row of X; may stand in for `bounds_X`.
        intercept : bool
            Whether models have an intercept.

        Examples
        --------
        >>> Domain.from_bounds(["a", "b"], ["y"], bounds_X=(0, [1, 2]), bounds_y=(-1, 1)).columns["b"].high
        2.0
        """
        features, ball = list(features), data_norm is not None
        columns = array_columns(features, list(targets), bounds_X, bounds_y, ball=ball)
        return cls(columns, data_norm=data_norm, norm_columns=features if ball else None, intercept=intercept)

    @classmethod
    def from_file(cls, path: str | Path) -> Domain:
        """Read a TOML or JSON schema."""
        from discreet.domain.schema import load_schema

        return load_schema(path, cls.from_dict)

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Domain:
        """Rebuild a domain from `to_dict` or from a parsed schema."""
        options = {k: facts[k] for k in cls.FIELDS.rows if k in facts and k != "columns"}
        columns = parse_all(facts.get("columns", {}))
        if options.get("data_norm") is not None:
            columns = {name: unbounded(spec) for name, spec in columns.items()}
        return cls(columns, **options)

    FIELDS = Fields(
        "domain",
        "Public facts that were declared about the table.",
        columns=by_name(COLUMN)("The columns by name."),
        intercept=FLAG("Whether models have an intercept."),
        missing=choice("error", "drop")("drop: rows that lack a value were left out."),
        data_norm=ABOVE_0("The largest norm of norm_columns together in a row.", absent=None),
        norm_columns=NAMES(absent=()),
        **Unit.FIELDS.inside("unit"),
        file=record(FileFormat)(absent=FileFormat()),
    )

    def select(self, names: Iterable[str]) -> Domain:
        """Return the domain of some of the columns, in the given order."""
        names = list(names)
        kept = self.require(names)
        if not names:
            raise DomainError(_EMPTY)
        ball = tuple(name for name in self.norm_columns if name in kept)
        columns = {name: self.columns[name] for name in names}
        return self._with(columns=columns, data_norm=self.data_norm if ball else None, norm_columns=ball)

    def alone(self, coordinate: str) -> Domain:
        """Return the domain of the one column that a coordinate belongs to."""
        return self.select([self.column_of[coordinate]])

    def with_column(self, name: str, column: Column) -> Domain:
        """Return the domain with other facts of one column, such as narrower bounds; they are checked."""
        column.check(name, in_ball=name in self._ball)
        return self._with(columns={**self.columns, name: column})

    def with_columns(self, columns: Mapping[str, Any], intercept: bool | None = None) -> Domain:
        """Return the domain of other columns of the same rows, such as derived ones; they are checked.

        All else stays, the unit too: no column may have the name of the one of persons or of weights.
        """
        ball = [name for name in self.norm_columns if name in columns]
        facts: dict[str, Any] = {"data_norm": self.data_norm, "norm_columns": ball} if ball else {}
        facts |= {"intercept": self.intercept if intercept is None else intercept, "missing": self.missing}
        return Domain(columns, file=self.file, **facts, **self.unit.to_dict())

    def with_missing(self, missing: Literal["error", "drop"]) -> Domain:
        """Return the domain that refuses missing values, or leaves out their rows."""
        return self._with(missing=checks.choice("missing", missing, ("error", "drop")))

    def with_intercept(self, intercept: bool) -> Domain:
        """Return the domain for models with or without an intercept; deviations from persons' means have none."""
        return self if self.intercept == intercept or self.deviates else self._with(intercept=bool(intercept))

    def with_file(self, **changes: Any) -> Domain:
        """Return the domain for files that are written in another way; see `FileFormat`."""
        return self._with(file=FileFormat.of(self.file.to_dict() | changes, self.columns)) if changes else self

    def with_unit(self, **facts: Any) -> Domain:
        """Return the domain with other facts of its `Unit`, which are checked."""
        return self._with(unit=Unit.of(dict.fromkeys(FACTS) | self.unit.to_dict() | facts, self.columns | self.inputs))

    def of_rows(self) -> Domain:
        """Return the domain of unweighted rows, one a person: for rows of which nothing is released, as predictions."""
        return self._with(unit=ROWS)

    def _with(self, **facts: Any) -> Domain:
        """Return the domain with other facts, which must have been checked."""
        changed = object.__new__(Domain)
        changed._hold(*({**self.__getstate__(), **facts}.values()))
        return changed

    def require(self, names: Iterable[str]) -> set[str]:
        """Refuse names that are repeated or unknown; the error lists all of them."""
        seen, problems = set[str](), Problems()
        for name in names:
            if name not in self.columns or name in seen:
                twice = f"Column {name!r} is named twice."
                problems.add(DomainError(twice if name in self.columns else self._undeclared(name)))
            seen.add(name)
        problems.tell()
        return seen

    def _undeclared(self, name: object) -> str:
        plain = f"Column {name!r} is not declared.{checks.meant(str(name), self.columns)} "
        return self.unit.why_not(name) or plain + f"Declared: {', '.join(self.columns)}.{formula_hint(str(name))}"

    @cached_property
    def inputs(self) -> dict[str, Column]:
        """The columns to read from the data: those of the domain, or the factors of derived ones."""
        return inputs_of(self.columns)

    @cached_property
    def reads(self) -> dict[str, Readable]:
        """The columns to read from the data, with those of identifiers and weights."""
        return {**self.inputs, **self.unit.columns}

    @cached_property
    def deviates(self) -> bool:
        """Whether columns are deviations from the means of persons."""
        return any(column.deviates for column in self.columns.values())

    @cached_property
    def searched(self) -> tuple[str, ...]:
        """The columns without declared bounds."""
        return tuple(name for name, column in self.columns.items() if column.searched)

    @cached_property
    def most(self) -> int:
        """The largest number of rows that one person counts for."""
        return self.unit.most

    @property
    def format_version(self) -> int:
        """The oldest version of files that can hold the domain, so that older programs read what they can."""
        factors = [factor for column in self.columns.values() for factor in column.factors]
        parts = [4 if factor.expression else 2 for factor in factors]
        return max([self.FIELDS.version(self), 8 if self.deviates else 7 if self.searched else 1, *parts])

    def made_of(self, name: str) -> set[str]:
        """Return a column and the columns that it is derived from."""
        column = self.columns.get(name)
        return {name, *(column.inputs(name) if column else ())}

    def features_for(self, outcomes: Set[str]) -> list[str]:
        """Return the possible features of outcomes: all other columns that are not derived from them."""
        return [name for name in self.columns if not self.made_of(name) & outcomes]

    def features_from(self, names: Sequence[str], outcomes: Set[str]) -> list[str]:
        """Return the features that a table with these columns has: its own, and those derived from them alone."""
        own, held = [name for name in names if name in self.columns or name not in self.reads], set(names)
        made = [name for name in self.features_for(outcomes) if self.columns[name].factors]
        return own + [name for name in made if self.made_of(name) - {name} <= held]

    def refuse_outcomes(
        self, outcomes: Set[str], features: Sequence[str], error: type[DiscreetError] = ParameterError
    ) -> None:
        """Refuse features that are outcomes, or derived from them."""
        for name in features:
            for outcome in self.made_of(name) & outcomes:
                place = "" if name == outcome else f", as in {name!r}"
                raise error(f"Column {outcome!r} cannot be outcome and feature at once{place}.")

    @cached_property
    def entries(self) -> tuple[EncodedCoordinate, ...]:
        """The coordinates of an encoded row z: the constant, then each column in order."""
        entries = [EncodedCoordinate(CONSTANT, CONSTANT, None)]
        for name, column in self.columns.items():
            own = enumerate(column.coordinates(name))
            entries += [EncodedCoordinate(label, name, i if column.levels else None) for i, label in own]
        return tuple(entries)

    @cached_property
    def positions(self) -> dict[str, list[int]]:
        """The places of each column in an encoded row."""
        places: dict[str, list[int]] = {}
        for i, entry in enumerate(self.entries):
            places.setdefault(entry.column, []).append(i)
        return places

    def design(self, features: Sequence[str]) -> list[int]:
        """Return the coordinates of the regressors: the constant, numbers, and each level of a category but the first.

        None is a combination of the others. A cell of a category is known by the set T of its categories that are not
        at their first level. Columns with the same numbers in them are looked at together, those of fewer categories
        first; a cell is left out if its T is a subset of the categories of an earlier column, for it is then a
        combination of that column's cells. The constant counts as a column without categories, so a category leaves
        out its first level; without an intercept the first category has all. ``age:region`` leaves out its first level
        beside ``age``, and has all levels without it.
        """
        self.require(features)
        spanned: dict[Any, list[frozenset[str]]] = {(): [frozenset()] if self.intercept else []}
        kept: dict[str, list[int]] = {}
        for name in sorted(features, key=lambda name: len(self.parts[name].categories)):
            numbers, categories = self.parts[name]
            earlier = spanned.setdefault(numbers, [])
            placed = zip(self.positions[name], cells(categories), strict=True)
            kept[name] = [place for place, T in placed if not any(column >= T for column in earlier)]
            earlier.append(frozenset(categories))
        return ([0] if self.intercept else []) + [place for name in features for place in kept[name]]

    def design_names(self, features: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the regressors' coordinates; at least one."""
        if not (places := self.design(features)):
            raise ParameterError("A model needs at least one feature, or an intercept.")
        return tuple(self.entries[i].name for i in places)

    @cached_property
    def parts(self) -> dict[str, Parts]:
        """The factors of each column; the constant has none."""
        return {CONSTANT: Parts((), {})} | {name: parts_of(name, column) for name, column in self.columns.items()}

    def target(self, name: str) -> int:
        """Return the coordinate of an outcome: a number, one named level, or the second of two levels."""
        if self._index.get(name, 0) > 0:
            return self._index[name]
        places = self.positions.get(name, [])
        if name == CONSTANT or not places:
            raise NotReleasedError(self._undeclared(name))
        if len(places) != 2:
            raise ParameterError(
                f"Column {name!r} is a category of {len(places)} levels; name one level as the outcome, for example "
                f"{self.entries[places[-1]].name!r}, or take DPLogisticRegression, which models all of them at once."
            )
        return places[1]

    def exclusive(self, indices: Sequence[int]) -> Bools:
        """Mark pairs of coordinates at different levels of one category, whose product is always 0."""
        levels: dict[str, Any] = {}
        for i, place in enumerate(indices):
            entry = self.entries[place]
            if entry.level is not None:
                parts = self.parts[entry.column]
                for name, level in zip(parts.categories, parts.place(entry.level), strict=True):
                    levels.setdefault(name, np.full(len(indices), -1))[i] = level
        pairs = np.zeros((len(indices), len(indices)), dtype=bool)
        for held in levels.values():
            pairs |= (held[:, None] != held) & (held[:, None] >= 0) & (held >= 0)
        return pairs

    @cached_property
    def column_of(self) -> dict[str, str]:
        """The column of each coordinate by name: ``"sex"`` for ``"sex[M]"``."""
        return {entry.name: entry.column for entry in self.entries}

    @cached_property
    def _index(self) -> dict[str, int]:
        return {entry.name: i for i, entry in enumerate(self.entries)}

    def indices(self, names: Iterable[str]) -> list[int]:
        """Return the coordinates of encoded entries by name."""
        return [self._index[name] for name in names]

    def map(self, column: str) -> tuple[float, float]:
        """Return centre c and half-width h with z = (x - c)/h; (0, 1) for the constant and for plain levels."""
        spec = self.columns.get(column)
        if spec is None:
            return 0.0, 1.0
        return (0.0, self.data_norm or 1.0) if column in self._ball else spec.map(centred=self.intercept)

    def ranges(self, names: Iterable[str]) -> Floats:
        """Return the ranges (low, high) of coordinates, infinite where `data_norm` alone bounds them."""
        columns = [self.columns[name if name in self.columns else self.column_of[name]] for name in names]
        ends = [(0.0, 1.0) if column.is_indicator else column.range for column in columns]
        return np.array(ends, dtype=float).reshape(-1, 2)

    @cached_property
    def _ball(self) -> frozenset[str]:
        return frozenset(self.norm_columns)

    @cached_property
    def centre(self) -> Floats:
        """The centre c of each coordinate, read-only; see `map`."""
        return self._maps[0]

    @cached_property
    def half(self) -> Floats:
        """The half-width h of each coordinate, read-only; see `map`."""
        return self._maps[1]

    @cached_property
    def _maps(self) -> tuple[Floats, Floats]:
        maps = {column: self.map(column) for column in self.positions}
        numbers = np.array(list(zip(*(maps[entry.column] for entry in self.entries), strict=True)))
        numbers.flags.writeable = False
        return numbers[0], numbers[1]

    def norm_squared_lattice(self, indices: Iterable[int]) -> int:
        """Return the largest squared norm of the given coordinates of a rounded row, in lattice units, exactly.

        The constant, each category and each number outside the ball add at most 1; rounding to the nearest
        lattice point cannot take a number past 1, which is itself on the lattice. The ball adds its squared
        radius, enlarged by what rounding its coordinates can add.
        """
        one = 1 << (2 * LATTICE_BITS)
        columns = {self.entries[i].column for i in indices}
        in_ball = len(columns.intersection(self.norm_columns))
        return (len(columns) - in_ball) * one + min(in_ball * one, self.ball_lattice if in_ball else 0)

    @cached_property
    def ball_lattice(self) -> int:
        """Squared norm that the rounded coordinates of the ball never exceed, in lattice units."""
        return rounded_ball(len(self.norm_columns))

    def norm_squared(self, indices: Iterable[int]) -> float:
        """Return `norm_squared_lattice` in units of the mapped columns."""
        return math.ldexp(float(self.norm_squared_lattice(indices)), -2 * LATTICE_BITS)

    @cached_property
    def norms(self) -> Mapping[tuple[str, ...], float]:
        """`norm_squared` of coordinates by their names."""
        return Remembered(lambda names: self.norm_squared(self.indices(names)))

    def __repr__(self) -> str:
        shown = ", ".join(f"{n!r}: {c.short()}" for n, c in list(self.columns.items())[:8])
        more = ", ..." if len(self.columns) > 8 else ""
        ball = "" if self.data_norm is None else f", data_norm={self.data_norm:g}"
        unit = "".join(f", {name}={value!r}" for name, value in self.unit.to_dict().items())
        return f"Domain({{{shown}{more}}}{ball}{unit})"

    def __eq__(self, other: object) -> bool:
        return self._facts == other._facts if isinstance(other, Domain) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._facts)

    @property
    def _facts(self) -> tuple[Any, ...]:
        """The facts that two equal domains share; the order of columns is one, for it is that of encoded rows."""
        return tuple(self.columns.items()), self.data_norm, self.norm_columns, self.intercept, self.missing, self.unit

    def __getstate__(self) -> dict[str, Any]:
        """Return the facts alone; cached properties are computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
