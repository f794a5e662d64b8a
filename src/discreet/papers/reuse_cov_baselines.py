"""What ReuseCov is held against: one private regression for each outcome, at its part of the budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from discreet.core.checks import Neighbors
from discreet.data.moments import Moments
from discreet.gate.session import promised
from discreet.models.linear import DPLinearRegression
from discreet.privacy import gdp
from discreet.results.results import Results


def independent_runs(
    moments: Moments,
    targets: Sequence[str],
    features: Sequence[str] | None = None,
    *,
    epsilon: float,
    delta: float,
    runs: int | None = None,
    rows: int | None = None,
    neighbors: Neighbors = "add-remove",
    random_state: Any = None,
) -> list[Results]:
    """Fit every outcome by a release of its own, such that all of them together keep one promise, exactly.

    The runs are Gaussian, so each may cost mu/sqrt(runs); its own certificate says what that is at `delta`.

    Parameters
    ----------
    moments : Moments
        The exact moments of the private table.
    targets : sequence of str
        The outcomes to fit.
    features : sequence of str, optional
        The features; all columns that are no outcomes by default.
    epsilon, delta : float
        The promise of all runs together.
    runs : int, optional
        How many runs the promise is for; as many as outcomes by default. A study of exchangeable outcomes may fit some.
    rows, neighbors, random_state
        As in `DPLinearRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Domain
    >>> X = np.random.default_rng(0).uniform(0, 1, (5000, 1))
    >>> domain = Domain.from_bounds(["x"], ["a", "b"], bounds_X=(0, 1), bounds_y=(0, 1))
    >>> moments = Moments.from_source((X, np.hstack([X, X])), domain, targets=["a", "b"])
    >>> fitted = independent_runs(moments, ["a", "b"], epsilon=1, delta=1e-6)
    >>> round(fitted[0].certificate.guarantee.epsilon, 2)
    0.69
    """
    promise = promised(epsilon, delta, rows, neighbors)
    mu = gdp.mu(epsilon=promise.epsilon, delta=promise.delta) / math.sqrt(runs or len(targets))
    own = gdp.epsilon(mu=mu, delta=promise.delta)
    given = {"epsilon": own, "delta": promise.delta, "rows": rows, "neighbors": neighbors, "random_state": random_state}
    names = [name for name in moments.domain.columns if name not in set(moments.targets)]
    fits = []
    for target in targets:
        chosen = [name for name in names if name != target] if features is None else features
        fits.append(DPLinearRegression(**given).fit_moments(moments, target, chosen).results_)
    return fits
