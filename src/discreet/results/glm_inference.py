"""Standard errors of generalised linear models, from the equations of one Newton step; docs/mathematics, 13.4."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.placeholders import Unavailable
from discreet.domain.levels import model_design
from discreet.families import NORMAL
from discreet.families.coordinates import ModelCoordinates
from discreet.privacy import gdp
from discreet.recipes.glm import LIKELY
from discreet.recipes.glm_geometry import WIDEST, is_wide
from discreet.released.moments import ReleasedMoments
from discreet.released.units import design_units
from discreet.released.working import (
    class_equations,
    clipped_push,
    model_stage,
    shortened_push,
    typical_curvature,
    working_equations,
)
from discreet.results.estimands import resolved
from discreet.results.inference import CLUSTERED, JointInference, inferred
from discreet.results.suppression import class_culprits, what_would_do
from discreet.solve.debiased import Debiased, debiased, noise_along, positive, through_noise
from discreet.solve.equations import NormalEquations
from discreet.statistics.pair_information import PairInformation

WITHOUT_ERRORS = Unavailable(
    "not released",
    "This model was released without standard errors: its coefficients only. Models of two classes and of counts have "
    "them where they are released in stages.",
)
"""Of models that were not released in stages."""

_STAGED_WITHOUT_ERRORS = Unavailable(
    "not released",
    "This model was released without standard errors. Support-vector machines have none, nor have several classes of "
    "persons and of weighted rows; a wide model of classes has them only if covariance asks for them.",
)
_WIDE = Unavailable(
    "not released",
    f"Models of more than {WIDEST} coefficients are fitted by gradient steps, which release no standard errors. Fewer "
    "columns or levels have them.",
)
_BENT = 0.25
"""Error of a single step, for the model is not linear: the third derivatives of the loss, times the square of the step,
move a'theta by about sqrt(0.25 (step' H step)^2/(q n k) a'G a), with k the curvature of a typical row."""

NO_SPREAD = Unavailable("not available", "A model of classes or counts has no residual standard deviation.")
NO_DISPERSION = Unavailable("not available", "Only a model of counts has a dispersion: their variance over their mean.")
NO_DISPERSION_OF_PERSONS = Unavailable(
    "not available",
    "Rows of one person go together, and weighted rows have unequal variances: their dispersion is not that of counts.",
)
NO_OUTCOMES = Unavailable(
    "not available",
    "Only numbers have intervals of new outcomes. Intervals of an expected count, or of the probability of the second "
    "class, are to be had in Python: predict_interval with of='mean'.",
)


def infer_model(released: ReleasedMoments) -> JointInference | Unavailable:
    """Infer the coefficients of a released model, or say why that is not possible."""
    stage = model_stage(released)
    if stage is None:
        return _without_errors(released)
    if stage.holds(PairInformation.name):
        return _infer_classes(released)
    e = working_equations(released)
    fit, parts = _parts(released, e)
    return inferred(released, e, fit, design_units(released.domain, e.names), **parts)


def _parts(released: ReleasedMoments, e: NormalEquations) -> tuple[Debiased, dict[str, Any]]:
    """Return the fit to the equations of a step, and the parts of its inference."""
    rotated = e.of_residuals().rotated()
    unit = released.domain.unit
    fit = debiased(rotated, alike=unit.plain)
    step = float(fit.theta @ rotated.S @ fit.theta) ** 2 / (e.d * e.n * typical_curvature(released))
    sampling: Floats | Unavailable | None = fit.sampling
    if sampling is None:
        sampling = fit.G @ positive(rotated.S, rotated.s_xx) @ fit.G if unit.plain else CLUSTERED
    privacy = fit.privacy + (_BENT * step + clipped_push(released)) * fit.G
    df, tails = max(e.n / unit.most - e.d, 1.0), shortened_push(released)
    return fit, {"sampling": sampling, "privacy": privacy, "tails": tails, "df": df, "spread": NO_SPREAD}


def _infer_classes(released: ReleasedMoments) -> JointInference | Unavailable:
    """Infer the coefficients of all classes, (intercept, coef) of one class behind that of the other."""
    e, C = class_equations(released)
    fit, parts = _parts(released, e)
    units = design_units(released.domain, e.names[:: C.shape[1]]).T
    T = np.einsum("ai,ck->caik", units, C).reshape(len(units) * len(C), -1)
    own = T @ e.rotation
    K = through_noise(fit.W, fit.G_all, fit.L)
    noise = noise_along(own @ fit.G_all, own, K)
    most = JointInference.largest_noise
    promise = released.certificate.guarantee
    told = class_culprits(released.domain, promise, e, C.shape[1], fit.G_all, K, own, noise, most)
    if (noise > most).all():
        return Unavailable("not available", " ".join(dict.fromkeys(told)))
    assert e.offset is not None
    found = JointInference(
        estimate=T @ (e.rotation @ fit.theta + e.offset[:, 0]),
        estimand="bounded",
        theta=fit.theta,
        T=own,
        G=fit.G,
        G_all=fit.G_all,
        W=fit.W,
        L=fit.L,
        score_noise=fit.score_noise,
        culprits=told,
        **parts,
    )
    return resolved(found)


def _without_errors(released: ReleasedMoments) -> Unavailable:
    """Return the reason that a model was released without a last stage."""
    own = released.stages[-1].event.coordinates
    if own.shrinkage is not None:
        return _WIDE
    family = own.family if isinstance(own, ModelCoordinates) else NORMAL
    each = len(own.outcomes) - 1 if family.joint else 1
    q, clustered = each * len(model_design(released.domain, own.design)[0]), not released.domain.unit.plain
    wide = family.classes and is_wide(each * len(own.design))
    if not family.staged or wide or (family.joint and clustered):
        return _STAGED_WITHOUT_ERRORS
    asked = "classical," if family.joint else "classical or robust,"
    promise, rows = released.certificate.guarantee, released.rows_and_noise()[0]
    mu = gdp.mu(epsilon=promise.epsilon, delta=promise.delta) / released.domain.unit.most
    factor = LIKELY * (each * len(own.design)) ** 1.5 / (rows * mu)
    return Unavailable(
        "not released",
        f"There are too few rows for {q} coefficients at this epsilon, so that the model was released without standard "
        f"errors. {what_would_do(promise, max(factor, 1.1))}; fewer columns help, too. covariance, {asked} asks for "
        "them in any case.",
    )


def dispersion(inference: JointInference) -> float | Unavailable:
    """The mean of squared Pearson residuals, weighted by leverage, from released information and score products."""
    if isinstance(inference.sampling, Unavailable) or not inference.robust:
        return Unavailable("not released", "Classical standard errors take counts to vary as a Poisson law does.")
    told, Q = np.linalg.eigh(inference.G)
    kept = Q[:, told > 1e-9 * max(told[-1], np.finfo(float).tiny)]
    if not kept.size:
        return Unavailable("not available", inference.withheld or "Noise hides how counts vary.")
    ratio = np.linalg.solve(kept.T @ inference.G @ kept, kept.T @ inference.sampling @ kept)
    return float(np.trace(ratio)) / len(ratio)
