"""From a release to the models of many outcomes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.core.later import Later
from discreet.domain import CONSTANT, derived
from discreet.errors import NotReleasedError, ParameterError
from discreet.released.equations import coordinates
from discreet.released.moments import ReleasedMoments
from discreet.released.solve.equations import ManyEquations, fitted
from discreet.released.solve.many import Solve, solve_many
from discreet.results.many_inference import infer_many, many_units
from discreet.results.many_results import ManyResults

Floats = NDArray[np.float64]


def many_equations(
    released: ReleasedMoments, targets: Sequence[str], features: Sequence[str] | None = None
) -> ManyEquations:
    """The noisy normal equations of several outcomes, none of them a feature."""
    domain = released.domain
    if isinstance(targets, str) or not targets:
        raise ParameterError("targets must be a list with at least one outcome.")
    outcomes = [domain.entries[domain.target(name)] for name in targets]
    own = {entry.column for entry in outcomes}
    names = _free(released, own) if features is None else list(features)
    derived.refuse_outcomes(domain, own, names, NotReleasedError)
    e = released.equations(outcomes[0].name, names)
    Y = [entry.name for entry in outcomes]
    squares = [released.find_square(name) for name in Y]
    yy = [np.nan if table is None else float(table.pick([y], [y])[0, 0]) for y, table in zip(Y, squares, strict=True)]
    known = None not in squares
    cross = released.find("cross", e.names, Y)
    z, L = coordinates(released, names, e.names, [released.find("gram", e.names), cross])
    V, s_xy = fitted(L, cross.pick(z, Y)), np.full(len(Y), e.s_xy)
    return ManyEquations(
        e.names, tuple(Y), e.S, V, np.array(yy) if known else None, e.s_xx, s_xy, e.s_yy if known else None, e.n,
        e.noise_variances, L,
    )  # fmt: skip


def _free(released: ReleasedMoments, outcomes: set[str]) -> list[str]:
    """Released columns that are neither outcomes nor derived from one."""
    factors = {name: {f.column for f in spec.factors} for name, spec in released.domain.columns.items()}
    return [name for name in released.regressors if not outcomes & {name, *factors[name]}]


def many_results(
    released: ReleasedMoments, e: ManyEquations, theta: Floats, model: str, raw: ManyEquations | None = None
) -> ManyResults:
    """Package solutions in the user's units; standard errors come from `raw` equations where e was changed since."""
    T, h, t = many_units(released, e)
    params = (h * (T @ theta)).T + t
    names = tuple(name for name in e.names if name != CONSTANT)
    later = Later(lambda: infer_many(released, e if raw is None else raw)), Later(lambda: released.digest)
    return ManyResults(e.targets, names, params[:, 1:], params[:, 0], model, released.certificate, e.n, *later)


def fit_many(
    released: ReleasedMoments,
    targets: Sequence[str] | None,
    features: Sequence[str] | None,
    solve: Solve = "noise-aware",
    penalty: float | None = None,
) -> ManyResults:
    """Fit one model to many outcomes of a release."""
    named = [name for block in released.blocks if block.statistic == "cross" for name in block.columns]
    if targets is None and not named:
        raise ParameterError("This release names no outcomes: give targets, a list of columns.")
    e = many_equations(released, named if targets is None else targets, features)
    return many_results(released, e, solve_many(e, solve, penalty), solve)
