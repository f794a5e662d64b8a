"""Per-instance losses of persons with all their rows, and of weighted rows.

Gaussian noise of sd s_b on statistic f_b makes the loss of a person Gaussian with
mu^2 = sum_b |sum_i w_i f_b(z_i)|^2/s_b^2, exactly. A weighted row is a person with one. ``docs/mathematics``, 10.11.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from discreet.core.arrays import Bools, Floats
from discreet.data.passes.base import Batch
from discreet.data.passes.scores import Groups
from discreet.data.persons import PersonSource
from discreet.data.reading import Progress, Table
from discreet.domain.coordinates import shortened
from discreet.domain.encoding import ONE
from discreet.domain.unit import WEIGHT_BITS
from discreet.errors import ParameterError
from discreet.per_instance.mechanisms.parts import Part
from discreet.per_instance.mechanisms.stages import StageRows
from discreet.per_instance.result import Losses, Measured
from discreet.per_instance.stream import EncodedRows
from discreet.privacy import sensitivity
from discreet.privacy.events.base import StatisticsEvent
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import Block
from discreet.privacy.values import bins
from discreet.released.certificate import Certificate
from discreet.statistics.base import Places

_ABOUT = {
    "add-remove": "each person, with all rows and without them",
    "replace-one": "each person, replaced by another",
}
_ROWS = 256
"""Rows whose contributions, vectors of up to millions of numbers, are in memory at a time."""

_EVERYBODY = "the certificate's own bound for everybody"


def person_losses(source: Any, certificate: Certificate, progress: Progress) -> Losses:
    """Compute the losses of persons, in the order of `Losses.names`, or of weighted rows, in the order of the table."""
    parts = [_PersonStatistic(event, block, certificate) for event, block in _blocks(certificate)]
    named: list[Any] | None = None
    values: dict[int, Floats] = {}
    for column in dict.fromkeys(part.column for part in parts):
        chosen = [i for i, part in enumerate(parts) if part.column == column]
        declared = certificate.domain if column is None else certificate.declared or certificate.domain
        table = Table.of(source, declared)
        if not table.reader.ordered:
            raise ParameterError("The rows of a query have no fixed order. Collect it into a table or a file first.")
        named, found = _pass(table, [parts[i] for i in chosen], column, progress)
        values |= dict(zip(chosen, found, strict=True))
    kept = np.array([name is not None for name in named or []]) if named else None
    measured = [Measured(part.part, values[i] if kept is None else values[i][kept]) for i, part in enumerate(parts)]
    names = None if named is None else [str(name) for name in named if name is not None]
    return Losses(certificate, measured, _ABOUT[certificate.guarantee.neighbors], names)


def _blocks(certificate: Certificate) -> list[tuple[StatisticsEvent, Block]]:
    if not all(event.gaussian_sums for event in certificate.events):
        raise ParameterError("The losses of persons are known for releases of Gaussian sums only.")
    return [(event, block) for event in certificate.of(StatisticsEvent) for block in event.blocks]


class _PersonStatistic:
    """One statistic of a release and its cost to persons."""

    def __init__(self, event: StatisticsEvent, block: Block, certificate: Certificate) -> None:
        self._block, domain = block, certificate.domain
        self._event = event if isinstance(event, StageEvent) else None
        self._stage = None if self._event is None else StageRows(self._event, domain)
        space = domain if event.rotated is None else event.rotated
        self._bound = certificate.guarantee.neighbors == "replace-one" or not block.exact
        self._most = (sensitivity.sensitivity(block, space) / block.sd) ** 2
        if certificate.guarantee.neighbors == "replace-one":
            self._most = event.mu**2 / len(event.blocks)
        self.part = Part(event.title(block), _never, self._most, _EVERYBODY if self._bound else block.kind.bounded)
        self.column = block.kind.column(block) if self._stage is None else None
        alone = domain if self.column is None else domain.alone(self.column)
        self._places: Places = alone if self._stage is None else self._stage

    def vectors(self, rows: EncodedRows) -> Floats:
        """Return the contribution of each row, as a vector whose norm is that of the noise layout."""
        block = self._block
        if self._bound:
            return np.zeros((len(rows.Z), 1))
        if self._stage is None:
            return block.kind.vectors(block, self._places, rows.Z)
        if block.kind.counted:
            return np.eye(bins(block, self._stage.coordinates) + 1)[self._stage.bins(rows.Z, block) + 1, 1:]
        lines = self._stage.seen(block, rows)
        if block.kind.per_person:
            return np.asarray(lines.Z[:, self._stage.indices(block.rows)])
        return block.kind.vectors(block, self._stage, lines.Z)

    def row_costs(self, rows: EncodedRows, shares: Floats, kept: Bools) -> Floats:
        """Return mu^2 of rows with these weights, of most statistics without the vectors themselves."""
        kind = self._block.kind
        if self._bound or self._stage is None or kind.counted or kind.per_person:
            return self.cost(_placed(self.vectors(rows) * shares[kept][:, None], kept))
        lines = self._stage.seen(self._block, rows)
        found = kind.change(self._block, self._stage, lines) * (shares[kept] / self._block.sd) ** 2
        return _placed(found[:, None], kept)[:, 0]

    def cost(self, sums: Floats) -> Floats:
        """Return mu^2 of persons from the sums of their rows' contributions."""
        if self._bound:
            return np.full(len(sums), self._most)
        event = self._event
        if event is None or not self._block.kind.per_person:
            return np.asarray(np.einsum("ij,ij->i", sums, sums) / self._block.sd**2)
        radius = event.radii[event.coordinates.outcomes.index(self._block.columns[0])]
        S = shortened(sums.T, radius, event.coordinates.norm_squared_lattice) / ONE
        return np.asarray(np.einsum("ij,ij->j", S, S) ** 2 / self._block.sd**2)


def _never(rows: EncodedRows) -> Floats:
    raise AssertionError("persons are not rows")


def _pass(
    table: Table, parts: list[_PersonStatistic], column: str | None, progress: Progress
) -> tuple[list[Any] | None, list[Floats]]:
    """Read the rows once; return the names of persons, if any, and the cost of each statistic to each of them."""
    reader, own = table.reader, table.reader if column is None else table.reader.only(column)
    domain = table.domain if column is None else table.domain.alone(column)
    has_persons = isinstance(reader, PersonSource)

    def work(batches: Iterable[Batch]) -> tuple[list[Any], list[list[Floats]]]:
        groups, names, costs = [Groups() for _ in parts], list[Any](), [list[Floats]() for _ in parts]
        for batch in batches:
            kept, shares = _kept_and_shares(batch, reader.weights(batch.raw), own.kept(batch.raw))
            rows = EncodedRows(batch.A / ONE)
            if not isinstance(reader, PersonSource):
                for cost, part in zip(costs, parts, strict=True):
                    cost.append(part.row_costs(rows, shares, kept))
                continue
            persons = reader.persons(batch.raw)
            names += _new(persons.to_pylist(), names)
            for first in range(0, batch.rows, _ROWS):
                at = slice(first, first + _ROWS)
                some = EncodedRows(rows.Z[np.count_nonzero(kept[:first]) :][: np.count_nonzero(kept[at])])
                for group, cost, part in zip(groups, costs, parts, strict=True):
                    vectors = _placed(part.vectors(some) * shares[at][kept[at]][:, None], kept[at])
                    cost.append(part.cost(group.add(vectors, persons[at])))
        for group, cost, part in zip(groups, costs, parts, strict=True):
            if len(rest := group.rest()):
                cost.append(part.cost(rest))
        return names, costs

    ((names, costs),) = Table(own, domain).read(work, report=progress, n_jobs=1)
    return names if has_persons else None, [np.concatenate(cost) for cost in costs]


def _kept_and_shares(batch: Batch, weights: Any, kept: Any) -> tuple[Bools, Floats]:
    """Return which rows of a batch were not dropped, and how much each row counts."""
    kept = np.ones(batch.rows, dtype=bool) if kept is None else kept
    return kept, np.ones(batch.rows) if weights is None else weights / float(1 << WEIGHT_BITS)


def _placed(own: Floats, kept: Bools) -> Floats:
    """Return the lines of kept rows among those of all rows; 0 where the row was dropped."""
    full = np.zeros((len(kept), own.shape[1]))
    full[kept] = own
    return full


def _new(persons: list[Any], before: list[Any]) -> list[Any]:
    """List the persons who begin in a batch; the rows of a person are contiguous."""
    last: Any = before[-1] if before else ()
    return [name for name, earlier in zip(persons, [last, *persons], strict=False) if name != earlier]
