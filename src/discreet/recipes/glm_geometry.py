"""The coordinates in which a generalised linear model is fitted, as functions of what was released before.

Every matrix and radius is a function of earlier noisy values and of public facts. ``docs/mathematics``, section 13.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.domain import CONSTANT
from discreet.domain.coordinates import Coordinates
from discreet.privacy.values import ReleasedStage
from discreet.recipes.geometry import EDGES, SPHERE, far_reach
from discreet.solve.axes import Axes, softened, whitened
from discreet.solve.location import Counts
from discreet.solve.sizes import count_law

_ENOUGH = 1.5
"""Of n mu/q^1.5: from there on the products of the columns are worth what they cost."""

_WIDE = 64
"""Of tables with more coordinates products are not worth what they cost, unless they are asked for."""

_CLIPPED, _ROOT_CLIPPED, _MOST_CLIPPED = 3.0, 0.15, 0.1
"""Counts and residuals may be clipped in a share of 3 q/(n mu) or 0.15/sqrt(n), at most a tenth."""

_LEAST_CLIPPED = 0.005
"""No more counts than this are beyond the bound of the model's rates."""

_LEAST = 0.3
"""Of classes: directions with less than this of the mean variation are not stretched as others. Few rows, far out, may
be all there is, and their predictors would be noise."""

_LIGHT = 0.3
"""Few rows of the scout weigh more than this: they are taken to the same length."""

_WIDTHS = 12
"""Half widths of residuals of counts that are tried, at most one more: powers of sqrt(2) of the least."""

_LEAST_SPREAD = 2.0
"""Counts spread by at least so many sds of a Poisson count of their mean."""

_FEW = 50.0
"""Of n mu/q: below it rows are too few for standard errors of counts, and all goes into the model."""


def number_of_stages(n_mu: float, q: int) -> int:
    """How many stages are best for so many rows times mu and so many coordinates: 2 or 3, the model included.

    Examples
    --------
    >>> number_of_stages(20.0, 10), number_of_stages(300.0, 10), number_of_stages(1e6, 100)
    (2, 3, 2)
    """
    return 3 if n_mu >= _ENOUGH * q**1.5 and not is_wide(q) else 2


def is_few(n_mu: float, q: int) -> bool:
    """Whether counts have so few rows, times mu, that only their model is worth to be known."""
    return n_mu < _FEW * q


def is_wide(q: int) -> bool:
    """Whether there are so many coordinates that only where they lie is worth to be known."""
    return q > _WIDE


class Scale(NamedTuple):
    """What counts of an outcome tell of its size, in its own unit: its mean, and a bound that few exceed.

    And how far above the mean all but a few are, and the mean exposure, 1 where there is none.
    """

    mean: float
    most: float
    spread: float
    exposure: float = 1.0


class Lead(NamedTuple):
    """A yes or no that a line is fitted to first: its coordinate, and centre and half width of its mapped range."""

    name: str
    units: tuple[float, float]


def count_scale(counts: Sequence[Counts], n: float, declared: tuple[float, float], mu: float, q: int) -> Scale:
    """Mean and bound of an outcome that is a count, from two levels of noisy counts.

    Parameters
    ----------
    counts : sequence of Counts
        Over the whole range, and over a span of it.
    n : float
        The number of rows.
    declared : tuple of float
        Centre and half width of the declared range.
    mu : float
        That of the whole promise.
    q : int
        How many coordinates the model has.
    """
    low, most = declared[0] - declared[1], 2 * declared[1]
    law = count_law(counts, n, most)
    share = clipped_share(n, mu, q)
    top = law.quantile(1 - min(_LEAST_CLIPPED, share))
    mean = max(low + law.mean, 0.5 / max(n, 1.0))  # half a count in all rows, where there are none: its log is taken
    largest = low + min(max(top, 2 * law.mean, 1.0), most)
    spread = max(low + law.quantile(1 - share) - mean, _LEAST_SPREAD * math.sqrt(mean))
    return Scale(mean, largest, min(spread, largest))


def clipped_share(n: float, mu: float, q: int) -> float:
    """The share of counts, or of their residuals, that may be clipped."""
    return min(_MOST_CLIPPED, max(_CLIPPED * q / (n * mu), _ROOT_CLIPPED / math.sqrt(n)))


def residual_widths(scale: Scale) -> list[float]:
    """Half widths that are tried for residuals of counts: from their spread about the mean up to the largest count.

    Examples
    --------
    >>> [round(width, 3) for width in residual_widths(Scale(mean=4.0, most=12.0, spread=6.0))]
    [6.0, 8.485, 12.0]
    """
    widths = [scale.spread * 2.0 ** (k / 2) for k in range(_WIDTHS)]
    return [*(width for width in widths if width < 0.999 * scale.most), scale.most]


@dataclass(frozen=True, eq=False)
class ModelGeometry:
    """The coordinates of the columns' products, and of the model.

    Parameters
    ----------
    design : tuple of str
        Coordinates of the regressors.
    rows, mu : float
        The number of rows, and mu of the whole promise.
    axes : Axes
        Along the columns.
    counts : bool
        Whether the outcome is a count: its model takes a further step, and has standard errors, from fewer rows on if
        noise is small where most rows are.
    """

    design: tuple[str, ...]
    rows: float
    mu: float
    axes: Axes
    counts: bool

    @property
    def constant(self) -> bool:
        """Whether the design begins with the constant."""
        return self.design[0] == CONSTANT

    def scout(self, lead: Lead | None) -> Coordinates:
        """The coordinates in which products of the columns are summed up, and those with a yes or no less a half.

        Every row is taken to the same length.
        """
        typical = self._typical(self.axes)
        names, widths, theta = [], [], np.zeros((len(self.design), int(lead is not None)))
        if lead is not None:
            centre, half = lead.units
            names, widths, theta[0] = [lead.name], [[_LIGHT / 2 / half]], (0.5 - centre) / half
        lengths = [typical * edge for edge in EDGES[::2]]
        return Coordinates.rounded(self.design, names, self.axes.P, theta, SPHERE * typical, widths, lengths)

    def final(self, stage: ReleasedStage | None) -> Coordinates:
        """The coordinates of the model, round as far as a scout can tell; without one, along the columns."""
        if stage is None:
            axes = softened(self.axes, constant=self.constant)
            return self._coordinates(axes, self._typical(axes))
        P = stage.event.coordinates.P.floats
        least = 0.0 if self.counts else _LEAST
        axes = whitened(P, stage.gram, stage.sd("gram"), constant=self.constant, least=least)
        typical = self._typical(axes) if self.counts else math.sqrt(len(self.design))
        return self._coordinates(axes, far_reach(stage, self.rows, self.mu) * typical)

    def _typical(self, axes: Axes) -> float:
        return math.sqrt(max(axes.known + self.constant, 1.0))

    def _coordinates(self, axes: Axes, radius: float) -> Coordinates:
        return Coordinates.rounded(self.design, [], axes.P, np.zeros((len(self.design), 0)), radius, [])


def mean_exposure(total: float, rows: float, units: tuple[float, float]) -> float:
    """The mean of an exposure from its noisy sum in mapped units, within a thousandth of its range."""
    centre, half = units
    return max(centre + half * min(max(total / rows, -1.0), 1.0), centre - 0.999 * half)
