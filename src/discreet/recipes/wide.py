"""The recipe of wide tables: scale the columns, sketch their products, then take noisy gradient steps.

No statistic has more than d k values, with k a few directions or classes, and no matrix is d x d. Two sketches find the
directions in which rows vary most; these are shrunk, and each step releases the sum of u e at the model so far.
Mathematics in ``docs/mathematics``, section 14.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain import CONSTANT
from discreet.domain.coordinates import Coordinates
from discreet.domain.directions import Directions
from discreet.domain.shrinkage import Shrinkage
from discreet.domain.sketch import SketchCoordinates, random_directions
from discreet.families.coordinates import ModelCoordinates
from discreet.privacy.events.base import Event, of_kind
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import Block
from discreet.recipes import budget
from discreet.recipes.base import Facts, Recipe, Spending, Steps
from discreet.recipes.glm import Glm, Predictors
from discreet.recipes.glm_geometry import mean_exposure
from discreet.recipes.linear import Linear, in_ball, is_level
from discreet.recipes.staged import extreme_blocks
from discreet.recipes.steps import column_sums, total
from discreet.solve.axes import ColumnAxes, along_columns
from discreet.solve.descent import Descent

SKETCHED = 64
"""The number of directions of a sketch, at most a quarter of the coordinates."""

_SEED = 14
_REACH = 2.0
"""Longest projection on random directions, in units of its typical size."""

_FLOOR = 0.5
"""Directions with a second moment above this share of the noise of a sketch are shrunk to it."""

_LEAST_LEFT = 0.05
"""The least share of the mean squared norm of rows that is left when directions are shrunk."""

_STEPS, _RATE = (16, 64), (1.5, 2.25)
"""The least and the most number of steps; and the rate that decides it, and the largest, in units of the inverse of the
largest curvature."""

_DOUBT: Mapping[str, float] = {"identity": 0.6}
_USUAL_DOUBT = 1.0
"""Sd of what noise adds to the predictor of a row: in units of the outcome's spread of a linear model, of others in
units of the predictor."""

_WIDTH = 0.7
"""Half width of residuals, in units of the outcome's spread, or of the largest residual of a class."""


class WideStart(NamedTuple):
    """The start of the descent: the number of rows, a constant model, the half width and the largest slope."""

    rows: float
    at_mean: Floats
    width: float
    slope: float
    most: float = 1.0


class WideModel(NamedTuple):
    """The result of the recipe: the descent, and the coefficients (d, m) of the mapped columns."""

    descent: Descent
    theta: Floats


@dataclass(frozen=True)
class Wide(Recipe):
    """A model of a wide table by noisy gradient steps.

    Parameters
    ----------
    facts : Facts
        The public facts.
    model : Predictors
        The model; its link is "identity" for a linear model of one outcome.
    number : int, optional
        The number of steps of a listed release; by default released values decide.
    """

    model: Predictors
    number: int | None = None

    name: ClassVar[str] = "gradient steps"

    def steps(self) -> Steps[WideModel]:
        """Locate the outcome and the columns, sketch the products of the columns, and take the steps."""
        spending, own = Spending(self.facts), self.model
        start = yield from self._start(spending)
        axes = yield from self._columns(spending, start.rows)
        frame, largest = yield from self._frame(spending, axes, start.rows)
        m, shrinkage = len(own.outcomes), frame.shrinkage
        assert shrinkage is not None
        first = np.zeros((len(own.design), m))
        if own.constant:
            first[0] = frame.radius * shrinkage.radius * start.at_mean / axes.factors[0]
        count, time = self._schedule(spending.left(), start, largest)
        descent = Descent(start.rows, count, start.width, time, (shrinkage.unapplied(first),))
        mu = spending.left() / math.sqrt(count)
        for k in range(count):
            at = self._at(frame, descent.gamma, start)
            last = k == count - 1
            stage = yield from spending.stage(at, {"cross": 1.0}, spending.left() if last else mu)
            frame = stage.event.coordinates
            descent = descent.after(stage.cross, stage.sd("cross"))
        return WideModel(descent, frame.linear(descent.estimate))

    def _start(self, spending: Spending) -> Steps[WideStart]:
        """Release the number of rows and where the outcome lies."""
        own, facts, family = self.model, self.facts, self.model.family
        if family.linear:
            (where,) = yield from Linear(facts, own.design, own.outcomes).located(spending)
            spread = where.spread or 1.0
            return WideStart(where.rows, np.array([where.centre]), min(_WIDTH * spread, 2.0), 1.0)
        glm = Glm(facts, own)
        share, n = budget.WIDE_TOTALS, float(facts.counted_rows or 0)
        if not n:
            n = max((yield from total(spending, CONSTANT, share))[0], 1.0)
        if family.sized:
            exposure = 1.0
            if own.exposure is not None:
                exposed, _ = yield from total(spending, own.exposure, share)
                exposure = mean_exposure(exposed, n, facts.domain.map(own.exposure))
            scale = yield from glm.counted(spending, budget.COUNTS / 2, n)
            at_mean = np.array([math.log(scale.mean / exposure)])
            return WideStart(n, at_mean, _WIDTH * scale.spread, 2 * scale.mean, scale.most)
        at_mean, _ = yield from glm.class_shares(spending, n, share)
        return WideStart(n, at_mean, _WIDTH, family.loss().curvature)

    def _columns(self, spending: Spending, n: float) -> Steps[ColumnAxes]:
        """Release the sums of the columns and of their squares."""
        design, domain = self.model.design, self.facts.domain
        names = tuple(name for name in design if name != CONSTANT)
        ball = in_ball(domain, names)
        share = budget.WIDE_COLUMNS_IN_BALL if ball else budget.WIDE_COLUMNS
        sums, squares, sds = yield from column_sums(spending, design, spending.share(share))
        levels = np.array([is_level(domain, name) for name in names])
        return along_columns(sums, squares, sds, n, levels, constant=self.model.constant, scaled=not ball)

    def _frame(self, spending: Spending, axes: ColumnAxes, n: float) -> Steps[tuple[Coordinates, float]]:
        """Sketch the products of the columns twice; return the coordinates, and the largest second moment of u."""
        design, most, q = self.model.design, self.facts.domain.most, len(axes.factors)
        k, r = max(1, min(SKETCHED, q // 4)), math.sqrt(axes.size)
        Q, reach = random_directions(q, k, _SEED), min(1.0, _REACH * math.sqrt(k / q))
        noise, Y = 0.0, Q
        for share in budget.WIDE_SKETCHES:
            own = SketchCoordinates.of(design, axes.factors, axes.shifts, r, Q, reach, most)
            stage = yield from spending.stage(own, {"cross": 1.0}, spending.share(share))
            Y, noise, held = reach * stage.cross, reach * stage.sd("cross") * math.sqrt(q), stage.event.coordinates
            Q, reach = np.linalg.qr(Y)[0], 1.0
        V, l, _ = np.linalg.svd(Y, full_matrices=False)  # noqa: E741
        l = np.sqrt(np.maximum(l**2 - noise**2, 0.0))  # noqa: E741
        floor = _FLOOR * noise
        kept = max(int((l > floor).sum()), 1)
        left = np.minimum(floor / np.maximum(l[:kept], 1e-300), 1.0)
        taken = float(np.sum((1 - left) * l[:kept])) / n
        rho = math.sqrt(max(1 - taken, _LEAST_LEFT))
        shrinkage = Shrinkage.rounded(V[:, :kept], 1 - np.sqrt(left), rho)
        frame = Coordinates(design, (), held.P, Directions((), ()), held.radius, (), (), most, shrinkage)
        return frame, min(max(floor / n, 1 / q) / rho**2, 1.0)

    def _schedule(self, mu: float, start: WideStart, largest: float) -> tuple[int, float]:
        """Return the number of steps and the time of the descent, given the largest second moment of u."""
        own, most = self.model, self.facts.domain.most
        noise = most * start.width * math.sqrt(1.0 if own.family.joint else len(own.outcomes)) / (start.rows * mu)
        unit = start.width / _WIDTH if own.family.linear else 1.0
        time = _DOUBT.get(own.link, _USUAL_DOUBT) * unit / noise
        curvature = start.slope * largest
        (least, most_steps), (usual, fastest) = _STEPS, _RATE
        count = self.number or min(max(math.ceil(time * curvature / usual), least), most_steps)
        return count, min(time, count * fastest / curvature)

    def _at(self, frame: Coordinates, gamma: Floats, start: WideStart) -> Coordinates:
        """Return the coordinates of a step at a model."""
        own = self.model
        if own.family.linear:
            return frame.of_model(own.outcomes, gamma, [[start.width]])
        return own.at(frame, gamma, [start.width], start.most)

    # ---------------------------------------------------------------- as drivers need it

    @property
    def histograms(self) -> tuple[str, ...]:
        """The outcome, unless it is a class."""
        own = self.model
        return (own.column,) if own.family.sized else own.outcomes if own.family.linear else ()

    def extremes(self) -> Iterator[Sequence[Block]]:
        """Blocks with the least and the most noise that a release of this kind has."""
        return extreme_blocks(self.facts, self.model.design, self.model.outcomes[0])

    @classmethod
    def listed(cls, facts: Facts, events: Sequence[Event], options: Mapping[str, Any]) -> Self | None:
        """The recipe of a release that lists sketches and gradient steps."""
        stages = [event.coordinates for event in of_kind(StageEvent, events)]
        steps = [own for own in stages if own.shrinkage is not None]
        if not steps or not isinstance(stages[0], SketchCoordinates) or len(steps[0].outcomes) == 0:
            return None
        first, column = steps[0], facts.domain.column_of[steps[0].outcomes[0]]
        told = (first.link, first.exposure, first.width) if isinstance(first, ModelCoordinates) else ("identity",)
        return cls(facts, Predictors(told[0], first.design, column, first.outcomes, *told[1:]))

    def outlined(self, events: Sequence[Event]) -> Self:
        """Return the recipe with as many steps as are listed."""
        stages = [event.coordinates for event in of_kind(StageEvent, events)]
        return replace(self, number=sum(own.shrinkage is not None for own in stages))
