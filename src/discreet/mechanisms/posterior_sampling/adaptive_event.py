"""Coefficients whose noise follows from two earlier releases, and AdaOPS: ``docs/mathematics``, 8.5 and 8.7.

First the least eigenvalue l of X'X, then log(Y + B norm(theta)), with Gaussian noise each; then the coefficients:
a posterior sample (AdaOPS, here), or the ridge coefficients with Gaussian noise (`OutputEvent`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from discreet.core.chance import FAR, length
from discreet.core.field_kinds import many, maybe
from discreet.core.rounding import FEW, MANY, down, up
from discreet.mechanisms.posterior_sampling.event import relative, tolerance, trace_bound
from discreet.privacy import gdp
from discreet.privacy.events.coefficients import FROM_ZERO, POSITIVE, SIGNED, CoefficientEvent, described, grouped
from discreet.privacy.laws import Alone, Failure, Law
from discreet.privacy.ops import GOLDEN, coefficient_bound, coefficient_bounds, gaussian_excess, gaussian_residual_limit
from discreet.statistics.eigenvalue import MAX_ROWS, eigenvalue_error

STAGED = {
    "rows": maybe(POSITIVE),
    "eigenvalue": SIGNED,
    "log_norm": maybe(SIGNED),
    "norm_sd": maybe(POSITIVE),
    "failures": many(FROM_ZERO),
}
"""Fields of a `StagedEvent` that are not a number above 0."""

_LOSS = 2.0  # rho sqrt(m) is close to mu_o - 2 m; steers lambda only
_RIDGE = 1e-9  # lambda is at least this share of lt, so that H is never singular, not even where lt is too large
_GRID = np.concatenate([[0.0], np.geomspace(1e-2, 1e8, 801)])


@dataclass(frozen=True, kw_only=True)
class StagedEvent(CoefficientEvent):
    """The least eigenvalue of X'X and log(Y + B norm(theta)), lambda, R and gamma that follow, and failures.

    `log_norm` is missing where a public bound stands for it; `residual` is R, a bound on every residual. `failures` are
    the probabilities that the eigenvalue is overestimated, that R is too small, and of the method's own failure.
    """

    rows: float | None
    eigenvalue: float
    eigenvalue_sd: float
    eigenvalue_change: float
    log_norm: float | None
    norm_sd: float | None
    penalty: float
    residual: float
    gamma: float
    failures: tuple[float, ...]

    @property
    def mu(self) -> float:
        """The mu of all Gaussian parts; 0 for replace-one, where `law` has the whole cost."""
        return 0.0 if self.neighbors == "replace-one" else self._mu

    @property
    def law(self) -> Law:
        """The failure probabilities; for replace-one the whole cost, by way of the table without the row."""
        failure = up(math.fsum(self.failures))
        if self.neighbors == "add-remove":
            return Failure(failure)
        return Alone(grouped(lambda epsilon: gdp.delta(self._mu, epsilon) + failure))

    @property
    def _mu(self) -> float:
        norm = 0.0 if self.norm_sd is None else log_norm_change(self) / self.norm_sd
        costs = [self.eigenvalue_change / self.eigenvalue_sd, norm, *self._own_costs()]
        return up(gdp.compose(costs))

    def _own_costs(self) -> list[float]:
        raise NotImplementedError

    @property
    def least(self) -> float:
        """The lower bound lt on the least eigenvalue of the table and of every neighbour."""
        return lower_bound(self.eigenvalue, self.eigenvalue_sd, self.failures[0], self.eigenvalue_change)

    @property
    def h(self) -> float:
        """A lower bound on the eigenvalues of H."""
        return self.penalty + self.least

    def keeps(self) -> bool:
        """Whether R and the eigenvalue's sensitivity are large enough, and each release is listed with its noise."""
        if (self.log_norm is None) != (self.norm_sd is None) or len(self.failures) != 3:
            return False
        public = self.outcome + self.norm * _public_norm(self)
        released = math.inf
        if self.log_norm is not None and self.norm_sd is not None:
            widening = self.norm_sd * quantile(self.failures[1]) + log_norm_change(self)
            released = math.exp(min(700.0, self.log_norm + widening))
        bounded = up(self.residual) >= min(public, released)
        return bounded and up(self.eigenvalue_change) >= eigenvalue_change(len(self.design), self.norm)

    def reach(self, rows: int | None) -> float:
        """A bound on the ridge coefficients of so many rows, plus a bound on their noise."""
        spread = length(len(self.design), 1 / math.sqrt(self.gamma * self._least_shape))
        return _public_norm(self) + spread + length(len(self.design), self._hiding)

    @property
    def _least_shape(self) -> float:
        """The least eigenvalue of the inverse covariance of the noise, over gamma."""
        return self.penalty

    @property
    def _hiding(self) -> float:
        """The scale of the noise that hides rounding errors."""
        return 0.0

    def impossible(self) -> str | None:
        """The reason why the released eigenvalue or norm cannot be those of a table, if any."""
        most, far = (self.rows or MAX_ROWS) * self.norm**2, FAR * self.eigenvalue_sd
        if not -far <= self.eigenvalue <= most + far:
            return "the least eigenvalue of X'X is below 0, or above what so many rows have, by more than its noise"
        if self.log_norm is not None and self.norm_sd is not None:
            far, most = FAR * self.norm_sd, self.outcome + self.norm * _public_norm(self)
            if not math.log(self.outcome) - far <= self.log_norm <= math.log(most) + far:
                return (
                    "the norm of the coefficients is below 0, or above what so many rows have, by more than its noise"
                )
        return None


@described("adaptive_sampling", "AdaOPS.", **STAGED)
@dataclass(frozen=True, kw_only=True)
class AdaptiveEvent(StagedEvent):
    """A posterior sample, declared to be `draw`-GDP up to the third failure before anything was released."""

    mechanism: ClassVar[str] = "adaptive posterior sampling"
    name: ClassVar[str] = "least eigenvalue of X'X, log norm of the coefficients, posterior sample"

    draw: float
    tolerance: float
    output: float

    @property
    def _hiding(self) -> float:
        return self.output

    def _own_costs(self) -> list[float]:
        return [self.draw, 2 * self.tolerance / self.output]

    def keeps(self) -> bool:
        """Whether the releases and the draw keep what was declared for them."""
        m, d = self.norm**2 / self.h, len(self.design)
        if m > GOLDEN:
            return False
        rho = up(math.sqrt(self.gamma) * up(self.residual))  # `super().keeps` grants R a slack of its own
        error = tolerance(d, trace_bound(d, self.norm, self.penalty, self.rows), self.h, size(self), self.gamma)
        declared = gaussian_excess(self.draw, self.failures[2], m, rho) <= 0
        return declared and error <= up(self.tolerance) and super().keeps()


@dataclass(frozen=True)
class EigenvaluePenalty:
    """Public parameters that follow from the released eigenvalue."""

    lt: float
    lambda_: float
    h: float
    leverage: float
    s: float
    s2: float


@dataclass(frozen=True, kw_only=True)
class AdaptivePlan:
    """Everything that AdaOPS fixes before the data are read, and the steps that follow from it."""

    B: float
    Y: float
    d: int
    n_max: float
    kappa: float | None
    mu1: float
    mu2: float
    mu_o: float
    delta_a: float
    delta_b: float
    delta_o: float
    h_min: float
    eigenvalue_sensitivity: float

    @property
    def s1(self) -> float:
        """Standard deviation of the noise on the least eigenvalue."""
        return self.eigenvalue_sensitivity / self.mu1

    @property
    def mu(self) -> float:
        """The mu of the two releases and the draw together."""
        return gdp.compose([self.mu1, self.mu2, self.mu_o])

    def penalty(self, eigenvalue: float) -> EigenvaluePenalty:
        """Steps 1 and 2: lambda from the released (noisy) least eigenvalue."""
        lt = lower_bound(eigenvalue, self.s1, self.delta_a, self.eigenvalue_sensitivity)
        if self.kappa is not None:
            lambda_ = max(0.0, self.n_max * self.B**2 / (self.kappa * self.d) - lt)
        else:
            lambda_ = self._least_bound(lt)
        lambda_ = max(lambda_, _RIDGE * lt)
        h = lambda_ + lt
        m = self.B**2 / h
        s = math.log1p(m)
        return EigenvaluePenalty(lt, lambda_, h, m, s, s / self.mu2 if self.mu2 else 0.0)

    def _least_bound(self, lt: float) -> float:
        """The lambda on a public grid with the least bound on the error among those that make the draw feasible.

        It minimises (v/(v + lambda)) (d/gamma + lambda (Y/B)^2), v = n_max B^2/d, with gamma as it is to be expected
        for norm(theta) = Y/B: the draw's excess error, since tr(X'X H^-1) <= d v/(v + lambda) by concavity, plus bias.
        """
        B2 = self.B**2
        floor = max(0.0, 1.05 * self.h_min - lt, B2 / GOLDEN - lt)
        lambdas = floor + B2 * _GRID
        lambdas = lambdas[lambdas + lt > 0]
        m = B2 / (lambdas + lt)
        effective = np.maximum(self.mu_o - _LOSS * m, 0.0)
        caps = coefficient_bounds(lambdas, self.n_max, self.B, self.Y, lt)
        widening = np.log1p(m) * (quantile(self.delta_b) / self.mu2 + 1)
        with np.errstate(divide="ignore", over="ignore"):
            R = np.minimum(self.Y + self.B * caps, 2 * self.Y * np.exp(widening))
            noise = self.d * R**2 * m / effective**2
            shrink = 1 / (1 + lambdas * self.d / (self.n_max * B2))
            bound = shrink * (noise + lambdas * (self.Y / self.B) ** 2)
        return float(lambdas[np.argmin(bound)])

    def residual_bound(self, penalty: EigenvaluePenalty, log_norm: float | None = None) -> float:
        """Step 3: a bound on every residual, from the released (noisy) log(Y + B norm(theta)) or from public facts."""
        cap = coefficient_bound(penalty.lambda_, self.n_max, self.B, self.Y, penalty.lt)
        public = self.Y + self.B * cap
        if log_norm is None:
            return public
        return min(public, math.exp(log_norm + penalty.s2 * quantile(self.delta_b) + penalty.s))

    def precision(self, penalty: EigenvaluePenalty, residual: float) -> float:
        """Step 4: the largest gamma that keeps the declared promise."""
        rho = gaussian_residual_limit(self.mu_o, self.delta_o, penalty.leverage)
        return down((rho / residual) ** 2, FEW)


def log_norm_change(event: StagedEvent) -> float:
    """The sensitivity s of log(Y + B norm(theta)), rounding errors included."""
    return norm_change(len(event.design), event.norm, event.penalty, event.h, event.rows)


def norm_change(d: int, B: float, penalty: float, h: float, rows: float | None) -> float:
    """The sensitivity s of log(Y + B norm(theta)) from public numbers.

    Examples
    --------
    >>> round(norm_change(d=3, B=1.0, penalty=50.0, h=100.0, rows=1000), 6)
    0.00995
    """
    return up(math.log1p(B**2 / h)) + 4 * relative(d, trace_bound(d, B, penalty, rows), h) + MANY


def eigenvalue_change(d: int, B: float) -> float:
    """The sensitivity of the computed least eigenvalue: B^2, plus twice its rounding error (section 2.5)."""
    return up(B**2 * (1 + 2 * eigenvalue_error(d)))


def _public_norm(event: StagedEvent) -> float:
    """A bound on the norm of the coefficients from public facts and the released eigenvalue; infinite without rows."""
    rows = math.inf if event.rows is None else event.rows
    return coefficient_bound(event.penalty, rows, event.norm, event.outcome, event.least)


def size(event: StagedEvent) -> float:
    """A bound on the norm of the coefficients, since R bounds Y + B norm."""
    return event.residual / event.norm


def lower_bound(eigenvalue: float, sd: float, failure: float, change: float) -> float:
    """The lower bound lt on the least eigenvalue of a table and its neighbours, from the released one."""
    return max(0.0, eigenvalue - sd * quantile(failure) - change)


def quantile(p: float) -> float:
    """The normal quantile q with P(Z > q) = p, rounded up; infinite for 0."""
    return math.inf if p <= 0 else up(-float(ndtri(p)))
