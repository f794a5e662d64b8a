"""Debiased coefficients and their covariance, sampling error and privacy noise apart: ``docs/mathematics.md``, 6.

S = A + N1 with A = X'X, and v = A theta + X'e + N2. Inverting S would amplify its noise: S^-1 is too large on average.
G, the positive definite solution of

    G^-1 = S + E[N1 G N1],                       (E[N B N])_ij = [i=j] sum_k W_ik B_kk + [i!=j] W_ij B_ij

with W the variances of the entries of N1, takes that back: E[G] is A^-1 up to terms of third order, so theta = G v is
unbiased. Its covariance has three parts, with K = E[N1 G N1]:

    sampling   sigma^2 (G + G K G)               from X'e
    privacy    s_xy^2 G G                        from N2
               G E[N1 theta theta' N1] G         from N1

and sigma^2 = (y'y - v'G v + s_xy^2 tr G)/(n - d) is unbiased too. Without noise all of this is least squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.solve.equations import NormalEquations

Floats = NDArray[np.float64]

STEPS = 60
"""Of the iteration for G, which at least halves its error in each where the noise is not too large."""


@dataclass(frozen=True, eq=False)
class Debiased:
    """Debiased coefficients of the mapped columns.

    Parameters
    ----------
    theta : array
        The coefficients.
    unit_sampling : array
        The covariance that sampling error would give them if sigma^2 were 1.
    privacy : array
        The covariance that the noise of the release gives them.
    sigma2 : float or None
        The variance of an outcome around the line; None where y'y was not released.
    noise : float
        The size of the noise of X'X where the features vary least, relative to that variation.
    """

    theta: Floats
    unit_sampling: Floats
    privacy: Floats
    sigma2: float | None
    noise: float


def debiased(e: NormalEquations) -> Debiased:
    """Debiased coefficients, with what makes them uncertain.

    Examples
    --------
    >>> S, v = np.diag([100.0, 50.0]), np.array([50.0, -50.0])
    >>> fit = debiased(NormalEquations(("a", "b"), "y", S, v, 80.0, 1e-9, 1e-9, 1e-9, n=52.0))
    >>> fit.theta, round(fit.sigma2, 6)
    (array([ 0.5, -1. ]), 0.1)
    """
    W = e.noise_variances
    G = resolvent(e.S, W)
    theta = G @ e.v
    unit_sampling = G + G @ through_noise(W, G) @ G
    of_v = e.s_xy**2 * (G @ G)
    of_S = G @ through_noise(W, np.outer(theta, theta)) @ G
    sigma2 = None
    if e.yy is not None and e.s_yy is not None:
        rest = e.yy - float(e.v @ theta) + e.s_xy**2 * float(np.trace(G))
        sigma2 = max(rest / max(e.n - e.d, 1.0), e.s_yy / max(e.n, 1.0))
    size = float(theta @ theta)
    known = float(np.trace(of_v)) + (sigma2 or 0.0) * float(np.trace(unit_sampling))
    share = max(size - known, 0.0) / (size + float(np.trace(of_S))) if size > 0 else 0.0
    noise = float(np.linalg.eigvalsh(through_noise(W, G @ G))[-1]) ** 0.5
    return Debiased(theta, unit_sampling, of_v + share * of_S, sigma2, noise)


def through_noise(W: Floats, B: Floats) -> Floats:
    """E[N B N] for a symmetric matrix N of independent noise with variances W, and a symmetric B.

    Examples
    --------
    >>> through_noise(np.array([[2.0, 1.0], [1.0, 2.0]]), np.eye(2))
    array([[3., 0.],
           [0., 3.]])
    """
    spread: Floats = W * B
    np.fill_diagonal(spread, W @ np.diag(B))
    return spread


def resolvent(S: Floats, W: Floats) -> Floats:
    """The positive definite G with G^-1 = S + E[N G N], for a symmetric matrix N of noise with variances W.

    It starts from the solution for noise of sd s on the diagonal and s/sqrt(2) off it, s^2 the largest of W, which is
    a function of S: its eigenvalues g solve h g^2 + (l + h T) g = 1 with T their sum and h = s^2/2. Where most entries
    of S are noise and some are known, steps from there may lead nowhere; then the start is kept, which is cautious.

    Examples
    --------
    >>> resolvent(np.array([[3.0]]), np.array([[4.0]])).round(6)
    array([[0.25]])
    """
    start = G = _as_if_invariant(S, float(W.max()) / 2)
    before = np.inf
    for _ in range(STEPS):
        M = S + through_noise(W, G)
        step = np.linalg.inv(M) - G
        size = float(np.abs(step).max() / np.abs(G).max())
        if size <= 1e-11:
            break
        if size > before or np.linalg.eigvalsh(M)[0] <= 0:
            return start
        G, before = G + step / 2, size
    return G


def _as_if_invariant(S: Floats, h: float) -> Floats:
    l, U = np.linalg.eigh(S)  # noqa: E741

    def g(T: float) -> Floats:
        b = l + h * T
        root = np.sqrt(b**2 + 4 * h)
        solution: Floats = np.where(b > 0, 2 / np.where(b > 0, b + root, 1.0), (root - b) / (2 * h))
        return solution

    low, high = 0.0, float(np.sum(g(0.0)))
    while high - low > 1e-14 * high:
        T = (low + high) / 2
        low, high = (T, high) if np.sum(g(T)) > T else (low, T)
        if T in (low, high) and high - low <= np.spacing(high):
            break
    inverse: Floats = (U * g(high)) @ U.T
    return inverse
