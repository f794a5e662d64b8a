"""OutputPerturbation: ridge coefficients with Gaussian noise of one of three shapes (wang2017 section 4).

    1  l  = lambda_min(X'X) + s1 Z1, and lt below lambda_min, as in AdaOPS
    2  lambda from lt and public facts; h = lambda + lt
    3  S  = X'X + lambda I + tau I, with noise that tau covers, but for the isotropic shape
    4  D  = log(Y + B norm(theta_lambda)) + s2 Z2, and R, a bound on every residual, from it
    5  theta_lambda + N(0, A^-1/gamma), A = I, S or S^2, gamma = (mu_o/Delta)^2

with Delta(h, R, tau) the largest change of theta_lambda in the norm of A. Proof and Delta: `event` and
``docs/mathematics``, 8.6. `release_shaped` runs the steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self, cast

from discreet.core import checks
from discreet.core.rounding import ROOM, down
from discreet.data.moments import Moments
from discreet.mechanisms.coefficients import CoefficientsRegressor
from discreet.mechanisms.output_perturbation.event import SHAPES, OutputPlan, Shape
from discreet.mechanisms.output_perturbation.release import release_shaped
from discreet.mechanisms.posterior_sampling.adaptive_event import eigenvalue_change
from discreet.models.linear import MomentsEstimator
from discreet.models.spec import FitSpec
from discreet.privacy import gdp
from discreet.privacy.guarantee import Guarantee, add_remove

EIGENVALUE_SHARE, NORM_SHARE, GRAM_SHARE = 0.05, 0.15, 0.2
"""Shares of mu^2; the rest goes to the noise on the coefficients."""

FAILURE = 0.05
"""Share of delta for each of the bounds on the eigenvalue, on the norm and on the noise of X'X."""


def plan(shape: Shape, epsilon: float, delta: float, **facts: float) -> OutputPlan:
    """Divide an add-remove promise, from the public facts B, Y, d, rows and change of an `OutputPlan`.

    Examples
    --------
    >>> p = plan("isotropic", 1.0, 1e-6, B=1.0, Y=1.0, d=5, rows=1000, change=1.0)
    >>> p.gram_sd is None, round(p.mu_o, 3)
    (True, 0.211)
    """
    gram = 0.0 if shape == "isotropic" else GRAM_SHARE
    failure = FAILURE * delta
    failures = failure * (2 if shape == "isotropic" else 3)
    mu = down(gdp.mu(epsilon, down(delta - failures, ROOM)), ROOM)
    left = 1 - EIGENVALUE_SHARE - NORM_SHARE - gram
    shares = {"mu1": EIGENVALUE_SHARE, "mu2": NORM_SHARE, "mu_gram": gram, "mu_o": left}
    mus = {name: mu * math.sqrt(share) for name, share in shares.items()}
    return OutputPlan(shape=shape, failure=failure, **mus, **facts)  # type: ignore[arg-type]


@dataclass(kw_only=True, eq=False, repr=False)
class OutputPerturbation(CoefficientsRegressor, MomentsEstimator):
    """Ridge coefficients with Gaussian noise.

    The least eigenvalue of X'X and the norm of the coefficients are released first; they say how large the penalty must
    be and how far one person can move the coefficients. Then theta_lambda + N(0, A^-1/gamma) is released.
    `DPLinearRegression` is more accurate; this is for comparison.

    Parameters
    ----------
    {parameters}
    shape : {"isotropic", "fisher", "democratic"}
        A is the identity; or S, a private X'X + lambda I, so that noise is small where coefficients are well known; or
        S^2, so that every row hides behind the same noise.

    Notes
    -----
    Here `rows` must be given, and be the largest number of rows there can be: a table with more is refused.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (5000, 2))
    >>> model = OutputPerturbation(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2), rows=5000)
    >>> model.fit(X, X.sum(axis=1)).certificate_.guarantee.status
    'verified'
    """

    why_no_inference: ClassVar[str] = (
        "The ridge penalty biases the coefficients by an amount that depends on X'X and was not released, so an "
        "interval around them would miss. DPLinearRegression gives standard errors."
    )

    shape: str = "isotropic"

    def _check(self) -> Guarantee:
        checks.choice("shape", self.shape, SHAPES)
        return super()._check()

    def _fit(self, moments: Moments, spec: FitSpec) -> Self:
        subject, promise = self._subject(moments.domain, spec), spec.promise
        epsilon, delta = add_remove(promise.epsilon, promise.delta, promise.neighbors)
        d, B = len(subject.design), subject.norm
        facts = {"B": B, "Y": subject.outcome, "d": d, "rows": subject.rows or 0.0, "change": eigenvalue_change(d, B)}
        planned = plan(cast(Shape, self.shape), epsilon, delta, **facts)
        drawn = release_shaped(moments, subject, planned, self._session(promise))
        return self._fit_coefficients(drawn, subject, spec)
