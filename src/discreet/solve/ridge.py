"""Ridge regression on noisy normal equations: (S + lambda I) theta = v, for any number of outcomes side by side."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from discreet.core.arrays import Floats
from discreet.solve.equations import NormalEquations

_TOLERANCE = 1e-10
"""Norm of the residual, relative to V, at which conjugate gradients stop."""


def ridge(S: Floats, V: Floats, penalty: float) -> Floats:
    """Return (S + penalty I)^-1 V by one Cholesky factorisation; the shortest solution where it is not definite."""
    A = S + penalty * np.eye(len(S))
    try:
        theta: Floats = cho_solve(cho_factor(A), V)
    except np.linalg.LinAlgError:
        theta = np.asarray(np.linalg.lstsq(A, V)[0], dtype=np.float64)
    return theta


def conjugate_gradients(S: Floats, V: Floats, penalty: float) -> Floats:
    """Return (S + penalty I)^-1 V by conjugate gradients, all outcomes side by side.

    An outcome stops when its residual is small, after 2 d steps, or when the matrix proves not to be definite; its last
    iterate is kept.
    """
    A = S + penalty * np.eye(len(S))
    theta, residual = np.zeros_like(V), V.copy()
    direction, rr = V.copy(), np.sum(V**2, axis=0)
    stop = _TOLERANCE**2 * rr
    for _ in range(2 * len(S)):
        image = A @ direction
        curvature = np.sum(direction * image, axis=0)
        going = (rr > stop) & (curvature > 0)
        if not going.any():
            break
        step = np.where(going, rr / np.where(going, curvature, 1.0), 0.0)
        theta += step * direction
        residual -= step * image
        before, rr = rr, np.where(going, np.sum(residual**2, axis=0), 0.0)
        direction = residual + np.where(going, rr / np.where(going, before, 1.0), 0.0) * direction
    return theta


def noise_norm(d: int, s_xx: float, rho: float = 0.05) -> float:
    """Return the papers' bound on the spectral norm of the noise on X'X: sqrt(d log(2 d^2/rho)) s_xx.

    Examples
    --------
    >>> round(noise_norm(10, 1.0), 3)
    9.107
    """
    return math.sqrt(d * math.log(2 * d * d / rho)) * s_xx


def paper_penalty(e: NormalEquations, rho: float = 0.05) -> float:
    """Return neel2023's lambda (25) with our noise: sqrt(d log(2 d^2/rho)) sqrt(s_xx^2 + s_xy^2/|w|^2), for |w| = 1.

    It balances the bounds on the errors that N1, N2 and the penalty cause when X'X may be singular.
    """
    s_xy = float(np.sqrt(np.mean(e.s_V**2)))
    return noise_norm(e.d, math.hypot(e.s_xx, s_xy), rho)
