"""Where a generalised linear model is fitted: round coordinates, from what was released before it.

The gate follows it while it releases, and whoever holds the model can follow it again: every matrix and radius is a
function of earlier noisy values and of public facts. ``docs/mathematics.md``, section 13.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain import CONSTANT
from discreet.domain.coordinates import Coordinates
from discreet.domain.linked import Linked
from discreet.privacy import gdp
from discreet.privacy.events.objective import ObjectiveEvent
from discreet.released.coordinates import Axes, standardised, whitened
from discreet.released.course import EDGES, SPHERE, far_reach, is_close
from discreet.released.grids import ReleasedStage
from discreet.released.moments import ReleasedMoments

_ENOUGH = 0.7
"""Of n mu/q^1.5: from there on the products of the columns are worth what they cost."""

_SLOPES, _CONSTANT = 0.4, 0.25
"""What is expected of a model: how much of a row's curvature times the variance of its predictor there is, and of the
curvature times the square of the intercept."""


def number_of_stages(n_mu: float, q: int) -> int:
    """How many stages are best for so many rows times mu and so many coordinates: 2 or 3, the model included.

    Examples
    --------
    >>> number_of_stages(30.0, 10), number_of_stages(300.0, 10)
    (2, 3)
    """
    return 3 if n_mu >= _ENOUGH * q**1.5 else 2


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
    """

    design: tuple[str, ...]
    rows: float
    mu: float
    axes: Axes

    @property
    def constant(self) -> bool:
        """Whether the design begins with the constant."""
        return self.design[0] == CONSTANT

    def scout(self) -> Coordinates:
        """The coordinates in which products of the columns are summed up: every row of the same length."""
        typical = self._typical(self.axes)
        return self._coordinates(self.axes, SPHERE * typical, [typical * edge for edge in EDGES])

    def final(self, stage: ReleasedStage | None) -> Coordinates:
        """The coordinates of the model, round as far as a scout can tell; along the columns without one."""
        if stage is None:
            return self._coordinates(self.axes, self._typical(self.axes))
        P = stage.event.coordinates.P.floats
        axes = whitened(P, stage.gram, stage.sd("gram"), constant=self.constant)
        return self._coordinates(axes, far_reach(stage, self.rows, self.mu) * self._typical(axes))

    def _typical(self, axes: Axes) -> float:
        return math.sqrt(max(axes.known + self.constant, 1.0))

    def _coordinates(self, axes: Axes, radius: float, lengths: Sequence[float] = ()) -> Coordinates:
        return Coordinates.rounded(self.design, [], axes.P, np.zeros((len(self.design), 0)), radius, [], lengths)


def penalties(event: ObjectiveEvent, rows: float, curvature: float = 1.0) -> Floats:
    """The quadratic penalty of each coordinate of u: at least the modulus, and what noise calls for.

    With v = H gamma + b, b of sd sigma, and gamma of variance tau, lambda = sigma^2/(tau H) has the least error.

    Parameters
    ----------
    event : ObjectiveEvent
        The noise, and the modulus that privacy needs.
    rows : float
        The number of rows.
    curvature : float
        That of a typical row, in units of what a typical row of a logistic model has.
    """
    q, each = len(event.design), event.scale**2 / max(rows * curvature, 1.0)
    found = np.full(q, max(event.modulus, each * q / _SLOPES))
    if event.design[0] == CONSTANT:
        found[0] = max(event.modulus, each / _CONSTANT)
    return found


def scouting_of(released: ReleasedMoments) -> Scouting | None:
    """The scouting that a model took, from its released values alone; None where it had none."""
    objectives = [event for event in released.certificate.events if isinstance(event, ObjectiveEvent)]
    if not objectives or objectives[0].coordinates is None:
        return None
    design, promise = objectives[0].design, released.certificate.guarantee
    names, rows = tuple(name for name in design if name != CONSTANT), released.rows()
    held = {block.statistic: (block, array) for block, array in released.arrays.items() if block.rows == names}
    (sums, x), (squares, xx) = held["sums"], held["diagonal"]
    axes = standardised(x, xx, (sums.sd, squares.sd), rows, constant=design[0] == CONSTANT)
    return Scouting(design, rows, gdp.mu(epsilon=promise.epsilon, delta=promise.delta), axes)


def strays(released: ReleasedMoments) -> str | None:
    """How the coordinates of a model differ from those that its released values call for, if they do."""
    found = scouting_of(released)
    if found is None:
        return None
    scouts = [stage for stage in released.stages if not isinstance(stage.event.coordinates, Linked)]
    for stage in scouts:
        if not is_close(stage.event.coordinates, found.scout()):
            return "the coordinates in which columns were scouted do not follow from what was released before"
    expected = found.final(scouts[-1] if scouts else None)
    objectives = [event for event in released.certificate.events if isinstance(event, ObjectiveEvent)]
    for own in (event.coordinates for event in objectives):
        if own is None or not is_close(own, expected):
            return "the coordinates of the model do not follow from what was released before it"
        for stage in released.stages:
            at = stage.event.coordinates
            if isinstance(at, Linked) and (at.P, at.radius) != (own.P, own.radius):
                return "standard errors were released in other coordinates than those of the model"
    return None
