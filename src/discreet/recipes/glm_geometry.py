"""The coordinates in which a generalised linear model is fitted, as functions of earlier releases.

Every matrix and radius is a function of earlier noisy values and of public facts. ``docs/mathematics``, section 13.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain import CONSTANT
from discreet.domain.coordinates import Coordinates
from discreet.privacy.values import ReleasedStage
from discreet.recipes.geometry import SPHERE, far_reach
from discreet.recipes.rules import RULES
from discreet.solve.axes import Axes, capped, softened, whitened
from discreet.solve.location import BinCounts
from discreet.solve.sizes import count_law

MODEL_RULES = RULES[1]
"""The rules by which radii are chosen from row norms."""

_ENOUGH = 1.5
"""From this value of n mu/q^1.5 on, products of the columns are worth their cost."""

_WIDE = 64
"""With more coordinates, products of the columns are not worth their cost, unless they are asked for."""

_CLIPPED, _ROOT_CLIPPED, _MOST_CLIPPED = 3.0, 0.15, 0.1
"""The share of counts or residuals that may be clipped: the larger of 3 q/(n mu) and 0.15/sqrt(n), at most 0.1."""

_LEAST_CLIPPED = 0.005
"""At most this share of the counts exceeds the bound on the model's rates."""

_LEAST = 0.3
"""For classes: whitening adds this share of the mean variation to each direction's own, so that directions with little
variation are stretched less. They may depend on a few far rows, whose predictors would be noise."""

_LARGE_WEIGHT = 0.3
"""Few rows of the first stage have a larger weight, since all are scaled to the same norm; it sets the half width of
the outcome."""

_WIDTHS = 12
"""Maximum number of candidate half widths for residuals of counts, besides the largest count: powers of sqrt(2) times
the smallest."""

_LEAST_SPREAD = 2.0
"""The spread of counts is at least this many sds of a Poisson count with their mean."""

_FEW = 50.0
"""Below this value of n mu/q, counts get no standard errors, and the whole budget goes into the model."""


def number_of_stages(n_mu: float, q: int) -> int:
    """Return the best number of stages, the model included, for n mu and q coordinates: 2 or 3.

    Examples
    --------
    >>> number_of_stages(20.0, 10), number_of_stages(300.0, 10), number_of_stages(1e6, 100)
    (2, 3, 2)
    """
    return 3 if n_mu >= _ENOUGH * q**1.5 and not is_wide(q) else 2


def is_few(n_mu: float, q: int) -> bool:
    """Whether n mu is so small that models of counts are released without standard errors."""
    return n_mu < _FEW * q


def is_wide(q: int) -> bool:
    """Whether there are so many coordinates that products of the columns are not worth their cost."""
    return q > _WIDE


class Scale(NamedTuple):
    """The scale of a count outcome in its own unit: its mean, and a bound that few counts exceed.

    Also how far above the mean all but a few are, and the mean exposure, 1 if there is none.
    """

    mean: float
    most: float
    spread: float
    exposure: float = 1.0


class Lead(NamedTuple):
    """A binary outcome that a line is fitted to first: its coordinate, and centre and half width of its range."""

    name: str
    units: tuple[float, float]


def count_scale(counts: Sequence[BinCounts], n: float, declared: tuple[float, float], mu: float, q: int) -> Scale:
    """Return the scale of a count outcome, from two levels of noisy counts.

    Parameters
    ----------
    counts : sequence of BinCounts
        Counts over the whole range, and over a span of it.
    n : float
        The number of rows.
    declared : tuple of float
        Centre and half width of the declared range.
    mu : float
        The mu of the whole promise.
    q : int
        The number of coordinates of the model.
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
    """Return the share of counts, or of their residuals, that may be clipped."""
    return min(_MOST_CLIPPED, max(_CLIPPED * q / (n * mu), _ROOT_CLIPPED / math.sqrt(n)))


def residual_widths(scale: Scale) -> list[float]:
    """Return candidate half widths for residuals of counts, from their spread about the mean up to the largest count.

    Examples
    --------
    >>> [round(width, 3) for width in residual_widths(Scale(mean=4.0, most=12.0, spread=6.0))]
    [6.0, 8.485, 12.0]
    """
    widths = [scale.spread * 2.0 ** (k / 2) for k in range(_WIDTHS)]
    return [*(width for width in widths if width < 0.999 * scale.most), scale.most]


@dataclass(frozen=True, eq=False)
class ModelGeometry:
    """The coordinates of the products of the columns, and of the model.

    Parameters
    ----------
    design : tuple of str
        Coordinates of the regressors.
    rows, mu : float
        The number of rows, and mu of the whole promise.
    axes : Axes
        Axes along the columns.
    counts : bool
        Whether the outcome is a count. Its model takes a further step and has standard errors, from fewer rows on if
        noise is small where most rows are.
    gaps : array, optional
        How far rows of rare groups lie from the mean, along the columns; see `rare_gaps`.
    """

    design: tuple[str, ...]
    rows: float
    mu: float
    axes: Axes
    counts: bool
    gaps: Floats | None = None

    @property
    def constant(self) -> bool:
        """Whether the design begins with the constant."""
        return self.design[0] == CONSTANT

    def first(self, lead: Lead | None) -> Coordinates:
        """Return the coordinates for products of the columns with each other and with a binary outcome less 1/2.

        Every row is scaled to the same norm.
        """
        axes = self._capped(self.axes)
        typical = self._typical(axes)
        names, widths, theta = [], [], np.zeros((len(self.design), int(lead is not None)))
        if lead is not None:
            centre, half = lead.units
            names, widths, theta[0] = [lead.name], [[_LARGE_WEIGHT / 2 / half]], (0.5 - centre) / half
        row_norms = [typical * edge for edge in MODEL_RULES.edges[::2]]
        return Coordinates.rounded(self.design, names, axes.P, theta, SPHERE * typical, widths, row_norms)

    def final(self, stage: ReleasedStage | None) -> Coordinates:
        """Return the coordinates of the model, whitened by the first stage; without one, along the columns."""
        if stage is None:
            axes = self._capped(softened(self.axes, constant=self.constant))
            return self._coordinates(axes, self._typical(axes))
        P = stage.event.coordinates.P.floats
        least = 0.0 if self.counts else _LEAST
        axes = self._capped(whitened(P, stage.gram, stage.sd("gram"), constant=self.constant, least=least))
        typical = self._typical(axes) if self.counts else math.sqrt(len(self.design))
        return self._coordinates(axes, self.reach(stage) * typical)

    def _capped(self, axes: Axes) -> Axes:
        """Return the axes with rows of rare groups not much further out than others."""
        return axes if self.gaps is None else capped(axes, self.gaps, self._typical(axes))

    def reach(self, stage: ReleasedStage) -> float:
        """Return the radius of the model in units of the typical row norm, from the row norms of the first stage."""
        return far_reach(stage, self.rows, self.mu, MODEL_RULES)

    def _typical(self, axes: Axes) -> float:
        return math.sqrt(max(axes.known + self.constant, 1.0))

    def _coordinates(self, axes: Axes, radius: float) -> Coordinates:
        return Coordinates.rounded(self.design, [], axes.P, np.zeros((len(self.design), 0)), radius, [])


def mean_exposure(total: float, rows: float, units: tuple[float, float]) -> float:
    """Return the mean of an exposure from its noisy sum in mapped units, kept above the lower end of its range."""
    centre, half = units
    return max(centre + half * min(max(total / rows, -1.0), 1.0), centre - 0.999 * half)
