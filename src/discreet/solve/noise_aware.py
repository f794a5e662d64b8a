"""The noise-aware solve behind `DPLinearRegression`: mathematics in ``docs/mathematics``, section 4.3.

S = X'X + N1 and v = X'y + N2. In the eigenbasis of S, with its eigenvalues l denoised to a,

    theta_i ~ N(0, tau),   tau = r E / sum(a)                       prior: a share r of E = y'y is explained
    v_i | theta ~ N(a_i theta_i, w_i)                               what was released
    w_i = (1 - r) E/n a_i + s_xy^2 + K s_xx^2 (k + 1) tau           sampling error, noise of v, noise of S

with k = d directions that matter. The estimate is the posterior mean a_i tau v_i / (a_i^2 tau + w_i), averaged over r,
over E, and over a floor f under the a_i (an eigenvalue below the noise of S may be hidden in any direction, and
k = sum(a)/f of them at most), each on a grid, with the likelihood of the released v and y'y as weight.

The grids, and with them the variances of v and the shrinkage of each direction, are the same for all outcomes with the
same noise; only the weights differ. So with g a point of the grids, i a direction and j an outcome,

    likelihood_gj = -(1/2) sum_i log variance_gi - (1/2) sum_i v_ij^2/variance_gi          a product of two matrices
    theta_ij      = v_ij sum_g weight_gj raised_gi tau_g/variance_gi                       and another one
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from discreet.core.arrays import Floats
from discreet.solve.equations import NormalEquations

_EXPLAINED = np.linspace(0.02, 0.98, 25)
"""The grid of r."""

_ENERGIES = np.logspace(-3, 0, 13)
"""The grid of E/n: outcomes are at most 1 in size."""

HIDDEN = np.array([0.0, 0.25, 0.5])
"""The grid of f, in units of s_xx sqrt(d/2), above which an eigenvalue stands out from the noise of S."""

_LARGEST_HIDDEN = 0.6
"""No hidden eigenvalue is above this share of the trace."""

_DOUBT = 1 / 4
"""Floor under the variation of a direction when prediction errors are weighed, in units of s_xx."""

LEFT_OVER = 1 / 8
"""K: the noise N1 alone would give 1/2; denoising the eigenvalues of S takes a good part of it away."""

_CHUNK = 1024
"""Number of outcomes that are solved at a time."""

_LEVELS = 16
"""Noise sds that differ between outcomes are rounded up to this many levels per factor of two."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior of theta, of X'X and of the variances in the model.

    `a`, `raised`: denoised eigenvalues of X'X, and the same, raised to the floor f on average.
    `U`, `v`: X'X is U diag(a) U', with the eigenvectors of S, and U v is X'y; where there is an L, both for
        `e.rotated()`, of which U holds the directions in units of theta.
    `tau`, `sigma2`: posterior means of the variance of a coefficient and of the error of an outcome.
    `least`: a floor under the eigenvalues: X'X may vary by as much in directions in which S shows nothing.
    """

    mean: Floats
    a: Floats
    raised: Floats
    U: Floats
    v: Floats
    tau: float
    sigma2: float
    least: float

    def excess_error(self, theta: Floats) -> Floats:
        """Return (theta - mean)' X'X (theta - mean), for one vector of coefficients or for each row of a matrix.

        The posterior expectation of theta's squared prediction errors, summed over the rows, less its least value.
        """
        error: Floats = ((theta - self.mean) @ self.U) ** 2 @ np.maximum(self.a, self.least)
        return error


def noise_aware(e: NormalEquations) -> Floats:
    """Return the posterior mean of theta given the noisy normal equations, a column for each outcome."""
    at = _EigenDirections.of(e)
    theta = np.empty_like(at.V)
    for outcomes, grid, weights in at.averages():
        theta[:, outcomes] = grid.shrink.T @ weights * at.V[:, outcomes]
    solution: Floats = e.rotation @ at.U @ theta
    return solution


def posterior(e: NormalEquations) -> Posterior:
    """Return the posterior of one outcome's coefficients, averaged over the grids."""
    at, C = _EigenDirections.of(e), e.rotation
    ((_, grid, weights),) = at.averages()
    w, v = weights[:, 0], at.V[:, 0]
    mean, raised = C @ at.U @ (grid.shrink.T @ w * v), w @ np.maximum(at.a, grid.floor[:, None])
    sizes = float(w @ grid.tau), float(w @ grid.sigma2), _DOUBT * e.s_xx
    U = np.asarray(np.linalg.solve(C.T, at.U), dtype=np.float64)
    return Posterior(mean, at.a, raised, U, v, *sizes)


class _Grid(NamedTuple):
    """The grids of f, r and E: a row, or an entry, for each point."""

    variance: Floats
    shrink: Floats
    floor: Floats
    tau: Floats
    sigma2: Floats


@dataclass(frozen=True, eq=False)
class _EigenDirections:
    """The `rotated` equations in the eigenbasis U of S: denoised eigenvalues a, and V the coordinates of X'Y."""

    e: NormalEquations
    n: float
    a: Floats
    U: Floats
    V: Floats

    @classmethod
    def of(cls, e: NormalEquations) -> _EigenDirections:
        e, n = e.rotated(), max(e.n, 1.0)
        eigenvalues, U = np.linalg.eigh(e.S)
        return cls(e, n, np.maximum(denoise(eigenvalues, e.s_xx), 1e-9 * n), U, U.T @ e.V)

    def averages(self) -> Iterator[tuple[NDArray[np.intp], _Grid, Floats]]:
        """Yield groups of outcomes that have the same noise, their grid, and its weights, a column for each outcome."""
        e = self.e
        sds = 2.0 ** (np.ceil(np.log2(e.s_V) * _LEVELS - 1e-9) / _LEVELS) if np.ptp(e.s_V) else e.s_V
        for sd in np.unique(sds):
            grid = self.grid(float(sd))
            logs, precision = -0.5 * np.log(grid.variance).sum(axis=1), -0.5 / grid.variance
            alike = np.flatnonzero(sds == sd)
            for start in range(0, len(alike), _CHUNK):
                at = alike[start : start + _CHUNK]
                likelihood = precision @ self.V[:, at] ** 2
                likelihood += logs[:, None]
                if e.squares is not None and e.s_yy is not None:
                    by_energy = likelihood.reshape(-1, len(_ENERGIES), len(at))
                    by_energy -= 0.5 * ((e.squares[at] - self.n * _ENERGIES[:, None]) / e.s_yy) ** 2
                likelihood -= likelihood.max(axis=0)
                weights = np.exp(likelihood, out=likelihood)
                weights /= weights.sum(axis=0)
                yield at, grid, weights

    def grid(self, s_xy: float) -> _Grid:
        """Return the model at each point (f, r, E), for outcomes whose v has noise of this sd."""
        a, n, d, s_xx = self.a, self.n, len(self.a), self.e.s_xx
        r, E = _EXPLAINED[:, None, None], n * _ENERGIES[:, None]
        tau, sigma2 = r * E / a.sum(), (1 - r) * E / n
        w = sigma2 * a + s_xy**2
        floors = hidden_floors(a, s_xx)
        variances, shrinks = [], []
        for f in floors:
            raised = np.maximum(a, f)
            k = min(d, a.sum() / f) if f > 0 else d
            variances.append(raised**2 * tau + w + LEFT_OVER * s_xx**2 * (k + 1) * tau)
            shrinks.append(raised * tau / variances[-1])
        rows = np.reshape(variances, (-1, d)), np.reshape(shrinks, (-1, d)), np.repeat(floors, tau.size)
        return _Grid(*rows, np.tile(tau.ravel(), len(floors)), np.tile(sigma2.ravel(), len(floors)))


def hidden_floors(a: Floats, s_xx: float) -> Floats:
    """Return the floors that eigenvalues of X'X may have where the noise of S hides them, from denoised ones."""
    floors: Floats = np.minimum(HIDDEN * s_xx * math.sqrt(len(a) / 2), _LARGEST_HIDDEN * a.sum())
    return floors


def denoise(l: Floats, s_xx: float) -> Floats:  # noqa: E741
    """Return a rotation-invariant estimate of the eigenvalues of X'X, from those of S in increasing order.

    l_k - 2 V h(l_k) with V = d s_xx^2/2 and h the Hilbert transform of the spectrum, smoothed over the noise of one
    eigenvalue, then made increasing: noise drives the eigenvalues of S apart, and this undoes it.
    """
    d = len(l)
    V = d * s_xx**2 / 2
    gaps = l[:, None] - l
    h = (gaps / np.maximum(gaps**2 + V / d, np.finfo(float).tiny)).sum(axis=1) / d
    increasing: Floats = isotonic_regression(l - 2 * V * h).x
    return increasing
