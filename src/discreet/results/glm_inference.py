"""How sure a generalised linear model is: linear inference on the equations of one step; mathematics.md, 13.4."""

from __future__ import annotations

import numpy as np

from discreet.core.placeholders import Unavailable
from discreet.released.moments import ReleasedMoments
from discreet.released.solve.debiased import debiased, noise_along, positive, through_noise
from discreet.released.units import design_units
from discreet.released.working import clipped_push, model_stage, typical_curvature, working_equations
from discreet.results.inference import LARGEST_NOISE, Inference
from discreet.results.withheld import culprits

WITHOUT_ERRORS = Unavailable(
    "not released",
    "The coefficients themselves are released, with no statistic that tells how far the data and the noise move them. "
    "Logistic and Poisson models in stages release one.",
)
_BENT = 0.75
"""What one step misses, for the model is not linear: the third derivatives of the loss, times the square of the step,
move a'theta by about sqrt(0.75 (step' H step)^2/(q n k) a'G a), with k the curvature of a typical row."""

NO_SPREAD = Unavailable("not available", "A model of classes or counts has no residual standard deviation.")


def infer_model(released: ReleasedMoments) -> Inference | Unavailable:
    """What a released model tells of its coefficients, or why too little."""
    if model_stage(released) is None:
        return WITHOUT_ERRORS
    e = working_equations(released)
    turned = e.of_residuals().turned()
    fit = debiased(turned)
    units = design_units(released.domain, e.names)
    offset = np.zeros(len(e.names)) if e.offset is None else e.offset[:, 0]
    coef, intercept = units.params(e.turn @ fit.theta + offset)
    own = units.after(e.turn)
    withheld = noise_along(own.T @ fit.G_all, own.T, through_noise(fit.W, fit.G_all, fit.L)) > LARGEST_NOISE
    told = culprits(released.domain, e, fit, own.T, withheld)
    if withheld.all():
        return Unavailable("not available", " ".join(dict.fromkeys(told)))
    step = float(fit.theta @ turned.S @ fit.theta) ** 2 / (e.d * e.n * typical_curvature(released))
    sampling = fit.G @ positive(turned.S, turned.s_xx) @ fit.G if fit.sampling is None else fit.sampling
    return Inference(
        estimate=np.concatenate([[intercept], coef]),
        estimand="bounded",
        theta=fit.theta,
        T=own.T,
        G=fit.G,
        G_all=fit.G_all,
        W=fit.W,
        L=fit.L,
        sampling=sampling,
        privacy=fit.privacy + (_BENT * step + clipped_push(released)) * fit.G,
        tails=0.0,
        meat_noise=fit.meat_noise,
        df=max(e.n - e.d, 1.0),
        culprits=told,
        spread=NO_SPREAD,
    )
