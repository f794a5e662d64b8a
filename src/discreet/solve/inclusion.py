"""Posterior probabilities that variables belong to the model, given released moments only.

The model is that of `noise_aware`, with coefficients that may be exactly zero:

    theta_j = 0 with probability 1 - p, else N(0, t);   p ~ uniform on (0, 1),   t on a grid
    v | theta ~ N(A theta, W),   W = sigma^2 A + (s_xy^2 + K s_xx^2 (d + 1) tau) I

A is the denoised X'X, hidden eigenvalues raised. W has every source of error: sampling, the noise of v, the noise of S.
Where z = L x was released, t refers to the coefficients over the norms of the columns of L. For stages, the likelihood
is the posterior of `joint` over its prior. Gibbs sampling gives the probability of theta_j != 0. Mathematics
in ``docs/mathematics``, section 5.3.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from discreet.core.arrays import Floats
from discreet.solve.equations import NormalEquations
from discreet.solve.joint import Joint
from discreet.solve.noise_aware import posterior

_SEED = 20_02
"""Seed of the draws, fixed so that the same release gives the same result: they serve an integral, not a secret."""

_CHAINS, _BURN_IN, _SWEEPS = 32, 50, 150

_SLABS = np.geomspace(0.1, 100.0, 13)
"""The grid of t, in units of tau, or of the prior variance before all stages."""

_SINGULAR = 1e-12
"""Relative variances below this are taken as zero."""

_NOISE_OF_S = 1 / 2
"""K: the variance of N1 theta, without the reduction by denoising, so that the probabilities are conservative."""


class Likelihood(NamedTuple):
    """The likelihood of theta given a release: exp(q' theta - theta' Q theta/2), up to a factor.

    `Q`, `q`: precision, and precision times the likeliest theta.
    `unit`: about how large each coefficient is, if it is not zero.
    """

    Q: Floats
    q: Floats
    unit: Floats

    @classmethod
    def of_equations(cls, e: NormalEquations) -> Likelihood:
        """Return A W^-1 A, and A W^-1 v."""
        P = posterior(e)
        w = P.sigma2 * P.raised + e.s_xy**2 + _NOISE_OF_S * e.s_xx**2 * (e.d + 1) * P.tau
        Q, q = (P.U * (P.raised**2 / w)) @ P.U.T, P.U @ (P.raised / w * P.v)
        return cls(Q, q, math.sqrt(P.tau) * np.linalg.norm(e.rotation, axis=1))

    @classmethod
    def of_stages(cls, known: Joint) -> Likelihood:
        """Return C^-1 - C_0^-1 and C^-1 m - C_0^-1 m_0 for a prior N(m_0, C_0) and a posterior N(m, C).

        Both are diagonal in the same directions. No precision is negative, and directions in which the prior has no
        variance are left out.
        """
        (m, C), (m_0, C_0) = known.law, known.prior
        unit = np.sqrt(np.maximum(np.diag(C_0), np.finfo(float).tiny))
        size, U = np.linalg.eigh(C_0 / np.outer(unit, unit))
        there = size > _SINGULAR
        white = U[:, there] / np.sqrt(size[there]) / unit[:, None]
        share, V = np.linalg.eigh(white.T @ C @ white)
        share, R = np.clip(share, _SINGULAR, 1.0), white @ V
        return cls((R * (1 / share - 1)) @ R.T, (R / share) @ (R.T @ m) - R @ (R.T @ m_0), unit)


def inclusion(known: Likelihood, always: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return inclusion probabilities, and mean coefficients given inclusion.

    `always`: regressors that belong to the model in any case, such as the constant.
    """
    rng = np.random.default_rng(_SEED)
    unit, d = known.unit, len(known.q)
    Q, q = unit[:, None] * known.Q * unit, unit * known.q
    theta = np.zeros((_CHAINS, d))
    rest = np.tile(q, (_CHAINS, 1))
    odds, t = np.zeros(_CHAINS), np.ones(_CHAINS)
    total, weighted = np.zeros(d), np.zeros(d)
    for sweep in range(_BURN_IN + _SWEEPS):
        for j in rng.permutation(d):
            g = rest[:, j] + Q[j, j] * theta[:, j]
            prior = np.where(always[j], unit[j] ** -2.0, t)
            variance = 1 / (Q[j, j] + 1 / prior)
            probability = np.where(always[j], 1.0, expit(odds + (np.log(variance / prior) + g**2 * variance) / 2))
            drawn = g * variance + np.sqrt(variance) * rng.standard_normal(_CHAINS)
            drawn = np.where(rng.random(_CHAINS) < probability, drawn, 0.0)
            rest -= np.outer(drawn - theta[:, j], Q[j])
            theta[:, j] = drawn
            if sweep >= _BURN_IN:
                total[j] += probability.sum()
                weighted[j] += probability @ (g * variance)
        odds, t = _sizes(rng, theta[:, ~always])
    return total / (_CHAINS * _SWEEPS), unit * weighted / np.maximum(total, np.finfo(float).tiny)


def _sizes(rng: np.random.Generator, theta: Floats) -> tuple[Floats, Floats]:
    """Draw logit(p) and t given the coefficients of each chain."""
    k = np.count_nonzero(theta, axis=1)
    odds = logit(np.clip(rng.beta(1 + k, 1 + theta.shape[1] - k), 1e-6, 1 - 1e-6))
    log = -0.5 * (k[:, None] * np.log(_SLABS) + np.sum(theta**2, axis=1)[:, None] / _SLABS)
    gumbel = rng.gumbel(size=log.shape)
    return odds, _SLABS[np.argmax(log + gumbel, axis=1)]
