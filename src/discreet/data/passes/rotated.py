"""Rows of a wide table in the coordinates of its steps, kept in memory between passes: **confidential**.

Steps differ in the model alone, and u of a row is the same in all of them. Its entries are lattice integers of at most
2^20, which float32 holds exactly, so sums over kept rows are those of reading the table again, to the last bit.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np

from discreet.core.arrays import SILENT, Floats
from discreet.core.memory import available
from discreet.data.passes.layouts import StageLayout
from discreet.data.sums import PartialSums, Total
from discreet.domain import Domain
from discreet.domain.coordinates import Coordinates, RotatedBatch
from discreet.families.coordinates import ModelCoordinates, map_of

_ROWS = 512
"""Rows that are summed at a time: few enough for a processor's cache."""

_SHARE = 0.3
"""Share of the available memory that rows may take."""


class RotatedPart(NamedTuple):
    """Some rows: u as float32, their weights, and the encoded columns of outcomes and exposure by place."""

    U: Floats
    w: Floats
    columns: dict[int, Floats]

    def __getitem__(self, at: object) -> Floats:  # type: ignore[override]
        """Return the encoded column at a place, as from a batch of rows."""
        assert isinstance(at, tuple)
        return self.columns[at[1]]


def _facts(own: Coordinates) -> tuple[Any, ...]:
    """Return the facts that u, the weights and the kept columns of a row follow from."""
    exposure = own.exposure if isinstance(own, ModelCoordinates) else None
    return own.P, own.radius, own.shrinkage, own.design, own.outcomes, exposure


class RotatedRows:
    """Rows in the coordinates of a stage of a wide table.

    Parameters
    ----------
    coordinates : Coordinates
        The coordinates; those of later stages differ in their model alone.
    domain : Domain
        The encoding of rows.
    """

    def __init__(self, coordinates: Coordinates, domain: Domain) -> None:
        self._facts, self._domain = _facts(coordinates), domain
        exposure = self._facts[-1]
        self._places = domain.indices([*coordinates.outcomes, *([] if exposure is None else [exposure])])
        self._parts: list[RotatedPart] | None = []
        self._left, self._lock = _SHARE * (available() or 0), threading.Lock()

    @classmethod
    def none(cls) -> Self:
        """Return the rows of no stage."""
        nothing = object.__new__(cls)
        nothing._parts = None
        return nothing

    def holds(self, coordinates: Coordinates) -> bool:
        """Whether rows in these coordinates are all kept."""
        return self._parts is not None and self._facts == _facts(coordinates)

    def add(self, rotated: RotatedBatch, A: Floats) -> None:
        """Keep the rows of a batch, or none of the table where memory is short."""
        for i in range(0, len(A), _ROWS):
            own = slice(i, i + _ROWS)
            part = RotatedPart(
                rotated.U[:, own].astype(np.float32),
                rotated.w[own].copy(),
                {place: A[own, place].copy() for place in self._places},
            )
            with self._lock:
                self._left -= part.U.nbytes
                if self._parts is None or self._left < 0:
                    self._parts = None
                    return
                self._parts.append(part)

    def shares(self, jobs: int) -> list[list[RotatedPart]]:
        """Return the rows in as many shares as there are threads."""
        assert self._parts is not None
        return [self._parts[i::jobs] for i in range(jobs)]

    def sums(self, coordinates: Coordinates, parts: list[RotatedPart]) -> PartialSums:
        """Compute the sums of a stage without U'U over some of the rows, as `StagePass` does."""
        total, own = Total(StageLayout(coordinates, gram=False)), map_of(coordinates, self._domain, _ROWS)
        counts, rows = [np.zeros(len(widths) + 1, dtype=np.int64) for widths in coordinates.widths], 0
        with np.errstate(**SILENT):
            for part in parts:
                rotated = own.again(part.U, part.w, part)
                total.add(rotated.both.T)
                counts = [held + more for held, more in zip(counts, own.counts(rotated.V), strict=True)]
                rows += len(part.w)
        return PartialSums.of(total, *counts, np.zeros(0, dtype=np.int64), np.array([rows]))

    def __repr__(self) -> str:
        return "RotatedRows(confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Rows are confidential and are not pickled.")
