"""Numbers: the normal family, with squared loss and the identity as its link."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.domain import Domain
from discreet.errors import FileFormatError
from discreet.families.base import Family, FamilyWords, Label, Loss


@dataclass(frozen=True)
class Squared(Loss):
    """The loss (eta - y)^2/2, for |y| <= 1; linear where |eta| exceeds `limit`, which is at least 1.

    f' lies in [-limit - y, limit - y].
    """

    limit: float = 1.0

    name: ClassVar[str] = "squared"
    one_signed: ClassVar[bool] = False
    bell: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not checks.positive("limit", self.limit) >= 1:
            raise FileFormatError("The limit of a squared loss is at least 1.")

    @property
    def slope(self) -> float:
        """The largest |f'|: the limit plus the largest outcome."""
        return self.limit + 1.0

    @property
    def span(self) -> float:
        """The span 2 limit."""
        return 2 * self.limit

    @property
    def curvature(self) -> float:
        """The largest f'', 1."""
        return 1.0

    def parts(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """The values f, f' and f'', continued linearly beyond the limit."""
        inner = np.clip(eta, -self.limit, self.limit)
        value = (inner - y) ** 2 / 2 + (inner - y) * (eta - inner)
        return value, inner - y, (np.abs(eta) < self.limit).astype(float)


class NormalFamily(Family):
    """Normal outcomes with a linear mean."""

    name = "normal"
    link = "identity"
    words = FamilyWords("linear regression", "the unit of the outcome")
    losses = (Squared,)
    linear = True

    def loss(self, most: float = 1.0) -> Squared:
        """Squared loss of outcomes mapped to [-1, 1]; linear beyond predictions of `most`."""
        return Squared(most)

    def label(self, domain: Domain, column: str, place: int = 1) -> Label:
        """The identity, for a mapped outcome."""
        return lambda y: y

    def predictor_sd(self, r_squared: float, mean: float) -> float:
        """The standard deviation of a predictor with errors of variance 1."""
        return math.sqrt(r_squared / (1 - r_squared))

    def simulate(self, means: Floats, rng: np.random.Generator) -> Floats:
        """Normal outcomes of variance 1."""
        return means + rng.standard_normal(len(means))

    def expected_loss(self, means: Floats, truth: Floats) -> float:
        """Half the mean squared error."""
        return float(np.mean((means - truth) ** 2)) / 2


NORMAL = NormalFamily()
