"""The exact privacy curve of a Gaussian mechanism, and its inverses.

A Gaussian release of sensitivity S with standard deviation s is mu-GDP with mu = S/s. It is
(epsilon, delta)-DP exactly when delta is at least

    D(mu, epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).

Every result is the nearest double on the safe side (`mu` below, the others above), so the functions agree
to the last bit: delta(mu(e, d), e) <= d and epsilon(mu(e, d), d) <= e.

Evaluation: with a = epsilon/mu - mu/2, b = epsilon/mu + mu/2, Q = 1 - Phi and the Mills ratio M = Q/phi,
D = Q(a) - e^epsilon Q(b) = phi(a) (M(a) - M(b)), two terms that nearly cancel when mu is small. Because
1 - t M(t) = -M'(t) >= 1/(t^2 + 3), each is at most 11 (b + 1)^2/mu times D. In arithmetic of unit u, whose
exp and erfc (mpmath's) err by at most u, each has a relative error of at most 8 u (b + 1)^2, mostly from the
rounding of a and b; hence D has at most 2^8 u (b + 1)^4/mu. We take u <= 2^-192 mu/(b + 1)^4, which leaves
2^-184, and enlarge D by 1 + 2^-172 before it is compared or rounded. For a > 40, 2^-1150 > Q(40) >= D, which
lies below every positive double, stands for D.

Inversion: log D is concave in log mu (its slope is one over the mean of the convex, falling 1 - t M(t) on
[a, b], and [a, b] widens and moves left) and in epsilon (D is a normal density convolved with the log-concave
max(0, 1 - e^-x)). So a Newton step ends where D <= delta, and from Q(a) = delta, where D <= delta, Newton's
method approaches the root from the safe side, until the step rounded to that side is nil. The guarantee does
not rest on this: a double is returned only after its own enlarged D was found to be at most delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

from scipy.special import ndtri

from discreet.core import checks
from discreet.errors import ParameterError

LIMIT = 1e12  # largest argument of the inverses; far above it, adjacent doubles lie far apart on the curve


def delta(mu: float, epsilon: float) -> float:
    """The smallest delta at which a mu-GDP mechanism is (epsilon, delta)-DP, rounded up.

    Parameters
    ----------
    mu : float
        Sensitivity over standard deviation of the Gaussian mechanism, at least 0.
    epsilon : float
        Any finite number; compositions need negative ones too.

    Examples
    --------
    >>> round(delta(mu=1, epsilon=1), 4)
    0.1269
    """
    mu, epsilon = _at_least_0("mu", mu), _finite("epsilon", epsilon)
    value = _curve(mu, abs(epsilon))[0] if mu else 0
    if epsilon < 0:  # D(mu, -e) = 1 - e^-e + e^-e D(mu, e)
        ctx = _context(192 - math.frexp(epsilon)[1])
        shrink = ctx.exp(epsilon)
        value = (1 - shrink + shrink * value) * (1 + ctx.ldexp(1, -172))
    return min(1.0, _above(value))


def epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon, at least 0, at which a mu-GDP mechanism is (epsilon, delta)-DP, rounded up.

    Parameters
    ----------
    mu : float
        Sensitivity over standard deviation of the Gaussian mechanism, from 0 to 1e12.
    delta : float
        Strictly between 0 and 1.

    Examples
    --------
    >>> round(epsilon(mu=0.2367, delta=1e-6), 4)
    1.0
    """
    return _epsilon(_at_least_0("mu", mu, LIMIT), checks.fraction("delta", delta))


@lru_cache(maxsize=1024)
def _epsilon(mu: float, delta: float) -> float:
    if mu == 0 or _curve(mu, 0.0)[0] <= delta:
        return 0.0

    def newton(epsilon: float) -> tuple[Any, float]:
        value, _, second, ctx = _curve(mu, epsilon)
        return value, _above(epsilon - ctx.ln(delta / value) * value / second)

    return _settle(max(0.0, mu * (mu / 2 - float(ndtri(delta)))), delta, newton)


def mu(epsilon: float, delta: float) -> float:
    """The largest mu for which a mu-GDP mechanism is (epsilon, delta)-DP, rounded down.

    Parameters
    ----------
    epsilon : float
        From 0 to 1e12.
    delta : float
        Strictly between 0 and 1.

    Examples
    --------
    >>> round(mu(epsilon=1, delta=1e-6), 4)
    0.2367
    """
    return _mu(_at_least_0("epsilon", epsilon, LIMIT), checks.fraction("delta", delta))


@cache
def _mu(epsilon: float, delta: float) -> float:
    def newton(mu: float) -> tuple[Any, float]:
        value, a, _, ctx = _curve(mu, epsilon)
        slope = mu * ctx.exp(-a * a / 2) / ctx.sqrt(2 * ctx.pi) / value
        return value, _below(mu * ctx.exp(ctx.ln(delta / value) / slope))

    q = -float(ndtri(delta))
    root = math.sqrt(q * q + 2 * epsilon)
    start = 2 * epsilon / (q + root) if q > 0 else root - q
    return _settle(max(start, delta), delta, newton)  # D(mu, epsilon) <= D(mu, 0) < mu


def compose(mus: Iterable[float]) -> float:
    """The mu of several Gaussian releases together, adaptive or not: root of the sum of squares, rounded up.

    Examples
    --------
    >>> compose([3, 4])
    5.0
    """
    parts = [_at_least_0("mu", part) for part in mus]
    total = sum((Fraction(part) ** 2 for part in parts), Fraction(0))
    return _root_above(total, math.nextafter(math.hypot(*parts), 0))


def root(total: Fraction) -> float:
    """The root of an exact sum of squares, rounded up: the least double whose square is at least the sum.

    Examples
    --------
    >>> root(Fraction(25)), root(Fraction(1, 10**400)) > 0
    (5.0, True)
    """
    n, d = total.numerator, total.denominator
    shift = max(0, 64 + (d.bit_length() - n.bit_length()) // 2)
    near = float(Fraction(math.isqrt((n << 2 * shift) // d), 1 << shift))
    return _root_above(total, math.nextafter(near, 0))


def _root_above(total: Fraction, root: float) -> float:
    """The root, rounded up, found from a double that is below it or next to it."""
    while root < math.inf and Fraction(root) ** 2 < total:
        root = math.nextafter(root, math.inf)
    return root


def _curve(mu: float, epsilon: float) -> tuple[Any, Any, Any, Any]:
    """D(mu, epsilon) enlarged by its error bound, a, e^epsilon Q(b), and the arithmetic they are in."""
    if epsilon > 1.000001 * mu * (40 + mu / 2):
        ctx = _context(192)
        return ctx.ldexp(1, -1150), ctx.inf, ctx.zero, ctx
    ctx = _context(192 + 4 * math.log2(1 + epsilon / mu + mu / 2) - math.log2(mu))
    centre, half, root2 = ctx.mpf(epsilon) / mu, ctx.ldexp(mu, -1), ctx.sqrt(2)
    second = ctx.exp(epsilon) * ctx.erfc((centre + half) / root2) / 2
    value = ctx.erfc((centre - half) / root2) / 2 - second
    return value * (1 + ctx.ldexp(1, -172)), centre - half, second, ctx


def _context(bits: float) -> Any:
    """Arithmetic of at least this precision."""
    return _fixed_context(max(6, math.ceil(bits / 32)))


@cache
def _fixed_context(words: int) -> Any:
    """One mpmath context for each precision, never changed afterwards, so that threads may share it."""
    import mpmath

    ctx = mpmath.MPContext()
    ctx.prec = 32 * words
    return ctx


def _settle(x: float, delta: float, newton: Callable[[float], tuple[Any, float]]) -> float:
    """Iterate until x meets delta and the point proposed next is x itself or one that failed."""
    failed = math.nan
    while True:
        value, proposal = newton(x)
        if value > delta:
            failed, x = x, proposal
        elif proposal in (x, failed):
            return x
        else:
            x = proposal


def _above(value: Any) -> float:
    nearest = float(value)
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)


def _below(value: Any) -> float:
    return -_above(-value)


def _finite(name: str, value: Any) -> float:
    if not checks.is_real(value) or not math.isfinite(value):
        raise ParameterError(f"{name} must be a finite number, got {value!r}.")
    return float(value)


def _at_least_0(name: str, value: Any, limit: float = math.inf) -> float:
    if not 0 <= _finite(name, value) <= limit:
        raise ParameterError(f"{name} must be a number from 0 to {limit:g}, got {value!r}.")
    return float(value)
