"""Noisy normal equations: what every solver takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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


def turn(L: Floats | None, d: int) -> Floats:
    """C with C C' = L'L, the identity without L: theta = C times the coefficients of the regressors C'x.

    z = Q C'x, and Q = L C'^-1 has orthonormal columns: noise on Z'Z and Z'y that prefers no direction has the same law
    for the regressors C'x.
    """
    return np.asarray(np.eye(d) if L is None else np.linalg.cholesky(L.T @ L), dtype=np.float64)


def orthonormal(L: Floats, C: Floats) -> Floats:
    """Q = L C'^-1."""
    return np.asarray(np.linalg.solve(C, L.T).T, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """S = X'X + N1 and v = X'y + N2 of one outcome, in units of the mapped columns.

    Parameters
    ----------
    names : tuple of str
        The regressors; the constant comes first where the model has an intercept.
    target : str
        The outcome.
    S, v : array
        Noisy X'X and X'y.
    yy : float or None
        Noisy y'y, where it was released.
    s_xx, s_xy, s_yy : float
        Noise sds: of the diagonal of S (s_xx/sqrt(2) off it), of v, of yy.
    n : float
        The number of rows: declared, or a released noisy one.
    variances : array, optional
        Those of the noise in each entry of S (of Z'Z, with L); by default s_xx^2 on the diagonal and half of it off it.
    L : array, optional
        What was released is Z'Z and Z'y of z = L x, with the sds above; S and v were fitted to them.
    """

    names: tuple[str, ...]
    target: str
    S: Floats
    v: Floats
    yy: float | None
    s_xx: float
    s_xy: float
    s_yy: float | None
    n: float
    variances: Floats | None = None
    L: Floats | None = None

    @property
    def noise_variances(self) -> Floats:
        """Variances of the noise in S (in Z'Z, with L); 0 where an entry is known."""
        if self.variances is not None:
            return self.variances
        return self.s_xx**2 * (np.eye(self.d) + 1) / 2

    @cached_property
    def turn(self) -> Floats:
        """C, from the coefficients of the equations `turned` to those of these."""
        return turn(self.L, self.d)

    def turned(self) -> NormalEquations:
        """The equations of the regressors C'x, whose noise is that of the release; Q is their L."""
        if self.L is None:
            return self
        C = self.turn
        return replace(self, S=C.T @ self.S @ C, v=C.T @ self.v, L=orthonormal(self.L, C))

    @property
    def d(self) -> int:
        """Number of regressors."""
        return len(self.v)


@dataclass(frozen=True, eq=False)
class ManyEquations:
    """S = X'X + N1 and V = X'Y + N2 of many outcomes, which share S.

    Parameters
    ----------
    names, targets : tuple of str
        The regressors; the constant comes first where the model has an intercept. The outcomes.
    S, V : array
        Noisy X'X, and noisy X'Y with a column for each outcome.
    yy : array or None
        Noisy y'y of each outcome, where it was released.
    s_xx : float
        Noise sd of the diagonal of S (s_xx/sqrt(2) off it).
    s_xy : array
        Noise sd of each outcome's column of V.
    s_yy : float or None
        Noise sd of yy.
    n : float
        The number of rows: declared, or a released noisy one.
    variances : array
        Those of the noise in each entry of S (of Z'Z, with L).
    L : array, optional
        As for `NormalEquations`.
    """

    names: tuple[str, ...]
    targets: tuple[str, ...]
    S: Floats
    V: Floats
    yy: Floats | None
    s_xx: float
    s_xy: Floats
    s_yy: float | None
    n: float
    variances: Floats
    L: Floats | None = None

    @cached_property
    def turn(self) -> Floats:
        """C, from the coefficients of the equations `turned` to those of these."""
        return turn(self.L, len(self.S))

    def turned(self) -> ManyEquations:
        """The equations of the regressors C'x, whose noise is that of the release; Q is their L."""
        if self.L is None:
            return self
        C = self.turn
        return replace(self, S=C.T @ self.S @ C, V=C.T @ self.V, L=orthonormal(self.L, C))

    def one(self, j: int) -> NormalEquations:
        """The equations of one outcome."""
        return NormalEquations(
            self.names,
            self.targets[j],
            self.S,
            self.V[:, j],
            None if self.yy is None else float(self.yy[j]),
            self.s_xx,
            float(self.s_xy[j]),
            self.s_yy,
            self.n,
            self.variances,
            self.L,
        )
