"""The division of the range of an outcome into parts, in which outcomes are counted."""

from __future__ import annotations

BINS = 16
"""Number of equal parts of the range of an outcome for `counts`."""

CELLS = 1 << 12
"""Maximum number of equal cells of that range: ends of spans, and of their parts, are ends of cells."""

Span = tuple[float, float]
"""A part of the mapped range [-1, 1] of an outcome."""


def is_span(low: float, high: float) -> bool:
    """Whether counts of equal parts of [low, high) are sums of counts of cells.

    Examples
    --------
    >>> is_span(-0.25, 0.5), is_span(-0.3, 0.5), is_span(0.0, 2 / 512)
    (True, False, False)
    """
    if not -1 <= low < high <= 1:
        return False
    start, stop = low * (CELLS / 2), high * (CELLS / 2)
    return start.is_integer() and stop.is_integer() and (stop - start) % BINS == 0
