"""Whether noise is as large as it is listed: the sum of its squares, which has an exact law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.stats import chi2

from discreet.core.arrays import Floats


@dataclass(frozen=True)
class Noise:
    """Noise values in units of their listed sd, computed back from releases with the table that was fitted.

    If all is as listed, they are independent standard normals, however events follow from each other.

    Parameters
    ----------
    values : int
        How many.
    squares : float
        The sum of their squares.

    Examples
    --------
    >>> Noise(1000, 640.0).ratio, Noise(1000, 640.0).is_small(1e-6), Noise(1000, 990.0).is_small(1e-6)
    (0.8, True, False)
    """

    values: int
    squares: float

    @classmethod
    def of(cls, noise: Sequence[Floats]) -> Noise:
        """Of many releases."""
        return cls(sum(map(len, noise)), math.fsum(float(own @ own) for own in noise))

    @property
    def ratio(self) -> float | None:
        """The sd of the noise over the listed one; None where no noise can be computed back."""
        return math.sqrt(self.squares / self.values) if self.values else None

    def most(self, failure: float) -> float | None:
        """The largest ratio that such noise is not too small for."""
        return math.sqrt(self.squares / float(chi2.ppf(failure, self.values))) if self.values else None

    def is_small(self, failure: float) -> bool:
        """Whether there is less noise than is listed, with this chance to be wrong."""
        most = self.most(failure)
        return most is not None and most < 1

    def is_large(self, failure: float) -> bool:
        """Whether there is more than is listed, so that something else than listed noise is in the values."""
        return bool(self.values) and self.squares > float(chi2.isf(failure, self.values)) * (1 + _ROUNDING)


_ROUNDING = 1e-3
"""What rounding errors, and the noise that hides these, may add."""
