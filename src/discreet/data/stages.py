"""Exact sums over rows in the coordinates of a stage: U'U, U'E, squares of e, counts of residuals and of row norms.

The score products S'S of s = u e (the middle of the sandwich), and U'U of the inner rows, whose residuals are not
clipped, are summed in a second reading, once the half widths are chosen: products for each candidate would take longer.
Each statistic is a sum over the rows of one reading, so that a row which changes between two readings changes none by
more than its own products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NoReturn, Protocol

import numpy as np

from discreet.core.arrays import Ints, Objects, short_buffers
from discreet.core.threads import one_thread
from discreet.data.counts import Histogram, Margins, first_pass
from discreet.data.passes.rotated import RotatedRows
from discreet.data.passes.scores import ScorePass
from discreet.data.passes.stages import ScoreProductPass, StagePass
from discreet.data.reading import Table, as_progress, threads
from discreet.data.row_sums import RowSums, row_sums
from discreet.data.sources.base import Remote
from discreet.data.sums import PartialSums, carry, integers, joined, sum_bits
from discreet.domain import LATTICE_BITS, Domain
from discreet.domain.coordinates import Coordinates
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.privacy.events.gaussian import Block


class _RotatedSums:
    """Exact sums of a stage in integers of 95 bits; **confidential**."""

    def __init__(self, domain: Domain, coordinates: Coordinates, high: Ints, low: Ints) -> None:
        self.domain, self.coordinates = domain, coordinates
        self._high, self._low = high, low

    def _at(self, rows: Objects, columns: Objects) -> Objects:
        return integers(self._high[rows, columns], self._low[rows, columns])

    def _square(self, start: int) -> tuple[Ints, Ints]:
        """Return the limbs of the square matrix that starts at a row."""
        q = len(self.coordinates.axes)
        return self._high[start : start + q, :q], self._low[start : start + q, :q]

    def _added(self, other: _RotatedSums) -> tuple[Ints, Ints]:
        if other.domain != self.domain or other.coordinates != self.coordinates:
            raise ParameterError("These sums have different domains or coordinates and cannot be added.")
        return carry(self._high + other._high, self._low + other._low)

    def _is_same(self, other: _RotatedSums) -> bool:
        same = np.array_equal(self._high, other._high) and np.array_equal(self._low, other._low)
        return self.domain == other.domain and self.coordinates == other.coordinates and same

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        q, m = len(self.coordinates.axes), len(self.coordinates.outcomes)
        return f"{type(self).__name__}({q} coordinates, {m} outcomes, confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} are confidential and are not pickled.")


class StageSums(_RotatedSums):
    """Exact sums of u u', u e' and e^2 over the rows of a table, in integers of 95 bits; **confidential**.

    There is one e for every half width of every outcome. Sums of integers do not depend on order, chunking or threads,
    so one row changes these by exactly its own products. Sums of parts of a table add up with ``+``.

    Parameters
    ----------
    domain, coordinates : Domain, Coordinates
        The encoding of rows, and their rotation.
    high, low : array
        Limbs of the sums: E'U in the first rows, with the squares of e in the last column, then U'U, if it was summed.
    counts : sequence of array
        For each outcome, the counts of weighted residuals between its half widths.
    row_norms : array
        The counts of row norms between the edges; empty if there are no edges.
    rows : int
        The number of rows.

    Examples
    --------
    >>> domain = Domain.from_bounds(["x"], ["y"], bounds_X=(0, 1), bounds_y=(0, 8))
    >>> stage = Coordinates.rounded(["(intercept)", "x"], ["y"], np.eye(2), np.zeros((2, 1)), 1.0, [[0.5, 1.0]])
    >>> staged(Table.of((np.zeros((2, 1)), np.array([0.1, 9.0])), domain), stage)
    StageSums(2 coordinates, 1 outcomes, confidential)
    """

    def __init__(
        self,
        domain: Domain,
        coordinates: Coordinates,
        high: Ints,
        low: Ints,
        counts: Sequence[Ints],
        row_norms: Ints,
        rows: int,
    ) -> None:
        super().__init__(domain, coordinates, high, low)
        self._counts, self._row_norms, self._rows = list(counts), row_norms, rows

    @property
    def count(self) -> int:
        """The number of rows; **confidential**."""
        return self._rows

    def integers(self, block: Block, chosen: Sequence[int] = ()) -> list[Objects]:
        """Return the exact statistic of a block: diagonal and upper triangle of U'U, all values of any other.

        Units are 2^-40, or 2^-60 if rows are weighted.

        Parameters
        ----------
        block : Block
            A block of the same coordinates; see `privacy.events.coordinates.stage_block`.
        chosen : sequence of int
            For each outcome, the place of its half width; needed for U'E and E'E.
        """
        return block.kind.from_stage(self, block, chosen)

    def matrix(self, place: int) -> list[Objects]:
        """Return diagonal and upper triangle of U'U, or of A'A of the outcome, or the pair of classes, at a place."""
        start, q = sum(map(len, self.coordinates.widths)), len(self.coordinates.axes)
        if len(self._high) == start:
            raise ValueError("U'U was left out of these sums")
        return _triangle(*self._square(start + place * q))

    def residual_counts(self, outcome: str) -> Objects:
        """Return the counts of weighted residuals between the half widths of an outcome."""
        counts: Objects = self._counts[self.coordinates.outcomes.index(outcome)].astype(object)
        return counts * (1 << 2 * LATTICE_BITS)

    def norm_counts(self) -> Objects:
        """Return the counts of row norms between the edges."""
        return self._row_norms.astype(object) * (1 << 2 * LATTICE_BITS)

    def cross(self, outcomes: Sequence[str], chosen: Sequence[int]) -> Objects:
        """Return U'E at the chosen half widths, row by row."""
        rows, q = self._residuals(outcomes, chosen), len(self.coordinates.axes)
        return self._at(np.tile(rows, q), np.repeat(np.arange(q), len(rows)))

    def squares(self, outcomes: Sequence[str], chosen: Sequence[int]) -> Objects:
        """Return the sums of e^2 at the chosen half widths."""
        rows = self._residuals(outcomes, chosen)
        return self._at(rows, np.full(len(rows), len(self.coordinates.axes)))

    def _residuals(self, outcomes: Sequence[str], chosen: Sequence[int]) -> Objects:
        """Return the rows of the sums for the chosen half widths of some outcomes."""
        own = self.coordinates
        starts, places = np.cumsum([0, *map(len, own.widths)]), [own.outcomes.index(name) for name in outcomes]
        return np.array([starts[place] + range(len(own.widths[place]))[chosen[place]] for place in places])

    def __add__(self, other: StageSums) -> StageSums:
        if not isinstance(other, StageSums):
            return NotImplemented
        limbs = self._added(other)
        counts = [a + b for a, b in zip(self._counts, other._counts, strict=True)]
        row_norms, rows = self._row_norms + other._row_norms, self._rows + other._rows
        return StageSums(self.domain, self.coordinates, *limbs, counts, row_norms, rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StageSums):
            return NotImplemented
        counts = all(map(np.array_equal, self._counts, other._counts)) and self._rows == other._rows
        counts = counts and np.array_equal(self._row_norms, other._row_norms)
        return self._is_same(other) and counts


class ScoreProductSums(_RotatedSums):
    """Exact score products: sums of s s' over rows, with s = u e the scores of each outcome; **confidential**.

    With a single outcome, also sums of u u' over the inner rows, whose residuals are not clipped.

    Parameters
    ----------
    domain, coordinates : Domain, Coordinates
        The encoding of rows, and their rotation, with one half width for each outcome.
    high, low : array
        Limbs of the sums: S'S of the first outcome, then of the next; inner U'U at the end.

    Examples
    --------
    >>> domain = Domain.from_bounds(["x"], ["y"], bounds_X=(0, 1), bounds_y=(0, 8))
    >>> stage = Coordinates.rounded(["(intercept)", "x"], ["y"], np.eye(2), np.zeros((2, 1)), 1.0, [[0.5, 1.0]])
    >>> score_products(Table.of((np.zeros((2, 1)), np.array([0.1, 9.0])), domain), stage, [1])
    ScoreProductSums(2 coordinates, 1 outcomes, confidential)
    """

    def integers(self, block: Block) -> list[Objects]:
        """Return diagonal and upper triangle of an outcome's S'S, or of its inner U'U.

        Units are 2^-40, or 2^-60 as for other weighted sums.

        Parameters
        ----------
        block : Block
            A block of the same coordinates.
        """
        return block.kind.from_second_reading(self, block)

    def matrix(self, place: int) -> list[Objects]:
        """Return diagonal and upper triangle of S'S of the outcome at a place, or of inner U'U at the end."""
        q = len(self.coordinates.axes)
        if (place + 1) * q > len(self._high):
            raise ValueError("inner rows are those of a single outcome, without persons and weights")
        found = _triangle(*self._square(place * q))
        more = sum_bits(self.domain) - 2 * LATTICE_BITS
        return [part.astype(object) << more for part in found] if more else found

    def __add__(self, other: ScoreProductSums) -> ScoreProductSums:
        if not isinstance(other, ScoreProductSums):
            return NotImplemented
        return ScoreProductSums(self.domain, self.coordinates, *self._added(other))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScoreProductSums):
            return NotImplemented
        return self._is_same(other)


def _triangle(high: Ints, low: Ints) -> list[Objects]:
    """Return diagonal and upper triangle of a square matrix, given its limbs."""
    above = np.triu_indices(len(high), k=1)
    return [integers(high.diagonal(), low.diagonal()), integers(high[above], low[above])]


def at_widths(coordinates: Coordinates, chosen: Sequence[int]) -> Coordinates:
    """Return the stage with the chosen half widths only; its e are the same, bit for bit."""
    own = zip(coordinates.widths, chosen, strict=True)
    return replace(coordinates, widths=tuple((widths[i],) for widths, i in own), row_norms=())


def staged(table: Table, coordinates: Coordinates, *, gram: bool = True) -> StageSums:
    """Read all rows once, and sum them exactly in the coordinates of a stage, with or without U'U of all rows."""
    coordinates.check(table.domain)
    return _stage_sums(table.domain, coordinates, table.sums(StagePass(table.domain, coordinates, gram)))


class _StagedTable:
    """The stages of a table; rows in the coordinates of a wide one are kept in memory for the next, if they fit."""

    def __init__(self, table: Table) -> None:
        self._table, self._kept = table, RotatedRows.none()

    def __call__(self, coordinates: Coordinates, *, gram: bool = True) -> StageSums:
        """Sum all rows in these coordinates, with or without U'U of all rows."""
        table, domain = self._table, self._table.domain
        elsewhere = isinstance(table.reader, Remote) or table.device is not None
        step = coordinates.shrinkage is not None and not gram and not coordinates.row_norms
        if not step or elsewhere or not domain.unit.plain:
            return staged(table, coordinates, gram=gram)
        coordinates.check(domain)
        if not self._kept.holds(coordinates):
            kept = RotatedRows(coordinates, domain)
            found = table.sums(StagePass(domain, coordinates, gram, kept))
            self._kept = kept
        else:
            with as_progress(table.progress) as report:
                found = self._again(coordinates, threads(table.n_jobs))
                report(1.0)
        return _stage_sums(domain, coordinates, found)

    def _again(self, coordinates: Coordinates, jobs: int) -> PartialSums:
        """Compute the sums over the rows that are kept, in several threads."""
        work = short_buffers()(partial(self._kept.sums, coordinates))
        with one_thread(), ThreadPoolExecutor(jobs) as pool:
            return joined(list(pool.map(work, self._kept.shares(jobs))))


def _stage_sums(domain: Domain, coordinates: Coordinates, found: PartialSums) -> StageSums:
    *counts, row_norms, rows = found.counts
    return StageSums(domain, coordinates, found.high, found.low, counts, row_norms, int(rows[0]))


def score_products(
    table: Table, coordinates: Coordinates, chosen: Sequence[int], radii: Sequence[float] = ()
) -> ScoreProductSums:
    """Read all rows and sum the score products of each outcome at its chosen half width; with radii, clustered.

    A single outcome also has the products of its inner rows, unless scores are clustered.
    """
    own = at_widths(coordinates, chosen)
    own.check(table.domain)
    found = table.sums(ScorePass(table.domain, own, tuple(radii)) if radii else ScoreProductPass(table.domain, own))
    return ScoreProductSums(table.domain, own, found.high, found.low)


class Staged(Protocol):
    """A function that returns the exact sums of a stage from one reading."""

    def __call__(self, coordinates: Coordinates, *, gram: bool = True) -> StageSums:
        """Sum all rows in these coordinates, with or without U'U of all rows."""


@dataclass(frozen=True, eq=False, repr=False)
class Readings:
    """The readings of a table that a release in stages uses; **confidential**.

    Parameters
    ----------
    domain : Domain
        The encoding of rows.
    first_pass : callable
        Maps names of outcomes to their histograms, and the margins of all columns.
    staged : callable
        Maps the coordinates of a stage to the exact sums in them; without U'U if ``gram=False``.
    score_products : callable
        Maps the coordinates of a stage, the places of its half widths, and the norms to which scores of persons are
        clipped, to the exact score products.
    row_sums : callable
        Maps blocks to the exact sums of any other statistics of the mapped columns.
    encoded : callable
        Maps other bounds of the same columns to the readings by these.

    Examples
    --------
    >>> domain = Domain.from_bounds(["x"], ["y"], bounds_X=(0, 1), bounds_y=(0, 8))
    >>> Readings.of(Table.of((np.zeros((2, 1)), np.array([0.1, 9.0])), domain))
    Readings(2 columns, confidential)
    """

    domain: Domain
    first_pass: Callable[[Sequence[str]], tuple[tuple[Histogram, ...], Margins]]
    staged: Staged
    score_products: Callable[[Coordinates, Sequence[int], Sequence[float]], ScoreProductSums]
    row_sums: Callable[[Sequence[Block]], RowSums]
    encoded: Callable[[Domain], Readings]

    @classmethod
    def of(cls, table: Table) -> Readings:
        """Build the readings of rows that can be read more than once."""
        stages = _StagedTable(table), partial(score_products, table)
        return cls(
            table.domain,
            partial(first_pass, table),
            *stages,
            partial(row_sums, table),
            lambda own: cls.of(table.by(own)),
        )

    def __repr__(self) -> str:
        return f"Readings({len(self.domain.columns)} columns, confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Readings are confidential and are not pickled.")
