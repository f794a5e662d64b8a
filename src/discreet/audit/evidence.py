r"""What an attacker reads off a release: how much likelier one table is than the other, and plain numbers.

*Where the law is known.* Given what was released before, each Gaussian event is a sum over rows plus noise of a listed
sd, in coordinates that are listed too. So with m and m' the exact sums of the two tables, a released value v adds

    ((v - m)^2 - (v - m')^2)/(2 sd^2)

to the logarithm of the likelihood ratio, and no statistic tells more than their sum (Neyman and Pearson). Of gradient
descent the iterates are listed: with g and g' the gradients at theta_t, the same holds for (theta_t - theta_t+1)/step.
The step is left to training: what multiplies it is one number, and the rest another.

*Where it is not*, the numbers are the coefficients, and whatever else the events list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.arrays import Floats
from discreet.data.counts import light
from discreet.data.moments import Moments
from discreet.data.reading import Unread
from discreet.data.stages import meat, staged
from discreet.domain import LATTICE_BITS, Domain
from discreet.domain.unit import WEIGHT_BITS
from discreet.gate.moments import exact_blocks, exact_counts
from discreet.privacy.certificate import Certificate
from discreet.privacy.events.coefficients import CoefficientEvent
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.privacy.events.iterates import BatchesEvent, DescentEvent, GradientEvent
from discreet.privacy.events.sampled import PublicOutcomesEvent, SampledEvent
from discreet.released.grids import GridValues

Values = Sequence[Sequence[GridValues]]
Parts = list[Any]
"""The exact parts of a block: diagonal and upper triangle, or all values."""

_SECOND = ("inner", "meat")


class Sums:
    """The exact sums of one made-up table that events are about."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._known: dict[Any, list[Parts]] = {}

    def parts(self, event: GaussianEvent | PublicOutcomesEvent | StageEvent, certificate: Certificate) -> list[Parts]:
        """Of each block of an event; those that do not depend on the release are summed up once."""
        if isinstance(event, StageEvent):
            return self._staged(event, certificate.domain)
        key = event.blocks, certificate.domain, certificate.declared
        if key not in self._known:
            self._known[key] = [self._plain(block, certificate) for block in event.blocks]
        return self._known[key]

    def rows(self, domain: Domain, names: Sequence[str]) -> Floats:
        """Some columns of the encoded rows."""
        from discreet.per_instance.stream import each_row

        found = each_row(self._table, domain, lambda rows: rows.Z.T.copy(), n_jobs=1)
        return found[domain.indices(names)].T

    def _plain(self, block: Block, certificate: Certificate) -> Parts:
        if block.statistic == "counts":
            domain = certificate.declared or certificate.domain
            (histogram,), _ = light(Unread.of(self._table, domain, 1), block.columns)
            return exact_counts(histogram, block)
        moments = self._moments(certificate.domain)
        (found,) = exact_blocks(moments, [block])
        return found

    def _moments(self, domain: Domain) -> Moments:
        return Moments.from_source(self._table, domain, n_jobs=1)

    def _staged(self, event: StageEvent, domain: Domain) -> list[Parts]:
        table = Unread.of(self._table, domain, 1)
        sums = staged(table, event.coordinates)
        scored = any(block.statistic in _SECOND for block in event.blocks)
        scores = meat(table, event.coordinates, event.chosen, event.radii) if scored else None
        own = {block: scores.integers(block) for block in event.blocks if scores and block.statistic in _SECOND}
        return [own[block] if block in own else sums.integers(block, event.chosen) for block in event.blocks]


class Evidence:
    """What releases say about which of two tables they came from.

    Parameters
    ----------
    first, second : pyarrow.Table
        The two tables, in memory, however the releases came about.
    """

    def __init__(self, first: pa.Table, second: pa.Table) -> None:
        self._tables = Sums(first), Sums(second)
        self._gradients: dict[Any, Any] = {}

    def ratio(self, certificate: Certificate, values: Values) -> float:
        """The logarithm of how much likelier the second table makes the Gaussian events of a release."""
        total, place = 0.0, 0
        more = 0 if certificate.domain.unit.plain else WEIGHT_BITS
        for event in certificate.events:
            if isinstance(event, SampledEvent):
                place += len(event.blocks)
            elif isinstance(event, GaussianEvent | PublicOutcomesEvent | StageEvent):
                own = values[place : place + len(event.blocks)]
                place += len(own)
                both = [table.parts(event, certificate) for table in self._tables]
                total += sum(map(_ratio, event.blocks, own, *both, [2 * LATTICE_BITS + more] * len(own)))
        return total

    def numbers(self, certificate: Certificate, values: Values, coefficients: Floats) -> Floats:
        """Everything else that a release holds, as numbers: as many for each release of a kind."""
        found = [coefficients]
        if any(isinstance(event, SampledEvent) for event in certificate.events):
            found += [part.floats() for parts in values for part in parts]
        for event in certificate.events:
            if isinstance(event, GradientEvent | BatchesEvent):
                found.append(self._descent(event, certificate.domain, coefficients))
            elif isinstance(event, CoefficientEvent):
                own = (getattr(event, field.name) for field in fields(event))
                found.append(np.array([value for value in own if isinstance(value, float)]))
        return np.concatenate(found)

    def _descent(self, event: GradientEvent | BatchesEvent, domain: Domain, last: Floats) -> Floats:
        """What multiplies the step in the likelihood ratio, and the rest of it."""
        theta = np.reshape(event.iterates, (-1, len(event.design)))
        moved = theta - np.vstack([theta[1:], last[: len(event.design)]])
        sd = np.array(event.sds if isinstance(event, GradientEvent) else [event.sd] * len(theta))
        share = 1.0 if isinstance(event, GradientEvent) else event.rate
        g, h = (share * self._gradient(k, event, domain, theta) for k in (0, 1))
        change, middle = (h - g) / sd[:, None] ** 2, (g + h) / 2
        return np.array([np.sum(moved * change), np.sum(middle * change)])

    def _gradient(self, k: int, event: DescentEvent, domain: Domain, theta: Floats) -> Floats:
        """The sum of gradients x (x'theta - y) at each iterate, a line each; clipped ones are left as they are."""
        key = k, event.design, event.target
        if key not in self._gradients:
            rows = self._tables[k].rows(domain, [*event.design, event.target])
            self._gradients[key] = rows[:, :-1].T @ rows[:, :-1], rows[:, :-1].T @ rows[:, -1]
        G, v = self._gradients[key]
        found: Floats = theta @ G - v
        return found


def _ratio(block: Block, values: Sequence[GridValues], first: Parts, second: Parts, bits: int) -> float:
    """The share of one block in the logarithm of the likelihood ratio."""
    total = 0.0
    for released, m, n, sd in zip(values, first, second, block.sds, strict=True):
        m, n = (np.ldexp(np.asarray(part, dtype=float).reshape(-1), -bits) for part in (m, n))
        total += float(np.sum((n - m) * (released.floats() - (m + n) / 2)) / sd**2)
    return total
