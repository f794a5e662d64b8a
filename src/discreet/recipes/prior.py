"""The prior of a generalised linear model, from the releases before it: ``docs/mathematics``, 13.3.

The penalty shrinks gamma = r P^-1 theta to a centre, as strongly as the noise requires. For counts the centre is the
model that predicts their mean. For a binary outcome it is a linear probability model, fitted to the products of the
first stage, converted to log odds as if both classes were normal with the same covariance: with p the share of the
second class, R^2 that of the line, and b its slopes,

    log odds = logit(p) sqrt(1 + var/2.9) + b'(x - mean)/(p (1 - p) (1 - R^2))
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain import CONSTANT
from discreet.domain.coordinates import Coordinates
from discreet.mechanisms.objective_perturbation.event import ObjectiveEvent
from discreet.privacy.values import ReleasedStage
from discreet.recipes.glm_geometry import (
    Lead,
    ModelGeometry,
    Scale,
)
from discreet.solve.joint import Normal, joint
from discreet.solve.location import Hypothesis, Location

_EXPECTED = {"a class": (0.2, 0.17), "a count": (0.3, 0.04)}
"""Expected variance of a row's predictor, and expected squared deviation of the intercept from its centre, each times
the curvature of a row's loss; for a count, in units of the mean."""

CURVATURE = 0.2
"""Curvature of the loss of a class at a typical row."""

_MISFIT = 0.1
"""Expected mean squared deviation of log odds from those of the line, relative to the mean square of the latter."""

_RAREST, _MOST_EXPLAINED = 0.1, 0.6
"""The smallest share of a class, and the largest R^2 of the line, that are assumed: beyond them log odds would mostly
depend on noise."""

_PROBIT = 2.9
"""The factor sqrt(1 + var/2.9) converts log odds of the mean to log odds at the mean."""

_STRONGEST = 256.0
"""No penalty exceeds this multiple of the noise sd: rounding errors, which the noise must hide, grow with the
penalty."""


class Prior(NamedTuple):
    """The prior of gamma.

    Parameters
    ----------
    centre : array
        Its mean.
    expected : array
        The variance of each coordinate times the curvature of a row, in whitened axes; for a count, times the mean.
    """

    centre: Floats
    expected: Floats

    def penalties(self, event: ObjectiveEvent, rows: float) -> Floats:
        """Return the quadratic penalty of each coordinate of gamma: at least the modulus, more where noise is large.

        With v = H gamma + b, b of sd sigma, and gamma of variance tau, lambda = sigma^2/(tau H) has the least error.

        Parameters
        ----------
        event : ObjectiveEvent
            The noise, and the modulus that privacy needs.
        rows : float
            The number of rows.
        """
        called = event.scale**2 / (max(rows, 1.0) * self.expected)
        return np.maximum(event.modulus, np.minimum(called, _STRONGEST * event.scale))


def prior(
    course: ModelGeometry, stage: ReleasedStage | None, scale: Scale | None, own: Coordinates, known: Lead | None
) -> Prior:
    """Return the prior of gamma in the coordinates of the model.

    Parameters
    ----------
    course : ModelGeometry
        The geometry of the columns.
    stage : ReleasedStage, optional
        The first stage, if there was one.
    scale : Scale, optional
        The scale of counts.
    own : Coordinates
        The coordinates of the model.
    known : Lead, optional
        The binary outcome of the first stage.
    """
    plain = _plain(own, scale)
    if stage is None or known is None:
        return plain
    law = log_odds(course, stage, known)
    gamma = law.through(np.asarray(own.radius * np.linalg.inv(own.P.floats), dtype=np.float64))
    slopes = gamma.mean[1:]
    tau = np.diag(gamma.covariance) + _MISFIT * float(slopes @ slopes) / len(slopes)
    expected = CURVATURE * tau / own.radius**2
    expected[0] = plain.expected[0]
    return Prior(gamma.mean, expected)


def _plain(own: Coordinates, scale: Scale | None) -> Prior:
    """Return the prior where nothing is known of the slopes."""
    q, constant = len(own.design), own.design[0] == CONSTANT
    slopes, first = _EXPECTED["a class" if scale is None else "a count"]
    centre, expected = np.zeros(q), np.full(q, slopes / q)
    if constant:
        expected[0] = first
    if scale is not None:
        expected *= scale.mean
    if scale is not None and constant:
        rate = scale.mean / scale.exposure
        centre = np.linalg.solve(own.P.floats, own.radius * math.log(rate) * np.eye(q)[0])
    return Prior(np.asarray(centre, dtype=np.float64), expected)


def log_odds(course: ModelGeometry, stage: ReleasedStage, known: Lead) -> Normal:
    """Return the prior law of the coefficients that a linear probability model implies for log odds."""
    own, n, (centre, half) = stage.event.coordinates, max(course.rows, 1.0), known.units
    ((b,),), middle, spread = own.widths, (0.5 - centre) / half, 0.5 / half
    about = Location(n, middle, spread, (Hypothesis(1.0, middle, spread**2 / 3),))
    energy = float(stage.gram[0, 0]) * (own.radius * spread / b) ** 2 / n
    line = joint([stage], known.name, about, max(course.axes.known, 1.0), constant=True, energy=energy)
    first, mean = np.eye(len(line.mean))[0], line.gram[0] / n
    m, C = centre * first + half * line.mean, half**2 * line.law.covariance
    p = min(max(float(mean @ m), _RAREST), 1 - _RAREST)
    variance = min(p * (1 - p) + float(mean @ C @ mean), 0.25)
    explained = max(float(m @ (line.gram / n - np.outer(mean, mean)) @ m), 0.0)
    k = 1 / (variance * (1 - min(explained / variance, _MOST_EXPLAINED)))
    M = k * (np.eye(len(m)) - np.outer(first, mean))
    M[:, 0] = 0.0
    at_mean = math.log(p / (1 - p)) * math.sqrt(1 + k**2 * explained / _PROBIT)
    return Normal(M @ m + at_mean * first, M @ C @ M.T)
