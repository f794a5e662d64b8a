"""OPS: one posterior sample, calibrated from public facts by its exact privacy curve (000 appendix F)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

from discreet.core import checks
from discreet.data.moments import Moments
from discreet.errors import ParameterError
from discreet.gate.posterior import Subject, release_in_ball, release_posterior
from discreet.gate.session import promised
from discreet.models.base import Asked
from discreet.models.moments import MomentsEstimator
from discreet.papers import published_ops
from discreet.papers.coefficients import CoefficientsRegressor
from discreet.privacy import gdp, ops_calibration
from discreet.privacy.declared import add_remove
from discreet.privacy.events.coefficients import ROUND_UP
from discreet.privacy.events.posterior import SPARE_DELTA, SPARE_EPSILON, BallEvent, PosteriorEvent
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.ops_calibration import Calibration, PublicFacts, coefficient_bound
from discreet.privacy.rounding import tolerance, trace_bound

CALIBRATIONS: dict[str, Callable[[PublicFacts], Calibration]] = {
    "diffuse": ops_calibration.diffuse,
    "concentrated": ops_calibration.concentrated,
    "balanced": ops_calibration.balanced,
    "conservative": ops_calibration.conservative,
}

PURE = "pure"

_MARGIN = 1 - 2.0**-20  # of gamma, so that the recomputed epsilon is below the promise in floating point too


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
        How lambda is chosen: to make a bound on the error small; twice the least that can be private; so that gamma
        is 1; or as balanced, without a guess of the coefficients' norm. "pure" keeps to coefficients of a norm of at
        most `radius` and promises pure epsilon: delta is 0 and is left out, and so may `rows` be.
    radius : float, optional
        For "pure": the largest norm of the coefficients, for columns and outcome mapped to [-1, 1]; 1 by default.
    published : {None, "000"}
        Use the constants printed in that paper; the guarantee is then `claimed`.

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

    papers: ClassVar[tuple[str, ...]] = ("000",)
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
        if pure and self.published is not None:
            raise ParameterError("published= has no pure epsilon; leave one of published= and calibration='pure' out.")
        return promised(self.epsilon, self.delta, self.rows, self.neighbors, pure=pure)

    def _fit(self, moments: Moments, asked: Asked) -> Self:
        subject, promise = self._subject(moments.domain, asked), asked.promise
        session = self._session(promise, None if self.published is None else E1)
        if self.calibration == PURE:
            certificate, theta = release_in_ball(moments, self._pure_event(subject, promise), session)
        else:
            certificate, theta = release_posterior(moments, self._event(subject, promise), session)
        return self._fit_coefficients(certificate, theta, subject, asked)

    def _pure_event(self, subject: Subject, promise: Guarantee) -> BallEvent:
        """Gamma by the exponential mechanism; as prior a Gaussian of sd `radius`, which the ball hardly cuts."""
        facts = {name: value for name, value in subject.facts().items() if name != "rows"}
        radius = 1.0 if self.radius is None else float(self.radius)
        found = ops_calibration.pure(promise.epsilon, subject.norm, subject.outcome, radius, promise.neighbors)
        gamma = found.gamma * _MARGIN
        return BallEvent(**facts, radius=radius, penalty=1 / (gamma * radius**2), gamma=gamma)

    def _event(self, subject: Subject, promise: Guarantee) -> PosteriorEvent:
        """Penalty and precision from public facts, and noise on the result that hides its rounding errors."""
        epsilon, delta = add_remove(promise.epsilon, promise.delta, promise.neighbors)
        spare, hidden = epsilon * SPARE_EPSILON, delta * SPARE_DELTA
        B, Y, d, rows = subject.norm, subject.outcome, len(subject.design), int(subject.rows or 0)
        if self.published is None:
            left = (epsilon - spare) * (2 - ROUND_UP), (delta - hidden) * (2 - ROUND_UP) ** 8
            found = CALIBRATIONS[self.calibration](
                PublicFacts(epsilon=left[0], delta=left[1], B=B, Y=Y, n_max=rows, d=d)
            )
        else:
            printed = PublicFacts(epsilon=epsilon, delta=delta, B=B, Y=Y, n_max=rows, d=d)
            found = published_ops.ops(printed, self.calibration)
        lambda_, gamma = found.lambda_, found.gamma * _MARGIN
        trace, size = trace_bound(d, B, lambda_, rows), coefficient_bound(lambda_, rows, B, Y)
        error = tolerance(d, trace, lambda_, size, gamma) * ROUND_UP
        return PosteriorEvent(
            **subject.facts(),
            penalty=lambda_,
            gamma=gamma,
            spare=spare,
            tolerance=error,
            output=2 * error / gdp.mu(spare, hidden) * ROUND_UP**4,
        )


E1 = (
    "erratum E1: the theorem takes the tail of a normal as exp(-t^2), so its epsilon is too small; the constants are "
    "private, where they are, by slack in another bound. The recomputed epsilon is exact."
)
