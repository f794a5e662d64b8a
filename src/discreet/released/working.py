"""Working equations of a generalised linear model: one Newton step from the released model.

At the released minimiser the score of the rows is S = Lambda gamma + b, with Lambda the penalty and b the noise that
is in the objective, of known sd: so the objective itself gives the score up to its noise, and a release of the score
gives it once more. With the Fisher information H, one Newton step gamma + H^-1 S takes away the penalty, and what is
left is the noise of S: the equations of a linear model, with H in the place of X'X and S in that of X'e.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from discreet.core.arrays import Bools, Floats
from discreet.domain import CONSTANT
from discreet.domain.levels import model_design
from discreet.errors import NotReleasedError
from discreet.families.coordinates import ModelCoordinates
from discreet.mechanisms.objective_perturbation.event import ObjectiveEvent
from discreet.privacy.values import ReleasedStage
from discreet.recipes.geometry import SPHERE
from discreet.recipes.prior import CURVATURE, Prior
from discreet.released.moments import ReleasedMoments
from discreet.solve.equations import NormalEquations, fitted
from discreet.solve.noise_aware import denoise
from discreet.statistics.row_norms import RowNormCounts
from discreet.statistics.scores import ScoreProducts

_CUT, _UNSEEN = 0.3, 0.5
"""The mean effect of a clipped residual in one direction, in units of b; and the number that counts may hide, in sds of
their noise."""

_BENT = 0.2
"""The mean effect of a far row in one direction, in units of its norm and of its residual's sd, as in `solve.tails`."""

_SIZES = {0.03: 1 / 7, 1.0: 6 / 7}
"""Factors on the expected variances of slopes, with their probabilities."""

_ROUND, _UNROUND = 0.8, 0.4
"""The information in whitened axes relative to n rate/r^2, and its possible error."""


def model_stage(released: ReleasedMoments) -> ReleasedStage | None:
    """Return the stage at the model, if there is one."""
    found = [stage for stage in released.stages if isinstance(stage.event.coordinates, ModelCoordinates)]
    return found[-1] if found else None


def prior_of(released: ReleasedMoments) -> Prior:
    """Return the prior of a released model, from its released values alone."""
    if released.found is None:
        raise ValueError("the values that were released before the model do not tell its coordinates")
    return released.found.prior


def working_equations(released: ReleasedMoments) -> NormalEquations:
    """Return the equations of one step from the model of the last stage, whose coefficients are their offset."""
    stage = model_stage(released)
    if stage is None:
        raise NotReleasedError("This model was released without what standard errors need.")
    own = stage.event.coordinates
    assert isinstance(own, ModelCoordinates)
    (name,), rows = own.outcomes, released.rows()
    full, K = model_design(released.domain, own.design)
    c, (b,), theta = own.largest_slope, stage.event.widths, K.T @ own.theta.floats
    L = own.P.floats.T @ K / own.radius
    B = fitted(L, np.eye(len(L)))
    S = c * B @ stage.information(name) @ B.T
    score, s_V = _score(released, prior_of(released), stage, own)
    V = (B @ score)[:, None] + S @ theta
    noise = c * stage.sd("information"), np.array([s_V]), None
    e = NormalEquations(tuple(full), (name,), (S + S.T) / 2, V, None, *noise, rows, L=L, offset=theta)
    if not stage.holds(ScoreProducts.name):
        return e
    score_products, sd = b**2 * (B @ stage.score_products(name) @ B.T)[None], b**2 * stage.sd(ScoreProducts.name)
    return replace(e, score_products=score_products, s_score_products=np.array([sd]))


def _score(
    released: ReleasedMoments, prior: Prior, stage: ReleasedStage, own: ModelCoordinates
) -> tuple[Floats, float]:
    """Return the score at the model in units of gamma and its noise sd, from the objective and a released score."""
    event = next(iter(released.certificate.of(ObjectiveEvent)))
    told: Floats = prior.penalties(event, released.rows()) * (_gamma(own) - prior.centre)
    if not stage.holds("cross"):
        return told, event.scale
    (b,), sd = stage.event.widths, stage.sd("cross")
    trust = event.scale**2 / (event.scale**2 + (b * sd) ** 2)
    return trust * b * stage.cross[:, 0] + (1 - trust) * told, math.sqrt(trust) * b * sd


def _rate(released: ReleasedMoments) -> float | None:
    scale = None if released.found is None else released.found.scale
    return None if scale is None else scale.mean


def typical_curvature(released: ReleasedMoments) -> float:
    """Return the curvature of the loss of a typical row."""
    rate = _rate(released)
    return CURVATURE if rate is None else rate


def clipped_push(released: ReleasedMoments) -> float:
    """Return t, such that clipped residuals of counts move a'theta by about sqrt(t a'G a), as in `solve.tails`."""
    stage = model_stage(released)
    if stage is None or not stage.holds("counts"):
        return 0.0
    (name,), (place,), (b,) = stage.event.coordinates.outcomes, stage.event.chosen, stage.event.widths
    beyond = stage.counts(name)[place + 1 :]
    clipped = max(float(beyond.sum()), _UNSEEN * stage.sd("counts", name) * math.sqrt(len(beyond)))
    return (_CUT * b * clipped) ** 2 / (released.rows() * typical_curvature(released))


def shortened_push(released: ReleasedMoments) -> float:
    """Return t, such that far rows, which count less, would move a'theta by at most about sqrt(t a'G a), as there.

    Products of the columns count row norms. Without them any row may have been shortened.
    """
    stage, n = model_stage(released), released.rows()
    if stage is None or released.found is None:
        return 0.0
    columns = [one for one in released.stages if one is not stage and one.event.coordinates.row_norms]
    rows, reach = n, 1.0
    if columns:
        before, own = columns[-1], columns[-1].event.coordinates
        reach = released.found.geometry.reach(before)
        beyond = before.row_norms[int(np.sum(np.array(own.row_norms) * SPHERE / own.radius < 1.01 * reach)) :]
        hidden = _UNSEEN * before.sd(RowNormCounts.name) * math.sqrt(len(beyond))
        rows = min(max(float(beyond.sum()), hidden), n)
    return _dispersion(stage) * (_BENT * reach * rows) ** 2 / n


def _dispersion(stage: ReleasedStage) -> float:
    """Return the variance of residuals over the one that the model implies, at least 1, as far as it was released."""
    if not stage.holds(ScoreProducts.name):
        return 1.0
    own, (b,) = stage.event.coordinates, stage.event.widths
    assert isinstance(own, ModelCoordinates)
    (name,) = own.outcomes
    implied = own.largest_slope * max(float(np.trace(stage.information(name))), stage.sd("information"))
    return max(b**2 * float(np.trace(stage.score_products(name))) / implied, 1.0)


def _gamma(own: ModelCoordinates) -> Floats:
    gamma = own.radius * np.linalg.solve(own.P.floats, own.theta.floats[:, 0])
    return np.asarray(gamma, dtype=np.float64)


def _information(stage: ReleasedStage, own: ModelCoordinates, rows: float, rate: float) -> tuple[Floats, float]:
    """Return the Fisher information in units of gamma, about h I since axes are whitened, and the sd of its error."""
    h, sd = _ROUND * rows * rate / own.radius**2, own.largest_slope * stage.sd("information")
    l, Q = np.linalg.eigh(own.largest_slope * stage.information(own.outcomes[0]))  # noqa: E741
    trust = 1 / (1 + (sd / (_UNROUND * h)) ** 2)
    told = (Q * np.maximum(denoise(l, sd), 0.0)) @ Q.T
    return trust * told + (1 - trust) * h * np.eye(len(l)), math.sqrt(trust) * sd


def _shrunken(v: Floats, H: Floats, noise: float, D: Floats, slopes: Bools) -> Floats:
    """Return the mean of x given v = H x + noise and x of variances D, those of slopes averaged over `_SIZES`."""
    means, logs = [], []
    for size, probability in _SIZES.items():
        own = np.where(slopes, size * D, D)
        C = noise * np.eye(len(v)) + (H * own) @ H
        u = np.linalg.solve(C, v)
        means.append(own * (H @ u))
        logs.append(math.log(probability) - (np.linalg.slogdet(C)[1] + v @ u) / 2)
    weights = np.exp(np.array(logs) - max(logs))
    mean: Floats = weights @ np.array(means) / weights.sum()
    return mean


def stepped(released: ReleasedMoments) -> Floats:
    """Return the coefficients of the design after one step, with the expected size of coefficients as a prior.

    With H the information, s the sd of the noise of the score S, c the centre, D the variances that are expected and
    v = H (gamma_0 - c) + S, gamma - c is the posterior mean D H C^-1 v, C = s^2 I + H D H, averaged over what slopes
    may be: as large as expected, or next to none.
    """
    stage = model_stage(released)
    if stage is None or not isinstance(own := stage.event.coordinates, ModelCoordinates):
        raise NotReleasedError("This model was released without a score.")
    rows, rate = released.rows(), _rate(released)
    prior = prior_of(released)
    score, s = _score(released, prior, stage, own)
    H, sd = _information(stage, own, rows, rate or 1.0)
    off = _gamma(own) - prior.centre
    noise = s**2 + sd**2 * float(off @ off) / 2
    D = own.radius**2 * prior.expected / (rate or 1.0)
    slopes = np.arange(len(D)) >= int(own.design[0] == CONSTANT)
    gamma = prior.centre + _shrunken(H @ off + score, H, noise, D, slopes)
    theta: Floats = own.P.floats @ gamma / own.radius
    return theta
