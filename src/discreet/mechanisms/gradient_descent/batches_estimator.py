"""NoisySGD: gradient descent on sampled batches of rows, accounted by privacy loss distributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from discreet.core import checks
from discreet.core.rounding import CURVE, ROOM, down, up
from discreet.data.reading import Table, as_progress
from discreet.data.rows import Rows
from discreet.errors import ParameterError
from discreet.mechanisms.coefficients import CoefficientsRegressor
from discreet.mechanisms.gradient_descent.batches_release import release_batches
from discreet.mechanisms.gradient_descent.estimator import RADIUS, best_time, check_steps
from discreet.mechanisms.gradient_descent.event import ACCOUNTANT, BatchesEvent, least_multiplier
from discreet.models.spec import FitSpec
from discreet.privacy import gdp
from discreet.privacy.guarantee import Guarantee, add_remove

LEAST_DELTA = 1e-11
"""The least delta; the accountant's own errors are of the order of 1e-14."""


@dataclass(kw_only=True, eq=False, repr=False)
class NoisySGD(CoefficientsRegressor):
    """Stochastic gradient descent on the squared error, from 0.

    Each step draws every row into its batch with probability `rate`, clips the gradients of those rows, adds them up,
    and adds Gaussian noise. The rows are read once a step, from memory where they fit. `NoisyGradientDescent` needs the
    moments only; this is for comparison.

    Parameters
    ----------
    {parameters}
    rate : float
        The probability that a row is in a batch.
    steps : int
        The number of batches.
    clip : float, optional
        The largest norm of a row's gradient x (x'theta - y), for columns and outcome mapped to [-1, 1]. By default B Y,
        the bound on a row's norm times that on the outcome: no gradient at theta = 0 is clipped.

    Notes
    -----
    `rows` must be given. It decides step sizes only; the promise does not depend on it. dp-accounting does the
    accounting: ``pip install "discreet[sgd]"``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> model = NoisySGD(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2), rows=2000, steps=20)
    >>> model.fit(X, X.sum(axis=1)).certificate_.guarantee.status
    'verified'
    """

    why_no_inference: ClassVar[str] = (
        "Gradient descent that is stopped early, on clipped gradients, is biased by an amount that was not released. "
        "DPLinearRegression gives standard errors."
    )

    rate: float = 0.125
    steps: int = 128
    clip: float | None = None

    def _check(self) -> Guarantee:
        check_steps(self.steps)
        if self.clip is not None:
            checks.positive("clip", self.clip)
        if not checks.is_real(self.rate) or not 2.0**-20 <= self.rate <= 1:
            raise ParameterError(f"rate must lie between 2^-20 and 1, got {self.rate!r}.")
        promise = super()._check()
        if add_remove(promise.epsilon, promise.delta, promise.neighbors)[1] < LEAST_DELTA:
            raise ParameterError(
                f"delta must be at least {LEAST_DELTA:g}, or (1 + e^(epsilon/2)) times as much for replace-one "
                "neighbours: the accountant's own errors come near it."
            )
        return promise

    def _fit_rows(self, table: Table, spec: FitSpec) -> Self:
        subject, promise = self._subject(table.domain, spec), spec.promise
        d, B, Y, size = len(subject.design), subject.norm, subject.outcome, float(self.rows or 0)
        epsilon, delta = add_remove(promise.epsilon, promise.delta, promise.neighbors)
        rate = round(self.rate * 2**32) / 2**32
        clip = self.clip or B * Y
        bound = up(clip + d**0.5 * 2.0**-21)
        sd = up(least_multiplier(down(epsilon, 100 * CURVE), down(delta, ACCOUNTANT), rate, self.steps) * bound, ROOM)
        event = BatchesEvent(**subject.facts(rows=False), rate=rate, steps=self.steps, clip=bound, sd=sd)
        time = best_time(gdp.mu(promise.epsilon, promise.delta), d, B, Y, size)
        step = min(time * d, self.steps / 2) / (size * B**2) / self.steps
        column = self._number(table.domain, spec.target)
        with as_progress(table.progress) as report:
            rows = Rows(table, subject.design, column, progress=report)
            drawn = release_batches(rows, event, step, RADIUS * Y / B * d**0.5, self._session(promise))
            report(1.0)
        return self._fit_coefficients(drawn, subject, spec)
