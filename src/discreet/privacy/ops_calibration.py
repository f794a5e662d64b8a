r"""Penalty lambda and precision gamma of OPS from public facts alone (000 appendix F), by the exact curve.

Rows obey norm(x) <= B and abs(y) <= Y, and there are at most n_max of them. A row outside the data that has leverage
m <= B^2/lambda then has a residual of at most R(m) = Y (1 + sqrt(n_max m (1 - lambda m/B^2))), which data reach, and

    gamma(lambda) = min over m of (rho(m)/R(m))^2,    rho = `ops_limits.residual_limit`(epsilon, delta, m)

is the largest gamma that keeps the promise for all data (``docs/mathematics.md``, section 8.3). The four ways differ in
lambda only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.core.rounding import FEW, down
from discreet.errors import ParameterError
from discreet.privacy.declared import add_remove
from discreet.privacy.ops_limits import GOLDEN, leverage_limit, residual_limit

Floats = NDArray[np.float64]

VARRHO = 0.05
"""The failure probability in the papers' bound on the error; it matters for accuracy only."""

_GRID = np.geomspace(1.0 + 1e-3, 1e7, 600)
_BOXES = 48


@dataclass(frozen=True, kw_only=True)
class PublicFacts:
    """What the user declares: the promise, the bounds and the size."""

    epsilon: float
    delta: float
    B: float
    Y: float
    n_max: int
    d: int
    neighbors: Neighbors = "add-remove"

    def __post_init__(self) -> None:
        checks.positive("epsilon", self.epsilon)
        checks.fraction("delta", self.delta)
        checks.positive("B", self.B)
        checks.positive("Y", self.Y)
        checks.neighbors(self.neighbors)
        if self.n_max < 1 or self.d < 1:
            raise ParameterError("n_max, the declared number of rows, and d, the number of columns, start at 1.")

    @property
    def promise(self) -> tuple[float, float]:
        """The add-remove promise to keep."""
        return add_remove(self.epsilon, self.delta, self.neighbors)


@dataclass(frozen=True)
class Calibration:
    """Parameters of one posterior sample, and the largest leverage and residual that a row can have."""

    lambda_: float
    gamma: float
    leverage: float
    residual: float


def coefficient_bound(lambda_: float, n_max: float, B: float, Y: float, least: float = 0.0) -> float:
    """The largest norm of ridge coefficients: at most n_max rows, eigenvalues of X'X at least `least`.

    sqrt(n) Y times the largest sigma/(sigma^2 + lambda) over sigma^2 from `least` to n B^2. Attained.

    Examples
    --------
    >>> coefficient_bound(lambda_=4.0, n_max=100, B=1.0, Y=1.0)
    2.5
    """
    if n_max == math.inf:
        return math.inf
    top = math.sqrt(n_max) * B
    sigma = min(max(math.sqrt(lambda_), math.sqrt(least)), max(top, math.sqrt(least)))
    return math.sqrt(n_max) * Y * sigma / (sigma**2 + lambda_)


def residual_at(m: Floats, lambda_: float, n_max: float, B: float, Y: float) -> Floats:
    """R(m): the largest residual of a row outside the data whose leverage is m <= B^2/lambda. Attained."""
    reach: Floats = Y * (1 + np.sqrt(n_max * m * np.maximum(1 - lambda_ * m / B**2, 0.0)))
    return reach


def boxes(lambda_: float, n_max: float, B: float, Y: float) -> tuple[Floats, Floats]:
    """Leverages and residuals that between them cover every row, for tables of at most n_max rows.

    R(m) grows up to m = B^2/(2 lambda) and falls after it, so only the second half matters. It is cut into boxes,
    each held to its largest leverage and its largest residual.
    """
    edges = B**2 / lambda_ * np.linspace(0.5, 1.0, _BOXES + 1)
    return edges[1:], residual_at(edges[:-1], lambda_, n_max, B, Y)


def calibrate(facts: PublicFacts, lambda_: float) -> Calibration:
    """The largest gamma for a given lambda: every box must keep the promise.

    Examples
    --------
    >>> facts = PublicFacts(epsilon=1, delta=1e-6, B=1, Y=1, n_max=1000, d=5)
    >>> found = calibrate(facts, lambda_=100.0)
    >>> round(found.gamma, 3), found.leverage, round(found.residual, 3)
    (1.154, 0.01, 2.581)
    """
    lambda_ = checks.positive("lambda_", lambda_)
    top = facts.B**2 / lambda_
    m, R = boxes(lambda_, facts.n_max, facts.B, facts.Y)
    rho = np.zeros(1)
    if top <= GOLDEN:
        rho = residual_limit(*facts.promise, m)
    if rho.min() <= 0:
        needed = facts.B**2 / leverage_limit(*facts.promise)
        raise ParameterError(
            f"lambda_={lambda_:g} is too small for this promise: even a flat draw (gamma near 0) tells too much. "
            f"Take it above {needed:.4g}."
        )
    return Calibration(lambda_, down(float(np.min(rho / R)) ** 2), top, float(R.max()))


def diffuse(facts: PublicFacts) -> Calibration:
    """Twice the least feasible lambda; all the rest goes into gamma.

    000 takes lambda = (1 + log(2/delta)) B^2/epsilon, twice the value at which its own bound becomes infeasible.

    Examples
    --------
    >>> round(diffuse(PublicFacts(epsilon=1, delta=1e-6, B=1, Y=1, n_max=1000, d=5)).lambda_, 1)
    18.4
    """
    return calibrate(facts, 2 * facts.B**2 / leverage_limit(*facts.promise))


def concentrated(facts: PublicFacts, gamma: float | None = None) -> Calibration:
    """A fixed gamma (1/Y^2, the likelihood's own scale) and the least lambda that keeps the promise.

    Examples
    --------
    >>> found = concentrated(PublicFacts(epsilon=1, delta=1e-6, B=1, Y=1, n_max=1000, d=5))
    >>> round(found.gamma, 9), round(found.lambda_)
    (1.0, 92)
    """
    gamma = 1 / facts.Y**2 if gamma is None else checks.positive("gamma", gamma)
    low = high = 1.001 * facts.B**2 / leverage_limit(*facts.promise)
    while calibrate(facts, high).gamma < gamma:
        low, high = high, high * 2
    while high > low * (1 + 1e-6):
        middle = (low + high) / 2
        low, high = (low, middle) if calibrate(facts, middle).gamma >= gamma else (middle, high)
    found = calibrate(facts, high)
    return replace(found, gamma=min(gamma, found.gamma))


def balanced(facts: PublicFacts, coef_norm: float | None = None) -> Calibration:
    """The lambda that minimises k (R/rho)^2 + lambda `coef_norm`^2, 000's bound (24) on the excess error.

    R and rho are those of the largest residual and leverage; k = d/2 + sqrt(d log(1/varrho)) + log(1/varrho).
    `coef_norm` is a guess of the coefficients' norm; Y/B is 000's.

    Examples
    --------
    >>> round(balanced(PublicFacts(epsilon=1, delta=1e-6, B=1, Y=1, n_max=1000, d=5)).lambda_)
    62
    """
    norm = facts.Y / facts.B if coef_norm is None else checks.positive("coef_norm", coef_norm)

    def bound(lambda_: Floats, rho: Floats) -> Floats:
        R = facts.Y * (1 + facts.B * np.sqrt(facts.n_max / lambda_) / 2)
        return spread(facts.d) * (R / rho) ** 2 + lambda_ * norm**2

    return _minimise(facts, bound)


def conservative(facts: PublicFacts) -> Calibration:
    """The lambda that minimises k B^2/rho(lambda)^2 + lambda: no guess of the coefficients' norm is needed.

    The ridge coefficients are no longer than the least-squares ones, theta, so both terms of the bound are at most
    (Y/B + norm(theta))^2 times these. gamma is then that of the public bound R(lambda).

    Examples
    --------
    >>> round(conservative(PublicFacts(epsilon=1, delta=1e-6, B=1, Y=1, n_max=1000, d=5)).lambda_)
    26
    """
    return _minimise(facts, lambda lambda_, rho: spread(facts.d) * (facts.B / rho) ** 2 + lambda_)


def pure(epsilon: float, B: float, Y: float, radius: float, neighbors: Neighbors = "add-remove") -> Calibration:
    """The gamma of a posterior sample **restricted to norm(theta) <= radius** that is epsilon-private, delta = 0.

    By the exponential mechanism: gamma (y - x'theta)^2/2 lies between 0 and c = gamma (Y + B radius)^2/2. One row
    more or less changes densities by a factor in [e^-c, 1] and the constant by one in [1, e^c]: epsilon = c. Two
    rows, replace-one: 2c. Any lambda will do; 0 is reported.

    Examples
    --------
    >>> round(pure(epsilon=1, B=1, Y=1, radius=1).gamma, 9)
    0.5
    """
    R = checks.positive("Y", Y) + checks.positive("B", B) * checks.positive("radius", radius)
    steps = 1 if checks.neighbors(neighbors) == "add-remove" else 2
    return Calibration(0.0, down(2 * checks.positive("epsilon", epsilon) / (steps * R**2), FEW), math.inf, R)


def spread(d: int) -> float:
    """k: with probability 1 - varrho the draw's excess error is at most k/gamma."""
    return d / 2 + math.sqrt(d * math.log(1 / VARRHO)) + math.log(1 / VARRHO)


def _minimise(facts: PublicFacts, bound: Callable[[Floats, Floats], Floats]) -> Calibration:
    """Calibrate at the point of a fine grid of lambdas above the least feasible one where the bound is least."""
    least = facts.B**2 / leverage_limit(*facts.promise)
    lambdas = least * _GRID
    rho = residual_limit(*facts.promise, facts.B**2 / lambdas)
    useful = rho > 0
    values = bound(lambdas[useful], rho[useful])
    return calibrate(facts, float(lambdas[useful][np.argmin(values)]))
