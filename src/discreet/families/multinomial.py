"""Three or more classes by their probabilities, from one release: the multinomial family."""

from __future__ import annotations

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain.elementary import exp
from discreet.families.base import ClassFamily, FamilyWords, ScoreMean
from discreet.families.logistic import LOGISTIC, Logistic


class MultinomialFamily(ClassFamily):
    """Classes whose log probabilities are linear up to a common term; each class has a linear predictor.

    Coefficients of all classes add up to 0. Differences to those of a reference class are log odds against it.

    Examples
    --------
    >>> MULTINOMIAL.probabilities(np.zeros((1, 4))).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """

    name = "multinomial"
    link = "softmax"
    words = FamilyWords("multinomial logistic regression", "log odds of the outcome", "log odds", "odds_ratio")
    losses = ()
    largest = 1.0
    staged = True
    joint = True

    def loss(self, most: float = 1.0) -> Logistic:
        """The logistic loss, which bounds that of each class."""
        return LOGISTIC.loss()

    def mean(self, eta: Floats, most: float) -> Floats:
        """The probability of each class, a row each: e^eta over the sum of all, summed in the order of the classes."""
        scores = exp(eta - eta.max(axis=0))
        total = scores[0].copy()
        for row in scores[1:]:
            total += row
        p: Floats = scores / total
        return p

    def root(self, eta: Floats, most: float) -> Floats:
        """The root 2 sqrt(p_j p_k) for each pair of classes j < k, in order; |diag(p) - p p'| is made of p_j p_k."""
        p = self.mean(eta, most)
        first, second = np.triu_indices(len(p), k=1)
        k: Floats = 2 * (np.sqrt(p[first]) * np.sqrt(p[second]))
        return k

    def probabilities(self, eta: Floats) -> Floats:
        """The probability of each class, a column each."""
        return self.mean(eta.T, 1.0).T

    def field(self, most: float, shift: float, shares: Floats, width: float | None) -> ScoreMean:
        """The probabilities, and their derivatives diag(p) - p p'."""

        def mean(eta: Floats) -> tuple[Floats, Floats]:
            p = self.probabilities(eta)
            return p, p[:, :, None] * np.eye(p.shape[1]) - p[:, :, None] * p[:, None, :]

        return mean

    def predictor_sd(self, r_squared: float, mean: float) -> float:
        """The standard deviation for the logistic law."""
        return LOGISTIC.predictor_sd(r_squared, mean)

    def simulate(self, means: Floats, rng: np.random.Generator) -> Floats:
        """Outcomes of one class against the others."""
        return LOGISTIC.simulate(means, rng)

    def expected_loss(self, means: Floats, truth: Floats) -> float:
        """The log loss of one class against the others."""
        return LOGISTIC.expected_loss(means, truth)


MULTINOMIAL = MultinomialFamily()
