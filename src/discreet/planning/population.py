"""Made-up people who fit the public facts: a pool of rows, and tables of any size that are drawn from it.

Features are correlated normals, transformed so that each number has its mean and sd within its bounds (a Beta law) and
each level its share. The correlation matrix has eigenvalues ((d + 1/2 - i)/i)^a, with a chosen to give the root mean
square correlation. Rows in a ball (`data_norm`) are scaled to its surface, unless sds were guessed. The outcome is

    y = mean + k x'b + e,   x standardised, b standard normal,

but that of a regressor which is 0 for most rows, such as a rare level, is as large for the rows that have it as that of
an even yes or no. e is such that y given x has a Beta law within the bounds, of the same variance for all x. k and that
variance follow from R^2 and the outcome's variance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, ndtri
from scipy.stats import random_correlation

from discreet.core.arrays import Floats
from discreet.data.moments import Moments
from discreet.domain import Domain
from discreet.domain.encoding import ONE, Encoder
from discreet.domain.kinds.base import Column
from discreet.drivers.run import Run
from discreet.drivers.simulate import MadeUpSource, limbs
from discreet.planning.facts import Number, PlanFacts

LEAST_DIRECTION = 1e-9
"""Directions in which standardised regressors vary less than this are ignored."""

STEEPEST = 20.0
"""The largest exponent a: all but the first eigenvalue are then negligible."""

ABSENT = 1e-9
"""A value of a regressor below this share of its largest one counts as 0."""

_ROWS = 8192  # number of rows of a pool
_GRID = np.linspace(-5.0, 5.0, 401)
_LEAST = 0.05  # least sum of the two Beta parameters: the law is then almost two points


@dataclass(frozen=True, eq=False)
class Population:
    """A pool of rows that fits the facts."""

    facts: PlanFacts
    values: dict[str, NDArray[Any]]  # the features' columns: numbers in the user's units, codes of levels
    y: Floats  # the outcome, in the user's units

    def encoded(self, domain: Domain) -> Floats:
        """The rows as the library encodes them, in lattice units: clipped to a domain's bounds."""
        return _encode(domain, self.values | {self.facts.target: self.y})

    @cached_property
    def rows(self) -> Floats:
        """The encoded rows, clipped to the declared bounds."""
        return self.encoded(self.facts.domain)

    @cached_property
    def design(self) -> Floats:
        """A row (1, regressors) for each person, in the user's units; no column of ones without an intercept."""
        return _design(self.facts, self.rows)

    @cached_property
    def best(self) -> Floats:
        """Intercept and coefficients of the best linear fit."""
        return _full(self.facts, np.asarray(np.linalg.lstsq(self.design, self.y)[0], dtype=float))

    def mse(self, params: Floats) -> float:
        """Mean squared error of prediction with (intercept, coefficients)."""
        return float(np.mean((self.y - params[0] - _slopes(self.facts, self.design) @ params[1:]) ** 2))

    @cached_property
    def relative_sds(self) -> Floats:
        """The sd of each regressor over that of the outcome; NaN for the intercept."""
        return np.concatenate([[np.nan], _slopes(self.facts, self.design).std(axis=0) / self.y.std()])

    @cached_property
    def inflation(self) -> float:
        """By how much correlations increase standard errors, compared with unrelated regressors: the median of them."""
        X = _standard(self.facts, self.design)
        if not X.shape[1]:
            return 1.0
        inverse = np.diag(np.linalg.pinv(X.T @ X / len(X), hermitian=True))
        return float(np.sqrt(np.median(np.maximum(inverse, 1.0))))

    @cached_property
    def trivial(self) -> float:
        """Mean squared error of predicting the outcome's mean, or of predicting 0 in models without an intercept."""
        return float(np.var(self.y) if self.facts.domain.intercept else np.mean(self.y**2))

    @cached_property
    def r_squared(self) -> float:
        """The R^2 of the pool; it may differ from the requested one because of the bounds."""
        return 1 - self.mse(self.best) / self.trivial


def population(facts: PlanFacts, rng: np.random.Generator) -> Population:
    """Draw a pool of people."""
    values = _features(facts, rng)
    middle = np.full(_ROWS, facts.outcome.mean)
    D = _design(facts, _encode(facts.domain, values | {facts.target: middle}))
    return Population(facts, values, _outcome(facts, _standard(facts, D), _presence(_slopes(facts, D)), rng))


def _encode(domain: Domain, values: dict[str, NDArray[Any]]) -> Floats:
    """Encode rows as the library does, in lattice units."""
    encoder = Encoder(domain)
    A = encoder.empty(len(next(iter(values.values()))))
    for name in domain.columns:
        encoder.write(name, values, A)
    encoder.finish(A)
    return A


def _full(facts: PlanFacts, params: Floats) -> Floats:
    """Parameters with an intercept of 0 in front where the model has none."""
    return params if facts.domain.intercept else np.concatenate([[0.0], params])


def _design(facts: PlanFacts, A: Floats) -> Floats:
    places, encoder = facts.domain.design(facts.features), Encoder(facts.domain)
    return A[:, places] / ONE * encoder.half[places] + encoder.centre[places]


def _slopes(facts: PlanFacts, D: Floats) -> Floats:
    return D[:, 1:] if facts.domain.intercept else D


# ---------------------------------------------------------------- features


def _features(facts: PlanFacts, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    names = facts.inputs
    G = rng.standard_normal((_ROWS, len(names))) @ _root(facts, rng).T
    values: dict[str, NDArray[Any]] = {}
    for name, g in zip(names, G.T, strict=True):
        if name in facts.shares:
            cuts = ndtri(np.cumsum(facts.shares[name])[:-1])
            values[name] = np.searchsorted(cuts, g)
        else:
            values[name] = _bent(facts, name, g)
    filled = [name for name in names if facts.numbers.get(name, 0) is None]
    if filled:
        norms = np.sqrt(sum(values[name] ** 2 for name in filled))
        for name in filled:
            values[name] = values[name] * ((facts.domain.data_norm or 1.0) / norms)
    return values


def _bent(facts: PlanFacts, name: str, g: Floats) -> Floats:
    number, column = facts.numbers[name], facts.domain.inputs[name]
    if number is None or name in facts.domain.norm_columns or column.bounds is None:
        return g if number is None else number.mean + number.sd * g
    low, high = column.bounds
    table = low + (high - low) * _beta_of_normal(*_beta(number, column))
    return np.interp(g, _GRID, table)


def _beta(number: Number, column: Column) -> tuple[float, float]:
    """The parameters of the Beta law on a column's bounds with this mean and sd."""
    low, high = column.range
    width = high - low
    t = (number.mean - low) / width
    nu = t * (1 - t) * (width / number.sd) ** 2 - 1
    return t * nu, (1 - t) * nu


@lru_cache(maxsize=256)
def _beta_of_normal(a: float, b: float) -> Floats:
    return np.asarray(betaincinv(a, b, ndtr(_GRID)))


def _root(facts: PlanFacts, rng: np.random.Generator) -> Floats:
    """A root of the features' correlation matrix: the one that was guessed, or a random one with the spectrum."""
    d = len(facts.inputs)
    if facts.correlations is not None:
        C = np.array(facts.correlations)
    elif d < 2:
        C = np.eye(d)
    else:
        C = random_correlation.rvs(spectrum(d, facts.correlation), random_state=rng, tol=1e-8)
    values, U = np.linalg.eigh(C)
    return np.asarray(U * np.sqrt(np.maximum(values, 0.0)))


def spectrum(d: int, correlation: float) -> Floats:
    """Eigenvalues ((d + 1/2 - i)/i)^a, of sum d, whose mean square is that of this root mean square correlation."""
    i = np.arange(1.0, d + 1)
    shape, low, high = np.log((d + 0.5 - i) / i), 0.0, STEEPEST
    for _ in range(60):
        a = (low + high) / 2
        values = np.exp(a * (shape - shape[0]))
        values *= d / values.sum()
        low, high = (a, high) if np.mean(values**2) < 1 + (d - 1) * correlation**2 else (low, a)
    return np.asarray(values)


# ---------------------------------------------------------------- outcome


def _standard(facts: PlanFacts, D: Floats) -> Floats:
    """Regressors with variance 1 around their mean, or mean square 1 in models without an intercept."""
    X = _slopes(facts, D)
    if facts.domain.intercept:
        X = X - X.mean(axis=0)
    size = np.sqrt(np.mean(X**2, axis=0))
    return X / np.where(size > 0, size, 1.0)


def _presence(X: Floats) -> Floats:
    """By how much the effect of each regressor counts less because few rows have it: 1 for most regressors."""
    share = np.minimum(np.mean(np.abs(X) > ABSENT * np.abs(X).max(axis=0, initial=0.0), axis=0), 0.5)
    return np.asarray(2 * np.sqrt(share * (1 - share)))


def _outcome(facts: PlanFacts, X: Floats, presence: Floats, rng: np.random.Generator) -> Floats:
    low, high = facts.domain.columns[facts.target].range
    width = high - low
    values, U = np.linalg.eigh(X.T @ X / len(X)) if X.shape[1] else (np.ones(0), np.ones((0, 0)))
    whole = values > LEAST_DIRECTION
    Q = X @ U[:, whole] / np.sqrt(values[whole])  # columns of mean square 1 that span the regressors
    explained = signal(X * presence, rng)
    M, variance = _fitted(facts, Q, explained / (np.sqrt(np.mean(explained**2)) or 1.0), (low, high))
    t = (M - low) / width
    nu = np.maximum(t * (1 - t) * width**2 / variance - 1, _LEAST)
    return np.asarray(low + width * rng.beta(t * nu, (1 - t) * nu))


def signal(X: Floats, rng: np.random.Generator) -> Floats:
    """The explained part of the outcome, up to scale; coefficients of standardised regressors are standard normal."""
    return X @ rng.standard_normal(X.shape[1])


def _fitted(facts: PlanFacts, Q: Floats, explained: Floats, bounds: tuple[float, float]) -> tuple[Floats, float]:
    """Conditional means within the bounds, and the variance around them, that give R^2 and the mean square wanted."""
    total, r2, mean = facts.mean_square, facts.r_squared, facts.outcome.mean
    k, variance = np.sqrt(r2 * total), (1 - r2) * total
    for _ in range(20):
        M = _feasible(mean + k * explained, variance, bounds)
        around = M - (M.mean() if facts.domain.intercept else 0.0)
        linear = float(np.sum((Q.T @ around / len(Q)) ** 2))
        k *= np.sqrt(r2 * total / linear) if linear > 0 else 1.0
        variance = max(total - float(np.mean(around**2)), 1e-6 * total)
    return M, variance


def _feasible(M: Floats, variance: float, bounds: tuple[float, float]) -> Floats:
    """Means that leave room for the variance within the bounds: (M - low)(high - M) >= variance."""
    low, high = bounds
    middle, half = (low + high) / 2, (high - low) / 2
    room = np.sqrt(max(half**2 - (1 + _LEAST) * variance, 0.0))
    return np.clip(M, middle - room, middle + room)


# ---------------------------------------------------------------- tables


class SampledTable:
    """A table of n rows drawn from the pool: the number of copies of each person, and their exact sums."""

    def __init__(self, people: Population, rows: int, rng: np.random.Generator) -> None:
        self.people, self.domain = people, people.facts.domain
        m = len(people.y)
        self._present: slice | NDArray[np.intp] = slice(None)
        if rows < m:
            self._present, copies = np.unique(rng.integers(m, size=rows), return_counts=True)
        else:
            copies = rng.multinomial(rows, np.full(m, 1 / m))
        self._copies: Floats = copies.astype(float)
        self._released: tuple[Any, Run] | None = None

    @property
    def _rows(self) -> Floats:
        return self.people.rows[self._present]

    @cached_property
    def _gram(self) -> Floats:
        return (self._rows * self._copies[:, None]).T @ self._rows

    def moments(self, domain: Domain) -> Moments:
        """The moments of the table, clipped to bounds that may be tighter than the declared ones.

        Sums are in floating point: a simulation protects nobody, and their relative error is 1e-16.
        """
        gram, (A, places) = self._gram, self._encoded(domain)
        if places:
            gram = gram.copy()
            gram[places] = (A[:, places] * self._copies[:, None]).T @ A
            gram[:, places] = gram[places].T
        return Moments(domain, *limbs(gram))

    def _encoded(self, domain: Domain) -> tuple[Floats, list[int]]:
        """Rows clipped to bounds that may be tighter, and the indices of the coordinates whose bounds are tighter."""
        changed = [name for name, column in domain.columns.items() if column != self.domain.columns[name]]
        if not changed:
            return self._rows, []
        A, places = self._rows.copy(), [i for name in changed for i in domain.positions[name]]
        A[:, places] = self.people.encoded(domain.select(changed))[self._present, 1:]
        return A, places

    def source(self, domain: Domain) -> MadeUpSource:
        """The table as a source for recipes."""
        return MadeUpSource(domain, lambda bounds: self._encoded(bounds)[0], self._copies, self.moments)

    def released(self, key: Any, release: Callable[[], Run]) -> Run:
        """A release of the table, made once for all methods that use it; the last one is cached with its key."""
        if self._released is None or self._released[0] != key:
            self._released = key, release()
        return self._released[1]

    @cached_property
    def least_squares(self) -> Floats:
        """Intercept and coefficients of the fit without privacy, in the user's units."""
        root = np.sqrt(self._copies)
        D, y = self.people.design[self._present], self.people.y[self._present]
        params: Floats = np.asarray(np.linalg.lstsq(D * root[:, None], y * root)[0], dtype=float)
        return _full(self.people.facts, params)
