"""From public facts to perturbed objectives: the penalty, the noise, and the two stages of the adaptive method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain import CONSTANT
from discreet.gate.objective import Stages, Task
from discreet.models.outcome import Label
from discreet.privacy.events.objective import Calibration, ObjectiveEvent
from discreet.released.solve.newton import Penalty

_SECOND = (0.7, 0.5)
"""Of epsilon and of delta: what the second stage of the adaptive method is held to, declared beforehand."""

_LARGEST_WEIGHT = 1e3


@dataclass(frozen=True)
class Wish:
    """The penalty that the user asks for, in units of the mapped columns.

    Parameters
    ----------
    kind : {"l2", "l1", "elasticnet"}
        Which norms it has.
    alpha : float, optional
        Its strength; chosen by a public rule by default.
    l1_ratio : float
        The share of the l1 norm in an elastic net.
    """

    kind: str
    alpha: float | None
    l1_ratio: float

    @property
    def ratio(self) -> float:
        """The share of the l1 norm."""
        return {"l2": 0.0, "l1": 1.0}.get(self.kind, self.l1_ratio)

    def modulus(self, calibration: Calibration, count: int) -> float:
        """lambda: the quadratic part of the penalty counts towards what privacy needs; what is missing is added."""
        least = calibration.least_modulus(count)
        if self.alpha is None:
            return public_modulus(calibration, count)
        return max(self.alpha * (1 - self.ratio), least / 2)

    def penalty(self, calibration: Calibration, modulus: float, scale: float) -> Penalty:
        """The penalty with this modulus; the constant has no l1 norm."""
        strength = scale if self.alpha is None else self.alpha
        slopes = np.array([name != CONSTANT for name in calibration.design], dtype=float)
        return Penalty(np.full(len(slopes), modulus), strength * self.ratio * slopes)


def public_modulus(calibration: Calibration, count: int = 1) -> float:
    """The penalty when none is given, from the promise, the bounds and the number of coefficients only.

    It is the least that hardly costs privacy, or more where the noise is large: the noise alone, of norm
    sigma sqrt(d), then moves theta by at most ten.
    """
    least = calibration.least_modulus(count)
    scale = calibration.calibrate(least, count).scale
    return max(least, 0.1 * scale * math.sqrt(len(calibration.design)))


def one_stage(calibration: Calibration, wish: Wish, labels: Sequence[Label], radius: float | None) -> list[Task]:
    """One perturbed objective for each linear predictor."""
    modulus = wish.modulus(calibration, len(labels))
    event = calibration.calibrate(modulus, len(labels))
    penalty = wish.penalty(calibration, modulus, event.scale)
    return [Task(label, penalty, event, radius) for label in labels]


@dataclass(frozen=True)
class TwoStages:
    """A private pilot, and a second objective whose weights come from it; held to a promise declared beforehand.

    With Lambda the least modulus of the second stage, w_j = Lambda max(1, 1/|pilot_j|): regressors that the pilot
    finds small are penalised more, the constant as little as any of them. The least of the w_j is public once the
    pilot is, so where all exceed Lambda the second stage needs less noise for what it declared: what Lambda would
    have cost is recycled.

    Examples
    --------
    >>> TwoStages.weights(np.array([4.0, 0.5, 0.0]))
    array([   1.,    2., 1000.])
    """

    calibration: Calibration
    wish: Wish
    labels: Sequence[Label]
    reserved: list[ObjectiveEvent]
    pilot: list[Task]

    @classmethod
    def plan(cls, calibration: Calibration, wish: Wish, labels: Sequence[Label]) -> TwoStages:
        """Declare the second stage, and give the pilot what it leaves."""
        count = len(labels)
        second = cls._second(calibration, count)
        least = wish.modulus(second, 1) / 2 if wish.alpha is None else wish.modulus(second, 1)
        reserved = [second.stage(least)] * count
        modulus = public_modulus(replace(calibration, epsilon=calibration.epsilon * (1 - _SECOND[0])), count)
        event = calibration.calibrate(modulus, count, reserved)
        ridge = Wish("l2", None, 0.0).penalty(calibration, modulus, event.scale)
        return cls(calibration, wish, labels, reserved, [Task(label, ridge, event) for label in labels])

    @staticmethod
    def _second(calibration: Calibration, count: int) -> Calibration:
        epsilon, delta = calibration.epsilon * _SECOND[0] / count, calibration.delta * _SECOND[1] / count
        return replace(calibration, epsilon=epsilon, delta=delta)

    @staticmethod
    def weights(pilot: Floats) -> Floats:
        """max(1, 1/|pilot_j|), at most 1,000."""
        return np.clip(1 / np.maximum(np.abs(pilot), 1 / _LARGEST_WEIGHT), 1.0, _LARGEST_WEIGHT)

    def stages(self) -> Stages:
        """The pilot, and the second stage given the pilot."""
        second = self._second(self.calibration, len(self.labels))
        least = self.reserved[0].modulus

        def tasks(pilots: list[Floats]) -> list[Task]:
            return [self._task(second, least, label, pilot) for label, pilot in zip(self.labels, pilots, strict=True)]

        return Stages(self.pilot, self.reserved, tasks)

    def _task(self, second: Calibration, least: float, label: Label, pilot: Floats) -> Task:
        weights = self.weights(pilot)
        slopes = np.array(second.design) != CONSTANT
        weights = np.where(slopes, weights, weights[slopes].min(initial=_LARGEST_WEIGHT) if slopes.any() else 1.0)
        event = second.stage(least * float(weights.min()))
        plain = self.wish.penalty(second, least, event.scale)
        return Task(label, Penalty(plain.quadratic * weights, plain.l1 * weights), event)
