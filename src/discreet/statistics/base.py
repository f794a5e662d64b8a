"""The class `Statistic`: everything that the library knows about one kind of sum over rows, in one object.

Its name in files and its words for people, the coordinates that it is about, its L2 sensitivity, the layout of its
noise, the shape of its values and the values that a table can have, its exact sums, and the loss of one row. A new
statistic is a class in a file of this folder, with `factors` (or `pairs`) and `sensitivity`; all else has a default.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import numpy as np

from discreet.core.arrays import Floats, Ints, Objects
from discreet.core.chance import FAR
from discreet.core.checks import Neighbors
from discreet.domain.cells import BINS, Span
from discreet.domain.coordinates import Coordinates, RotatedBatch
from discreet.domain.encoding import ONE
from discreet.statistics.space import Space

NoiseLayout = Literal["weighted", "uniform"]
"""Noise of a symmetric matrix: sd/sqrt(2) off the diagonal, or the same sd everywhere."""

ROUNDED = 1 + 2.0**-12
"""A bound on squares of rounded coordinates, which may exceed 1 slightly."""


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
        """The layout of the noise."""

    @property
    def span(self) -> Span | None:
        """For counts, the part of the range that is divided into equal bins."""


class Places(Protocol):
    """Positions of named coordinates in a row, and bounds on their norms."""

    def indices(self, names: Iterable[str]) -> list[int]:
        """The positions of these names."""

    def norm_squared(self, indices: Iterable[int]) -> float:
        """The largest squared norm of the coordinates at these positions."""


class RowArrays(Protocol):
    """Encoded rows in units of the mapped columns; a row that was dropped is all 0."""

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
        """The number of rows."""

    def integers(self, rows: Objects, columns: Objects) -> Objects:
        """The sums of products of these coordinates."""


class ExactMatrices(Protocol):
    """Exact sums of products over rows in the coordinates of a stage; **confidential**."""

    coordinates: Coordinates

    def matrix(self, place: int) -> list[Objects]:
        """The diagonal and upper triangle of one of the symmetric matrices that were summed."""


class ExactStage(ExactMatrices, Protocol):
    """All exact sums of the first pass over the rows of a stage; **confidential**."""

    def residual_counts(self, outcome: str) -> Objects:
        """Counts of the weighted residuals of an outcome between its half widths."""

    def norm_counts(self) -> Objects:
        """Counts of rows by norm between the edges."""

    def cross(self, outcomes: Sequence[str], chosen: Sequence[int]) -> Objects:
        """U'E at the chosen half widths, row by row."""

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
        """The name for people."""

    @property
    def far(self) -> float:
        """A distance that noise exceeds practically never."""


class Statistic(ABC):
    """One kind of sum over rows that is released with Gaussian noise.

    Attributes
    ----------
    name : str
        Its name in files, and in shares of a budget.
    words, stage_words : str
        Its names for people, for mapped columns and for coordinates of a stage; empty where it is not released.
    has_rows : bool
        Whether it involves the regressors; in a stage all axes.
    outcomes : {"none", "one", "all"}
        Whether it involves no outcome, one (with one statistic for each), or all of them together.
    stage_order : int
        Its place among the statistics of a stage.
    symmetric : bool
        Whether it is a symmetric matrix, released as its diagonal and its upper triangle.
    counted : bool
        Whether its values are counts of rows in bins.
    parts, kept : int, slice
        Of counts of an outcome, the number of equal parts of its range, and those that are released.
    exact : bool
        Whether it is a sum of integers over rows, so that no rounding error enters before the noise.
    signed : bool
        Whether values below 0 are possible without noise.
    of_design : bool
        Whether it involves the whole design, not only some columns.
    of_products : bool
        Whether it can be read off sums of products of coordinates.
    first_reading : bool
        Whether the first pass over the rows yields it: counts of outcomes, sums of all columns and of their squares.
    second_reading : bool
        Whether it is summed in a second pass over the rows, for half widths that were chosen after the first.
    of_slopes : bool
        Whether the vectors whose products a stage sums are made of u and the slopes of a model, not of residuals.
    bounded : str
        Why the losses of persons, and of rows that are replaced by a given one, are bounds; empty where they are exact.
    per_person : bool
        Whether it is a sum over persons, of the clipped sums of their rows.
    partner : str
        A statistic of the same regressors; no row is the worst case for both, so their joint cost is less. See `joint`.
    format_version : int
        The oldest format version of files that may list it.
    """

    name: ClassVar[str]
    words: ClassVar[str] = ""
    stage_words: ClassVar[str] = ""
    has_rows: ClassVar[bool] = True
    outcomes: ClassVar[Literal["none", "one", "all"]] = "none"
    stage_order: ClassVar[int] = 0
    symmetric: ClassVar[bool] = False
    counted: ClassVar[bool] = False
    parts: ClassVar[int] = BINS
    kept: ClassVar[slice] = slice(None)
    exact: ClassVar[bool] = True
    signed: ClassVar[bool] = False
    of_design: ClassVar[bool] = False
    of_products: ClassVar[bool] = False
    first_reading: ClassVar[bool] = False
    second_reading: ClassVar[bool] = False
    of_slopes: ClassVar[bool] = False
    bounded: ClassVar[str] = ""
    per_person: ClassVar[bool] = False
    partner: ClassVar[str] = ""
    format_version: ClassVar[int] = 3

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles refer to the registered statistic: it is compared by identity."""
        return known, (self.name,)

    # ---------------------------------------------------------------- sensitivity and noise

    @abstractmethod
    def sensitivity(self, block: BlockLike, space: Space, neighbors: Neighbors) -> float:
        """The L2 sensitivity to one row, before it is rounded up, weighted by the layout: mu = sensitivity/sd."""

    def rows_of_person(self, space: Space) -> int:
        """The number of rows that a person counts for; 1 where the sum of a person's scores is clipped."""
        return 1 if self.per_person else space.most

    def joint(self, block: BlockLike, other: BlockLike, space: Space) -> float:
        """The replace-one cost of this statistic and its partner together."""
        raise NotImplementedError

    def sds(self, sd: float, layout: NoiseLayout) -> tuple[float, ...]:
        """Noise sds of its parts: diagonal and upper triangle of a symmetric matrix, all values of another."""
        return (sd,)

    # ---------------------------------------------------------------- values

    def shape(self, block: BlockLike, bins: int = BINS) -> tuple[int, ...]:
        """The shape of its values; counts have one per bin."""
        return (len(block.rows),)

    def array(self, block: BlockLike, parts: Sequence[Floats], bins: int = BINS) -> Floats:
        """Assemble its values from those of its parts."""
        (values,) = parts
        return values.reshape(self.shape(block, bins))

    def bins(self, block: BlockLike, space: Space) -> int:
        """The number of counts; 0 where it has none."""
        return 0

    def plausible(self, n: float, shape: tuple[int, ...], names: Sequence[str] = ()) -> Floats:
        """A made-up value for a table of n rows; `names` are those of X, needed to find the constant."""
        return np.zeros(shape)

    def rows_told(self, block: BlockLike, array: Floats) -> tuple[float, float] | None:
        """The number of rows that follows from its values, with the sd of its noise; None where none follows."""
        return None

    def steps(self, block: BlockLike, is_whole: Callable[[str], bool]) -> list[int]:
        """For each value, the exponent of a power of 2 that divides it without noise, in lattice units, or -1.

        Empty where nothing is known. `is_whole` says whether a coordinate is 0 or 1 in every row.
        """
        return []

    def impossible(self, value: NoisyValue, others: Sequence[NoisyValue], most: float, *, plain: bool) -> Iterator[str]:
        """Yield reasons why no table of at most so many rows has these values, up to noise; given `others`."""
        if not self.signed and value.array.min() < -value.far:
            yield (
                f"{value.name}: a value that is never below 0 is so by more than {FAR:g} standard deviations of its "
                "noise"
            )
        if np.abs(value.array).max() > most * ROUNDED + value.far:
            yield f"{value.name}: a value is larger than the number of rows and its noise allow"

    # ---------------------------------------------------------------- exact sums

    def pairs(self, X: Ints, Y: Ints) -> list[tuple[Ints, Ints]]:
        """For each part, positions of the two coordinates whose products are summed, if it has such."""
        raise NotImplementedError

    def factors(self, A: Floats, X: Ints, Y: Ints) -> list[tuple[Floats, Floats]]:
        """For each part, two lattice integers of at most 2^20 in size per value: a row adds their product.

        Parameters
        ----------
        A : array
            Encoded rows in lattice units.
        X, Y : array of int
            Positions of its coordinates.
        """
        return [(A[:, i], A[:, j]) for i, j in self.pairs(X, Y)]

    def from_products(self, sums: ExactProducts, X: Ints, Y: Ints) -> list[Objects]:
        """Take its exact parts from sums of products."""
        return [sums.integers(i, j) for i, j in self.pairs(X, Y)]

    def from_stage(self, sums: ExactStage, block: BlockLike, chosen: Sequence[int]) -> list[Objects]:
        """Take its exact parts from the sums of the first pass of a stage."""
        raise ValueError("these sums hold no such statistic")

    def from_second_reading(self, sums: ExactMatrices, block: BlockLike) -> list[Objects]:
        """Take its exact parts from the sums of the second pass of a stage."""
        raise ValueError("these sums hold no such statistic")

    def column(self, block: BlockLike) -> str | None:
        """The only coordinate that it depends on, within declared bounds; None where it depends on whole rows."""
        return None

    # ---------------------------------------------------------------- stages

    def stage_refusal(self, coordinates: Coordinates) -> str | None:
        """The reason why a stage cannot release it; None where it can."""
        return None

    def sizes(
        self, block: BlockLike, coordinates: Coordinates, rotated: RotatedBatch
    ) -> tuple[tuple[float, ...], Floats]:
        """For counts of a stage, the edges between bins, and the size of each row, in lattice units."""
        raise NotImplementedError

    def seen(self, U: Floats, e: Floats) -> Floats:
        """The vectors x of a symmetric matrix, the sum of x x', from u and the residuals, or slopes, of its outcome."""
        return U

    # ---------------------------------------------------------------- losses of rows

    def vectors(self, block: BlockLike, places: Places, Z: Floats) -> Floats:
        """The vector that each row adds, weighted by the noise layout, so that |vector|^2/sd^2 is its mu^2."""
        X, Y = (np.array(places.indices(names), dtype=int) for names in (block.rows, block.columns))
        parts = zip(self.factors(Z * ONE, X, Y), self.sds(1.0, block.layout), strict=True)
        return np.hstack([(a / ONE) * (b / ONE) / sd for (a, b), sd in parts])

    def change(self, block: BlockLike, places: Places, rows: RowArrays) -> Floats:
        """Squared change when one row is added or removed, weighted by the noise layout: mu^2 = change/sd^2."""
        return _squared(self.vectors(block, places, rows.Z))

    def swap(self, block: BlockLike, places: Places, w: Floats, rows: RowArrays) -> Floats:
        """Squared change when w replaces each row."""
        return _squared(self.vectors(block, places, rows.Z) - self.vectors(block, places, w[None]))

    def most(self, block: BlockLike, places: Places, rows: RowArrays) -> Floats:
        """A bound on the squared change when any row replaces each; infinite where only the common bound is known."""
        return np.full(len(rows.Z), math.inf)

    def moved(self, block: BlockLike, places: Places, rows: RowArrays, w: Floats | None) -> Floats:
        """Squared change when features w, or the worst ones, replace those of a row and its outcomes stay."""
        return self.most(block, places, rows) if w is None else self.swap(block, places, w, rows)

    def most_with(self, block: BlockLike, other: BlockLike, places: Places, rows: RowArrays) -> Floats:
        """A bound on mu^2 of this statistic and its partner together, when any row replaces each."""
        raise NotImplementedError

    def group_change(self, block: BlockLike, places: Places, Z: Floats) -> float:
        """Squared change when all rows of Z are removed, weighted by the noise layout."""
        return float(np.sum(self.vectors(block, places, Z).sum(axis=0) ** 2))


def _squared(vectors: Floats) -> Floats:
    squared: Floats = np.einsum("ij,ij->i", vectors, vectors)
    return squared


STATISTICS: dict[str, Statistic] = {}
"""Every statistic, by its name in files."""

S = TypeVar("S", bound=Statistic)


def registered(kind: S) -> S:
    """Register a statistic, so that files and budgets find it by name."""
    STATISTICS[kind.name] = kind
    return kind


def known(name: object) -> Statistic | None:
    """The statistic of this name, if there is one."""
    return STATISTICS.get(name) if isinstance(name, str) else None


def stage_statistics() -> list[Statistic]:
    """The statistics that a stage may release, in order."""
    return sorted((kind for kind in STATISTICS.values() if kind.stage_words), key=lambda kind: kind.stage_order)
