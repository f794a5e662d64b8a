r"""Gaussian noise on ridge coefficients, in three shapes (001 section 4): ``docs/mathematics.md``, section 8.6.

theta_hat + N(0, A^-1/gamma) with a **public** matrix A is mu-GDP, mu = sqrt(gamma) Delta, where Delta is the largest
change of theta_hat in the norm of A. Let h be a lower bound on the eigenvalues of H = X'X + lambda I and R one on
abs(y - x'theta_hat), for the data and its neighbours. Adding a row moves theta_hat by H1^-1 x r, and

    norm(H1^-1 x) <= g = B/(h + B^2) if h >= B^2, else 1/(2 sqrt h).

isotropic   A = I                                       Delta = R g
fisher      A = S, a public matrix near H               Delta = R sqrt(B^2/(h + B^2) + 2 tau g^2)
democratic  A = S^2                                     Delta = R (B + 2 tau g)

S is a release of H plus tau I, where tau bounds the spectral norm of the release's noise (`spectral_bound`), except
with a declared probability, and is at least B^2/2.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.rounding import FEW, down, up
from discreet.errors import ParameterError

Floats = NDArray[np.float64]
Shape = Literal["isotropic", "fisher", "democratic"]

SHAPES: tuple[Shape, ...] = ("isotropic", "fisher", "democratic")
_POWERS = {"isotropic": 0, "fisher": 1, "democratic": 2}


def shift_bound(h: float, B: float) -> float:
    """g: the largest norm of H1^-1 x over rows and H1 = H0 + x x' with eigenvalues of H0 at least h.

    Examples
    --------
    >>> shift_bound(h=9.0, B=1.0), shift_bound(h=0.25, B=1.0)
    (0.1, 1.0)
    """
    h, B = checks.positive("h", h), checks.positive("B", B)
    return B / (h + B**2) if h >= B**2 else 1 / (2 * math.sqrt(h))


def sensitivity(shape: Shape, *, h: float, B: float, residual: float, tau: float = 0.0) -> float:
    """Delta: the largest change of the coefficients in the norm of A, add-remove; replace-one has twice it.

    Parameters
    ----------
    shape : {"isotropic", "fisher", "democratic"}
        A is I, S or S^2.
    h : float
        Lower bound on the eigenvalues of H for the smaller of the two data sets.
    B : float
        Bound on norm(x).
    residual : float
        R, bound on abs(y - x'theta_hat) for a row outside the data.
    tau : float
        S is H plus tau I plus noise of spectral norm at most tau, tau >= B^2/2; for shapes other than isotropic.

    Examples
    --------
    >>> [round(sensitivity(shape, h=99.0, B=1.0, residual=2.0, tau=5.0), 4) for shape in SHAPES]
    [0.02, 0.2098, 2.2]
    """
    checks.choice("shape", shape, SHAPES)
    R, g = checks.positive("residual", residual), shift_bound(h, B)
    if shape != "isotropic" and not (checks.is_real(tau) and B**2 / 2 <= tau < math.inf):
        raise ParameterError(f"tau must be a finite number of at least B^2/2 for shape={shape!r}, got {tau!r}.")
    if shape == "isotropic":
        change = g
    elif shape == "fisher":
        change = math.sqrt(B**2 / (h + B**2) + 2 * tau * g**2)
    else:
        change = B + 2 * tau * g
    return up(R * change, FEW)


def precision(mu: float, change: float) -> float:
    """Gamma for a promise mu, given Delta, rounded down.

    Examples
    --------
    >>> round(precision(mu=0.2, change=0.4), 9)
    0.25
    """
    return down((checks.positive("mu", mu) / checks.positive("change", change)) ** 2, FEW)


def spectral_bound(d: int, sd: float, failure: float) -> float:
    """tau: what the spectral norm of a symmetric noise matrix exceeds with a probability of at most `failure`.

    The noise has standard deviation sd on the diagonal and sd/sqrt 2 off it.

    Examples
    --------
    >>> round(spectral_bound(d=2, sd=1.0, failure=1e-6), 2)
    7.39
    """
    sd, failure = checks.positive("sd", sd), checks.fraction("failure", failure)
    rounding = 1 + d * 2.0**-28  # of the noise to its grid
    return sd * (math.sqrt(2 * d) + math.sqrt(2 * math.log(2 / failure))) * rounding


def root(shape: Shape, S: Floats | None, d: int) -> Floats:
    """C with C'C = A: the identity, the square root of S, or S.

    Examples
    --------
    >>> root("fisher", np.diag([4.0, 9.0]), 2)
    array([[2., 0.],
           [0., 3.]])
    """
    if shape == "isotropic" or S is None:
        return np.eye(d)
    values, vectors = np.linalg.eigh(S)
    if values[0] <= 0:
        raise ParameterError("S must be positive definite.")
    drawn: Floats = (vectors * values ** (_POWERS[shape] / 2)) @ vectors.T
    return drawn


def noise(shape: Shape, S: Floats | None, gamma: float, normal: Floats) -> Floats:
    """A draw of N(0, A^-1/gamma) from standard normal numbers.

    Examples
    --------
    >>> noise("democratic", np.diag([2.0, 4.0]), gamma=0.25, normal=np.ones(2))
    array([1. , 0.5])
    """
    power = _POWERS[checks.choice("shape", shape, SHAPES)]
    scaled = np.asarray(normal, dtype=np.float64) / math.sqrt(checks.positive("gamma", gamma))
    if power == 0:
        return scaled
    if S is None:
        raise ParameterError(f"shape={shape!r} needs S, a public matrix near X'X + lambda I.")
    values, vectors = np.linalg.eigh(S)
    if values[0] <= 0:
        raise ParameterError("S must be positive definite.")
    drawn: Floats = vectors @ (values ** (-power / 2) * (vectors.T @ scaled))
    return drawn
