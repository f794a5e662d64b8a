"""The projection of noisy associations with public outcomes: neel2023, algorithm 2, by one secular equation.

G = X'Y/n + noise, a matrix of d x l. Whatever X is, as long as its rows have a norm of at most B, X'Y/n lies in
K = {Z'Y/n : |Z|_F <= sqrt(n) B}, and Y is public; so G is replaced by the nearest point of K. With Y'Y = V L^2 V',

    Z'Y/n = p diag(L/n) V',    |p|_F <= sqrt(n) B,        p_k = (L_k/n) (G V)_k/(L_k^2/n^2 + nu)

where nu >= 0 makes |p|_F = sqrt(n) B, or is 0 where p is shorter already; directions with L_k = 0 are left out. So each
direction k of the outcomes is multiplied by h_k = L_k^2/(L_k^2 + n^2 nu). Nothing larger than d x l or l x l is formed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from discreet.core.arrays import Floats

_NEGLIGIBLE = 1e-13
"""Squared singular values of Y below this share of the largest count as 0."""


@dataclass(frozen=True, eq=False)
class OutcomeSpectrum:
    """Y'Y = V diag(squares) V', without directions in which the outcomes do not vary."""

    squares: Floats
    V: Floats

    @classmethod
    def of_gram(cls, YY: Floats) -> OutcomeSpectrum:
        """Compute the spectrum from Y'Y."""
        squares, V = np.linalg.eigh(YY)
        kept = squares > _NEGLIGIBLE * squares[-1]
        return cls(squares[kept], V[:, kept])

    @classmethod
    def of_rows(cls, Y: Floats) -> OutcomeSpectrum:
        """Compute the spectrum from fewer rows than outcomes, by way of the smaller matrix YY'."""
        squares, W = np.linalg.eigh(Y @ Y.T)
        kept = squares > _NEGLIGIBLE * squares[-1]
        return cls(squares[kept], Y.T @ (W[:, kept] / np.sqrt(squares[kept])))


@dataclass(frozen=True, eq=False)
class Projected:
    """The nearest point of K.

    `noise`: for each outcome, the sd that noise of sd 1 has after the projection.
    `nu`: the multiplier; 0 where only directions without variation were left out.
    """

    G: Floats
    noise: Floats
    nu: float


def project(G: Floats, spectrum: OutcomeSpectrum, n: float, B: float) -> Projected:
    """Project associations onto K.

    `G`: noisy X'Y/n.
    `n`, `B`: the number of rows, and the bound on the norm of a row of X.
    """
    c = spectrum.squares / n**2
    GV = G @ spectrum.V
    e = np.sum(GV**2, axis=0)
    radius2 = n * B * B
    nu = 0.0
    if float(np.sum(e / c)) > radius2:

        def gap(nu: float) -> float:
            return 1 / math.sqrt(float(np.sum(c * e / (c + nu) ** 2))) - 1 / math.sqrt(radius2)

        nu = float(brentq(gap, 0.0, math.sqrt(float(c @ e) / radius2), xtol=1e-300, rtol=1e-14))
    h = c / (c + nu)
    return Projected((GV * h) @ spectrum.V.T, np.sqrt(spectrum.V**2 @ h**2), nu)
