"""ObjectivePerturbation: linear regression by a perturbed, constrained least-squares objective (wang2018)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from discreet.core import checks
from discreet.core.citations import as_published
from discreet.domain import Domain
from discreet.errors import ParameterError
from discreet.families import NORMAL, Family, Loss
from discreet.families.base import Outcome
from discreet.mechanisms.objective_perturbation.event import Calibration
from discreet.mechanisms.objective_perturbation.release import Task
from discreet.models.perturbed import PerturbedRegressor, one_stage
from discreet.privacy.guarantee import Guarantee
from discreet.solve.newton import WeightedPenalty

_REASON = (
    "wang2018 names no constants; these are the ones of the theorem that it cites (Kifer, Smith, Thakurta 2012), "
    "which is about exact minimisers, and whose proof for Gaussian noise we did not check. The authors' code divides "
    "by epsilon squared instead (E25)."
)


@dataclass(kw_only=True, eq=False, repr=False)
class ObjectivePerturbation(PerturbedRegressor):
    """Linear regression by objective perturbation.

    theta minimises sum_i (x_i'theta - y_i)^2/2 + penalty + b'theta, for columns and outcome mapped to [-1, 1], b
    being noise. The loss goes on linearly where |x'theta| > 1, beyond the bounds of the outcome; or, with `radius`,
    theta is constrained to |theta| <= radius and the loss goes on linearly beyond what such a theta can predict.
    `DPLinearRegression` is more accurate; this is for comparison, and for l1 penalties inside the objective.

    Parameters
    ----------
    {common}
    {penalties}
    radius : float, optional
        The largest norm of theta, in units of the mapped columns: a public choice, for the noise grows with it.
    published : {None, "wang2018", "wang2018-code"}
        Use the constants of the theorem that wang2018 cites, or what its authors' code does, halved coefficients
        included; the guarantee is then `claimed`. `radius` is then 1 by default.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(0, 1, (5000, 2))
    >>> model = ObjectivePerturbation(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2)).fit(X, X.sum(axis=1))
    >>> model.coef_.shape, model.certificate_.guarantee.status
    ((2,), 'verified')
    """

    papers: ClassVar[tuple[str, ...]] = ("wang2018", "wang2018-code")
    family: ClassVar[Family] = NORMAL

    radius: float | None = None
    published: str | None = None

    def _check(self) -> Guarantee:
        promise = super()._check()
        if self.radius is not None:
            checks.positive("radius", self.radius)
        if self._paper is not None:
            plain = self.penalty == "l2" and self.alpha is None and self.noise == "gaussian" and not self.adaptive
            if promise.neighbors != "add-remove" or not plain:
                raise ParameterError(
                    "published= follows the paper, which is about add-remove neighbours, Gaussian noise and a penalty "
                    "that privacy decides: leave penalty, alpha, noise and adaptive as they are."
                )
            promise = replace(promise, status="claimed", reason=_REASON)
        if self.adaptive and self.radius is not None:
            raise ParameterError("adaptive=True has no constraint: leave radius=None.")
        return promise

    @property
    def _radius(self) -> float | None:
        return 1.0 if self._paper is not None and self.radius is None else self.radius

    def _loss(self, domain: Domain, outcome: Outcome, norm: float) -> Loss:
        return self.family.loss(1.0 if self._radius is None else max(1.0, norm * self._radius))

    def _tasks(self, calibration: Calibration, domain: Domain, outcome: Outcome) -> list[Task]:
        labels = self.family.labels(domain, outcome)
        if self._paper is None:
            tasks = one_stage(calibration, self._penalty_spec(), labels, self._radius)
            if self.penalty != "l2" or self._radius is not None:
                return tasks
            name = domain.entries[domain.target(outcome.name)].name
            return [replace(task, event=replace(task.event, target=name)) for task in tasks]
        e, d = calibration.epsilon, calibration.delta
        if self._paper == "wang2018-code":
            # (X'X + 2/e^2 I) theta = (X'y - b)/2, b of sd 2 sqrt(4 log(2/delta) + 2 e)/e^2, |theta| <= radius (E25)
            labels = [lambda y: y / 2]
            event = calibration.event(2 / e**2, math.sqrt(4 * math.log(2 / d) + 2 * e) / e**2)
        else:
            L, b = calibration.norm * calibration.loss.slope, calibration.norm**2 * calibration.loss.curvature
            event = calibration.event(2 * b / e, L * math.sqrt(8 * math.log(2 / d) + 4 * e) / e)
        zero = np.zeros(len(calibration.design))
        penalty = WeightedPenalty(zero + event.modulus, zero)
        return [Task(label, penalty, event, self._radius) for label in labels]

    @property
    def _method(self) -> str:
        return as_published(super()._method, self._paper)
