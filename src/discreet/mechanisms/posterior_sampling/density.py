"""The density of a posterior sample, given the table: theta ~ N(theta_hat, H^-1/gamma), H = X'X + penalty I."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from discreet.audit.densities import Density, Shown, normal, truncated
from discreet.audit.laws import AuditedRidge, ReleaseDensity, density_of
from discreet.mechanisms.posterior_sampling.adaptive_event import AdaptiveEvent, StagedEvent
from discreet.mechanisms.posterior_sampling.event import BallEvent, PosteriorEvent, PrintedEvent


@density_of(PosteriorEvent)
def _sample(event: PosteriorEvent, law: ReleaseDensity, shown: Shown) -> Density:
    return _drawn(fit_of(event, law, shown), event.gamma, shown)


@density_of(AdaptiveEvent)
def _adaptive(event: AdaptiveEvent, law: ReleaseDensity, shown: Shown) -> Density:
    fit = fit_of(event, law, shown)
    return before(event, fit) + _drawn(fit, event.gamma, shown)


@density_of(PrintedEvent)
def _printed(event: PrintedEvent, law: ReleaseDensity, shown: Shown) -> Density | None:
    """The density of one coefficient; a paper's code draws several with another covariance than stated."""
    if len(shown.theta) > 1:
        return None
    found = _drawn(fit_of(event, law, shown), event.gamma, shown)
    return replace(found, known=event.eigenvalue_sd is None)  # what came before is not listed


@density_of(BallEvent)
def _in_ball(event: BallEvent, law: ReleaseDensity, shown: Shown) -> Density | None:
    """The density of one coefficient that is restricted to [-radius, radius]."""
    if len(shown.theta) > 1:
        return None
    (((G,),), (v,)) = law.products(event.design, event.target, shown.domain)
    precision = event.gamma * (G + event.penalty)
    mean, sd = (event.gamma * v / precision, precision**-0.5) if precision > 0 else (0.0, math.inf)
    return truncated(float(shown.theta[0]), float(mean), float(sd), event.radius)


def fit_of(event: PosteriorEvent | StagedEvent | PrintedEvent, law: ReleaseDensity, shown: Shown) -> AuditedRidge:
    """The exact ridge fit of the table."""
    return law.ridge(event.design, event.target, event.penalty, shown.domain)


def before(event: StagedEvent, fit: AuditedRidge) -> Density:
    """The density of the least eigenvalue and the norm, which are released before the coefficients."""
    found = normal((event.eigenvalue - fit.least) / event.eigenvalue_sd)
    if event.log_norm is None or event.norm_sd is None:
        return found
    norm = math.log(event.outcome + event.norm * float(np.linalg.norm(fit.theta)))
    return found + normal((event.log_norm - norm) / event.norm_sd)


def _drawn(fit: AuditedRidge, gamma: float, shown: Shown) -> Density:
    R = np.linalg.cholesky(gamma * fit.hessian)
    return normal(R.T @ (shown.theta - fit.theta), float(np.log(np.diag(R)).sum()))
