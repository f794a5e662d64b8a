"""The density of the minimiser of a perturbed objective, from the noise that its gradient implies.

theta minimises f(theta) + Lambda |theta|^2/2 + l |theta|_1 + b'theta, so b = -(gradient + Lambda theta + l sign(theta))
where no coefficient is 0, and its density is that of b times det of the Hessian. A single coefficient is 0 where b is
within l of minus the gradient at 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from discreet.audit.densities import AuditedModel, Density, Shown, Unlisted, between, spherical
from discreet.audit.laws import ReleaseDensity, density_of, unlisted_of
from discreet.core.arrays import Floats
from discreet.data.reading import Table
from discreet.data.rows import LossSums, Rows
from discreet.families import family_of
from discreet.mechanisms.objective_perturbation.event import ObjectiveEvent
from discreet.released.moments import ReleasedMoments

_RARE = 1e-9
"""Noise can be recovered where a coefficient is 0 with a smaller probability than this."""

_ROUNDING = 1e-5
"""The gradient, in units of the scale, that a fit without noise may leave where there is no l1 norm."""


@dataclass(frozen=True, eq=False)
class Objective:
    """A perturbed objective on one table, before its noise; all arrays are in the coordinates of its rows."""

    event: ObjectiveEvent
    rows: Rows
    label: Callable[[Floats], Floats]
    theta: Floats
    centre: Floats
    quadratic: Floats

    @classmethod
    def of(
        cls, table: pa.Table, event: ObjectiveEvent, model: AuditedModel, released: ReleasedMoments
    ) -> Objective | None:
        """The objective of a release; None where it cannot be reconstructed."""
        domain, d, theta = released.domain, len(event.design), model.theta
        used = {domain.column_of[name] for name in event.design}
        outcomes = [name for name in domain.columns if name not in used]
        if len(outcomes) != 1 or len(theta) != d:  # the first level of a category is not shown
            return None
        (column,), opened = outcomes, Table.of(table, domain, 1)
        family = family_of(event.loss)
        label = family.label(domain, column, model.place)
        if event.coordinates is not None:  # a model of discreet 0.2, in the coordinates of a stage
            return None
        rows = Rows(opened, event.design, column)
        weights = np.ones(d) if model.weights is None else model.weights
        return cls(event, rows, label, theta, np.zeros(d), event.modulus * weights / weights.min())

    def _sums(self, theta: Floats) -> LossSums:
        return self.rows.sums(self.event.loss, theta, self.label)

    def _left(self, sums: LossSums, theta: Floats) -> Floats:
        return -(sums.gradient + self.quadratic * (theta - self.centre)) / self.event.scale

    @cached_property
    def sums(self) -> LossSums:
        """The sums at the minimiser."""
        return self._sums(self.theta)

    @cached_property
    def left(self) -> Floats:
        """The noise plus the gradient of the l1 norm, in units of the scale."""
        return self._left(self.sums, self.theta)

    @property
    def lasso(self) -> float | None:
        """The weight of an l1 norm, if this is a minimiser without noise; None where it cannot be inferred."""
        if float(np.linalg.norm(self.left)) <= _ROUNDING:
            return 0.0
        if len(self.theta) > 1 or self.theta[0] == 0:
            return None
        return float(self.left[0] * np.sign(self.theta[0])) * self.event.scale

    def density(self, lasso: float) -> Density | None:
        """The density of the minimiser."""
        event, determinant = self.event, float(np.linalg.slogdet(self.sums.hessian + np.diag(self.quadratic))[1])
        if lasso == 0:
            return spherical(self.left, determinant, event.noise)
        if len(self.theta) > 1:
            return None
        at, wide = float(self._left(self._sums(np.zeros(1)), np.zeros(1))[0]), lasso / event.scale
        zero = between(at - wide, at + wide, event.noise)
        if self.theta[0] == 0:
            return Density(float(np.log(zero)))
        found = spherical(self.left - wide * np.sign(self.theta), determinant, event.noise)
        return found if zero < _RARE else Density(found.logarithm)


@density_of(ObjectiveEvent)
def _minimiser(event: ObjectiveEvent, law: ReleaseDensity, shown: Shown) -> Density | None:
    """The density of a minimiser; the l1 weight is 0 for quadratic penalties, else that of a fit without noise."""
    quadratic = event.coordinates is not None or event.target is not None
    lasso = 0.0 if quadratic else shown.unlisted.lasso
    if shown.model is None or (lasso and shown.model.weights is not None):  # a pilot's weights also scale the l1 norm
        return None
    own = None if lasso is None else Objective.of(law.table, event, shown.model, shown.released)
    return None if own is None or lasso is None else own.density(lasso)


@unlisted_of(ObjectiveEvent)
def _lasso(event: ObjectiveEvent, law: ReleaseDensity, shown: Shown) -> Unlisted:
    if event.coordinates is not None or shown.model is None:
        return Unlisted()
    own = Objective.of(law.table, event, shown.model, shown.released)
    return Unlisted(lasso=None if own is None else own.lasso)
