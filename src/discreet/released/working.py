"""Working equations of a generalised linear model: one Newton step from the model of the last stage.

Every step released the score at its model, with noise of known sd; together they tell the score at the last model. With
the Fisher information H, which the last stage released, these are the equations of a linear model, with H in the place
of X'X and the score in that of X'e.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain.levels import model_design
from discreet.errors import NotReleasedError
from discreet.families.coordinates import ModelCoordinates
from discreet.privacy.values import ReleasedStage
from discreet.recipes.glm import Scored
from discreet.released.moments import ReleasedMoments
from discreet.solve.equations import NormalEquations, fitted
from discreet.statistics.pair_information import PairInformation
from discreet.statistics.row_norms import RowNormCounts
from discreet.statistics.scores import ScoreProducts

_CUT, _UNSEEN = 0.3, 0.5
"""The mean effect of a clipped residual in one direction, in units of b; and the number that counts may hide, in sds of
their noise."""

_BENT = 0.2
"""The mean effect of a far row in one direction, in units of its norm and of its residual's sd, as in `solve.tails`."""

_OF_CLASSES = 1.0
"""The squared relative error of what earlier steps tell of the score of several classes."""

_CURVATURE = 0.2
"""The curvature of the loss of a class at a typical row."""


def model_stage(released: ReleasedMoments) -> ReleasedStage | None:
    """Return the stage at the model that tells standard errors, if there is one."""
    found = [stage for stage in released.stages if stage.at_model]
    return found[-1] if found else None


def scored(released: ReleasedMoments) -> Scored:
    """Return the posterior of a model, from its released values alone."""
    if released.scored is None:
        raise NotReleasedError("This model was not released by scoring steps.")
    return released.scored


def working_equations(released: ReleasedMoments) -> NormalEquations:
    """Return the equations of one step from the model of the last stage, whose coefficients are their offset."""
    stage = model_stage(released)
    if stage is None:
        raise NotReleasedError("This model was released without what standard errors need.")
    own, posterior = stage.event.coordinates, scored(released).scoring
    assert isinstance(own, ModelCoordinates)
    (name,), rows = own.outcomes, released.rows()
    full, K = model_design(released.domain, own.design)
    c, (b,), theta = own.largest_slope, stage.event.widths, K.T @ own.theta.floats
    L = own.P.floats.T @ K / own.radius
    B = fitted(L, np.eye(len(L)))
    H, step = c * stage.information(name), posterior.field.width
    S = B @ H @ B.T
    score, sd = posterior.score(H / step)
    V = step * (B @ score)[:, None] + S @ theta
    noise = c * stage.sd("information"), np.array([step * sd]), None
    e = NormalEquations(tuple(full), (name,), (S + S.T) / 2, V, None, *noise, rows, L=L, offset=theta)
    if not stage.holds(ScoreProducts.name):
        return e
    score_products = b**2 * (B @ stage.score_products(name) @ B.T)[None]
    s_products = b**2 * stage.sd(ScoreProducts.name, name)
    return replace(e, score_products=score_products, s_score_products=np.array([s_products]))


def class_equations(released: ReleasedMoments) -> tuple[NormalEquations, Floats]:
    """Return the equations of a step of all classes together, and C, whose rows give each class its coefficients.

    Those of all classes add up to 0, so the equations are about their coordinates in the orthonormal columns of C, one
    behind the other for each regressor. A pair of classes has the information A'A/4 x d d', d = C'(e_j - e_k), so the
    variances of its noise are those of A'A/4, times the squares of the entries of d d'.
    """
    stage = model_stage(released)
    if stage is None:
        raise NotReleasedError("This model was released without what standard errors need.")
    own, posterior = stage.event.coordinates, scored(released).scoring
    assert isinstance(own, ModelCoordinates)
    (full, K), q, m = model_design(released.domain, own.design), len(own.axes), len(own.outcomes)
    C, (j, k) = np.linalg.qr(np.eye(m)[:, 1:] - 1 / m)[0], np.triu_indices(m, k=1)
    d, L, step = np.eye(m)[j] - np.eye(m)[k], own.P.floats.T @ K / own.radius, posterior.field.width
    H = np.einsum("pij,pk,pl->ikjl", stage.pair_information / 4, d, d).reshape(q * m, q * m)
    score, sd = posterior.score(H / step, _OF_CLASSES)
    B = np.kron(fitted(L, np.eye(len(L))), C.T)
    S, theta = B @ H @ B.T, (K.T @ own.theta.floats @ C).reshape(-1, 1)
    s_H, squares = stage.sd(PairInformation.name) / 4, (d @ C) ** 2
    parts = (S + S.T) / 2, step * (B @ score)[:, None] + S @ theta, None, s_H, np.array([step * sd]), None
    names = tuple(name for name in full for _ in range(m - 1))
    e = NormalEquations(names, (own.outcomes[0],), *parts, released.rows(), offset=theta)
    variances: Any = np.kron(s_H**2 * (np.eye(q) + 1) / 2, squares.T @ squares)
    stacked: Any = np.kron(L, np.eye(m - 1))
    return replace(e, variances=variances, L=stacked), C


def typical_curvature(released: ReleasedMoments) -> float:
    """Return the curvature of the loss of a typical row."""
    scale = scored(released).start.scale
    return _CURVATURE if scale is None else scale.mean


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

    Without counts of row norms any row may have been shortened.
    """
    stage, n, norms = model_stage(released), released.rows(), released.norms
    if stage is None:
        return 0.0
    rows, reach = n, 1.0
    if norms is not None:
        own, reach = norms.event.coordinates, scored(released).start.frame.reach
        beyond = norms.row_norms[int(np.sum(np.array(own.row_norms) < 1.01 * stage.event.coordinates.radius)) :]
        hidden = _UNSEEN * norms.sd(RowNormCounts.name) * math.sqrt(len(beyond))
        rows = min(max(float(beyond.sum()), hidden), n)
    return _dispersion(stage) * (_BENT * reach * rows) ** 2 / n


def _dispersion(stage: ReleasedStage) -> float:
    """Return the variance of residuals over the one that the model implies, at least 1, as far as it was released."""
    if not stage.holds(ScoreProducts.name):
        return 1.0
    own, (b,) = stage.event.coordinates, stage.event.widths
    assert isinstance(own, ModelCoordinates)
    name = own.outcomes[0]
    implied = own.largest_slope * max(float(np.trace(stage.information(name))), stage.sd("information"))
    return max(b**2 * float(np.trace(stage.score_products(name))) / implied, 1.0)
