"""One estimated number, with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.placeholders import Unavailable


class EstimateLaw(Protocol):
    """Sampling distribution of estimates: intervals and tests."""

    def interval(self, level: float) -> Floats | Unavailable:
        """A row (low, high) for each of them."""

    def p_values_at(self, values: Floats) -> Floats | Unavailable:
        """p-values of the tests that they have these values."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """An estimated number: a coefficient, a difference of two, an effect.

    An unknown part of it is an `Unavailable` that says why, never a number that looks like one.

    `std_err`: its standard error: sampling error and privacy noise.
    `privacy_noise`: the standard error from privacy noise alone.
    `law`: tests of this one number, of which `interval` and `p_value` are made.
    """

    value: float
    std_err: float | Unavailable
    privacy_noise: float
    df: float
    law: EstimateLaw

    def interval(self, level: float = 0.95) -> tuple[float, float] | Unavailable:
        """The confidence interval (low, high)."""
        found = self.law.interval(level)
        if isinstance(found, Unavailable):
            return found
        low, high = found[0].tolist()
        return low, high

    @property
    def p_value(self) -> float | Unavailable:
        """p-value of the test that the number is zero."""
        return self.p_value_at(0.0)

    def p_value_at(self, value: float) -> float | Unavailable:
        """p-value of the test that the number is `value`."""
        found = self.law.p_values_at(np.array([float(value)]))
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
