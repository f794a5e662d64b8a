"""AdaOPS: a posterior sample that adapts to private figures (000 algorithm 1, 001 algorithm 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from discreet.core import checks
from discreet.data.moments import Moments
from discreet.errors import ParameterError
from discreet.gate.posterior import Printed, Subject, release_adaptive, release_printed
from discreet.models.base import Asked
from discreet.models.moments import MomentsEstimator
from discreet.papers import published_ops
from discreet.papers.coefficients import CoefficientsRegressor
from discreet.privacy import ada_ops
from discreet.privacy.events.staged import eigenvalue_change
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.ops_calibration import coefficient_bound

RESERVE = 1 / 512
"""The share of mu^2 that hides rounding errors."""

KAPPA = 2.0
"""The default of the published variant."""


@dataclass(kw_only=True, eq=False, repr=False)
class AdaOPS(CoefficientsRegressor, MomentsEstimator):
    """One posterior sample that adapts to the least eigenvalue of X'X and to the norm of the coefficients.

    Both are released with noise, lambda and gamma follow from them, and theta ~ N(theta_lambda, H^-1/gamma) is drawn,
    held to a promise that was fixed beforehand. With ``variant="kappa"`` the norm is not released: `kappa` says how
    well conditioned X is to be made.

    Parameters
    ----------
    {parameters}
    variant : {"000", "kappa"}
        Paper 000's algorithm, or 001's.
    kappa : float, optional
        For ``variant="kappa"``: H is made to have eigenvalues of at least rows B^2/(kappa d), B^2 being the bound on
        the squared norm of a row. By default chosen from public facts, for a small error; 2 where published.
    published : {None, "000", "000-code", "001"}
        Use the constants printed in that paper, 000 for its algorithm, 001 for ``variant="kappa"``; or what 000's
        authors' code does, for data with norms and outcomes of at most 1. The guarantee is then `claimed`.

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

    papers: ClassVar[tuple[str, ...]] = ("000", "000-code", "001")
    needs_rows: ClassVar[bool] = False
    why_no_inference: ClassVar[str] = (
        "A posterior sample is the coefficients plus noise of covariance H^-1/gamma, and of H only the least "
        "eigenvalue was released; so nobody can say how far off it is. DPLinearRegression gives standard errors."
    )

    variant: str = "000"
    kappa: float | None = None
    published: str | None = None

    def _check(self) -> Guarantee:
        checks.choice("variant", self.variant, ("000", "kappa"))
        promise = super()._check()
        if self.kappa is not None:
            checks.positive("kappa", self.kappa)
            if self.variant != "kappa":
                raise ParameterError('kappa= is of variant="kappa" only.')
        if self.variant == "kappa" and self.rows is None:
            raise ParameterError('variant="kappa" needs rows=, the largest number of rows there can be.')
        if self.published is not None and (self.published == "001") != (self.variant == "kappa"):
            raise ParameterError('published="001" is of variant="kappa", the others are of variant="000".')
        if self.published == "000-code" and self.rows is None:
            raise ParameterError('published="000-code" needs rows=, as the code uses the number of rows.')
        return promise

    def _fit(self, moments: Moments, asked: Asked) -> Self:
        subject, promise = self._subject(moments.domain, asked), asked.promise
        if self.published is None:
            plan = self._plan(subject, promise)
            mu_out = plan.mu * math.sqrt(0.98 * RESERVE / (1 - RESERVE))
            certificate, theta = release_adaptive(moments, subject, plan, mu_out, self._session(promise))
        else:
            stages = self._printed(subject, promise)
            reason = E6 if self.published == "001" else E5
            certificate, theta = release_printed(moments, subject, stages, self._session(promise, reason))
        return self._fit_coefficients(certificate, theta, subject, asked)

    def _plan(self, subject: Subject, promise: Guarantee) -> ada_ops.Plan:
        d, B = len(subject.design), subject.norm
        facts: dict[str, Any] = {
            "B": B,
            "Y": subject.outcome,
            "d": d,
            "n_max": self.rows,
            "neighbors": promise.neighbors,
        }
        facts |= {"eigenvalue_sensitivity": eigenvalue_change(d, B), "reserve": RESERVE}
        if self.variant == "kappa":
            facts["kappa"] = self.kappa or default_kappa(ada_ops.plan(promise.epsilon, promise.delta, **facts))
        return ada_ops.plan(promise.epsilon, promise.delta, **facts)

    def _printed(self, subject: Subject, promise: Guarantee) -> Printed:
        """The stages of the paper; noise on the eigenvalue as printed, which lacks B^2 in 000 (E5)."""
        e, delta, d, B, Y = promise.epsilon, promise.delta, len(subject.design), subject.norm, subject.outcome
        if self.published == "001":
            return self._printed_kappa(subject, promise)
        if self.published == "000-code":
            return self._code(promise, d)
        log = math.log(6 / delta)
        sd = math.sqrt(log) / (e / 4)

        def penalty(eigenvalue: float) -> tuple[float, float]:
            lt, lambda_ = published_ops.ada_ops_penalty(e, delta, B, d, eigenvalue, 0.0)
            return lambda_, lambda_ + lt

        def norm_sd(h: float) -> float:
            return math.log1p(B**2 / h) / (e / (4 * math.sqrt(log)))

        def gamma(h: float, log_norm: float) -> float:
            norm = (math.exp(log_norm) - Y) / B
            return published_ops.ada_ops_gamma(e, delta, B, Y, h, norm, 0.0)[1]

        return Printed(sd, penalty, norm_sd, gamma)

    def _code(self, promise: Guarantee, d: int) -> Printed:
        e, delta, log = promise.epsilon, promise.delta, math.log(6 / promise.delta)

        def penalty(eigenvalue: float) -> tuple[float, float]:
            lt, lambda_ = published_ops.ada_ops_code_penalty(e, delta, d, eigenvalue)
            return lambda_, lambda_ + lt

        def norm_sd(h: float) -> float:
            return math.log1p(1 / h) / (e / 4) * math.sqrt(log)

        def gamma(h: float, log_norm: float) -> float:
            return published_ops.ada_ops_code_gamma(e, delta, h, float(self.rows or 0), log_norm)

        return Printed(math.sqrt(log) / (e / 4), penalty, norm_sd, gamma, code=True)

    def _printed_kappa(self, subject: Subject, promise: Guarantee) -> Printed:
        e, delta, d, B = promise.epsilon, promise.delta, len(subject.design), subject.norm
        rows, kappa = int(subject.rows or 0), self.kappa or KAPPA
        sd = math.sqrt(math.log(4 / delta)) / (e / 2)

        def printed(eigenvalue: float) -> tuple[float, float]:
            return published_ops.kappa_ada_ops(e, delta, rows, d, kappa, eigenvalue, 0.0)

        def penalty(eigenvalue: float) -> tuple[float, float]:
            lambda_ = printed(eigenvalue / B**2)[0] * B**2
            return lambda_, rows * B**2 / (d * kappa)

        return Printed(sd * B**2, penalty, None, lambda h, log_norm: printed(0.0)[1] / subject.outcome**2)


def default_kappa(plan: ada_ops.Plan) -> float:
    """The kappa with the least bound on the error, as `privacy.ada_ops.penalty` bounds it, if all of h is penalty.

    The plan without kappa has a little less for the draw; so every kappa here is possible.
    """
    v = plan.n_max * plan.B**2 / plan.d
    h = np.geomspace(1.1 * plan.h_min, 1e6 * plan.h_min + v, 400)
    m = plan.B**2 / h
    R = np.array([plan.Y + plan.B * coefficient_bound(x, plan.n_max, plan.B, plan.Y) for x in h.tolist()])
    noise = plan.d * R**2 * m / np.maximum(plan.mu_o - 2 * m, 1e-9) ** 2
    return float(v / h[np.argmin((noise + h * (plan.Y / plan.B) ** 2) / (1 + h / v))])


E5 = (
    "erratum E5: the noise on the least eigenvalue lacks its sensitivity, both bounds fail 117 times as often as "
    "stated, and the sample costs more than its share. Nothing is recomputed."
)
E6 = (
    "erratum E6: the bound on the eigenvalue fails 97 times as often as stated, and the sample costs more than its "
    "share. Nothing is recomputed."
)
