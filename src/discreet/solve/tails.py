"""The effect of clipped residuals and shortened rows on a stage, from released counts: ``docs/mathematics``, 6.7.

A stage cuts residuals at b and shortens rows at r, so its equations are those of a fit in which both count less. Least
squares differs from it by G, the inverse of X'X, times the sum of the differences. With c_i the part of a residual
beyond b, in units of b, and N residuals cut, the inequality of Cauchy and Schwarz bounds the first difference:

    (a'G sum_cut u_i c_i)^2  <=  sum_cut (a'G u_i)^2 sum_cut c_i^2

Robust standard errors tell how large (a'G u)^2 is where residuals are large: with C the covariance from sampling, which
is the sum of (a'G u)^2 e^2, sum_cut (a'G u_i)^2 is about N/n a'C a over the mean of e^2. Released counts tell N and the
sum of c_i^2. The cut parts also add to the sampling error. So intervals about least squares have the covariance

    C (1 + k),     k = N (N m + m + 2 sqrt(m)) / sum e^2,     m the mean of c_i^2

The first term is a bias, and is charged as if it were an error with that standard deviation.

Shortening a row of norm |z| takes |z| - r^2/|z| off it; the residuals of far rows are taken to be off the line by
`_BENT` of their sd on average, as where a line is fitted to a curve, which moves a'theta by sqrt(t a'G a).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from discreet.core.arrays import Floats
from discreet.privacy.values import ReleasedStage
from discreet.solve.outcome import shares
from discreet.statistics.inner_gram import InnerGram
from discreet.statistics.row_norms import RowNormCounts

_BENT = 0.2
"""The mean residual of far rows, in units of the sd of residuals."""

_UNSEEN = 0.5
"""Counts may hide this many sds of their noise."""

_NEAR, _SEEN = 7.9, 4.0
"""Counts further out than this many times b are mostly noise, unless one exceeds so many sds of it."""

_HEAVY, _SPREAD, _HEAVIEST = 0.1, 0.08, 0.2
"""The share of sizes beyond b that lies beyond 2 b: its mean and its sd before counts are seen, and the largest that is
believed."""

_FIRST, _NEXT = 0.1, 2.5
"""Mean squares of x/b - 1 between b and 2 b, and between 2 b and 4 b."""

_LEAST = 0.01
"""The mean of e^2 is at least this."""

_LEAST_INSIDE = 0.5
"""Half widths are chosen so that fewer residuals than this are cut, so a smaller share inside is noise."""


class TailCharge(NamedTuple):
    """The addition to the covariance of intervals about least squares: k times the sampling covariance, and t G."""

    k: float
    t: float


def charge(stages: Sequence[ReleasedStage], norms: ReleasedStage | None, outcome: str, n: float) -> TailCharge:
    """Return the charge for what the last stage cut and shortened.

    `norms`: the stage that counted row norms, if any did.
    """
    last = stages[-1]
    own, j = last.event.coordinates, last.event.coordinates.outcomes.index(outcome)
    b, place, squares = last.event.widths[j], last.event.chosen[j], max(float(last.squares[j]), _LEAST * n)
    N, m = Beyond.of(np.array(own.widths[j]), last.counts(outcome), place, last.sd("counts", outcome))
    k = N * (N * m + m + 2 * math.sqrt(m)) / squares
    if norms is None:
        return TailCharge(k, 0.0)
    reach, N, m = _far_rows(last, norms)
    return TailCharge(k, b**2 * squares / n * (_BENT * reach * N) ** 2 * (1 + m) / n)


def shortened(stages: Sequence[ReleasedStage], norms: ReleasedStage | None) -> float:
    """Return how much rows that are shortened count less: the sum of 1 - w^2, w = r/|z|, at their typical size."""
    if norms is None:
        return 0.0
    _, N, m = _far_rows(stages[-1], norms)
    return N * (1 - 1 / (1 + math.sqrt(m)) ** 2)


def inside(stage: ReleasedStage, outcome: str) -> float:
    """Return the share of rows whose residuals are not cut, at least a half, where U'U is of these rows; else 1."""
    if not stage.holds(InnerGram.name):
        return 1.0
    own, counts = stage.event.coordinates, stage.counts(outcome)
    place = stage.event.chosen[own.outcomes.index(outcome)]
    return max(float(shares(counts, max(float(counts.sum()), 1.0))[: place + 1].sum()), _LEAST_INSIDE)


def _far_rows(last: ReleasedStage, norms: ReleasedStage) -> tuple[float, float, float]:
    """Return the radius in units of a typical row, the number of longer rows, and the mean of (|z|/r - 1)^2."""
    edges, reach = np.array(norms.event.coordinates.row_norms) / _typical(norms), last.event.coordinates.radius
    reach /= _typical(last)
    place = max(int(np.sum(edges < 1.01 * reach)) - 1, 0)
    return reach, *Beyond.of(edges, norms.row_norms, place, norms.sd(RowNormCounts.name))


class Beyond(NamedTuple):
    """The number of sizes beyond an edge b, and the mean square of x/b - 1 among them."""

    number: float
    square: float

    @classmethod
    def of(cls, edges: Floats, counts: Floats, place: int, sd: float) -> Beyond:
        """Estimate both from noisy counts between edges; b is that at a place.

        The share p of them that lies beyond 2 b, drawn towards `_HEAVY` by the noise of its counts, tells the rest: as
        many again lie beyond 4 b, and so on. Sizes whose counts stand out of the noise are taken to lie at the upper
        edges, if that makes the mean square larger.

        Examples
        --------
        >>> found = Beyond.of(np.array([1.0, 2.0, 4.0, 8.0]), np.array([900.0, 80.0, 16.0, 3.0, 1.0]), 0, 1e-3)
        >>> found.number, round(found.square, 2)
        (100.0, 5.96)
        """
        b, beyond, lower = edges[place], counts[place + 1 :], edges[place:]
        near, seen = lower < _NEAR * b, beyond > _SEEN * sd
        far = near & (lower > 1.99 * b)
        hidden = _UNSEEN * sd * math.sqrt(max(int(near.sum()), 1))
        number = max(float(beyond[near | seen].sum()), float(beyond[seen].sum()), hidden)
        squares = float(beyond[seen] @ (np.append(lower[1:], 2 * lower[-1])[seen] / b - 1) ** 2)
        noise = sd * math.sqrt(max(int(far.sum()), 1)) / number
        weight = _SPREAD**2 / (_SPREAD**2 + noise**2)
        p = min(max(_HEAVY + weight * (float(beyond[far].sum()) / number - _HEAVY), 0.0), _HEAVIEST)
        return cls(number, max((1 - p) * _FIRST + p * _NEXT / (1 - 4 * p), squares / number))


def _typical(stage: ReleasedStage) -> float:
    """Return the norm of a row with a coordinate of size 1 along each axis."""
    return math.sqrt(len(stage.event.coordinates.axes))
