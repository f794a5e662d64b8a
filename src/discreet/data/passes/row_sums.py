"""A pass for sums over rows of any statistic that defines its factors, for those not in the products of columns."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from discreet.core.arrays import Bools, Floats
from discreet.data.passes.base import Batch, Pass
from discreet.data.sources.base import Source
from discreet.data.sums import HOST, Host, Left, PartialSums
from discreet.domain import Domain
from discreet.statistics.base import STATISTICS, Statistic


class Summed(NamedTuple):
    """The name of a statistic, and its coordinates."""

    statistic: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def kind(self) -> Statistic:
        """The statistic with this name."""
        return STATISTICS[self.statistic]


@dataclass(frozen=True)
class RowSumsPass(Pass):
    """A pass for sums of some statistics: one row of sums, which begins with the number of rows."""

    kind: ClassVar[str] = "row sums"

    domain: Domain
    asked: tuple[Summed, ...]

    @property
    def layout(self) -> RowSumsLayout:
        """The layout of the sums."""
        return RowSumsLayout(self.domain, self.asked)

    @property
    def numbers(self) -> int:
        """The number of sums."""
        return self.layout.shape[1]

    def sums(self, reader: Source, batches: Iterator[Batch], at: Host = HOST) -> PartialSums:
        """Compute the sums over some batches."""
        total = at.total(self.layout, weighted=not self.domain.unit.plain)
        for batch in batches:
            total.add(batch.A, weights=batch.weights)
        return PartialSums.of(total)

    def facts(self) -> dict[str, Any]:
        """Return the statistics."""
        return {"asked": [[one.statistic, list(one.rows), list(one.columns)] for one in self.asked]}

    @classmethod
    def from_facts(cls, domain: Domain, facts: dict[str, Any]) -> Self:
        """Rebuild from `facts`."""
        return cls(domain, tuple(Summed(name, tuple(rows), tuple(columns)) for name, rows, columns in facts["asked"]))


class RowSumsLayout:
    """The number of rows, followed by each part of each statistic, as products of two factors.

    Parameters
    ----------
    domain, asked : Domain, tuple of Summed
        The encoding of rows, and the statistics.

    Attributes
    ----------
    places : dict
        The places of the parts of each statistic in the row of sums.
    """

    def __init__(self, domain: Domain, asked: tuple[Summed, ...]) -> None:
        self._at = {one: [np.array(domain.indices(names), dtype=np.int64) for names in one[1:]] for one in asked}
        nothing, start = np.zeros((0, len(domain.entries))), 1
        self.places: dict[Summed, list[slice]] = {}
        for one, (X, Y) in self._at.items():
            ends = np.cumsum([start, *(a.shape[1] for a, _ in one.kind.factors(nothing, X, Y))]).tolist()
            self.places[one], start = list(itertools.starmap(slice, itertools.pairwise(ends))), ends[-1]
        self.shape = 1, start

    def add(self, A: Floats, total: Floats, work: Floats, sampled: Bools | None, left: Left) -> None:
        """Add the sums of a batch to a total."""
        parts = [(A[:, :1], A[:, :1]), *(own for one, (X, Y) in self._at.items() for own in one.kind.factors(A, X, Y))]
        first, second = (np.hstack(factors) for factors in zip(*parts, strict=True))
        total[0] += np.einsum("ij,ij->j", left(first), second, out=work[0])
