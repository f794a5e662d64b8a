"""A statistic: everything that the library knows of one kind of sum over rows, in one object.

Its name in files and its words for people, the coordinates that it is about, its L2 sensitivity, the layout of its
noise, the shape of its values and the values that a table can have, its exact sums, and the loss of one row. A new
statistic is a class in a file of this folder, with `factors` (or `pairs`) and `sensitivity`; all else has a default.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar, Literal, Protocol, TypeVar

import numpy as np

from discreet.core.arrays import Floats, Ints, Objects
from discreet.core.chance import FAR
from discreet.core.checks import Neighbors
from discreet.domain.cells import BINS, Span
from discreet.domain.coordinates import Coordinates, Turned
from discreet.domain.encoding import ONE
from discreet.statistics.space import Space

NoiseLayout = Literal["weighted", "uniform"]
"""Of a symmetric matrix: sd/sqrt(2) off the diagonal, or the same sd everywhere."""

ROUNDED = 1 + 2.0**-12
"""Squares of rounded rows exceed 1 by less."""


class BlockLike(Protocol):
    """A statistic of named coordinates with its noise: X stands for `rows`, Y for `columns`."""

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of X."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of Y."""

    @property
    def sd(self) -> float:
        """Standard deviation of the noise."""

    @property
    def layout(self) -> NoiseLayout:
        """How noise is laid out."""

    @property
    def span(self) -> Span | None:
        """For counts, the part of the range whose equal parts are counted."""


class Places(Protocol):
    """Where the coordinates that blocks name stand in a row, and the largest squared norm of some of them."""

    def indices(self, names: Iterable[str]) -> list[int]:
        """Places by name."""

    def norm_squared(self, indices: Iterable[int]) -> float:
        """Of the coordinates at these places."""


class RowArrays(Protocol):
    """Encoded rows, one a line, in units of the mapped columns; a row that was dropped is all 0."""

    Z: Floats

    @property
    def squares(self) -> Floats:
        """Squares of all coordinates."""

    @property
    def present(self) -> Floats:
        """1 for a row that counts, 0 for one that was dropped."""

    def norm2(self, indices: Iterable[int]) -> Floats:
        """Squared norms of some coordinates."""

    def norm4(self, indices: Iterable[int]) -> Floats:
        """Sums of fourth powers of some coordinates."""


class ExactProducts(Protocol):
    """Exact sums of products of coordinates over the rows of a table; **confidential**."""

    @property
    def count(self) -> int:
        """How many rows there are."""

    def integers(self, rows: Objects, columns: Objects) -> Objects:
        """The sums of products of these coordinates."""


class ExactMatrices(Protocol):
    """Exact sums of products over rows in the coordinates of a stage; **confidential**."""

    coordinates: Coordinates

    def matrix(self, place: int) -> list[Objects]:
        """Diagonal and upper triangle of one of the symmetric matrices that were summed up."""


class ExactStage(ExactMatrices, Protocol):
    """All exact sums of the first reading of a stage; **confidential**."""

    def residual_counts(self, outcome: str) -> Objects:
        """How many weighted residuals lie between the half widths of an outcome."""

    def norm_counts(self) -> Objects:
        """How many rows have a norm between the edges."""

    def cross(self, outcomes: Sequence[str], chosen: Sequence[int]) -> Objects:
        """U'E at the chosen half widths, line by line."""

    def squares(self, outcomes: Sequence[str], chosen: Sequence[int]) -> Objects:
        """The sums of e^2 at the chosen half widths."""


class NoisyValue(Protocol):
    """Released values of a block."""

    @property
    def block(self) -> BlockLike:
        """The statistic and its noise."""

    @property
    def array(self) -> Floats:
        """The values."""

    @property
    def kind(self) -> Statistic:
        """The statistic."""

    @property
    def name(self) -> str:
        """Its words."""

    @property
    def far(self) -> float:
        """More than noise adds to one of the values."""


class Statistic(ABC):
    """One kind of sum over rows that is released with Gaussian noise.

    Attributes
    ----------
    name : str
        In files, and in shares of a budget.
    words, stage_words : str
        For people: of mapped columns, and of the coordinates of a stage; empty where it is not released of these.
    has_rows : bool
        Whether it is about regressors; in a stage about all axes.
    outcomes : {"none", "one", "all"}
        Whether it is about no outcome, one (several have one each), or all of them together.
    stage_order : int
        Its place among the statistics of a stage.
    symmetric : bool
        Whether it is a symmetric matrix, released as its diagonal and its upper triangle.
    counted : bool
        Whether its values are counts of rows in bins.
    exact : bool
        Whether it is a sum of integers over rows, so that no rounding error enters before the noise.
    signed : bool
        Whether values below 0 are possible without noise.
    of_design : bool
        Whether it is about the whole design, not about some columns.
    of_products : bool
        Whether sums of products of coordinates hold it.
    first_reading : bool
        Whether the first reading holds it: counts of outcomes, and the sums of all columns and of their squares.
    second_reading : bool
        Whether it is summed up in a second reading of the rows, for half widths that were chosen after the first.
    per_person : bool
        Whether it is a sum over persons, of the shortened sums of their rows.
    partner : str
        Name of a statistic of the same regressors that one row cannot move furthest at the same time; see `joint`.
    format_version : int
        The oldest version of files that may list it.
    """

    name: ClassVar[str]
    words: ClassVar[str] = ""
    stage_words: ClassVar[str] = ""
    has_rows: ClassVar[bool] = True
    outcomes: ClassVar[Literal["none", "one", "all"]] = "none"
    stage_order: ClassVar[int] = 0
    symmetric: ClassVar[bool] = False
    counted: ClassVar[bool] = False
    exact: ClassVar[bool] = True
    signed: ClassVar[bool] = False
    of_design: ClassVar[bool] = False
    of_products: ClassVar[bool] = False
    first_reading: ClassVar[bool] = False
    second_reading: ClassVar[bool] = False
    per_person: ClassVar[bool] = False
    partner: ClassVar[str] = ""
    format_version: ClassVar[int] = 3

    # ---------------------------------------------------------------- sensitivity and noise

    @abstractmethod
    def sensitivity(self, block: BlockLike, space: Space, neighbors: Neighbors) -> float:
        """The largest L2 change by one row, before it is rounded up, weighted by the layout: mu = sensitivity/sd."""

    def rows_of_person(self, space: Space) -> int:
        """How many rows a person counts for; scores of a person are one vector, no longer than a row's."""
        return 1 if self.per_person else space.most

    def joint(self, block: BlockLike, other: BlockLike, space: Space) -> float:
        """The replace-one cost of this statistic and its partner together."""
        raise NotImplementedError

    def sds(self, sd: float, layout: NoiseLayout) -> tuple[float, ...]:
        """Noise sds of its parts: diagonal and upper triangle of a symmetric matrix, all values of another."""
        return (sd,)

    # ---------------------------------------------------------------- values

    def shape(self, block: BlockLike, bins: int = BINS) -> tuple[int, ...]:
        """The shape of its values; counts have as many as there are bins."""
        return (len(block.rows),)

    def array(self, block: BlockLike, parts: Sequence[Floats], bins: int = BINS) -> Floats:
        """Its values, from those of its parts."""
        (values,) = parts
        return values.reshape(self.shape(block, bins))

    def bins(self, block: BlockLike, space: Space) -> int:
        """How many counts it has; 0 where it has none."""
        return 0

    def plausible(self, n: float, shape: tuple[int, ...], names: Sequence[str] = ()) -> Floats:
        """A made-up value for a table of n rows; `names` are those of X, where the constant is to be known."""
        return np.zeros(shape)

    def rows_told(self, block: BlockLike, array: Floats) -> tuple[float, float] | None:
        """The number of rows that values tell, and the sd of its noise; None where they tell none."""
        return None

    def steps(self, block: BlockLike, is_whole: Callable[[str], bool]) -> list[int]:
        """Bits of the power of 2 that each value is a multiple of without noise, in lattice units, or -1.

        Empty where nothing is known. `is_whole` tells of a coordinate whether it is 0 or 1 in every row.
        """
        return []

    def impossible(self, value: NoisyValue, others: Sequence[NoisyValue], most: float, *, plain: bool) -> Iterator[str]:
        """Why no table of at most so many rows has these values, up to noise; `others` were released with it."""
        if not self.signed and value.array.min() < -value.far:
            yield (
                f"{value.name}: a value that is never below 0 is so by more than {FAR:g} standard deviations of its "
                "noise"
            )
        if np.abs(value.array).max() > most * ROUNDED + value.far:
            yield f"{value.name}: a value is larger than the number of rows and its noise allow"

    # ---------------------------------------------------------------- exact sums

    def pairs(self, X: Ints, Y: Ints) -> list[tuple[Ints, Ints]]:
        """For each part, the places of the two coordinates whose products are summed up; none where it has others."""
        raise NotImplementedError

    def factors(self, A: Floats, X: Ints, Y: Ints) -> list[tuple[Floats, Floats]]:
        """For each part, two lattice integers of at most 2^20 in size for each value: a row adds their product.

        Parameters
        ----------
        A : array
            Encoded rows in lattice units, one a line.
        X, Y : array of int
            Places of the coordinates that it is about.
        """
        return [(A[:, i], A[:, j]) for i, j in self.pairs(X, Y)]

    def from_products(self, sums: ExactProducts, X: Ints, Y: Ints) -> list[Objects]:
        """Its exact parts, picked from sums of products."""
        return [sums.integers(i, j) for i, j in self.pairs(X, Y)]

    def from_stage(self, sums: ExactStage, block: BlockLike, chosen: Sequence[int]) -> list[Objects]:
        """Its exact parts, picked from the sums of the first reading of a stage."""
        raise ValueError("these sums hold no such statistic")

    def from_second_reading(self, sums: ExactMatrices, block: BlockLike) -> list[Objects]:
        """Its exact parts, picked from the sums of the second reading of a stage."""
        raise ValueError("these sums hold no such statistic")

    def column(self, block: BlockLike) -> str | None:
        """The column that it is computed from alone, in its bounds as declared; None where it is of whole rows."""
        return None

    # ---------------------------------------------------------------- stages

    def stage_refusal(self, coordinates: Coordinates) -> str | None:
        """Why a stage has no such statistic; None where it has."""
        return None

    def sizes(self, block: BlockLike, coordinates: Coordinates, turned: Turned) -> tuple[tuple[float, ...], Floats]:
        """For counts of a stage, the edges between bins, and the size of each row, in lattice units."""
        raise NotImplementedError

    def seen(self, U: Floats, e: Floats) -> Floats:
        """The lines that a symmetric matrix of a stage sums up, from u and the residuals of its outcome."""
        return U

    # ---------------------------------------------------------------- losses of rows

    def vectors(self, block: BlockLike, places: Places, Z: Floats) -> Floats:
        """The vector that each row adds, weighted by the noise layout, so that |vector|^2/sd^2 is its mu^2."""
        X, Y = (np.array(places.indices(names), dtype=int) for names in (block.rows, block.columns))
        parts = zip(self.factors(Z * ONE, X, Y), self.sds(1.0, block.layout), strict=True)
        return np.hstack([(a / ONE) * (b / ONE) / sd for (a, b), sd in parts])

    def change(self, block: BlockLike, places: Places, rows: RowArrays) -> Floats:
        """Squared change when one row comes or goes, weighted by the noise layout: mu^2 = change/sd^2."""
        return _squared(self.vectors(block, places, rows.Z))

    def swap(self, block: BlockLike, places: Places, w: Floats, rows: RowArrays) -> Floats:
        """Squared change when w takes the place of each row."""
        return _squared(self.vectors(block, places, rows.Z) - self.vectors(block, places, w[None]))

    def most(self, block: BlockLike, places: Places, rows: RowArrays) -> Floats:
        """A bound on the squared change when any row takes the place of each; none besides that for everybody."""
        return np.full(len(rows.Z), math.inf)

    def moved(self, block: BlockLike, places: Places, rows: RowArrays, w: Floats | None) -> Floats:
        """Squared change when features w, or the worst, take the place of a row's, and its outcomes stay."""
        return self.most(block, places, rows) if w is None else self.swap(block, places, w, rows)

    def most_with(self, block: BlockLike, other: BlockLike, places: Places, rows: RowArrays) -> Floats:
        """A bound on mu^2 of this statistic and its partner together, when any row takes the place of each."""
        raise NotImplementedError

    def group_change(self, block: BlockLike, places: Places, Z: Floats) -> float:
        """Squared change when all rows of Z go, weighted by the noise layout."""
        return float(np.sum(self.vectors(block, places, Z).sum(axis=0) ** 2))


def _squared(vectors: Floats) -> Floats:
    squared: Floats = np.einsum("ij,ij->i", vectors, vectors)
    return squared


STATISTICS: dict[str, Statistic] = {}
"""Every statistic, by its name in files."""

S = TypeVar("S", bound=Statistic)


def registered(kind: S) -> S:
    """Enter a statistic into the table, where files and budgets find it by name."""
    STATISTICS[kind.name] = kind
    return kind


def known(name: object) -> Statistic | None:
    """The statistic that a file names, if there is one."""
    return STATISTICS.get(name) if isinstance(name, str) else None


def stage_statistics() -> list[Statistic]:
    """The statistics that a stage may release, in order."""
    return sorted((kind for kind in STATISTICS.values() if kind.stage_words), key=lambda kind: kind.stage_order)
