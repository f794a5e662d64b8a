"""Many outcomes at once: one factorisation of S for all columns of V.

The noise-aware solve is that of `released.solve.noise_aware`. Its grids of r, E and f, and with them the variances of v
and the shrinkage of each direction, are the same for all outcomes with the same noise; only their weights differ. So
with g a point of the grids and i a direction,

    likelihood_gj = -(1/2) sum_i log variance_gi - (1/2) sum_i v_ij^2/variance_gi          a product of two matrices
    theta_ij      = v_ij sum_g weight_gj raised_gi tau_g/variance_gi                       and another one
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from discreet.errors import ParameterError
from discreet.released.solve.equations import ManyEquations
from discreet.released.solve.noise_aware import ENERGIES, EXPLAINED, HIDDEN, LARGEST_HIDDEN, LEFT_OVER, denoise
from discreet.released.solve.ridge import noise_norm

Floats = NDArray[np.float64]
Solve = Literal["noise-aware", "ridge", "cg"]

CHUNK = 1024
"""Outcomes that are solved at a time."""

LEVELS = 16
"""Noise sds of outcomes that differ are rounded up to this many levels a factor of two."""

TOLERANCE = 1e-10
"""Of the residual, relative to V, at which conjugate gradients end."""


def solve_many(e: ManyEquations, how: Solve, penalty: float | None = None) -> Floats:
    """Coefficients of the mapped columns, one column an outcome."""
    if how not in get_args(Solve):
        raise ParameterError(f"solve must be one of {', '.join(map(repr, get_args(Solve)))}; got {how!r}.")
    if how == "noise-aware":
        return noise_aware_many(e)
    strength = paper_penalty(e) if penalty is None else penalty
    return ridge_many(e.S, e.V, strength) if how == "ridge" else conjugate_gradients(e.S, e.V, strength)


def noise_aware_many(e: ManyEquations) -> Floats:
    """The posterior mean of every outcome's coefficients."""
    n, C, e = max(e.n, 1.0), e.turn, e.turned()
    eigenvalues, U = np.linalg.eigh(e.S)
    a = np.maximum(denoise(eigenvalues, e.s_xx), 1e-9 * n)
    V, theta = U.T @ e.V, np.empty_like(e.V)
    sds = 2.0 ** (np.ceil(np.log2(e.s_xy) * LEVELS - 1e-9) / LEVELS) if np.ptp(e.s_xy) else e.s_xy
    for sd in np.unique(sds):
        variance, shrink = _grids(a, n, e.s_xx, float(sd))
        logs, precision = -0.5 * np.log(variance).sum(axis=1), -0.5 / variance
        alike = np.flatnonzero(sds == sd)
        for start in range(0, len(alike), CHUNK):
            at = alike[start : start + CHUNK]
            likelihood = precision @ V[:, at] ** 2
            likelihood += logs[:, None]
            if e.yy is not None and e.s_yy is not None:
                by_energy = likelihood.reshape(-1, len(ENERGIES), len(at))
                by_energy -= 0.5 * ((e.yy[at] - n * ENERGIES[:, None]) / e.s_yy) ** 2
            likelihood -= likelihood.max(axis=0)
            weights = np.exp(likelihood, out=likelihood)
            theta[:, at] = (shrink.T @ weights) / weights.sum(axis=0) * V[:, at]
    solution: Floats = C @ U @ theta
    return solution


def _grids(a: Floats, n: float, s_xx: float, s_xy: float) -> tuple[Floats, Floats]:
    """Variances of v and shrinkage factors, a row for each point (f, r, E) of the grids."""
    d = len(a)
    r, E = EXPLAINED[:, None, None], n * ENERGIES[:, None]
    tau = r * E / a.sum()
    w = (1 - r) * E / n * a + s_xy**2
    variances, shrinks = [], []
    for f in np.minimum(HIDDEN * s_xx * math.sqrt(d / 2), LARGEST_HIDDEN * a.sum()):
        raised = np.maximum(a, f)
        k = min(d, a.sum() / f) if f > 0 else d
        variances.append(raised**2 * tau + w + LEFT_OVER * s_xx**2 * (k + 1) * tau)
        shrinks.append(raised * tau / variances[-1])
    return np.reshape(variances, (-1, d)), np.reshape(shrinks, (-1, d))


def paper_penalty(e: ManyEquations, rho: float = 0.05) -> float:
    """004's lambda (25) with our noise: sqrt(d log(2 d^2/rho)) sqrt(s_xx^2 + s_xy^2/|w|^2), for |w| = 1.

    It balances the bounds on the errors that N1, N2 and the penalty cause when X'X may be singular.
    """
    s_xy = float(np.sqrt(np.mean(e.s_xy**2)))
    return noise_norm(len(e.S), math.hypot(e.s_xx, s_xy), rho)


def ridge_many(S: Floats, V: Floats, penalty: float) -> Floats:
    """(S + penalty I)^-1 V by one Cholesky factorisation; the shortest solution where that matrix is not definite.

    Examples
    --------
    >>> ridge_many(np.diag([1.0, 3.0]), np.array([[2.0, 0.0], [4.0, 8.0]]), 1.0)
    array([[1., 0.],
           [1., 2.]])
    """
    A = S + penalty * np.eye(len(S))
    try:
        theta: Floats = cho_solve(cho_factor(A), V)
    except np.linalg.LinAlgError:
        theta = np.asarray(np.linalg.lstsq(A, V)[0], dtype=np.float64)
    return theta


def conjugate_gradients(S: Floats, V: Floats, penalty: float) -> Floats:
    """The same by conjugate gradients, all outcomes side by side.

    An outcome ends when its residual is small, after 2 d steps, or where the matrix shows that it is not definite: what
    was found until then is kept.

    Examples
    --------
    >>> conjugate_gradients(np.diag([1.0, 3.0]), np.array([[2.0, 0.0], [4.0, 8.0]]), 1.0).round(9)
    array([[1., 0.],
           [1., 2.]])
    """
    A = S + penalty * np.eye(len(S))
    theta, residual = np.zeros_like(V), V.copy()
    direction, rr = V.copy(), np.sum(V**2, axis=0)
    stop = TOLERANCE**2 * rr
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
