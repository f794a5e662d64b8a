r"""Noisy normal equations from OpenDP's Gaussian measurement.

OpenDP's own regression, by Theil and Sen, takes one feature. For more, its users release X'X and X'y by
`make_gaussian` and solve. Diagonal, sqrt 2 times the upper triangle, and X'y form one vector, which a row of norm 1
with an outcome of at most 1 changes by sqrt(|x|^4 + |x|^2 y^2) <= sqrt 2. OpenDP accounts for it by zero-concentrated
privacy: that is "as sold". By the exact curve, mu = sqrt 2/scale, the same measurement costs less: that is the equal
one. Its noise comes from the operating system and cannot be seeded.
"""

from __future__ import annotations

import importlib.util
import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.privacy import gdp

Floats = NDArray[np.float64]

CHANGE = math.sqrt(2)


SOLD = {0.03: 172.4933, 0.1: 55.81042, 0.3: 19.8433, 1.0: 6.407631, 3.0: 2.324515, 10.0: 0.8060123}
"""What `sold_scale` gives at delta = 1e-6 with OpenDP 0.16, by epsilon: for pages that are written without it."""


def available() -> bool:
    """Whether OpenDP is installed."""
    return importlib.util.find_spec("opendp") is not None


def exact_scale(epsilon: float, delta: float) -> float:
    """The scale that keeps (epsilon, delta) by the exact curve."""
    return CHANGE / gdp.mu(epsilon, delta)


@cache
def sold_scale(epsilon: float, delta: float) -> float:
    """The least scale, up to 1e-6 of it, at which OpenDP's own accounting says (epsilon, delta)."""
    from opendp import combinators

    def holds(scale: float) -> bool:
        stated = combinators.make_zCDP_to_approxDP(_measurement(scale)).map(CHANGE)
        return bool(stated.epsilon(delta) <= epsilon)

    low, high = exact_scale(epsilon, delta) / 2, exact_scale(epsilon, delta) * 2
    while high > low * (1 + 1e-6):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _measurement(scale: float) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
    return dp.m.make_gaussian(*space, scale=scale)


def statistics(X: Floats, y: Floats) -> Floats:
    """The vector that is released."""
    S = X.T @ X
    upper = np.triu_indices(len(S), 1)
    return np.concatenate([np.diag(S), CHANGE * S[upper], X.T @ y])


def solve(released: Floats, d: int) -> Floats:
    """Coefficients from a released vector."""
    S = np.zeros((d, d))
    S[np.triu_indices(d, 1)] = released[d:-d] / CHANGE
    S += S.T
    S[np.diag_indices(d)] = released[:d]
    theta: Floats = np.linalg.pinv(S, hermitian=True) @ released[-d:]
    return theta


def fit(X: Floats, y: Floats, scale: float) -> Floats:
    """Coefficients at this scale of the noise."""
    return solve(np.array(_measurement(scale)(statistics(X, y).tolist())), X.shape[1])
