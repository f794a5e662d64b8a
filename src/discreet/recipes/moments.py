"""Releases of moments: X'X, X'y and y'y at once, for bounds as declared or narrowed by private counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.rounding import down
from discreet.domain import Domain
from discreet.domain.levels import model_design
from discreet.errors import DomainError
from discreet.privacy import sensitivity
from discreet.privacy.events.base import BlockEvent, Event, of_kind
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.recipes import budget
from discreet.recipes.base import Ask, Facts, Noisy, Recipe, Steps
from discreet.recipes.noise import StatisticRequest, calibrate
from discreet.solve import outcome


@dataclass(frozen=True)
class Fixed(Recipe):
    """A release whose events are known before anything is released.

    Parameters
    ----------
    facts : Facts
        The public facts.
    listed_events : tuple of events, optional
        The events themselves, where they are a paper's, or those of a file that does not tell their shares.
    """

    listed_events: tuple[BlockEvent, ...] = ()

    name: ClassVar[str] = "as printed"
    planned: ClassVar[bool] = True

    @cached_property
    def events(self) -> tuple[BlockEvent, ...]:
        """The events, in turn."""
        return self.listed_events

    def steps(self) -> Steps[None]:
        """Ask for the statistics of each event."""
        for event in self.events:
            yield Ask(event.blocks, self.facts.domain, event)

    @classmethod
    def listed(cls, facts: Facts, events: Sequence[Event], options: Mapping[str, Any]) -> Self | None:
        """Return the recipe of the same events, if all of them are noise on statistics."""
        own = of_kind(BlockEvent, events)
        return cls(facts, own) if own and len(own) == len(events) else None


@dataclass(frozen=True)
class MomentsOnce(Fixed):
    """Statistics of all columns, or of regressors and outcomes, with the least noise that keeps the promise.

    Parameters
    ----------
    facts, listed_events
        As in `Fixed`.
    requests : sequence of StatisticRequest
        The statistics and their shares of mu^2.
    """

    requests: tuple[StatisticRequest, ...] = ()

    name: ClassVar[str] = "moments"

    @cached_property
    def events(self) -> tuple[BlockEvent, ...]:
        """One event: Gaussian noise on all of the statistics."""
        if not self.requests:
            return self.listed_events
        domain, neighbors = self.facts.domain, self.facts.neighbors
        blocks = calibrate(self.requests, domain, neighbors, self.facts.mu)
        return (GaussianEvent(sensitivity.mu(blocks, domain, neighbors), tuple(blocks)),)

    @property
    def options(self) -> dict[str, Any]:
        """The shares of mu^2."""
        return {"shares": normalised({request.statistic: request.share for request in self.requests})}

    @classmethod
    def listed(cls, facts: Facts, events: Sequence[Event], options: Mapping[str, Any]) -> Self | None:
        """The recipe of a release that lists one event with these statistics."""
        own = of_kind(GaussianEvent, events)
        if len(events) != 1 or not own:
            return None
        shares = options.get("shares")
        if shares is None:
            return cls(facts, own)
        if not are_shares(shares) or [block.statistic for block in own[0].blocks] != list(shares):
            return None
        blocks = own[0].blocks
        return cls(
            facts, (), tuple(StatisticRequest(b.statistic, b.rows, b.columns, shares[b.statistic]) for b in blocks)
        )


def normalised(shares: Mapping[str, float]) -> dict[str, float]:
    """Return shares that add up to 1; those that do already stay as they are."""
    total = math.fsum(shares.values())
    return {name: share if math.isclose(total, 1.0) else share / total for name, share in shares.items()}


def are_shares(shares: Any) -> bool:
    """Whether a file names shares of mu^2: numbers from 0 on that add up to 1."""
    if not isinstance(shares, dict):
        return False
    known = all(checks.is_real(share) and 0 <= share < math.inf for share in shares.values())
    return known and math.isclose(math.fsum(shares.values()), 1.0)


class Narrowed(NamedTuple):
    """The bounds that counts call for, and whether the declared ones were far too wide."""

    domain: Domain
    loose: bool


@dataclass(frozen=True)
class Counted(Recipe):
    """Counts of an outcome, which narrow its bounds, and then its moments for these bounds.

    Parameters
    ----------
    facts : Facts
        The public facts.
    design, target : tuple of str, str
        Coordinates of the regressors, and the outcome.
    """

    design: tuple[str, ...]
    target: str

    name: ClassVar[str] = "counts, then moments"
    planned: ClassVar[bool] = True

    def steps(self) -> Steps[Narrowed]:
        """Count the outcome, narrow its bounds, and release the moments with what is left of mu^2."""
        domain, neighbors, mu = self.facts.domain, self.facts.neighbors, self.facts.mu
        (counts,) = calibrate(self._counts, domain, neighbors, mu * math.sqrt(budget.ONE_STAGE["counts"]))
        answer: Noisy = yield Ask((counts,), domain)
        narrowed = self._narrowed(answer.arrays[0], counts.sd)
        left = down(math.sqrt((mu - answer.event.mu) * (mu + answer.event.mu)))
        yield Ask(tuple(calibrate(self._moments, narrowed.domain, neighbors, left)), narrowed.domain)
        return narrowed

    @property
    def _counts(self) -> list[StatisticRequest]:
        return [StatisticRequest("counts", (), (self.target,), 1.0)]

    @property
    def _moments(self) -> list[StatisticRequest]:
        return one_stage(self.design, self.target)

    def _narrowed(self, counts: Floats, sd: float) -> Narrowed:
        """Return the domain with the outcome's bounds narrowed, and whether they were far too wide."""
        domain, rows = self.facts.domain, self.facts.counted_rows
        n = max(float(counts.sum()), 1.0) if rows is None else float(rows)
        size = len(model_design(domain, self.design)[0])
        clipped = outcome.clipped_share(size, n, self.facts.mu / domain.most)
        trusted = outcome.trusted(sd, n)
        symmetric = not (domain.intercept and trusted)
        low, high = outcome.narrow(outcome.shares(counts, n), clipped, symmetric=symmetric)
        narrowed = with_bounds(domain, self.target, low, high)
        return Narrowed(narrowed, trusted and narrowed != domain and high - low <= 0.5)

    @property
    def histograms(self) -> tuple[str, ...]:
        """The outcome."""
        return (self.target,)

    def guesses(self, events: Sequence[Event]) -> list[Self]:
        """Older versions narrowed bounds by other rules, so nothing is recomputed of their files."""
        return []

    def extremes(self) -> Iterator[Sequence[Block]]:
        """Blocks with the noise for bounds as declared."""
        domain, neighbors, mu = self.facts.domain, self.facts.neighbors, self.facts.mu
        counts = calibrate(self._counts, domain, neighbors, mu * math.sqrt(budget.ONE_STAGE["counts"]))
        spent = sensitivity.mu(counts, domain, neighbors)
        left = down(math.sqrt((mu - spent) * (mu + spent)))
        yield [*counts, *calibrate(self._moments, domain, neighbors, left)]

    @classmethod
    def listed(cls, facts: Facts, events: Sequence[Event], options: Mapping[str, Any]) -> Self | None:
        """The recipe of a release that lists counts, and then moments."""
        statistics = [[block.statistic for block in event.blocks] for event in of_kind(GaussianEvent, events)]
        if len(events) != 2 or statistics != [["counts"], ["gram", "cross", "squares"]]:
            return None
        gram, cross, _ = events[1].statistics
        return cls(facts, gram.rows, cross.columns[0]) if len(cross.columns) == 1 else None


def one_stage(design: tuple[str, ...], target: str) -> list[StatisticRequest]:
    """X'X, X'y and y'y with the shares of a model in one stage."""
    held: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = [
        ("gram", design, ()),
        ("cross", design, (target,)),
        ("squares", (), (target,)),
    ]
    return [StatisticRequest(kind, rows, columns, budget.ONE_STAGE[kind]) for kind, rows, columns in held]


def with_bounds(domain: Domain, column: str, low: float, high: float) -> Domain:
    """Return the domain with one number's bounds moved inwards to (low, high), in its mapped units.

    It stays as it is where noise put (low, high) outside the bounds, or where they are too close for floating point.
    """
    spec = domain.columns[column]
    if spec.bounds is None:
        raise TypeError("only numbers have bounds")
    c, h = domain.map(column)
    least = spec.bounds[0] if low == -1 else c + h * low
    most = spec.bounds[1] if high == 1 else c + h * high
    try:
        return domain.with_column(column, spec.narrowed(least, most))
    except DomainError:
        return domain
