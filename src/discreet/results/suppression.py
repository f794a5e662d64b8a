"""Reasons for withheld intervals: which columns cause them, and what would help."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.core.arrays import Bools, Floats
from discreet.domain import CONSTANT, Domain
from discreet.released.units import column_of
from discreet.solve.debiased import Debiased
from discreet.solve.equations import NormalEquations

_TOGETHER = 0.5
"""Coefficients whose errors have this correlation or more count as collinear."""

_HARDLY = 4.0
"""A column whose sum of squares around its mean is less than this many sds of noise hardly varies."""


def culprits(domain: Domain, e: NormalEquations, fit: Debiased, T: Floats, withheld: Bools) -> tuple[str, ...]:
    """Return the reason for each coefficient that is withheld, "" for the others.

    `fit`: the fit to their residuals, as `rotated` equations.
    `T`: the map from the coefficients of `fit` to those of the user.
    """
    texts = [""] * len(T)
    if not withheld.any():
        return tuple(texts)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # in units that are tiny or huge
        V = T @ fit.G_all @ T.T
        together = np.abs(V) >= _TOGETHER * np.sqrt(np.outer(np.diag(V), np.diag(V)))
    first = 0 if e.names[0] == CONSTANT else 1
    columns, still = [column_of(domain, name) for name in e.names], _vary_hardly(e)
    for i in np.flatnonzero(withheld):
        places = [int(j) - first for j in np.flatnonzero(together[i]) if j > 0]
        texts[i] = _told(columns, still, places)
    return tuple(texts)


def _told(columns: Sequence[str], still: Bools, at: Sequence[int]) -> str:
    """Describe the problem of collinear regressors.

    `columns` are those of all regressors, and `still` tells which of them hardly vary.
    """
    if not at:
        return "There are too few rows for this epsilon. More rows or a larger epsilon help."
    if names := list(dict.fromkeys(columns[i] for i in at if still[i])):
        verb, they, it = ("varies", "it is", "it") if len(names) == 1 else ("vary", "they are", "them")
        return (
            f"{_joined(names)} {verb} too little within the declared bounds to be told from noise: {they} nearly "
            "constant, or the bounds are far too wide. Tighter bounds, more rows or a larger epsilon help, or a model "
            f"without {it}."
        )
    names = list(dict.fromkeys(columns[i] for i in at))
    if len(names) == 1:
        return (
            f"{names[0]} is nearly determined by the other features. Leave one of them out, or give more rows or a "
            "larger epsilon."
        )
    return (
        f"{_joined(names)} move together so closely that noise hides which of them matters. Leave one of them out, or "
        "give more rows or a larger epsilon."
    )


def _vary_hardly(e: NormalEquations) -> Bools:
    squares = np.diag(e.S) - (e.S[0] ** 2 / max(float(e.S[0, 0]), 1.0) if e.names[0] == CONSTANT else 0.0)
    units = np.linalg.solve(e.rotation, np.eye(len(e.S)))
    hardly: Bools = squares < _HARDLY * e.s_xx * np.einsum("ij,ij->j", units, units)
    return hardly


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
