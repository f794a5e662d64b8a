"""Weights w_j, and the augmented rows that replace a penalty: li2021, (3) to (6).

Weights make sum_j w_j theta_j^2 a target Lambda R(theta) at the last iterate (table 2). Rows e_i = +-e~_i + e*, with
e~_ij ~ N(0, 2 w_j/(n_e l'')) in pairs of opposite sign and e* = b/(n_e l'), l' and l'' the loss's derivatives at
eta = 0, have losses that sum up to b'theta + sum_j w_j theta_j^2, up to what vanishes as n_e grows.

Eq. (3) cannot be built as printed (E22): with the outcomes that the paper gives these rows l' is 0 for linear and for
Poisson regression, and for logistic regression the halves of the outcomes coincide with the signs of the pairs, so
that linear terms add up instead of cancelling. Here all augmented rows have *one* outcome e_y with l' not 0, see
`PLACES`. For the hinge of section 6, whose curvature at eta = 0 is 0 on one side, they also have the offset 1/2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.core.arrays import Floats
from discreet.families import Loss

Part = Callable[[Floats], tuple[float, Floats, Floats]]
"""A sum of losses: its value, gradient and Hessian at theta."""

LEAST = 1e-6
"""Smaller coefficients count as this large in weights, which would be infinite at 0."""

KNEE = 3.7
"""The constant a of SCAD."""


@dataclass(frozen=True)
class Regularizer:
    """The target penalty Lambda sum_j R(theta_j).

    Table 2 weighs coefficients so that w_j theta_j^2 has the *value* Lambda R(theta_j) at the last iterate. Its
    derivative there, 2 w_j theta_j, is not that of Lambda R but, for R = |theta|^(2 - gamma), 2/(2 - gamma) times it:
    at a fixed point the lasso's weights solve the lasso with 2 Lambda (E33). SCAD, which is |theta| up to `knot` and
    constant from 3.7 knots on, and l0 are not in table 2, and are weighed alike.
    """

    kind: str
    strength: float
    gamma: float = 1.0
    kappa: float = 0.5
    knot: float = 1.0

    @property
    def adaptive(self) -> bool:
        """Whether weights depend on the coefficients."""
        return self.kind != "ridge"

    @property
    def first(self) -> float:
        """The weight in iteration 1, before there are coefficients."""
        return {"ridge": self.strength, "elasticnet": self.strength * self.kappa}.get(self.kind, 0.0)

    def value(self, theta: Floats) -> Floats:
        """The penalty Lambda R(theta_j) of every coefficient."""
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
        """The weights Lambda R(theta_j)/theta_j^2."""
        size = np.maximum(np.abs(theta), LEAST)
        weights: Floats = self.value(size) / size**2
        return weights

    def realised(self, theta: Floats | None, modulus: float, d: int, *, moor: bool) -> Floats:
        """The weights of an iteration, from the last iterate (None in the first) and Lambda_0 (table 2, claim 2).

        With `moor` they are the maximum of the target's and Lambda_0; without, their sum, but for ridge.
        """
        target = np.full(d, self.first) if theta is None else self.weights(theta)
        return np.maximum(target, modulus) if moor or self.kind == "ridge" else target + modulus


class Place(NamedTuple):
    """The outcome and the offset of augmented rows, and l' and l'' there."""

    outcome: float
    offset: float
    slope: float
    curvature: float

    def spread(self, w: Floats, n_e: int) -> Floats:
        """The standard deviations of e~_i for weights w."""
        sd: Floats = np.sqrt(2 * w / (n_e * self.curvature))
        return sd

    def shift(self, b: Floats, n_e: int) -> Floats:
        """The shift e* for noise b."""
        return b / (n_e * self.slope)


PLACES = {
    "linear": Place(1.0, 0.0, -1.0, 1.0),
    "poisson": Place(0.0, 0.0, 1.0, 1.0),
    "logistic": Place(1.0, 0.0, -0.5, 0.25),
    "hinge": Place(1.0, 0.5, -0.5, 1.0),
}


@dataclass(frozen=True)
class Limit:
    """The limit b'theta + sum_j w_j theta_j^2 of many augmented rows (proposition 1)."""

    w: Floats
    b: Floats

    def __call__(self, theta: Floats) -> tuple[float, Floats, Floats]:
        """Value, gradient and Hessian."""
        return float(self.b @ theta + self.w @ theta**2), self.b + 2 * self.w * theta, np.diag(2 * self.w)


def bartlett(d: int, n: int, rng: np.random.Generator) -> Floats:
    """A lower triangular A such that A A' has the law of the sum of z_i z_i' of n standard normal rows."""
    A = np.tril(rng.standard_normal((d, d)), -1)
    A[np.diag_indices(d)] = np.sqrt(rng.chisquare(n - np.arange(d)))
    return A


@dataclass(frozen=True)
class SquaredRows:
    """Augmented rows of linear regression, by moments with the same law as those of drawn rows.

    The sum of the e~_i e~_i' of n_e/2 Gaussian rows has a Wishart law, drawn by Bartlett's decomposition.
    """

    G: Floats
    b: Floats
    n_e: int

    @classmethod
    def draw(cls, w: Floats, b: Floats, n_e: int, rng: np.random.Generator) -> SquaredRows:
        """Draw rows for weights w and noise b."""
        A = PLACES["linear"].spread(w, n_e)[:, None] * bartlett(len(w), n_e // 2, rng)
        return cls(2 * A @ A.T + np.outer(b, b) / n_e, b, n_e)

    def __call__(self, theta: Floats) -> tuple[float, Floats, Floats]:
        """Value, gradient and Hessian of sum_i (e_i'theta - 1)^2/2."""
        g = self.G @ theta
        return float(theta @ g / 2 + self.b @ theta + self.n_e / 2), g + self.b, self.G


@dataclass(frozen=True)
class DrawnRows:
    """Augmented rows of any loss."""

    loss: Loss
    place: Place
    E: Floats
    shift: Floats

    @classmethod
    def draw(cls, loss: Loss, place: Place, w: Floats, b: Floats, n_e: int, rng: np.random.Generator) -> DrawnRows:
        """Draw rows for weights w and noise b."""
        E = rng.standard_normal((n_e // 2, len(w))) * place.spread(w, n_e)
        return cls(loss, place, E, place.shift(b, n_e))

    def __call__(self, theta: Floats) -> tuple[float, Floats, Floats]:
        """Value, gradient and Hessian of sum_i l(e_i'theta + offset, e_y)."""
        E, s = self.E, self.shift
        spread, at = E @ theta, self.place.offset + float(s @ theta)
        eta = np.concatenate([at + spread, at - spread])
        f, slope, curvature = self.loss.parts(eta, np.full(len(eta), self.place.outcome))
        (up, down), (c, d) = np.split(slope, 2), np.split(curvature, 2)
        mixed = np.outer(E.T @ (c - d), s)
        H = (E * (c + d)[:, None]).T @ E + mixed + mixed.T + float(curvature.sum()) * np.outer(s, s)
        return float(f.sum()), E.T @ (up - down) + s * float(slope.sum()), H
