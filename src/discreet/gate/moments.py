"""The gate: the only file that sees both exact moments and noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.core.rounding import down, up
from discreet.data.histogram import Histogram
from discreet.data.moments import Moments, outcome_names
from discreet.domain import CONSTANT, LATTICE_BITS, Domain
from discreet.errors import DataError, ParameterError
from discreet.gate.randomness import Entropy, add_rounded_normal, entropy
from discreet.gate.session import Release, check_rows
from discreet.privacy import gdp, sensitivity
from discreet.privacy.events.gaussian import Block, GaussianEvent, Statistic
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.split import Sizes, shares_of
from discreet.released.grid import GridValues, grid_exponent
from discreet.results.private_moments import PrivateMoments

DEFAULT_SHARES = {"gram": 0.4, "cross": 0.55, "squares": 0.05}
"""How mu^2 is split between X'X, X'y and y'y when one outcome is named."""


@dataclass(frozen=True)
class Want:
    """A statistic to release and its share of mu^2."""

    statistic: Statistic
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    share: float


def release(
    moments: Moments,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    targets: Sequence[str] | None = None,
    shares: Mapping[str, float] | None = None,
    rows: int | None = None,
    neighbors: Neighbors = "add-remove",
    random_state: Any = None,
) -> PrivateMoments:
    """Add noise to exact moments, once, and certify the result.

    Parameters
    ----------
    moments : Moments
        The exact moments of the private table.
    epsilon, delta : float
        The promise. `delta` is 1/rows^2 when it is None and `rows` is given.
    targets : sequence of str, optional
        The outcomes. By default every column may be outcome or feature later, and the whole Gram matrix is
        released; naming the outcomes leaves out products that will not be needed and so takes less noise.
    shares : mapping, optional
        Shares of the budget (of mu^2) for ``"gram"`` (X'X), ``"cross"`` (X'y) and ``"squares"`` (y'y), with
        `targets`; 0.4, 0.55 and 0.05 by default for one outcome, and for several as `privacy.split` says. A share of
        0 leaves a block out.
    rows : int, optional
        The public, rounded number of rows, declared by you. It is never read from the data.
    neighbors : {"add-remove", "replace-one"}
        Whether one person's presence or one person's content is hidden.
    random_state : None
        For simulation only: a seed gives noise that can be subtracted, and the certificate says so.

    Returns
    -------
    PrivateMoments
        Public; good for any number of models.

    Examples
    --------
    >>> X = np.linspace(0, 1, 1000)[:, None]
    >>> domain = Domain.from_bounds(["x"], ["y"], bounds_X=(0, 1), bounds_y=(0, 1))
    >>> release(Moments.from_source((X, X), domain), epsilon=1, delta=1e-6)
    PrivateMoments(2 columns, epsilon=1, delta=1e-06, verified)
    """
    if not isinstance(moments, Moments):
        raise ParameterError("moments must be Moments: sum up the table first, with Moments.from_source(...).")
    promise = promised(epsilon, delta, rows, neighbors)
    wants = _wants(moments.domain, (moments.targets or None) if targets is None else targets, shares, promise.neighbors)
    return release_verified(moments, wants, promise, "moments", rows, random_state)


def promised(epsilon: Any, delta: Any, rows: Any, neighbors: Any, *, pure: bool = False) -> Guarantee:
    """Check the parameters of a promise; that of pure epsilon has delta = 0, which need not be given."""
    rows = checks.rows(rows)
    if pure and not (delta is None or (checks.is_real(delta) and delta == 0)):
        raise ParameterError(f"delta={delta!r} is more than needed: this promise has delta = 0. Leave delta out.")
    failure = 0.0 if pure else checks.delta(delta, rows)
    return Guarantee(checks.epsilon(epsilon), failure, checks.neighbors(neighbors), "verified")


@dataclass(frozen=True)
class Counts:
    """Noisy counts of an outcome, released before the moments; `source` goes on with the same random words."""

    declared: Domain
    event: GaussianEvent
    values: GridValues
    source: Entropy

    def floats(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The noisy counts."""
        return self.values.floats()


def release_counts(histogram: Histogram, share: float, promise: Guarantee, random_state: Any) -> Counts:
    """Release a histogram with a share of mu^2; what is left goes to the moments, by `release_verified`."""
    want = Want("counts", (), (histogram.column,), 1.0)
    mu = gdp.mu(epsilon=promise.epsilon, delta=promise.delta) * math.sqrt(share)
    (block,) = calibrate([want], histogram.domain, promise.neighbors, mu)
    event = GaussianEvent(sensitivity.mu([block], histogram.domain, promise.neighbors), (block,))
    _check_sds([block])
    check_rows(histogram.integers().sum())
    exact = histogram.integers() * (1 << (2 * LATTICE_BITS))
    release = Release.begin(promise, "counts and moments", None, random_state)
    release.charge(mu=gdp.mu(epsilon=promise.epsilon, delta=promise.delta))
    return Counts(histogram.domain, event, _noisy(exact, _sds(block)[0], release.source), release.source)


def release_verified(
    moments: Moments,
    wants: Sequence[Want],
    promise: Guarantee,
    method: str,
    rows: int | None,
    random_state: Any,
    before: Counts | None = None,
) -> PrivateMoments:
    """Calibrate noise exactly to what the promise leaves after earlier counts, and release."""
    mu = gdp.mu(epsilon=promise.epsilon, delta=promise.delta)
    if before is not None:
        mu = down(math.sqrt((mu - before.event.mu) * (mu + before.event.mu)))
    blocks = calibrate(wants, moments.domain, promise.neighbors, mu)
    return release_blocks(moments, blocks, promise, method, rows, random_state, before)


def calibrate(wants: Sequence[Want], domain: Domain, neighbors: Neighbors, mu: float) -> list[Block]:
    """The least noise that costs mu, with mu^2 split by the shares."""
    total = math.fsum(want.share for want in wants)
    blocks = []
    for want in wants:
        unit = Block(want.statistic, want.rows, want.columns, 1.0)
        change = sensitivity.sensitivity(unit, domain, neighbors)
        blocks.append(replace(unit, sd=change / (mu * math.sqrt(want.share / total))))
    excess = up(sensitivity.mu(blocks, domain, neighbors) / mu)
    return [replace(block, sd=block.sd * excess) for block in blocks]


def release_blocks(
    moments: Moments,
    blocks: Sequence[Block],
    promise: Guarantee,
    method: str,
    rows: int | None,
    random_state: Any,
    before: Counts | None = None,
) -> PrivateMoments:
    """Draw noise of the given sds, once everything that can go wrong has been checked."""
    source = entropy(random_state) if before is None else before.source
    release = Release.go_on(promise, method, rows, source)
    event = GaussianEvent(sensitivity.mu(blocks, moments.domain, promise.neighbors), tuple(blocks))
    events = (event,) if before is None else (before.event, event)
    declared = None if before is None or before.declared == moments.domain else before.declared
    certificate = release.certify(moments.domain, *events, declared=declared)
    _check_sds(blocks)
    check_rows(moments.integers([0], [0])[0])
    exact = [_exact(moments, block) for block in blocks]
    if before is None:
        release.charge(mu=event.mu, epsilon=certificate.epsilon)
    values = tuple(
        tuple(_noisy(part, sd, source) for part, sd in zip(parts, _sds(block), strict=True))
        for block, parts in zip(blocks, exact, strict=True)
    )
    return PrivateMoments(certificate, values if before is None else ((before.values,), *values))


def _check_sds(blocks: Sequence[Block]) -> None:
    try:
        for block in blocks:
            for sd in _sds(block):
                grid_exponent(sd)
    except ParameterError:
        raise ParameterError(
            "This promise needs noise that cannot be added exactly: its sd must lie between 2^-10 and 2^42 in units "
            "of the mapped columns. Choose an epsilon that is less extreme."
        ) from None


def _noisy(part: np.ndarray[Any, Any], sd: float, source: Entropy) -> GridValues:
    integers, exponent = add_rounded_normal(part, sd, source)
    return GridValues(exponent, tuple(integers.tolist()))


def _sds(block: Block) -> list[float]:
    """Noise sds in lattice units, in the order of `_exact`."""
    return [math.ldexp(sd, 2 * LATTICE_BITS) for sd in block.sds]


def _exact(moments: Moments, block: Block) -> list[np.ndarray[Any, Any]]:
    """The exact statistic as integers: diagonal and upper triangle of a Gram matrix, all values of another."""
    X, Y = (np.array(moments.domain.indices(names), dtype=int) for names in (block.rows, block.columns))
    if block.statistic == "gram":
        i, j = np.triu_indices(len(X), k=1)
        return [moments.integers(X, X), moments.integers(X[i], X[j])]
    if block.statistic == "cross":
        return [moments.integers(np.repeat(X, len(Y)), np.tile(Y, len(X)))]
    if block.statistic == "squares":
        return [moments.integers(Y, Y)]
    return [np.array([_least_eigenvalue(moments, X.tolist())], dtype=object)]


def _least_eigenvalue(moments: Moments, indices: list[int]) -> int:
    if int(moments.integers([0], [0])[0]) > sensitivity.MAX_ROWS << (2 * LATTICE_BITS):
        raise DataError("The table is too large for the release of an eigenvalue in floating point.")
    least = np.linalg.eigvalsh(moments.floats(indices))[0]
    return round(math.ldexp(float(least), 2 * LATTICE_BITS))


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
    blocks: list[tuple[Statistic, tuple[str, ...], tuple[str, ...]]] = [
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
