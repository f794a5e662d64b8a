"""The gate of moments: X'X, X'y and y'y with noise, and counts of an outcome before them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.core.rounding import down, up
from discreet.data.counts import Histogram, Margins
from discreet.data.moments import Moments, outcome_names
from discreet.data.row_sums import RowSums
from discreet.domain import CONSTANT, LATTICE_BITS, Domain
from discreet.domain.unit import WEIGHT_BITS, Unit
from discreet.errors import ParameterError
from discreet.gate.entropy import Entropy
from discreet.gate.noise import add_normal_on_grid
from discreet.gate.session import Session, check_rows
from discreet.privacy import sensitivity
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.privacy.split import Sizes, shares_of
from discreet.released.grids import GridValues
from discreet.results.private_moments import PrivateMoments
from discreet.statistics.space import Space

Integers = NDArray[Any]
Noise = list[tuple[float, int, int]]
"""Of each part of a block: sd and exponent of the grid in units of the exact sums, and by how many bits these are finer
than 2^-40."""
DEFAULT_SHARES = {"gram": 0.4, "cross": 0.55, "squares": 0.05}
"""How mu^2 is split between X'X, X'y and y'y when one outcome is named."""


@dataclass(frozen=True)
class Want:
    """A statistic to release and its share of mu^2."""

    statistic: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    share: float


def release_moments(
    moments: Moments, targets: Sequence[str] | None, shares: Mapping[str, float] | None, session: Session
) -> PrivateMoments:
    """Release exact moments: those that models of some outcomes need, with shares of mu^2, or all."""
    named = (moments.targets or None) if targets is None else targets
    return release_wants(moments, _wants(moments.domain, named, shares, session.promise.neighbors), session)


def release_wants(moments: Moments, wants: Sequence[Want], session: Session) -> PrivateMoments:
    """Release moments with the least noise that keeps the promise."""
    return release_blocks(moments, calibrate(wants, moments.domain, session.promise.neighbors, session.mu), session)


def release_blocks(moments: Moments, blocks: Sequence[Block], session: Session) -> PrivateMoments:
    """Release moments with noise of the given sds."""
    event = GaussianEvent(sensitivity.mu(blocks, moments.domain, session.promise.neighbors), tuple(blocks))
    certificate = session.certify(moments.domain, event)
    unit = moments.domain.unit
    noise = block_noise(blocks, unit)
    check_rows(moments.count)
    exact = exact_blocks(moments, blocks)
    entropy = session.charge(moments.domain, mu=event.mu, epsilon=certificate.epsilon)
    values = noisy_blocks(exact, noise, entropy)
    return PrivateMoments(session.commit(certificate), values)


@dataclass(frozen=True)
class Counts:
    """Noisy counts of an outcome."""

    event: GaussianEvent
    values: GridValues

    def floats(self) -> NDArray[np.float64]:
        """The noisy counts."""
        return self.values.floats()


def release_counted(
    histogram: Histogram,
    moments: Moments,
    wants: Sequence[Want],
    share: float,
    narrowed: Callable[[Counts], Moments],
    session: Session,
) -> PrivateMoments:
    """Release counts of an outcome, and then moments for the bounds that these call for.

    Parameters
    ----------
    histogram, moments : Histogram, Moments
        The exact counts, and the exact moments for the bounds as declared.
    wants : sequence of Want
        What to release of the moments, with all of mu^2 that the counts leave.
    share : float
        The share of mu^2 for the counts.
    narrowed : callable
        The exact moments for the bounds that noisy counts call for.
    session : Session
        It is charged with both.
    """
    declared, neighbors = histogram.domain, session.promise.neighbors
    unit = declared.unit
    (block,) = calibrate(
        [Want("counts", (), (histogram.column,), 1.0)], declared, neighbors, session.mu * math.sqrt(share)
    )
    first = GaussianEvent(sensitivity.mu([block], declared, neighbors), (block,))
    left = down(math.sqrt((session.mu - first.mu) * (session.mu + first.mu)))
    noise, *_ = block_noise([block, *calibrate(wants, declared, neighbors, left)], unit)
    check_rows(histogram.count)
    check_rows(moments.count)
    exact = exact_counts(histogram, block)
    entropy = session.charge(declared, mu=session.mu)
    (values,) = noisy_blocks([exact], [noise], entropy)
    moments = narrowed(Counts(first, *values))
    blocks = calibrate(wants, moments.domain, neighbors, left)
    second = GaussianEvent(sensitivity.mu(blocks, moments.domain, neighbors), tuple(blocks))
    bounds = None if declared == moments.domain else declared
    certificate = session.certify(moments.domain, first, second, declared=bounds)
    noises = block_noise(blocks, unit)
    check_rows(moments.count)
    more = noisy_blocks(exact_blocks(moments, blocks), noises, entropy)
    return PrivateMoments(session.commit(certificate), (values, *more))


def calibrate(wants: Sequence[Want], domain: Space, neighbors: Neighbors, mu: float) -> list[Block]:
    """The least noise that costs mu, with mu^2 split by the shares."""
    total = math.fsum(want.share for want in wants)
    units = [Block(want.statistic, want.rows, want.columns, 1.0) for want in wants]
    changes = zip(wants, units, sensitivity.sensitivities(units, domain, neighbors), strict=True)
    blocks = [replace(unit, sd=change / (mu * math.sqrt(want.share / total))) for want, unit, change in changes]
    excess = up(sensitivity.mu(blocks, domain, neighbors) / mu)
    return [replace(block, sd=block.sd * excess) for block in blocks]


def block_noise(blocks: Sequence[Block], unit: Unit) -> list[Noise]:
    """The noise of the parts of blocks; refuses what is too small or too large to be added exactly."""
    more = 0 if unit.plain else WEIGHT_BITS
    try:
        found = [[(math.ldexp(sd, more), m + more, more) for sd, m in block.noise] for block in blocks]
        if any(m > _MOST_EXPONENT for own in found for _, m, _ in own):
            raise ParameterError("too large")
        return found
    except ParameterError:
        raise ParameterError(
            f"This promise needs noise that cannot be added exactly: its sd must lie between 2^-10 and "
            f"2^{42 - more} in units of the mapped columns. Choose an epsilon that is less extreme"
            f"{'' if unit.person is None else ', or fewer rows_per_person'}."
        ) from None


_MOST_EXPONENT = 52
"""Of a grid: remainders are exact doubles."""


def exact_counts(histogram: Histogram, block: Block) -> list[Integers]:
    """The exact counts that a block is about, in units of 2^-40, or of 2^-60 where rows are weighted."""
    return [histogram.integers(block.span) * (1 << (2 * LATTICE_BITS))]


def exact_blocks(moments: Moments | Margins | RowSums, blocks: Sequence[Block]) -> list[list[Integers]]:
    """The exact statistics that blocks are about; margins have sums and squares alone."""
    if isinstance(moments, RowSums):
        return [moments.integers(block) for block in blocks]
    indices = moments.domain.indices
    places = [[np.array(indices(names), dtype=int) for names in (block.rows, block.columns)] for block in blocks]
    return [block.kind.from_products(moments, X, Y) for block, (X, Y) in zip(blocks, places, strict=True)]


def noisy_blocks(
    exact: Sequence[list[Integers]], noise: Sequence[Noise], entropy: Entropy
) -> tuple[tuple[GridValues, ...], ...]:
    """Exact statistics with their `block_noise`."""
    return tuple(
        tuple(
            GridValues(m - more, tuple(add_normal_on_grid(part, sd, m, entropy).tolist()))
            for part, (sd, m, more) in zip(parts, own, strict=True)
        )
        for parts, own in zip(exact, noise, strict=True)
    )


def _wants(
    domain: Domain, targets: Sequence[str] | None, shares: Mapping[str, float] | None, neighbors: Neighbors
) -> list[Want]:
    names = [entry.name for entry in domain.entries if domain.intercept or entry.name != CONSTANT]
    if targets is None:
        if shares is not None:
            raise ParameterError("shares= needs targets=: without outcomes there is one block and nothing to share.")
        return [Want("gram", tuple(names), (), 1.0)]
    outcomes = outcome_names(domain, targets)
    taken = {domain.entries[i].column for i in domain.indices(outcomes)}
    features = tuple(name for name in names if domain.entries[domain.indices([name])[0]].column not in taken)
    if not features:
        raise ParameterError("Every column is an outcome; leave at least one as a feature.")
    split = check_shares({} if shares is None else shares, _default_shares(domain, features, outcomes, neighbors))
    blocks: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = [
        ("gram", features, ()),
        ("cross", features, outcomes),
        ("squares", (), outcomes),
    ]
    return [Want(kind, rows, columns, split[kind]) for kind, rows, columns in blocks if split[kind] > 0]


def _default_shares(
    domain: Domain, features: Sequence[str], outcomes: Sequence[str], neighbors: Neighbors
) -> Mapping[str, float]:
    """The split for one outcome, or what public figures say is best for several."""
    if len(outcomes) == 1:
        return DEFAULT_SHARES
    norms = sensitivity.norm(features, domain), sensitivity.norm(outcomes, domain)
    return shares_of(Sizes(len(features), len(outcomes), *norms, neighbors))


def check_shares(shares: Mapping[str, float], defaults: Mapping[str, float]) -> dict[str, float]:
    """Shares of the budget: at least 0, of known blocks, X'X and X'y not left out, made to add up to 1."""
    if not isinstance(shares, Mapping):
        raise ParameterError(f"shares must be a mapping, for example {dict(defaults)}.")
    unknown = sorted(set(shares) - set(defaults), key=str)
    if unknown:
        raise ParameterError(f"shares names {unknown[0]!r}; known are {', '.join(defaults)}.")
    split = {**defaults, **shares}
    for name, share in split.items():
        if not checks.is_real(share) or not 0 <= share < math.inf or (share == 0 and name != "squares"):
            raise ParameterError(f"The share of {name!r} must be a number above 0, got {share!r}.")
    total = math.fsum(split.values())
    return {name: share / total for name, share in split.items()}
