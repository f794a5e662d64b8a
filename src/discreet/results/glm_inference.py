"""Standard errors of generalised linear models, from the equations of one Newton step; docs/mathematics, 13.4."""

from __future__ import annotations

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.placeholders import Unavailable
from discreet.domain.levels import model_design
from discreet.families import NORMAL
from discreet.families.coordinates import ModelCoordinates
from discreet.recipes.glm_geometry import is_wide
from discreet.released.moments import ReleasedMoments
from discreet.released.units import design_units
from discreet.released.working import clipped_push, model_stage, shortened_push, typical_curvature, working_equations
from discreet.results.inference import CLUSTERED, JointInference, inferred
from discreet.solve.debiased import debiased, positive

WITHOUT_ERRORS = Unavailable(
    "not released",
    "This model was released without standard errors: its coefficients only. Models of two classes and of counts have "
    "them where they are released in stages.",
)
"""Of models that were not released in stages."""

_STAGED_WITHOUT_ERRORS = Unavailable(
    "not released",
    "This model was released without standard errors. Models of three or more classes and support-vector machines have "
    "none; a wide model of two classes has them only if covariance, classical or robust, asks for them.",
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
    if model_stage(released) is None:
        return _without_errors(released)
    e = working_equations(released)
    rotated = e.of_residuals().rotated()
    unit, fit = released.domain.unit, debiased(rotated)
    step = float(fit.theta @ rotated.S @ fit.theta) ** 2 / (e.d * e.n * typical_curvature(released))
    sampling: Floats | Unavailable | None = fit.sampling
    if sampling is None:
        sampling = fit.G @ positive(rotated.S, rotated.s_xx) @ fit.G if unit.plain else CLUSTERED
    privacy = fit.privacy + (_BENT * step + clipped_push(released)) * fit.G
    units, df = design_units(released.domain, e.names), max(e.n / unit.most - e.d, 1.0)
    tails = shortened_push(released)
    return inferred(released, e, fit, units, sampling=sampling, privacy=privacy, tails=tails, df=df, spread=NO_SPREAD)


def _without_errors(released: ReleasedMoments) -> Unavailable:
    """Return the reason that a model was released without a last stage."""
    own = released.stages[-1].event.coordinates
    q = len(model_design(released.domain, own.design)[0])
    family = own.family if isinstance(own, ModelCoordinates) and len(own.outcomes) == 1 else NORMAL
    if not family.staged or (family.classes and is_wide(len(own.design))):
        return _STAGED_WITHOUT_ERRORS
    return Unavailable(
        "not released",
        f"There are too few rows for {q} coefficients at this epsilon, so that the model was released without standard "
        "errors. More rows, a larger epsilon or fewer columns help. covariance, classical or robust, asks for them in "
        "any case.",
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
