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

_TINY = 1e-200


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
        c2 = Z @ self.vectors
        np.square(c2, out=c2)
        found = np.maximum(self._start(c2), _TINY)
        at, places = found, np.arange(len(Z))
        for _ in range(200):
            D = at[:, None] + self.gaps
            terms = c2 / D
            h = terms.sum(axis=1)
            np.divide(terms, D, out=terms)
            slope = terms.sum(axis=1)
            step = np.where(h > 1, h * (h - 1) / np.maximum(slope, _TINY), 0.0)  # h <= 1: at the root, or none above 0
            at = at + step
            found[places] = at
            left = step > 1e-8 * at  # the step after that would be its square
            if not left.any():
                break
            c2, at, places = c2[left], at[left], places[left]
        return np.where(found <= _TINY, 0.0, found)

    def _start(self, c2: Floats) -> Floats:
        """A point at or below the root: c_1^2, or better where the gaps are wide.

        With T = sum_{j>1} c_j^2/g_j < 1 and U = sum_{j>1} c_j^2/g_j^2, the root is at most top = c_1^2/(1 - T), and the tangent
        of the other terms at 0 says that it is at least c_1^2/(1 - T + U top).
        """
        first = c2[:, 0]
        if len(self.gaps) == 1 or not self.gaps[1] > 1e-9 * self.gaps[-1]:
            return first.copy()
        T, U = (c2[:, 1:] @ np.stack([1 / self.gaps[1:], 1 / self.gaps[1:] ** 2], axis=1)).T
        room = np.maximum(1 - T, 1e-3)
        better: Floats = first / (room + U * first / room)
        return np.where(T < 0.999, np.maximum(better * (1 - 1e-12), first), first)

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
