"""Which methods a plan simulates, and one simulated fit: the estimators' own code, on a made-up table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.checks import Neighbors
from discreet.core.unavailable import Unavailable
from discreet.domain import Domain
from discreet.errors import DiscreetWarning, ParameterError
from discreet.models.asked import Asked
from discreet.models.base import MomentsEstimator
from discreet.models.dp_elastic_net import DPElasticNet
from discreet.models.dp_lasso import DPLasso
from discreet.models.dp_linear import DPLinearRegression
from discreet.models.perturbed import PerturbedModel
from discreet.papers.ada_ops import AdaOPS
from discreet.papers.noisy_gradient_descent import NoisyGradientDescent
from discreet.papers.objective_perturbation import ObjectivePerturbation
from discreet.papers.ops import OPS
from discreet.papers.registry import METHODS, find
from discreet.papers.reuse_cov import ReuseCov
from discreet.planning.table import Table

Floats = NDArray[np.float64]

SLOW = (OPS, AdaOPS, NoisyGradientDescent)
"""Calibrated anew for each fit, or solved in many steps: these are simulated a sixth as often."""

NOT_ASKED = Unavailable("not available", "Widths of intervals were not asked for.")


@dataclass(frozen=True, eq=False)
class Fit:
    """One simulated fit.

    Parameters
    ----------
    mse : float
        Mean squared error of prediction over the population.
    error : array
        How far intercept and coefficients are from those of the population's best fit, in the user's units.
    std_err, width : array, or Unavailable
        The standard errors that the fit itself reports, and the widths of its intervals.
    """

    mse: float
    error: Floats
    std_err: Floats | Unavailable
    width: Floats | Unavailable


@dataclass(frozen=True)
class Promise:
    """What is promised, whatever epsilon is."""

    delta: float
    neighbors: Neighbors
    level: float


def chosen(names: Sequence[str] | None) -> tuple[list[str], dict[str, str]]:
    """The methods to simulate, and why others are left out."""
    if isinstance(names, str):
        raise ParameterError(f"methods must be a list of names, for example [{names!r}].")
    why = {method.name: _why_not(method.estimator) for method in METHODS}
    left_out = {name: reason for name, reason in why.items() if reason}
    if names is None:
        return [name for name in why if name not in left_out], left_out
    asked = list(dict.fromkeys(find(name).name for name in names))
    for name in asked:
        if name in left_out and not issubclass(find(name).estimator, (DPLasso, DPElasticNet)):
            raise ParameterError(f"{name} cannot be simulated by a plan: {left_out[name]}.")
    if not asked:
        raise ParameterError("methods names no method. Leave it None for all that apply.")
    return asked, {name: "not asked for" for name in why if name not in asked}


def _why_not(estimator: type) -> str:
    if issubclass(estimator, ReuseCov):
        return "for many outcomes"
    if issubclass(estimator, PerturbedModel) and not issubclass(estimator, ObjectivePerturbation):
        return "for classes or counts, not for numbers"
    if not issubclass(estimator, MomentsEstimator):
        return "reads rows, and a plan simulates their sums only"
    if issubclass(estimator, (DPLasso, DPElasticNet)):
        return "the release of DPRidge, solved by whole paths, which takes long; name it in methods= to have it"
    return ""


def fit(
    method: str,
    table: Table,
    domain: Domain,
    epsilon: float,
    promise: Promise,
    rows: int,
    seed: Any,
    *,
    widths: bool,
) -> Fit:
    """Release and solve once, by the method's own code with seeded noise."""
    facts, features = table.people.facts, list(table.people.facts.features)
    model: Any = find(method).estimator(
        epsilon=epsilon, delta=promise.delta, rows=rows, neighbors=promise.neighbors,
        fit_intercept=domain.intercept, random_state=np.random.default_rng(seed),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscreetWarning)
        if isinstance(model, DPLinearRegression):
            counts = table.histogram(domain)
            model._fit_counted(counts, table.moments, Asked(counts.column, features, model._check()))
        else:
            model.fit_moments(table.moments(domain), facts.target, features)
    found = model.results_.inference
    std_err = found if isinstance(found, Unavailable) else found.std_err
    interval: Any = found if widths else NOT_ASKED
    if widths and not isinstance(found, Unavailable):
        interval = found.interval(promise.level)
    width = interval if isinstance(interval, Unavailable) else interval[:, 1] - interval[:, 0]
    params = np.concatenate([[model.intercept_], model.coef_])
    return Fit(table.people.mse(params), params - table.people.best, std_err, width)
