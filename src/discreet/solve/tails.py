"""The effect of clipped residuals and shortened rows on a stage, from released counts: ``docs/mathematics``, 6.7.

A stage cuts residuals at b and shortens rows at r, so its equations are those of a fit in which both count less. The
fit to all of them would differ by G, the inverse of X'X, times the sum of the differences. Released counts tell how
many residuals were cut and how many rows were shortened; the mean effect of each in one direction is assumed to be
`_CUT` and `_BENT`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.core.arrays import Floats
from discreet.privacy.values import ReleasedStage
from discreet.statistics.row_norms import RowNormCounts

_CUT, _BENT = 0.4, 0.2
"""The mean effect of a clipped residual in one direction, in units of b, if errors are skewed; and that of a far row,
in units of the spread and of its norm, if a line is fitted to a curve."""

_UNSEEN = 0.5
"""Counts may hide this many sds of their noise."""


def tail(stages: Sequence[ReleasedStage], outcome: str, n: float) -> float:
    """Return t, such that clipping and shortening in the last stage move a'theta by at most about sqrt(t a'G a)."""
    last = stages[-1]
    own, j = last.event.coordinates, last.event.coordinates.outcomes.index(outcome)
    b, spread = last.event.widths[j], math.sqrt(max(float(last.squares[j]), 0.0) / n)
    residuals = _number(last.counts(outcome)[last.event.chosen[j] + 1 :], last.sd("counts", outcome))
    rows, reach = 0.0, own.radius / _typical(last)
    if len(stages) > 1 and (edges := stages[-2].event.coordinates.row_norms):
        within = int(np.sum(np.array(edges) / _typical(stages[-2]) < 1.01 * reach))
        rows = _number(stages[-2].row_norms[within:], stages[-2].sd(RowNormCounts.name))
    return b**2 * ((_CUT * residuals) ** 2 + (_BENT * spread * reach * rows) ** 2) / n


def _typical(stage: ReleasedStage) -> float:
    """Return the norm of a row with a coordinate of size 1 along each axis."""
    return math.sqrt(len(stage.event.coordinates.axes))


def _number(counts: Floats, sd: float) -> float:
    """Return the number in some parts, or the number that noise may hide, if that is more."""
    return max(float(counts.sum()), _UNSEEN * sd * math.sqrt(len(counts)))
