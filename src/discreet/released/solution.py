"""The posterior of a model's coefficients, given one release of moments or all stages."""

from __future__ import annotations

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain.levels import model_design
from discreet.released.moments import ReleasedMoments
from discreet.solve.equations import NormalEquations, fitted
from discreet.solve.inclusion import Likelihood
from discreet.solve.joint import Joint
from discreet.solve.noise_aware import Posterior, noise_aware, posterior


def noise_aware_solution(released: ReleasedMoments, e: NormalEquations) -> Floats:
    """Return the posterior mean of the coefficients of the mapped columns, a column for each outcome."""
    if not released.stages:
        return noise_aware(e)
    return np.column_stack([_joint(released, e.one(j)).mean for j in range(len(e.targets))])


def posterior_of(released: ReleasedMoments, e: NormalEquations) -> Posterior | Joint:
    """Return the posterior of one outcome's coefficients."""
    return _joint(released, e) if released.stages else posterior(e)


def likelihood_of(released: ReleasedMoments, e: NormalEquations) -> Likelihood:
    """Return the likelihood of one outcome's coefficients, without their prior."""
    if released.stages and not released.mean_alone:
        return Likelihood.of_stages(_joint(released, e))
    return Likelihood.of_equations(e)


def _joint(released: ReleasedMoments, e: NormalEquations) -> Joint:
    """Return the posterior given all stages; for some of the regressors, the projection of the posterior for all."""
    geometry = released.geometry
    whole = geometry.posterior(released.stages, e.target)
    full, K = model_design(released.domain, geometry.design)
    lifted = whole.lifted(K, fitted(K, np.eye(len(K))))
    at = [full.index(name) for name in e.names]
    return lifted if at == list(range(len(full))) else lifted.of_some(at)
