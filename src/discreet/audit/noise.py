"""A test of whether noise is as large as listed, by its sum of squares, which is chi-square."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.stats import chi2

from discreet.core.arrays import Floats


@dataclass(frozen=True)
class AuditNoise:
    """Noise values in units of their listed sd, computed back from releases with the table that was fitted.

    If all is as listed, they are independent standard normals, however events depend on each other.

    Examples
    --------
    >>> AuditNoise(1000, 640.0).ratio, AuditNoise(1000, 640.0).is_small(1e-6), AuditNoise(1000, 990.0).is_small(1e-6)
    (0.8, True, False)
    """

    values: int  # their number
    squares: float  # the sum of their squares

    @classmethod
    def of(cls, noise: Sequence[Floats]) -> AuditNoise:
        """Combine the noise of many releases."""
        return cls(sum(map(len, noise)), math.fsum(float(own @ own) for own in noise))

    @property
    def ratio(self) -> float | None:
        """The sd of the noise over the listed one; None if no noise can be computed back."""
        return math.sqrt(self.squares / self.values) if self.values else None

    def most(self, failure: float) -> float | None:
        """The upper confidence limit of the ratio."""
        return math.sqrt(self.squares / float(chi2.ppf(failure, self.values))) if self.values else None

    def is_small(self, failure: float) -> bool:
        """Whether there is less noise than listed, with this probability of error."""
        most = self.most(failure)
        return most is not None and most < 1

    def is_large(self, failure: float) -> bool:
        """Whether there is more noise than listed, so that the values contain something else."""
        return bool(self.values) and self.squares > float(chi2.isf(failure, self.values)) * (1 + _ROUNDING)


_ROUNDING = 1e-3
"""A tolerance for rounding errors and for the noise that hides them."""
