"""The density of the moves of gradient descent, given the table.

With all rows (theta_t - theta_t+1)/step ~ N(X'X theta_t - X'y, sd_t^2). With sampled batches the mean is the sum of the
clipped gradients of the rows drawn: a mixture over the numbers of distinct rows in the batch.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import binom

from discreet.audit.densities import Density, Shown, Unlisted, normal
from discreet.audit.laws import ReleaseDensity, density_of, unlisted_of
from discreet.core.arrays import Floats
from discreet.data.reading import Table
from discreet.data.rows import Rows
from discreet.domain import Domain
from discreet.mechanisms.gradient_descent.batches_release import GRADIENT_BITS, clipped_gradients
from discreet.mechanisms.gradient_descent.estimator import RADIUS
from discreet.mechanisms.gradient_descent.event import BatchesEvent, DescentEvent, GradientEvent

_MOST_SUMS = 4000
"""The largest number of different sums that a batch may have."""

_EDGE = 1e-3
"""Iterates this close to the boundary of the ball may have been projected onto it."""

_NEVER = 1e-9
"""The probability that iterates of pure noise leave the ball within the steps whose noise is tested."""


@density_of(GradientEvent)
def _descent(event: GradientEvent, law: ReleaseDensity, shown: Shown) -> Density | None:
    if (step := shown.unlisted.step) is None:
        return None
    G, v = law.products(event.design, event.target, shown.domain)
    theta = np.reshape(event.iterates, (-1, len(event.design)))
    moved = (theta - np.vstack([theta[1:], shown.theta])) / step
    return normal((moved - (theta @ G - v)) / np.array(event.sds)[:, None])


@density_of(BatchesEvent)
def _batches(event: BatchesEvent, law: ReleaseDensity, shown: Shown) -> Density | None:
    """The density of the moves of the iterates: a mixture over the sums of clipped gradients that a batch may have."""
    if (step := shown.unlisted.step) is None:
        return None
    kinds = _kinds(event, law, shown.domain)
    if math.prod(int(n) + 1 for n in kinds.counts) > _MOST_SUMS:
        return None
    theta, d = np.reshape(event.iterates, (-1, len(event.design))), len(event.design)
    points = np.vstack([theta, shown.theta])
    moves = (points[:-1] - points[1:]) / step
    drawn, chances = kinds.samples(event.rate)
    z = (moves[:, None] - drawn @ _gradients(kinds, event, theta)) / event.sd
    logarithm = float(np.sum(logsumexp(chances - np.sum(z * z, axis=2) / 2, axis=1)))
    radius = RADIUS * event.outcome / event.norm * math.sqrt(d)
    inside = bool((np.linalg.norm(points, axis=1) < radius - _EDGE).all())
    free = int((radius / (step * event.sd)) ** 2 / (2 * d * math.log(4 * d / _NEVER)))
    still = not kinds.X.any() and free > 0
    return Density(logarithm, np.ravel(moves[:free] / event.sd) if still else None, inside)


@unlisted_of(GradientEvent)
def _step(event: GradientEvent, law: ReleaseDensity, shown: Shown) -> Unlisted:
    _, v = law.products(event.design, event.target, shown.domain)
    return _moved(event, v, shown)


@unlisted_of(BatchesEvent)
def _batch_step(event: BatchesEvent, law: ReleaseDensity, shown: Shown) -> Unlisted:
    kinds = _kinds(event, law, shown.domain)
    return _moved(event, -kinds.counts @ _gradients(kinds, event, np.zeros((1, len(event.design))))[0], shown)


def _moved(event: DescentEvent, v: Floats, shown: Shown) -> Unlisted:
    """Infer the step size from the first move of a fit without noise, along minus the gradient v at 0."""
    first = np.vstack([np.reshape(event.iterates, (-1, len(v))), shown.theta])[1]
    k = int(np.argmax(np.abs(v)))
    return Unlisted(step=float(first[k] / v[k]) if v[k] != 0 else None)


@dataclass(frozen=True, eq=False)
class Kinds:
    """The distinct rows of a table, and their multiplicities."""

    X: Floats
    y: Floats
    counts: NDArray[np.int64]

    def samples(self, rate: float) -> tuple[Floats, Floats]:
        """All possible multiplicities in a sample, one per row, and their log probabilities."""
        drawn = np.array(list(itertools.product(*(range(n + 1) for n in self.counts))), dtype=float)
        chances: Floats = np.asarray(binom.logpmf(drawn, self.counts, rate), dtype=np.float64)
        return drawn, chances.sum(axis=1)


def _gradients(kinds: Kinds, event: BatchesEvent, theta: Floats) -> Floats:
    """The clipped gradients of each distinct row at each of some points."""
    clip = event.clip - math.sqrt(len(event.design)) * 2.0 ** -(GRADIENT_BITS + 1)
    found = [clipped_gradients(kinds.X, kinds.y, at, clip).astype(float) for at in theta]
    return np.asarray(np.ldexp(found, -GRADIENT_BITS), dtype=np.float64)


def _kinds(event: BatchesEvent, law: ReleaseDensity, domain: Domain) -> Kinds:
    def work() -> Kinds:
        rows = Rows(Table.of(law.table, domain, 1), event.design, domain.column_of[event.target])
        every = np.vstack(rows.each(lambda X, y: np.column_stack([X, y])))
        own, counts = np.unique(every, axis=0, return_counts=True)
        return Kinds(own[:, :-1], own[:, -1], counts)

    return law.once(("kinds", event.design, event.target, domain), work)
