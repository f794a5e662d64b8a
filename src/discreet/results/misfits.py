"""Checks of the numbers of a saved model against its method, its design and its certificate."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from discreet import __version__
from discreet.core.arrays import Floats
from discreet.core.checks import LARGEST_ROWS, shown
from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT
from discreet.domain.levels import lift
from discreet.released.units import column_of, in_user_units
from discreet.results.glm_inference import infer_model
from discreet.results.inference import OLD_FILE, JointInference
from discreet.results.results import Results
from discreet.results.spread import OutcomeSpread
from discreet.solve.debiased import through_noise

_DIGEST = re.compile(r"[0-9a-f]{64}")
"""Format of the digest of the release behind a model."""

_SOLVED, _SOLVED_MANY = ("noise-aware", "ridge", "lasso", "elastic-net", "ols"), ("noise-aware", "ridge", "cg")
"""Solvers of a release besides its own method's."""

_NEAR = 1e-4
"""Numbers that are computed again may differ by this share of their own size, or of their standard error."""

_ROUNDING = 1e-6
"""So may coefficients of the mapped columns, by this share of the largest: they may be 0."""


def misfits(saved: Results) -> Iterator[str]:
    """Yield reasons why a model cannot be what its file says."""
    certificate, own = saved.certificate, saved.release_later is None
    known = () if own else _SOLVED_MANY if saved.several else _SOLVED
    if saved.model not in (certificate.method, *known):
        yield f"{shown(saved.model)} is not how a model is fitted to a release by {certificate.method}"
    if not certificate.domain.intercept and np.any(np.asarray(saved.intercept) != 0):
        yield "the domain is for models without an intercept, and the model has one"
    first = saved.inference == OLD_FILE  # files of the first kind name neither a release nor a number of rows
    if not own and not first and (_DIGEST.fullmatch(saved.release) is None or saved.rows is None):
        yield "it names no digest of its release, or no number of rows"
    if saved.rows is not None and not 0 <= saved.rows <= LARGEST_ROWS:
        yield "no table has as many rows as it says"
    if saved.weights is not None and saved.weights.min(initial=1.0) <= 0:
        yield "the weights of an adaptive penalty are above 0"
    spread = saved.joint.spread if isinstance(saved.joint, JointInference) else None
    if isinstance(spread, OutcomeSpread) and (spread.sigma2 < 0 or spread.df <= 0 or spread.explained_error < 0):
        yield "a variance of residuals, its error or its degrees of freedom are below 0"
    if own:
        yield from (why for why in (_beyond(saved), _differs(saved)) if why is not None)


# ---------------------------------------------------------------- coefficients that were released themselves


def _beyond(saved: Results) -> str | None:
    """Return the reason that the listed penalty and noise cannot lead to the released coefficients, if there is one.

    A level may have that of its category's first level taken off, so coefficients are at most twice as large as theta.
    """
    certificate = saved.certificate
    if certificate.events[-1].link not in (None, saved.link):
        return f"what was released is no {saved.kind}"
    own = [event for event in certificate.events if event.coefficients]
    if own and tuple(name for name in own[-1].regressors if name in saved.names) != saved.names:
        return "the regressors of the model are not in the order of those that were released"
    event = certificate.events[-1]
    if not event.coefficients:
        return None
    reach = event.reach(certificate.rows) if event.rotated is None else math.inf
    domain = certificate.domain
    column = column_of(domain, saved.target)
    c, h = domain.map(column) if saved.family.linear else (0.0, 1.0)
    places = domain.indices(saved.names)
    slopes = 2 * reach * h / domain.half[places]
    constant = abs(c) + h * 2 * reach * (1 + float(np.abs(domain.centre[places] / domain.half[places]).sum()))
    if (np.abs(saved.coef) > slopes).any() or (np.abs(saved.intercept) > constant).any():
        return "coefficients are larger than the listed penalty and noise can make them"
    return None


def _differs(saved: Results) -> str | None:
    """Say how a model or its standard errors differ from those of its released values, if they do.

    They follow by the rules of one version, so files of other versions are not compared.
    """
    if not saved.values or saved.certificate.software != f"discreet {__version__}":
        return None
    return _other_errors(saved) or _other_coefficients(saved)


def _other_errors(saved: Results) -> str | None:
    """Say how standard errors differ from those of the released values, if they do."""
    own, again = saved.inference_later(), infer_model(saved.released)
    if isinstance(again, Unavailable) or not isinstance(own, JointInference):
        same = again == own
        return None if same else "there are standard errors, or none, where the released values have it otherwise"
    sizes = zip(
        (own.df, own.tails, own.cut, own.score_noise),
        (again.df, again.tails, again.cut, again.score_noise),
        strict=True,
    )
    same = all(math.isclose(*pair, rel_tol=_NEAR) for pair in sizes)  # either estimand may be asked for
    if not same or not _same_errors(own, again):
        return "the standard errors do not follow from the released values"
    return None


def _same_errors(own: JointInference, again: JointInference) -> bool:
    """Whether estimates, covariances and noise are the same, each beside the standard error of its coefficient."""
    if own.estimate.shape != again.estimate.shape or list(map(bool, own.culprits)) != list(map(bool, again.culprits)):
        return False
    parts, errors = [_covariances(found) for found in (own, again)], np.zeros(len(again.estimate))
    for one, other in zip(*parts, strict=True):
        if isinstance(one, Unavailable) or isinstance(other, Unavailable):
            if one != other:
                return False
            continue
        sds = np.sqrt(np.maximum(np.diag(other), 0.0))
        errors = np.maximum(errors, sds)
        if not _is_near(one, other, np.outer(sds, sds)):
            return False
    moved = own.T @ own.theta, again.T @ again.theta
    return all(_is_near(*pair, errors) for pair in ((own.estimate, again.estimate), moved))


def _other_coefficients(saved: Results) -> str | None:
    """Say that coefficients do not follow from the released values, if they do not."""
    released = saved.released
    theta, full = released.theta, released.stages[-1].event.design
    design = (CONSTANT, *saved.names) if released.domain.intercept else saved.names
    L = lift(released.domain, full, design)
    domain = released.domain
    unit = domain.map(column_of(domain, saved.target)) if saved.family.linear else (0.0, 1.0)
    lines = [in_user_units(domain, design, L.T @ column, unit) for column in theta.T]
    expected = np.array([[intercept, *coef] for coef, intercept in lines])
    if expected.shape != saved.predictors.shape:
        return None
    # of the mapped columns, so that no coefficient is small beside others for its unit alone
    places = domain.indices(saved.names)
    centre, half = domain.centre[places], domain.half[places]
    one, other = (
        np.column_stack([own[:, 0] - unit[0] + own[:, 1:] @ centre, own[:, 1:] * half])
        for own in (saved.predictors, expected)
    )
    if not _is_near(one, other, np.abs(other) + _ROUNDING / _NEAR * np.abs(other).max()):
        return "the coefficients do not follow from the released values"
    return None


def _covariances(found: JointInference) -> list[Floats | Unavailable]:
    """Covariances in the user's units, which do not depend on the coordinates of the computation; noise, too."""
    T, G = found.T, found.G_all
    noise = G @ through_noise(found.W, G, found.L) @ G
    parts = (found.G, G, noise, found.sampling, found.privacy)
    return [part if isinstance(part, Unavailable) else T @ part @ T.T for part in parts]


def _is_near(one: Floats, other: Floats, size: Floats) -> bool:
    """Whether numbers are the same but for rounding errors, which are amplified where a table is nearly singular."""
    return bool(np.all(np.abs(one - other) <= _NEAR * size + 1e-300))
