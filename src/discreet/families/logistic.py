"""Classes by their probabilities: the logistic family."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain.elementary import exp
from discreet.families.base import ClassFamily, FamilyWords, Loss

_VARIANCE = math.pi**2 / 3
"""The variance of the error of a logistic model, in units of its predictor."""


@dataclass(frozen=True)
class Logistic(Loss):
    """The loss log(1 + e^eta) - y eta, for y = 0 or 1.

    Examples
    --------
    >>> Logistic().parts(np.zeros(1), np.ones(1))[1]
    array([-0.5])
    """

    name: ClassVar[str] = "logistic"
    one_signed: ClassVar[bool] = True
    bell: ClassVar[bool] = True

    @property
    def slope(self) -> float:
        """The largest |f'|, 1."""
        return 1.0

    @property
    def curvature(self) -> float:
        """The largest f'', 1/4."""
        return 0.25

    def parts(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """The values f, f' = p - y and f'' = p (1 - p), with p = 1/(1 + e^-eta)."""
        small = np.exp(-np.abs(eta))
        q = small / (1 + small)
        p = np.where(eta < 0, q, 1 - q)
        return np.maximum(eta, 0) + np.log1p(small) - y * eta, p - y, q * (1 - q)


class LogisticFamily(ClassFamily):
    """Classes whose log odds are linear.

    Examples
    --------
    >>> LOGISTIC.mean(np.array([0.0]), 1.0), LOGISTIC.slope(np.array([0.0]), 1.0)
    (array([0.5]), array([0.25]))
    """

    name = "logistic"
    link = "logit"
    words = FamilyWords("logistic regression", "log odds of the outcome", "log odds", "odds_ratio")
    losses = (Logistic,)
    largest = 1.0
    staged = True

    def loss(self, most: float = 1.0) -> Logistic:
        """The logistic loss."""
        return Logistic()

    def mean(self, eta: Floats, most: float) -> Floats:
        """The probability p = 1/(1 + e^-eta)."""
        small = exp(-np.abs(eta))
        m: Floats = np.where(eta < 0, small / (1 + small), 1 / (1 + small))
        return m

    def slope(self, eta: Floats, most: float) -> Floats:
        """The derivative p (1 - p)."""
        p = self.mean(eta, most)
        return p * (1 - p)

    def root(self, eta: Floats, most: float) -> Floats:
        """The root 2 sqrt(p (1 - p))."""
        small = exp(-np.abs(eta))
        k: Floats = 2 * np.sqrt(small) / (1 + small)
        return k

    def probabilities(self, eta: Floats) -> Floats:
        """The probability of each class; for more than two, one-against-the-others probabilities, normalised.

        Parameters
        ----------
        eta : array (n, k)
            Log odds: of the second of two classes, or of each of several.

        Examples
        --------
        >>> LOGISTIC.probabilities(np.zeros((1, 1))).tolist(), LOGISTIC.probabilities(np.zeros((1, 4))).tolist()
        ([[0.5, 0.5]], [[0.25, 0.25, 0.25, 0.25]])
        """
        p = self.mean(eta, 1.0)
        if p.shape[1] == 1:
            return np.hstack([1 - p, p])
        at_least = np.maximum(p, 1e-300)
        shares: Floats = at_least / at_least.sum(axis=1, keepdims=True)
        return shares

    def predictor_sd(self, r_squared: float, mean: float) -> float:
        """The standard deviation of the latent predictor, whose error is logistic."""
        return math.sqrt(r_squared / (1 - r_squared) * _VARIANCE)

    def simulate(self, means: Floats, rng: np.random.Generator) -> Floats:
        """Bernoulli outcomes, 1 with these probabilities."""
        return (rng.random(len(means)) < means).astype(float)

    def expected_loss(self, means: Floats, truth: Floats) -> float:
        """The log loss."""
        m = np.maximum(means, 1e-12)
        return float(-np.mean(truth * np.log(m) + (1 - truth) * np.log(np.maximum(1 - m, 1e-12))))


LOGISTIC = LogisticFamily()
