"""Histogram bins and cells of the range of an outcome, for counts of outcomes."""

from __future__ import annotations

BINS = 16
"""Number of equal bins that the range of an outcome is divided into for `counts`."""

CELLS = 1 << 12
"""Maximum number of equal cells of that range: ends of spans, and of their parts, are ends of cells."""

Span = tuple[float, float]
"""A part of the mapped range [-1, 1] of an outcome."""


def is_span(low: float, high: float) -> bool:
    """Whether counts of equal parts of [low, high) are sums of counts of cells."""
    if not -1 <= low < high <= 1:
        return False
    start, stop = low * (CELLS / 2), high * (CELLS / 2)
    return start.is_integer() and stop.is_integer() and (stop - start) % BINS == 0
