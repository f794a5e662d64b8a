"""Where a generalised linear model is fitted: round coordinates, from what was released before it.

The gate follows it while it releases, and whoever holds the model can follow it again: every matrix and radius is a
function of earlier noisy values and of public facts. ``docs/mathematics``, section 13.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.domain import CONSTANT
from discreet.domain.coordinates import Coordinates
from discreet.families import Poisson
from discreet.families.coordinates import Linked
from discreet.privacy import gdp
from discreet.privacy.events.objective import ObjectiveEvent
from discreet.released.coordinates import Axes, softened, standardised, whitened
from discreet.released.course import EDGES, SPHERE, far_reach, is_close, quiet_place
from discreet.released.grids import ReleasedStage
from discreet.released.moments import ReleasedMoments
from discreet.released.solve.location import WHOLE, Counts
from discreet.released.solve.sizes import count_law, count_span

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


_NEAR = 1e-6
"""Numbers that are computed again may differ by this share, for processors round differently."""


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
class Scouting:
    """Where scouting starts from, and where it leads.

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


def scale_of(released: ReleasedMoments) -> Scale | None:
    """What counts of the outcome told, where there were any."""
    held = [(block, array) for block, array in released.arrays.items() if block.statistic == "counts"]
    if not held:
        return None
    counts = [Counts(array, block.span or WHOLE, block.sd) for block, array in held]
    promise, q = released.certificate.guarantee, len(objectives_of(released)[0].design)
    mu = gdp.mu(epsilon=promise.epsilon, delta=promise.delta)
    scale = count_scale(counts, released.rows(), released.domain.map(held[0][0].columns[0]), mu, q)
    return scale._replace(exposure=_exposure(released))


def mean_exposure(total: float, rows: float, units: tuple[float, float]) -> float:
    """The mean of an exposure from its noisy sum in mapped units, within a thousandth of its range."""
    centre, half = units
    return max(centre + half * min(max(total / rows, -1.0), 1.0), centre - 0.999 * half)


def _exposure(released: ReleasedMoments) -> float:
    designs = {name for event in objectives_of(released) for name in event.design}
    for block, array in released.arrays.items():
        if block.statistic == "sums" and len(block.rows) == 1 and block.rows[0] not in designs:
            return mean_exposure(float(array[0]), released.rows(), released.domain.map(block.rows[0]))
    return 1.0


def objectives_of(released: ReleasedMoments) -> list[ObjectiveEvent]:
    """The perturbed objectives of a release."""
    return [event for event in released.certificate.events if isinstance(event, ObjectiveEvent)]


def scouting_of(released: ReleasedMoments) -> Scouting | None:
    """The scouting that a model took, from its released values alone; None where it had none."""
    objectives = objectives_of(released)
    if not objectives or objectives[0].coordinates is None:
        return None
    design, promise = objectives[0].design, released.certificate.guarantee
    names, rows = tuple(name for name in design if name != CONSTANT), released.rows()
    held = {block.statistic: (block, array) for block, array in released.arrays.items() if block.rows == names}
    (sums, x), (squares, xx) = held["sums"], held["diagonal"]
    axes = standardised(x, xx, (sums.sd, squares.sd), rows, constant=design[0] == CONSTANT)
    counts = isinstance(objectives[0].loss, Poisson)
    return Scouting(design, rows, gdp.mu(epsilon=promise.epsilon, delta=promise.delta), axes, counts)


def scouts_of(released: ReleasedMoments) -> list[ReleasedStage]:
    """The stages before the model."""
    return [stage for stage in released.stages if not isinstance(stage.event.coordinates, Linked)]


def lead_of(released: ReleasedMoments) -> Lead | None:
    """The outcome that a scout knew of."""
    names = [name for stage in scouts_of(released) for name in stage.event.coordinates.outcomes]
    return Lead(names[0], released.domain.map(names[0])) if names else None


def strays(released: ReleasedMoments) -> str | None:
    """How the coordinates of a model differ from those that its released values call for, if they do."""
    found = scouting_of(released)
    if found is None:
        return None
    scouts = scouts_of(released)
    for stage in scouts:
        if not is_close(stage.event.coordinates, found.scout(lead_of(released))):
            return "the coordinates in which columns were scouted do not follow from what was released before"
    expected = found.final(scouts[-1] if scouts else None)
    scale = scale_of(released)
    for event in objectives_of(released):
        own = event.coordinates
        if scale is not None and not (isinstance(event.loss, Poisson) and math.isclose(event.loss.limit, scale.most)):
            return "the largest count of the model does not follow from the counts of the outcome"
        if own is None or not is_close(own, expected):
            return "the coordinates of the model do not follow from what was released before it"
        for stage in released.stages:
            at = stage.event.coordinates
            if isinstance(at, Linked) and (at.P, at.radius) != (own.P, own.radius):
                return "standard errors were released in other coordinates than those of the model"
            if isinstance(at, Linked) and not _is_model(stage, at, event, scale, found):
                return "standard errors were released for another link, largest mean or half width than the model has"
    return _other_span(released, found.rows)


def _is_model(stage: ReleasedStage, at: Linked, event: ObjectiveEvent, scale: Scale | None, found: Scouting) -> bool:
    """Whether the stage at a model is for its link, its largest mean, and residuals as wide as counts call for."""
    if scale is None:
        own = (at.link, event.loss.name, at.largest) == ("logit", "logistic", 1.0)
        return own and all(widths == (1.0,) for widths in at.widths)
    share, expected = clipped_share(found.rows, found.mu, len(at.design)), residual_widths(scale)
    own = (at.link, event.loss.name) == ("log", "Poisson") and math.isclose(at.largest, scale.most, rel_tol=_NEAR)
    own = own and all(len(widths) == len(expected) for widths in at.widths)
    places = [quiet_place(stage.counts(name), share, stage.sd("counts")) for name in at.outcomes]
    return own and np.allclose(at.widths, expected, rtol=_NEAR) and list(stage.event.chosen) == places


def _other_span(released: ReleasedMoments, n: float) -> str | None:
    """How the part of the outcome's range that was counted last differs from the one that earlier counts call for."""
    held = [(block, array) for block, array in released.arrays.items() if block.statistic == "counts"]
    if len(held) < 2:
        return None
    (first, array), (second, _) = held
    most = 2 * released.domain.map(first.columns[0])[1]
    expected = count_span(count_law([Counts(array, WHOLE, first.sd)], n, most))
    if first.span is None and second.span is not None and np.allclose(second.span, expected, rtol=_NEAR):
        return None
    return "the part of the outcome's range that was counted last does not follow from the counts before"
