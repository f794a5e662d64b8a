"""Made-up data in the form of wang2018's protocol: rows of norm at most 1, outcomes at most 1 in size."""

from __future__ import annotations

import numpy as np

from experiments.uci import Floats

KINDS = ("isotropic", "spiked", "correlated", "heavy-tailed")
TEST_ROWS = 2000


def make(kind: str, n: int, d: int, seed: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Training and test X and y: y = X theta + 0.1 N with theta of length 1 and a random direction."""
    rng = np.random.default_rng([KINDS.index(kind), n, d, seed])
    size = (n + TEST_ROWS, d)
    if kind == "heavy-tailed":
        X = rng.standard_t(2.5, size=size)
        X /= np.quantile(np.linalg.norm(X, axis=1), 0.95)
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)
    else:
        X = rng.standard_normal(size)
        if kind == "spiked":
            X *= np.concatenate([[5.0, 3.0], np.ones(d - 2)])
        if kind == "correlated":
            X = X @ np.linalg.cholesky(0.9 ** np.abs(np.subtract.outer(range(d), range(d)))).T
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    theta = rng.standard_normal(d)
    theta /= np.linalg.norm(theta)
    y = np.clip(X @ theta + 0.1 * rng.standard_normal(len(X)), -1, 1)
    return X[:n], y[:n], X[n:], y[n:]
