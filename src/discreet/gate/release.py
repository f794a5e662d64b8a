"""A release of a table for later models: in stages where the outcomes are named, of all products where they are not."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.core.old_keywords import renamed
from discreet.data.moments import Moments, outcome_names
from discreet.data.reading import Progress, Unread
from discreet.data.stages import Readings
from discreet.domain import Domain
from discreet.domain.levels import every_level
from discreet.domain.models import of_models
from discreet.errors import DiscreetWarning, ParameterError
from discreet.gate.moments import release_moments
from discreet.gate.session import Session, promised
from discreet.gate.stages import (
    COVARIANCES,
    MOST_STAGES,
    Covariance,
    Stages,
    refuse_robust,
    release_stages,
    stages_suit,
)
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
    progress: bool | Progress = False,
    random_state: Any = None,
) -> PrivateMoments:
    """Add noise to what models need of a table, once, and certify the result: public, for any number of models.

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
        Instead: formulas of the models to come. Their columns alone are read, so ``missing="drop"`` leaves out rows for
        these alone.
    shares : mapping, optional
        Shares of mu^2 for ``"gram"`` (X'X), ``"cross"`` (X'y) and ``"squares"`` (y'y), with `targets`, in one stage:
        0.4, 0.55 and 0.05 by default for one outcome, for several as `privacy.split` says. 0 leaves a block out.
    stages, covariance : int or "auto", and {"auto", "robust", "classical"}
        How many stages a table with named outcomes has, 1 keeping all bounds as declared; and whether they tell what
        robust standard errors need. See `DPLinearRegression`.
    rows, neighbors, n_jobs, progress, random_state
        As for the estimators: the public number of rows, who is hidden, threads, a progress bar, seeds for simulation.

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
    return _release(table, domain, targets, shares, (stages, covariance), session, (n_jobs, progress))


def _release(
    moments: Any,
    domain: Domain | None,
    targets: Sequence[str] | None,
    shares: Mapping[str, float] | None,
    way: tuple[Stages, Covariance],
    session: Session,
    reading: tuple[int | None, bool | Progress],
) -> PrivateMoments:
    """A release in stages where it can be, and is asked for; else of moments."""
    stages, covariance = way
    if domain is not None and targets is not None and shares is None and stages != 1:
        table = Unread.of(moments, domain, *reading)
        if stages_suit(domain, targets, once=table.reader.once, asked=stages != "auto"):
            return release_stages(Readings.of(table), *_design(domain, targets), stages, session, covariance)
    elif stages not in ("auto", 1):
        raise ParameterError("stages= needs the table itself and named outcomes, and goes without shares=.")
    refuse_robust(covariance)
    if domain is not None:
        moments = Moments.from_source(moments, domain, targets=targets, n_jobs=reading[0], progress=reading[1])
    return release_moments(moments, targets, shares, session)


def _asked(
    domain: Domain, targets: Sequence[str] | None, features: Sequence[str] | None, models: str | Sequence[str] | None
) -> tuple[Domain, Sequence[str] | None]:
    """The columns that are to be read, and the outcomes among them."""
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
    if isinstance(table, Moments) == isinstance(domain, Domain):
        raise ParameterError(
            "moments must be Moments: sum up the table first, with Moments.from_source(...). Or give the table itself, "
            "and domain=, the public bounds of its columns; Moments have a domain of their own."
        )


def _design(domain: Domain, targets: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The coordinates of all columns that are not outcomes, nor made of one, and those of the outcomes."""
    outcomes = outcome_names(domain, targets)
    own = {domain.column_of[name] for name in outcomes}
    features = [name for name in domain.columns if name not in own and not domain.made_of(name) & own]
    return every_level(domain, features, domain.design_names(features)), outcomes
