"""Standard errors, intervals and tests of the coefficients of one outcome, from released values only.

All numbers here belong to the debiased coefficients (`solve.debiased`), whatever model was fitted: a penalty
or a prior moves a model's coefficients towards zero, which helps it to predict but leaves no honest interval around
them. Each coefficient, and each combination of them, has an interval or not by itself: a direction in which the
features hardly vary takes away those that it touches.

Two fits can be asked for, the *declared* and the *bounded* one: `results.estimands`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats

from discreet.core.arrays import Floats
from discreet.core.field_kinds import ABOVE_0, FROM_0, MATRIX, TEXTS, VECTOR, check_shapes, choice, maybe, record
from discreet.core.fields import Fields
from discreet.core.placeholders import Unavailable, or_unavailable
from discreet.errors import FileFormatError
from discreet.released.moments import ReleasedMoments
from discreet.released.units import UserUnits
from discreet.results.estimands import Estimand, resolved
from discreet.results.spread import OutcomeSpread, spread_of
from discreet.results.suppression import culprits
from discreet.results.uncertainty import Estimate, Inference
from discreet.solve.debiased import Debiased, contrasts, debiased, noise_along, restricted, through_noise
from discreet.solve.equations import NormalEquations

WIDEST = 1024
"""Larger models have no standard errors: their time grows with the fourth power of the number of coefficients."""

_REACH, _HALVINGS = 5.0, 36
"""An end of an interval is searched for up to 5 times as far as it would be without noise, by this many halvings."""

NO_SQUARES = Unavailable(
    "not released",
    "Sampling error needs y'y, which this release does not hold. DPLinearRegression and release() include it.",
)
SAMPLED = Unavailable(
    "not available",
    "X'X was computed from a sample of the rows, whose own error is not known well enough. Fit without subsample.",
)
CLUSTERED = Unavailable(
    "not released",
    "Rows of one person go together, and weighted rows have unequal variances: standard errors need the score products "
    "of the last of several stages, which this release does not hold. covariance='robust' releases them.",
)
MEAN_ALONE = Unavailable(
    "not available",
    "There are too few rows for this epsilon to tell more than the mean of the outcome: slopes are 0 because nothing "
    "is known of them. More rows or a larger epsilon help.",
)
TOO_WIDE = Unavailable(
    "not available",
    f"Standard errors of more than {WIDEST:,} coefficients would take hours. Fewer levels or columns help.",
)
OLD_FILE = Unavailable(
    "not released",
    "This file was saved by an older version of discreet, without standard errors of today's kind. Fit the release "
    "again: release.fit(...).",
)


class Test(NamedTuple):
    """A test that coefficients are zero: F statistic, degrees of freedom, p-value."""

    statistic: float
    df: tuple[int, float]
    p_value: float


class _Tests(NamedTuple):
    """Quantities for tests of linear combinations; NaN where they are withheld."""

    estimate: Floats
    variance: Floats
    tilt: Floats
    curve: Floats
    luck: Floats
    luck_slope: Floats
    margin: Floats
    df: Floats

    def tails(self, delta: Floats) -> tuple[Floats, Floats]:
        """Return P(estimate >= observed) and P(estimate <= observed) if the true values are estimate + delta.

        z = -delta/se has correlation r with 1/noise, which lies `margin` above the least with which intervals are
        given. What is independent of z held fixed, r z could have been smaller by that margin at most: the t law of z
        is cut off there.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            se = np.sqrt(np.maximum(self.variance + 2 * delta * self.tilt + delta**2 * self.curve, 0.0))
            r = (self.luck + delta * self.luck_slope) / se
            flipped = r < 0
            z = np.where(flipped, delta, -delta) / se
            cut = z - self.margin / np.abs(r)
            shown = special.stdtr(self.df, -cut)
            above = np.where(shown > 0, special.stdtr(self.df, -z) / shown, 0.0)
            below = np.where(shown > 0, (special.stdtr(self.df, z) - special.stdtr(self.df, cut)) / shown, 1.0)
        return np.where(flipped, below, above), np.where(flipped, above, below)

    def interval(self, level: float) -> Floats:
        """A row (low, high) for each: the estimate and the values that tests at 1 - level do not reject."""
        inside = np.zeros((2, len(self.estimate)))
        reach = _REACH * special.stdtrit(self.df, (1 + level) / 2) * np.sqrt(self.variance)
        outside = np.outer([-1.0, 1.0], reach)
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            above, below = self.tails(middle)
            kept = np.stack([above[0], below[1]]) >= (1 - level) / 2
            inside, outside = np.where(kept, middle, inside), np.where(kept, outside, middle)
        ends: Floats = np.where(np.isnan(self.variance), np.nan, self.estimate + inside).T
        return ends


@dataclass(frozen=True, eq=False)
class JointInference(Inference):
    """Debiased (intercept, coefficients) of one outcome in the user's units, with their covariance.

    `estimand`: the fit that the intervals are about.
    `theta`, `T`: the coefficients of the `rotated` equations, and their map to the user's units.
    `G`, `G_all`, `W`, `L`: see `solve.debiased`; L may be None.
    `sampling`, `privacy`: the covariance of theta: what another sample of people would change, and what other noise
        would.
    `tails`: t: what far rows would add moves a'theta by at most about sqrt(t a'G a).
    `score_noise`: the sd of the noise of the score products; 0 where there are none.
    `df`: rows less coefficients.
    `culprits`: the reason for each withheld coefficient: the columns that cause it; empty for one that is given.
    `spread`: the spread of outcomes around the line.
    `cut`: k: what far residuals would add is at most about k times the sampling covariance.
    """

    estimate: Floats
    estimand: Estimand
    theta: Floats
    T: Floats
    G: Floats
    G_all: Floats
    W: Floats
    L: Floats | None
    sampling: Floats | Unavailable
    privacy: Floats
    tails: float
    score_noise: float
    df: float
    culprits: tuple[str, ...]
    spread: OutcomeSpread | Unavailable
    cut: float = 0.0

    largest_noise = 0.35

    @property
    def sigma(self) -> float | Unavailable:  # type: ignore[override]
        """The standard deviation of outcomes around the line."""
        return self.spread if isinstance(self.spread, Unavailable) else self.spread.sigma

    @property
    def explained(self) -> float | Unavailable:
        """R^2, which may be below 0 because of noise."""
        return self.spread if isinstance(self.spread, Unavailable) else self.spread.explained

    @property
    def robust(self) -> bool:
        """Whether standard errors are robust to heteroskedasticity (sandwich)."""
        return self.score_noise > 0

    @property
    def charged(self) -> bool:
        """Whether far rows and far residuals would add anything to the released sums."""
        return self.tails > 0 or self.cut > 0

    def about(self, estimand: Estimand) -> JointInference:
        """The same with intervals about another fit."""
        return replace(self, estimand=estimand)

    @property
    def _covariance(self) -> Floats | Unavailable:
        """The covariance of theta."""
        if isinstance(self.sampling, Unavailable):
            return self.sampling
        if self.estimand == "bounded":
            return self.sampling + self.privacy
        return (1 + self.cut) * self.sampling + self.privacy + self.tails * self.G

    @property
    def covariance(self) -> Floats | Unavailable:
        """Covariance of the debiased intercept and coefficients."""
        C = self._covariance
        return C if isinstance(C, Unavailable) else self.T @ C @ self.T.T

    @property
    def noise(self) -> Floats:  # type: ignore[override]
        """The noise of X'X behind the intercept and each coefficient, relative to the variation behind it."""
        return self.noise_of(np.eye(len(self.T)))

    def noise_of(self, A: Floats) -> Floats:
        """Noise of X'X behind linear combinations, a row of A each."""
        R = A @ self.T
        return noise_along(R @ self.G_all, R, through_noise(self.W, self.G_all, self.L))

    @property
    def withheld(self) -> str:
        """The reason that some coefficients have no interval; "" where all have."""
        return " ".join(dict.fromkeys(text for text in self.culprits if text))

    @property
    def errors(self) -> Floats | Unavailable:  # type: ignore[override]
        """Standard errors, of those too that are withheld."""
        C = self.covariance
        return C if isinstance(C, Unavailable) else np.sqrt(np.diag(C))

    @property
    def privacy_errors(self) -> Floats:  # type: ignore[override]
        """Standard errors from privacy noise alone, of those too that are withheld."""
        return np.sqrt(np.diag(self.T @ self.privacy @ self.T.T))

    def degrees(self, A: Floats) -> Floats | Unavailable:
        """Degrees of freedom of combinations, a row each; noise of the score products lowers them."""
        C = self._covariance
        if isinstance(C, Unavailable):
            return C
        R = A @ self.T
        variance, b = np.einsum("pi,ij,pj->p", R, C, R), R @ self.G
        error = self.score_noise * np.einsum("pi,pi->p", b, b) / np.maximum(variance, 1e-300)
        df: Floats = 1 / (1 / self.df + error**2 / 2)
        return df

    def quantile(self, level: float, df: Any = None) -> Any:
        """Half-width of an interval in standard errors, without what noise in X'X adds."""
        return stats.t.ppf((1 + level) / 2, self.df if df is None else df)

    @cached_property
    def _tests(self) -> _Tests | Unavailable:
        """Tests of the intercept and of each coefficient."""
        C, df, given = self._covariance, self.degrees(np.eye(len(self.T))), self.given
        if isinstance(C, Unavailable) or isinstance(df, Unavailable):
            return C if isinstance(C, Unavailable) else df  # type: ignore[return-value]
        own = contrasts(self.T[given], self.theta, C, self.G, self.W, self.L, self.G_all)
        with np.errstate(divide="ignore"):
            margin = (1 / own.noise - 1 / self.largest_noise) / own.spread
        margin = np.where(own.spread > 0, margin, np.inf)
        parts = np.full((7, len(self.T)), np.nan)
        parts[:, given] = own.variance, own.tilt, own.curve, own.luck, own.luck_slope, margin, df[given]
        return _Tests(self.estimate, *parts)

    def interval(self, level: float) -> Floats | Unavailable:
        """Confidence intervals, a row (low, high) for the intercept and for each coefficient."""
        tests = self._tests
        return tests if isinstance(tests, Unavailable) else tests.interval(level)

    def p_values_at(self, values: Floats) -> Floats | Unavailable:
        """p-values of the tests that the coefficients have these values."""
        tests = self._tests
        if isinstance(tests, Unavailable):
            return tests
        p: Floats = 2 * np.minimum(*tests.tails(values - tests.estimate))
        return np.where(np.isnan(tests.variance), np.nan, p)

    def contrast(self, weights: Floats) -> Estimate:
        """A weighted sum of (intercept, coefficients), with the uncertainty that they have together."""
        one = self.combined(np.asarray(weights, dtype=float)[None])
        errors, df = one.std_err, one.degrees(np.eye(1))
        std_err = errors if isinstance(errors, Unavailable) else float(errors[0])
        if not one.given[0]:
            std_err = Unavailable("not available", one.withheld)
        degrees = self.df if isinstance(df, Unavailable) else float(df[0])
        return Estimate(float(one.estimate[0]), std_err, float(one.privacy_noise[0]), degrees, one)

    def combined(self, A: Floats) -> JointInference:
        """Inference on weighted sums of (intercept, coefficients), a row of A each."""
        whole = replace(self, estimate=A @ self.estimate, T=A @ self.T, culprits=("",) * len(A))
        told = tuple("" if given else self.withheld or _NO_TEST for given in whole.given)
        return replace(whole, culprits=told)

    def with_noise(self, variance: float) -> JointInference:
        """The only number of this inference with more privacy noise, of some variance."""
        (row,) = self.T
        length = float(row @ row)
        return replace(self, privacy=self.privacy + variance / length**2 * np.outer(row, row)) if length else self

    def test(self, places: Sequence[int]) -> Test | Unavailable:
        """The test that some coefficients are all zero, with the covariance that they have if they are."""
        return self.joint(np.eye(len(self.T))[list(places)])

    def joint(self, A: Floats, values: Floats | float = 0.0) -> Test | Unavailable:
        """The test that several weighted sums of (intercept, coefficients), a row of A each, have some values.

        As `restricted` takes sums that are zero, theta moves along with the values that are tested.
        """
        C = self._covariance
        if isinstance(C, Unavailable):
            return C
        R, k = A @ self.T, len(A)
        if self._noise_within(R) > self.largest_noise:
            return Unavailable("not available", self.withheld or _NO_TEST)
        b = A @ self.estimate - values
        S, spread = restricted(self.theta, C, self.G, self.W, R, b, self.L)
        F, B = float(b @ np.linalg.solve(S, b)) / k, R @ self.G
        score_products = self.score_noise**2 * float(np.sum((B.T @ np.linalg.solve(S, B)) ** 2)) / k**2
        df = 1 / (1 / self.df + (spread + score_products) / 2)
        return Test(F, (k, df), float(stats.f.sf(F, k, df)))

    def _noise_within(self, R: Floats) -> float:
        """The largest noise of a combination of the rows of R."""
        B = R @ self.G_all
        root = np.linalg.cholesky(B @ R.T)
        inner = np.linalg.solve(root, np.linalg.solve(root, B @ through_noise(self.W, self.G_all, self.L) @ B.T).T)
        return math.sqrt(max(float(np.linalg.eigvalsh(inner)[-1]), 0.0))

    FIELDS = Fields(
        "inference",
        "Standard errors of a model.",
        estimate=VECTOR("The debiased intercept and coefficients, which intervals are about."),
        estimand=choice(Estimand)(
            "The fit that intervals are about: least squares, or one in which far rows count less."
        ),
        theta=VECTOR("Coefficients in rotated coordinates."),
        T=MATRIX("From theta to the user's units: (intercept, coef) = T theta + const."),
        G=MATRIX,
        G_all=MATRIX,
        W=MATRIX,
        L=maybe(MATRIX),
        sampling=or_unavailable(MATRIX)("The covariance of theta from sampling error."),
        privacy=MATRIX(
            "The covariance of theta from privacy noise. Standard errors are the roots of the diagonal of "
            "T C T', where C = sampling + privacy, or (1 + cut) sampling + privacy + tails G where the estimand is "
            "declared."
        ),
        tails=FROM_0,
        meat_noise=FROM_0(attribute="score_noise"),
        df=ABOVE_0("Rows less coefficients."),
        culprits=TEXTS("For each coefficient the reason why it has no interval; empty if it has one."),
        spread=or_unavailable(record(OutcomeSpread)),
        cut=FROM_0("The effect of far residuals.", absent=0.0),
    )

    @classmethod
    def from_dict(cls, facts: dict[str, Any], size: int) -> JointInference:
        """Rebuild from `to_dict`, for an intercept and size - 1 coefficients."""
        parts = cls.FIELDS.read(facts)
        q, z = len(parts["theta"]), len(parts["W"])
        shapes = {"estimate": (size,), "T": (size, q), "W": (z, z), "L": (z, q)}
        check_shapes(parts, shapes | dict.fromkeys(("G", "G_all", "sampling", "privacy"), (q, q)))
        found = cls(**parts)
        covariances = [part for part in (found.sampling, found.privacy) if not isinstance(part, Unavailable)]
        proper = all(np.diag(part).min(initial=0.0) >= 0 for part in covariances) and q <= size == len(found.culprits)
        if not proper or (found.L is None and z != q):
            raise FileFormatError("it is damaged: standard errors do not fit together.")
        return found


_NO_TEST = (
    "Noise hides a direction that these coefficients share. Fewer columns, tighter bounds, more rows or a larger "
    "epsilon help."
)


def infer(released: ReleasedMoments, e: NormalEquations, units: UserUnits) -> JointInference | Unavailable:
    """Infer coefficients from released normal equations, in units of the clipped outcome, or say why not."""
    if released.sampled:
        return SAMPLED
    if released.mean_alone:
        return MEAN_ALONE
    if e.d > WIDEST:
        return TOO_WIDE
    unit = released.domain.unit
    fit = debiased(e.of_residuals().rotated(), alike=unit.plain)
    sampling: Floats | Unavailable = NO_SQUARES if fit.sampling is None else fit.sampling
    if not unit.plain and e.score_products is None:
        sampling = CLUSTERED
    return inferred(
        released,
        e,
        fit,
        units,
        sampling=sampling,
        privacy=fit.privacy,
        tails=0.0 if e.tails is None else e.tails.item(),
        cut=0.0 if e.cuts is None else e.cuts.item(),
        df=max(e.n / unit.most - e.d, 1.0),
        spread=NO_SQUARES if fit.sigma2 is None else spread_of(released, e, fit, units),
    )


def inferred(
    released: ReleasedMoments, e: NormalEquations, fit: Debiased, units: UserUnits, **parts: Any
) -> JointInference | Unavailable:
    """Infer coefficients from `fit`, the fit to the residuals of equations, or name the columns that prevent it.

    `parts` are those of `JointInference` that depend on the model: sampling, privacy, tails, df and spread.
    """
    offset = 0.0 if e.offset is None else e.offset[:, 0]
    coef, intercept = units.params(e.rotation @ fit.theta + offset)
    own = units.after(e.rotation)
    K, most = through_noise(fit.W, fit.G_all, fit.L), JointInference.largest_noise
    noise = noise_along(own.T @ fit.G_all, own.T, K)
    told = culprits(released.domain, released.certificate.guarantee, e, fit.G_all, K, own.T, noise, most)
    if (noise > most).all():
        return Unavailable("not available", " ".join(dict.fromkeys(told)))
    found = JointInference(
        estimate=np.concatenate([[intercept], coef]),
        estimand="bounded",
        theta=fit.theta,
        T=own.T,
        G=fit.G,
        G_all=fit.G_all,
        W=fit.W,
        L=fit.L,
        score_noise=fit.score_noise,
        culprits=told,
        **parts,
    )
    return resolved(found)


def loaded_inference(facts: dict[str, Any] | None, size: int) -> JointInference | Unavailable:
    """Read the inference of an intercept and size - 1 coefficients from a file, or say why there is none."""
    if facts is None or "tilt" in facts:
        return OLD_FILE
    return JointInference.from_dict(facts, size) if "estimate" in facts else Unavailable.from_dict(facts)
