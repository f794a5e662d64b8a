"""Noisy normal equations from released tables of products, and posteriors of their coefficients.

Where a release holds every level of a category, it holds some sums twice: with the constant, and as the total over the
levels. All of them are used: the released coordinates are z = L x, x the regressors, so X'X and X'Y are fitted to Z'Z
and Z'Y by least squares, after products of different levels of one category, which are 0, were set to 0. See
``docs/mathematics``, 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain import CONSTANT
from discreet.domain.domain import Domain
from discreet.domain.levels import every_level, lift, model_design
from discreet.errors import NotReleasedError, ParameterError
from discreet.privacy.values import ReleasedStage
from discreet.solve.equations import NormalEquations, fitted
from discreet.solve.inclusion import Likelihood
from discreet.solve.joint import Joint
from discreet.solve.noise_aware import Posterior, noise_aware, posterior
from discreet.solve.tails import charge, inside, shortened
from discreet.statistics.scores import ScoreProducts

if TYPE_CHECKING:
    from discreet.released.moments import BlockValues, ReleasedMoments


def normal_equations(
    released: ReleasedMoments, targets: Sequence[str], features: Sequence[str] | None = None
) -> NormalEquations:
    """Return the noisy normal equations of some outcomes on the same features, none of which is an outcome."""
    if isinstance(features, str):
        raise ParameterError(f"features must be a list of column names, for example [{features!r}].")
    if isinstance(targets, str) or not targets:
        raise ParameterError("targets must be a list with at least one outcome.")
    domain = released.domain
    outcomes = [domain.entries[domain.target(name)] for name in targets]
    own = {entry.column for entry in outcomes}
    names = released.features(own) if features is None else list(features)
    domain.refuse_outcomes(own, names, NotReleasedError)
    places = domain.design(names)
    if not places:
        raise ParameterError("A model needs at least one feature, or an intercept.")
    design, y = [domain.entries[i].name for i in places], [entry.name for entry in outcomes]
    if released.stages:
        return staged_equations(domain, released.stages, released.norms, design, y, released.geometry.rows)
    gram, cross = released.find("gram", design), released.find("cross", design, y)
    z, L = coordinates(domain, names, design, [gram, cross])
    known = domain.exclusive(domain.indices(z))
    ZZ, ZY, (squares, s_yy), n = gram.pick(z, z), cross.pick(z, y), released.squares(y), released.rows()
    diagonal, upper = gram.sds
    S = fitted(L, fitted(L, np.where(known, 0.0, ZZ)).T)
    return NormalEquations(
        names=tuple(design),
        targets=tuple(y),
        S=(S + S.T) / 2,
        V=fitted(L, ZY),
        squares=squares,
        s_xx=diagonal,
        s_V=np.full(len(y), cross.sds[-1]),
        s_yy=s_yy,
        n=n,
        variances=np.where(known, 0.0, np.where(np.eye(len(z)), diagonal**2, upper**2)),
        L=L,
    )


def staged_equations(
    domain: Domain,
    stages: Sequence[ReleasedStage],
    norms: ReleasedStage | None,
    design: Sequence[str],
    targets: Sequence[str],
    rows: float,
) -> NormalEquations:
    """Return the equations of the weighted rows of the last stage, for all of its regressors or some of them.

    u = w L x, and b e = w (y - theta'x) where it is not clipped. With B = (L'L)^-1 L', X'X = B U'U B'. For some
    regressors, their rows M of B have the noise of the regressors C^-1 x, with C C' = M M'; that of S theta, which is
    not theirs, comes on top.
    """
    stage = stages[-1]
    own = stage.event.coordinates
    absent = [name for name in design if name not in own.design] or [y for y in targets if y not in own.outcomes]
    if absent:
        raise NotReleasedError(
            f"The products with {absent[0]!r} were not released: stages are for {', '.join(own.outcomes)} on "
            f"{', '.join(own.design)}."
        )
    if len(own.axes) < len(own.design):
        return _of_mean(stage, design, targets)
    full, K = model_design(domain, own.design)
    at, j = [full.index(name) for name in design], [own.outcomes.index(name) for name in targets]
    b, theta, L = np.array(stage.event.widths)[j], K.T @ own.theta.floats[:, j], own.P.floats.T @ K / own.radius
    B = fitted(L, np.eye(len(L)))
    S, V = B @ stage.gram @ B.T, b * (B @ stage.cross[:, j])
    squares = b**2 * stage.squares[j] + np.einsum("ij,ij->j", theta, 2 * V + S @ theta)
    V = V + S @ theta
    s_xx, s_V = stage.sd("gram"), b * stage.sd("cross")
    if own.design[0] == CONSTANT:
        n = max(float(S[0, 0]), 1.0)
    else:
        n = max(rows * inside(stage, targets[0]) - shortened(stages, norms), float(np.trace(stage.gram)), 1.0)
    s_yy, whole = float(b.max()) ** 2 * stage.sd("squares"), at == list(range(len(full)))
    if not whole:
        M, S, V = B[at], S[np.ix_(at, at)], V[at]
        L = np.asarray(np.linalg.inv(np.linalg.cholesky(M @ M.T)), dtype=np.float64)
        s_V = np.sqrt(s_V**2 + s_xx**2 / 2 * np.sum((B.T @ theta) ** 2, axis=0))
    S = (S + S.T) / 2
    e = NormalEquations(tuple(design), tuple(targets), S, V, squares, s_xx, s_V, s_yy, n, L=L)
    cuts, tails = np.array([charge(stages, norms, name, rows) for name in targets]).T
    e = replace(e, cuts=cuts, tails=tails)
    if not whole:
        return e
    if not stage.holds(ScoreProducts.name):
        return replace(e, offset=theta)
    score_products = np.array(
        [width**2 * B @ stage.score_products(name) @ B.T for name, width in zip(targets, b, strict=True)]
    )
    s_score_products = np.array(
        [width**2 * stage.sd(ScoreProducts.name, name) for name, width in zip(targets, b, strict=True)]
    )
    return replace(e, offset=theta, score_products=score_products, s_score_products=s_score_products)


def _of_mean(stage: ReleasedStage, design: Sequence[str], targets: Sequence[str]) -> NormalEquations:
    """Return the equations where the constant is the only axis: nothing is known of the slopes."""
    own = stage.event.coordinates
    j = [own.outcomes.index(name) for name in targets]
    b, centre, r = np.array(stage.event.widths)[j], own.theta.floats[0, j], own.radius
    S, V = np.zeros((len(design), len(design))), np.zeros((len(design), len(targets)))
    n = S[0, 0] = max(float(stage.gram[0, 0]) * r**2, 1.0)
    V[0] = n * centre + r * b * stage.cross[0, j]
    squares = b**2 * stage.squares[j] + centre * (2 * V[0] - n * centre)
    sds = r**2 * stage.sd("gram"), r * b * stage.sd("cross"), float(b.max()) ** 2 * stage.sd("squares")
    return NormalEquations(tuple(design), tuple(targets), S, V, squares, *sds, n)


def coordinates(
    domain: Domain, features: Sequence[str], design: Sequence[str], tables: Sequence[BlockValues]
) -> tuple[list[str], Floats | None]:
    """Return coordinates z in all tables that determine the regressors x, and L with z = L x; None if z is x."""
    full = every_level(domain, features, design)
    more = [name for name in full if name not in set(design) and all(table.holds([name]) for table in tables)]
    z = [*design, *more]
    return z, lift(domain, z, design) if more else None


# ---------------------------------------------------------------- posteriors, given one release or all stages


def noise_aware_solution(released: ReleasedMoments, e: NormalEquations) -> Floats:
    """Return the posterior mean of the coefficients of the mapped columns, a column for each outcome."""
    if not released.stages:
        return noise_aware(e)
    return np.column_stack([_joint(released, e.one(j)).mean for j in range(len(e.targets))])


def posterior_of(released: ReleasedMoments, e: NormalEquations) -> Posterior | Joint:
    """Return the posterior of one outcome's coefficients."""
    return _joint(released, e) if released.stages else posterior(e)


def likelihood_of(released: ReleasedMoments, e: NormalEquations) -> Likelihood:
    """Return the likelihood of one outcome's coefficients, without their prior."""
    if released.stages and not released.mean_alone:
        return Likelihood.of_stages(_joint(released, e))
    return Likelihood.of_equations(e)


def _joint(released: ReleasedMoments, e: NormalEquations) -> Joint:
    """Return the posterior given all stages; for some of the regressors, the projection of the posterior for all."""
    geometry = released.geometry
    whole = geometry.posterior(released.stages, e.target)
    full, K = model_design(released.domain, geometry.design)
    lifted = whole.lifted(K, fitted(K, np.eye(len(K))))
    at = [full.index(name) for name in e.names]
    return lifted if at == list(range(len(full))) else lifted.of_some(at)
