"""The gate of many outcomes: X'X from all rows or from a secret sample of them, and outcomes that may be public."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.core.checks import Neighbors
from discreet.core.rounding import up
from discreet.data.moments import Moments, summed
from discreet.data.reading import Unread
from discreet.domain import Domain
from discreet.domain.derived import inputs_of
from discreet.errors import DataError
from discreet.gate.entropy import Entropy
from discreet.gate.moments import Want, block_noise, calibrate, exact_blocks, noisy_blocks
from discreet.gate.session import Session, check_rows
from discreet.mechanisms.reuse_covariance.event import PublicOutcomesEvent, SampledEvent, largest_mu
from discreet.privacy import gdp, sensitivity
from discreet.privacy.events.base import Event
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.privacy.guarantee import Guarantee
from discreet.results.private_moments import PrivateMoments

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class OutcomesWant:
    """X'X, X'Y and y'y of many outcomes.

    Parameters
    ----------
    design, outcomes : tuple of str
        Coordinates of the regressors and of the outcomes.
    shares : mapping
        Of mu^2, for "gram", "cross" and "squares"; the last may be 0. Where X'X is that of a sample, the others get
        theirs, and it gets all that the promise leaves.
    norm : float, optional
        The largest norm of a row of public outcomes; without it outcomes are private.
    """

    design: tuple[str, ...]
    outcomes: tuple[str, ...]
    shares: Mapping[str, float]
    norm: float | None = None


@dataclass(frozen=True, eq=False)
class Sampled:
    """A table whose X'X is to be that of a secret sample of its rows; **confidential**.

    Parameters
    ----------
    table : Unread
        The rows.
    targets : sequence of str
        The outcomes, whose products are those of all rows.
    rate : float
        The share of the rows that the sample has.
    """

    table: Unread
    targets: Sequence[str]
    rate: float

    @property
    def domain(self) -> Domain:
        """The public facts."""
        return self.table.domain

    def checked(self, neighbors: Neighbors) -> Sampled:
        """Read all rows, so that bad data are found: the same, to be read again."""
        table = self.table.checked()
        check_rows(table.left)
        if neighbors == "replace-one":
            fixed_size(self.rate, table.rows)
        return replace(self, table=table)

    def draw(self, neighbors: Neighbors, entropy: Entropy) -> Moments:
        """The moments, with a sample drawn as the relation's accounting needs it."""
        table, drawn = self.table, sampler(self.rate, neighbors, self.table.rows, entropy)
        found = summed(table, self.targets, drawn)
        if isinstance(drawn, FixedSampler):
            drawn.check_all_taken()
        return found


def release_outcomes(moments: Moments | Sampled, want: OutcomesWant, session: Session) -> PrivateMoments:
    """Release X'X, X'Y and y'y of many outcomes with the least noise that keeps the promise."""
    rate = moments.rate if isinstance(moments, Sampled) else None
    return release_events(moments, calibrated(moments.domain, want, session.promise, rate), session)


def release_events(moments: Moments | Sampled, events: tuple[Event, ...], session: Session) -> PrivateMoments:
    """Release X'X, X'Y and y'y of many outcomes with the noise of some events."""
    neighbors = session.promise.neighbors
    certificate = session.certify(moments.domain, *events)
    blocks = certificate.blocks
    noise = block_noise(blocks, moments.domain.unit)
    mu = None if any(event.law is not None for event in events) else gdp.compose(event.mu for event in events)
    public = [block for event in events if isinstance(event, PublicOutcomesEvent) for block in event.blocks]
    domain = moments.domain
    columns = {domain.entries[i].column for block in public for i in domain.indices(block.columns)}
    cost = mu, certificate.epsilon, inputs_of({name: domain.columns[name] for name in columns})
    if isinstance(moments, Sampled):
        table = moments.checked(neighbors)
        entropy = session.charge(domain, *cost)
        exact = exact_blocks(table.draw(neighbors, entropy), blocks)
    else:
        check_rows(moments.count)
        exact = exact_blocks(moments, blocks)
        entropy = session.charge(domain, *cost)
    values = noisy_blocks(exact, noise, entropy)
    return PrivateMoments(session.commit(certificate), values)


def calibrated(domain: Domain, want: OutcomesWant, promise: Guarantee, rate: float | None) -> tuple[Event, ...]:
    """The events of a release that keeps a promise with the least noise."""
    mu, neighbors, shares = gdp.mu(epsilon=promise.epsilon, delta=promise.delta), promise.neighbors, want.shares
    total = math.fsum(shares.values())
    gram = Want("gram", want.design, (), shares["gram"])
    cross = Want("cross", want.design, want.outcomes, shares["cross"])
    squares = [Want("squares", (), want.outcomes, shares["squares"])] if shares.get("squares", 0.0) > 0 else []
    own = [cross, *squares] if rate is not None else [gram, cross, *squares]
    part = mu * math.sqrt(math.fsum(want.share for want in own) / total)
    if want.norm is None:
        blocks = calibrate(own, domain, neighbors, part)
        first: Event = GaussianEvent(sensitivity.mu(blocks, domain, neighbors), tuple(blocks))
    else:
        blocks = calibrate_public(own, domain, part, want.norm)
        first = PublicOutcomesEvent(sensitivity.public_mu(blocks, domain, want.norm), want.norm, tuple(blocks))
    if rate is None:
        return (first,)
    full = largest_mu(rate, neighbors, promise.epsilon, promise.delta, first.mu)
    sampled = calibrate([replace(gram, share=1.0)], domain, neighbors, full)
    return (SampledEvent(rate, sensitivity.mu(sampled, domain, neighbors), tuple(sampled), neighbors), first)


def calibrate_public(wants: Sequence[Want], domain: Domain, mu: float, norm: float) -> list[Block]:
    """The least noise that costs mu where outcomes are public, with mu^2 split by the shares."""
    total = math.fsum(want.share for want in wants)
    blocks = []
    for want in wants:
        unit = Block(want.statistic, want.rows, want.columns, 1.0)
        alone = want.statistic == "gram"
        change = sensitivity.sensitivity(unit, domain, "replace-one") if alone else 0.0
        change = change or sensitivity.public_mu([unit], domain, norm)
        blocks.append(replace(unit, sd=change / (mu * math.sqrt(want.share / total))))
    excess = up(sensitivity.public_mu(blocks, domain, norm) / mu)
    return [replace(block, sd=block.sd * excess) for block in blocks]


# -------------------------------------------------------------------- secret samples, exactly uniform


class IndependentSampler:
    """Each row is in the sample with the same probability, by itself.

    Parameters
    ----------
    rate : float
        The probability, rounded down to a multiple of 2^-64.
    source : Entropy
        Where random words come from.
    """

    def __init__(self, rate: float, source: Entropy) -> None:
        self._below = np.uint64(math.floor(math.ldexp(rate, 64)))
        self._source = source
        self._lock = threading.Lock()

    def take(self, rows: int) -> Mask:
        """Whether each of the next rows is in the sample."""
        with self._lock:
            drawn: Mask = self._source.words(rows) < self._below
        return drawn


class FixedSampler:
    """All sets of floor(rate total) rows are equally likely.

    Every row has a random key, and those with the least keys are taken; where the last one taken and the first one left
    out have the same key, all keys are drawn anew, so no set is preferred. Keys do not depend on the rows, so it does
    not matter in which order rows get them.

    Parameters
    ----------
    rate : float
        The share of the rows, rounded down to a whole number of them.
    total : int
        The number of rows.
    source : Entropy
        Where random words come from.
    """

    def __init__(self, rate: float, total: int, source: Entropy) -> None:
        size = fixed_size(rate, total)
        while True:
            keys = source.words(total)
            last, first_out = np.partition(keys, (size - 1, size))[size - 1 : size + 1]
            if last < first_out:
                break
        self._drawn: Mask = keys <= last
        self._at = 0
        self._lock = threading.Lock()

    def take(self, rows: int) -> Mask:
        """Whether each of the next rows is in the sample."""
        with self._lock:
            start, self._at = self._at, self._at + rows
        if self._at > len(self._drawn):
            raise DataError("The rows changed while they were read: more of them came the second time.")
        return self._drawn[start : start + rows]

    def check_all_taken(self) -> None:
        """Refuse a sample of fewer rows than there were when its size was decided."""
        if self._at != len(self._drawn):
            raise DataError("The rows changed while they were read: fewer of them came the second time.")


def fixed_size(rate: float, total: int) -> int:
    """How many of so many rows a share of them is, rounded down."""
    size = math.floor(Fraction(rate) * total)
    if size < 1:
        raise DataError("The sample would hold no row: choose a larger subsample, or none.")
    return size


def sampler(rate: float, neighbors: Neighbors, total: int, source: Entropy) -> IndependentSampler | FixedSampler:
    """The sampling whose cost is exactly known for a relation: independent for add-remove, of fixed size otherwise."""
    return IndependentSampler(rate, source) if neighbors == "add-remove" else FixedSampler(rate, total, source)
