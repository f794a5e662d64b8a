"""The gate for many outcomes: X'X from a secret sample of the rows, and outcomes that are public."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from discreet.core.progress import Progress
from discreet.core.rounding import up
from discreet.data.moments import Moments, summed
from discreet.domain import Domain
from discreet.errors import GuaranteeError
from discreet.gate.moments import Want, _check_sds, _exact, _noisy, _sds, calibrate
from discreet.gate.randomness import Entropy, entropy
from discreet.gate.samplers import sampler
from discreet.gate.session import Release, check_rows
from discreet.privacy import gdp, sensitivity
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.privacy.events.kinds import Event
from discreet.privacy.events.sampled import PublicOutcomesEvent, SampledEvent, largest_mu
from discreet.privacy.guarantee import Guarantee
from discreet.results.private_moments import PrivateMoments


@dataclass(eq=False, repr=False)
class Sample:
    """Moments whose X'X is that of a secret sample of the rows, good for one release; **confidential**."""

    moments: Moments
    rate: float
    words: Entropy = field(repr=False)
    spent: bool = False

    def __repr__(self) -> str:
        return f"Sample({self.moments!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A sample is secret and good for one release: it is not pickled.")


def draw_sample(
    source: Any,
    domain: Domain,
    targets: Sequence[str],
    rate: float,
    promise: Guarantee,
    random_state: Any,
    n_jobs: int | None,
    progress: bool | Progress,
) -> Sample:
    """Sum up a source with X'X restricted to a sample, drawn as the relation's accounting needs it."""
    words = entropy(random_state)
    rows = lambda total: sampler(rate, promise.neighbors, total, words)  # noqa: E731
    return Sample(summed(source, domain, targets, n_jobs, progress, rows), rate, words)


def release_many(
    moments: Moments | Sample,
    design: tuple[str, ...],
    outcomes: tuple[str, ...],
    shares: Mapping[str, float],
    promise: Guarantee,
    method: str,
    rows: int | None,
    random_state: Any,
    norm: float | None = None,
) -> PrivateMoments:
    """Release X'X, X'Y and y'y of many outcomes with exactly calibrated noise.

    Parameters
    ----------
    moments : Moments or Sample
        The exact moments.
    design, outcomes : tuple of str
        Coordinates of the regressors and of the outcomes.
    shares : mapping
        Of mu^2, for "gram", "cross" and "squares"; the last may be 0. Where X'X is that of a sample, the others get
        theirs, and it gets all that the promise leaves.
    promise, method, rows, random_state
        As in `release`.
    norm : float, optional
        The largest norm of a row of public outcomes; without it outcomes are private.
    """
    exact = moments.moments if isinstance(moments, Sample) else moments
    rate = moments.rate if isinstance(moments, Sample) else None
    events = calibrated(exact.domain, design, outcomes, shares, promise, rate, norm)
    return release_events(moments, events, promise, method, rows, random_state)


def calibrated(
    domain: Domain,
    design: tuple[str, ...],
    outcomes: tuple[str, ...],
    shares: Mapping[str, float],
    promise: Guarantee,
    rate: float | None,
    norm: float | None,
) -> tuple[Event, ...]:
    """The events of a release that keeps a promise with the least noise."""
    mu, neighbors = gdp.mu(epsilon=promise.epsilon, delta=promise.delta), promise.neighbors
    total = math.fsum(shares.values())
    gram, cross = Want("gram", design, (), shares["gram"]), Want("cross", design, outcomes, shares["cross"])
    squares = [Want("squares", (), outcomes, shares["squares"])] if shares.get("squares", 0.0) > 0 else []
    own = [cross, *squares] if rate is not None else [gram, cross, *squares]
    part = mu * math.sqrt(math.fsum(want.share for want in own) / total)
    if norm is None:
        blocks = calibrate(own, domain, neighbors, part)
        first: Event = GaussianEvent(sensitivity.mu(blocks, domain, neighbors), tuple(blocks))
    else:
        blocks = calibrate_public(own, domain, part, norm)
        first = PublicOutcomesEvent(sensitivity.public_mu(blocks, domain, norm), norm, tuple(blocks))
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


def release_events(
    moments: Moments | Sample,
    events: tuple[Event, ...],
    promise: Guarantee,
    method: str,
    rows: int | None,
    random_state: Any,
) -> PrivateMoments:
    """Draw the noise of some events, once everything that can go wrong has been checked."""
    exact = moments.moments if isinstance(moments, Sample) else moments
    source = moments.words if isinstance(moments, Sample) else entropy(random_state)
    release = Release.go_on(promise, method, rows, source)
    certificate = release.certify(exact.domain, *events)
    blocks = certificate.blocks
    _check_sds(blocks)
    parts = [_exact(exact, block) for block in blocks]
    if isinstance(moments, Sample):
        if moments.spent:
            raise GuaranteeError("A sample is good for one release, for a second one would not be hidden by it.")
        moments.spent = True
    else:
        check_rows(exact.integers([0], [0])[0])
    mu = None if any(event.law is not None for event in events) else gdp.compose(event.mu for event in events)
    release.charge(mu=mu, epsilon=certificate.epsilon)
    values = tuple(
        tuple(_noisy(part, sd, source) for part, sd in zip(held, _sds(block), strict=True))
        for block, held in zip(blocks, parts, strict=True)
    )
    return PrivateMoments(certificate, values)
