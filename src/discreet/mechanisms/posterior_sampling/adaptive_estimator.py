r"""AdaOPS: a posterior sample that adapts to private figures (wang2018 algorithm 1; wang2017 algorithm 1 with kappa).

    1  l  = lambda_min(X'X) + s1 Z1                        mu1 = B^2/s1
       lt = max(0, l - s1 q(delta_a) - B^2)                below lambda_min of the data and of every neighbour
    2  lambda from lt and public facts; h = lambda + lt;   leverages are at most m = B^2/h
    3  D  = log(Y + B norm(theta_lambda)) + s2 Z2          mu2 = s/s2, s = log(1 + m)
       R  = exp(D + s2 q(delta_b) + s), or a public bound  at least abs(r) of every row, in the data and in neighbours
    4  theta ~ N(theta_lambda, H^-1/gamma)                 gamma = (rho/R)^2 such that it is mu_o-GDP up to delta_o

Here q(p) is the normal quantile with P(Z > q) = p. mu1, mu2, mu_o and the deltas are fixed beforehand, from public
facts, so that D(mu, epsilon) + delta_a + delta_b + delta_o <= delta with mu^2 = mu1^2 + mu2^2 + mu_o^2. With kappa
step 3 releases nothing and R is the public bound. Proof: ``docs/mathematics``, 8.5. `release_adaptive` runs them.

Printed variants are kept so that the papers' figures can be reproduced; their privacy claims do not hold (errata E5,
E6, E25). The text is followed, with a plus sign in equation (8) of wang2018, where one is missing. Its bounds are taken
with B^2 = 1 where it omits them, as in its experiments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from discreet.core import checks, citations
from discreet.core.checks import Neighbors
from discreet.core.rounding import down
from discreet.data.moments import Moments
from discreet.errors import ParameterError
from discreet.mechanisms.coefficients import CoefficientsRegressor
from discreet.mechanisms.posterior_sampling.adaptive_event import AdaptivePlan, eigenvalue_change
from discreet.mechanisms.posterior_sampling.estimator import argmin, spread
from discreet.mechanisms.posterior_sampling.release import Printed, StagedSubject, release_adaptive, release_printed
from discreet.models.linear import MomentsEstimator
from discreet.models.spec import FitSpec
from discreet.privacy import gdp
from discreet.privacy.guarantee import Guarantee, add_remove
from discreet.privacy.ops import coefficient_bounds, gaussian_leverage_limit

RESERVE = 1 / 512
"""The share of mu^2 that hides rounding errors."""

KAPPA = 2.0
"""The default of the published variant, where the paper's limit allows it."""

EIGENVALUE_SHARE, NORM_SHARE = 0.05, 0.15
"""Shares of mu^2 for steps 1 and 3; the rest is the draw's."""

EIGENVALUE_FAILURE, NORM_FAILURE, DRAW_FAILURE = 0.05, 0.05, 0.1
"""Shares of delta: that lt is too large, that R is too small, and the excess of the draw over its Gaussian curve."""


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
) -> AdaptivePlan:
    """Divide a promise among the stages, from public facts; with kappa, the share of the norm goes to the draw.

    n_max bounds the number of rows; it sharpens lambda and bounds residuals, and kappa needs it: h is at least
    n_max B^2/(kappa d) (wang2017). The eigenvalue's sensitivity is B^2, or more to cover rounding errors. `reserve` is
    a share of mu^2 that is left for other releases. Replace-one plans for the promise of `add_remove`.

    Examples
    --------
    >>> p = plan(1.0, 1e-6, B=1.0, Y=1.0, d=5, n_max=1000)
    >>> round(p.mu_o, 3), round(p.h_min, 1), p.penalty(eigenvalue=0.0).lambda_ > p.penalty(eigenvalue=300.0).lambda_
    (0.209, 10.9, True)
    """
    epsilon, delta = add_remove(epsilon, delta, checks.neighbors(neighbors))
    epsilon, delta = checks.positive("epsilon", epsilon), checks.fraction("delta", delta)
    B, Y = checks.positive("B", B), checks.positive("Y", Y)
    norm_share, norm_failure = (NORM_SHARE, NORM_FAILURE) if kappa is None else (0.0, 0.0)
    delta_a, delta_b, delta_o = (share * delta for share in (EIGENVALUE_FAILURE, norm_failure, DRAW_FAILURE))
    mu = down(gdp.mu(epsilon, down(delta - delta_a - delta_b - delta_o)))
    mu *= math.sqrt(1 - reserve)
    mu_o = mu * math.sqrt(1 - EIGENVALUE_SHARE - norm_share)
    made = AdaptivePlan(
        B=B,
        Y=Y,
        d=d,
        n_max=math.inf if n_max is None else n_max,
        kappa=kappa,
        mu1=mu * math.sqrt(EIGENVALUE_SHARE),
        mu2=mu * math.sqrt(norm_share),
        mu_o=mu_o,
        delta_a=delta_a,
        delta_b=delta_b,
        delta_o=delta_o,
        h_min=B**2 / gaussian_leverage_limit(mu_o, delta_o),
        eigenvalue_sensitivity=B**2 if eigenvalue_sensitivity is None else eigenvalue_sensitivity,
    )
    if kappa is None:
        return made
    if n_max is None:
        raise ParameterError("kappa needs n_max, the declared number of rows: h is n_max B^2/(kappa d).")
    limit = n_max * B**2 / (d * made.h_min)
    if not 0 < kappa < limit:
        raise ParameterError(
            f"kappa={kappa:g} is not possible for this promise and size: it must lie between 0 and {limit:.4g}. "
            "Take a smaller kappa, or declare a larger epsilon."
        )
    return made


def _default_kappa(plan: AdaptivePlan) -> float:
    """The kappa with the least bound on the error, as in `AdaptivePlan.penalty`, if all of h is penalty.

    The plan without kappa leaves a little less for the draw, so every kappa here is feasible.
    """
    v = plan.n_max * plan.B**2 / plan.d
    h = np.geomspace(1.1 * plan.h_min, 1e6 * plan.h_min + v, 400)
    m = plan.B**2 / h
    R = plan.Y + plan.B * coefficient_bounds(h, plan.n_max, plan.B, plan.Y)
    noise = plan.d * R**2 * m / np.maximum(plan.mu_o - 2 * m, 1e-9) ** 2
    return float(v / h[np.argmin((noise + h * (plan.Y / plan.B) ** 2) / (1 + h / v))])


def printed_penalty(
    epsilon: float, delta: float, B: float, d: int, eigenvalue: float, *, code: bool = False
) -> tuple[float, float]:
    """Steps 2 to 4 of wang2018 algorithm 1: the released least eigenvalue, less its offset, and lambda by rule (7).

    The authors' code, for X'X + I and B = Y = 1, has other constants in C1 and in the least lambda (E25).

    Examples
    --------
    >>> [round(printed_penalty(1.0, 1e-6, 1.0, 10, eigenvalue=0.0, code=code)[1], 1) for code in (False, True)]
    [131.1, 200.0]
    """
    log = math.log(6 / delta)
    lt = max(eigenvalue - log / (epsilon / 4), 0.0)
    bar = _positive_root(log / 2 if code else 1 / (2 * log), epsilon / 4)
    C1, C2 = spread(d) * log / bar**2, log / (epsilon / 4)
    least = max(B**2 * (1 + log) / (2 * (epsilon / 4 if code else epsilon)) - lt, 0.0)

    def rule(t: float) -> float:
        return math.log(B**4 * C1 / (t + lt)) + 2 * C2 * math.log1p(B**2 / (t + lt))

    return lt, argmin(lambda t: math.exp(rule(t)) + t, least)


def printed_gamma(epsilon: float, delta: float, B: float, Y: float, h: float, norm: float) -> tuple[float, float]:
    """Steps 6 and 7 of wang2018 algorithm 1: L~ and gamma, from h = lambda + lt and the released (noisy) norm."""
    log, s = math.log(6 / delta), math.log1p(B**2 / h)
    L = B * math.exp(math.log(Y + B * norm) + s / (epsilon / (4 * log)))
    tilde = _positive_root((1 / log + (1 + log) / log) / 2, epsilon / 2)
    return L, h * tilde**2 / (log * L**2)


def code_gamma(epsilon: float, delta: float, h: float, n: float, log_norm: float) -> float:
    """The precision gamma of wang2018's code, its cap on L included (E25), from the released log(1 + norm)."""
    log, s = math.log(6 / delta), math.log1p(1 / h)
    L = min(math.exp(log_norm + s / (epsilon / 4) * log), 1 + math.sqrt(2 * math.sqrt(n) / h))
    a, b = L**2 / (2 * (h + 1)), L * math.sqrt(log / h)
    c = epsilon / 2 - (1 + log) / (2 * h)
    return (2 * c / (b + math.sqrt(b * b + 4 * a * c))) ** 2


def kappa_limit(epsilon: float, delta: float, n: int, d: int) -> float:
    """The largest kappa that wang2017 algorithm 1 allows, n epsilon/(4 d (1 + log(4/delta)))."""
    return n * epsilon / (4 * d * (1 + math.log(4 / delta)))


def printed_kappa(epsilon: float, delta: float, n: int, d: int, kappa: float, eigenvalue: float) -> tuple[float, float]:
    """The lambda and gamma of wang2017 algorithm 1, for B = Y = 1, from the released eigenvalue; max for min (E6)."""
    log = math.log(4 / delta)
    lambda_ = max(0.0, n / (d * kappa) - eigenvalue + log / (epsilon / 2))
    scale = n / (kappa * d) ** 2
    return lambda_, scale * min(epsilon**2 / (16 * log), epsilon / 8)


def _positive_root(a: float, c: float) -> float:
    """The positive x with a x^2 + x = c."""
    return 2 * c / (1 + math.sqrt(1 + 4 * a * c))


E5 = (
    "erratum E5: the noise on the least eigenvalue lacks its sensitivity, both bounds fail 117 times as often as "
    "stated, and the sample costs more than its share. Nothing is recomputed."
)
E6 = (
    "erratum E6: the bound on the eigenvalue fails 97 times as often as stated, and the sample costs more than its "
    "share. Nothing is recomputed."
)


@dataclass(kw_only=True, eq=False, repr=False)
class AdaOPS(CoefficientsRegressor, MomentsEstimator):
    """One posterior sample that adapts to the least eigenvalue of X'X and to the norm of the coefficients.

    Both are released with noise, lambda and gamma follow from them, and theta ~ N(theta_lambda, H^-1/gamma) is drawn,
    held to a promise that was fixed beforehand. With ``variant="kappa"`` the norm is not released: `kappa` says how
    well conditioned X is to be made.

    Parameters
    ----------
    {parameters}
    variant : {"wang2018", "kappa"}
        The algorithm of wang2018, or that of wang2017.
    kappa : float, optional
        For ``variant="kappa"``: H is made to have eigenvalues of at least rows B^2/(kappa d), B^2 being the bound on
        the squared norm of a row. By default chosen from public facts, for a small error; where published 2, or the
        paper's limit, where that is less.
    published : {None, "wang2018", "wang2018-code", "wang2017"}
        Use the constants printed in that paper, wang2017 for ``variant="kappa"``; or what wang2018's authors' code
        does, for data with norms and outcomes of at most 1. The guarantee is then `claimed`.

    Notes
    -----
    `rows`, where it is given, must be the largest number of rows there can be: a table with more is refused. It
    sharpens the choice of lambda. ``variant="kappa"`` needs it.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (5000, 2))
    >>> model = AdaOPS(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2)).fit(X, X.sum(axis=1))
    >>> model.coef_.shape, model.certificate_.guarantee.status
    ((2,), 'verified')
    """

    papers: ClassVar[tuple[str, ...]] = ("wang2018", "wang2018-code", "wang2017")
    needs_rows: ClassVar[bool] = False
    why_no_inference: ClassVar[str] = (
        "A posterior sample is the coefficients plus noise of covariance H^-1/gamma, and of H only the least "
        "eigenvalue was released; so nobody can say how far off it is. DPLinearRegression gives standard errors."
    )

    variant: str = "wang2018"
    kappa: float | None = None
    published: str | None = None

    def _check(self) -> Guarantee:
        checks.choice("variant", citations.key_of(self.variant), ("wang2018", "kappa"))
        citations.tell_old_key("variant", self.variant)
        promise = super()._check()
        if self.kappa is not None:
            checks.positive("kappa", self.kappa)
            if self.variant != "kappa":
                raise ParameterError('kappa= is of variant="kappa" only.')
        if self.variant == "kappa" and self.rows is None:
            raise ParameterError('variant="kappa" needs rows=, the largest number of rows there can be.')
        if self._paper is not None and (self._paper == "wang2017") != (self.variant == "kappa"):
            raise ParameterError('published="wang2017" is of variant="kappa", the others are of variant="wang2018".')
        if self._paper == "wang2018-code" and self.rows is None:
            raise ParameterError('published="wang2018-code" needs rows=, as the code uses the number of rows.')
        return promise

    def _fit(self, moments: Moments, spec: FitSpec) -> Self:
        subject, promise = self._subject(moments.domain, spec), spec.promise
        if self._paper is None:
            planned = self._plan(subject, promise)
            mu_out = planned.mu * math.sqrt(0.98 * RESERVE / (1 - RESERVE))
            drawn = release_adaptive(moments, subject, planned, mu_out, self._session(promise))
        else:
            kappa = self._paper == "wang2017"
            stages = self._printed_kappa(subject, promise) if kappa else self._printed(subject, promise)
            drawn = release_printed(moments, subject, stages, self._session(promise, E6 if kappa else E5))
        return self._fit_coefficients(drawn, subject, spec)

    def _plan(self, subject: StagedSubject, promise: Guarantee) -> AdaptivePlan:
        d, B = len(subject.design), subject.norm
        facts: dict[str, Any] = {"B": B, "Y": subject.outcome, "d": d, "n_max": self.rows, "reserve": RESERVE}
        facts |= {"neighbors": promise.neighbors, "eigenvalue_sensitivity": eigenvalue_change(d, B)}
        if self.variant == "kappa":
            facts["kappa"] = self.kappa or _default_kappa(plan(promise.epsilon, promise.delta, **facts))
        return plan(promise.epsilon, promise.delta, **facts)

    def _printed(self, subject: StagedSubject, promise: Guarantee) -> Printed:
        """The stages of wang2018, with noise on the eigenvalue that lacks B^2 (E5); or of its code, for B = Y = 1."""
        e, delta, d, code = promise.epsilon, promise.delta, len(subject.design), self._paper == "wang2018-code"
        B, Y, log = 1.0 if code else subject.norm, subject.outcome, math.log(6 / delta)

        def penalty(eigenvalue: float) -> tuple[float, float]:
            lt, lambda_ = printed_penalty(e, delta, B, d, eigenvalue, code=code)
            return lambda_, lambda_ + lt

        def norm_sd(h: float) -> float:
            s = math.log1p(B**2 / h)
            return s / (e / 4) * math.sqrt(log) if code else s / (e / (4 * math.sqrt(log)))

        def gamma(h: float, log_norm: float) -> float:
            if code:
                return code_gamma(e, delta, h, float(self.rows or 0), log_norm)
            return printed_gamma(e, delta, B, Y, h, (math.exp(log_norm) - Y) / B)[1]

        return Printed(math.sqrt(log) / (e / 4), penalty, norm_sd, gamma, code=code)

    def _printed_kappa(self, subject: StagedSubject, promise: Guarantee) -> Printed:
        e, delta, d, B = promise.epsilon, promise.delta, len(subject.design), subject.norm
        rows = int(subject.rows or 0)
        limit = kappa_limit(e, delta, rows, d)
        kappa = min(KAPPA, limit) if self.kappa is None else self.kappa
        if kappa > limit:
            raise ParameterError(
                f"wang2017 claims privacy for kappa up to rows epsilon/(4 d (1 + log(4/delta))) = {limit:.4g}, and "
                f"kappa={kappa:g} is beyond. Take a smaller kappa, or leave it out."
            )
        sd = math.sqrt(math.log(4 / delta)) / (e / 2)

        gamma = printed_kappa(e, delta, rows, d, kappa, 0.0)[1] / subject.outcome**2

        def penalty(eigenvalue: float) -> tuple[float, float]:
            lambda_ = printed_kappa(e, delta, rows, d, kappa, eigenvalue / B**2)[0] * B**2
            return lambda_, rows * B**2 / (d * kappa)

        return Printed(sd * B**2, penalty, None, lambda h, log_norm: gamma)
