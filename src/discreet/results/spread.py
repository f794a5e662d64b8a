"""Residual standard deviation, R^2, and the variance as a function of the prediction."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import stats

from discreet.core.arrays import Floats
from discreet.core.field_kinds import NUMBER, many
from discreet.core.fields import Fields, FileRecord
from discreet.domain import CONSTANT, Domain
from discreet.errors import FileFormatError
from discreet.released.moments import ReleasedMoments
from discreet.released.units import UserUnits
from discreet.solve.debiased import Debiased, through_noise
from discreet.solve.equations import NormalEquations
from discreet.solve.outcome import shares

_LEAST = 0.1
"""The variance around any prediction is at least this share of the mean one."""

_NORMAL = 3.0
"""The kurtosis of normal errors."""


@dataclass(frozen=True)
class OutcomeSpread(FileRecord):
    """Outcomes around the line, in the user's units; `FIELDS` describes each number.

    `df` is that of a sample of normal errors that tells sigma2 as well as the release does. Without score products the
    slope is 0; without released counts there are no `edges`.
    """

    sigma2: float
    df: float
    explained: float
    explained_error: float
    level: float
    slope: float
    edges: tuple[float, ...] = ()
    within: tuple[float, ...] = ()

    @property
    def sigma(self) -> float:
        """The standard deviation of outcomes around the line."""
        return math.sqrt(self.sigma2)

    def sigma_interval(self, level: float) -> tuple[float, float]:
        """A confidence interval for sigma."""
        low, high = (float(stats.chi2.ppf(share, self.df)) for share in ((1 + level) / 2, (1 - level) / 2))
        ends = [math.sqrt(self.sigma2 * self.df / end) if end > 0 else math.inf for end in (low, high)]
        return ends[0], ends[1]

    def explained_interval(self, level: float) -> tuple[float, float]:
        """A confidence interval for R^2, cut off at 0 and 1."""
        half = float(stats.norm.ppf((1 + level) / 2)) * self.explained_error
        return max(0.0, self.explained - half), min(1.0, self.explained + half)

    def reach(self, level: float) -> float:
        """Half-width, in sds, that contains a share of the outcomes: by the t law, or by released counts if larger.

        Examples
        --------
        >>> heavy = OutcomeSpread(1.0, 1e9, 0.5, 0.1, 1.0, 0.0, (1.0, 2.0, 4.0), (0.8, 0.9, 1.0))
        >>> round(heavy.reach(0.8), 2), round(heavy.reach(0.95), 2)
        (1.28, 2.83)
        """
        t = float(stats.t.ppf((1 + level) / 2, self.df))
        k = int(np.searchsorted(self.within, level))
        if not 0 < k < len(self.edges):
            return t
        part = (level - self.within[k - 1]) / (self.within[k] - self.within[k - 1])
        counted = float(self.edges[k - 1] ** (1 - part) * self.edges[k] ** part)
        return max(t, counted / self.sigma)

    def variance(self, predicted: Floats) -> Floats:
        """The variance of outcomes around each of some predictions."""
        return np.maximum(self.level + self.slope * predicted, _LEAST * self.sigma2)

    FIELDS = Fields(
        "spread",
        "The spread of outcomes around the line.",
        sigma2=NUMBER("Variance of outcomes around the line."),
        df=NUMBER("The degrees of freedom of sigma2."),
        explained=NUMBER("R^2, which may be below 0 because of noise."),
        explained_error=NUMBER("The standard error of R^2."),
        level=NUMBER,
        slope=NUMBER("The variance around a prediction is level + slope * prediction."),
        edges=many(NUMBER)(absent=(), old=True),
        within=many(NUMBER)("The shares of residuals within these half widths.", absent=(), old=True),
    )

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Rebuild from `to_dict`."""
        found = super().from_dict(facts)
        rising = all(a <= b for held in (found.edges, found.within) for a, b in itertools.pairwise((0.0, *held)))
        if len(found.edges) != len(found.within) or not rising:
            raise FileFormatError("it is damaged: shares of residuals do not fit together.")
        return found


def spread_of(released: ReleasedMoments, e: NormalEquations, fit: Debiased, units: UserUnits) -> OutcomeSpread:
    """Return the spread, in units of the clipped outcome; `fit` is that of the residuals, from `rotated` equations."""
    n, sigma2, yy, s_yy = max(e.n - e.d, 1.0), fit.sigma2 or 0.0, e.yy or 0.0, e.s_yy or 0.0
    peak = max(kurtosis(released, e.target), 1.2)
    df = 2 / ((peak - 1) / n + fit.sigma2_error / sigma2**2)
    theta = e.rotation @ fit.theta + (0.0 if e.offset is None else e.offset[:, 0])
    ones = constant_sum(released.domain, e.names)
    mean = float(e.v @ ones) / max(float(ones @ e.S @ ones), 1.0)
    total = max(yy - mean * float(e.v @ ones), s_yy)
    explained = 1 - sigma2 * n / total
    around = np.linalg.solve(e.rotation, theta - mean * ones)
    of_total = s_yy**2 + 4 * e.s_xy**2 * float(around @ around)
    of_total += float(around @ through_noise(fit.W, np.outer(around, around), fit.L) @ around)
    chance = 4 * max(explained, 0.0) * (1 - explained) ** 2 * (peak - 1) / 2 / n
    noise = (fit.sigma2_error * n**2 + (1 - explained) ** 2 * of_total) / total**2
    level, slope = _line(e, sigma2, theta) if released.domain.unit.plain else (sigma2, 0.0)
    h, (_, centre) = units.half, units.params(np.zeros(len(theta)))
    ends = h**2 * level - h * slope * centre, h * slope
    edges, within = _within(released, e.target)
    shape = tuple((h * edges).tolist()), tuple(within.tolist())
    return OutcomeSpread(h**2 * sigma2, df, explained, math.sqrt(chance + noise), *ends, *shape)


def constant_sum(domain: Domain, names: Sequence[str]) -> Floats:
    """Weights of regressors whose weighted sum is 1 in every row: the intercept, or all levels of a category; or none.

    Examples
    --------
    >>> constant_sum(Domain({"sex": ["F", "M"], "y": (0, 1)}, intercept=False), ["sex[F]", "sex[M]"])
    array([1., 1.])
    """
    ones, place = np.zeros(len(names)), {name: i for i, name in enumerate(names)}
    if names[0] == CONSTANT:
        ones[0] = 1.0
        return ones
    for column, spec in domain.columns.items():
        levels = [domain.entries[i].name for i in domain.positions[column]]
        if spec.levels and not spec.factors and place.keys() >= set(levels):
            ones[[place[level] for level in levels]] = 1.0
            return ones
    return ones


def kurtosis(released: ReleasedMoments, target: str) -> float:
    """Kurtosis of the residuals from the counts of the last stage; that of the normal law where there are none."""
    if not released.stages or released.mean_alone:
        return _NORMAL
    stage = released.stages[-1]
    own = stage.event.coordinates
    j = own.outcomes.index(target)
    edges = np.array(own.widths[j])
    middles = np.concatenate([[edges[0] / math.sqrt(3)], np.sqrt(edges[1:] * edges[:-1]), [edges[-1]]])
    sizes = np.minimum(middles, stage.event.widths[j])
    counts, sd = stage.counts(target), stage.sd("counts", target)
    p = np.maximum(counts, 0.0) * (counts > sd)
    squares = float(p @ sizes**2)
    return float(p.sum() * (p @ sizes**4) / squares**2) if squares > 0 else _NORMAL


def _within(released: ReleasedMoments, target: str) -> tuple[Floats, Floats]:
    """Half widths of the last stage, and the shares of residuals that lie within them."""
    if not released.stages or released.mean_alone:
        return np.zeros(0), np.zeros(0)
    stage = released.stages[-1]
    own, counts = stage.event.coordinates, stage.counts(target)
    p = shares(counts, max(float(counts.sum()), 1.0))
    return np.array(own.widths[own.outcomes.index(target)]), np.minimum(np.cumsum(p)[:-1], 1.0)


def _line(e: NormalEquations, sigma2: float, theta: Floats) -> tuple[float, float]:
    """The variance around a prediction p = x'theta as level + slope p, from sums of e^2, e^2 p, 1, p and p^2.

    The slope is drawn towards 0 as far as it may be noise.
    """
    if e.score_products is None or e.s_score_products is None or e.names[0] != CONSTANT:
        return sigma2, 0.0
    M, S = e.score_products[0], e.S
    n, p = max(float(S[0, 0]), 1.0), float(S[0] @ theta)
    pp = float(theta @ S @ theta) - p**2 / n
    if pp <= 1e-12 * n:
        return sigma2, 0.0
    slope = (float(M[0] @ theta) - p / n * float(M[0, 0])) / pp
    one, line = np.linalg.solve(e.rotation, np.column_stack([np.eye(len(theta))[0], theta])).T
    line = line - p / n * one
    products = float(one @ one) * float(line @ line) + float(one @ line) ** 2
    noise = e.s_score_products[0] ** 2 / 2 * products / pp**2
    slope *= slope**2 / (slope**2 + noise) if slope else 0.0
    return sigma2 - slope * p / n, slope
