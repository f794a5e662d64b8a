"""Where the outcome lies, from noisy counts: bounds that are worth their noise, and the way back from clipping.

The noise on X'y grows with the width of the outcome's bounds, the error of clipping with the share of outcomes
outside them. Counts over equal parts of the declared range, released with a small share of the budget, tell how far
the bounds can be narrowed. Mathematics in ``docs/mathematics.md``, section 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.events import BINS

Floats = NDArray[np.float64]

MOST_CLIPPED = 0.3
CLIPPED_PER_NOISE = 3.0
LARGEST_FACTOR = 2.0

EDGES = np.linspace(-1, 1, BINS + 1)
MIDDLES = (EDGES[1:] + EDGES[:-1]) / 2
WIDTH = 2 / BINS


def shares(counts: Floats, n: float) -> Floats:
    """Shares of the parts: the point of the simplex nearest to counts/n, which sets what is noise to zero.

    Examples
    --------
    >>> shares(np.array([80.0, 25.0, -5.0]), 100.0)
    array([0.775, 0.225, 0.   ])
    """
    falling = np.sort(counts / n)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(counts) + 1)
    threshold = excess[np.flatnonzero(falling > excess)[-1]]
    projected: Floats = np.maximum(counts / n - threshold, 0.0)
    return projected


def clipped_share(d: int, n: float, mu: float) -> float:
    """The share of outcomes that may be clipped: three times the relative noise d/(n mu), at most 0.3.

    Examples
    --------
    >>> clipped_share(10, 1e6, 0.3) < 1e-3, clipped_share(10, 1e2, 0.3)
    (True, 0.3)
    """
    return min(MOST_CLIPPED, CLIPPED_PER_NOISE * d / (max(n, 1.0) * mu))


def narrow(p: Floats, clipped: float, *, symmetric: bool) -> tuple[float, float]:
    """The shortest union of parts that leaves out at most a share `clipped` of the outcomes, as (low, high).

    Examples
    --------
    >>> p = np.zeros(16)
    >>> p[3:6] = [0.3, 0.6, 0.1]
    >>> narrow(p, 0.1, symmetric=False)
    (-0.625, -0.375)
    """
    total = np.concatenate([[0.0], np.cumsum(p)])
    if symmetric:
        spans = [(i, BINS - i) for i in range(BINS // 2)]
    else:
        spans = [(i, j) for i in range(BINS) for j in range(i + 1, BINS + 1)]
    enough = [(j - i, total[i] - total[j], i, j) for i, j in spans if total[j] - total[i] >= 1 - clipped - 1e-12]
    _, _, i, j = min(enough)
    return float(EDGES[i]), float(EDGES[j])


@dataclass(frozen=True)
class Unclip:
    """How the outcome y follows from the clipped one g: y is about mean_y + factor (g - mean_g)."""

    factor: float
    mean_y: float
    mean_g: float


def unclip(p: Floats, low: float, high: float, *, centred: bool) -> Unclip:
    """Least-squares line of y on g = clip(y, low, high) over the parts' shares, outcomes spread evenly in each part.

    Examples
    --------
    >>> p = np.full(16, 1 / 16)
    >>> unclip(p, -1.0, 1.0, centred=True).factor
    1.0
    >>> round(unclip(p, -0.5, 0.5, centred=True).factor, 3)
    1.375
    """
    g = np.clip(MIDDLES, low, high)
    within = np.where((low <= MIDDLES) & (high >= MIDDLES), WIDTH**2 / 12, 0.0)
    mean_y, mean_g = (float(p @ MIDDLES), float(p @ g)) if centred else (0.0, 0.0)
    yg = p @ ((MIDDLES - mean_y) * (g - mean_g) + within)
    gg = p @ ((g - mean_g) ** 2 + within)
    factor = min(max(float(yg / gg), 1.0), LARGEST_FACTOR) if gg > 0 else 1.0
    return Unclip(factor, mean_y, mean_g)
