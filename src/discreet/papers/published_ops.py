r"""OPS and AdaOPS with the constants that papers 000 and 001 print. Their privacy claims do not hold: errata E1 to E8.

Kept so that the papers' figures can be reproduced, and as the subject of tests. Nothing verified uses this file.
The text of the papers is followed, with a plus sign in equation (8) of 000, where one is missing, and with max for
min in the lambda of 001. 000's bounds are taken with B^2 = 1 where it omits them, as in its experiments.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from discreet.privacy.ops_calibration import Calibration, PublicFacts, spread


def theorem_10(leverage: float, residual: float, gamma: float, delta: float) -> float:
    """Epsilon of 000 (16), which is 001 (7), from leverage and residual without the row.

    Examples
    --------
    >>> round(theorem_10(1, 1, 1, 1e-6), 2)  # exact: 15.23
    11.16
    """
    m, r2, log = leverage, residual**2, math.log(2 / delta)
    first = abs(-math.log1p(m) + gamma * m / (1 + m) * r2) / 2
    return first + m / 2 * log + math.sqrt(gamma * m * log * r2)


def theorem_10_in_data(leverage: float, residual: float, gamma: float, delta: float) -> float:
    """Epsilon of 000 (17), which is 001 (8), from leverage and residual in the fit that holds the row."""
    m, r2, log = leverage, residual**2, math.log(2 / delta)
    first = abs(-math.log1p(-m) - gamma * m / (1 - m) * r2) / 2
    return first + m / 2 * log + math.sqrt(gamma * m * log * r2)


def lipschitz(facts: PublicFacts, lambda_: float) -> float:
    """L(lambda) of 000 appendix F."""
    return facts.B * facts.Y * (math.sqrt(facts.n_max / (2 * lambda_)) * facts.B + 1)


def remark_11(facts: PublicFacts, lambda_: float, gamma: float) -> float:
    """Epsilon of 000 remark 11 with L(lambda), and 0 for the least eigenvalue."""
    L, log, B2 = lipschitz(facts, lambda_), math.log(2 / facts.delta), facts.B**2
    linear = math.sqrt(gamma * L**2 * log / lambda_)
    return linear + gamma * L**2 / (2 * (lambda_ + B2)) + (1 + log) * B2 / (2 * lambda_)


def ops(facts: PublicFacts, calibration: str) -> Calibration:
    """Lambda and gamma of 000 appendix F: diffuse, concentrated, balanced (B = Y/B there) or conservative.

    Examples
    --------
    >>> facts = PublicFacts(epsilon=1, delta=1e-6, B=1, Y=1, n_max=1000, d=5)
    >>> [round(ops(facts, name).lambda_, 1) for name in ("diffuse", "concentrated", "balanced", "conservative")]
    [15.5, 142.5, 59.9, 15.5]
    """
    B2, log = facts.B**2, math.log(2 / facts.delta)
    least = (1 + log) * B2 / facts.epsilon
    if calibration == "concentrated":
        gamma = 1 / facts.Y**2
        lambda_ = float(brentq(lambda x: remark_11(facts, x, gamma) - facts.epsilon, least / 2, 1e9 * least))
        return _calibration(facts, lambda_, gamma)
    if calibration == "diffuse":
        lambda_ = least
    elif calibration == "balanced":
        C1 = spread(facts.d) * log / min(facts.epsilon, math.sqrt(facts.epsilon)) ** 2
        norm2 = (facts.Y / facts.B) ** 2
        lambda_ = _argmin(lambda x: C1 * lipschitz(facts, x) ** 2 / x + x * norm2, least)
    else:
        C1 = spread(facts.d) * log / min(facts.epsilon, math.sqrt(facts.epsilon)) ** 2
        lambda_ = _argmin(lambda x: C1 * B2**2 / x + x, least)
    a, b = 1 / (2 * (lambda_ + B2)), math.sqrt(log / lambda_)
    c = (1 + log) * B2 / (2 * lambda_) - facts.epsilon
    root = -2 * c / (b + math.sqrt(b * b - 4 * a * c))  # sqrt(gamma) L
    return _calibration(facts, lambda_, (root / lipschitz(facts, lambda_)) ** 2)


def ada_ops_penalty(epsilon: float, delta: float, B: float, d: int, eigenvalue: float, z: float) -> tuple[float, float]:
    """Steps 2 to 4 of 000 algorithm 1: the released least eigenvalue and lambda by rule (7).

    Examples
    --------
    >>> released, lambda_ = ada_ops_penalty(1.0, 1e-6, 1.0, 10, eigenvalue=0.0, z=0.0)
    >>> released, round(lambda_, 1)
    (0.0, 131.1)
    """
    log = math.log(6 / delta)
    lt = max(eigenvalue + math.sqrt(log) / (epsilon / 4) * z - log / (epsilon / 4), 0.0)
    bar = _positive_root(1 / (2 * log), epsilon / 4)
    C1, C2 = spread(d) * log / bar**2, log / (epsilon / 4)
    least = max(B**2 * (1 + log) / (2 * epsilon) - lt, 0.0)

    def rule(t: float) -> float:
        return math.log(B**4 * C1 / (t + lt)) + 2 * C2 * math.log1p(B**2 / (t + lt))

    return lt, _argmin(lambda t: math.exp(rule(t)) + t, least)


def ada_ops_gamma(
    epsilon: float, delta: float, B: float, Y: float, h: float, norm: float, z: float
) -> tuple[float, float]:
    """Steps 6 and 7 of 000 algorithm 1: L~ and gamma, with h = lambda + released eigenvalue."""
    log, s = math.log(6 / delta), math.log1p(B**2 / h)
    widening = s / (epsilon / (4 * math.sqrt(log))) * z + s / (epsilon / (4 * log))
    L = B * math.exp(math.log(Y + B * norm) + widening)
    tilde = _positive_root((1 / log + (1 + log) / log) / 2, epsilon / 2)
    return L, h * tilde**2 / (log * L**2)


def ada_ops_code_penalty(epsilon: float, delta: float, d: int, eigenvalue: float) -> tuple[float, float]:
    """The released least eigenvalue of X'X + I, less its offset, and lambda, as 000's code has them (E25); B = Y = 1.

    Examples
    --------
    >>> released, lambda_ = ada_ops_code_penalty(1.0, 1e-6, 10, eigenvalue=0.0)
    >>> released, round(lambda_, 1)
    (0.0, 200.0)
    """
    log = math.log(6 / delta)
    lt = max(eigenvalue - log / (epsilon / 4), 0.0)
    bar = _positive_root(log / 2, epsilon / 4)
    C1, C2 = spread(d) * log / bar**2, log / (epsilon / 4)
    least = max((1 + log) / (2 * (epsilon / 4)) - lt, 0.0)

    def rule(t: float) -> float:
        return math.log(C1 / (t + lt)) + 2 * C2 * math.log1p(1 / (t + lt))

    return lt, _argmin(lambda t: math.exp(rule(t)) + t, least)


def ada_ops_code_gamma(epsilon: float, delta: float, h: float, n: float, log_norm: float) -> float:
    """Gamma as 000's code has it, its cap on L included (E25), from the released log(1 + norm)."""
    log, s = math.log(6 / delta), math.log1p(1 / h)
    L = min(math.exp(log_norm + s / (epsilon / 4) * log), 1 + math.sqrt(2 * math.sqrt(n) / h))
    a, b = L**2 / (2 * (h + 1)), L * math.sqrt(log / h)
    c = epsilon / 2 - (1 + log) / (2 * h)
    return (2 * c / (b + math.sqrt(b * b + 4 * a * c))) ** 2


def kappa_ada_ops(
    epsilon: float, delta: float, n: int, d: int, kappa: float, eigenvalue: float, z: float
) -> tuple[float, float]:
    """Lambda and gamma of 001 algorithm 1, for B = Y = 1."""
    log = math.log(4 / delta)
    released = eigenvalue + math.sqrt(log) / (epsilon / 2) * z
    lambda_ = max(0.0, n / (d * kappa) - released + log / (epsilon / 2))
    scale = n / (kappa * d) ** 2
    return lambda_, scale * min(epsilon**2 / (16 * log), epsilon / 8)


def _positive_root(a: float, c: float) -> float:
    """The positive x with a x^2 + x = c."""
    return 2 * c / (1 + math.sqrt(1 + 4 * a * c))


def _argmin(function: Callable[[float], float], least: float) -> float:
    """Where a function of t >= least is smallest: a grid, then a bounded search around its best point."""
    shifts = np.concatenate([[0.0], np.geomspace(1e-3, 1e9, 500)])
    points = least + shifts
    points = points[points > 0]
    with np.errstate(over="ignore"):
        best = int(np.argmin([function(float(t)) for t in points]))
    low, high = float(points[max(best - 1, 0)]), float(points[min(best + 1, len(points) - 1)])
    found = float(minimize_scalar(function, bounds=(low, high), method="bounded", options={"xatol": 1e-9 * high}).x)
    return min((float(points[best]), found), key=function)


def _calibration(facts: PublicFacts, lambda_: float, gamma: float) -> Calibration:
    return Calibration(lambda_, gamma, facts.B**2 / lambda_, lipschitz(facts, lambda_) / facts.B)
