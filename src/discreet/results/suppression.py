"""Reasons for withheld intervals, from released numbers: too few rows, collinear columns, or columns that hardly vary.

The noise of X'X is compared with the variation that the release found. Where it hides most directions, the cause is the
number of rows. Where it hides some, the cause lies in the columns that share them: a level that few rows have, a number
that hardly varies within its bounds, or columns that say nearly the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.core.arrays import Bools, Floats
from discreet.domain import CONSTANT, Domain
from discreet.privacy import gdp
from discreet.privacy.guarantee import Guarantee
from discreet.released.units import column_of
from discreet.solve.equations import NormalEquations, fitted

_MOST_DIRECTIONS = 0.5
"""There are too few rows if noise hides more than this share of the directions."""

_TOGETHER = 0.5
"""Coefficients whose errors have this correlation or more count as collinear."""

_INFLATED = 4.0
"""Other columns determine a column if they make the variance of its coefficient this many times as large."""

_RARE, _STILL = 0.05, 0.05**2
"""A level is rare if less than this share of the rows has it; a number hardly varies if its variance is less than this,
in units of half its declared range."""

_LITTLE = 0.25
"""A number varies little if its variance, in these units, is less than this share of the median one."""

_SURE = 2.0
"""A variance is taken to be larger by this many sds of its noise."""

_MOST_ROWS = 20.0
"""Factors on the number of rows are told up to this one."""


@dataclass(frozen=True, eq=False)
class _Case:
    """Equations with withheld coefficients; see `culprits`."""

    domain: Domain
    e: NormalEquations
    G: Floats
    K: Floats
    T: Floats
    noise: Floats
    most: float

    @property
    def first(self) -> int:
        """The place of the first regressor's coefficient among (intercept, coef)."""
        return 0 if self.e.names[0] == CONSTANT else 1

    @cached_property
    def columns(self) -> list[str]:
        """The column of each regressor."""
        return [column_of(self.domain, name) for name in self.e.names]

    @cached_property
    def levels(self) -> Bools:
        """Mask of the regressors that are levels of categories."""
        return np.array([self.domain.entries[i].level is not None for i in self.domain.indices(self.e.names)])

    @property
    def hidden(self) -> float:
        """The share of directions that noise hides."""
        g, Q = np.linalg.eigh(self.G)
        noise = np.sqrt(np.maximum(g * np.einsum("ij,ij->j", Q, self.K @ Q), 0.0))
        return float(np.mean(noise > self.most))

    @cached_property
    def together(self) -> Bools:
        """Mask of the pairs of coefficients whose errors go together."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # in units that are tiny or huge
            V = self.T @ self.G @ self.T.T
            found: Bools = np.abs(V) >= _TOGETHER * np.sqrt(np.outer(np.diag(V), np.diag(V)))
        return found

    @cached_property
    def rows(self) -> float:
        """The weight of all rows in X'X."""
        return max(float(self.e.S[0, 0]) if self.e.names[0] == CONSTANT else self.e.n, 1e-300)

    @cached_property
    def variance(self) -> Floats:
        """The noisy variance of each regressor, mapped by its bounds."""
        e = self.e
        squares = np.diag(e.S) - (e.S[0] ** 2 / self.rows if e.names[0] == CONSTANT else 0.0)
        return np.asarray(squares / self.rows, dtype=np.float64)

    @cached_property
    def doubt(self) -> Floats:
        """The sds of the noise of the share of rows that a level has."""
        return self._noise(np.zeros(len(self.e.S)))

    @cached_property
    def unsure(self) -> Floats:
        """The sds of the noise of `variance`; that of the mean counts, too."""
        return self._noise(self.e.S[0] / self.rows if self.e.names[0] == CONSTANT else np.zeros(len(self.e.S)))

    def _noise(self, centres: Floats) -> Floats:
        """The sds of the noise of the mean squares of regressors around centres; the first one is the constant."""
        units = np.linalg.solve(self.e.rotation, np.eye(len(self.e.S)))
        units = units - np.outer(units[:, 0], centres)
        return np.asarray(self.e.s_xx * np.einsum("ij,ij->j", units, units) / self.rows, dtype=np.float64)

    @cached_property
    def rare(self) -> Bools:
        """Mask of the levels that few rows have."""
        share = np.diag(self.e.S) / self.rows
        return np.asarray(self.levels & (share + _SURE * self.doubt < _RARE))

    @cached_property
    def still(self) -> Bools:
        """Mask of the withheld numbers that hardly vary within their bounds."""
        return np.asarray(self._withheld & (self.variance + _SURE * self.unsure < _STILL))

    @cached_property
    def little(self) -> Bools:
        """Mask of the withheld numbers that vary little beside the others."""
        usual = float(np.median(self.variance[self._numbers])) if self._numbers.any() else 0.0
        return np.asarray(self._withheld & (self.variance + _SURE * self.unsure < _LITTLE * usual))

    @property
    def _numbers(self) -> Bools:
        return np.asarray(~self.levels & np.array([name != CONSTANT for name in self.e.names]))

    @property
    def _withheld(self) -> Bools:
        return np.asarray(self._numbers & (self.noise > self.most)[self.first :])

    @cached_property
    def inflated(self) -> Bools:
        """Mask of the regressors whose coefficients other regressors make uncertain."""
        C = self.e.rotation
        return np.asarray(np.einsum("ij,jk,ik->i", C, self.G, C) * self.variance * self.rows >= _INFLATED)

    def missing_level(self, column: str) -> str | None:
        """The level of a category that others are compared with, if few rows have it."""
        own = [i for i, name in enumerate(self.columns) if name == column]
        left_out = [self.domain.entries[i].name for i in self.domain.positions[column]]
        left_out = [name for name in left_out if name not in self.e.names]
        share = 1 - float(np.diag(self.e.S)[own].sum()) / self.rows
        doubt = float(np.sqrt(np.sum(self.doubt[own] ** 2)))
        return left_out[0] if len(left_out) == 1 and share + _SURE * doubt < _RARE else None


@dataclass(frozen=True, eq=False)
class _ClassCase(_Case):
    """The coefficients of one class of several; `e` has the sums of the information over the classes.

    `whole`, `each`: the equations of all classes, and their number of coefficients of a regressor.
    """

    whole: NormalEquations
    each: int

    def _noise(self, centres: Floats) -> Floats:
        L = np.eye(self.whole.d) if self.whole.L is None else self.whole.L
        units = fitted(L, np.eye(len(L))).T.reshape(-1, len(centres), self.each)
        squares = (units - units[:, :1] * centres[:, None]) ** 2
        W = self.whole.noise_variances
        both = 2 * np.einsum("iak,ij,jak->ak", squares, W, squares) - np.einsum("iak,i->ak", squares**2, np.diag(W))
        return np.asarray(np.sqrt(both).sum(axis=1) / self.rows, dtype=np.float64)

    @cached_property
    def inflated(self) -> Bools:
        """Mask of the regressors whose coefficients other regressors make uncertain."""
        C = self.whole.rotation
        own = np.einsum("ij,jk,ik->i", C, self.G, C).reshape(-1, self.each).mean(axis=1)
        return np.asarray(own * self.variance * self.rows / self.each >= _INFLATED)


def culprits(
    domain: Domain,
    promise: Guarantee,
    e: NormalEquations,
    G: Floats,
    K: Floats,
    T: Floats,
    noise: Floats,
    most: float,
) -> tuple[str, ...]:
    """Return the reason for each coefficient that is withheld, "" for the others.

    `promise`: that of the release, whose larger budget may be named.
    `G`, `K`: the inverse of X'X of the `rotated` equations, debiased, and what noise adds to that of X'X, E[N1 G N1].
    `T`: the map from their coefficients to those of the user.
    `noise`, `most`: the noise behind each of these, and the largest with which intervals are given.
    """
    return _filled(_reasons(_Case(domain, e, G, K, T, noise, most)), promise, e.d, noise, most)


def class_culprits(
    domain: Domain,
    promise: Guarantee,
    e: NormalEquations,
    each: int,
    G: Floats,
    K: Floats,
    T: Floats,
    noise: Floats,
    most: float,
) -> tuple[str, ...]:
    """Return the same for a model of several classes, with `each` coordinates of a regressor behind each other in `e`.

    In the rows of `T` and in `noise` all coefficients of a class are behind those of another.
    """
    told: list[str] = []
    size = len(T) // (each + 1)
    names = e.names[::each]
    S = np.einsum("ikjk->ij", e.S.reshape(len(names), each, len(names), each))
    for own in (slice(at, at + size) for at in range(0, len(T), size)):
        told += _reasons(_ClassCase(domain, replace(e, names=names, S=S), G, K, T[own], noise[own], most, e, each))
    return _filled(told, promise, e.d, noise, most)


def _reasons(case: _Case) -> list[str]:
    """Return what columns have to do with each withheld coefficient; "" for the others, and where nothing is known."""
    texts, withheld = [""] * len(case.noise), case.noise > case.most
    if withheld.any() and case.hidden <= _MOST_DIRECTIONS:
        for i in np.flatnonzero(withheld):
            texts[i] = _told(case, [int(j) - case.first for j in np.flatnonzero(case.together[i]) if j > 0])
    return texts


def _filled(texts: list[str], promise: Guarantee, count: int, noise: Floats, most: float) -> tuple[str, ...]:
    """Return the reasons, with "too few rows" where a coefficient is withheld and has none."""
    scarce = [int(i) for i in np.flatnonzero(noise > most) if not texts[i]]
    why = too_few(promise, count, float(noise[scarce].max()), most) if scarce else ""
    return tuple(why if i in scarce else text for i, text in enumerate(texts))


def too_few(promise: Guarantee, count: int, noise: float, most: float) -> str:
    """Say how many times as many rows are needed: the noise of X'X relative to its variation falls with n mu."""
    ratio = noise**2 / max(1 - noise**2, 1e-12) * (1 - most**2) / most**2
    them = "a coefficient" if count == 1 else f"{count} coefficients"
    return (
        f"There are too few rows for {them} at this epsilon: noise hides how the columns vary. "
        f"{what_would_do(promise, max(math.sqrt(ratio), 1.1))}; fewer columns help, too."
    )


def what_would_do(promise: Guarantee, factor: float) -> str:
    """Say which rows or which epsilon make n mu so many times as large.

    Examples
    --------
    >>> what_would_do(Guarantee(1.0, 1e-6, "add-remove", "verified"), 2.0)
    'About 2 times as many rows would do, or about epsilon = 2.1'
    """
    times = f"about {factor:.2g}" if factor <= _MOST_ROWS else "many"
    larger = "a larger epsilon"
    if factor <= _MOST_ROWS and promise.delta > 0:
        mu = gdp.mu(epsilon=promise.epsilon, delta=promise.delta) * factor
        larger = f"about epsilon = {gdp.epsilon(mu=mu, delta=promise.delta):.2g}"
    return f"{times.capitalize()} times as many rows would do, or {larger}"


def _told(case: _Case, at: Sequence[int]) -> str:
    """Describe what collinear regressors have in common; "" where it is nothing but noise."""
    if names := _names(case.columns, at, case.still):
        return _hardly_vary(names)
    if names := _names(case.e.names, at, case.rare):
        return _few_rows_have(names)
    columns = _names(case.columns, at)
    if len(columns) == 1 and (level := case.missing_level(columns[0])) is not None:
        return f"{_few_rows_have([level])} The other levels of {columns[0]} are compared with it."
    clear = [i for i in at if case.inflated[i]]
    if len(found := _names(case.columns, clear)) > 1:
        return (
            f"{_joined(found)} nearly say the same: noise hides which of them matters. Leave one of them out, or give "
            "more rows or a larger epsilon."
        )
    if names := _names(case.columns, at, case.little):
        return _hardly_vary(names)
    if found:
        return (
            f"{found[0]} is nearly determined by the other columns. Leave one of them out, or give more rows or a "
            "larger epsilon."
        )
    return ""


def _hardly_vary(names: Sequence[str]) -> str:
    verb, they, it = ("varies", "it is", "it") if len(names) == 1 else ("vary", "they are", "them")
    return (
        f"{_joined(names)} {verb} too little within the declared bounds to be told from noise: {they} nearly constant, "
        f"or the bounds are too wide. Tighter bounds, more rows or a larger epsilon help, or a model without {it}."
    )


def _few_rows_have(names: Sequence[str]) -> str:
    each = "Only few rows have" if len(names) == 1 else "Only few rows each have"
    return f"{each} {_joined(names)}. More rows or a larger epsilon help, or a coarser category."


def _names(names: Sequence[str], at: Sequence[int], kept: Bools | None = None) -> list[str]:
    """Return the names at some places, of those that are kept, each once."""
    return list(dict.fromkeys(names[i] for i in at if kept is None or kept[i]))


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
