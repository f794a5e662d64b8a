"""How sure a release is of its coefficients: standard errors, intervals and tests, from released values only.

The estimand is the best linear fit to the population, clipped to the bounds that were used. All numbers here belong to
the debiased coefficients (`released.solve.debiased`), whatever model was fitted: a penalty or a prior moves a model's
coefficients towards zero, which helps it to predict but leaves no honest interval around them.

One outcome and many are two kinds of inference on the same debiased coefficients: tests of one outcome are inverted, by
its whole covariance, into intervals that may be longer on one side and hold under more noise; many outcomes have
standard errors only, and intervals that extend equally to both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats

from discreet.core.arrays import Floats
from discreet.core.files import number, numbers
from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT, Categorical, Domain
from discreet.errors import FileFormatError
from discreet.released.equations import NormalEquations
from discreet.released.moments import ReleasedMoments
from discreet.released.solve.debiased import Debiased, coefficients, debiased, inverse, restricted
from discreet.released.units import UserUnits, many_units
from discreet.results.estimate import Estimate

LARGEST_NOISE = 0.25
"""Intervals are given where the noise of X'X is at most this share of the features' least variation."""

_LARGEST_NOISE_FOR_MANY = 0.1
"""The same for many outcomes at once, whose intervals extend equally to both sides."""

_REACH, _HALVINGS = 5.0, 36
"""An end of an interval is searched for up to 5 times as far as it would be without noise, by so many halvings."""

_NO_SQUARES = Unavailable(
    "not released",
    "Sampling error needs y'y, which this release does not hold. DPLinearRegression and release() include it.",
)
_SAMPLED = Unavailable(
    "not available",
    "X'X was computed from a sample of the rows, whose own error is not known well enough. Fit without subsample.",
)
_MEAN_ALONE = Unavailable(
    "not available",
    "There are too few rows for this epsilon to tell more than the mean of the outcome: slopes are 0 because nothing "
    "is known of them. More rows or a larger epsilon help.",
)
OLD_FILE = Unavailable("not released", "This file was saved by an older version of discreet, without standard errors.")


class Test(NamedTuple):
    """A test that coefficients are zero: F statistic, degrees of freedom, p-value."""

    statistic: float
    df: tuple[int, float]
    p_value: float


@dataclass(frozen=True, eq=False)
class Inference:
    """Debiased (intercept, coefficients) in the user's units, with their covariance.

    Parameters
    ----------
    estimate : array
        The debiased intercept and coefficients.
    sampling, privacy : array, or Unavailable
        The parts of their covariance: what another sample of people would change, and what other noise would.
    tilt, curve : array
        How the variance of each changes with the value tested, to first and second order (`released.solve.debiased`).
    luck, luck_slope : array
        The covariance of each with 1/noise, in sds of the latter, and how that changes with the value tested.
    theta, W, L : array
        The coefficients of the `turned` equations, the variances of the noise, and its map to X'X, or None.
    T, roots : array
        The map of theta to the user's units, and T G (`discreet.released.solve.debiased`).
    margin : float
        How far 1/noise is from the least with which intervals are given, in its sds.
    sigma : float, or Unavailable
        Standard deviation of outcomes around the line.
    sigma_df : float
        The degrees of freedom of a sample that tells sigma as well as the release does.
    explained : float, or Unavailable
        R^2.
    df : float
        Rows less coefficients.
    noise : float
        The noise of X'X, relative to the features' least variation.
    """

    estimate: Floats
    sampling: Floats | Unavailable
    privacy: Floats
    tilt: Floats
    curve: Floats
    luck: Floats
    luck_slope: Floats
    theta: Floats
    W: Floats
    L: Floats | None
    T: Floats
    roots: Floats
    margin: float
    sigma: float | Unavailable
    sigma_df: float
    explained: float | Unavailable
    df: float
    noise: float

    @property
    def covariance(self) -> Floats | Unavailable:
        """Of the debiased intercept and coefficients."""
        return self.sampling if isinstance(self.sampling, Unavailable) else self.sampling + self.privacy

    @property
    def std_err(self) -> Floats | Unavailable:
        """Standard errors."""
        C = self.covariance
        return C if isinstance(C, Unavailable) else np.sqrt(np.diag(C))

    @property
    def privacy_noise(self) -> Floats:
        """What the standard errors would be if there were no sampling error."""
        noise: Floats = np.sqrt(np.diag(self.privacy))
        return noise

    def quantile(self, level: float, df: float | None = None) -> float:
        """How many standard errors an interval extends to each side, but for `tilt` and `curve`."""
        return float(stats.t.ppf((1 + level) / 2, self.df if df is None else df))

    def interval(self, level: float) -> Floats | Unavailable:
        """Confidence intervals, a row (low, high) for the intercept and for each coefficient.

        They hold the estimate and the values that tests at 1 - level do not reject.
        """
        C = self.covariance
        if isinstance(C, Unavailable):
            return C
        variance = np.diag(C)
        inside = np.zeros((2, len(variance)))
        outside = np.outer([-1.0, 1.0], _REACH * self.quantile(level) * np.sqrt(variance))
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            above, below = self._tails(middle, variance)
            kept = np.stack([above[0], below[1]]) >= (1 - level) / 2
            inside, outside = np.where(kept, middle, inside), np.where(kept, outside, middle)
        return (self.estimate + inside).T

    @property
    def p_values(self) -> Floats | Unavailable:
        """Of the tests that each coefficient is zero."""
        return self.p_values_at(np.zeros_like(self.estimate))

    def p_values_at(self, values: Floats) -> Floats | Unavailable:
        """Of the tests that the coefficients have these values."""
        C = self.covariance
        if isinstance(C, Unavailable):
            return C
        p: Floats = 2 * np.min(self._tails(values - self.estimate, np.diag(C)), axis=0)
        return p

    def contrast(self, weights: Floats) -> Estimate:
        """A weighted sum of (intercept, coefficients), with the uncertainty that they have together."""
        one = self.combined(np.asarray(weights, dtype=float)[None])
        se = one.std_err
        std_err = se if isinstance(se, Unavailable) else float(se[0])
        return Estimate(float(one.estimate[0]), std_err, float(one.privacy_noise[0]), self.df, one)

    def combined(self, A: Floats) -> Inference:
        """The same of weighted sums of (intercept, coefficients), a row of A each."""
        T = A @ self.T
        bend = self._fit.bend(T)
        return replace(
            self,
            estimate=A @ self.estimate,
            sampling=self.sampling if isinstance(self.sampling, Unavailable) else A @ self.sampling @ A.T,
            privacy=A @ self.privacy @ A.T,
            tilt=bend.tilt,
            curve=bend.curve,
            luck=bend.luck,
            luck_slope=bend.luck_slope,
            T=T,
            roots=A @ self.roots,
        )

    @cached_property
    def _fit(self) -> Debiased:
        """The debiased coefficients of the `turned` equations, with their covariance."""
        q = len(self.theta)
        back = np.linalg.inv(self.T[-q:])
        known = self.privacy if isinstance(self.sampling, Unavailable) else self.sampling + self.privacy
        C = back @ known[-q:, -q:] @ back.T
        return Debiased(self.theta, back @ self.roots[-q:], self.W, C, np.zeros_like(C), 1.0, 0.0, self.noise, self.L)

    def _tails(self, delta: Floats, variance: Floats) -> tuple[Floats, Floats]:
        """How probable estimates at least, and at most, as large as these are if estimate + delta are the true values.

        z = -delta/se has correlation r with 1/noise, which lies `margin` above the least with which intervals are
        given. What is independent of z held fixed, r z could have been smaller by that margin at most: the t law of z
        is cut off there.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            se = np.sqrt(np.maximum(variance + 2 * delta * self.tilt + delta**2 * self.curve, 0.0))
            r = (self.luck + delta * self.luck_slope) / se
            turned = r < 0
            z = np.where(turned, delta, -delta) / se
            cut = z - self.margin / np.abs(r)
            shown = special.stdtr(self.df, -cut)
            above = np.where(shown > 0, special.stdtr(self.df, -z) / shown, 0.0)
            below = np.where(shown > 0, (special.stdtr(self.df, z) - special.stdtr(self.df, cut)) / shown, 1.0)
        return np.where(turned, below, above), np.where(turned, above, below)

    def test(self, places: Sequence[int]) -> Test | Unavailable:
        """The test that some coefficients are all zero, with the covariance that they have if they are."""
        return self.joint(np.eye(len(self.estimate))[list(places)])

    def joint(self, weights: Floats, values: Floats | float = 0.0) -> Test | Unavailable:
        """The test that several weighted sums of (intercept, coefficients), a row of `weights` each, have some values.

        As `restricted` takes sums that are zero, theta moves along with the values that are tested.
        """
        if isinstance(self.covariance, Unavailable):
            return self.covariance
        k, fit = len(weights), self._fit
        b = weights @ self.estimate - values
        S, spread = restricted(self.theta, fit.covariance, fit.G, self.W, weights @ self.T, b, self.L)
        F, df = float(b @ np.linalg.solve(S, b)) / k, 1 / (1 / self.df + spread / 2)
        return Test(F, (k, df), float(stats.f.sf(F, k, df)))

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_dict(cls, facts: dict[str, Any], size: int) -> Inference:
        """Rebuild from `to_dict`, for an intercept and size - 1 coefficients."""
        q, z = len(facts["theta"]), len(facts["W"])
        shapes: dict[str, tuple[int, ...]] = {"sampling": (size, size), "privacy": (size, size)}
        shapes |= dict.fromkeys(("estimate", "tilt", "curve", "luck", "luck_slope"), (size,))
        shapes |= {"theta": (q,), "W": (z, z), "L": (z, q), "T": (size, q), "roots": (size, q)}
        missing = {"sampling", "sigma", "explained"}
        read = {
            field.name: _read_part(facts, field.name, shapes.get(field.name), missing=field.name in missing)
            for field in fields(cls)
            if field.name != "L" or facts["L"] is not None
        }
        found = cls(**{"L": None} | read)
        variances = [part for part in (found.sampling, found.privacy) if not isinstance(part, Unavailable)]
        proper = all(np.diag(part).min(initial=0.0) >= 0 for part in variances) and q <= size
        if not proper or (found.L is None and z != q) or min(found.df, found.sigma_df) <= 0 or found.noise < 0:
            raise FileFormatError("it is damaged: standard errors do not fit together.")
        return found


@dataclass(frozen=True, eq=False)
class ManyInference:
    """Debiased intercepts and coefficients in the user's units, a row for each outcome, and their standard errors.

    Parameters
    ----------
    estimate : array
        The debiased (intercept, coefficients) of each outcome.
    std_err : array, or Unavailable
        Their standard errors: sampling error and privacy noise.
    privacy_noise : array
        What the standard errors would be if there were no sampling error.
    sigma : array, or Unavailable
        For each outcome, the standard deviation around its line.
    df : float
        Rows less coefficients.
    noise : float
        The noise of X'X, relative to the features' least variation.
    """

    estimate: Floats
    std_err: Floats | Unavailable
    privacy_noise: Floats
    sigma: Floats | Unavailable
    df: float
    noise: float

    def interval(self, level: float) -> Floats | Unavailable:
        """Confidence intervals: (low, high) for each outcome and coefficient."""
        if isinstance(self.std_err, Unavailable):
            return self.std_err
        half = float(stats.t.ppf((1 + level) / 2, self.df)) * self.std_err
        return np.stack([self.estimate - half, self.estimate + half], axis=-1)

    @property
    def p_values(self) -> Floats | Unavailable:
        """Of the tests that each coefficient is zero."""
        if isinstance(self.std_err, Unavailable):
            return self.std_err
        with np.errstate(divide="ignore", invalid="ignore"):
            p: Floats = 2 * stats.t.sf(np.abs(self.estimate / self.std_err), self.df)
        return p

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_dict(cls, facts: dict[str, Any], outcomes: int, size: int) -> ManyInference:
        """Rebuild from `to_dict`, for some outcomes with an intercept and size - 1 coefficients each."""
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("estimate", "std_err", "privacy_noise"), (outcomes, size))
        shapes["sigma"] = (outcomes,)
        missing = ("std_err", "sigma")
        read = [_read_part(facts, f.name, shapes.get(f.name), missing=f.name in missing) for f in fields(cls)]
        found = cls(*read)
        errors = [part for part in (found.std_err, found.privacy_noise) if not isinstance(part, Unavailable)]
        if any(part.min(initial=0.0) < 0 for part in errors) or found.df <= 0:
            raise FileFormatError("it is damaged: standard errors do not fit together.")
        return found


def infer(released: ReleasedMoments, e: NormalEquations, units: UserUnits) -> Inference | Unavailable:
    """What released normal equations tell of the coefficients, in units of the clipped outcome, or why too little."""
    if released.sampled:
        return _SAMPLED
    if released.mean_alone:
        return _MEAN_ALONE
    offset = 0.0 if e.offset is None else e.offset[:, 0]
    fit = debiased(e.of_residuals().turned())
    if fit.noise > LARGEST_NOISE:
        return Unavailable(
            "not available",
            f"The noise of X'X is {fit.noise:.2g} of the least variation of the features, and intervals keep their "
            f"level up to {LARGEST_NOISE:g} only. Fewer features, tighter bounds, more rows or a larger epsilon help.",
        )
    intercept, coef = units.params(e.turn @ fit.theta + offset)[::-1]
    units, df = units.after(e.turn), max(e.n - e.d, 1.0)
    sampling: Floats | Unavailable = _NO_SQUARES
    sigma: float | Unavailable = _NO_SQUARES
    sigma_df = df
    if fit.sigma2 is not None:
        sampling = units.covariance(fit.sigma2 * fit.unit_sampling)
        sigma = units.half * fit.sigma2**0.5
        sigma_df = 2 / (2 / df + fit.sigma2_error / fit.sigma2**2)
    bend = fit.bend(units.T)
    return Inference(
        estimate=np.concatenate([[intercept], coef]),
        sampling=sampling,
        privacy=units.covariance(fit.privacy),
        tilt=bend.tilt,
        curve=bend.curve,
        luck=bend.luck,
        luck_slope=bend.luck_slope,
        theta=fit.theta,
        W=fit.W,
        L=fit.L,
        T=units.T,
        roots=units.T @ fit.G,
        margin=(1 / fit.noise - 1 / LARGEST_NOISE) / bend.spread,
        sigma=sigma,
        sigma_df=sigma_df,
        explained=_explained(e, fit, _constant(released.domain, e.names)),
        df=df,
        noise=fit.noise,
    )


def _constant(domain: Domain, names: Sequence[str]) -> list[int]:
    """Places of the regressors whose sum is 1 in every row: the intercept, or all levels of a category; or none."""
    if names[0] == CONSTANT:
        return [0]
    place = {name: i for i, name in enumerate(names)}
    for column, spec in domain.columns.items():
        levels = [domain.entries[i].name for i in domain.positions[column]]
        if isinstance(spec, Categorical) and not spec.factors and place.keys() >= set(levels):
            return [place[level] for level in levels]
    return []


def _explained(e: NormalEquations, fit: Debiased, ones: list[int]) -> float | Unavailable:
    """R^2 = 1 - RSS/TSS, around the mean where the model has an intercept, or all levels of a category."""
    if fit.sigma2 is None or e.yy is None or e.s_yy is None:
        return _NO_SQUARES
    total = e.yy - float(e.v[ones].sum()) ** 2 / max(float(e.S[np.ix_(ones, ones)].sum()), 1.0)
    if e.s_yy > LARGEST_NOISE * total:
        return Unavailable("not available", "The noise of y'y hides how much the outcome varies.")
    return float(np.clip(1 - fit.sigma2 * max(e.n - e.d, 1.0) / total, 0.0, 1.0))


def infer_many(released: ReleasedMoments, e: NormalEquations) -> ManyInference | Unavailable:
    """What released normal equations tell of the coefficients of many outcomes, or why they tell too little."""
    if released.sampled:
        return _SAMPLED
    if released.mean_alone:
        return _MEAN_ALONE
    C, offset, e = e.turn, 0.0 if e.offset is None else e.offset, e.of_residuals().turned()
    A = inverse(e)
    if A.noise > _LARGEST_NOISE_FOR_MANY:
        return Unavailable(
            "not available",
            f"The noise of X'X is {A.noise:.2g} of the least variation of the features, and intervals for many "
            f"outcomes at once keep their level up to {_LARGEST_NOISE_FOR_MANY:g} only. Single outcomes allow for "
            "more: fit(outcome). Fewer features, tighter bounds, more rows or a larger epsilon help.",
        )
    theta, sigma2 = coefficients(e, A)
    units, h, t = many_units(released, e)
    offset = np.broadcast_to(offset, theta.shape)
    T = units @ C
    K = T @ A.G
    privacy = e.s_V**2 * np.sum(K**2, axis=1)[:, None] + A.noise_variances(K, theta)
    sampling = None if sigma2 is None else sigma2 * np.einsum("ij,jk,ik->i", T, A.unit_sampling, T)[:, None]
    return ManyInference(
        estimate=(h * (T @ theta + units @ offset)).T + t,
        std_err=_NO_SQUARES if sampling is None else (h * np.sqrt(sampling + privacy)).T,
        privacy_noise=(h * np.sqrt(privacy)).T,
        sigma=_NO_SQUARES if sigma2 is None else h * np.sqrt(sigma2),
        df=max(e.n - e.d, 1.0),
        noise=A.noise,
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Unavailable):
        return value.to_dict()
    return value.tolist() if isinstance(value, np.ndarray) else value


def _read_part(facts: dict[str, Any], name: str, shape: tuple[int, ...] | None, *, missing: bool = False) -> Any:
    """A number, or numbers of a shape, of a document; or, where it may be missing, why it is."""
    value = facts[name]
    if missing and isinstance(value, dict):
        return Unavailable.from_dict(value)
    return number(value) if shape is None else numbers(value, shape, name)
