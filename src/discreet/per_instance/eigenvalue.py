r"""Changes of the least eigenvalue when a row is removed (A - z z') or added (A + z z'), by the secular equation.

With A = V diag(l) V', l ascending, g_j = l_j - l_1 and c = V'z, the least eigenvalue falls by the delta >= 0 with

    h(delta) = sum_j c_j^2/(delta + g_j) = 1,

or by 0 where h(0+) <= 1. 1/h is increasing and concave, so Newton steps on it from delta = c_1^2, where h >= 1, rise to
the root and never pass it. With one more row it rises by the s in [0, g_2] with c_1^2/s = 1 + sum_{j>1} c_j^2/(g_j -
s).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import Floats

_TINY = 1e-200
_TERMS = 8


class Spectrum:
    """Eigenvalues and eigenvectors of a Gram matrix; **confidential**."""

    def __init__(self, A: Floats) -> None:
        self.values, self.vectors = np.linalg.eigh(A)
        self.gaps = self.values - self.values[0]
        self.least = float(self.values[0])
        # a bound on the rounding errors of two computed least eigenvalues: 8 d 2^-52 |A|
        self.error = 8 * len(self.values) * 2.0**-52 * max(float(self.values[-1]), 0.0)

    def fall(self, Z: Floats) -> Floats:
        """Return the decrease of lambda_min when each row of Z, one of the rows of A, is removed."""
        c2 = Z @ self.vectors
        np.square(c2, out=c2)
        found, left = self._series(c2)
        if left.any():
            found[left] = self._newton(c2[left])
        return found

    def _newton(self, c2: Floats) -> Floats:
        """Solve the secular equation by Newton steps on 1/h."""
        at = np.maximum((c2 - self.gaps).max(axis=1), _TINY)  # below the root: one term alone is 1 there, or none
        found, places = at.copy(), np.arange(len(c2))
        for _ in range(200):
            D = at[:, None] + self.gaps
            terms = c2 / D
            h = terms.sum(axis=1)
            slope = (terms / D).sum(axis=1)
            step = np.where(h > 1, h * (h - 1) / np.maximum(slope, _TINY), 0.0)  # h <= 1: at the root, or none above 0
            at = at + step
            found[places] = at
            left = step > 1e-8 * at  # the step after that would be its square
            if not left.any():
                break
            c2, at, places = c2[left], at[left], places[left]
        return np.where(found <= _TINY, 0.0, found)

    def _series(self, c2: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Solve it by a series for rows that are short beside the gaps; return the solutions and which rows are left.

        delta (1 - T(delta)) = c_1^2 with T(delta) = sum_{j>1} c_j^2/(g_j + delta) = sum_k (-1)^k C_k (delta/g_2)^k, an
        alternating series cut where its next term is below 1e-16.
        """
        first, gap = c2[:, 0].copy(), self.gaps[1] if len(self.gaps) > 1 else np.inf
        if len(self.gaps) == 1:
            return first, np.zeros(len(c2), dtype=bool)
        if not gap > max(1e-9 * self.gaps[-1], 1e-150):
            return first, np.ones(len(c2), dtype=bool)
        powers = (gap / self.gaps[1:, None]) ** np.arange(_TERMS + 1) / self.gaps[1:, None]
        C = (c2[:, 1:] @ powers).T
        left = (C[0] > 0.5) | (first > 0.1 * gap)
        C[:, left], first[left] = 0.0, 0.0
        delta = first / (1 - C[0])
        for _ in range(4):
            q, T, slope = delta / gap, np.zeros_like(delta), np.zeros_like(delta)
            for k in reversed(range(_TERMS)):
                slope = slope * -q - T
                T = T * -q + C[k]
            step = (delta * (1 - T) - first) / (1 - T - q * slope)
            delta = delta - step
            if np.all(np.abs(step) <= 1e-8 * delta):  # the step after that would be its square
                break
        left |= C[_TERMS] * (delta / gap) ** _TERMS > 1e-16
        return delta, left

    def rise(self, Z: Floats) -> Floats:
        """Return the increase of lambda_min when each row of Z is added."""
        c2: Floats = (Z @ self.vectors) ** 2
        if len(self.values) == 1:
            return np.asarray(c2[:, 0])
        norms = c2.sum(axis=1)
        low, high = np.zeros(len(Z)), np.minimum(norms, self.gaps[1])
        for _ in range(120):
            middle = (low + high) / 2
            with np.errstate(divide="ignore", invalid="ignore"):
                others = np.where(c2[:, 1:] > 0, c2[:, 1:] / (self.gaps[1:] - middle[:, None]), 0.0).sum(axis=1)
                over = 1 + others > c2[:, 0] / middle
            low, high = np.where(over, low, middle), np.where(over, middle, high)
        return np.asarray(high)

    def __repr__(self) -> str:
        return "Spectrum(confidential)"
