r"""Boosted AdaSSP (Tang et al., "Improved differentially private regression via gradient boosting", 2023).

X'X and its least eigenvalue are released once, as AdaSSP does. Then T = 100 rounds each release X' clip(y - X theta),
residuals clipped to 1, and add the ridge fit to them: theta += (X'X + N + lambda I)^-1 (X' clip(y - X theta) + N_t).

**Accounting.** Rows and clipped residuals are at most 1, so all three kinds of release have sensitivity 1 (X'X with sd
s on the diagonal and s/sqrt 2 off it). Gaussian releases compose exactly, adapted to each other or not: mu^2 is the sum
of their mu^2, and sd = 1/mu for each. A third of mu^2 goes to each kind, the rounds sharing theirs equally. The public
code has sd = mu in place of 1/mu.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.privacy import gdp
from discreet.solve.ridge import noise_norm

Floats = NDArray[np.float64]

ROUNDS = 100
CLIP = 1.0
RHO = 0.05


def mus(epsilon: float, delta: float, rounds: int = ROUNDS) -> tuple[float, float, float]:
    """Mu of the eigenvalue, of X'X, and of each round."""
    third = gdp.mu(epsilon, delta) / math.sqrt(3)
    return third, third, third / math.sqrt(rounds)


def fit(X: Floats, y: Floats, epsilon: float, delta: float, rng: np.random.Generator, rounds: int = ROUNDS) -> Floats:
    """Coefficients after all rounds."""
    d = X.shape[1]
    s_0, s_xx, s_xy = (1 / mu for mu in mus(epsilon, delta, rounds))
    S = X.T @ X
    least = float(np.linalg.eigvalsh(S)[0]) + s_0 * rng.normal() - s_0 * math.sqrt(math.log(6 / delta))
    penalty = max(0.0, noise_norm(d, s_xx, RHO) - max(least, 0.0))
    inverse = np.linalg.pinv(S + _symmetric(d, s_xx, rng) + penalty * np.eye(d), hermitian=True)
    theta = np.zeros(d)
    for _ in range(rounds):
        residual = np.clip(y - X @ theta, -CLIP, CLIP)
        theta = theta + inverse @ (X.T @ residual + s_xy * rng.normal(size=d))
    return theta


def _symmetric(d: int, s: float, rng: np.random.Generator) -> Floats:
    """Symmetric noise, sd s on the diagonal and s/sqrt 2 off it."""
    G = rng.normal(size=(d, d)) * s
    noise: Floats = (G + G.T) / 2
    noise[np.diag_indices(d)] = np.diag(G)
    return noise
