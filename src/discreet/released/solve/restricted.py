"""The law of debiased coefficients if some combinations of them are zero: ``docs/mathematics.md``, 6.4."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.released.solve.debiased import through_noise

Floats = NDArray[np.float64]

ROUNDS = 2
"""theta_0 and C_0 depend on each other; a third round changes nothing that matters."""


def restricted(
    theta: Floats, C: Floats, G: Floats, W: Floats, R: Floats, b: Floats, L: Floats | None = None
) -> tuple[Floats, float]:
    """The covariance of b, and how far that is off in size, if b estimates combinations R of theta that are zero.

    theta_0 = theta - C_0 R'(R C_0 R')^-1 b is the most likely theta for which they are, and C_0 the covariance there.
    The size of R C_0 R' errs as theta_0'M theta_0/k does, M = E[N1 B'(R C_0 R')^-1 B N1], B = R G, and theta_0 has
    covariance V = C_0 - C_0 R'(R C_0 R')^-1 R C_0: the relative variance of that size is 4 theta_0'M V M theta_0/k^2.

    Parameters
    ----------
    theta, C, G, W, L : array
        Debiased coefficients, their covariance, and what it was made of (`discreet.released.solve.debiased`).
    R : array
        The combinations, a row each.
    b : array
        Their estimates.

    Examples
    --------
    >>> one, R = np.eye(2), np.array([[0.0, 1.0]])
    >>> S, spread = restricted(np.array([0.1, 3.0]), 30 * one, one, np.ones((2, 2)), R, np.array([3.0]))
    >>> S.round(2), round(spread, 3)  # 30 holds 3^2 of noise, for the estimate 3
    (array([[21.01]]), 0.004)
    """
    C_0 = C
    for _ in range(ROUNDS):
        theta_0 = theta - C_0 @ R.T @ np.linalg.solve(R @ C_0 @ R.T, b)
        C_0 = C + G @ through_noise(W, np.outer(theta_0, theta_0) - np.outer(theta, theta), L) @ G
    S, B, k = R @ C_0 @ R.T, R @ G, len(b)
    V = C_0 - C_0 @ R.T @ np.linalg.solve(S, R @ C_0)
    slope = through_noise(W, B.T @ np.linalg.solve(S, B), L) @ theta_0 / k
    return S, float(4 * slope @ V @ slope)
