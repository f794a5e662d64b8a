r"""One posterior sample (OPS): its exact privacy curve, and the largest leverage and residual under a promise.

Proofs are in ``docs/mathematics``, sections 8.1 to 8.4.

The draw is theta ~ N(theta_hat, H^-1/gamma), H = X'X + lambda I. For a row (x, y) outside the data let
m = x'H^-1 x be its leverage and r = y - x'theta_hat its residual. All that tells the two data sets apart is
w = sqrt(gamma) (y - x'theta). With rho = sqrt(gamma) abs(r) and s^2 = 1 + m,

    without the row  P = N(rho, m),     with it  Q = N(rho/s^2, m/s^2),     log p/q = (w^2 - K)/2,
    K = log(1 + m) + rho^2/(1 + m).

So {log p/q > epsilon} is {abs(w) > t}, t^2 = K + 2 epsilon, and {log q/p > epsilon} is {abs(w) < u},
u^2 = K - 2 epsilon: both divergences are differences of normal probabilities. Where these nearly cancel they
are computed as integrals of positive terms instead. Seen against arithmetic of 60 digits (tests), for leverage
from 1e-12 to 1e3, gamma from 1e-8 to 1e8 and epsilon up to 1e5, values above 1e-300 have a relative error below
1e-11 (1e-12 for most); the inverses enlarge deltas by `core.rounding.CURVE`, which covers the rounding of m and
rho too, and so end on the safe side.

The curve grows with rho always, and with m as long as m <= (1 + sqrt 5)/2 (`GOLDEN`). So a promise that holds at the
corner (M, rho) holds for every row of leverage at most M and scaled residual at most rho, and gamma = (rho/R)^2 keeps
it for every residual up to R. Two kinds of promise: (epsilon, delta); and mu-GDP up to delta, which says that for
**every** epsilon >= 0

    delta(epsilon) <= delta + (1 - delta) D(mu, epsilon),      D the Gaussian curve.

The second composes with Gaussian releases as one more of them, plus delta once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import toms748
from scipy.special import erfcx, log_ndtr

from discreet.core import checks
from discreet.core.arrays import Bools, Floats
from discreet.core.rounding import CURVE, down, up
from discreet.errors import ParameterError

GOLDEN = (1 + math.sqrt(5)) / 2
"""The curve grows with the leverage up to this value; so h = B^2/m must be at least 0.618 B^2."""

_STEPS = 48  # steps of bisection
_FINE = 2.0**-48  # relative precision of roots
_GRID = 384  # number of epsilons at which a GDP promise is checked; between them convexity bounds the excess
_BOXES = 48

_X, _W = np.polynomial.legendre.leggauss(20)
_NODES, _WEIGHTS = (_X + 1) / 2, _W / 2
_PANELS = 12


def delta(epsilon: ArrayLike, leverage: ArrayLike, residual: ArrayLike, gamma: ArrayLike) -> Any:
    """The smallest delta for which adding or removing the row is (epsilon, delta)-private.

    Sup over events of P(event) - e^epsilon Q(event), P the draw without the row and Q with it; this direction is never
    below `delta_with` (section 8.2).

    Parameters
    ----------
    epsilon : float or array
        At least 0.
    leverage : float or array
        m = x'H^-1 x of the row in the data without it, above 0.
    residual : float or array
        r = y - x'theta_hat of the row in the fit without it.
    gamma : float or array
        Precision of the draw, above 0.

    Returns
    -------
    float or array
        The delta, in the shape to which the arguments broadcast.

    Examples
    --------
    >>> round(delta(epsilon=1, leverage=0.05, residual=1, gamma=1), 7)
    5.07e-05
    >>> delta(epsilon=[0, 1], leverage=1e-12, residual=1, gamma=1e8).round(6)
    array([0.003989, 0.      ])
    """
    e, m, rho = _arguments(epsilon, leverage, residual, gamma)
    with np.errstate(under="ignore", over="ignore"):
        return _shaped(_upper(e, m, rho))


def delta_with(epsilon: ArrayLike, leverage: ArrayLike, residual: ArrayLike, gamma: ArrayLike) -> Any:
    """Sup over events of Q(event) - e^epsilon P(event), Q the draw with the row and P without it."""
    e, m, rho = _arguments(epsilon, leverage, residual, gamma)
    with np.errstate(under="ignore", over="ignore"):
        return _shaped(_lower(e, m, rho))


def epsilon(delta: ArrayLike, leverage: ArrayLike, residual: ArrayLike, gamma: ArrayLike) -> Any:
    """The smallest epsilon, at least 0, for which adding or removing the row is (epsilon, delta)-private.

    Safe: never too small, and at most 1e-12 (relative) above the epsilon at which the enlarged curve meets delta.

    Examples
    --------
    >>> round(epsilon(delta=1e-6, leverage=1, residual=1, gamma=1), 2)
    15.23
    """
    target, m, rho = _arguments(delta, leverage, residual, gamma)
    if np.any((target <= 0) | (target >= 1)):
        raise ParameterError("delta must lie strictly between 0 and 1.")

    def safe(e: Floats) -> Bools:
        with np.errstate(under="ignore", over="ignore"):
            return up(_upper(e, m, rho), CURVE) <= target

    return _shaped(np.where(safe(np.zeros_like(m)), 0.0, _least(safe, np.ones_like(m))))


def gaussian_delta(epsilon: ArrayLike, mu: Any) -> tuple[Floats, Floats]:
    """The Gaussian curve D(mu, epsilon) of `gdp.delta` in floating point, and its slope in e^epsilon.

    Examples
    --------
    >>> value, slope = gaussian_delta([0.0, 1.0], mu=1.0)
    >>> value.round(4), slope.round(4)
    (array([0.3829, 0.1269]), array([-0.3085, -0.0668]))
    """
    e = np.asarray(epsilon, dtype=np.float64)
    a, gap = e / mu - mu / 2, np.full_like(e, mu)
    with np.errstate(under="ignore", over="ignore"):
        return _tail(a, gap, e, np.zeros_like(e)), -np.exp(log_ndtr(-a - gap))


def worst_delta(epsilon: float, leverage: ArrayLike, rho: ArrayLike) -> Floats:
    """The delta of the worst row with at most this leverage and scaled residual rho = sqrt(gamma) R, rounded up.

    Examples
    --------
    >>> print(worst_delta(1.0, 0.05, 1.0).round(7))
    5.07e-05
    """
    m = np.asarray(leverage, dtype=np.float64)
    if np.any(m > GOLDEN):
        raise ParameterError("The leverage must be at most (1 + sqrt 5)/2: beyond it the worst row is not the largest.")
    return up(np.asarray(delta(epsilon, m, rho, 1.0)), CURVE)


@lru_cache(maxsize=256)
def leverage_limit(epsilon: float, delta: float) -> float:
    """The largest leverage, at most `GOLDEN`, for which a row with residual 0 keeps the promise.

    Below h = B^2 / this, no gamma keeps the promise: the covariance of the draw alone reveals the row.

    Examples
    --------
    >>> round(1 / leverage_limit(epsilon=0.5, delta=1e-6 / 3), 1)
    19.2
    """
    epsilon, delta = checks.positive("epsilon", epsilon), checks.fraction("delta", delta)
    return _largest(lambda m: float(worst_delta(epsilon, m, 0.0)) <= delta, GOLDEN)


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
    curve = up(_curve(e, leverage, rho), CURVE)
    gauss = down(gaussian_delta(e, mu)[0] * (1 - delta), CURVE)
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


@lru_cache(maxsize=256)
def gaussian_leverage_limit(mu: float, delta: float) -> float:
    """The largest leverage, at most `GOLDEN`, for which a row with residual 0 is mu-GDP up to delta.

    Examples
    --------
    >>> round(1 / gaussian_leverage_limit(mu=0.2, delta=1e-7), 1)
    11.4
    """
    mu, delta = checks.positive("mu", mu), checks.fraction("delta", delta)
    return _crossing(lambda m: gaussian_excess(mu, delta, m, 0.0), GOLDEN)


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
    return _crossing(lambda rho: gaussian_excess(mu, delta, leverage, rho), top)


def _largest(holds: Callable[[float], bool], top: float) -> float:
    """The largest number up to `top` at which a condition holds, or 0; it must fail from some point on."""
    if holds(top):
        return top
    low, high = 0.0, top
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _crossing(excess: Callable[[float], float], top: float) -> float:
    """The largest number up to `top` before a continuous function exceeds 0 for good, from the safe side, or 0."""
    low = high = top
    for _ in range(_STEPS):
        if excess(low) <= 0:
            break
        low, high = low / 2, low
    else:
        return 0.0
    if low == top:
        return top
    found, step = float(toms748(excess, low, high, xtol=_FINE * high)), _FINE * high
    while excess(found) > 0:
        found, step = max(found - step, low), 2 * step
    return found


def coefficient_bound(lambda_: float, n_max: float, B: float, Y: float, least: float = 0.0) -> float:
    """The largest norm of ridge coefficients for at most n_max rows and eigenvalues of X'X of at least `least`.

    sqrt(n) Y times the largest sigma/(sigma^2 + lambda) over sigma^2 from `least` to n B^2. Attained.

    Examples
    --------
    >>> coefficient_bound(lambda_=4.0, n_max=100, B=1.0, Y=1.0)
    2.5
    """
    return float(coefficient_bounds(np.asarray(lambda_, dtype=np.float64), n_max, B, Y, least))


def coefficient_bounds(lambdas: Floats, n_max: float, B: float, Y: float, least: float = 0.0) -> Floats:
    """`coefficient_bound` for each of several penalties."""
    if n_max == math.inf:
        return np.full_like(lambdas, math.inf)
    low, top = math.sqrt(least), math.sqrt(n_max) * B
    sigma = np.clip(np.sqrt(lambdas), low, max(top, low))
    with np.errstate(divide="raise", invalid="raise"):
        bounds: Floats = math.sqrt(n_max) * Y * sigma / (sigma**2 + lambdas)
    return bounds


def residual_at(m: Floats, lambda_: float, n_max: float, B: float, Y: float) -> Floats:
    """R(m): the largest residual of a row outside the data whose leverage is m <= B^2/lambda. Attained."""
    reach: Floats = Y * (1 + np.sqrt(n_max * m * np.maximum(1 - lambda_ * m / B**2, 0.0)))
    return reach


def boxes(lambda_: float, n_max: float, B: float, Y: float) -> tuple[Floats, Floats]:
    """Leverages and residuals of boxes that together cover every row, for tables of at most n_max rows.

    R(m) grows up to m = B^2/(2 lambda) and falls after it, so only the second half matters. It is cut into boxes,
    each held to its largest leverage and its largest residual.
    """
    edges = B**2 / lambda_ * np.linspace(0.5, 1.0, _BOXES + 1)
    return edges[1:], residual_at(edges[:-1], lambda_, n_max, B, Y)


def _least(safe: Any, start: Floats) -> Floats:
    """The least positive numbers at which a monotone condition holds, from the safe side, to 1e-12 relative."""
    low, high = start.copy(), start.copy()
    for _ in range(1100):
        fails = ~safe(high)
        if not fails.any():
            break
        high = np.where(fails, high * 2, high)
    else:
        raise ParameterError("No finite epsilon meets this delta; the draw protects nobody.")
    for _ in range(1100):
        holds = safe(low) & (low > 1e-300)
        if not holds.any():
            break
        low = np.where(holds, low / 2, low)
    for _ in range(60):
        middle = np.sqrt(low) * np.sqrt(high)
        good = safe(middle)
        low, high = np.where(good, low, middle), np.where(good, middle, high)
        if np.all(high <= low * (1 + 1e-13)):
            break
    return high


def _curve(epsilon: Floats, leverage: float, rho: float) -> Floats:
    return np.asarray(delta(epsilon, leverage, rho, 1.0))


def _arguments(first: ArrayLike, leverage: ArrayLike, residual: ArrayLike, gamma: ArrayLike) -> tuple[Floats, ...]:
    """The first argument, the leverage and rho = sqrt(gamma) abs(r), as arrays of one shape."""
    arrays = [np.asarray(a, dtype=np.float64) for a in (first, leverage, residual, gamma)]
    names = ("epsilon or delta", "leverage", "residual", "gamma")
    for name, array, low in zip(names, arrays, (0.0, 5e-324, -np.inf, 5e-324), strict=True):
        if not np.all(np.isfinite(array) & (array >= low)):
            raise ParameterError(f"{name} must be finite{'' if low == -np.inf else ' and above 0 (epsilon: from 0)'}.")
    value, m, r, g = np.broadcast_arrays(*arrays)
    return value.copy(), m.copy(), np.sqrt(g) * np.abs(r)


def _shaped(value: Floats) -> Any:
    return float(value) if value.ndim == 0 else value


def _mills(x: Floats) -> Floats:
    """Q(x)/phi(x); infinite below -38."""
    ratio: Floats = erfcx(x / np.sqrt(2)) * np.sqrt(np.pi / 2)
    return ratio


def _phi(x: Floats) -> Floats:
    density: Floats = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    return density


def _upper(e: Floats, m: Floats, rho: Floats) -> Floats:
    """The two tails of P minus e^epsilon times those of Q."""
    log1p, s = np.log1p(m), np.sqrt(1 + m)
    t = np.sqrt(2 * e + log1p + (rho / s) ** 2)
    right = (2 * e + log1p - m * (rho / s) ** 2) / (t + rho) / np.sqrt(m)  # (t - rho)/sqrt(m)
    left = (t + rho) / np.sqrt(m)
    step = np.sqrt(m) / (s * (1 + s))
    total = _tail(right, step * (t * s + rho), e, m) + _tail(left, step * np.maximum(t * s - rho, 0), e, m)
    return np.minimum(total, 1.0)


def _tail(a: Floats, gap: Floats, e: Floats, m: Floats) -> Floats:
    """Q(a) - e^epsilon Q(b), b = a + gap, where phi(a) = e^epsilon phi(b) sqrt(1 + m)."""
    b = a + gap
    wide = np.exp(log_ndtr(-a)) - np.exp(log_ndtr(-b) + e)
    # phi(a) (M(a) - M(b)/s) = phi(a) (integral of 1 - x M(x) from a to b + M(b) (1 - 1/s)): no cancellation
    narrow, short = np.zeros_like(a), (gap < 4) & (a < 40)
    if short.any():
        x = a[short] + gap[short] * _NODES.reshape(-1, 1)
        slope = np.tensordot(_WEIGHTS, _fall(x), axes=1) * gap[short]
        narrow[short] = _phi(a[short]) * (slope - _mills(b[short]) * np.expm1(-np.log1p(m[short]) / 2))
    return np.maximum(np.where(short, narrow, np.where(a < 40, wide, 0.0)), 0.0)


def _fall(x: Floats) -> Floats:
    """The value 1 - x M(x), minus the slope of the Mills ratio M."""
    z = 1 / np.maximum(x, 20.0) ** 2
    series = z * (1 - z * (3 - z * (15 - z * (105 - z * (945 - z * 10395)))))
    return np.where(x > 20, series, 1 - x * _mills(x))


def _lower(e: Floats, m: Floats, rho: Floats) -> Floats:
    """The integral over abs(w) < u of q(w) (1 - exp((w^2 - u^2)/2)), all terms positive.

    With w = u - sd v: exponent -(sd u v - sd^2 v^2/2), v from 0 to 2 u/sd.
    """
    log1p, s = np.log1p(m), np.sqrt(1 + m)
    sd, scaled = np.sqrt(m) / s, (rho / s) ** 2
    u2 = log1p + scaled - 2 * e
    u = np.sqrt(np.maximum(u2, 0))
    some = np.where(u2 > 0, u, 1.0)
    b = (2 * e - log1p - scaled * m / (1 + m)) / (rho / (s * s) + some) / sd  # (rho/s^2 - u)/sd
    a = (2 * e - log1p + scaled * m) / (rho + some) / np.sqrt(m)  # (rho - u)/sqrt(m)
    whole = 2 * u / sd
    a2, b2 = a + 2 * u / np.sqrt(m), b + whole
    closed = _between(b, b2) - np.exp(e + _log_between(a, a2))
    fine = (sd * u < 0.5) & (b < 40) & (u > 0)
    value = np.where(b < 40, closed, 0.0)
    if fine.any():
        value[fine] = _fine_lower(b[fine], sd[fine] * u[fine], sd[fine], whole[fine])
    return np.where(u2 > 0, np.clip(value, 0.0, 1.0), 0.0)


def _fine_lower(b: Floats, su: Floats, sd: Floats, whole: Floats) -> Floats:
    """The integral by Gauss-Legendre panels over the part of [0, whole] within 9 sds of the mean or of 0."""
    start = np.clip(-b - 9.0, 0.0, whole)
    length = np.clip(-b + 9.0, np.minimum(9.0, whole), whole) - start
    total = np.zeros_like(b)
    for panel in range(_PANELS):
        v = start + length * ((panel + _NODES.reshape(-1, 1)) / _PANELS)
        inner = _phi(b + v) * -np.expm1(-(su * v - (sd * v) ** 2 / 2))
        total += np.tensordot(_WEIGHTS, inner, axes=1) * length / _PANELS
    return total


def _log_between(low: Floats, high: Floats) -> Floats:
    """Log of the normal probability of [low, high]."""
    flip = low + high < 0  # work in the upper tail
    x, y = np.where(flip, -high, low), np.where(flip, -low, high)
    first, second = log_ndtr(-x), log_ndtr(-y)
    with np.errstate(divide="ignore"):
        value: Floats = first + np.log(-np.expm1(np.minimum(second - first, 0.0)))
    return value


def _between(low: Floats, high: Floats) -> Floats:
    value: Floats = np.exp(_log_between(low, high))
    return value
