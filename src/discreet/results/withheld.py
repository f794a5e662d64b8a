"""Why a coefficient has no interval: which columns are to blame, and what would help."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.core.arrays import Bools, Floats
from discreet.domain import CONSTANT, Domain
from discreet.released.equations import NormalEquations
from discreet.released.solve.debiased import Debiased
from discreet.released.units import column_of

_TOGETHER = 0.5
"""Coefficients whose errors have this correlation or more go up and down together."""

_HARDLY = 4.0
"""A column whose sum of squares around its mean is less than this many sds of noise hardly varies."""


def culprits(domain: Domain, e: NormalEquations, fit: Debiased, T: Floats, withheld: Bools) -> tuple[str, ...]:
    """For each coefficient that is withheld what to say, "" for the others.

    Parameters
    ----------
    domain : Domain
        The public facts.
    e : NormalEquations
        The equations.
    fit : Debiased
        Of their residuals, turned.
    T : array
        From the coefficients of `fit` to those of the user.
    withheld : array
        Which of the latter have no interval.
    """
    texts = [""] * len(T)
    if not withheld.any():
        return tuple(texts)
    V = T @ fit.G_all @ T.T
    together = np.abs(V) >= _TOGETHER * np.sqrt(np.outer(np.diag(V), np.diag(V)))
    first = 0 if e.names[0] == CONSTANT else 1
    for i in np.flatnonzero(withheld):
        places = [int(j) - first for j in np.flatnonzero(together[i]) if j > 0]
        texts[i] = _told(domain, e, places)
    return tuple(texts)


def _told(domain: Domain, e: NormalEquations, at: Sequence[int]) -> str:
    """What is the matter with regressors whose coefficients go up and down together."""
    if not at:
        return "There are too few rows for this epsilon. More rows or a larger epsilon help."
    still = [i for i in at if _varies_hardly(e, i)]
    if still:
        names = _columns(domain, e, still)
        verb, they, it = ("varies", "it is", "it") if len(names) == 1 else ("vary", "they are", "them")
        return (
            f"{_joined(names)} {verb} too little within the declared bounds to be told from noise: {they} nearly "
            "constant, or the bounds are far too wide. Tighter bounds, more rows or a larger epsilon help, or a model "
            f"without {it}."
        )
    names = _columns(domain, e, at)
    if len(names) == 1:
        return (
            f"{names[0]} is nearly determined by the other features. Leave one of them out, or give more rows or a "
            "larger epsilon."
        )
    return (
        f"{_joined(names)} move together so closely that noise hides which of them matters. Leave one of them out, or "
        "give more rows or a larger epsilon."
    )


def _varies_hardly(e: NormalEquations, i: int) -> bool:
    n = max(float(e.S[0, 0]), 1.0)
    square = float(e.S[i, i]) - (float(e.S[0, i]) ** 2 / n if e.names[0] == CONSTANT else 0.0)
    unit = np.linalg.solve(e.turn, np.eye(len(e.S))[i])
    return square < _HARDLY * e.s_xx * float(unit @ unit)


def _columns(domain: Domain, e: NormalEquations, at: Sequence[int]) -> list[str]:
    return list(dict.fromkeys(column_of(domain, e.names[i]) for i in at))


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
