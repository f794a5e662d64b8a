"""Noisy normal equations, which every solver takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core.arrays import Floats


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """S = X'X + N1 and V = X'Y + N2 of k outcomes, which share S, in units of the mapped columns.

    Equations of one outcome, which `of_one` and `one` give, have its own `target`, `v`, `yy` and `s_xy`, too.

    `names`, `targets`: the regressors; the constant comes first where the model has an intercept. The outcomes.
    `S`, `V`: noisy X'X, and noisy X'Y with a column for each outcome.
    `squares`: noisy y'y of each outcome, where all of them were released.
    `s_xx`: noise sd of the diagonal of S (s_xx/sqrt(2) off it).
    `s_V`: noise sd of each outcome's column of V.
    `s_yy`: noise sd of `squares`.
    `n`: the number of rows: declared, or a released noisy one.
    `variances`: noise variances of the entries of S (of Z'Z, with L); by default s_xx^2 on the diagonal and half of it
        off it.
    `L`: the map z = L x, where Z'Z and Z'Y were released, with the sds above; S and V were fitted to them.
    `offset`: the models, a column for each outcome, whose residuals were released in their place: V and `squares` are
        those of the outcomes themselves, and the noise of S enters through theta - offset only.
    `score_products`, `s_score_products`: for each outcome the noisy sum of (x e)(x e)', e its residuals, and the noise
        sd of the diagonal of Z'Z of it.
    `cuts`, `tails`: for each outcome k and t: what clipped residuals and shortened rows would add, see `solve.tails`.
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
    score_products: Floats | None = None
    s_score_products: Floats | None = None
    cuts: Floats | None = None
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
        """Return the equations of one outcome, with isotropic noise."""
        squares = None if yy is None else np.array([yy])
        return cls(names, (target,), S, np.asarray(v)[:, None], squares, s_xx, np.array([s_xy]), s_yy, n)

    def one(self, j: int) -> NormalEquations:
        """Return the equations of one outcome."""
        parts = {
            name: getattr(self, name) for name in ("squares", "score_products", "s_score_products", "cuts", "tails")
        }
        own: dict[str, Any] = {name: None if x is None else x[[j]] for name, x in parts.items()}
        offset = None if self.offset is None else self.offset[:, [j]]
        return replace(self, targets=(self.targets[j],), V=self.V[:, [j]], s_V=self.s_V[[j]], offset=offset, **own)

    def of_residuals(self) -> NormalEquations:
        """Return the equations of the residuals from the offset, as they were released; the same without an offset."""
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
    def rotation(self) -> Floats:
        """C with C C' = L'L, the identity without L: theta = C times the coefficients of the regressors C'x.

        z = Q C'x, and Q = L C'^-1 has orthonormal columns: isotropic noise on Z'Z and Z'Y has the same law for the
        regressors C'x.
        """
        return np.asarray(np.eye(self.d) if self.L is None else np.linalg.cholesky(self.L.T @ self.L), dtype=np.float64)

    def rotated(self) -> NormalEquations:
        """Return the equations of the regressors C'x, whose noise is that of the release; Q is their L."""
        if self.L is None:
            return self
        C = self.rotation
        Q = np.asarray(np.linalg.solve(C, self.L.T).T, dtype=np.float64)
        offset = None if self.offset is None else np.asarray(np.linalg.solve(C, self.offset), dtype=np.float64)
        score_products = None if self.score_products is None else C.T @ self.score_products @ C
        return replace(self, S=C.T @ self.S @ C, V=C.T @ self.V, L=Q, offset=offset, score_products=score_products)


def fitted(L: Floats | None, Z: Floats) -> Floats:
    """Return (L'L)^-1 L'Z, the least-squares estimate for x from the released Z of coordinates z = L x.

    Examples
    --------
    >>> L = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])  # the constant, a second level, the first level
    >>> fitted(L, np.array([[10.0], [4.0], [9.0]])).round(6).tolist()  # 10 = 4 + 9 but for noise
    [[11.0], [3.0]]
    """
    if L is None:
        return Z
    return np.asarray(np.linalg.solve(L.T @ L, L.T @ Z), dtype=np.float64)
