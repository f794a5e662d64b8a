"""Densities of released values, given a table, and the noise computed back from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammainc, gammaincinv, ndtri
from scipy.stats import laplace, norm, truncnorm

from discreet.core.arrays import Floats
from discreet.domain import Domain
from discreet.mechanisms.objective_perturbation.event import Noise
from discreet.privacy.values import GridValues
from discreet.released.moments import ReleasedMoments

_LEAST = 1e-300


@dataclass(frozen=True)
class Density:
    """The logarithm of a density, up to a constant for all tables, and the noise in units of its listed sd."""

    logarithm: float = 0.0
    noise: Floats | None = None
    known: bool = True
    """Whether the density is known for all tables."""

    def __add__(self, other: Density) -> Density:
        parts = [own.noise for own in (self, other) if own.noise is not None]
        noise = np.concatenate(parts) if parts else None
        return Density(self.logarithm + other.logarithm, noise, self.known and other.known)


class AuditedModel(NamedTuple):
    """Released coefficients, the index of their class, and the penalty weights from a pilot."""

    theta: Floats
    place: int = 1
    weights: Floats | None = None


@dataclass(frozen=True)
class Unlisted:
    """Figures that a certificate does not list, as no promise depends on them; a fit without noise reveals them."""

    step: float | None = None  # the step size of gradient descent
    lasso: float | None = None  # the weight of an l1 norm in an objective


@dataclass(frozen=True)
class Shown:
    """The released values of one event."""

    released: ReleasedMoments  # the certificate, and all released statistics
    values: Sequence[Sequence[GridValues]] = ()  # those of the event
    model: AuditedModel | None = None  # in units of the mapped columns
    unlisted: Unlisted = Unlisted()  # figures that the certificate does not list

    @property
    def theta(self) -> Floats:
        """The coefficients."""
        if self.model is None:
            raise ValueError("no coefficients were released")
        return self.model.theta

    @property
    def domain(self) -> Domain:
        """The bounds that rows were clipped to."""
        return self.released.domain


def normal(noise: Any, logarithm: float = 0.0) -> Density:
    """The density of standard normal noise, times a factor that depends on the table."""
    own = np.ravel(np.asarray(noise, dtype=float))
    return Density(logarithm - float(own @ own) / 2, own)


def spherical(b: Floats, logarithm: float, noise: Noise) -> Density:
    """The density of standard normal or spherical Laplace noise, times a factor that depends on the table."""
    if noise == "gaussian":
        return normal(b, logarithm)
    return Density(logarithm - float(np.linalg.norm(b)), normal_scores(b))


def normal_scores(b: Floats) -> Floats:
    """Map spherical Laplace noise to standard normals in the same direction, with the same quantile of the norm.

    Examples
    --------
    >>> lengths = np.random.default_rng(0).gamma(3, size=4000)
    >>> scores = np.array([normal_scores(np.array([0.0, length, 0.0])) for length in lengths])
    >>> bool(abs((scores**2).sum(axis=1).mean() - 3) < 0.15)
    True
    """
    length, d = float(np.linalg.norm(b)), len(b)
    if length == 0:
        return b
    return b / length * math.sqrt(2 * float(gammaincinv(d / 2, float(gammainc(float(d), length)))))


def between(low: float, high: float, noise: Noise) -> float:
    """The probability that a single noise value lies between two limits.

    Examples
    --------
    >>> round(between(-1.0, 1.0, "gaussian"), 4), round(between(-1.0, 1.0, "laplace"), 4)
    (0.6827, 0.6321)
    """
    law = norm if noise == "gaussian" else laplace
    low, high = (-high, -low) if low > 0 else (low, high)  # where differences keep their digits
    return max(float(law.cdf(high) - law.cdf(low)), _LEAST)


def truncated(theta: float, mean: float, sd: float, radius: float) -> Density:
    """The density of a normal truncated to [-radius, radius]; uniform if the sd is infinite.

    Examples
    --------
    >>> truncated(0.0, 0.0, math.inf, 2.0).noise, truncated(3.0, 3.0, 1.0, 100.0).noise
    (array([0.]), array([0.]))
    """
    if math.isinf(sd):
        return Density(-math.log(2 * radius), np.array([ndtri((theta / radius + 1) / 2)]))
    law = truncnorm((-radius - mean) / sd, (radius - mean) / sd, mean, sd)
    above = theta > law.median()  # where the smaller tail keeps its digits
    score = -ndtri(max(law.sf(theta), _LEAST)) if above else ndtri(max(law.cdf(theta), _LEAST))
    return Density(float(law.logpdf(theta)), np.array([float(score)]))
