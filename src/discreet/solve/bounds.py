"""Bounds of a column from noisy counts: first by signs and powers of two, then in equal parts of what these gave.

A window is a set of cells of adjacent powers: one sign alone, or both signs of one, two or three powers. It is believed
where its noisy count is above `threshold` standard deviations of its noise. By the union bound the probability that any
window of a column without a row in it is believed is below `FAILURE`. Nothing beyond the windows that are believed is
looked at; within them the narrowest run of cells that holds nearly all rows is taken.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from discreet.core.arrays import Floats, Ints
from discreet.domain.kinds.base import Bounds
from discreet.domain.kinds.searched import LEAST, POWERS

FAILURE = 1e-6
"""The probability, for each column, that a window without a row is believed."""

_WIDEST = 3
"""Windows of both signs have at most so many powers."""

_FREE, _SURE = 1.0, 0.025
"""A run of cells holds nearly all rows if what seems to lie outside of it is below so many sds of its noise, and this
sd is below so large a share of the rows."""

_NEGLIGIBLE = 2.0**-20
"""An end is zero where it is nearer to it than this share of the other."""


class Count(NamedTuple):
    """The number of rows, and the sd of its noise."""

    rows: float
    sd: float


class Windows(NamedTuple):
    """Windows of one column: the least and the largest of their powers, their noisy counts, and their cells."""

    least: Ints
    top: Ints
    counts: Floats
    cells: Floats


def windows(counts: Floats, *, one_sided: bool) -> Windows:
    """Return the windows of a column, given its counts from the largest negative power to the largest positive one."""
    negative, positive = counts[POWERS - 1 :: -1], counts[POWERS + 1 :]
    both, signs, places = negative + positive, 1 if one_sided else 2, np.arange(POWERS, dtype=np.int64)
    found = [] if one_sided else [Windows(places, places, side, np.ones(POWERS)) for side in (negative, positive)]
    for width in range(1, _WIDEST + 1):
        least, sums = places[: POWERS - width + 1], np.convolve(both, np.ones(width), "valid")
        found.append(Windows(least, least + width - 1, sums, np.full(len(least), float(width * signs))))
    return Windows(*map(np.concatenate, zip(*found, strict=True)))


def threshold(*, one_sided: bool) -> float:
    """Return the number of sds above which a window is believed.

    Examples
    --------
    >>> threshold(one_sided=False), threshold(one_sided=True)
    (5.885, 5.8)
    """
    number = len(windows(np.zeros(2 * POWERS + 1), one_sided=one_sided).top)
    return math.ceil(float(norm.isf(FAILURE / number)) * 1000) / 1000


def wide_bounds(counts: Floats, sd: float, rows: Count, known: Bounds) -> Bounds | None:
    """Return bounds from counts by sign and power of two, one power beyond what was seen; None if nothing was.

    Parameters
    ----------
    counts : array
        The noisy counts, of distances from the origin: a known bound, or 0. So are the bounds that are returned.
    sd : float
        The standard deviation of their noise.
    rows : Count
        The number of rows, declared or noisy.
    known : (low, high)
        The declared bounds, infinite where they are not known.
    """
    from_low, from_high = map(math.isfinite, known)
    counts = counts.copy()
    counts[POWERS + 1 if from_high else len(counts) :] = 0.0  # no row can lie beyond a known bound
    counts[: POWERS if from_low else 0] = 0.0
    found = windows(counts, one_sided=from_low or from_high)
    believed = found.counts > threshold(one_sided=from_low or from_high) * sd * np.sqrt(found.cells)
    if not believed.any():
        return None
    farthest = believed & (found.least == found.least[believed].max())
    top = int(found.top[farthest].min())
    start, stop = POWERS if from_low else POWERS - top - 1, POWERS + 1 if from_high else POWERS + top + 2
    powers: Floats = np.ldexp(1.0, np.arange(top + 2) + LEAST)
    edges: Floats = np.concatenate([-powers[::-1], powers])[start - POWERS + top + 1 : stop - POWERS + top + 2]
    run = _narrowest(counts[start:stop], sd, rows, edges) or (0, stop - start)
    low = 0.0 if from_low else _beyond(edges[run[0]])
    high = 0.0 if from_high else -_beyond(-edges[run[1]])
    size = _NEGLIGIBLE * max(-low, high)
    return (0.0 if abs(low) < size else low), (0.0 if abs(high) < size else high)


def _beyond(low: float) -> float:
    """Return a lower end one power of two farther out; cells next to zero go as far as zero."""
    if low > 0:
        return 0.0 if low == 2.0**LEAST else low / 2
    return 2 * low if low < -(2.0**LEAST) else 0.0


def narrowed(counts: Floats, sd: float, rows: Count, wide: Bounds, known: Bounds) -> Bounds:
    """Return the narrowest run of equal parts with nearly all rows, and a part more at either end; known bounds stay.

    Examples
    --------
    >>> counts = np.zeros(64)
    >>> counts[30:34] = 1000.0
    >>> narrowed(counts, 1.0, Count(4000.0, 0.0), (-64.0, 64.0), (-math.inf, math.inf))
    (-6.0, 6.0)
    """
    edges = np.linspace(*wide, len(counts) + 1)
    first, last = _narrowest(counts, sd, rows, edges) or (0, len(counts))
    low = wide[0] if math.isfinite(known[0]) else edges[max(first - 1, 0)]
    high = wide[1] if math.isfinite(known[1]) else edges[min(last + 1, len(counts))]
    return float(low), float(high)


def _narrowest(counts: Floats, sd: float, rows: Count, edges: Floats) -> tuple[int, int] | None:
    """Return the ends of the narrowest run of cells that holds nearly all rows; None if no run is sure to."""
    sums = np.concatenate([[0.0], np.cumsum(counts)])
    first, last = np.triu_indices(len(sums), k=1)
    outside = rows.rows - (sums[last] - sums[first])
    spread = np.sqrt(sd**2 * (last - first) + rows.sd**2)
    fits = (outside <= _FREE * spread) & (spread <= _SURE * rows.rows)
    if not fits.any():
        return None
    best = int(np.argmin(np.where(fits, edges[last] - edges[first], math.inf)))
    return int(first[best]), int(last[best])
