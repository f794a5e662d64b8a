"""Noisy normal equations: what every solver takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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
        Those of the noise in each entry of S; by default s_xx^2 on the diagonal and half of it off it.
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

    @property
    def noise_variances(self) -> Floats:
        """Variances of the noise in S; 0 where an entry is known."""
        if self.variances is not None:
            return self.variances
        return self.s_xx**2 * (np.eye(self.d) + 1) / 2

    @property
    def d(self) -> int:
        """Number of regressors."""
        return len(self.v)
