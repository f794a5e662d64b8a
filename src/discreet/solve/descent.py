"""Noisy gradient descent with momentum, for wide tables: ``docs/mathematics``, section 14.3.

A step at gamma releases c, the sum of u e at that model plus noise of sd s, in units in which the predictor of a row is
gamma'u. With n rows and a rate a,

    v <- beta v + (1 - beta) b c/n          gamma <- gamma + a v

T steps of rate a take the time tau = T a, after which noise alone has moved the predictor of a row by a given sd: the
noise of all steps together is that of one release with their whole mu, so that it is tau s_T/n whatever their number
is. Scores of successive models tell by how much the loss fell, up to noise whose expectation is known; the estimate is
the last model whose loss is within noise of the least.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from discreet.core.arrays import Floats

_MOMENTUM = 0.8
_UNSURE = 2.0
"""Losses within this many sds of the least one are taken as equal."""


@dataclass(frozen=True, eq=False)
class Descent:
    """The models of a descent so far.

    Parameters
    ----------
    rows : float
        n.
    steps : int
        The number of steps, T.
    width : float
        b, the half width of residuals, in which scores are measured.
    time : float
        tau.
    models : tuple of array (q, m)
        gamma before the first step, and after each.
    losses, variances : tuple of float
        How much the loss of each model exceeds that of the first, and the variance of the noise of that.
    """

    rows: float
    steps: int
    width: float
    time: float
    models: tuple[Floats, ...]
    losses: tuple[float, ...] = (0.0,)
    variances: tuple[float, ...] = (0.0,)
    _velocity: Floats = field(default_factory=lambda: np.zeros(()))
    _score: Floats = field(default_factory=lambda: np.zeros(()))

    @property
    def gamma(self) -> Floats:
        """The model of the next step."""
        return self.models[-1]

    @property
    def _rate(self) -> float:
        return self.time / self.steps

    def after(self, score: Floats, sd: float) -> Descent:
        """Return the descent after one more step, given the noisy score at its model and the sd of its noise."""
        c = self.width / self.rows
        told = self if len(self.models) == 1 else self._told(score, sd)
        velocity = _MOMENTUM * self._velocity + (1 - _MOMENTUM) * c * score
        models = (*self.models, self.gamma + self._rate * velocity)
        return replace(told, models=models, _velocity=velocity, _score=score)

    def _told(self, score: Floats, sd: float) -> Descent:
        """Return the descent with the loss of its last model: by the trapezoidal rule from the scores at both ends.

        The score at the beginning of a move is part of it, and so the expected square of its noise is taken away.
        """
        c, move = self.width / self.rows, self.models[-1] - self.models[-2]
        own = self._rate * (1 - _MOMENTUM) * c * sd**2 * move.size
        fall = c * (float(np.sum(self._score * move)) - own + float(np.sum(score * move))) / 2
        noise = (c * sd) ** 2 * float(np.sum(move**2)) / 2
        losses, variances = (*self.losses, self.losses[-1] - fall), (*self.variances, self.variances[-1] + noise)
        return replace(self, losses=losses, variances=variances)

    @property
    def estimate(self) -> Floats:
        """The last model whose loss is within noise of the least.

        The loss of the very last one is not known; the one before it, from which it hardly differs, stands for it.
        """
        best = int(np.argmin(self.losses))
        noise = _UNSURE * np.sqrt(np.abs(np.array(self.variances) - self.variances[best]))
        near = np.flatnonzero(np.array(self.losses) <= self.losses[best] + noise)
        chosen = int(near[-1])
        return self.models[-1] if chosen == len(self.losses) - 1 else self.models[chosen]
