"""A release of a table for later models: in stages where the outcomes are named, of all products where they are not."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.core.old_keywords import renamed
from discreet.data.device.device import as_device
from discreet.data.moments import Moments, outcome_names
from discreet.data.reading import Progress, Table
from discreet.data.stages import Readings
from discreet.domain import CONSTANT, Domain
from discreet.domain.levels import every_level
from discreet.domain.models import of_models
from discreet.drivers.run import release_moments
from discreet.drivers.sources import MomentsSource, StagedSource
from discreet.errors import DiscreetWarning, ParameterError
from discreet.gate.session import Session, promised
from discreet.privacy import sensitivity
from discreet.privacy.split import Sizes, shares_of
from discreet.recipes import budget
from discreet.recipes.budget import MOST_STAGES
from discreet.recipes.glm_geometry import WIDEST
from discreet.recipes.linear import Linear
from discreet.recipes.moments import MomentsOnce
from discreet.recipes.noise import StatisticRequest
from discreet.recipes.staged import COVARIANCES, Covariance, Stages
from discreet.results.private_moments import PrivateMoments


@renamed(moments="table")
def release(
    table: Any,
    *,
    domain: Domain | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    targets: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    models: str | Sequence[str] | None = None,
    shares: Mapping[str, float] | None = None,
    stages: Stages = "auto",
    covariance: Covariance = "auto",
    rows: int | None = None,
    neighbors: Neighbors = "add-remove",
    n_jobs: int | None = None,
    device: str | None = None,
    progress: bool | Progress = False,
    random_state: Any = None,
) -> PrivateMoments:
    """Release noisy statistics of a table once, with a certificate: public, for any number of models.

    Parameters
    ----------
    table, domain : a source of rows, and Domain; or Moments
        The private table, as for `Moments.from_source`, with its bounds and levels; or the exact moments of it.
    epsilon, delta : float
        The promise. `delta` is 1/rows^2 when it is None and `rows` is given.
    targets : sequence of str, optional
        The outcomes. By default every column may be outcome or feature later, and the whole Gram matrix is released.
        Naming them takes less noise, and lets a table be released in stages, with all other columns as features.
    features : sequence of str, optional
        The features; no other columns but these and the outcomes are read then.
    models : str or sequence of str, optional
        Instead: formulas of the models to come; their columns alone are read, and looked at by ``missing="drop"``.
    shares : mapping, optional
        Shares of mu^2 for ``"gram"`` (X'X), ``"cross"`` (X'y) and ``"squares"`` (y'y), with `targets`, in one stage:
        0.4, 0.55 and 0.05 by default for one outcome, for several as `privacy.split` says. 0 leaves a block out.
    stages, covariance : int or "auto", and {"auto", "robust", "classical"}
        The number of stages of a table with named outcomes, 1 keeping all bounds as declared; and whether they release
        the score products that robust standard errors need. See `DPLinearRegression`.
    rows, neighbors, n_jobs, device, progress, random_state
        As for the estimators: the public number of rows, the relation, threads, a device, a progress bar, random seeds.

    Examples
    --------
    >>> import numpy as np
    >>> X, domain = np.linspace(0, 1, 1000)[:, None], Domain({"x": (0, 1), "y": (0, 1)})
    >>> release(Moments.from_source((X, X), domain), epsilon=1, delta=1e-6)
    PrivateMoments(2 columns, epsilon=1, delta=1e-06, verified)
    >>> len(release((X, X), domain=domain, epsilon=1, delta=1e-6, targets=["y"], stages=2).stages)
    2
    """
    session = Session(promised(epsilon, delta, rows, neighbors), "moments", rows, random_state)
    checks.choice("covariance", covariance, COVARIANCES)
    _check(table, domain, stages)
    if isinstance(domain, Domain):
        domain, targets = _asked(domain, targets, features, models)
    elif features is not None or models is not None:
        raise ParameterError("features= and models= need the table itself: Moments hold the columns that they hold.")
    return _release(table, domain, targets, shares, (stages, covariance), session, (n_jobs, progress, device))


def _release(
    moments: Any,
    domain: Domain | None,
    targets: Sequence[str] | None,
    shares: Mapping[str, float] | None,
    way: tuple[Stages, Covariance],
    session: Session,
    reading: tuple[int | None, bool | Progress, str | None],
) -> PrivateMoments:
    """Release in stages if that is possible and asked for; else release moments."""
    stages, covariance = way
    jobs, progress, device = *reading[:2], as_device(reading[2])
    if domain is not None and targets is not None and shares is None and stages != 1:
        table = Table.of(moments, domain, jobs, progress, device)
        if stages_suit(domain, targets, once=table.reader.once, asked=stages != "auto"):
            recipe = Linear(session.facts(domain), *_design(domain, targets), stages, covariance)
            return release_moments(recipe, StagedSource(Readings.of(table)), session)
    elif stages not in ("auto", 1):
        raise ParameterError("stages= needs the table itself and named outcomes, and goes without shares=.")
    refuse_robust(covariance)
    if domain is not None:
        moments = Moments.from_source(moments, domain, targets=targets, n_jobs=jobs, device=device, progress=progress)
    requests = _requests(moments.domain, (moments.targets or None) if targets is None else targets, shares, session)
    recipe_of_moments = MomentsOnce(session.facts(moments.domain), requests=tuple(requests))
    return release_moments(recipe_of_moments, MomentsSource(moments), session)


def _asked(
    domain: Domain, targets: Sequence[str] | None, features: Sequence[str] | None, models: str | Sequence[str] | None
) -> tuple[Domain, Sequence[str] | None]:
    """Return the columns to be read, and the outcomes among them."""
    if models is not None:
        if features is not None:
            raise ParameterError("Give either models=, or targets= and features=.")
        domain, outcomes = of_models(domain, models)
        return domain, outcomes if targets is None else targets
    if features is not None:
        columns = [domain.entries[domain.target(name)].column for name in targets or ()]
        return domain.select(dict.fromkeys([*features, *columns])), targets
    if domain.missing == "drop" and len(domain.inputs) > 2:
        warnings.warn(
            f"missing='drop' leaves out each row that lacks a value of any of the {len(domain.inputs)} declared "
            f"columns ({', '.join(domain.inputs)}), for every model of this release, whether it uses them or not. To "
            "leave out rows for the columns that models use alone, name the models: models=['income ~ age + sex'], or "
            "--formula.",
            DiscreetWarning,
            stacklevel=4,
        )
    return domain, targets


def _check(table: Any, domain: Any, stages: Stages) -> None:
    checks.choice("stages", stages, ("auto", *range(1, MOST_STAGES + 1)))
    if isinstance(table, Moments):
        if domain is not None:
            raise ParameterError("Moments have a domain of their own: leave out domain=, or give the table itself.")
    elif not isinstance(domain, Domain):
        raise ParameterError(
            "A table needs domain=, the public bounds and levels of its columns: a Domain, for example "
            "Domain({'age': (18, 90), 'income': (0, 200_000)}), or one that Domain.from_file read. Moments, the exact "
            "sums of a table, need none."
        )


def _design(domain: Domain, targets: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the coordinates of all columns that are neither outcomes nor derived from one, and of the outcomes."""
    outcomes = outcome_names(domain, targets)
    own = {domain.column_of[name] for name in outcomes}
    features = [name for name in domain.columns if name not in own and not domain.made_of(name) & own]
    return every_level(domain, features, domain.design_names(features)), outcomes


# ---------------------------------------------------------------- which tables have stages


WIDE = WIDEST
"""Tables with more coordinates have one stage by default: several stages take time with the cube of their number, a
hundred times over, and memory with its square."""


def stages_suit(domain: Domain, targets: Sequence[str], *, once: bool, asked: bool) -> bool:
    """Whether a table can be released in stages; refuse where it cannot and stages are asked for.

    Outcomes must have ranges of their own, and rows not be readable `once` only. A wide table has several stages only
    where they are asked for.
    """
    suit = not once and all(has_own_range(domain, name) for name in targets)
    if not asked:
        return suit and len(domain.entries) <= WIDE
    if not suit:
        raise ParameterError(
            "stages= needs outcomes that are none of the norm_columns, and rows that can be read again, so no stream. "
            "Choose stages=1 or 'auto'."
        )
    return suit


def refuse_robust(covariance: str) -> None:
    """Refuse robust standard errors where a release has no stages."""
    if covariance == "robust":
        raise ParameterError(
            "covariance='robust' needs the table in two stages or more: the last one tells how the residuals vary "
            "along with the regressors. One stage, streams, summed-up moments and rows in a ball do not. Choose "
            "stages=2 or more where the table allows it, or covariance='classical'."
        )


def has_own_range(domain: Domain, target: str) -> bool:
    """Whether an outcome has a public range of its own: each number, derived or not, and each level does.

    Columns of a `data_norm` do not: they share one range.
    """
    return domain.entries[domain.target(target)].column not in domain.norm_columns


def has_own_bounds(domain: Domain, target: str) -> bool:
    """Whether an outcome is a number that is not derived, with bounds of its own."""
    column = domain.columns.get(target)
    return column is not None and bool(column.bounds) and not column.factors and has_own_range(domain, target)


# ---------------------------------------------------------------- shares of moments


def _requests(
    domain: Domain, targets: Sequence[str] | None, shares: Mapping[str, float] | None, session: Session
) -> list[StatisticRequest]:
    """Return the statistics that models of some outcomes need, or all products, with shares of mu^2."""
    names = [entry.name for entry in domain.entries if domain.intercept or entry.name != CONSTANT]
    if targets is None:
        if shares is not None:
            raise ParameterError("shares= needs targets=: without outcomes there is one block and nothing to share.")
        return [StatisticRequest("gram", tuple(names), (), 1.0)]
    outcomes = outcome_names(domain, targets)
    taken = {domain.entries[i].column for i in domain.indices(outcomes)}
    features = tuple(name for name in names if domain.entries[domain.indices([name])[0]].column not in taken)
    if not features:
        raise ParameterError("Every column is an outcome; leave at least one as a feature.")
    split = check_shares(
        {} if shares is None else shares, _default_shares(domain, features, outcomes, session.promise.neighbors)
    )
    blocks: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = [
        ("gram", features, ()),
        ("cross", features, outcomes),
        ("squares", (), outcomes),
    ]
    return [StatisticRequest(kind, rows, columns, split[kind]) for kind, rows, columns in blocks if split[kind] > 0]


def _default_shares(
    domain: Domain, features: Sequence[str], outcomes: Sequence[str], neighbors: Neighbors
) -> Mapping[str, float]:
    """Return the shares for one outcome, or those that public figures favour for several."""
    if len(outcomes) == 1:
        return budget.MOMENTS
    norms = sensitivity.norm(features, domain), sensitivity.norm(outcomes, domain)
    return shares_of(Sizes(len(features), len(outcomes), *norms, neighbors))


def check_shares(shares: Mapping[str, float], defaults: Mapping[str, float]) -> dict[str, float]:
    """Check shares of the budget, at least 0, of known blocks, X'X and X'y not left out; scale them to add up to 1."""
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
