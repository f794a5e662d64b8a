"""Ridge regression on noisy normal equations: (S + lambda I) theta = v."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def ridge(S: Floats, v: Floats, penalty: float) -> Floats:
    """Solve (S + penalty I) theta = v; the shortest solution where there is more than one.

    Examples
    --------
    >>> ridge(np.diag([1.0, 3.0]), np.array([2.0, 4.0]), 1.0)
    array([1., 1.])
    """
    A = S + penalty * np.eye(len(S))
    try:
        theta = np.linalg.solve(A, v)
    except np.linalg.LinAlgError:
        theta = np.linalg.lstsq(A, v)[0]
    return np.asarray(theta, dtype=np.float64)


def noise_norm(d: int, s_xx: float, rho: float = 0.05) -> float:
    """What the papers take as a bound on the spectral norm of the noise on X'X: sqrt(d log(2 d^2/rho)) s_xx.

    Examples
    --------
    >>> round(noise_norm(10, 1.0), 3)
    9.107
    """
    return math.sqrt(d * math.log(2 * d * d / rho)) * s_xx
