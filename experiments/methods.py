"""The methods that studies compare, under wang2018's protocol: rows of norm 1, |y| <= 1, no intercept."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet import SSP, AdaSSP, ConstSSP, DiscreetWarning, Domain, DPLinearRegression, Moments
from experiments.uci import Floats

Fit = Callable[[np.random.Generator], Floats]
PROTOCOL = {"data_norm": 1.0, "bounds_y": (-1, 1), "fit_intercept": False, "n_jobs": 1}

ESTIMATORS: dict[str, tuple[Any, dict[str, Any]]] = {
    "DPLinearRegression": (DPLinearRegression, {}),
    "AdaSSP": (AdaSSP, {}),
    "AdaSSP published wang2018": (AdaSSP, {"published": "wang2018"}),
    "ConstSSP": (ConstSSP, {}),
    "SSP": (SSP, {}),
}
NON_PRIVATE = "non-private"


def fitter(method: str, X: Floats, y: Floats, epsilon: float, delta: float) -> Fit:
    """A function from a random generator to the coefficients of one simulated fit; sums up the data only once."""
    if method == NON_PRIVATE:
        theta = np.linalg.lstsq(X, y)[0]
        return lambda rng: theta
    cls, options = ESTIMATORS[method]
    given = {"epsilon": epsilon, "delta": delta, "rows": len(y), **PROTOCOL, **options}
    if cls is DPLinearRegression:
        return lambda rng: _quiet(lambda: cls(**given, random_state=rng).fit(X, y).coef_)
    names = [f"x{i}" for i in range(X.shape[1])]
    domain = Domain.from_bounds(names, ["y"], data_norm=1.0, bounds_y=(-1, 1), intercept=False)
    moments = Moments.from_source((X, y), domain, n_jobs=1)
    return lambda rng: _quiet(lambda: cls(**given, random_state=rng).fit_moments(moments, "y").coef_)


def _quiet(call: Callable[[], Floats]) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        return call()
