"""Releases for many outcomes: X'X of all rows or of a secret sample of them, X'Y and y'y of all outcomes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from discreet.mechanisms.reuse_covariance.event import PublicOutcomesEvent, SampledEvent, largest_mu
from discreet.privacy import sensitivity
from discreet.privacy.events.base import BlockEvent, Event, of_kind
from discreet.privacy.events.gaussian import GaussianEvent
from discreet.recipes.base import Facts
from discreet.recipes.moments import Fixed, are_shares, normalised
from discreet.recipes.noise import StatisticRequest, calibrate, calibrate_public


@dataclass(frozen=True)
class ManyOutcomes(Fixed):
    """X'X, X'Y and y'y of many outcomes.

    Parameters
    ----------
    facts, listed_events
        As in `Fixed`.
    design, outcomes : tuple of str
        Coordinates of the regressors and of the outcomes.
    shares : mapping
        Shares of mu^2 for "gram", "cross" and "squares"; the last may be 0. If X'X is that of a sample, the others get
        their shares, and it gets all that the promise leaves.
    norm : float, optional
        The largest norm of a row of public outcomes; without it outcomes are private.
    rate : float, optional
        The share of the rows that a secret sample has, whose X'X is released; without it that of all rows.
    """

    design: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    shares: Mapping[str, float] | None = None
    norm: float | None = None
    rate: float | None = None

    name: ClassVar[str] = "many outcomes"

    @cached_property
    def events(self) -> tuple[BlockEvent, ...]:
        """The events that keep the promise with the least noise."""
        if self.shares is None:
            return self.listed_events
        domain, neighbors, promise = self.facts.domain, self.facts.neighbors, self.facts.promise
        total = math.fsum(self.shares.values())
        gram = StatisticRequest("gram", self.design, (), self.shares["gram"])
        cross = StatisticRequest("cross", self.design, self.outcomes, self.shares["cross"])
        squares = StatisticRequest("squares", (), self.outcomes, self.shares.get("squares", 0.0))
        own = [cross, *([squares] if squares.share > 0 else [])]
        own = own if self.rate is not None else [gram, *own]
        part = self.facts.mu * math.sqrt(math.fsum(request.share for request in own) / total)
        if self.norm is None:
            blocks = calibrate(own, domain, neighbors, part)
            first: BlockEvent = GaussianEvent(sensitivity.mu(blocks, domain, neighbors), tuple(blocks))
        else:
            blocks = calibrate_public(own, domain, part, self.norm)
            first = PublicOutcomesEvent(sensitivity.public_mu(blocks, domain, self.norm), self.norm, tuple(blocks))
        if self.rate is None:
            return (first,)
        full = largest_mu(self.rate, neighbors, promise.epsilon, promise.delta, first.mu)
        sampled = calibrate([replace(gram, share=1.0)], domain, neighbors, full)
        return (SampledEvent(self.rate, sensitivity.mu(sampled, domain, neighbors), tuple(sampled), neighbors), first)

    @property
    def options(self) -> dict[str, Any]:
        """The shares of mu^2."""
        return {"shares": normalised(self.shares or {})}

    @classmethod
    def listed(cls, facts: Facts, events: Sequence[Event], options: Mapping[str, Any]) -> Self | None:
        """The recipe of a release that lists X'X and X'Y, of a sample or of all rows."""
        own = of_kind(BlockEvent, events)
        if len(own) != len(events) or not _is_complete(own):
            return None
        shares = options.get("shares")
        if shares is None:
            return cls(facts, own)
        if not are_shares(shares) or shares.keys() != {"gram", "cross", "squares"}:
            return None
        cross = next(block for block in own[-1].blocks if block.statistic == "cross")
        norm = next((event.norm for event in of_kind(PublicOutcomesEvent, own)), None)
        rate = next((event.rate for event in of_kind(SampledEvent, own)), None)
        return cls(facts, (), cross.rows, cross.columns, shares, norm, rate)


def _is_complete(events: Sequence[BlockEvent]) -> bool:
    """Whether events are X'X and X'Y, and perhaps y'y of private outcomes, X'X alone perhaps of a sample."""
    found = [[block.statistic for block in event.blocks] for event in events]
    sampled = len(events) == 2 and bool(of_kind(SampledEvent, events[:1])) and found[0] == ["gram"]
    rest = found[-1] if sampled else [*found[-1][1:]] if len(events) == 1 and found[0][:1] == ["gram"] else []
    private = bool(of_kind(GaussianEvent, events[-1:]))
    return rest == ["cross"] or (rest == ["cross", "squares"] and private) if rest else False
