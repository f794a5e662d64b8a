r"""AdaOPS (000 algorithm 1; 001 algorithm 1 with kappa), verified: ``docs/mathematics.md``, section 8.5.

    1  l  = lambda_min(X'X) + s1 Z1                        mu1 = B^2/s1
       lt = max(0, l - s1 q(delta_a) - B^2)                below lambda_min of the data and of every neighbour
    2  lambda from lt and public facts; h = lambda + lt;   leverages are at most m = B^2/h
    3  D  = log(Y + B norm(theta_lambda)) + s2 Z2          mu2 = s/s2, s = log(1 + m)
       R  = exp(D + s2 q(delta_b) + s), or a public bound  at least abs(r) of every row, in the data and in neighbours
    4  theta ~ N(theta_lambda, H^-1/gamma)                 gamma = (rho/R)^2 such that it is mu_o-GDP up to delta_o

Here q(p) is the normal quantile with P(Z > q) = p. mu1, mu2, mu_o and the deltas are fixed beforehand, from public
facts, so that D(mu, epsilon) + delta_a + delta_b + delta_o <= delta with mu^2 = mu1^2 + mu2^2 + mu_o^2. With kappa
step 3 releases nothing and R is the public bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.core.rounding import FEW, down, up
from discreet.errors import ParameterError
from discreet.privacy import gdp
from discreet.privacy.declared import add_remove
from discreet.privacy.ops_calibration import coefficient_bound
from discreet.privacy.ops_limits import GOLDEN, gaussian_leverage_limit, gaussian_residual_limit

EIGENVALUE_SHARE, NORM_SHARE = 0.05, 0.15
"""Shares of mu^2 for steps 1 and 3; the rest is the draw's."""

EIGENVALUE_FAILURE, NORM_FAILURE, DRAW_FAILURE = 0.05, 0.05, 0.1
"""Shares of delta: that lt is too large, that R is too small, and what the draw may exceed its Gaussian curve by."""

_LOSS = 2.0  # rho sqrt(m) is close to mu_o - 2 m; steers lambda only
_RIDGE = 1e-9  # lambda is at least this share of lt, so that H is never singular, not even where lt is too large
_GRID = np.concatenate([[0.0], np.geomspace(1e-2, 1e8, 801)])


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that is fixed before the data are touched."""

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
    eigenvalue_sensitivity: float
    h_min: float

    @property
    def mu(self) -> float:
        """Of the two releases and the draw together."""
        return gdp.compose([self.mu1, self.mu2, self.mu_o])

    @property
    def failure(self) -> float:
        """What is added to the Gaussian curve of `mu`."""
        return self.delta_a + self.delta_b + self.delta_o

    @property
    def s1(self) -> float:
        """Standard deviation of the noise on the least eigenvalue."""
        return self.eigenvalue_sensitivity / self.mu1

    def delta(self, epsilon: float) -> float:
        """The delta of the whole at any epsilon, add-remove."""
        return min(1.0, up(gdp.delta(self.mu, epsilon) + self.failure))


@dataclass(frozen=True)
class Penalty:
    """What follows from the released eigenvalue: public."""

    lt: float
    lambda_: float
    h: float
    leverage: float
    s: float
    s2: float


@dataclass(frozen=True)
class Draw:
    """All stages of one run."""

    penalty: Penalty
    residual: float
    gamma: float


def plan(
    epsilon: float,
    delta: float,
    *,
    B: float,
    Y: float,
    d: int,
    n_max: int | None = None,
    kappa: float | None = None,
    neighbors: Neighbors = "add-remove",
    eigenvalue_sensitivity: float | None = None,
    reserve: float = 0.0,
) -> Plan:
    """Divide a promise among the stages, from public facts.

    Parameters
    ----------
    epsilon, delta : float
        The promise of the whole.
    B, Y : float
        Bounds on norm(x) and abs(y).
    d : int
        Number of columns.
    n_max : int, optional
        Public bound on the number of rows. It sharpens the choice of lambda and bounds the residuals.
    kappa : float, optional
        001's variant: h is at least n_max B^2/(kappa d), and no norm is released. Needs `n_max`.
    neighbors : {"add-remove", "replace-one"}
        Replace-one plans for `declared.replace_one`.
    eigenvalue_sensitivity : float, optional
        B^2, or more to cover the rounding errors of the eigenvalue.
    reserve : float
        Share of mu^2 that is left for other releases.

    Examples
    --------
    >>> p = plan(1.0, 1e-6, B=1.0, Y=1.0, d=5, n_max=1000)
    >>> p.delta(1.0) <= 1e-6
    True
    >>> round(p.mu_o, 3), round(p.h_min, 1)
    (0.209, 10.9)
    """
    epsilon, delta = add_remove(epsilon, delta, checks.neighbors(neighbors))
    epsilon, delta = checks.positive("epsilon", epsilon), checks.fraction("delta", delta)
    B, Y = checks.positive("B", B), checks.positive("Y", Y)
    size = math.inf if n_max is None else n_max
    moves = B**2 if eigenvalue_sensitivity is None else eigenvalue_sensitivity
    facts = {"B": B, "Y": Y, "d": d, "n_max": size, "kappa": kappa, "eigenvalue_sensitivity": moves}
    made = _split(epsilon, delta, facts, reserve)
    if kappa is not None:
        _check_kappa(made)
    return made


def penalty(plan: Plan, eigenvalue: float) -> Penalty:
    """Steps 1 and 2: lambda from the released (noisy) least eigenvalue.

    Of a public grid, lambda minimises (v/(v + lambda)) (d/gamma + lambda (Y/B)^2), v = n_max B^2/d, with gamma as it is
    to be expected for norm(theta) = Y/B. It bounds the draw's excess error, because
    tr(X'X H^-1) <= d v/(v + lambda) by concavity, plus the penalty's bias.

    Examples
    --------
    >>> p = plan(1.0, 1e-6, B=1.0, Y=1.0, d=5, n_max=1000)
    >>> penalty(p, eigenvalue=0.0).lambda_ > penalty(p, eigenvalue=300.0).lambda_
    True
    """
    lt = max(0.0, eigenvalue - plan.s1 * _quantile(plan.delta_a) - plan.eigenvalue_sensitivity)
    if plan.kappa is not None:
        lambda_ = max(0.0, plan.n_max * plan.B**2 / (plan.kappa * plan.d) - lt)
    else:
        lambda_ = _least_bound(plan, lt)
    lambda_ = max(lambda_, _RIDGE * lt)
    h = lambda_ + lt
    m = plan.B**2 / h
    s = math.log1p(m)
    return Penalty(lt, lambda_, h, m, s, s / plan.mu2 if plan.mu2 else 0.0)


def residual_bound(plan: Plan, penalty: Penalty, log_norm: float | None = None) -> float:
    """Step 3: a bound on every residual, from the released (noisy) log(Y + B norm(theta)) or from public facts."""
    cap = coefficient_bound(penalty.lambda_, plan.n_max, plan.B, plan.Y, penalty.lt)
    public = plan.Y + plan.B * cap
    if log_norm is None:
        return public
    return min(public, math.exp(log_norm + penalty.s2 * _quantile(plan.delta_b) + penalty.s))


def precision(plan: Plan, penalty: Penalty, residual: float) -> float:
    """Step 4: the largest gamma that keeps the declared promise."""
    rho = gaussian_residual_limit(plan.mu_o, plan.delta_o, penalty.leverage)
    return down((rho / residual) ** 2, FEW)


def run(plan: Plan, lambda_min: float, norm: Callable[[float], float], z1: float, z2: float) -> Draw:
    """All stages, given the private figures and two standard normal draws.

    Parameters
    ----------
    plan : Plan
        From `plan`.
    lambda_min : float
        Least eigenvalue of X'X.
    norm : callable
        Norm of the ridge coefficients as a function of lambda.
    z1, z2 : float
        Standard normal.

    Examples
    --------
    >>> p = plan(1.0, 1e-6, B=1.0, Y=1.0, d=5, n_max=1000)
    >>> drawn = run(p, lambda_min=150.0, norm=lambda lambda_: 0.5, z1=0.0, z2=0.0)
    >>> drawn.penalty.h >= p.h_min, drawn.residual >= 1.5, drawn.gamma > 0
    (True, True, True)
    """
    chosen = penalty(plan, lambda_min + plan.s1 * z1)
    log_norm = None
    if plan.mu2:
        log_norm = math.log(plan.Y + plan.B * norm(chosen.lambda_)) + chosen.s2 * z2
    R = residual_bound(plan, chosen, log_norm)
    return Draw(chosen, R, precision(plan, chosen, R))


def _split(epsilon: float, delta: float, facts: dict[str, Any], reserve: float) -> Plan:
    """The shares above; with kappa the norm's go to the draw."""
    norm_share, norm_failure = (NORM_SHARE, NORM_FAILURE) if facts["kappa"] is None else (0.0, 0.0)
    delta_a, delta_b, delta_o = (share * delta for share in (EIGENVALUE_FAILURE, norm_failure, DRAW_FAILURE))
    mu = down(gdp.mu(epsilon, down(delta - delta_a - delta_b - delta_o)))
    mu *= math.sqrt(1 - reserve)
    mu_o = mu * math.sqrt(1 - EIGENVALUE_SHARE - norm_share)
    return Plan(
        mu1=mu * math.sqrt(EIGENVALUE_SHARE),
        mu2=mu * math.sqrt(norm_share),
        mu_o=mu_o,
        delta_a=delta_a,
        delta_b=delta_b,
        delta_o=delta_o,
        h_min=facts["B"] ** 2 / gaussian_leverage_limit(mu_o, delta_o),
        **facts,
    )


def _least_bound(plan: Plan, lt: float) -> float:
    """Lambda at least so large that the draw is feasible, and usually larger."""
    B2 = plan.B**2
    floor = max(0.0, 1.05 * plan.h_min - lt, B2 / GOLDEN - lt)
    lambdas = floor + B2 * _GRID
    lambdas = lambdas[lambdas + lt > 0]
    m = B2 / (lambdas + lt)
    effective = np.maximum(plan.mu_o - _LOSS * m, 0.0)
    caps = np.array([coefficient_bound(float(x), plan.n_max, plan.B, plan.Y, lt) for x in lambdas])
    widening = np.log1p(m) * (_quantile(plan.delta_b) / plan.mu2 + 1)
    with np.errstate(divide="ignore", over="ignore"):
        R = np.minimum(plan.Y + plan.B * caps, 2 * plan.Y * np.exp(widening))
        noise = plan.d * R**2 * m / effective**2
        shrink = 1 / (1 + lambdas * plan.d / (plan.n_max * B2))
        bound = shrink * (noise + lambdas * (plan.Y / plan.B) ** 2)
    return float(lambdas[np.argmin(bound)])


def _check_kappa(plan: Plan) -> None:
    if plan.n_max == math.inf:
        raise ParameterError("kappa needs n_max, the declared number of rows: h is n_max B^2/(kappa d).")
    assert plan.kappa is not None
    limit = plan.n_max * plan.B**2 / (plan.d * plan.h_min)
    if not 0 < plan.kappa < limit:
        raise ParameterError(
            f"kappa={plan.kappa:g} is not possible for this promise and size: it must lie between 0 and {limit:.4g}. "
            "Take a smaller kappa, or declare a larger epsilon."
        )


def _quantile(p: float) -> float:
    return up(-float(ndtri(p)))
