"""The interface that every kind of inference on debiased coefficients has, and a single estimate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from discreet.core.arrays import Bools, Floats
from discreet.core.fields import Written
from discreet.core.placeholders import Unavailable
from discreet.results.estimands import Estimand

ONE_OUTCOME = Unavailable(
    "not available",
    "This is computed for one outcome, with the covariance of its coefficients: fit it by itself, fit(outcome).",
)


class Inference(Written, ABC):
    """Debiased (intercept, coefficients) of one outcome or of several, in the user's units, with standard errors.

    `JointInference` holds the covariance of one outcome's coefficients. `MarginalInference` holds the standard errors
    of several outcomes' coefficients; its arrays have a row for each outcome.
    """

    largest_noise: ClassVar[float]
    """Intervals are given where the noise of X'X is at most this share of the variation behind a coefficient."""

    estimate: Floats
    """The debiased intercept and coefficients."""

    estimand: Estimand
    """The fit that the intervals are about."""

    errors: Floats | Unavailable
    """Their standard errors, of those too that are withheld."""

    privacy_errors: Floats
    """The standard errors from privacy noise alone, of those too that are withheld."""

    noise: Floats
    """The noise of X'X behind the intercept and each coefficient, relative to the variation behind it."""

    sigma: float | Floats | Unavailable
    """The standard deviation of outcomes around the line, of each outcome."""

    df: float | Floats
    """Degrees of freedom."""

    @property
    def given(self) -> Bools:
        """Mask of the intercept and the coefficients that have intervals."""
        return np.asarray(self.noise <= self.largest_noise)

    @property
    @abstractmethod
    def charged(self) -> bool:
        """Whether intervals about least squares under the declared bounds have anything to charge."""

    @abstractmethod
    def about(self, estimand: Estimand) -> Self:
        """The same with intervals about another fit."""

    @property
    @abstractmethod
    def withheld(self) -> str:
        """The reason that some coefficients have no interval; "" where all have."""

    @property
    def std_err(self) -> Floats | Unavailable:
        """Standard errors; NaN where withheld."""
        errors = self.errors
        return errors if isinstance(errors, Unavailable) else np.where(self.given, errors, np.nan)

    @property
    def privacy_noise(self) -> Floats:
        """Standard errors from privacy noise alone; NaN where withheld."""
        return np.where(self.given, self.privacy_errors, np.nan)

    @abstractmethod
    def interval(self, level: float) -> Floats | Unavailable:
        """Confidence intervals, (low, high) for the intercept and for each coefficient."""

    @property
    def p_values(self) -> Floats | Unavailable:
        """p-values of the tests that each coefficient is zero."""
        return self.p_values_at(np.zeros_like(self.estimate))

    @abstractmethod
    def p_values_at(self, values: Floats) -> Floats | Unavailable:
        """p-values of the tests that the coefficients have these values."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """An estimated number: a coefficient, a difference of two, an effect.

    An unknown part of it is an `Unavailable` that says why, never a number that looks like one. Intervals and tests are
    those of the only number of `law`, with `shift` added to it.
    """

    value: float
    std_err: float | Unavailable
    privacy_noise: float
    df: float
    law: Inference
    shift: float = 0.0

    def interval(self, level: float = 0.95) -> tuple[float, float] | Unavailable:
        """The confidence interval (low, high)."""
        found = self.law.interval(level)
        if isinstance(found, Unavailable):
            return found
        low, high = (found[0] + self.shift).tolist()
        return low, high

    @property
    def p_value(self) -> float | Unavailable:
        """p-value of the test that the number is zero."""
        return self.p_value_at(0.0)

    def p_value_at(self, value: float) -> float | Unavailable:
        """p-value of the test that the number is `value`."""
        found = self.law.p_values_at(np.array([float(value)]) - self.shift)
        return found if isinstance(found, Unavailable) else float(found[0])

    @property
    def t_value(self) -> float | Unavailable:
        """The estimate in standard errors."""
        return self.t_value_at(0.0)

    def t_value_at(self, value: float) -> float | Unavailable:
        """The distance from `value` in standard errors."""
        if isinstance(self.std_err, Unavailable):
            return self.std_err
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.divide(self.value - value, self.std_err))
