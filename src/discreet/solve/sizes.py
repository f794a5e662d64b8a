"""The law of a count outcome, from noisy counts over parts of its range: ``docs/mathematics``, section 13.3.

Outcomes are taken to follow a negative binomial law of mean m and shape k, a share p of which is 0 besides. With c the
noisy counts over a span and n the number of rows,

    c_j | m, k, p ~ N(n P_j, sd^2 + n P_j + (misfit n P_j)^2)

on a grid of (m, k, p), log-uniform in m; shapes far from a Poisson law and many zeros are less likely beforehand. The
law of an outcome is their average.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import betainc

from discreet.core.arrays import Floats
from discreet.domain.cells import BINS, CELLS, Span
from discreet.solve.location import BinCounts

_MEANS = np.geomspace(2.0**-11, 0.7, 49)
"""The grid of m, in units of the largest count."""

_SHAPES = {1 / 4: 0.1, 1 / 2: 0.3, 1.0: 1.0, 2.0: 1.0, 5.0: 1.0, 20.0: 1.0, 1000.0: 1.0}
_ZEROS = {0.0: 1.0, 0.15: 0.5, 0.3: 0.5, 0.45: 0.3, 0.6: 0.2, 0.75: 0.1, 0.9: 0.05}
"""Grids of k and of p, with prior weights."""

_MISFIT = 0.1

_FAR, _ROOM = 0.03, 1.5
"""The second span ends at this multiple of the value that 3 % of the outcomes exceed."""


@dataclass(frozen=True, eq=False)
class CountLaw:
    """The law of a count up to `most`: weights of negative binomial laws with zeros."""

    most: float
    weights: Floats

    @property
    def mean(self) -> float:
        """The expected count: the geometric mean over the laws."""
        return math.exp(float(self.weights @ np.log(_grid(self.most)[0])))

    def quantile(self, p: float) -> float:
        """Return the least whole number exceeded with a probability of at most 1 - p, up to the largest count."""
        low, high = -1.0, math.ceil(self.most)
        while high - low > 1:
            middle = math.floor((low + high) / 2)
            inside = float(self.weights @ _below(self.most, (middle + 1.0,))[:, 0]) >= p
            low, high = (low, middle) if inside else (middle, high)
        return min(float(high), self.most)


def count_law(counts: Sequence[BinCounts], n: float, most: float) -> CountLaw:
    """Estimate the law of an outcome from its noisy counts over spans of the range from 0 to `most`."""
    log = np.log(_prior())
    for c in counts:
        edges = tuple(((c.edges + 1) * most / 2).tolist())
        expected = n * np.diff(_below(most, edges), axis=1)
        variance = c.sd**2 + expected + (_MISFIT * expected) ** 2
        log -= ((c.values - expected) ** 2 / variance + np.log(variance)).sum(axis=1) / 2
    weights = np.exp(log - log.max())
    return CountLaw(most, weights / weights.sum())


def count_span(law: CountLaw) -> Span:
    """Return the span, made of cells, in which the outcome should be counted again: from 0 to far out."""
    least = BINS * 2 / CELLS
    top = _ROOM * (law.quantile(1 - _FAR) + 1) / law.most * 2
    return -1.0, min(1.0, math.ceil(top / least) * least - 1)


@lru_cache(maxsize=8)
def _grid(most: float) -> tuple[Floats, Floats, Floats]:
    """Return the means, shapes and shares of zeros of all laws."""
    M, K, P = np.meshgrid(_MEANS * most, list(_SHAPES), list(_ZEROS), indexing="ij")
    return M.ravel(), K.ravel(), P.ravel()


def _prior() -> Floats:
    each: Floats = np.outer(list(_SHAPES.values()), list(_ZEROS.values())).ravel()
    return np.tile(each, len(_MEANS))


@lru_cache(maxsize=64)
def _below(most: float, edges: tuple[float, ...]) -> Floats:
    """Return for each law the probability of less than each edge; 1 for edges from `most` on."""
    M, K, P = (part[:, None] for part in _grid(most))
    x = np.ceil(np.asarray(edges))[None] - 1
    m = M / (1 - P)
    F = np.where(x < 0, 0.0, P + (1 - P) * betainc(K, np.maximum(x, 0.0) + 1, K / (K + m)))
    below: Floats = np.where(np.asarray(edges)[None] >= most, 1.0, F)
    return below
