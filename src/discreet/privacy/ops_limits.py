r"""How far leverage and residual may go under a declared promise: ``docs/mathematics.md``, sections 8.2 to 8.4.

With rho = sqrt(gamma) abs(r), the curve of `ops.delta` grows with rho always, and with the leverage m as long as
m <= (1 + sqrt 5)/2 (`GOLDEN`). So a promise that holds at the corner (M, rho) holds for every row of leverage at
most M and scaled residual at most rho, and gamma = (rho/R)^2 keeps it for every residual up to R.

Two kinds of promise: (epsilon, delta); and mu-GDP up to delta, which says that for **every** epsilon >= 0

    ops.delta(epsilon) <= delta + (1 - delta) D(mu, epsilon),      D the Gaussian curve.

The second composes with Gaussian releases as one more of them, plus delta once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

from discreet.core import checks
from discreet.core.rounding import CURVE, down, up
from discreet.errors import ParameterError
from discreet.privacy import ops

Floats = NDArray[np.float64]

GOLDEN = (1 + math.sqrt(5)) / 2
"""The curve grows with the leverage up to here; so h = B^2/m must be at least 0.618 B^2."""

_STEPS = 48  # of bisection
_GRID = 384  # epsilons at which a GDP promise is compared; between them convexity bounds the difference


def worst_delta(epsilon: float, leverage: ArrayLike, rho: ArrayLike) -> Floats:
    """The delta of any row with at most this leverage and scaled residual rho = sqrt(gamma) R, enlarged by the margin.

    Examples
    --------
    >>> print(worst_delta(1.0, 0.05, 1.0).round(7))
    5.07e-05
    """
    m = np.asarray(leverage, dtype=np.float64)
    if np.any(m > GOLDEN):
        raise ParameterError("The leverage must be at most (1 + sqrt 5)/2: beyond it the worst row is not the largest.")
    return up(np.asarray(ops.delta(epsilon, m, rho, 1.0)), CURVE)


def leverage_limit(epsilon: float, delta: float) -> float:
    """The largest leverage, at most `GOLDEN`, for which a row with residual 0 keeps the promise.

    Below h = B^2 / this, no gamma will do, for the draw's covariance alone gives the row away.

    Examples
    --------
    >>> round(1 / leverage_limit(epsilon=0.5, delta=1e-6 / 3), 1)
    19.2
    """
    epsilon, delta = checks.positive("epsilon", epsilon), checks.fraction("delta", delta)
    return largest(lambda m: float(worst_delta(epsilon, m, 0.0)) <= delta, GOLDEN)


def residual_limit(epsilon: float, delta: float, leverage: ArrayLike) -> Floats:
    """The largest rho = sqrt(gamma) R for which the promise holds up to this leverage; 0 where none does.

    Examples
    --------
    >>> print(residual_limit(epsilon=1, delta=1e-6, leverage=[0.01, 0.001, 0.2]).round(3))
    [2.173 7.424 0.   ]
    """
    epsilon, delta = checks.positive("epsilon", epsilon), checks.fraction("delta", delta)
    m = np.asarray(leverage, dtype=np.float64)
    low, high = np.zeros_like(m), (epsilon + 10 * math.sqrt(epsilon) + 10) / np.sqrt(m)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        good = worst_delta(epsilon, m, middle) <= delta
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return np.where(worst_delta(epsilon, m, low) <= delta, low, 0.0)


def gaussian_excess(mu: float, delta: float, leverage: float, rho: float) -> float:
    """Bound on the largest excess, over epsilon >= 0, of the curve over delta + (1 - delta) D(mu, epsilon).

    As functions of k = e^epsilon both curves are convex. Between two points of the grid the first lies below its
    chord and D above both tangents, so the excess is at most that of chord over tangents, whose maximum is at an end
    or where the tangents meet. Beyond the grid the curve itself must be below delta.
    """
    e = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, _GRID)]) * (mu * mu / 2 + 10 * mu)
    curve = up(np.asarray(ops.delta(e, leverage, rho, 1.0)), CURVE)
    gauss = down(ops.gaussian_delta(e, mu)[0] * (1 - delta), CURVE)
    log_slope = log_ndtr(-e / mu - mu / 2)
    step = np.expm1(np.diff(e))  # in each interval k is taken in units of its value at the left end
    left, right = (-np.exp(log_slope[i] + e[:-1]) * (1 - delta) for i in (slice(None, -1), slice(1, None)))
    gap = right - left
    fall = gauss[:-1] - gauss[1:] + right * step
    shift = np.clip(np.divide(fall, gap, out=np.zeros_like(gap), where=gap > 0), 0.0, step)  # where the tangents meet
    chord = curve[:-1] + np.diff(curve) * (shift / step)
    tangents = np.maximum(gauss[:-1] + left * shift, gauss[1:] - right * (step - shift))
    excess = max(np.max(curve - gauss), np.max(chord - tangents), curve[-1])
    return float(excess) - down(delta, CURVE)


def gaussian_leverage_limit(mu: float, delta: float) -> float:
    """The largest leverage, at most `GOLDEN`, for which a row with residual 0 is mu-GDP up to delta.

    Examples
    --------
    >>> round(1 / gaussian_leverage_limit(mu=0.2, delta=1e-7), 1)
    11.4
    """
    mu, delta = checks.positive("mu", mu), checks.fraction("delta", delta)
    return largest(lambda m: gaussian_excess(mu, delta, m, 0.0) <= 0, GOLDEN)


def gaussian_residual_limit(mu: float, delta: float, leverage: float) -> float:
    """The largest rho = sqrt(gamma) R for which the draw is mu-GDP up to delta, up to this leverage; or 0.

    Examples
    --------
    >>> rho = gaussian_residual_limit(mu=0.2, delta=1e-7, leverage=0.001)
    >>> round(rho * 0.001**0.5, 3)  # nearly mu
    0.198
    """
    mu, delta = checks.positive("mu", mu), checks.fraction("delta", delta)
    if not 0 < leverage <= GOLDEN:
        raise ParameterError("The leverage must lie above 0 and be at most (1 + sqrt 5)/2.")
    top = 2 * mu / math.sqrt(leverage)
    return largest(lambda rho: gaussian_excess(mu, delta, leverage, rho) <= 0, top)


def largest(holds: Callable[[float], bool], top: float) -> float:
    """The largest number up to `top` at which a condition holds that fails from some point on, or 0."""
    if holds(top):
        return top
    low, high = 0.0, top
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
