"""A release of a table for later models: in stages where the outcomes are named, of all products where they are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.data.moments import Moments, outcome_names
from discreet.data.reading import Progress, Unread
from discreet.data.stages import Readings
from discreet.domain import Domain
from discreet.domain.domain import every_level
from discreet.errors import ParameterError
from discreet.gate.moments import release_moments
from discreet.gate.session import Session, promised
from discreet.gate.stages import MOST_STAGES, Stages, release_stages, stages_suit
from discreet.results.private_moments import PrivateMoments


def release(
    moments: Any,
    *,
    domain: Domain | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    targets: Sequence[str] | None = None,
    shares: Mapping[str, float] | None = None,
    stages: Stages = "auto",
    rows: int | None = None,
    neighbors: Neighbors = "add-remove",
    n_jobs: int | None = None,
    progress: bool | Progress = False,
    random_state: Any = None,
) -> PrivateMoments:
    """Add noise to what models need of a table, once, and certify the result.

    Parameters
    ----------
    moments : Moments, or a source of rows
        The exact moments of the private table; or the table itself, as for `Moments.from_source`, with its `domain`.
        Only rows can be released in stages.
    domain : Domain, optional
        Public bounds and levels of a table.
    epsilon, delta : float
        The promise. `delta` is 1/rows^2 when it is None and `rows` is given.
    targets : sequence of str, optional
        The outcomes. By default every column may be outcome or feature later, and the whole Gram matrix is
        released; naming the outcomes leaves out products that will not be needed and so takes less noise, and lets
        rows be released in stages, as `DPLinearRegression` does: all other columns are then features.
    shares : mapping, optional
        Shares of the budget (of mu^2) for ``"gram"`` (X'X), ``"cross"`` (X'y) and ``"squares"`` (y'y), with
        `targets`, in one stage; 0.4, 0.55 and 0.05 by default for one outcome, and for several as `privacy.split` says.
        A share of 0 leaves a block out.
    stages : int or "auto"
        How many stages a table with named outcomes is released in; 1 keeps all bounds as declared.
    rows : int, optional
        The public, rounded number of rows, declared by you. It is never read from the data.
    neighbors : {"add-remove", "replace-one"}
        Whether one person's presence or one person's content is hidden.
    n_jobs : int, optional
        Threads that read a table; all cores by default.
    progress : bool or callable
        Show a progress bar while a table is read, or call this with the fraction done.
    random_state : None
        For simulation only: a seed gives noise that can be subtracted, and the certificate says so.

    Returns
    -------
    PrivateMoments
        Public; good for any number of models.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 1, 1000)[:, None]
    >>> domain = Domain.from_bounds(["x"], ["y"], bounds_X=(0, 1), bounds_y=(0, 1))
    >>> release(Moments.from_source((X, X), domain), epsilon=1, delta=1e-6)
    PrivateMoments(2 columns, epsilon=1, delta=1e-06, verified)
    >>> len(release((X, X), domain=domain, epsilon=1, delta=1e-6, targets=["y"], stages=2).stages)
    2
    """
    session = Session(promised(epsilon, delta, rows, neighbors), "moments", rows, random_state)
    checks.choice("stages", stages, ("auto", *range(1, MOST_STAGES + 1)))
    if isinstance(moments, Moments) == isinstance(domain, Domain):
        raise ParameterError(
            "moments must be Moments: sum up the table first, with Moments.from_source(...). Or give the table itself, "
            "and domain=, the public bounds of its columns; Moments have a domain of their own."
        )
    if domain is not None and targets is not None and shares is None and stages != 1:
        table = Unread.of(moments, domain, n_jobs, progress)
        if stages_suit(domain, targets, once=table.reader.once, asked=stages != "auto"):
            return release_stages(Readings.of(table), *_design(domain, targets), stages, session)
    elif stages not in ("auto", 1):
        raise ParameterError("stages= needs the table itself and named outcomes, and goes without shares=.")
    if domain is not None:
        moments = Moments.from_source(moments, domain, targets=targets, n_jobs=n_jobs, progress=progress)
    return release_moments(moments, targets, shares, session)


def _design(domain: Domain, targets: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The coordinates of all columns that are not outcomes, nor made of one, and those of the outcomes."""
    outcomes = outcome_names(domain, targets)
    own = {domain.column_of[name] for name in outcomes}
    features = [name for name in domain.columns if name not in own and not domain.made_of(name) & own]
    return every_level(domain, features, domain.design_names(features)), outcomes
