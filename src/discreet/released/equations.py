"""Noisy normal equations: what every solver takes, and how released tables of products give them.

Where a release holds every level of a category, it holds some sums twice: with the constant, and as the total over the
levels. All of them are used: the released coordinates are z = L x, x the regressors, so X'X and X'Y are fitted to Z'Z
and Z'Y by least squares, after products of different levels of one category, which are 0, were set to 0. See
``docs/mathematics``, 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain import CONSTANT
from discreet.domain.domain import Domain
from discreet.domain.levels import every_level, lift
from discreet.errors import NotReleasedError, ParameterError
from discreet.released.grids import ReleasedStage
from discreet.released.tails import tail

if TYPE_CHECKING:
    from discreet.released.moments import ReleasedMoments, Table


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """S = X'X + N1 and V = X'Y + N2 of k outcomes, which share S, in units of the mapped columns.

    Equations of one outcome, which `of_one` and `one` give, have its own `target`, `v`, `yy` and `s_xy`, too.

    Parameters
    ----------
    names, targets : tuple of str
        The regressors; the constant comes first where the model has an intercept. The outcomes.
    S, V : array
        Noisy X'X, and noisy X'Y with a column for each outcome.
    squares : array or None
        Noisy y'y of each outcome, where all of them were released.
    s_xx : float
        Noise sd of the diagonal of S (s_xx/sqrt(2) off it).
    s_V : array
        Noise sd of each outcome's column of V.
    s_yy : float or None
        Noise sd of `squares`.
    n : float
        The number of rows: declared, or a released noisy one.
    variances : array, optional
        Those of the noise in each entry of S (of Z'Z, with L); by default s_xx^2 on the diagonal and half of it off it.
    L : array, optional
        What was released is Z'Z and Z'Y of z = L x, with the sds above; S and V were fitted to them.
    offset : array, optional
        The models, a column for each outcome, whose residuals were released in their place: V and `squares` are those
        of the outcomes themselves, and the noise of S enters through theta - offset only.
    meats, s_meats : array, optional
        For each outcome the noisy sum of (x e)(x e)', e its residuals, and the noise sd of the diagonal of Z'Z of it.
    tails : array, optional
        For each outcome t: what far rows and far residuals would add moves a'theta by at most about sqrt(t a'G a).
    """

    names: tuple[str, ...]
    targets: tuple[str, ...]
    S: Floats
    V: Floats
    squares: Floats | None
    s_xx: float
    s_V: Floats
    s_yy: float | None
    n: float
    variances: Floats | None = None
    L: Floats | None = None
    offset: Floats | None = None
    meats: Floats | None = None
    s_meats: Floats | None = None
    tails: Floats | None = None

    @classmethod
    def of_one(
        cls,
        names: tuple[str, ...],
        target: str,
        S: Floats,
        v: Floats,
        yy: float | None,
        s_xx: float,
        s_xy: float,
        s_yy: float | None,
        n: float,
    ) -> NormalEquations:
        """The equations of one outcome, with noise that prefers no direction."""
        squares = None if yy is None else np.array([yy])
        return cls(names, (target,), S, np.asarray(v)[:, None], squares, s_xx, np.array([s_xy]), s_yy, n)

    def one(self, j: int) -> NormalEquations:
        """The equations of one outcome."""
        squares = None if self.squares is None else self.squares[[j]]
        offset = None if self.offset is None else self.offset[:, [j]]
        one = replace(self, targets=(self.targets[j],), V=self.V[:, [j]], squares=squares, s_V=self.s_V[[j]])
        meats, s_meats, tails = (None if x is None else x[[j]] for x in (self.meats, self.s_meats, self.tails))
        return replace(one, offset=offset, meats=meats, s_meats=s_meats, tails=tails)

    def of_residuals(self) -> NormalEquations:
        """The equations of what the offset leaves over, as they were released; the same without one."""
        if self.offset is None:
            return self
        V, squares = self.V - self.S @ self.offset, self.squares
        if squares is not None:
            squares = squares - np.einsum("ij,ij->j", self.offset, self.V + V)
        return replace(self, V=V, squares=squares, offset=None)

    @property
    def d(self) -> int:
        """Number of regressors."""
        return len(self.S)

    @property
    def target(self) -> str:
        """The outcome, where there is one."""
        (target,) = self.targets
        return target

    @property
    def v(self) -> Floats:
        """Noisy X'y of the one outcome."""
        v: Floats
        (v,) = self.V.T
        return v

    @property
    def yy(self) -> float | None:
        """Noisy y'y of the one outcome, where it was released."""
        return None if self.squares is None else self.squares.item()

    @property
    def s_xy(self) -> float:
        """Noise sd of `v`."""
        return self.s_V.item()

    @property
    def noise_variances(self) -> Floats:
        """Variances of the noise in S (in Z'Z, with L); 0 where an entry is known."""
        if self.variances is not None:
            return self.variances
        return self.s_xx**2 * (np.eye(self.d if self.L is None else len(self.L)) + 1) / 2

    @cached_property
    def turn(self) -> Floats:
        """C with C C' = L'L, the identity without L: theta = C times the coefficients of the regressors C'x.

        z = Q C'x, and Q = L C'^-1 has orthonormal columns: noise on Z'Z and Z'Y that prefers no direction has the same
        law for the regressors C'x.
        """
        return np.asarray(np.eye(self.d) if self.L is None else np.linalg.cholesky(self.L.T @ self.L), dtype=np.float64)

    def turned(self) -> NormalEquations:
        """The equations of the regressors C'x, whose noise is that of the release; Q is their L."""
        if self.L is None:
            return self
        C = self.turn
        Q = np.asarray(np.linalg.solve(C, self.L.T).T, dtype=np.float64)
        offset = None if self.offset is None else np.asarray(np.linalg.solve(C, self.offset), dtype=np.float64)
        meats = None if self.meats is None else C.T @ self.meats @ C
        return replace(self, S=C.T @ self.S @ C, V=C.T @ self.V, L=Q, offset=offset, meats=meats)


def normal_equations(
    released: ReleasedMoments, targets: Sequence[str], features: Sequence[str] | None = None
) -> NormalEquations:
    """The noisy normal equations of some outcomes on the same features, none of which is an outcome."""
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
        return staged_equations(domain, released.stages, design, y, released.course.rows)
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
    domain: Domain, stages: Sequence[ReleasedStage], design: Sequence[str], targets: Sequence[str], rows: float
) -> NormalEquations:
    """The equations of the weighted rows of the last stage, for all of its regressors or some of them.

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
    n = max(float(S[0, 0]) if own.design[0] == CONSTANT else float(np.trace(stage.gram)), 1.0)
    s_yy, whole = float(b.max()) ** 2 * stage.sd("squares"), at == list(range(len(full)))
    if not whole:
        M, S, V = B[at], S[np.ix_(at, at)], V[at]
        L = np.asarray(np.linalg.inv(np.linalg.cholesky(M @ M.T)), dtype=np.float64)
        s_V = np.sqrt(s_V**2 + s_xx**2 / 2 * np.sum((B.T @ theta) ** 2, axis=0))
    S = (S + S.T) / 2
    e = NormalEquations(tuple(design), tuple(targets), S, V, squares, s_xx, s_V, s_yy, n, L=L)
    e = replace(e, tails=np.array([tail(stages, name, rows) for name in targets]))
    if not whole:
        return e
    if not stage.holds("meat"):
        return replace(e, offset=theta)
    meats = np.array([width**2 * B @ stage.meat(name) @ B.T for name, width in zip(targets, b, strict=True)])
    s_meats = np.array([width**2 * stage.sd("meat", name) for name, width in zip(targets, b, strict=True)])
    return replace(e, offset=theta, meats=meats, s_meats=s_meats)


def model_design(domain: Domain, design: Sequence[str]) -> tuple[list[str], Floats]:
    """The regressors of a model in a design that may hold every level, and L with z = L x for the design's z."""
    plain = [name for name, spec in domain.columns.items() if spec.levels and not spec.factors]
    first = {domain.entries[domain.positions[name][0]].name for name in plain} if design[0] == CONSTANT else set()
    full = [name for name in design if name not in first]
    return full, lift(domain, design, full)


def _of_mean(stage: ReleasedStage, design: Sequence[str], targets: Sequence[str]) -> NormalEquations:
    """The equations where the constant is the only axis: nothing is known of the slopes."""
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
    domain: Domain, features: Sequence[str], design: Sequence[str], tables: Sequence[Table]
) -> tuple[list[str], Floats | None]:
    """The coordinates z that tell of the regressors x and that all tables hold, and L with z = L x; None if z is x."""
    full = every_level(domain, features, design)
    more = [name for name in full if name not in set(design) and all(table.holds([name]) for table in tables)]
    z = [*design, *more]
    return z, lift(domain, z, design) if more else None


def fitted(L: Floats | None, Z: Floats) -> Floats:
    """(L'L)^-1 L'Z: what the released Z of coordinates z = L x says of x, by least squares.

    Examples
    --------
    >>> L = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])  # the constant, a second level, the first level
    >>> fitted(L, np.array([[10.0], [4.0], [9.0]])).round(6).tolist()  # 10 = 4 + 9 but for noise
    [[11.0], [3.0]]
    """
    if L is None:
        return Z
    return np.asarray(np.linalg.solve(L.T @ L, L.T @ Z), dtype=np.float64)
