"""What the numbers of a saved model must be, whatever was released: of its method, its design and its certificate."""

from __future__ import annotations

import re

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.checks import LARGEST_ROWS, shown
from discreet.core.placeholders import Unavailable
from discreet.results.inference import Inference
from discreet.results.many_inference import ManyInference
from discreet.results.many_results import ManyResults
from discreet.results.results import Results

_DIGEST = re.compile(r"[0-9a-f]{64}|")
"""Of the release behind a model; files of the first version name none."""

_SOLVED = {Results: ("noise-aware", "ridge", "lasso", "elastic-net", "ols"), ManyResults: ("noise-aware", "ridge", "cg")}
"""How a release is solved for a model, where that is not by its own method."""

_SYMMETRIC = 1e-6
"""Covariances may differ from their transpose by this share."""


def misfit(saved: Results | ManyResults) -> str | None:
    """Why a model cannot be what its file says, if it cannot."""
    certificate, own = saved.certificate, isinstance(saved, Results) and saved.release_later is None
    known = () if own else _SOLVED[type(saved)]  # type: ignore[index]
    if saved.model not in (certificate.method, *known):
        return f"{shown(saved.model)} is not how a model is fitted to a release by {certificate.method}"
    if not certificate.domain.intercept and np.any(np.asarray(saved.intercept) != 0):
        return "the domain is for models without an intercept, and the model has one"
    if not own and _DIGEST.fullmatch(saved.release) is None:
        return "what it names as its release is no digest of one"
    if saved.rows is not None and not 0 <= saved.rows <= LARGEST_ROWS:
        return "no table has as many rows as it says"
    if isinstance(saved, Results) and saved.weights is not None and saved.weights.min(initial=1.0) <= 0:
        return "the weights of an adaptive penalty are above 0"
    return _uncertain(saved.inference)


def _uncertain(found: Inference | ManyInference | Unavailable) -> str | None:
    """Why standard errors cannot be what they say they are."""
    if not isinstance(found, Inference):
        return None
    parts = {"sampling": found.sampling, "privacy": found.privacy, "G": found.G, "G_all": found.G_all}
    for name, part in parts.items():
        if not isinstance(part, Unavailable) and not _is_symmetric(part):
            return f"{name}, a matrix of standard errors, is not symmetric"
    spread = found.spread
    if not isinstance(spread, Unavailable) and (spread.sigma2 < 0 or spread.df <= 0 or spread.explained_error < 0):
        return "a variance of residuals, its error or its degrees of freedom are below 0"
    return None


def _is_symmetric(matrix: Floats) -> bool:
    size = float(np.abs(matrix).max(initial=0.0))
    return bool(np.all(np.abs(matrix - matrix.T) <= _SYMMETRIC * size))
