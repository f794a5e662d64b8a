"""Clustered scores: each person's sum of w u e over rows, clipped in norm, and the exact sums of their products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from discreet.core.arrays import Bools, Floats
from discreet.data.passes.base import Batch
from discreet.data.passes.stages import InCoordinates
from discreet.data.persons import PersonSource
from discreet.data.sources.base import Source
from discreet.data.sums import HOST, Host, Left, PartialSums, Total
from discreet.domain import Domain
from discreet.domain.coordinates import scores, shortened
from discreet.domain.encoding import ONE
from discreet.domain.unit import WEIGHT_BITS
from discreet.families.coordinates import coordinates_from_dict, map_of


class Groups:
    """Sums over the rows of each person, which are consecutive but may span batches; **confidential**.

    Without persons, every row is its own person. Sums of integers below 2^53 are exact in float64, in any order.

    Examples
    --------
    >>> groups = Groups()
    >>> groups.add(np.array([[1.0], [2.0], [3.0]]), pa.array(["a", "a", "b"])).tolist(), groups.rest().tolist()
    ([[3.0]], [[3.0]])
    """

    def __init__(self) -> None:
        self._last: object = None
        self._begun: Floats | None = None

    def add(self, T: Floats, persons: pa.Array | None) -> Floats:
        """Add rows, and return the sums of the persons that are now complete, one row each."""
        if persons is None or not len(T):
            return T
        codes = persons.dictionary_encode().indices.fill_null(-1).to_numpy()
        starts = np.flatnonzero(np.diff(codes, prepend=codes[0] - 1))
        sums = np.add.reduceat(T, starts, axis=0)
        if self._begun is not None:
            if persons[0].as_py() == self._last:
                sums[0] += self._begun[0]
            else:
                sums = np.concatenate([self._begun, sums])
        self._last, self._begun = persons[-1].as_py(), sums[-1:]
        done: Floats = sums[:-1]
        return done

    def rest(self) -> Floats:
        """Return the sums of the last person, if there is one."""
        return np.zeros((0, 0)) if self._begun is None else self._begun


class _ScoreLayout:
    """S'S of each outcome, from rows that hold a person's scores for all outcomes."""

    def __init__(self, outcomes: int, axes: int) -> None:
        self.shape, self._q = (outcomes * axes, axes), axes

    def add(self, A: Floats, total: Floats, work: Floats, sampled: Bools | None, left: Left) -> None:
        """Add the products of some persons to a total."""
        for start in range(0, A.shape[1], self._q):
            S, at = A[:, start : start + self._q], slice(start, start + self._q)
            total[at] += np.matmul(S.T, S, out=work[at])


@dataclass(frozen=True)
class ScorePass(InCoordinates):
    """A pass for the sum of t t' over persons for each outcome, with t the scores over the radius, clipped in norm."""

    kind: ClassVar[str] = "scores"
    in_order: ClassVar[bool] = True

    radii: tuple[float, ...]

    def sums(self, reader: Source, batches: Iterator[Batch], at: Host = HOST) -> PartialSums:
        """Compute the sums over some batches."""
        own, m, size = self.coordinates, len(self.coordinates.outcomes), self.size(columnar=reader.columnar)
        coordinate_map, total, groups = (
            map_of(own, self.domain, size),
            Total(_ScoreLayout(m, len(own.axes))),
            Groups(),
        )

        def add(T: Floats) -> None:
            for part in np.array_split(T, -(-len(T) // size)) if len(T) else []:
                norms = (radius * ONE * (1 << WEIGHT_BITS) for radius in self.radii)
                cut = zip(np.split(part, m, axis=1), norms, strict=True)
                total.add(np.hstack([shortened(S.T, r, own.norm_squared_lattice).T for S, r in cut]))

        for batch in batches:
            rotated = coordinate_map.rotate(batch.A)
            S = np.vstack([scores(rotated.U, e) for e in rotated.E])
            weights = np.full(S.shape[1], float(1 << WEIGHT_BITS)) if batch.weights is None else batch.weights
            add(groups.add((S * weights).T, _persons(reader, batch)))
        add(groups.rest())
        return PartialSums.of(total)

    def facts(self) -> dict[str, Any]:
        """Return the coordinates and the radii."""
        return super().facts() | {"radii": list(self.radii)}

    @classmethod
    def from_facts(cls, domain: Domain, facts: dict[str, Any]) -> Self:
        """Rebuild from `facts`."""
        return cls(domain, coordinates_from_dict(facts["coordinates"]), tuple(facts["radii"]))


def _persons(reader: Source, batch: Batch) -> pa.Array | None:
    """Return the persons of the rows of a batch that were not dropped."""
    if not isinstance(reader, PersonSource):
        return None
    persons, kept = reader.persons(batch.raw), reader.kept(batch.raw)
    return persons if kept is None else persons.filter(pa.array(kept))
