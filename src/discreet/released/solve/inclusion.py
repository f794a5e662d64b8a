"""How probable it is that a variable belongs to the model, given released moments only.

The model is that of `noise_aware`, with coefficients that may be exactly zero:

    theta_j = 0 with probability 1 - p, else N(0, t);   p ~ uniform on (0, 1),   t on a grid
    v | theta ~ N(A theta, W),   W = sigma^2 A + (s_xy^2 + K s_xx^2 (d + 1) tau) I

A is the denoised X'X, hidden eigenvalues raised. W has every source of error: sampling, the noise of v, the noise of S.
Where z = L x was released, t refers to the coefficients over the lengths of the columns of L; of a stage, v is that of
the residuals, whose model is added again. Gibbs sampling gives the probability of theta_j != 0. Mathematics in
``docs/mathematics.md``, section 5.3.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from discreet.core.arrays import Floats
from discreet.released.equations import NormalEquations
from discreet.released.solve.noise_aware import posterior

_SEED = 20_02
"""The draws are the same for the same release: they serve an integral, not a secret."""

_CHAINS, _BURN_IN, _SWEEPS = 32, 50, 150

_SLABS = np.geomspace(0.1, 100.0, 13)
"""The grid of t, in units of tau."""

_NOISE_OF_S = 1 / 2
"""K: the variance of N1 theta, with nothing taken off for the denoising, so that the probabilities are not too sure."""


def inclusion(e: NormalEquations, always: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Probabilities of being in the model, and mean coefficients given that they are.

    Parameters
    ----------
    e : NormalEquations
        Released moments.
    always : array of bool
        Regressors that belong to the model in any case, such as the constant.

    Examples
    --------
    >>> S, v = 900 * np.eye(2), np.array([450.0, 1.0])
    >>> e = NormalEquations.of_one(("a", "b"), "y", S, v, 400.0, 5.0, 5.0, 5.0, n=1800.0)
    >>> probability, coefficient = inclusion(e, np.array([False, False]))
    >>> bool(probability[0] > 0.99 > 0.5 > probability[1]), float(coefficient[0].round(1))
    (True, 0.5)
    """
    rng = np.random.default_rng(_SEED)
    unit = np.linalg.norm(e.turn, axis=1)
    Q, q = _likelihood(e)
    Q, q, tau = unit[:, None] * Q * unit, unit * q, posterior(e).tau
    theta = np.zeros((_CHAINS, e.d))
    rest = np.tile(q, (_CHAINS, 1))
    odds, t = np.zeros(_CHAINS), np.full(_CHAINS, tau)
    total, weighted = np.zeros(e.d), np.zeros(e.d)
    for sweep in range(_BURN_IN + _SWEEPS):
        for j in rng.permutation(e.d):
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
        odds, t = _sizes(rng, theta[:, ~always], tau)
    return total / (_CHAINS * _SWEEPS), unit * weighted / np.maximum(total, np.finfo(float).tiny)


def _likelihood(e: NormalEquations) -> tuple[Floats, Floats]:
    """A W^-1 A, and A W^-1 v."""
    offset = np.zeros(e.d) if e.offset is None else e.offset[:, 0]
    e, k = _of_size_one(e.of_residuals())
    P = posterior(e)
    w = P.sigma2 * P.raised + e.s_xy**2 + _NOISE_OF_S * e.s_xx**2 * (e.d + 1) * P.tau
    Q, q = (P.U * (P.raised**2 / w)) @ P.U.T / k**2, P.U @ (P.raised / w * P.v) / k
    return Q, q + Q @ offset


def _of_size_one(e: NormalEquations) -> tuple[NormalEquations, float]:
    """The equations of the outcome over k, which is about as large as it: residuals may be tiny."""
    if e.squares is None or e.s_yy is None:
        return e, 1.0
    k = min(1.0, math.sqrt(max(float(e.squares[0]), 0.0) / e.n + 2 * e.s_yy / e.n))
    return replace(e, V=e.V / k, squares=e.squares / k**2, s_V=e.s_V / k, s_yy=e.s_yy / k**2), k


def _sizes(rng: np.random.Generator, theta: Floats, tau: float) -> tuple[Floats, Floats]:
    """Draw logit(p) and t given the coefficients of each chain."""
    k = np.count_nonzero(theta, axis=1)
    odds = logit(np.clip(rng.beta(1 + k, 1 + theta.shape[1] - k), 1e-6, 1 - 1e-6))
    grid = _SLABS * tau
    log = -0.5 * (k[:, None] * np.log(grid) + np.sum(theta**2, axis=1)[:, None] / grid)
    gumbel = rng.gumbel(size=log.shape)
    return odds, grid[np.argmax(log + gumbel, axis=1)]
