"""Counts: the Poisson family."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.domain import Domain
from discreet.domain.elementary import exp, log
from discreet.families.base import Family, FamilyWords, Label, Loss, Outcome


@dataclass(frozen=True)
class Poisson(Loss):
    """The loss e^eta - y eta, for counts y from 0 to `limit`; linear where the rate e^eta exceeds `limit`.

    A mean of counts up to `limit` is at most `limit`, so nothing is lost beyond it. f' lies in [-y, limit - y]. Counts
    are clipped to `limit`.
    """

    limit: float

    name: ClassVar[str] = "Poisson"
    one_signed: ClassVar[bool] = False
    bell: ClassVar[bool] = False
    share: ClassVar[float] = 0.25

    def __post_init__(self) -> None:
        checks.positive("limit", self.limit)

    @property
    def slope(self) -> float:
        """The largest |f'|, the limit."""
        return self.limit

    @property
    def curvature(self) -> float:
        """The largest f'', the limit."""
        return self.limit

    def parts(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """The values f, f' and f''; the rate is clipped at the limit."""
        top, y = math.log(self.limit), np.clip(y, 0.0, self.limit)
        rate = np.where(eta < top, np.exp(np.minimum(eta, top)), self.limit)
        value = rate + self.limit * np.maximum(eta - top, 0) - y * eta
        return value, rate - y, np.where(eta < top, rate, 0.0)


class PoissonFamily(Family):
    """Counts whose log rate is linear.

    Examples
    --------
    >>> POISSON.mean(np.array([0.0, 9.0]), 4.0).tolist()
    [1.0, 4.0]
    """

    name = "Poisson"
    link = "log"
    words = FamilyWords(
        "Poisson regression",
        "the logarithm of the expected count",
        "log rate",
        "rate_ratio",
        "the variance of counts over their mean; 1 for a Poisson law",
    )
    losses = (Poisson,)
    example = (0, 4)
    staged = True
    sized = True
    exposed = True

    def loss(self, most: float = 1.0) -> Poisson:
        """The loss of counts up to `most`."""
        return Poisson(most)

    def most(self, domain: Domain, column: str) -> float:
        """The upper bound of the column."""
        return domain.columns[column].range[1]

    def covers(self, loss: Loss, most: float) -> bool:
        """Whether the limit of the loss is at least `most`."""
        return not isinstance(loss, Poisson) or loss.limit >= most

    def outcome(self, domain: Domain, target: str, method: str) -> Outcome:
        """The outcome: a number with a lower bound of at least 0."""
        found = super().outcome(domain, target, method)
        domain.columns[found.column].as_count(found.column)
        return found

    def label(self, domain: Domain, column: str, place: int = 1) -> Label:
        """The counts, clipped to their bounds.

        Examples
        --------
        >>> POISSON.label(Domain({"x": (0, 1), "y": (0, 4)}), "y")(np.array([-1.0, 1.0]))
        array([0., 4.])
        """
        (c, h), (low, high) = domain.map(column), domain.columns[column].range
        return lambda y: np.clip(c + h * y, low, high)

    def mean(self, eta: Floats, most: float) -> Floats:
        """The rate e^eta, at most `most`."""
        return np.minimum(exp(np.minimum(eta, 700.0)), most)

    def slope(self, eta: Floats, most: float) -> Floats:
        """The derivative: the rate itself."""
        return self.mean(eta, most)

    def root(self, eta: Floats, most: float) -> Floats:
        """The root sqrt(rate/most), and 0 where the rate exceeds `most`."""
        top = float(log(np.array([most]))[0])
        return np.where(eta < top, np.sqrt(self.mean(eta, most) / most), 0.0)

    def predictor_sd(self, r_squared: float, mean: float) -> float:
        """The s of a log-normal rate: with mean m it has variance m^2 (e^(s^2) - 1), beside m of the count."""
        return math.sqrt(math.log1p(r_squared / (1 - r_squared) / mean))

    def simulate(self, means: Floats, rng: np.random.Generator) -> Floats:
        """Poisson counts."""
        return rng.poisson(means).astype(float)

    def expected_loss(self, means: Floats, truth: Floats) -> float:
        """Half the deviance."""
        m = np.maximum(means, 1e-12)
        return float(np.mean(m - truth * np.log(m)))


POISSON = PoissonFamily()
