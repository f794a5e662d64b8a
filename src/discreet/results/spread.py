"""Residual standard deviation, R^2, and the variance as a function of the prediction."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import stats

from discreet.core.arrays import Floats
from discreet.core.field_kinds import ABOVE_0, FROM_0, NUMBER, many, maybe, record, whole
from discreet.core.fields import Fields, FileRecord
from discreet.domain import CONSTANT, Domain
from discreet.errors import FileFormatError
from discreet.released.moments import ReleasedMoments
from discreet.released.units import UserUnits
from discreet.results.residual_tail import SHARES, residual_tail
from discreet.solve.debiased import Debiased, through_noise
from discreet.solve.equations import NormalEquations
from discreet.solve.outcome import shares
from discreet.solve.tails import inside

_LEAST = 0.1
"""The variance around any prediction is at least this share of the mean one."""

_LARGEST = 2.0
"""The largest residual of a mapped outcome, where predictions stay in its range."""

_NORMAL = 3.0
"""The kurtosis of normal errors."""


_SURE, _VISIBLE = 0.975, 0.04
"""Residuals count as cut if what lies beyond adds this share to their variance with this probability."""

_SHIFT = 2.5
"""Fitted values of least squares differ from those of the bounded fit by at most this many means of |r| - b."""

_FAR = 3.0
"""Fitted values lie within this many sds of their mean, to tell on which side of the line residuals can be cut."""


@dataclass(frozen=True)
class CutResiduals(FileRecord):
    """Residuals beyond the half width b at which they are cut, in the user's units; `FIELDS` describes each number.

    `squares` and `sizes` are quantiles at `residual_tail.SHARES` of the mean of r^2 - b^2 and of |r| - b over all rows,
    which are 0 where |r| < b.
    """

    half_width: float
    squares: tuple[float, ...]
    sizes: tuple[float, ...]
    mean: float | None
    mean_error: float
    side: int
    stretch: float | None = 0.0
    stretch_error: float = 0.0

    FIELDS = Fields(
        "cut_residuals",
        "Residuals beyond the half width b at which the last stage cuts them.",
        half_width=ABOVE_0("b."),
        squares=many(FROM_0, minItems=len(SHARES), maxItems=len(SHARES))(
            f"Quantiles of the mean of r^2 - b^2 beyond b, at the probabilities {', '.join(map(str, SHARES))}."
        ),
        sizes=many(FROM_0, minItems=len(SHARES), maxItems=len(SHARES))("Quantiles of the mean of |r| - b beyond b."),
        mean=maybe(NUMBER)("The mean of the outcome with cut residuals; null without an intercept."),
        mean_error=FROM_0("Its standard error."),
        side=whole(-1, maximum=1)("Where residuals can be cut: 1 above the line, -1 below it, 0 on both sides."),
        stretch=maybe(FROM_0)(
            "The line varies up to 1 + stretch times as much over the rows before they are shortened; null if unknown.",
            absent=0.0,
        ),
        stretch_error=FROM_0("The standard error of stretch.", absent=0.0),
    )

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Rebuild from `to_dict`."""
        found = super().from_dict(facts)
        if any(a > b for held in (found.squares, found.sizes) for a, b in itertools.pairwise(held)):
            raise FileFormatError("it is damaged: quantiles of cut residuals do not rise.")
        return found

    def squares_at(self, share: float) -> float:
        """A quantile of the mean of r^2 - b^2."""
        return float(np.interp(share, SHARES, self.squares))

    def mean_interval(self, level: float) -> tuple[float, float] | None:
        """An interval for the mean of the table's own outcomes; None without an intercept."""
        if self.mean is None:
            return None
        least, middle, most = np.interp([(1 - level) / 2, 0.5, (1 + level) / 2], SHARES, self.sizes).tolist()
        if self.side == 0:
            least, middle = -most, 0.0
        ends = sorted((self.side or 1) * end for end in (least, most))
        centre, error = (self.side or 1) * middle, float(stats.norm.ppf((1 + level) / 2)) * self.mean_error
        low, high = centre - math.hypot(centre - ends[0], error), centre + math.hypot(ends[1] - centre, error)
        return self.mean + low, self.mean + high


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
    cut: CutResiduals | None = None

    @property
    def sigma(self) -> float:
        """The standard deviation of outcomes around the line; of residuals that are cut, where they are."""
        return math.sqrt(self.sigma2)

    @property
    def is_cut(self) -> bool:
        """Whether cutting residuals may lower the standard deviation by two percent or more."""
        return self.cut is not None and self.cut.squares_at(_SURE) > _VISIBLE * self.sigma2

    def table_sigma_interval(self, level: float) -> tuple[float, float]:
        """An interval for the sd of the table's own residuals, with what lies beyond the cut."""
        low, high = (end**2 for end in self.sigma_interval(level))
        if self.cut is None:
            return math.sqrt(low), math.sqrt(high)
        least, middle, most = (self.cut.squares_at(share) for share in ((1 - level) / 10, 0.5, (1 + level) / 2))
        above = middle + math.hypot(high - self.sigma2, most - middle)
        return math.sqrt(low + least), math.sqrt(self.sigma2 + above)

    def table_explained_interval(self, level: float) -> tuple[float, float]:
        """An interval for R^2 of least squares of the table.

        What lies beyond the cut adds to the residuals, and may be explained itself: no better than the rest is, and by
        at most `_SHIFT` times the mean size of it. The line may vary more where rows were shortened.
        """
        low, high = self.explained_interval(level)
        if self.cut is None:
            return low, high
        if self.is_cut:
            low, high = self._with_tails(level, low, high)
        if self.cut.stretch is None:
            return low, 1.0
        most = self.cut.stretch + float(stats.norm.ppf((1 + level) / 2)) * self.cut.stretch_error
        return low, high * (1 + most) / (1 + high * most)

    def _with_tails(self, level: float, low: float, high: float) -> tuple[float, float]:
        """An interval for R^2 with the residuals beyond the cut, from that without them."""
        assert self.cut is not None
        at = [self.cut.squares_at(share) for share in ((1 - level) / 2, 0.5, (1 + level) / 2)]
        cases = [(low, at[1]), (high, at[1]), *((self.explained, beyond) for beyond in (0.0, *at))]
        ends = [self._with_tail(told, beyond, sign) for told, beyond in cases for sign in (-0.5, 1.0)]
        return min(ends), max(ends)

    def _with_tail(self, told: float, beyond: float, sign: float) -> float:
        """R^2, from that of cut residuals, where the tail adds `beyond` to the variance and moves the line."""
        assert self.cut is not None
        told = min(max(told, 0.0), 1 - 1e-9)
        line = math.sqrt(told / (1 - told) * self.sigma2)
        shift = min(_SHIFT * beyond / (2 * self.cut.half_width), math.sqrt(told * beyond))
        explained = max(line + sign * shift, 0.0) ** 2
        return explained / (explained + self.sigma2 + beyond)

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
        cut=maybe(record(CutResiduals))("Residuals beyond the half width at which they are cut.", absent=None),
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
    found = OutcomeSpread(
        h**2 * sigma2 * _inside(released, e.target), df, explained, math.sqrt(chance + noise), *ends, *shape
    )
    return replace(found, cut=_cut(released, e, found, units, theta))


def _cut(
    released: ReleasedMoments, e: NormalEquations, found: OutcomeSpread, units: UserUnits, theta: Floats
) -> CutResiduals | None:
    """Return what lies beyond the half width of the last stage, of the model theta of the mapped columns."""
    if not released.stages or released.mean_alone:
        return None
    stage, rows, h = released.stages[-1], released.rows(), units.half
    own = stage.event.coordinates
    j = own.outcomes.index(e.target)
    chosen, counts = stage.event.chosen[j], stage.counts(e.target)
    edges = np.array(own.widths[j]) / math.sqrt(_mean_weight(released, e, rows))
    tail = residual_tail(counts, stage.sd("counts", e.target), edges, chosen, _LARGEST, rows)
    b, quantiles = h * float(edges[chosen]), (tuple((h**2 * tail.squares).tolist()), tuple((h * tail.sizes).tolist()))
    far = _stretch(released, e, theta, rows)
    told = _line_mean(released, e, theta, rows)
    if told is None:
        return CutResiduals(b, *quantiles, None, 0.0, 0, *far)
    level, error = units.params(np.zeros(len(theta)))[1] + h * told[0], h * told[1]
    side = _FAR * math.sqrt(max(found.explained, 0.0) * found.sigma2 / max(1 - found.explained, 0.01))
    low, high = released.domain.ranges([e.target])[0].tolist()
    above, below = level - side + b < high, level + side - b > low
    error = math.hypot(error, found.sigma / math.sqrt(rows))
    return CutResiduals(b, *quantiles, level, error, int(above) - int(below), *far)


def _stretch(released: ReleasedMoments, e: NormalEquations, theta: Floats, rows: float) -> tuple[float | None, float]:
    """Return s and its sd: over the rows themselves, the line varies up to 1 + s times as much as over shortened ones.

    With D_j the variance of column j over the rows, from the sums of x and of x^2 before the stages, less that over the
    shortened ones, and v_j the latter, the variance of the line grows by at most sum_j |theta_j| sqrt(v_j) times
    sum_j |theta_j| D_j/sqrt(v_j); without an intercept variances are about 0. Without these sums s is not known.
    """
    first = int(e.names[0] == CONSTANT)
    own = e.names[first:]
    found = {b.statistic: (b, a) for b, a in released.arrays.items() if set(own) <= set(b.rows)}
    if not {"sums", "diagonal"} <= found.keys():
        return None, 0.0
    (block, sums), (squares, diagonal) = found["sums"], found["diagonal"]
    n, size = max(e.n, 1.0), np.abs(theta[first:])
    at = [[b.rows.index(name) for name in own] for b in (block, squares)]
    centre = first * sums[at[0]] / rows
    before = diagonal[at[1]] / rows - centre**2
    mean = first * e.S[0, first:] / n
    after = np.maximum(np.diag(e.S)[first:] / n - mean**2, 0.0)
    line = float(theta[first:] @ (e.S[first:, first:] / n - np.outer(mean, mean)) @ theta[first:])
    sd = np.sqrt(np.maximum(after, e.s_xx / n))
    if line <= 0:
        return None, 0.0
    factor, noise = float(size @ sd) / line, np.hypot(squares.sd, 2 * np.abs(centre) * block.sd) / rows
    return max(factor * float(size @ ((before - after) / sd)), 0.0), factor * float(np.linalg.norm(size / sd * noise))


def _line_mean(released: ReleasedMoments, e: NormalEquations, theta: Floats, rows: float) -> tuple[float, float] | None:
    """Return the mean of the fitted values over all rows, and the sd of its noise; None without an intercept.

    The means of the columns were released before the stages; in these, rows have weights.
    """
    if e.names[0] != CONSTANT:
        return None
    x, sd = e.S[0, 1:] / max(e.n, 1.0), e.s_xx / max(e.n, 1.0)
    for block, array in released.arrays.items():
        if block.statistic == "sums" and set(e.names[1:]) <= set(block.rows):
            x, sd = array[[block.rows.index(name) for name in e.names[1:]]] / rows, block.sd / rows
    noise = math.hypot(sd * float(np.linalg.norm(theta[1:])), e.s_xy / max(e.n, 1.0))
    return float(theta[0] + theta[1:] @ x), noise


def _mean_weight(released: ReleasedMoments, e: NormalEquations, rows: float) -> float:
    """The mean of the squared weights of rows in the last stage."""
    return float(np.clip(e.n / (rows * _inside(released, e.target)), 0.01, 1.0))


def _inside(released: ReleasedMoments, target: str) -> float:
    """The share of rows whose residuals are not cut, where U'U is that of these rows; else 1."""
    return inside(released.stages[-1], target) if released.stages else 1.0


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
