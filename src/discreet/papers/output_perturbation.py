"""OutputPerturbation: ridge coefficients with Gaussian noise of one of three shapes (001 section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self, cast

from discreet.core import checks
from discreet.data.moments import Moments
from discreet.gate.output import release_shaped
from discreet.models.base import Asked
from discreet.models.moments import MomentsEstimator
from discreet.papers.coefficients import CoefficientsRegressor
from discreet.privacy.declared import add_remove
from discreet.privacy.events.staged import eigenvalue_change
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.output_perturbation import SHAPES, Shape
from discreet.privacy.output_plan import plan


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

    def _fit(self, moments: Moments, asked: Asked) -> Self:
        subject, promise = self._subject(moments.domain, asked), asked.promise
        epsilon, delta = add_remove(promise.epsilon, promise.delta, promise.neighbors)
        d, B = len(subject.design), subject.norm
        facts = {"B": B, "Y": subject.outcome, "d": d, "rows": subject.rows or 0.0, "change": eigenvalue_change(d, B)}
        planned = plan(cast(Shape, self.shape), epsilon, delta, **facts)  # type: ignore[arg-type]
        certificate, theta = release_shaped(moments, subject, planned, self._session(promise))
        return self._fit_coefficients(certificate, theta, subject, asked)
