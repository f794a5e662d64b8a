r"""OPS: one posterior sample, with penalty and precision from public facts by the exact curve (wang2018 appendix F).

theta ~ N(theta_hat, H^-1/gamma), H = X'X + lambda I. Rows obey norm(x) <= B and abs(y) <= Y, and there are at most
n_max of them. A row outside the data that has leverage m <= B^2/lambda then has a residual of at most
R(m) = Y (1 + sqrt(n_max m (1 - lambda m/B^2))), which data reach, and

    gamma(lambda) = min over m of (rho(m)/R(m))^2,    rho = `privacy.ops.residual_limit`(epsilon, delta, m)

is the largest gamma that keeps the promise for all data (``docs/mathematics``, 8.3). The four ways to calibrate
differ in lambda only; `printed` has the paper's constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.checks import Neighbors
from discreet.core.rounding import FEW, MANY, down, up
from discreet.data.moments import Moments
from discreet.errors import ParameterError
from discreet.gate.session import promised
from discreet.mechanisms.coefficients import CoefficientsRegressor
from discreet.mechanisms.posterior_sampling.event import (
    SPARE_DELTA,
    SPARE_EPSILON,
    BallEvent,
    PosteriorEvent,
    tolerance,
    trace_bound,
)
from discreet.mechanisms.posterior_sampling.release import (
    Printed,
    StagedSubject,
    release_in_ball,
    release_posterior,
    release_printed,
)
from discreet.models.linear import MomentsEstimator
from discreet.models.spec import FitSpec
from discreet.privacy import gdp
from discreet.privacy.guarantee import Guarantee, add_remove
from discreet.privacy.ops import GOLDEN, boxes, coefficient_bound, leverage_limit, residual_limit

VARRHO = 0.05
"""The failure probability in the papers' bound on the error; it matters for accuracy only."""

PURE = "pure"

_MARGIN = 2.0**-20  # relative margin of gamma, so that the recomputed epsilon is below the promise despite rounding
_GRID = np.geomspace(1.0 + 1e-3, 1e7, 600)


@dataclass(frozen=True, kw_only=True)
class PublicFacts:
    """The facts that the user declares: the promise for add-remove neighbours, the bounds and the size."""

    epsilon: float
    delta: float
    B: float
    Y: float
    n_max: int
    d: int

    def __post_init__(self) -> None:
        checks.positive("epsilon", self.epsilon)
        checks.fraction("delta", self.delta)
        checks.positive("B", self.B)
        checks.positive("Y", self.Y)
        if self.n_max < 1 or self.d < 1:
            raise ParameterError("n_max, the declared number of rows, and d, the number of columns, start at 1.")


@dataclass(frozen=True)
class PosteriorCalibration:
    """Parameters of one posterior sample, and the largest leverage and residual that a row can have."""

    lambda_: float
    gamma: float
    leverage: float
    residual: float


def calibrate(facts: PublicFacts, lambda_: float) -> PosteriorCalibration:
    """The largest gamma for a given lambda: every box must keep the promise."""
    lambda_ = checks.positive("lambda_", lambda_)
    top = facts.B**2 / lambda_
    m, R = boxes(lambda_, facts.n_max, facts.B, facts.Y)
    rho = residual_limit(facts.epsilon, facts.delta, m) if top <= GOLDEN else np.zeros(1)
    if rho.min() <= 0:
        needed = facts.B**2 / leverage_limit(facts.epsilon, facts.delta)
        raise ParameterError(
            f"lambda_={lambda_:g} is too small for this promise: even a flat draw (gamma near 0) tells too much. "
            f"Take it above {needed:.4g}."
        )
    return PosteriorCalibration(lambda_, down(float(np.min(rho / R)) ** 2), top, float(R.max()))


def diffuse(facts: PublicFacts) -> PosteriorCalibration:
    """Twice the least feasible lambda; the rest of the budget goes into gamma.

    wang2018 takes lambda = (1 + log(2/delta)) B^2/epsilon, twice the value at which its own bound becomes infeasible.
    """
    return calibrate(facts, 2 * facts.B**2 / leverage_limit(facts.epsilon, facts.delta))


@lru_cache(maxsize=64)
def concentrated(facts: PublicFacts, gamma: float | None = None) -> PosteriorCalibration:
    """A fixed gamma (1/Y^2, the likelihood's own scale) and the least lambda that keeps the promise."""
    gamma = 1 / facts.Y**2 if gamma is None else checks.positive("gamma", gamma)
    low = high = 1.001 * facts.B**2 / leverage_limit(facts.epsilon, facts.delta)
    while calibrate(facts, high).gamma < gamma:
        low, high = high, high * 2
    while high > low * (1 + 1e-6):
        middle = (low + high) / 2
        low, high = (low, middle) if calibrate(facts, middle).gamma >= gamma else (middle, high)
    found = calibrate(facts, high)
    return replace(found, gamma=min(gamma, found.gamma))


@lru_cache(maxsize=64)
def balanced(facts: PublicFacts, coef_norm: float | None = None) -> PosteriorCalibration:
    """The lambda that minimises k (R/rho)^2 + lambda `coef_norm`^2, wang2018's bound (24) on the excess error.

    R and rho are those of the largest residual and leverage; k = d/2 + sqrt(d log(1/varrho)) + log(1/varrho).
    `coef_norm` is a guess of the coefficients' norm; Y/B is wang2018's.
    """
    norm = facts.Y / facts.B if coef_norm is None else checks.positive("coef_norm", coef_norm)

    def bound(lambda_: Floats, rho: Floats) -> Floats:
        R = facts.Y * (1 + facts.B * np.sqrt(facts.n_max / lambda_) / 2)
        return spread(facts.d) * (R / rho) ** 2 + lambda_ * norm**2

    return _minimised(facts, bound)


@lru_cache(maxsize=64)
def conservative(facts: PublicFacts) -> PosteriorCalibration:
    """The lambda that minimises k B^2/rho(lambda)^2 + lambda: no guess of the coefficients' norm is needed.

    The ridge coefficients are no longer than the least-squares ones, theta, so both terms of the bound are at most
    (Y/B + norm(theta))^2 times these. gamma is then that of the public bound R(lambda).
    """
    return _minimised(facts, lambda lambda_, rho: spread(facts.d) * (facts.B / rho) ** 2 + lambda_)


def pure(
    epsilon: float, B: float, Y: float, radius: float, neighbors: Neighbors = "add-remove"
) -> PosteriorCalibration:
    """The gamma of a posterior sample **restricted to norm(theta) <= radius** that is epsilon-private, delta = 0.

    By the exponential mechanism: gamma (y - x'theta)^2/2 lies between 0 and c = gamma (Y + B radius)^2/2. One row
    more or less changes densities by a factor in [e^-c, 1] and the constant by one in [1, e^c]: epsilon = c. Two
    rows, replace-one: 2c. Any lambda will do; 0 is reported.
    """
    R = checks.positive("Y", Y) + checks.positive("B", B) * checks.positive("radius", radius)
    steps = 1 if checks.neighbors(neighbors) == "add-remove" else 2
    return PosteriorCalibration(0.0, down(2 * checks.positive("epsilon", epsilon) / (steps * R**2), FEW), math.inf, R)


def spread(d: int) -> float:
    """The factor k: with probability 1 - varrho the draw's excess error is at most k/gamma."""
    return d / 2 + math.sqrt(d * math.log(1 / VARRHO)) + math.log(1 / VARRHO)


def _minimised(facts: PublicFacts, bound: Callable[[Floats, Floats], Floats]) -> PosteriorCalibration:
    """Calibrate at the point of a fine grid of lambdas above the least feasible one where the bound is least."""
    least = facts.B**2 / leverage_limit(facts.epsilon, facts.delta)
    lambdas = least * _GRID
    rho = residual_limit(facts.epsilon, facts.delta, facts.B**2 / lambdas)
    useful = rho > 0
    values = bound(lambdas[useful], rho[useful])
    return calibrate(facts, float(lambdas[useful][np.argmin(values)]))


CALIBRATIONS: dict[str, Callable[[PublicFacts], PosteriorCalibration]] = {
    "diffuse": diffuse,
    "concentrated": concentrated,
    "balanced": balanced,
    "conservative": conservative,
}


def printed(facts: PublicFacts, calibration: str) -> PosteriorCalibration:
    """The printed lambda and gamma of wang2018, appendix F: diffuse, concentrated, balanced (B = Y/B), conservative.

    Its privacy claim does not hold (E1, E2); kept so that the paper's figures can be reproduced.

    Examples
    --------
    >>> facts = PublicFacts(epsilon=1, delta=1e-6, B=1, Y=1, n_max=1000, d=5)
    >>> [round(printed(facts, name).lambda_, 1) for name in ("diffuse", "concentrated", "balanced", "conservative")]
    [15.5, 142.5, 59.9, 15.5]
    """
    B2, log = facts.B**2, math.log(2 / facts.delta)
    least = (1 + log) * B2 / facts.epsilon
    if calibration == "concentrated":
        gamma = 1 / facts.Y**2
        lambda_ = float(brentq(lambda x: remark_11(facts, x, gamma) - facts.epsilon, least / 2, 1e9 * least))
        return _calibration(facts, lambda_, gamma)
    C1, norm2 = spread(facts.d) * log / min(facts.epsilon, math.sqrt(facts.epsilon)) ** 2, (facts.Y / facts.B) ** 2
    lambda_ = least
    if calibration == "balanced":
        lambda_ = argmin(lambda x: C1 * _lipschitz(facts, x) ** 2 / x + x * norm2, least)
    elif calibration == "conservative":
        lambda_ = argmin(lambda x: C1 * B2**2 / x + x, least)
    a, b = 1 / (2 * (lambda_ + B2)), math.sqrt(log / lambda_)
    c = (1 + log) * B2 / (2 * lambda_) - facts.epsilon
    root = -2 * c / (b + math.sqrt(b * b - 4 * a * c))  # sqrt(gamma) L
    return _calibration(facts, lambda_, (root / _lipschitz(facts, lambda_)) ** 2)


def coded(facts: PublicFacts, calibration: str) -> PosteriorCalibration:
    """The lambda and gamma of wang2018's code, for B = Y = 1; the code also draws with X'X + I for X'X (E25).

    C1 has min(epsilon/2, sqrt(epsilon/2)) for epsilon; lambda is in closed form, a minimiser of (24) without the 1 in
    L; gamma solves a quadratic that lacks a factor 1/2. "concentrated" solves epsilon lambda^2 = (sqrt(2 n t) +
    (1 + t)/2) lambda + 2 n, t = log(2/delta); where lambda > n/2 it takes L = 2, and its constant term is 1 by a slip
    of the pen ("&" for "^").
    """
    epsilon, n, log = facts.epsilon, facts.n_max, math.log(2 / facts.delta)
    if calibration == "concentrated":
        b = math.sqrt(2 * n * log) + (1 + log) / 2
        lambda_ = (b + math.sqrt(b * b + 8 * epsilon * n)) / (2 * epsilon)
        if lambda_ > n / 2:
            lambda_ = ((math.sqrt(log) + math.sqrt(max(log - epsilon, 0.0))) / epsilon) ** 2
        return PosteriorCalibration(lambda_, 1.0, 1 / lambda_, _coded_lipschitz(n, lambda_))
    C1 = spread(facts.d) * log / min(epsilon / 2, math.sqrt(epsilon / 2)) ** 2
    wished = {"diffuse": 0.0, "balanced": (C1 * n / 2) ** (1 / 3), "conservative": math.sqrt(C1)}[calibration]
    lambda_ = max(wished, (1 + log) / epsilon)
    L = _coded_lipschitz(n, lambda_)
    a, b = L**2 / (lambda_ + 1), L * math.sqrt(log / lambda_)
    c = (1 + log) / (2 * lambda_) - epsilon
    return PosteriorCalibration(lambda_, (-2 * c / (b + math.sqrt(b * b - 4 * a * c))) ** 2, 1 / lambda_, L)


def _coded_lipschitz(n: float, lambda_: float) -> float:
    """The constant L(lambda) with the smaller bound of (23)."""
    return 1 + min(math.sqrt(n / (2 * lambda_)), n / lambda_)


def _lipschitz(facts: PublicFacts, lambda_: float) -> float:
    """The constant L(lambda) of wang2018 appendix F."""
    return facts.B * facts.Y * (math.sqrt(facts.n_max / (2 * lambda_)) * facts.B + 1)


def remark_11(facts: PublicFacts, lambda_: float, gamma: float) -> float:
    """The epsilon of wang2018 remark 11 with L(lambda), and 0 for the least eigenvalue."""
    L, log, B2 = _lipschitz(facts, lambda_), math.log(2 / facts.delta), facts.B**2
    linear = math.sqrt(gamma * L**2 * log / lambda_)
    return linear + gamma * L**2 / (2 * (lambda_ + B2)) + (1 + log) * B2 / (2 * lambda_)


def _calibration(facts: PublicFacts, lambda_: float, gamma: float) -> PosteriorCalibration:
    return PosteriorCalibration(lambda_, gamma, facts.B**2 / lambda_, _lipschitz(facts, lambda_) / facts.B)


def argmin(function: Callable[[float], float], least: float) -> float:
    """The minimiser of a function of t >= least: a grid, then a bounded search around its best point.

    Examples
    --------
    >>> argmin(lambda t: t + 1 / (t + 4), 0.0)
    0.0
    """
    points = least + np.concatenate([[0.0], np.geomspace(1e-3, 1e9, 500)])
    with np.errstate(over="ignore"):
        best = int(np.argmin([function(float(t)) for t in points]))
    low, high = float(points[max(best - 1, 0)]), float(points[min(best + 1, len(points) - 1)])
    found = float(minimize_scalar(function, bounds=(low, high), method="bounded", options={"xatol": 1e-9 * high}).x)
    return min((float(points[best]), found), key=function)


E1 = (
    "erratum E1: the theorem takes the tail of a normal as exp(-t^2), so its epsilon is too small; the constants are "
    "private, where they are, by slack in another bound."
)
E25 = (
    "errata E1 and E25: the theorem takes the tail of a normal as exp(-t^2), and the code draws with another "
    "covariance than the theorem. Nothing is recomputed."
)


@dataclass(kw_only=True, eq=False, repr=False)
class OPS(CoefficientsRegressor, MomentsEstimator):
    """One posterior sample.

    theta ~ N(theta_hat, H^-1/gamma) with H = X'X + lambda I and theta_hat = H^-1 X'y, for columns and outcome mapped
    to [-1, 1]. lambda and gamma follow from public facts, `rows` among them, by the exact curve of the sample.
    `DPLinearRegression` is more accurate; this is for comparison.

    Parameters
    ----------
    {parameters}
    calibration : {"balanced", "diffuse", "concentrated", "conservative", "pure"}
        The choice of lambda: to make a bound on the error small; twice the least that can be private; so that gamma
        is 1; or as balanced, without a guess of the coefficients' norm. "pure" keeps to coefficients of a norm of at
        most `radius` and promises pure epsilon: delta is 0 and is left out, and so may `rows` be.
    radius : float, optional
        For "pure": the largest norm of the coefficients, for columns and outcome mapped to [-1, 1]; 1 by default.
    published : {None, "wang2018", "wang2018-code"}
        Use the constants printed in that paper; or what its authors' code does, for data with norms and outcomes of at
        most 1. The guarantee is then `claimed`.

    Notes
    -----
    Except for "pure", `rows` must be given, and be the largest number of rows there can be: the promise is about tables
    of at most that many, and a table with more is refused. How long "pure" takes depends on the data.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (5000, 2))
    >>> model = OPS(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2), rows=5000).fit(X, X.sum(axis=1))
    >>> model.coef_.shape, model.certificate_.guarantee.status
    ((2,), 'verified')
    """

    papers: ClassVar[tuple[str, ...]] = ("wang2018", "wang2018-code")
    why_no_inference: ClassVar[str] = (
        "A posterior sample is the coefficients plus noise of covariance H^-1/gamma, and H was not released; so nobody "
        "can say how far off it is. DPLinearRegression gives standard errors."
    )

    calibration: str = "balanced"
    radius: float | None = None
    published: str | None = None

    @property
    def needs_rows(self) -> bool:
        """Whether the largest number of rows there can be must be declared."""
        return self.calibration != PURE

    def _promise(self) -> Guarantee:
        checks.choice("calibration", self.calibration, (*CALIBRATIONS, PURE))
        pure = self.calibration == PURE
        if self.radius is not None:
            checks.positive("radius", self.radius)
            if not 1e-6 <= self.radius <= 1e6:
                raise ParameterError(f"radius must lie between 1e-6 and 1e6, got {self.radius!r}.")
            if not pure:
                raise ParameterError("radius= belongs to calibration='pure': other samples have no bound.")
        if pure and self._paper is not None:
            raise ParameterError("published= has no pure epsilon; leave one of published= and calibration='pure' out.")
        return promised(self.epsilon, self.delta, self.rows, self.neighbors, pure=pure)

    def _fit(self, moments: Moments, spec: FitSpec) -> Self:
        subject, promise = self._subject(moments.domain, spec), spec.promise
        session = self._session(promise, {None: None, "wang2018": E1, "wang2018-code": E25}[self._paper])
        if self.calibration == PURE:
            drawn = release_in_ball(moments, self._pure_event(subject, promise), session)
        elif self._paper == "wang2018-code":
            drawn = release_printed(moments, subject, self._code(subject, promise), session)
        else:
            drawn = release_posterior(moments, self._event(subject, promise), session)
        return self._fit_coefficients(drawn, subject, spec)

    def _pure_event(self, subject: StagedSubject, promise: Guarantee) -> BallEvent:
        """The event: gamma by the exponential mechanism, and a prior of sd `radius`, hardly truncated."""
        radius = 1.0 if self.radius is None else float(self.radius)
        found = pure(promise.epsilon, subject.norm, subject.outcome, radius, promise.neighbors)
        gamma = down(found.gamma, _MARGIN)
        return BallEvent(**subject.facts(rows=False), radius=radius, penalty=1 / (gamma * radius**2), gamma=gamma)

    def _code(self, subject: StagedSubject, promise: Guarantee) -> Printed:
        facts = PublicFacts(
            epsilon=promise.epsilon, delta=promise.delta, B=1, Y=1, n_max=int(subject.rows or 0), d=len(subject.design)
        )
        found = coded(facts, self.calibration)
        return Printed(None, lambda _: (found.lambda_, found.lambda_), None, lambda *_: found.gamma, code=True)

    def _event(self, subject: StagedSubject, promise: Guarantee) -> PosteriorEvent:
        """The event: penalty and precision from public facts, and noise on the result that hides rounding errors."""
        epsilon, delta = add_remove(promise.epsilon, promise.delta, promise.neighbors)
        spare, hidden = epsilon * SPARE_EPSILON, delta * SPARE_DELTA
        B, Y, d, rows = subject.norm, subject.outcome, len(subject.design), int(subject.rows or 0)
        facts = PublicFacts(epsilon=epsilon, delta=delta, B=B, Y=Y, n_max=rows, d=d)
        if self._paper is None:
            left = replace(facts, epsilon=down(epsilon - spare), delta=down(delta - hidden, 8 * MANY))
            found = CALIBRATIONS[self.calibration](left)
        else:
            found = printed(facts, self.calibration)
        lambda_, gamma = found.lambda_, down(found.gamma, _MARGIN)
        trace, size = trace_bound(d, B, lambda_, rows), coefficient_bound(lambda_, rows, B, Y)
        error = up(tolerance(d, trace, lambda_, size, gamma))
        return PosteriorEvent(
            **subject.facts(),
            penalty=lambda_,
            gamma=gamma,
            spare=spare,
            tolerance=error,
            output=up(2 * error / gdp.mu(spare, hidden), 4 * MANY),
        )
