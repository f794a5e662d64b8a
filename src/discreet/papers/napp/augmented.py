"""Augmented rows: what a solver without any penalty is given beside the data (002, eqs. (3), (5) and (6)).

Rows e_i = +-e~_i + e*, with e~_ij ~ N(0, 2 w_j/(n_e l'')) in pairs of opposite sign and e* = b/(n_e l'), l' and l'' the
loss's derivatives at eta = 0. Up to what vanishes as n_e grows, their losses sum up to b'theta + sum_j w_j theta_j^2.

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
from numpy.typing import NDArray

from discreet.privacy.losses import Loss

Floats = NDArray[np.float64]
Part = Callable[[Floats], tuple[float, Floats, Floats]]
"""A sum of losses: its value, gradient and Hessian at theta."""


class Place(NamedTuple):
    """The outcome and the offset of augmented rows, and l' and l'' there."""

    outcome: float
    offset: float
    slope: float
    curvature: float


PLACES = {
    "linear": Place(1.0, 0.0, -1.0, 1.0),
    "poisson": Place(0.0, 0.0, 1.0, 1.0),
    "logistic": Place(1.0, 0.0, -0.5, 0.25),
    "hinge": Place(1.0, 0.5, -0.5, 1.0),
}


@dataclass(frozen=True)
class Limit:
    """b'theta + sum_j w_j theta_j^2: augmented rows in the limit of many (proposition 1).

    Examples
    --------
    >>> Limit(np.array([2.0]), np.array([3.0]))(np.array([1.0]))
    (5.0, array([7.]), array([[4.]]))
    """

    w: Floats
    b: Floats

    def __call__(self, theta: Floats) -> tuple[float, Floats, Floats]:
        """Value, gradient and Hessian."""
        return float(self.b @ theta + self.w @ theta**2), self.b + 2 * self.w * theta, np.diag(2 * self.w)


@dataclass(frozen=True)
class SquaredRows:
    """Augmented rows of linear regression, by their moments, which have the same law as drawn rows'.

    The sum of the e~_i e~_i' of n_e/2 Gaussian rows has a Wishart law, drawn by Bartlett's decomposition.
    """

    G: Floats
    b: Floats
    n_e: int

    @classmethod
    def draw(cls, w: Floats, b: Floats, n_e: int, rng: np.random.Generator) -> SquaredRows:
        """Draw rows for weights w and noise b."""
        d, half = len(w), n_e // 2
        A = np.tril(rng.standard_normal((d, d)), -1)
        A[np.diag_indices(d)] = np.sqrt(rng.chisquare(half - np.arange(d)))
        A *= np.sqrt(2 * w / n_e)[:, None]
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
        E = rng.standard_normal((n_e // 2, len(w))) * np.sqrt(2 * w / (n_e * place.curvature))
        return cls(loss, place, E, b / (n_e * place.slope))

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
