r"""The least eigenvalue of A without a row (A - z z') or with one more (A + z z'), by the secular equation.

With A = V diag(l) V', l ascending, g_j = l_j - l_1 and c = V'z, the least eigenvalue falls by the delta >= 0 with

    h(delta) = sum_j c_j^2/(delta + g_j) = 1,

or by 0 where h(0+) <= 1. 1/h is increasing and concave, so Newton steps on it from delta = c_1^2, where h >= 1, rise to
the root and never pass it. With one more row it rises by the s in [0, g_2] with c_1^2/s = 1 + sum_{j>1} c_j^2/(g_j - s).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Spectrum:
    """Eigenvalues and eigenvectors of a Gram matrix; **confidential**.

    Examples
    --------
    >>> A = np.diag([2.0, 5.0])
    >>> Spectrum(A).fall(np.array([[1.0, 0.0], [0.0, 1.0]])), Spectrum(A).rise(np.array([[1.0, 0.0], [3.0, 0.0]]))
    (array([1., 0.]), array([1., 3.]))
    """

    def __init__(self, A: Floats) -> None:
        self.values, self.vectors = np.linalg.eigh(A)
        self.gaps = self.values - self.values[0]

    @property
    def least(self) -> float:
        """lambda_min."""
        return float(self.values[0])

    @property
    def error(self) -> float:
        """Bound on the rounding errors of two computed least eigenvalues: 8 d 2^-52 |A|."""
        return 8 * len(self.values) * 2.0**-52 * max(float(self.values[-1]), 0.0)

    def fall(self, Z: Floats) -> Floats:
        """How far lambda_min falls without each row of Z, which is one of the rows of A."""
        c2 = (Z @ self.vectors) ** 2
        delta = c2[:, 0].copy()
        active = np.flatnonzero(np.any(c2 > 0, axis=1))
        for _ in range(200):
            if not len(active):
                break
            part, at = c2[active], delta[active]
            with np.errstate(divide="ignore", invalid="ignore"):
                inverse = 1 / (at[:, None] + self.gaps)
                terms = np.where(part > 0, part * inverse, 0.0)
                h = terms.sum(axis=1)
                slope = np.where(part > 0, terms * inverse, 0.0).sum(axis=1)
                step = np.where(h > 1, h * (h - 1) / slope, 0.0)  # where delta = 0 is no pole and h <= 1, it stays
            step = np.where(np.isfinite(step), step, 0.0)
            delta[active] = at + step
            active = active[step > 1e-14 * (at + step)]
        return delta

    def rise(self, Z: Floats) -> Floats:
        """How far lambda_min rises with each row of Z added."""
        c2 = (Z @ self.vectors) ** 2
        if len(self.values) == 1:
            return c2[:, 0]
        norms = c2.sum(axis=1)
        low, high = np.zeros(len(Z)), np.minimum(norms, self.gaps[1])
        for _ in range(120):
            middle = (low + high) / 2
            with np.errstate(divide="ignore", invalid="ignore"):
                others = np.where(c2[:, 1:] > 0, c2[:, 1:] / (self.gaps[1:] - middle[:, None]), 0.0).sum(axis=1)
                over = 1 + others > c2[:, 0] / middle
            low, high = np.where(over, low, middle), np.where(over, middle, high)
        return high

    def __repr__(self) -> str:
        return "Spectrum(confidential)"
