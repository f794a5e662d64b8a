"""Counts of outcomes, and the first and second sums of all columns: a pass that needs no matrix product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import Bools, Floats, Ints
from discreet.data.passes.base import Batch, Pass, stage_size, usual_size
from discreet.data.sources.base import Source
from discreet.data.sums import HOST, Host, Left, PartialSums
from discreet.domain import Domain
from discreet.domain.cells import CELLS
from discreet.domain.encoding import ONE, Encoder
from discreet.statistics.histogram import cell_of


def tallied(cells: NDArray[np.intp], bins: int, weights: Floats | None) -> Ints:
    """Count the rows in each cell, or sum their weights in units of 2^-20 if they have any."""
    counts = np.bincount(cells, weights, minlength=bins)
    return counts if weights is None else counts.astype(np.int64)


class Tally:
    """The encoded outcomes of all rows that have one, including rows dropped for another missing value."""

    def __init__(self, reader: Source, domain: Domain, outcome: str) -> None:
        own = domain.alone(outcome) if domain.missing == "drop" else domain
        self._reader, (self._place,) = reader, own.indices([outcome])
        self._alone = reader.only(outcome) if own is not domain else None
        self._encoder = Encoder(own) if self._alone else None

    def outcomes(self, batch: Batch) -> Floats:
        """Return the outcomes of one batch."""
        if self._alone is None or self._encoder is None:
            return batch.A[:, self._place]
        y = self._encoder.empty(batch.rows, columnar=self._alone.columnar)
        y = y[: self._alone.fill(batch.raw, y, self._encoder)]
        self._encoder.finish(y)
        return y[:, self._place]

    def cells(self, batch: Batch) -> Ints:
        """Count the outcomes of a batch in each cell."""
        return tallied(cell_of(self.outcomes(batch) / ONE), CELLS, self._weights(batch))

    def _weights(self, batch: Batch) -> Floats | None:
        if self._alone is None or batch.weights is None:
            return batch.weights
        weights, kept = self._reader.weights(batch.raw), self._alone.kept(batch.raw)
        return weights if weights is None or kept is None else weights[kept]


@dataclass(frozen=True)
class FirstPass(Pass):
    """Counts of some outcomes, and sums of coordinates and of their squares."""

    kind: ClassVar[str] = "first pass"

    domain: Domain
    columns: tuple[str, ...]

    def size(self, *, columnar: bool) -> int:
        """Return the maximum number of rows of a batch: as for a stage, or fewer."""
        return min(usual_size(self.domain), stage_size(self.domain))

    @property
    def again(self) -> bool:
        """Rows are kept for stages, unless some are dropped, whose outcomes are counted here."""
        return self.domain.missing != "drop" and usual_size(self.domain) >= stage_size(self.domain)

    def sums(self, reader: Source, batches: Iterator[Batch], at: Host = HOST) -> PartialSums:
        """Compute the sums over some batches."""
        total = at.total(MarginLayout(len(self.domain.entries)), weighted=not self.domain.unit.plain)
        tallies = [Tally(reader, self.domain, column) for column in self.columns]
        counts = [np.zeros(CELLS, dtype=np.int64) for _ in tallies]
        for batch in batches:
            total.add(batch.A, weights=batch.weights)
            for own, tally in zip(counts, tallies, strict=True):
                own += tally.cells(batch)
        return PartialSums.of(total, *counts)

    def facts(self) -> dict[str, Any]:
        """Return the outcomes."""
        return {"columns": list(self.columns)}

    @classmethod
    def from_facts(cls, domain: Domain, facts: dict[str, Any]) -> Self:
        """Rebuild from `facts`."""
        return cls(domain, tuple(facts["columns"]))


class MarginLayout:
    """Sums of coordinates, as products with the constant, and of their squares."""

    def __init__(self, size: int) -> None:
        self.shape = 2, size

    def add(self, A: Floats, total: Floats, work: Floats, sampled: Bools | None, left: Left) -> None:
        """Add the sums of a batch to a total."""
        B = left(A)
        total[0] += np.matmul(B[:, 0], A, out=work[0])
        total[1] += np.einsum("ij,ij->j", B, A, out=work[1])
