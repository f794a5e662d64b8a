"""What a published method must state so that its **true** epsilon is the wanted one.

Its printed noise has an exact cost under add-remove neighbours: from the blocks that were released, where they are
Gaussian; from the certificate's recomputed epsilon, for posterior samples and objective perturbation. The cost grows
with the stated epsilon and depends on no data, so it is found on a few made-up rows, and inverted by bisection.
"""

from __future__ import annotations

import math
import warnings
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import brentq

from discreet import OPS, DiscreetWarning
from discreet.models.linear import MomentsRegressor
from discreet.privacy import accounting, gdp, sensitivity

PRECISION = 1e-4
"""How far below the wanted epsilon the true one may end."""

PROTOCOL = {"data_norm": 1.0, "bounds_y": (-1, 1), "fit_intercept": False, "n_jobs": 1}


def true_epsilon(model: Any, delta: float) -> float:
    """The exact epsilon of a fitted model under add-remove neighbours."""
    if isinstance(model, MomentsRegressor):
        return gdp.epsilon(mu=_mu(model), delta=delta)
    return float(model.certificate_.epsilon)


def _true_delta(model: Any, epsilon: float) -> float:
    if isinstance(model, MomentsRegressor):
        return gdp.delta(mu=_mu(model), epsilon=epsilon)
    return accounting.delta(model.certificate_.events, epsilon)


def _mu(model: MomentsRegressor) -> float:
    return sensitivity.mu(model.certificate_.blocks, model.certificate_.domain, "add-remove")


def stated_epsilon(cls: Any, published: str, epsilon: float, delta: float, rows: int, d: int) -> float:
    """What to state for a true epsilon of `epsilon`, or up to a ten-thousandth less."""
    public = (rows, d) if issubclass(cls, OPS) else (1000, 8)  # the others' noise depends on neither
    return _stated(cls, published, epsilon, delta, *public)


def spent(cls: Any, published: str, stated: float, delta: float, rows: int, d: int) -> float:
    """The true epsilon of a published method at a stated one."""
    return true_epsilon(_fitted(cls, published, stated, delta, rows, d), delta)


def _fitted(cls: Any, published: str, stated: float, delta: float, rows: int, d: int) -> Any:
    given = {"epsilon": stated, "delta": delta, "rows": rows, "published": published, "random_state": 0}
    given["neighbors"] = getattr(cls, "paper_neighbors", "add-remove")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        return cls(**given, **PROTOCOL).fit(np.zeros((8, d)), np.zeros(8))


@cache
def _stated(cls: Any, published: str, epsilon: float, delta: float, rows: int, d: int) -> float:
    """Where the true delta at an epsilon just below the wanted one is the wanted delta."""

    def excess(log_stated: float) -> float:
        model = _fitted(cls, published, math.exp(log_stated), delta, rows, d)
        return math.log(max(_true_delta(model, epsilon * (1 - PRECISION / 2)), 1e-300) / delta)

    low = high = math.log(epsilon)
    while excess(low) > 0:
        low -= 0.5
    while excess(high) < 0:
        high += 0.5
    return math.exp(float(brentq(excess, low, high, xtol=PRECISION / 20)))
