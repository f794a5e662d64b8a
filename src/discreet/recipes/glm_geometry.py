"""The coordinates in which scoring steps are taken, as functions of earlier releases.

Every matrix and radius is a function of earlier noisy values and of public facts. ``docs/mathematics``, section 13.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain import CONSTANT
from discreet.domain.coordinates import Coordinates
from discreet.privacy.values import ReleasedStage
from discreet.recipes.geometry import SPHERE, far_reach
from discreet.recipes.rules import MODEL_RULES, NEWEST_OF_MODELS, ModelRules
from discreet.solve.axes import FARTHEST, Axes, capped, whitened
from discreet.solve.location import BinCounts
from discreet.solve.noise_aware import denoise
from discreet.solve.sizes import count_law

_ENOUGH = 0.1
"""From this value of n mu/q^1.5 on, products of the columns are worth their cost."""

_WIDE, WIDEST = 64, 512
"""With more coordinates, models of classes have no standard errors, unless they are asked for; and with more than the
second number, for all linear predictors together, models have one stage, unless more are asked for."""

_CLIPPED, _ROOT_CLIPPED, _MOST_CLIPPED = 3.0, 0.15, 0.1
"""The share of counts or residuals that may be clipped: the larger of 3 q/(n mu) and 0.15/sqrt(n), at most 0.1."""

_LEAST_CLIPPED = 0.005
"""At most this share of the counts exceeds the bound on the model's rates."""

_WIDTHS = 12
"""Maximum number of candidate half widths for residuals of counts, besides the largest count: powers of sqrt(2) times
the smallest."""

_LEAST_SPREAD = 2.0
"""The spread of counts is at least this many sds of a Poisson count with their mean."""

_LEAST = 0.3
"""Whitening adds this share of the mean variation to each direction's own, so that directions with little variation are
stretched less. They may depend on a few far rows, whose predictors would be noise."""

_BESIDE = 0.75
"""The square of the norm that rows of a rare group have beside their gap, in units of a typical row's."""

_FLOOR, _KNOWN = 0.02, 0.2
"""The least second moment of a direction; and the constant's, in units of n/q, below which noise hides all of them."""

_WEIGHT, _WEIGHT_ALONE = 0.65, 0.55
"""The half width of a step over that of the whole residual, for a radius of the typical row norm: where standard errors
follow, which clipped residuals bias, and where none do."""


def number_of_stages(n_mu: float, q: int) -> int:
    """Return the best number of stages, the model included, for n mu and q coordinates: 2 or 3.

    Examples
    --------
    >>> number_of_stages(3.0, 10), number_of_stages(300.0, 10)
    (2, 3)
    """
    return 3 if n_mu >= _ENOUGH * q**1.5 else 2


def is_wide(q: int) -> bool:
    """Whether there are so many coordinates that models of classes have no standard errors by default."""
    return q > _WIDE


class Scale(NamedTuple):
    """The scale of a count outcome in its own unit: its mean, and a bound that few counts exceed.

    Also how far above the mean all but a few are, and the mean exposure, 1 if there is none.
    """

    mean: float
    most: float
    spread: float
    exposure: float = 1.0


class Frame(NamedTuple):
    """The coordinates of the steps, the second moments of z there, and the radius in units of the typical row norm."""

    coordinates: Coordinates
    V: Floats
    reach: float

    @property
    def typical_square(self) -> float:
        """The typical squared norm of u."""
        return min(1.0, float(np.trace(self.V)) / self.coordinates.radius**2)


def step_width(frame: Frame, scale: Scale | None, *, errors: bool) -> float:
    """Return the half width of residuals in a step: rows that are shortened have smaller ones.

    `errors`: whether standard errors are released after the steps.
    """
    whole = 1.0 if scale is None else scale.spread
    return whole * min(1.0, (_WEIGHT if errors else _WEIGHT_ALONE) * frame.reach)


def widths_at_model(scale: Scale | None) -> list[float]:
    """Return the candidate half widths of the last stage."""
    return [1.0] if scale is None else residual_widths(scale)


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
    """The coordinates of the products of the columns, and of the steps.

    Parameters
    ----------
    design : tuple of str
        Coordinates of the regressors.
    rows, mu : float
        The number of rows, and mu of the whole promise for one row.
    axes : Axes
        Axes along the columns.
    most : int
        The maximum number of rows that count for one person.
    gaps : array, optional
        How far rows of rare groups lie from the mean, along the columns; see `rare_gaps`.
    rules : ModelRules
        The rules of the release.
    """

    design: tuple[str, ...]
    rows: float
    mu: float
    axes: Axes
    most: int = 1
    gaps: Floats | None = None
    rules: ModelRules = MODEL_RULES[NEWEST_OF_MODELS]

    @property
    def constant(self) -> bool:
        """Whether the design begins with the constant."""
        return self.design[0] == CONSTANT

    def first(self) -> Coordinates:
        """Return the coordinates for products of the columns, in which every row is scaled to the same norm."""
        axes = self._capped(self.axes)
        return self._coordinates(axes, SPHERE * self._typical(axes))

    def norm_coordinates(self, stage: ReleasedStage) -> Coordinates:
        """Return the whitened coordinates, with edges between which row norms are counted."""
        axes = self._whitened(stage)
        edges = [self._typical(axes) * edge for edge in self._edges(axes.P.shape[1])]
        none = np.zeros((len(self.design), 0))
        return Coordinates.rounded(self.design, [], axes.P, none, edges[0], [], edges, self.most)

    def _edges(self, q: int) -> Sequence[float]:
        """Return the edges of row norms: up to the largest possible radius, so that less noise adds up beyond each."""
        edges, far = self.rules.radius.edges, math.sqrt(self.rules.radius.reach * self.rows * self.mu / q**1.5)
        return edges[: max(bisect(edges, far), 1) + 1] if self.rules.near else edges

    def final(self, stage: ReleasedStage | None, norms: ReleasedStage | None) -> Frame:
        """Return the frame of the steps: whitened if products were released, else along the columns."""
        if stage is None or norms is None:
            axes = self._capped(self.axes)
            return Frame(self._coordinates(axes, self._typical(axes)), np.eye(len(axes.P.T)), 1.0)
        reach = far_reach(norms, self.rows, self.mu, self.rules.radius)
        if self.rules.near:
            axes = self._whitened(stage, reach)
        else:
            axes = Axes(norms.event.coordinates.P.floats, self._whitened(stage).known)
        return Frame(self._coordinates(axes, reach * self._typical(axes)), self._moments(stage, axes), reach)

    def _moments(self, stage: ReleasedStage, axes: Axes) -> Floats:
        """Return the second moments of z along the axes, from the denoised products; 1 where noise hides them."""
        q, sd = len(stage.gram), stage.sd("gram")
        l, Q = np.linalg.eigh(stage.gram)  # noqa: E741
        R = np.linalg.solve(stage.event.coordinates.P.floats, axes.P)
        a = np.maximum(denoise(l, sd), 0.0)
        a += max(float(l.sum() - a.sum()), 0.0) / q  # directions that noise hides have the rest of the trace
        V = R.T @ (Q * a) @ Q.T @ R
        whole = V[0, 0] if self.constant else float(np.trace(stage.gram)) / q
        V = V / whole if whole > _KNOWN * self.rows / q else np.eye(q)
        V = V + _FLOOR * np.eye(q)
        if self.constant:
            V[0], V[:, 0] = 0.0, 0.0
            V[0, 0] = 1.0
        return V

    def _whitened(self, stage: ReleasedStage, reach: float = 0.0) -> Axes:
        P = stage.event.coordinates.P.floats
        return self._capped(whitened(P, stage.gram, stage.sd("gram"), constant=self.constant, least=_LEAST), reach)

    def _capped(self, axes: Axes, reach: float = 0.0) -> Axes:
        """Return the axes with rows of rare groups not much further out than others, or just within a radius."""
        farther = max(1.0, math.sqrt(max(reach**2 - _BESIDE, 0.0)) / FARTHEST)
        return axes if self.gaps is None else capped(axes, self.gaps, farther * self._typical(axes))

    def _typical(self, axes: Axes) -> float:
        return math.sqrt(max(axes.known + self.constant, 1.0))

    def _coordinates(self, axes: Axes, radius: float) -> Coordinates:
        none = np.zeros((len(self.design), 0))
        return Coordinates.rounded(self.design, [], axes.P, none, radius, [], (), self.most)


def mean_exposure(total: float, rows: float, units: tuple[float, float]) -> float:
    """Return the mean of an exposure from its noisy sum in mapped units, kept above the lower end of its range."""
    centre, half = units
    return max(centre + half * min(max(total / rows, -1.0), 1.0), centre - 0.999 * half)
