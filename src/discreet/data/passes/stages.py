"""Passes for sums over rows in the coordinates of a stage, and for the score products of its residuals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from discreet.data.passes.base import Batch, Pass, stage_size
from discreet.data.passes.layouts import ModelCoordinatesLayout, ScoreProductLayout, StageLayout
from discreet.data.passes.rotated import RotatedRows
from discreet.data.sources.base import Source
from discreet.data.sums import HOST, Host, PartialSums
from discreet.domain import Domain
from discreet.domain.coordinates import Coordinates
from discreet.families.coordinates import ModelCoordinates, coordinates_from_dict, map_of


@dataclass(frozen=True)
class InCoordinates(Pass):
    """A pass over rows that are rotated into the coordinates of a stage."""

    domain: Domain
    coordinates: Coordinates

    def size(self, *, columnar: bool) -> int:
        """Return the maximum number of rows of a batch."""
        return stage_size(self.domain)

    @property
    def again(self) -> bool:
        """Rows are kept."""
        return True

    @property
    def numbers(self) -> int:
        """The number of sums."""
        own = self.coordinates
        q, m = len(own.axes), own.slopes if isinstance(own, ModelCoordinates) else len(own.outcomes)
        return (sum(map(len, own.widths)) + (m + 1) * q) * (q + 1)

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

    U'U, which takes most of the time, may be left out. Rows of a wide table may be kept for later passes.
    """

    kind: ClassVar[str] = "stage"

    gram: bool = True
    kept: RotatedRows | None = field(default=None, compare=False)

    @property
    def numbers(self) -> int:
        """The number of sums."""
        q, l = len(self.coordinates.axes), sum(map(len, self.coordinates.widths))  # noqa: E741
        return super().numbers if self.gram else l * (q + 1)

    def sums(self, reader: Source, batches: Iterator[Batch], at: Host = HOST) -> PartialSums:
        """Compute the sums over some batches."""
        own, layout = self.coordinates, StageLayout(self.coordinates, gram=self.gram)
        if self.gram and isinstance(own, ModelCoordinates):
            layout = ModelCoordinatesLayout(own)
        coordinate_map = at.held(map_of(self.coordinates, self.domain, stage_size(self.domain), information=self.gram))
        total = at.total(layout, weighted=not self.domain.unit.plain)
        counts = [np.zeros(len(own) + 1, dtype=np.int64) for own in self.coordinates.widths]
        row_norms, rows = coordinate_map.row_norms(np.empty(0)), np.zeros(1, dtype=np.int64)
        for batch in batches:
            rotated, w = coordinate_map.rotate(batch.A), batch.weights
            if self.kept is not None:
                self.kept.add(rotated, batch.A)
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

    def sums(self, reader: Source, batches: Iterator[Batch], at: Host = HOST) -> PartialSums:
        """Compute the sums over some batches."""
        coordinate_map = at.held(map_of(self.coordinates, self.domain, stage_size(self.domain)))
        total = at.total(ScoreProductLayout(self.coordinates))
        for batch in batches:
            total.add(coordinate_map.rotate(batch.A).both.T)
        return PartialSums.of(total)
