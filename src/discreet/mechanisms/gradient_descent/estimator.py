"""NoisyGradientDescent: full-batch gradient descent with Gaussian noise, exactly accounted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from discreet.core import checks
from discreet.core.rounding import ROOM, down
from discreet.data.moments import Moments
from discreet.errors import ParameterError
from discreet.mechanisms.coefficients import CoefficientsRegressor
from discreet.mechanisms.gradient_descent.event import MAX_POINTS, GradientEvent
from discreet.mechanisms.gradient_descent.release import release_descent
from discreet.models.linear import MomentsEstimator
from discreet.models.spec import FitSpec
from discreet.privacy import gdp
from discreet.privacy.guarantee import Guarantee

MAX_STEPS = 1000
RADIUS = 16.0
"""Iterates stay within this many times Y/B, so that the noise, which grows with them, is bounded."""

_TIMES = np.geomspace(1e-2, 1e3, 500)
_CURVATURES = np.geomspace(1 / 64, 1, 7)


@dataclass(kw_only=True, eq=False, repr=False)
class NoisyGradientDescent(CoefficientsRegressor, MomentsEstimator):
    """Gradient descent on the squared error, from 0, with Gaussian noise on every gradient.

    theta_t+1 = theta_t - step (X'X theta_t - X'y + noise), for columns and outcome mapped to [-1, 1]. Stopping early
    keeps the noise small. Iterates are public, so the noise of each step is scaled to the norm of its iterate.

    Parameters
    ----------
    {parameters}
    steps : int, optional
        The number of steps. By default large enough that every step is stable for any X.
    time : float, optional
        steps times the step size, in units of d/(rows B^2), d being the number of coefficients and B^2 the bound on
        the squared norm of a row. By default chosen from public facts, to make a bound on the error small.

    Notes
    -----
    `rows` must be given. It decides step sizes only; the promise does not depend on it.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(0, 1, (5000, 2))
    >>> model = NoisyGradientDescent(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2), rows=5000)
    >>> model.fit(X, X.sum(axis=1)).certificate_.guarantee.status
    'verified'
    """

    why_no_inference: ClassVar[str] = (
        "Gradient descent that is stopped early is biased by an amount that depends on X'X and was not released. "
        "DPLinearRegression gives standard errors."
    )

    steps: int | None = None
    time: float | None = None

    def _check(self) -> Guarantee:
        check_steps(self.steps)
        if self.time is not None:
            checks.positive("time", self.time)
        return super()._check()

    def _fit(self, moments: Moments, spec: FitSpec) -> Self:
        subject, promise = self._subject(moments.domain, spec), spec.promise
        d, B, Y, rows = len(subject.design), subject.norm, subject.outcome, float(self.rows or 0)
        mu = down(gdp.mu(promise.epsilon, promise.delta), ROOM)
        change = 2.0 if promise.neighbors == "replace-one" else 1.0
        time = self.time or best_time(mu / change, d, B, Y, rows)
        steps = self.steps or min(MAX_STEPS, max(4, math.ceil(time * d)))
        event = GradientEvent(**subject.facts(rows=False), step_mu=down(mu / math.sqrt(steps), ROOM))
        step = time * d / (rows * B**2) / steps
        radius = RADIUS * Y / B * math.sqrt(d)
        drawn = release_descent(moments, event, steps, step, radius, self._session(promise))
        return self._fit_coefficients(drawn, subject, spec)


def check_steps(steps: int | None) -> None:
    """Check that steps is a whole number from 1 to 10,000, or None."""
    if steps is not None and (isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= MAX_POINTS):
        raise ParameterError(f"steps must be a whole number from 1 to {MAX_POINTS:,}, or None; got {steps!r}.")


def best_time(mu: float, d: int, B: float, Y: float, rows: float) -> float:
    """The time, in units of 1/v with v = rows B^2/d, that minimises a bound on the error of predictions.

    After a time t of many small steps the noise has a variance of at most (t B (Y + B norm))^2/mu^2 in each of d
    directions, and the signal that is still missing has fallen by e^(-2 t c) in one of curvature c. The signal is taken
    as rows Y^2/10, its curvature as anything from v/64 to v.
    """
    t = _TIMES / (rows * B**2 / d)
    noise = rows * B**2 * (t * 2 * B * Y / mu) ** 2
    missing = np.exp(-2 * np.outer(_TIMES, _CURVATURES)).mean(axis=1)
    return float(_TIMES[np.argmin(noise + rows * Y**2 / 10 * missing)])
