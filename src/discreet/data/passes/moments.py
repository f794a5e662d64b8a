"""Sums of products of encoded rows: all of them, or those that models of some outcomes need."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from discreet.core.arrays import Bools, Floats, on_device
from discreet.data.passes.base import Batch, Pass
from discreet.data.passes.first_pass import Tally
from discreet.data.passes.levels import MANY, Levels
from discreet.data.sources.base import Source
from discreet.data.sums import EXACT_ROWS, HOST, Host, Left, PartialSums
from discreet.domain import Domain
from discreet.domain.cells import CELLS
from discreet.errors import DataError


def layout(domain: Domain, targets: tuple[str, ...] = ()) -> Layout:
    """Return the layout of the products that are summed: all of them, or those that models of some outcomes need."""
    outcomes = domain.indices(targets)
    taken = {domain.entries[i].column for i in outcomes}
    features = [i for i, entry in enumerate(domain.entries) if entry.column not in taken] if targets else ()
    wide = [at for name, at in domain.positions.items() if len(at) >= MANY and name not in taken]
    return Layout(len(domain.entries), features, outcomes, tuple((at[0], at[-1] + 1) for at in wide))


@dataclass(frozen=True)
class MomentsPass(Pass):
    """A pass for sums of products of encoded rows, and for counts of one outcome if it is named."""

    kind: ClassVar[str] = "moments"

    domain: Domain
    targets: tuple[str, ...] = ()
    column: str | None = None
    sampler: Sampler | None = field(default=None, compare=False)

    @property
    def on_device(self) -> bool:
        """Whether it can be computed on a device: a sample is drawn here."""
        return self.sampler is None

    def size(self, *, columnar: bool) -> int:
        """Return the maximum number of rows of a batch."""
        return layout(self.domain, self.targets).batch(columnar=columnar)

    @property
    def numbers(self) -> int:
        """The number of sums."""
        return math.prod(layout(self.domain, self.targets).shape)

    def sums(self, reader: Source, batches: Iterator[Batch], at: Host = HOST) -> PartialSums:
        """Compute the sums over some batches."""
        weighted, columns = not self.domain.unit.plain, () if self.column is None else (self.column,)
        if weighted and self.sampler is not None:
            raise AssertionError("rows that are sampled have no weights")
        total = at.total(layout(self.domain, self.targets), weighted=weighted)
        tallies = [Tally(reader, self.domain, column) for column in columns]
        counts = [np.zeros(CELLS, dtype=np.int64) for _ in tallies]
        for batch in batches:
            taken = None if self.sampler is None else self.sampler.take(batch.rows)[: len(batch.A)]
            total.add(batch.A, taken, batch.weights)
            for own, tally in zip(counts, tallies, strict=True):
                own += tally.cells(batch)
        return PartialSums.of(total, *counts)

    def facts(self) -> dict[str, Any]:
        """Return the outcomes and the column; refuse a sampler, which draws random numbers and is never sent."""
        if self.sampler is not None:
            raise DataError("A sample of the rows is drawn where the budget is, so the rows must be there, too.")
        return {"targets": list(self.targets), "column": self.column}

    @classmethod
    def from_facts(cls, domain: Domain, facts: dict[str, Any]) -> Self:
        """Rebuild from `facts`."""
        return cls(domain, tuple(facts["targets"]), facts["column"])


class Sampler(Protocol):
    """Decides which rows are in a sample, in any order of batches."""

    def take(self, rows: int) -> Bools:
        """Return whether each of the next rows is in the sample."""


@dataclass(frozen=True)
class Layout:
    """The products of a row's coordinates that are summed.

    Parameters
    ----------
    size : int
        The number of coordinates of a row.
    features, outcomes : sequence of int
        Places of F and of Y. All products within F, all of F with Y, and the squares of Y are kept, as an array of
        f + 1 rows and f + l columns whose last row holds the squares. Without outcomes, all products are kept.
    wide : sequence of (int, int)
        The ranges of categories of many levels, which are summed by level.
    """

    size: int
    features: Sequence[int] = ()
    outcomes: Sequence[int] = ()
    wide: Sequence[tuple[int, int]] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the array of sums."""
        if not self.outcomes:
            return self.size, self.size
        return len(self.features) + 1, len(self.features) + len(self.outcomes)

    def batch(self, *, columnar: bool) -> int:
        """Return the number of rows of a batch: small enough for the cache, but larger if each column costs a call."""
        least = 256 if self.outcomes and not columnar else 1024 if not self.outcomes else 2048
        return min(EXACT_ROWS, max(least, (1 << 18) // self.size))

    @cached_property
    def _features(self) -> slice | list[int]:
        return _span(self.features)

    @cached_property
    def _outcomes(self) -> slice | list[int]:
        return _span(self.outcomes)

    @cached_property
    def _both(self) -> slice | list[int]:
        return _span([*self.features, *self.outcomes])

    @cached_property
    def _levels(self) -> Levels | None:
        """The sums by level, if there are wide categories."""
        if not self.wide:
            return None
        if not self.outcomes:
            return Levels(self.wide, self.size, self.size)
        at = [(self.features.index(low), self.features.index(high - 1) + 1) for low, high in self.wide]
        return Levels(at, len(self.features), len(self.features) + len(self.outcomes))

    def add(self, A: Floats, total: Floats, work: Floats, sampled: Bools | None, left: Left) -> None:
        """Add the products of a batch to a total; `work` is an array of the same shape."""
        levels = None if on_device(A) else self._levels
        if not self.outcomes:
            if levels is not None:
                levels.add(A, total, left)
            else:
                total += np.matmul(left(A).T, A, out=work)
            return
        F, f = A[:, self._features], len(self.features)
        if sampled is None and levels is not None:
            levels.add(A[:, self._both], total[:f], left)
        elif sampled is None:
            total[:f] += np.matmul(left(F).T, A[:, self._both], out=work[:f])
        else:
            S = F[sampled]
            total[:f, :f] += S.T @ S
            total[:f, f:] += F.T @ A[:, self._outcomes]
        Y = A[:, self._outcomes]
        total[f, f:] += np.einsum("ij,ij->j", left(Y), Y, out=work[f, f:])


def _span(places: Sequence[int]) -> slice | list[int]:
    """Return consecutive places as a slice, so that indexing makes no copy."""
    first = places[0] if places else 0
    return slice(first, first + len(places)) if list(places) == list(range(first, first + len(places))) else [*places]
