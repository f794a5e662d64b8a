"""The noise-aware solve behind `DPLinearRegression`: mathematics in ``docs/mathematics.md``, section 4.3.

S = X'X + N1 and v = X'y + N2. In the eigenbasis of S, with its eigenvalues l denoised to a,

    theta_i ~ N(0, tau),   tau = r E / sum(a)                       prior: a share r of E = y'y is explained
    v_i | theta ~ N(a_i theta_i, w_i)                               what was released
    w_i = (1 - r) E/n a_i + s_xy^2 + K s_xx^2 (k + 1) tau           sampling error, noise of v, noise of S

with k = d directions that matter. The estimate is the posterior mean a_i tau v_i / (a_i^2 tau + w_i), averaged over r,
over E, and over a floor f under the a_i (an eigenvalue below the noise of S may be hidden in any direction, and
k = sum(a)/f of them at most), each on a grid, with the likelihood of the released v and y'y as weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from discreet.released.solve.equations import NormalEquations

Floats = NDArray[np.float64]

EXPLAINED = np.linspace(0.02, 0.98, 25)
"""The grid of r."""

ENERGIES = np.logspace(-3, 0, 13)
"""The grid of E/n: outcomes are at most 1 in size."""

HIDDEN = np.array([0.0, 0.25, 0.5])
"""The grid of f, in units of s_xx sqrt(d/2), above which an eigenvalue stands out from the noise of S."""

LARGEST_HIDDEN = 0.6
"""No hidden eigenvalue is above this share of the trace."""

DOUBT = 1 / 4
"""No direction is taken to have less variation than this share of s_xx when errors of prediction are weighed."""

LEFT_OVER = 1 / 8
"""K: the noise N1 alone would give 1/2; denoising the eigenvalues of S takes a good part of it away."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the release says of theta, of X'X and of the sizes in the model.

    Parameters
    ----------
    mean : array
        The posterior mean of theta.
    a, raised : array
        Denoised eigenvalues of X'X, and the same, raised to the floor f on average.
    U, v : array
        X'X is U diag(a) U', with the eigenvectors of S, and U v is X'y; where there is an L, both for `e.turned()`, of
        which U holds the directions in units of theta.
    tau, sigma2 : float
        Posterior means of the variance of a coefficient and of the error of an outcome.
    least : float
        A floor under the eigenvalues: X'X may vary by as much in directions in which S shows nothing.
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
        """(theta - mean)' X'X (theta - mean), for one vector of coefficients or for each row of a matrix.

        The posterior expectation of theta's squared prediction errors, summed over the rows, less its least value.
        """
        error: Floats = ((theta - self.mean) @ self.U) ** 2 @ np.maximum(self.a, self.least)
        return error


def noise_aware(e: NormalEquations) -> Floats:
    """Posterior mean of theta given the noisy normal equations.

    Examples
    --------
    >>> S, v = np.diag([100.0, 100.0]), np.array([50.0, -50.0])
    >>> noise_aware(NormalEquations(("a", "b"), "y", S, v, 60.0, 1e-3, 1e-3, 1e-3, n=200.0)).round(2)
    array([ 0.5, -0.5])
    """
    return posterior(e).mean


def posterior(e: NormalEquations) -> Posterior:
    """The posterior given the noisy normal equations, averaged over the grids."""
    n, d, C, e = max(e.n, 1.0), e.d, e.turn, e.turned()
    eigenvalues, U = np.linalg.eigh(e.S)
    a = np.maximum(denoise(eigenvalues, e.s_xx), 1e-9 * n)
    v = U.T @ e.v
    r, E = EXPLAINED[:, None, None], n * ENERGIES[:, None]
    tau = r * E / a.sum()
    w = (1 - r) * E / n * a + e.s_xy**2
    floors = np.minimum(HIDDEN * e.s_xx * math.sqrt(d / 2), LARGEST_HIDDEN * a.sum())
    likelihoods, means = [], []
    for f in floors:
        raised = np.maximum(a, f)
        k = min(d, a.sum() / f) if f > 0 else d
        variance = raised**2 * tau + w + LEFT_OVER * e.s_xx**2 * (k + 1) * tau
        likelihoods.append(-0.5 * np.sum(np.log(variance) + v**2 / variance, axis=-1))
        means.append(raised * tau / variance)
    likelihood = np.array(likelihoods)
    if e.yy is not None and e.s_yy is not None:
        likelihood -= 0.5 * ((e.yy - n * ENERGIES) / e.s_yy) ** 2
    weights = np.exp(likelihood - likelihood.max())
    weights /= weights.sum()
    mean: Floats = C @ U @ (np.einsum("fre,fred->d", weights, np.array(means)) * v)
    tau_mean, sigma2 = np.sum(weights * tau[..., 0]), np.sum(weights * ((1 - r) * E / n)[..., 0])
    raised_mean: Floats = weights.sum(axis=(1, 2)) @ np.maximum(a, floors[:, None])
    sizes = float(tau_mean), float(sigma2), DOUBT * e.s_xx
    return Posterior(mean, a, raised_mean, np.linalg.solve(C.T, U), v, *sizes)


def denoise(l: Floats, s_xx: float) -> Floats:  # noqa: E741
    """Rotation-invariant estimate of the eigenvalues of X'X, from those of S in increasing order.

    l_k - 2 V h(l_k) with V = d s_xx^2/2 and h the Hilbert transform of the spectrum, smoothed over the noise of one
    eigenvalue, then made increasing: noise drives the eigenvalues of S apart, and this takes it back.

    Examples
    --------
    >>> denoise(np.array([90.0, 110.0]), s_xx=10.0).round(1)
    array([ 94.4, 105.6])
    """
    d = len(l)
    V = d * s_xx**2 / 2
    gaps = l[:, None] - l
    h = (gaps / np.maximum(gaps**2 + V / d, np.finfo(float).tiny)).sum(axis=1) / d
    increasing: Floats = isotonic_regression(l - 2 * V * h)
    return increasing
