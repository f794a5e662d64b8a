"""Populations with known best linear fits, whatever their columns are clipped to: for studies of inference.

y = INTERCEPT + x'theta + N(0, 1). theta has mixed signs and sizes, and x'theta has variance 1, so R^2 is 1/2. Outcomes
follow the features as they are; only the library clips. Bounds of features hold all (independent), 99.7 %
(correlated) or 98.2 % (skewed) of their values. Bounds of the outcome reach 7.5 below and 8.5 above its mean, 1.7 times
what 99.9 % of outcomes need.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
from scipy.special import ndtr

from discreet.domain import Domain
from experiments.uci import Floats

DESIGNS = ("independent", "correlated", "skewed")
BOUNDS = {"independent": (0.0, 10.0), "correlated": (-3.0, 3.0), "skewed": (0.0, 4.0)}
INTERCEPT = 2.0
ROWS, STEP = 2**20, 2**16


class Population:
    """One design with its coefficients, bounds and truth.

    Parameters
    ----------
    design : {"independent", "correlated", "skewed"}
        Features uniform over their bounds; or normal, with correlation 0.5^|i - j| and bounds at 3 sd; or exponential.
    d : int
        Number of features.
    zeros : int
        How many of them, the last, have coefficients of zero.
    """

    def __init__(self, design: str, d: int, zeros: int = 0) -> None:
        self.design, self.d = design, d
        sizes = (1 - 0.8 * np.arange(d) / (d - 1)) * np.where(np.arange(d) % 3 == 1, -1.0, 1.0)
        sizes[d - zeros :] = 0.0
        low, high = BOUNDS[design]
        if design == "correlated":
            variance = 0.5 ** np.abs(np.subtract.outer(range(d), range(d)))
        else:
            variance = np.eye(d) * ((high - low) ** 2 / 12 if design == "independent" else 1.0)
        self.theta: Floats = sizes / np.sqrt(sizes @ variance @ sizes)
        mean = {"independent": (low + high) / 2, "correlated": 0.0, "skewed": 1.0}[design]
        self.mean_y = INTERCEPT + mean * float(self.theta.sum())
        self.bounds_X, self.bounds_y = BOUNDS[design], (self.mean_y - 7.5, self.mean_y + 8.5)
        self._truths: dict[tuple[float, float], Floats] = {}

    @property
    def names(self) -> list[str]:
        """Of the features."""
        return [f"x{j}" for j in range(self.d)]

    @property
    def domain(self) -> Domain:
        """The bounds that a user declares."""
        return Domain.from_bounds(self.names, ["y"], bounds_X=self.bounds_X, bounds_y=self.bounds_y)

    def features(self, n: int, rng: np.random.Generator) -> Floats:
        """Rows of features, not clipped."""
        if self.design == "independent":
            X = rng.random((n, self.d))
            X *= self.bounds_X[1]
        elif self.design == "skewed":
            X = rng.standard_exponential((n, self.d))
        else:
            X = rng.standard_normal((n, self.d))
            X[:, 1:] *= np.sqrt(0.75)
            for j in range(1, self.d):
                X[:, j] += 0.5 * X[:, j - 1]
        return X

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Rows as people would bring them."""
        X = self.features(n, rng)
        return X, INTERCEPT + X @ self.theta + rng.standard_normal(n)

    def truth(self, low: float, high: float) -> Floats:
        """Intercept and coefficients of the best linear fit to the population with y clipped to (low, high).

        E[z z'] and E[z clip(y)], z = (1, clipped x), are means over ROWS fixed draws of x; over the errors of y they
        are exact. A fit that is linear in z has no simulation error then, and what clipping adds has little.
        """
        key = round(low, 9), round(high, 9)
        if key not in self._truths:
            m, Z, gram = self._draws
            self._truths[key] = np.linalg.solve(gram, Z.T @ mean_clipped(m, low, high))
        return self._truths[key]

    def textbook(self) -> Floats:
        """Coverage of least squares' 95 % intervals without privacy, for many rows (sandwich formula).

        It is 95 % where errors around the line have equal variances. Outcomes are taken as not clipped.
        """
        m, Z, gram = self._draws
        squares = (m - Z @ self.truth(*self.bounds_y)) ** 2 + 1
        G = np.linalg.inv(gram)
        real = np.diag(G @ ((Z * squares[:, None]).T @ Z) @ G)
        covered: Floats = 1 - 2 * ndtr(-1.959964 * np.sqrt(squares.mean() * np.diag(G) / real))
        return covered

    @cached_property
    def _draws(self) -> tuple[Floats, Floats, Floats]:
        rng = np.random.default_rng([DESIGNS.index(self.design), self.d])
        m, Z = np.empty(ROWS), np.ones((ROWS, self.d + 1))
        for start in range(0, ROWS, STEP):
            X = self.features(STEP, rng)
            m[start : start + STEP] = INTERCEPT + X @ self.theta
            np.clip(X, *self.bounds_X, out=Z[start : start + STEP, 1:])
        return m, Z, Z.T @ Z


@lru_cache(maxsize=1)
def population(design: str, d: int, zeros: int = 0) -> Population:
    return Population(design, d, zeros)


def mean_clipped(m: Floats, low: float, high: float) -> Floats:
    """E[clip(m + e, low, high)] for a standard normal e.

    Examples
    --------
    >>> mean_clipped(np.array([0.0, 9.0]), -1.0, 1.0).round(6)
    array([0., 1.])
    """
    a, b = low - m, high - m
    below, above = ndtr(a), ndtr(-b)
    density = (np.exp(-(a**2) / 2) - np.exp(-(b**2) / 2)) / np.sqrt(2 * np.pi)
    mean: Floats = low * below + high * above + m * (1 - below - above) + density
    return mean
