"""Bounds of the outcome narrowed by noisy counts, and the correction for clipping.

The noise on X'y grows with the width of the outcome's bounds, the error of clipping with the share of outcomes
outside them. Counts over equal parts of the declared range, released with a small share of the budget, tell how far
the bounds can be narrowed. Mathematics in ``docs/mathematics``, section 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain.cells import BINS

MOST_CLIPPED = 0.3
_CLIPPED_PER_NOISE = 3.0
_LEAST_NOISE = 7
LARGEST_FACTOR = 2.0
_TRUSTED_NOISE = 0.2

EDGES = np.linspace(-1, 1, BINS + 1)
_MIDDLES = (EDGES[1:] + EDGES[:-1]) / 2
_WIDTH = 2 / BINS


def shares(counts: Floats, n: float) -> Floats:
    """Return the shares of the parts: the point of the simplex nearest to counts/n, which sets noise to zero."""
    falling = np.sort(counts / n)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(counts) + 1)
    threshold = excess[np.flatnonzero(falling > excess)[-1]]
    projected: Floats = np.maximum(counts / n - threshold, 0.0)
    return projected


def trusted(sd: float, n: float) -> bool:
    """Whether counts with this noise can locate the centre of the outcomes: noise in all of them at most n/5.

    Where they cannot, the bounds are narrowed around their own centre only: a centre found in noise would be worse
    than the one declared, even for a model that predicts nothing else.
    """
    return bool(sd * BINS**0.5 < _TRUSTED_NOISE * n)


def clipped_share(d: int, n: float, mu: float) -> float:
    """Return the share of outcomes that may be clipped: three times the relative noise d/(n mu), at most 0.3.

    Less than 21/(n mu) would drown in the noise of the counts themselves, so a small d counts as 7.
    """
    return min(MOST_CLIPPED, _CLIPPED_PER_NOISE * max(d, _LEAST_NOISE) / (max(n, 1.0) * mu))


def narrow(p: Floats, clipped: float, *, symmetric: bool) -> tuple[float, float]:
    """Return the shortest union of parts that leaves out at most a share `clipped` of the outcomes, as (low, high)."""
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
    """The line that predicts the outcome y from the clipped one g: y is about mean_y + factor (g - mean_g)."""

    factor: float
    mean_y: float
    mean_g: float


def unclip(counts: Floats, sd: float, n: float, low: float, high: float, *, centred: bool) -> Unclip:
    """Return the least-squares line of y on g = clip(y, low, high), outcomes spread evenly within each part.

    With t = y - g, which is 0 inside, the slope is 1 + cov(t, g)/var(g), and mean_y = mean_g + mean(t). Both moments
    of t are sums of a few noisy counts far out, where noise weighs most, so each is shrunk by as much as it is noise.

    `counts`: noisy counts of the parts.
    `sd`: standard deviation of their noise.
    `low`, `high`: the bounds used, at edges of parts.
    `centred`: whether the model has an intercept. Without one, or with counts that are not `trusted`, means are taken
        as 0.
    """
    p = shares(counts, n)
    centred = centred and trusted(sd, n)
    g = np.clip(_MIDDLES, low, high)
    t = _MIDDLES - g
    mean_g = float(p @ g) if centred else 0.0
    within = np.where(t == 0, _WIDTH**2 / 12, 0.0)
    gg = float(p @ ((g - mean_g) ** 2 + within))
    tg = _less_noise(t * (g - mean_g), counts, sd) / n
    mean_t = _less_noise(t, counts, sd) / n if centred else 0.0
    factor = min(max(1 + tg / gg, 1.0), LARGEST_FACTOR) if gg > 0 else 1.0
    return Unclip(factor, mean_g + mean_t, mean_g)


def _less_noise(weights: Floats, counts: Floats, sd: float) -> float:
    """Return the weighted sum of noisy counts, shrunk to zero where it could be noise (positive-part James-Stein)."""
    total, noise = float(weights @ counts), sd * float(np.linalg.norm(weights))
    return total * max(0.0, 1 - (noise / total) ** 2) if total else 0.0
