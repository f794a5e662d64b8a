"""The interface that every kind of inference on debiased coefficients has."""

from __future__ import annotations

from abc import ABC, abstractmethod

from discreet.core.arrays import Bools, Floats
from discreet.core.fields import Written
from discreet.core.placeholders import Unavailable

ONE_OUTCOME = Unavailable(
    "not available",
    "This is computed for one outcome, with the covariance of its coefficients: fit it by itself, fit(outcome).",
)


class Inference(Written, ABC):
    """Debiased (intercept, coefficients) of one outcome or of several, in the user's units, with standard errors.

    `JointInference` holds the covariance of one outcome's coefficients. `MarginalInference` holds the standard errors
    of several outcomes' coefficients; its arrays have a row for each outcome.
    """

    estimate: Floats
    """The debiased intercept and coefficients."""

    sigma: float | Floats | Unavailable
    """The standard deviation of outcomes around the line, of each outcome."""

    df: float | Floats
    """Degrees of freedom."""

    @property
    @abstractmethod
    def given(self) -> Bools:
        """Mask of the intercept and the coefficients that have intervals."""

    @property
    @abstractmethod
    def withheld(self) -> str:
        """The reason that some coefficients have no interval; "" where all have."""

    @property
    @abstractmethod
    def std_err(self) -> Floats | Unavailable:
        """Standard errors; NaN where withheld."""

    @property
    @abstractmethod
    def privacy_noise(self) -> Floats:
        """Standard errors from privacy noise alone; NaN where withheld."""

    @property
    @abstractmethod
    def p_values(self) -> Floats | Unavailable:
        """p-values of the tests that each coefficient is zero."""

    @abstractmethod
    def interval(self, level: float) -> Floats | Unavailable:
        """Confidence intervals, (low, high) for the intercept and for each coefficient."""
