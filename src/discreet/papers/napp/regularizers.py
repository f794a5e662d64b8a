"""Weights w_j that make sum_j w_j theta_j^2 a target Lambda R(theta) at the last iterate (002, table 2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST = 1e-6
"""Coefficients count as at least this large in weights, which would be infinite at 0."""

KNEE = 3.7
"""a of SCAD."""


@dataclass(frozen=True)
class Regularizer:
    """Lambda sum_j R(theta_j).

    Table 2 weighs coefficients so that w_j theta_j^2 has the *value* Lambda R(theta_j) at the last iterate. Its
    derivative there, 2 w_j theta_j, is not that of Lambda R but, for R = |theta|^(2 - gamma), 2/(2 - gamma) times it:
    at a fixed point the lasso's weights solve the lasso with 2 Lambda (E33).

    Parameters
    ----------
    kind : {"ridge", "bridge", "lasso", "elasticnet", "scad", "l0"}
        R: theta^2; |theta|^(2 - gamma); |theta|; |theta| + kappa theta^2; SCAD, which is |theta| up to `knot` and
        constant from 3.7 knots on; or 1 where theta is not 0. The last two are not in table 2, and are weighed alike.
    strength : float
        Lambda.
    gamma, kappa, knot : float
        Of the bridge, of the elastic net, and of SCAD.

    Examples
    --------
    >>> Regularizer("lasso", 2.0).weights(np.array([0.5, -4.0]))
    array([4. , 0.5])
    """

    kind: str
    strength: float
    gamma: float = 1.0
    kappa: float = 0.5
    knot: float = 1.0

    @property
    def adaptive(self) -> bool:
        """Whether weights follow the coefficients."""
        return self.kind != "ridge"

    @property
    def first(self) -> float:
        """The weight in iteration 1, where there is no coefficient yet."""
        return {"ridge": self.strength, "elasticnet": self.strength * self.kappa}.get(self.kind, 0.0)

    def value(self, theta: Floats) -> Floats:
        """Lambda R(theta_j) of every coefficient."""
        size, k = np.abs(theta), self.knot
        if self.kind == "scad":
            bend = (2 * KNEE * k * size - size**2 - k**2) / (2 * (KNEE - 1) * k)
            R = np.where(size <= k, size, np.where(size <= KNEE * k, bend, k * (KNEE + 1) / 2))
        elif self.kind == "l0":
            R = (size > 0).astype(float)
        elif self.kind == "elasticnet":
            R = size + self.kappa * size**2
        else:
            R = size ** {"ridge": 2.0, "bridge": 2 - self.gamma, "lasso": 1.0}[self.kind]
        value: Floats = self.strength * R
        return value

    def weights(self, theta: Floats) -> Floats:
        """Lambda R(theta_j)/theta_j^2."""
        size = np.maximum(np.abs(theta), LEAST)
        weights: Floats = self.value(size) / size**2
        return weights

    def realised(self, theta: Floats | None, modulus: float, d: int, *, moor: bool) -> Floats:
        """The weights of an iteration, from the last iterate (None in the first) and Lambda_0 (table 2, claim 2).

        With `moor` they are the maximum of the target's and Lambda_0; without, their sum, but for ridge.
        """
        target = np.full(d, self.first) if theta is None else self.weights(theta)
        return np.maximum(target, modulus) if moor or self.kind == "ridge" else target + modulus
