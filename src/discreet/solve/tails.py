"""What far rows and far residuals would add to a stage, as far as released counts tell: ``docs/mathematics``, 6.7.

A stage cuts residuals at b and shortens rows at r, so its equations are those of a fit in which both count less. The
fit to all of them would differ by G, the inverse of X'X, times the sum of what was taken away. Released counts tell how
many residuals were cut and how many rows were shortened; how far each of them pushes in one direction is taken to be
`_CUT` and `_BENT`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.core.arrays import Floats
from discreet.privacy.values import ReleasedStage

_CUT, _BENT = 0.4, 0.2
"""The mean push of a clipped residual in one direction, in units of b, where errors are skewed; and that of a far row,
in units of the spread and of its length, where a line is fitted to a curve."""

_UNSEEN = 0.5
"""Counts may hide this many sds of their noise."""


def tail(stages: Sequence[ReleasedStage], outcome: str, n: float) -> float:
    """t, such that what the last stage took away moves a'theta by at most about sqrt(t a'G a).

    Parameters
    ----------
    stages : sequence of ReleasedStage
        All of a release.
    outcome : str
        Its coordinate.
    n : float
        The number of rows.
    """
    last = stages[-1]
    own, j = last.event.coordinates, last.event.coordinates.outcomes.index(outcome)
    b, spread = last.event.widths[j], math.sqrt(max(float(last.squares[j]), 0.0) / n)
    residuals = _number(last.counts(outcome)[last.event.chosen[j] + 1 :], last.sd("counts", outcome))
    rows, reach = 0.0, own.radius / _typical(last)
    if len(stages) > 1 and (edges := stages[-2].event.coordinates.lengths):
        within = int(np.sum(np.array(edges) / _typical(stages[-2]) < 1.01 * reach))
        rows = _number(stages[-2].lengths[within:], stages[-2].sd("lengths"))
    return b**2 * ((_CUT * residuals) ** 2 + (_BENT * spread * reach * rows) ** 2) / n


def _typical(stage: ReleasedStage) -> float:
    """The length of a row with a coordinate of size 1 along each axis."""
    return math.sqrt(len(stage.event.coordinates.axes))


def _number(counts: Floats, sd: float) -> float:
    """How many there are in some parts, or could be for all that noise lets see."""
    return max(float(counts.sum()), _UNSEEN * sd * math.sqrt(len(counts)))
