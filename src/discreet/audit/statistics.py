"""Statistics that tell two tables apart, their thresholds, and a test of whether noise is as large as listed."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtri
from scipy.stats import chi2

from discreet.audit import bounds
from discreet.core.arrays import Floats
from discreet.privacy import gdp

Kind = Literal["mu", "epsilon"]
"""The parameter that is bounded: the mu of a Gaussian promise, or epsilon at the delta of any other."""

Statistic = Callable[[Floats], Floats]
"""A function from the numbers of fits, one row each, to scores: larger ones favour the second table."""

_THRESHOLDS = 200

_DOUBT = 0.2
"""The failure probability for choosing a threshold: few errors in a far tail may be chance."""

_ROUNDING = 1e-3
"""A tolerance for rounding errors and for the noise that hides them."""


@dataclass(frozen=True)
class GuessCounts:
    """Guesses and errors on each table."""

    first: int
    second: int
    false_positives: int
    false_negatives: int

    def epsilon(self, kind: Kind, delta: float, failure: float, slip: float = 0.0) -> float:
        """The lower bound on epsilon."""
        if kind == "mu":
            return gdp.epsilon(mu=self.mu(failure, slip), delta=delta)
        return bounds.epsilon_between(*self.rates(failure), delta)

    @property
    def guesses(self) -> int:
        """The number of guesses."""
        return self.first + self.second

    @property
    def right(self) -> int:
        """The number of right guesses."""
        return self.guesses - self.false_positives - self.false_negatives

    def mu(self, failure: float, slip: float = 0.0) -> float:
        """The lower bound on mu, if the promise is Gaussian except with probability `slip`."""
        return bounds.mu_of_guesses(self.right, self.guesses, failure, slip)

    def rates(self, failure: float) -> tuple[float, float]:
        """Upper confidence limits of the two error rates, which hold jointly."""
        fp = bounds.most(self.false_positives, self.first, failure / 2)
        return fp, bounds.most(self.false_negatives, self.second, failure / 2)


def counted(first: Floats, second: Floats, threshold: float) -> GuessCounts:
    """Count guesses and errors at a threshold."""
    return GuessCounts(len(first), len(second), int(np.sum(first > threshold)), int(np.sum(second <= threshold)))


def trained(first: Floats, second: Floats) -> Statistic:
    """Train a logistic model of normal scores and their squares, so that neither units nor tails matter."""
    from sklearn.linear_model import LogisticRegression

    pooled = np.vstack([first, second])
    ordered = np.sort(pooled, axis=0)
    varied = ordered[0] < ordered[-1]

    def features(A: Floats) -> Floats:
        places = np.array([_place(own, a) for own, a in zip(ordered.T[varied], A.T[varied], strict=True)]).T
        z = ndtri((places + 0.5) / (len(pooled) + 1))
        return np.hstack([z, z**2 - 1])

    if not varied.any():
        return lambda A: np.zeros(len(A))
    labels = np.repeat([0, 1], [len(first), len(second)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model that has not converged is a statistic too
        model = LogisticRegression(C=1.0, max_iter=200).fit(features(pooled), labels)
    return lambda A: np.asarray(model.decision_function(features(A)), dtype=float)


def _place(ordered: Floats, values: Floats) -> Floats:
    """The number of ordered values below each value; equal ones count half."""
    return (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")) / 2


def separation(first: Floats, second: Floats) -> float:
    """The largest area under the ROC curve of any single number: from 0.5, no separation, to 1."""
    best = 0.5
    for a, b in zip(first.T, second.T, strict=True):
        area = float(np.mean(_place(np.sort(a), b))) / len(a)
        best = max(best, area, 1 - area)
    return best


def best_threshold(
    first: Floats, second: Floats, kind: Kind, delta: float, edges: Floats | None = None
) -> tuple[float, GuessCounts]:
    """The threshold, of all or of given ones, with the largest lower bound, and its counts."""
    if edges is None:
        edges = np.unique(np.quantile(np.concatenate([first, second]), np.linspace(0, 1, _THRESHOLDS + 1)))
    found = [(float(edge), counted(first, second, float(edge))) for edge in edges]
    return max(found, key=lambda one: (_proven(one[1], kind, delta), one[1].right))


def _proven(counts: GuessCounts, kind: Kind, delta: float) -> float:
    return counts.mu(_DOUBT) if kind == "mu" else counts.epsilon(kind, delta, _DOUBT)


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
