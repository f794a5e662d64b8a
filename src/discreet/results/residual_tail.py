"""Residuals beyond the half width at which the last stage cuts them, from their noisy counts: docs/mathematics, 6.8.

Beyond b the number of residuals per unit of s = log|r| is taken to fall smoothly,

    density = A exp(beta s - gamma s^2/2),    gamma >= 0,

as it does for log-normal (gamma = 1/variance), Pareto (gamma = 0) and, nearly, normal residuals; each part between two
half widths may also hold rows that follow no law, as those of a group far out, if its count shows them. The law is
averaged over a grid with the likelihood of the counts, whose noise is known. Few rows far out, which noise hides and
the law does not foresee, are not part of it: no release can tell of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from discreet.core.arrays import Bools, Floats
from discreet.solve.outcome import shares

SHARES = (0.0005, 0.005, 0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975, 0.995, 0.9995)
"""Probabilities whose quantiles are kept."""

_SLOPES = np.linspace(-7.0, 2.0, 19)
_BENDS = np.array([0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0])
"""The grids of beta and gamma at s = log b."""

_SIZES, _REACH = 5, 2.0
"""The grid of A: its points, and how many standard errors it reaches to each side."""

_BELOW, _BULK = 4, 0.75
"""The law is fitted from this many half widths below b on, and beyond this share of all residuals."""

_ODD = 0.02
"""Prior probability that a part holds rows that follow no law."""

_PLACE = 0.2
"""Relative error of the mean size of rows that follow no law: they may lie anywhere in their part."""

_MISFIT = 0.1
"""Relative error of the law."""

_CAUTION = 0.3
"""Power of the likelihood: laws of other shapes than these are possible."""

_PARTS = 6
"""The open part beyond the last half width is divided into so many."""

_KEPT = 0.01
"""Laws less likely than this, relative to the best one, are dropped."""

_UNLIKELY = 0.01
"""Parts beyond which so few residuals are expected are taken to be empty."""

_POINTS = 64


class ResidualTail(NamedTuple):
    """Quantiles, at `SHARES`, of what cutting residuals at b takes away from them, a mean over all rows each."""

    squares: Floats
    """Of r^2 - b^2, for the residuals beyond b."""

    sizes: Floats
    """Of |r| - b."""


def residual_tail(counts: Floats, sd: float, edges: Floats, chosen: int, most: float, rows: float) -> ResidualTail:
    """Estimate how much of the residuals lies beyond a half width.

    Parameters
    ----------
    counts, sd : array, float
        The noisy counts of residuals between the half widths, beginning at 0, and the sd of their noise.
    edges : array
        The half widths.
    chosen : int
        The index of b.
    most : float
        The largest possible residual.
    rows : float
        The number of rows.

    Examples
    --------
    >>> from scipy.special import ndtr
    >>> edges = 2.0 ** np.arange(-4, 3.5, 0.5)
    >>> counts = 1e4 * np.diff([0, *(2 * ndtr(edges) - 1), 1])  # of normal residuals, cut at sqrt(2) sds
    >>> found = residual_tail(counts, 1.0, edges, 9, 6.0, 1e4)
    >>> np.interp([0.05, 0.95], SHARES, found.squares).round(2).tolist()  # the truth is 0.258
    [0.24, 0.28]
    """
    b, first = float(edges[chosen]), _first(counts, chosen)
    cells = _TailCells.of(edges[first - 1 :] if first else np.concatenate([[edges[0] / 2], edges]), most)
    c, bends = counts[first:], np.log(cells.middles / b)
    beta, gamma = (part.ravel()[:, None] for part in np.meshgrid(_SLOPES, _BENDS))
    slope = beta - gamma * bends
    density = cells.widths * np.exp(beta * bends - gamma / 2 * bends**2) * cells.tilted(slope)
    law, log = _sized(density @ cells.bins, c, sd)
    found = _numbers(law, c, sd, rows)
    log += _CAUTION * found.log
    kept = log > log.max() + math.log(_KEPT)
    p = np.exp(log[kept] - log.max())
    quantiles, counted = [], np.maximum(density @ cells.bins, 1e-300)
    for power in (2, 1):
        flat = np.where(cells.low < b * (1 - 1e-9), 0.0, cells.middles**power * cells.tilted(power) - b**power)
        steep = cells.middles**power * cells.tilted(slope + power) / cells.tilted(slope) - b**power
        own = (density * np.where(flat > 0, steep, 0.0)) @ cells.bins / counted
        own = np.where(found.odd, flat @ cells.bins / cells.bins.sum(axis=0), np.repeat(own, _SIZES, axis=0))[kept]
        mean, squares = found.mean[kept] * own, found.variance[kept] * own**2
        squares += np.where(found.odd[kept], (_PLACE * mean) ** 2, 0.0)
        quantiles.append(_quantiles(p / p.sum(), mean.sum(axis=1) / rows, squares.sum(axis=1) / rows**2))
    return ResidualTail(*quantiles)


class _TailCells(NamedTuple):
    """The parts of |r| between half widths; the open one is divided into several."""

    low: Floats
    high: Floats
    bins: Floats
    """1 where a cell, a row, lies in a counted part, a column."""

    @classmethod
    def of(cls, edges: Floats, most: float) -> _TailCells:
        """Return the cells from the first edge on."""
        last = float(edges[-1])
        ends = np.concatenate([edges, np.geomspace(last, max(most, 1.05 * last), _PARTS + 1)[1:]])
        bins = np.zeros((len(ends) - 1, len(edges)))
        bins[np.arange(len(bins)), np.minimum(np.arange(len(bins)), len(edges) - 1)] = 1.0
        return cls(ends[:-1], ends[1:], bins)

    @property
    def widths(self) -> Floats:
        """Widths in log|r|."""
        return np.log(self.high / self.low)

    @property
    def middles(self) -> Floats:
        """Geometric means of both ends."""
        return np.sqrt(self.low * self.high)

    def tilted(self, slope: Floats | float) -> Floats:
        """Return the mean of exp(slope u) over a cell, u being log|r| less its middle."""
        x = slope * self.widths / 2
        with np.errstate(invalid="ignore"):
            return np.where(np.abs(x) < 1e-6, 1.0, np.sinh(x) / x)


def _first(counts: Floats, chosen: int) -> int:
    """Return the first part that the law is fitted to: at most the one that ends at b."""
    p = shares(counts, max(float(counts.sum()), 1.0))
    bulk = int(np.searchsorted(np.cumsum(p), _BULK))
    return min(max(bulk, chosen - _BELOW + 1, 0), chosen)


def _sized(shape: Floats, c: Floats, sd: float) -> tuple[Floats, Floats]:
    """Return expected counts for each shape and size of a law, and the logarithm of the width of the sizes' grid."""
    seen = np.maximum(c, 0.0)
    w = 1 / (sd**2 + seen + (_MISFIT * seen) ** 2)
    told = np.maximum(shape**2 @ w, 1e-300)
    A, se = shape @ (w * c) / told, 1 / np.sqrt(told)
    low, high = np.maximum(A - _REACH * se, 0.02 * se), np.maximum(A, 0.0) + _REACH * se
    sizes = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, _SIZES)
    return (sizes[:, :, None] * shape[:, None, :]).reshape(-1, len(c)), np.repeat(np.log(high - low), _SIZES)


class _ResidualNumbers(NamedTuple):
    """The log likelihood of each law; mean and variance of the number in each part; and whether it follows no law."""

    log: Floats
    mean: Floats
    variance: Floats
    odd: Bools


def _numbers(law: Floats, c: Floats, sd: float, rows: float) -> _ResidualNumbers:
    prior = law + (_MISFIT * law) ** 2
    V = prior + sd**2
    smooth = math.log(1 - _ODD) - (c - law) ** 2 / (2 * V) - np.log(2 * math.pi * V) / 2
    free = math.log(_ODD / rows) + special.log_ndtr(c / sd)
    log = np.logaddexp(smooth, free)
    odd, gain = free > smooth, prior / V
    there = np.maximum(law + gain * (c - law), 0.0)
    alone = c + sd * np.exp(-((c / sd) ** 2) / 2 - special.log_ndtr(c / sd)) / math.sqrt(2 * math.pi)
    mean, variance = np.where(odd, alone, there), np.where(odd, 1.0, gain) * sd**2
    likely = np.cumsum(mean[:, ::-1], axis=1)[:, ::-1] > _UNLIKELY
    return _ResidualNumbers(log.sum(axis=1), mean * likely, variance * likely, odd)


def _quantiles(p: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return quantiles of a mixture of gamma laws."""
    mean = np.maximum(mean, 1e-300)
    variance = np.maximum(variance, 1e-12 * mean**2 + 1e-300)
    order = np.argsort(mean)
    least = float(mean[order][np.searchsorted(np.cumsum(p[order]), SHARES[0])])
    t = np.geomspace(0.01 * least, float((mean + 9 * np.sqrt(variance)).max()), _POINTS)
    F = p @ special.gammainc((mean**2 / variance)[:, None], t * (mean / variance)[:, None])
    found: Floats = np.interp(SHARES, F, t, left=0.0)
    return found
