"""Classes by the sign of a score: support-vector machines with a smoothed hinge loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.families.base import ClassFamily, Family, FamilyWords, Loss, ScoreMean
from discreet.families.logistic import LOGISTIC


@dataclass(frozen=True)
class SmoothHinge(Loss):
    """The hinge max(0, 1 - t eta), t = 2y - 1, with a smooth corner: w log(1 + e^((1 - t eta)/w)).

    It exceeds the hinge by at most w log 2.
    """

    width: float = 0.5

    name: ClassVar[str] = "smooth hinge"
    one_signed: ClassVar[bool] = True
    bell: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.positive("width", self.width)

    @property
    def slope(self) -> float:
        """The largest |f'|, 1."""
        return 1.0

    @property
    def curvature(self) -> float:
        """The largest f'', 1/(4w)."""
        return 0.25 / self.width

    def parts(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """The values f, f' = -t s and f'' = s (1 - s)/w, with s = 1/(1 + e^(-(1 - t eta)/w))."""
        t = 2 * y - 1
        u = (1 - t * eta) / self.width
        from scipy.special import expit  # workers of engines have families without scipy

        s = expit(u)
        value = self.width * (np.maximum(u, 0) + np.log1p(np.exp(-np.abs(u))))
        return value, -t * s, s * expit(-u) / self.width


@dataclass(frozen=True)
class QuadraticHinge(Loss):
    """The hinge with a quadratic corner, t = (2y - 1) eta: 0 from 1 on, (1 - t)^2/2 from 0 to 1, 1/2 - t below.

    Examples
    --------
    >>> QuadraticHinge().parts(np.array([-1.0, 0.5, 2.0]), np.ones(3))[0]
    array([1.5  , 0.125, 0.   ])
    """

    name: ClassVar[str] = "quadratic hinge"
    one_signed: ClassVar[bool] = True
    bell: ClassVar[bool] = False

    @property
    def slope(self) -> float:
        """The largest |f'|, 1."""
        return 1.0

    @property
    def curvature(self) -> float:
        """The largest f'', 1."""
        return 1.0

    def parts(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """The values f, f' and f'', which jumps at 0 and at 1."""
        sign = 2 * y - 1
        t = sign * eta
        s = np.clip(1 - t, 0.0, 1.0)
        return s**2 / 2 + np.maximum(-t, 0.0), -sign * s, ((t > 0) & (t < 1)).astype(float)


class HingeFamily(ClassFamily):
    """Classes given by the sign of a linear score, without probabilities."""

    name = "hinge"
    link = "sign"
    words = FamilyWords("linear classification", "the score, whose sign is the class", "1")
    losses = (SmoothHinge, QuadraticHinge)
    cornered = True
    largest = 1.0

    def loss(self, most: float = 1.0) -> SmoothHinge:
        """The smooth hinge of the default width."""
        return SmoothHinge()

    def residual(self, eta: Floats, y: Floats, most: float, width: float | None) -> Floats:
        """The score t/(1 + e^(-(1 - t eta)/w)), t = 2y - 1, of the smooth hinge of width w."""
        t = 2 * y - 1
        return t * LOGISTIC.mean((1 - t * eta) / (width or 1.0), 1.0)

    def field(self, most: float, shift: float, shares: Floats, width: float | None) -> ScoreMean:
        """The mean over both classes as if they were independent of the predictor."""
        w = width or 1.0

        def mean(eta: Floats) -> tuple[Floats, Floats]:
            second, first = LOGISTIC.mean((1 - eta) / w, 1.0), LOGISTIC.mean((1 + eta) / w, 1.0)
            slope = (shares * second * (1 - second) + (1 - shares) * first * (1 - first)) / w
            return (1 - shares) * first - shares * second, slope[:, :, None] * np.eye(eta.shape[1])

        return mean

    @property
    def law(self) -> Family:
        """The logistic family, whose law made-up classes follow."""
        return LOGISTIC

    def predictor_sd(self, r_squared: float, mean: float) -> float:
        """The standard deviation for the logistic law."""
        return LOGISTIC.predictor_sd(r_squared, mean)

    def simulate(self, means: Floats, rng: np.random.Generator) -> Floats:
        """Made-up classes from the logistic law."""
        return LOGISTIC.simulate(means, rng)

    def expected_loss(self, means: Floats, truth: Floats) -> float:
        """The log loss of the logistic law."""
        return LOGISTIC.expected_loss(means, truth)


HINGE = HingeFamily()
