"""Standard errors and intervals of the coefficients of several outcomes at once.

They are those of `results.inference` for each outcome by itself, without what needs its whole covariance: intervals
extend equally to both sides, and hold under less noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from discreet.core.arrays import Floats
from discreet.core.field_kinds import MATRIX, TEXTS, VECTOR, check_shapes, choice
from discreet.core.fields import Fields
from discreet.core.placeholders import Unavailable, or_unavailable
from discreet.errors import FileFormatError
from discreet.released.moments import ReleasedMoments
from discreet.released.units import many_units
from discreet.results.estimands import Estimand, resolved
from discreet.results.inference import CLUSTERED, MEAN_ALONE, NO_SQUARES, SAMPLED
from discreet.results.suppression import culprits
from discreet.results.uncertainty import Inference
from discreet.solve.debiased import Inverse, coefficients, inverse, noise_along, positive, shrunk, through_noise
from discreet.solve.equations import NormalEquations

_OF_MANY = (
    "Intervals for many outcomes at once keep their level under little noise of X'X only. Single outcomes allow for "
    "more: fit(outcome)."
)


@dataclass(frozen=True, eq=False)
class MarginalInference(Inference):
    """Debiased intercepts and coefficients in the user's units, a row for each outcome, and their standard errors.

    `bounded_errors`: standard errors about the bounded fit.
    `tails`: the squares of what far rows and far residuals would add, in the user's units; None where nothing does.
    `df`: degrees of freedom: rows less coefficients, and fewer where score products are noisy.
    `culprits`: the reason for each withheld coefficient; empty for one that is given.
    """

    estimate: Floats
    bounded_errors: Floats | Unavailable
    privacy_errors: Floats
    sigma: Floats | Unavailable
    df: Floats
    noise: Floats
    estimand: Estimand = "bounded"
    tails: Floats | None = None
    culprits: tuple[str, ...] = ()

    largest_noise = 0.1

    @property
    def charged(self) -> bool:
        """Whether far rows and far residuals would add anything to the released sums."""
        return self.tails is not None

    def about(self, estimand: Estimand) -> MarginalInference:
        """The same with intervals about another fit."""
        return replace(self, estimand=estimand)

    @property
    def errors(self) -> Floats | Unavailable:  # type: ignore[override]
        """Standard errors, of those too that are withheld."""
        own = self.bounded_errors
        if self.tails is None or self.estimand == "bounded" or isinstance(own, Unavailable):
            return own
        return np.sqrt(own**2 + self.tails)

    @property
    def withheld(self) -> str:
        """The reason that some coefficients have no interval; "" where all have."""
        told = " ".join(dict.fromkeys(text for text in self.culprits if text))
        return "" if self.given.all() else f"{told} {_OF_MANY}".strip()

    def interval(self, level: float) -> Floats | Unavailable:
        """Confidence intervals: (low, high) for each outcome and coefficient."""
        errors = self.std_err
        if isinstance(errors, Unavailable):
            return errors
        half = stats.t.ppf((1 + level) / 2, self.df) * errors
        return np.stack([self.estimate - half, self.estimate + half], axis=-1)

    def p_values_at(self, values: Floats) -> Floats | Unavailable:
        """p-values of the tests that the coefficients have these values."""
        errors = self.std_err
        if isinstance(errors, Unavailable):
            return errors
        with np.errstate(divide="ignore", invalid="ignore"):
            p: Floats = np.asarray(2 * stats.t.sf(np.abs((self.estimate - values) / errors), self.df))
        return p

    FIELDS = Fields(
        "many_inference",
        "Standard errors of models of several outcomes.",
        estimate=MATRIX("A row for each outcome: intercept and coefficients."),
        errors=or_unavailable(MATRIX)("Standard errors about the bounded fit.", attribute="bounded_errors"),
        privacy_errors=MATRIX("Standard errors from privacy noise alone."),
        sigma=or_unavailable(VECTOR),
        df=MATRIX,
        noise=VECTOR("For each coefficient; it has no interval where this is above 0.1."),
        estimand=choice(Estimand)("The fit that intervals are about.", absent="bounded"),
        tails=MATRIX("Added to the squares of errors where the estimand is declared.", absent=None),
        culprits=TEXTS("For each coefficient the reason why it has no interval; empty if it has one.", absent=()),
    )

    @classmethod
    def from_dict(cls, facts: dict[str, Any], outcomes: int, size: int) -> MarginalInference:
        """Rebuild from `to_dict`, for some outcomes with an intercept and size - 1 coefficients each."""
        parts = cls.FIELDS.read(facts)
        names = ("estimate", "bounded_errors", "privacy_errors", "df", "tails")
        check_shapes(parts, dict.fromkeys(names, (outcomes, size)) | {"sigma": (outcomes,), "noise": (size,)})
        found = cls(**parts)
        parts_of_0 = (found.bounded_errors, found.privacy_errors, found.tails)
        sizes = [part for part in parts_of_0 if isinstance(part, np.ndarray)]
        proper = all(part.min(initial=0.0) >= 0 for part in sizes) and len(found.culprits) in (0, size)
        if not proper or found.df.min(initial=1.0) <= 0:
            raise FileFormatError("it is damaged: standard errors do not fit together.")
        return found


def infer_many(released: ReleasedMoments, e: NormalEquations) -> MarginalInference | Unavailable:
    """Infer the coefficients of several outcomes from released normal equations, or say why that is not possible."""
    if released.sampled:
        return SAMPLED
    if released.mean_alone:
        return MEAN_ALONE
    plain, C, offset = e, e.rotation, np.zeros((1, 1)) if e.offset is None else e.offset
    e = e.of_residuals().rotated()
    A = inverse(e)
    units, h, t = many_units(released, e)
    T = units @ C
    K, through, most = T @ A.G, through_noise(A.W, A.G, A.L), MarginalInference.largest_noise
    noise = noise_along(K, T, through)
    promise = released.certificate.guarantee
    told = culprits(released.domain, promise, plain, A.G, through, T, noise, most) if (noise > most).any() else ()
    if (noise > most).all():
        return Unavailable("not available", " ".join((*dict.fromkeys(told), _OF_MANY)))
    theta, sigma2 = coefficients(e, A)
    offset = np.broadcast_to(offset, theta.shape)
    privacy = e.s_V**2 * np.sum(K**2, axis=1)[:, None] + A.noise_variances(K, theta)
    unit = released.domain.unit
    sampling, doubt = _sampling(e, A, T, K, sigma2, alike=unit.plain)
    unknown = CLUSTERED if not unit.plain and e.score_products is None else NO_SQUARES
    variance = None if sampling is None or unknown is CLUSTERED else sampling + privacy
    unsure = 0.0 if variance is None else (doubt / np.maximum(variance, 1e-300)) ** 2 / 2
    df = np.broadcast_to(1 / (1 / max(e.n / unit.most - e.d, 1.0) + unsure), (len(T), len(e.targets))).T
    tails = None
    if e.tails is not None and e.cuts is not None and sampling is not None:
        tails = (h**2 * (np.outer(np.einsum("ij,ij->i", K, T), e.tails) + e.cuts * sampling)).T
    found = MarginalInference(
        estimate=(h * (T @ theta + units @ offset)).T + t,
        bounded_errors=unknown if variance is None else (h * np.sqrt(variance)).T,
        privacy_errors=(h * np.sqrt(privacy)).T,
        sigma=NO_SQUARES if sigma2 is None else h * np.sqrt(sigma2),
        df=df,
        noise=noise,
        tails=tails,
        culprits=told,
    )
    return resolved(found)


def _sampling(
    e: NormalEquations, A: Inverse, T: Floats, K: Floats, sigma2: Floats | None, *, alike: bool
) -> tuple[Floats | None, Floats | float]:
    """Return the variances from sampling error, and the sd that noise of the score products gives these."""
    if e.score_products is not None and e.s_score_products is not None:
        score_products = list(zip(e.score_products, e.s_score_products, strict=True))
        if alike and sigma2 is not None:
            score_products = [
                shrunk(M, own * A.unit_score_products, sd) for (M, sd), own in zip(score_products, sigma2, strict=True)
            ]
        found = np.column_stack([np.einsum("pi,ij,pj->p", K, positive(M, sd), K) for M, sd in score_products])
        return found, np.einsum("pi,pi->p", K, K)[:, None] * np.array([sd for _, sd in score_products])
    if sigma2 is None:
        return None, 0.0
    return sigma2 * np.einsum("ij,jk,ik->i", T, A.unit_sampling, T)[:, None], 0.0
