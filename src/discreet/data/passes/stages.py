"""Passes for sums over rows in the coordinates of a stage, and for the score products of its residuals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from discreet.core.arrays import Bools, Floats
from discreet.data.passes.base import Batch, Pass
from discreet.data.sources.base import Source
from discreet.data.sums import EXACT_ROWS, Left, PartialSums, Total
from discreet.domain import Domain
from discreet.domain.coordinates import Coordinates, scores
from discreet.domain.encoding import ONE
from discreet.families.coordinates import ModelCoordinates, coordinates_from_dict, map_of

_NARROW = 64
"""Up to so many columns, longer batches are faster; their length is no power of two, which caches handle badly."""

_SMALL, _SHORT = 1_000_000, 512
"""Multiplications up to which OpenBLAS has a faster matrix product, and the fewest rows for which it is used."""


def _size(domain: Domain) -> int:
    return EXACT_ROWS // (2 if len(domain.entries) <= _NARROW else 3) // 8 * 8 - 8


@dataclass(frozen=True)
class InCoordinates(Pass):
    """A pass over rows that are rotated into the coordinates of a stage."""

    domain: Domain
    coordinates: Coordinates

    def size(self, *, columnar: bool) -> int:
        """Return the maximum number of rows of a batch."""
        return _size(self.domain)

    @property
    def numbers(self) -> int:
        """The number of sums."""
        q, m = len(self.coordinates.axes), len(self.coordinates.outcomes)
        return (sum(map(len, self.coordinates.widths)) + (m + 1) * q) * (q + 1)

    def facts(self) -> dict[str, Any]:
        """Return the coordinates."""
        return {"coordinates": self.coordinates.to_dict()}

    @classmethod
    def from_facts(cls, domain: Domain, facts: dict[str, Any]) -> Self:
        """Rebuild from `facts`."""
        return cls(domain, coordinates_from_dict(facts["coordinates"]))


@dataclass(frozen=True)
class StagePass(InCoordinates):
    """A pass for the sums of a stage: U'U, U'E and squares of e; counts of residuals, of row norms and of rows.

    U'U, which takes most of the time, may be left out.
    """

    kind: ClassVar[str] = "stage"

    gram: bool = True

    def sums(self, reader: Source, batches: Iterator[Batch]) -> PartialSums:
        """Compute the sums over some batches."""
        linked = isinstance(self.coordinates, ModelCoordinates)
        layout = (_ModelCoordinatesLayout if linked and self.gram else _StageLayout)(self.coordinates, gram=self.gram)
        coordinate_map = map_of(self.coordinates, self.domain, _size(self.domain), information=self.gram)
        total = Total(layout, weighted=not self.domain.unit.plain)
        counts = [np.zeros(len(own) + 1, dtype=np.int64) for own in self.coordinates.widths]
        row_norms, rows = coordinate_map.row_norms(np.empty(0)), np.zeros(1, dtype=np.int64)
        for batch in batches:
            rotated, w = coordinate_map.rotate(batch.A), batch.weights
            total.add(rotated.both.T, weights=w)
            counts = [held + own for held, own in zip(counts, coordinate_map.counts(rotated.V, w), strict=True)]
            row_norms = row_norms + coordinate_map.row_norms(rotated.row_norms, w)
            rows += len(batch.A)
        return PartialSums.of(total, *counts, row_norms, rows)

    def facts(self) -> dict[str, Any]:
        """Return the coordinates, and whether U'U is summed."""
        return super().facts() | {"gram": self.gram}

    @classmethod
    def from_facts(cls, domain: Domain, facts: dict[str, Any]) -> Self:
        """Rebuild from `facts`."""
        return cls(domain, coordinates_from_dict(facts["coordinates"]), facts["gram"])


class ScoreProductPass(InCoordinates):
    """A pass for score products S'S of each outcome, at one half width, and U'U of a single outcome's inner rows."""

    kind: ClassVar[str] = "score products"

    def sums(self, reader: Source, batches: Iterator[Batch]) -> PartialSums:
        """Compute the sums over some batches."""
        coordinate_map = map_of(self.coordinates, self.domain, _size(self.domain))
        total = Total(_ScoreProductLayout(self.coordinates))
        for batch in batches:
            total.add(coordinate_map.rotate(batch.A).both.T)
        return PartialSums.of(total)


class _StageLayout:
    """E'U, the squares of e, and U'U unless it is left out, from rows (e, u)."""

    def __init__(self, coordinates: Coordinates, *, gram: bool = True) -> None:
        self._l, q, self._gram = sum(map(len, coordinates.widths)), len(coordinates.axes), gram
        self.shape = self._l + gram * q, q + 1

    def add(self, A: Floats, total: Floats, work: Floats, sampled: Bools | None, left: Left) -> None:
        """Add the products of a batch to a total."""
        l, B = self._l, left(A)  # noqa: E741
        E, U, F, V = A.T[:l], A.T[l:], B.T[:l], B.T[l:]
        if self._gram:
            total[l:, :-1] += np.matmul(V, U.T, out=work[l:, :-1])
        if not l:
            return
        step = _SMALL // (l * len(U))
        step = step if step >= _SHORT else len(A)
        for i in range(0, len(A), step):
            total[:l, :-1] += np.matmul(F[:, i : i + step], U[:, i : i + step].T, out=work[:l, :-1])
        total[:l, -1] += np.einsum("ij,ij->i", F, E)


class _ModelCoordinatesLayout(_StageLayout):
    """E'U, the squares of e, and A'A of a = k u for each outcome, from rows (e, u, k)."""

    def __init__(self, coordinates: Coordinates, *, gram: bool = True) -> None:
        super().__init__(coordinates, gram=gram)
        self._m, self._q = len(coordinates.outcomes), len(coordinates.axes)
        self.shape = self._l + self._m * self._q, self._q + 1

    def add(self, A: Floats, total: Floats, work: Floats, sampled: Bools | None, left: Left) -> None:
        """Add the products of a batch to a total."""
        l, q, B = self._l, self._q, left(A)  # noqa: E741
        E, U, K, F = A.T[:l], A.T[l : l + q], A.T[l + q :], B.T[:l]
        total[:l, :-1] += np.matmul(F, U.T, out=work[:l, :-1])
        total[:l, -1] += np.einsum("ij,ij->i", F, E)
        for j, k in enumerate(K):
            at, a = slice(l + j * q, l + (j + 1) * q), scores(U, k)
            total[at, :-1] += np.matmul(left(a.T).T, a.T, out=work[at, :-1])


class _ScoreProductLayout:
    """S'S of each outcome, and U'U of a single outcome's inner rows in a linear model, from rows (e, u).

    Inner rows have |e| < 1; u of the others counts as 0.
    """

    def __init__(self, coordinates: Coordinates) -> None:
        self._m, self._q = len(coordinates.outcomes), len(coordinates.axes)
        self._inner = self._m == 1 and not isinstance(coordinates, ModelCoordinates)
        self.shape = (self._m + self._inner) * self._q, self._q
        self._scores = np.empty(0)

    def add(self, A: Floats, total: Floats, work: Floats, sampled: Bools | None, left: Left) -> None:
        """Add the products of a batch to a total."""
        if len(A) * self._q > len(self._scores):
            self._scores = np.empty(len(A) * self._q)
        held = self._scores[: self._q * len(A)].reshape(self._q, len(A))
        for j in range(self._m):
            at = slice(j * self._q, (j + 1) * self._q)
            S = scores(A.T[self._m : self._m + self._q], A.T[j], out=held)
            total[at] += np.matmul(S, S.T, out=work[at])
        if self._inner:
            inner = np.multiply(A.T[1:], np.abs(A.T[0]) < ONE, out=held)
            total[self._q :] += np.matmul(inner, inner.T, out=work[self._q :])
