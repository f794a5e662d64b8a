"""Per-instance losses of the statistics of a stage: those of Gaussian sums, in its coordinates u and e."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import Floats
from discreet.domain import Domain
from discreet.domain.coordinates import RotatedBatch
from discreet.domain.encoding import ONE
from discreet.families.coordinates import map_of
from discreet.per_instance.mechanisms.gaussian import worst
from discreet.per_instance.mechanisms.parts import LossFacts, Pair, Part, parts_of
from discreet.per_instance.stream import EncodedRows
from discreet.privacy import sensitivity
from discreet.privacy.events.coordinates import StageEvent, stage_name
from discreet.privacy.events.gaussian import Block


class StageRows:
    """Rows of a domain as lines (1, u, e), with e at the chosen half widths; 0 for dropped rows.

    Where a stage at a model releases its Fisher information, lines go on with k of each outcome or pair of classes.
    """

    def __init__(self, event: StageEvent, domain: Domain) -> None:
        self._event, self._domain, self.coordinates = event, domain, event.coordinates
        self._informed = any(block.kind.of_slopes for block in event.blocks)
        names = (*event.coordinates.axes, *event.coordinates.outcomes)
        self._places = {name: i + 1 for i, name in enumerate(names)}

    def indices(self, names: Iterable[str]) -> list[int]:
        """Return positions of u and e in a line."""
        return [self._places[name] for name in names]

    def norm_squared(self, indices: Iterable[int]) -> float:
        """Return the largest squared norm of u, or of e of some outcomes."""
        names = list(self._places)
        return self.coordinates.norms[tuple(names[i - 1] for i in indices)]

    def seen(self, block: Block, rows: EncodedRows) -> EncodedRows:
        """Return the lines that a block sums: scores, k u, or rows that are not clipped, may take the place of u."""
        rotated = self.rotated(rows)
        if not is_seen(block):
            return rotated
        U, e = self.indices(block.rows), np.array(self.indices(block.columns))
        if block.kind.of_slopes and block.kind.outcomes == "all":
            return EncodedRows(block.kind.seen(rotated.Z[:, U], rotated.Z[:, len(self._places) + 1 :]))
        factors = e + len(self.coordinates.outcomes) if block.kind.of_slopes else e
        Z = rotated.Z.copy()
        Z[:, U] = block.kind.seen(rotated.Z[:, U], rotated.Z[:, factors])
        return EncodedRows(Z)

    def rotated(self, rows: EncodedRows) -> EncodedRows:
        """Return rows in the coordinates of the stage, computed once for all blocks."""

        def work() -> EncodedRows:
            found, widths = self._rotate(rows.Z), self.coordinates.widths
            starts = np.cumsum([0, *map(len, widths)])[:-1]
            chosen = found.E[(starts + np.array(self._event.chosen, dtype=int)).tolist()]
            k = found.both[len(found.E) + len(found.U) :]
            lines = np.vstack([found.U, chosen, k]) * (rows.present / ONE)
            return EncodedRows(np.vstack([rows.present, lines]).T)

        return rows.once((id(self._event), "rotated"), work)

    def bins(self, Z: Floats, block: Block) -> NDArray[np.intp]:
        """Return the bin of each row in a block's counts; -1 for dropped rows."""
        edges, sizes = block.kind.sizes(block, self.coordinates, self._rotate(Z))
        return np.where(Z[:, 0] > 0, np.searchsorted(np.array(edges) * ONE, sizes), -1)

    def _rotate(self, Z: Floats) -> RotatedBatch:
        return map_of(self.coordinates, self._domain, len(Z), information=self._informed).rotate(Z * ONE)


def is_seen(block: Block) -> bool:
    """Whether other vectors than u take its place in a block of a stage."""
    return block.kind.second_reading or block.kind.of_slopes


@parts_of(StageEvent)
def _stage(event: StageEvent, facts: LossFacts) -> list[Part]:
    """Compute exact costs block by block; under replace-one for a given replacement, or bounds for the worst one."""
    places = StageRows(event, facts.domain)
    if not facts.replaces or facts.pair is not None:
        return [_part(block, event, places, facts.pair) for block in event.blocks]
    note = "a bound over every row that may take this one's place"

    def cost(rows: EncodedRows) -> Floats:
        seen = [block for block in event.blocks if is_seen(block)]
        total = worst([block for block in event.blocks if block not in seen], places, places.rotated(rows))
        for block in seen:
            total += worst([block], places, places.seen(block, rows))
        return np.minimum(total, event.mu**2)

    return [Part(event.name, cost, event.mu**2, note)]


def _part(block: Block, event: StageEvent, places: StageRows, pair: Pair | None) -> Part:
    """Compute the exact cost of one statistic when each row leaves, or a given row replaces it."""
    if pair is None:
        everyone = (sensitivity.sensitivity(block, event.coordinates) / block.sd) ** 2
    else:
        everyone = event.mu**2 / len(event.blocks)

    def cost(rows: EncodedRows) -> Floats:
        if pair is None:
            return block.kind.change(block, places, places.seen(block, rows)) / block.sd**2
        other = pair.used[None]
        if block.kind.counted:
            own, new = (places.bins(Z, block) for Z in (rows.Z, other))
            return np.where(own == new, 0.0, (own >= 0) * 1.0 + (new >= 0)) / block.sd**2
        w = places.seen(block, EncodedRows(other)).Z[0]
        return block.kind.swap(block, places, w, places.seen(block, rows)) / block.sd**2

    return Part(f"{stage_name(block)} of a stage", cost, everyone)
