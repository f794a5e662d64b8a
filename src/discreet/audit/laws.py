r"""The law of a release, given the table: its likelihood, and its noise computed back.

Given what was released before, every event here has a density that the certificate and the table determine. So the
logarithm of the likelihood ratio of two tables is known, and no statistic tells them apart better (Neyman and Pearson);
and with the table that was fitted, the noise can be computed back, in units of its listed sd.

    Gaussian sums        v ~ N(m, sd^2), m the exact sums of the table in the listed coordinates
    a posterior sample   theta ~ N(theta_hat, H^-1/gamma), H = X'X + penalty I; eigenvalue and norm before it likewise
    output perturbation  C theta ~ N(C theta_hat, I/gamma)
    a sample in a ball   the same between -radius and radius, of one coefficient
    gradient descent     (theta_t - theta_t+1)/step ~ N(X'X theta_t - X'y, sd_t^2)
    sampled batches      the same around the clipped gradients of the rows drawn: a mixture over how many of each are
    objectives           -(gradient at theta) ~ the law of the noise, times det of the Hessian
    sampled sums, blocks of a table to which no row adds anything: the noise alone, whichever rows are drawn

The far smaller noise that hides rounding errors is left out. Gaussian sums are here; a mechanism's density is in
``density.py`` of its folder below `discreet.mechanisms`, under `density_of`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from discreet.audit.densities import AuditedModel, Density, Shown, Unlisted, normal
from discreet.core.arrays import Floats
from discreet.data.counts import first_pass
from discreet.data.moments import Moments
from discreet.data.reading import Table
from discreet.data.stages import score_products, staged
from discreet.domain import LATTICE_BITS, Domain
from discreet.domain.unit import WEIGHT_BITS
from discreet.gate.statistics import exact_blocks, exact_counts
from discreet.privacy.events.base import BlockEvent, Event, StatisticsEvent, beside
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.released.certificate import Certificate
from discreet.released.moments import ReleasedMoments

Known = TypeVar("Known")


class ReleaseDensity:
    """Densities of releases, given one made-up table."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self._known: dict[Any, Any] = {}

    def density(self, event: Event, shown: Shown) -> Density | None:
        """The density of an event's released values; None if it is not known."""
        beside(type(event), "density")
        maker = _DENSITIES.get(type(event))
        return None if maker is None else maker(event, self, shown)

    def unlisted(self, event: Event, model: AuditedModel, released: ReleasedMoments) -> Unlisted:
        """The figures that a certificate does not list, from a release of this table without noise."""
        beside(type(event), "density")
        maker = _UNLISTED.get(type(event))
        return Unlisted() if maker is None else maker(event, self, Shown(released, model=model))

    def once(self, key: Any, work: Callable[[], Known]) -> Known:
        """Return the cached result under this key, or compute it."""
        if key not in self._known:
            self._known[key] = work()
        found: Known = self._known[key]
        return found

    def sums(self, event: BlockEvent, certificate: Certificate, encoding: Domain | None = None) -> list[list[Any]]:
        """The exact sums of each statistic of mapped columns; those of a search have an `encoding` of their own."""
        counted = encoding or certificate.declared or certificate.domain
        key = event.blocks, certificate.domain, counted
        return self.once(key, lambda: [self._plain(block, certificate.domain, counted) for block in event.blocks])

    def _plain(self, block: Block, domain: Domain, counted: Domain) -> list[Any]:
        if block.kind.column(block) is not None:
            (histogram,), _ = first_pass(Table.of(self.table, counted, 1), block.columns)
            return exact_counts(histogram, block)
        return exact_blocks(Moments.from_source(self.table, domain, n_jobs=1), [block])[0]

    def stage_sums(self, event: StageEvent, domain: Domain) -> list[list[Any]]:
        """The exact sums of each statistic of a stage."""
        table = Table.of(self.table, domain, 1)
        gram = any(block.kind.symmetric and not block.kind.second_reading for block in event.blocks)
        sums = staged(table, event.coordinates, gram=gram)
        scored = any(block.kind.second_reading for block in event.blocks)
        scores = score_products(table, event.coordinates, event.chosen, event.radii) if scored else None
        own = {block: scores.integers(block) for block in event.blocks if scores and block.kind.second_reading}
        return [own[block] if block in own else sums.integers(block, event.chosen) for block in event.blocks]

    def products(self, design: tuple[str, ...], target: str, domain: Domain) -> tuple[Floats, Floats]:
        """X'X and X'y."""

        def work() -> tuple[Floats, Floats]:
            gram = Moments.from_source(self.table, domain, n_jobs=1).floats(domain.indices([*design, target]))
            return gram[:-1, :-1], gram[:-1, -1]

        return self.once((design, target, domain), work)

    def ridge(self, design: tuple[str, ...], target: str, penalty: float, domain: Domain) -> AuditedRidge:
        """The exact ridge fit."""
        return AuditedRidge(*self.products(design, target, domain), penalty)


@dataclass(frozen=True, eq=False)
class AuditedRidge:
    """The exact ridge fit of a table."""

    G: Floats
    v: Floats
    penalty: float

    @cached_property
    def hessian(self) -> Floats:
        """X'X + penalty I."""
        return self.G + self.penalty * np.eye(len(self.v))

    @cached_property
    def theta(self) -> Floats:
        """The coefficients."""
        return np.asarray(np.linalg.solve(self.hessian, self.v), dtype=np.float64)

    @cached_property
    def least(self) -> float:
        """The least eigenvalue of X'X."""
        return float(np.linalg.eigvalsh(self.G)[0])


_Maker = Callable[[Any, ReleaseDensity, Shown], Density | None]
_Teller = Callable[[Any, ReleaseDensity, Shown], Unlisted]
_DENSITIES: dict[type, _Maker] = {}
_UNLISTED: dict[type, _Teller] = {}


def density_of(*events: type) -> Callable[[_Maker], _Maker]:
    """Register the density of events of some types, given a table."""
    return lambda maker: _kept(_DENSITIES, events, maker)


def unlisted_of(*events: type) -> Callable[[_Teller], _Teller]:
    """Register how to read unlisted figures off a release without noise, for events of some types."""
    return lambda teller: _kept(_UNLISTED, events, teller)


def _kept(table: dict[type, Known], events: tuple[type, ...], function: Known) -> Known:
    table.update(dict.fromkeys(events, function))
    return function


@density_of(GaussianEvent)
def sums_density(event: BlockEvent, law: ReleaseDensity, shown: Shown) -> Density:
    """The density of noisy sums of mapped columns."""
    certificate = shown.released.certificate
    own = [event is one for one in certificate.events].index(True)
    found = certificate.encodings(shown.released.values)
    return _noisy(event, law.sums(event, certificate, found[own] if own < len(found) else None), shown)


@density_of(StageEvent)
def _stage_density(event: StageEvent, law: ReleaseDensity, shown: Shown) -> Density:
    return _noisy(event, law.stage_sums(event, shown.domain), shown)


def _noisy(event: StatisticsEvent, sums: list[list[Any]], shown: Shown) -> Density:
    bits = 2 * LATTICE_BITS + (0 if shown.domain.unit.plain else WEIGHT_BITS)
    noise = [
        (released.floats() - np.ldexp(np.ravel(part).astype(float), -bits)) / sd
        for block, own, parts in zip(event.blocks, shown.values, sums, strict=True)
        for released, part, sd in zip(own, parts, block.sds * len(own), strict=False)
    ]
    return normal(np.concatenate(noise))
