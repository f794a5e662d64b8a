r"""Per-instance sensitivity of smooth learning problems (wang2017 section 3), in any norm.

theta_hat minimises sum_i f(x_i'theta, y_i) + lambda |theta|^2/2. Let theta_hat be the fit without z = (x, y) and
theta_hat' that with it. Lemma 13, with its second sign mended (E19):

    theta_hat - theta_hat' = [average Hessian **with** z]^-1 grad(theta_hat)
                           = [average Hessian **without** z]^-1 grad(theta_hat'),

grad(theta) = f'(x'theta, y) x, Hessians averaged along the segment between the two fits. Noise of covariance A^-1/gamma
on the coefficients, A public and fixed, costs the row mu = sqrt(gamma) |theta_hat - theta_hat'|_A exactly (E7).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.errors import ParameterError
from discreet.families import Logistic
from discreet.mechanisms.output_perturbation.event import SHAPES, Shape
from discreet.per_instance import curves

_T, _W = np.polynomial.legendre.leggauss(32)


class Smooth(Protocol):
    """A loss f(eta, y), eta = x'theta, twice differentiable almost everywhere; those of `families` are such."""

    def parts(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """f, f' and f'' of every row."""


class _LeastSquares:
    """(eta - y)^2/2, for ridge regression."""

    def parts(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """f, f' and f''."""
        return (eta - y) ** 2 / 2, eta - y, np.ones_like(eta)


@dataclass(frozen=True)
class Huber:
    """(eta - y)^2/2 near y, linear beyond `width`."""

    width: float = 1.0

    def parts(self, eta: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """f, f' and f''."""
        r = eta - y
        inner = np.clip(r, -self.width, self.width)
        return inner * (r - inner / 2), inner, (np.abs(r) < self.width).astype(float)


PROBLEMS: dict[str, Smooth] = {
    "ridge": _LeastSquares(),
    "logistic": Logistic(),
    "huber": Huber(),
}


def minimise(loss: Smooth, X: Floats, y: Floats, penalty: float, start: Floats | None = None) -> Floats:
    """Minimise the penalised sum of losses by damped Newton steps, to a gradient of norm 1e-12 per unit of the data.

    Examples
    --------
    >>> minimise(PROBLEMS["ridge"], np.eye(2), np.array([2.0, 4.0]), penalty=1.0)
    array([1., 2.])
    """
    penalty = checks.positive("penalty", penalty)
    theta = np.zeros(X.shape[1]) if start is None else start
    size = 1e-13 * (1 + np.abs(X).sum())
    for _ in range(200):
        value, gradient, H = _objective(loss, X, y, penalty, theta)
        if np.linalg.norm(gradient) <= size:
            break
        step = np.linalg.solve(H, gradient)
        scale = 1.0
        while scale > 1e-10 and _objective(loss, X, y, penalty, theta - scale * step)[0] > value + 1e-12 * abs(value):
            scale /= 2
        theta = theta - scale * step
    return theta


def sensitivities(
    loss: Smooth, X: Floats, y: Floats, penalty: float, A: Floats | None = None, rows: NDArray[np.intp] | None = None
) -> Floats:
    """Compute |theta_hat - theta_hat'|_A of rows of the table by refitting without each, from the whole fit.

    The loss is f, as in `PROBLEMS`; A is positive definite, I by default; `rows` are indices, all by default.

    Examples
    --------
    >>> X, y = np.array([[1.0], [1.0], [2.0]]), np.array([1.0, 0.0, 1.0])
    >>> sensitivities(PROBLEMS["ridge"], X, y, penalty=1.0).round(4)
    array([0.0952, 0.0714, 0.0952])
    """
    whole = minimise(loss, X, y, penalty)
    found = []
    for i in range(len(X)) if rows is None else rows:
        kept = np.arange(len(X)) != i
        v = whole - minimise(loss, X[kept], y[kept], penalty, whole)
        square = float(v @ v if A is None else v @ A @ v)
        if square < 0:
            raise ParameterError("A must be positive definite.")
        found.append(math.sqrt(square))
    return np.array(found)


def one_step(loss: Smooth, X: Floats, y: Floats, penalty: float, A: Floats | None = None) -> Floats:
    """Estimate the sensitivities by one Newton step, with the Hessian of the whole fit less the row's own; not a bound.

    Exact for squared loss; for others close where one row moves the fit little.
    """
    theta = minimise(loss, X, y, penalty)
    _, slope, bend = loss.parts(X @ theta, y)
    H = (X.T * bend) @ X + penalty * np.eye(X.shape[1])
    U = np.linalg.solve(H, X.T).T
    m = bend * np.einsum("ij,ij->i", U, X)
    norms = np.sqrt(np.einsum("ij,ij->i", U, U if A is None else U @ A))
    return np.asarray(np.abs(slope) / (1 - m) * norms)


def lemma13(loss: Smooth, X: Floats, y: Floats, penalty: float, x: Floats, outcome: float) -> tuple[Floats, ...]:
    """Compute theta_hat - theta_hat' for a row outside (X, y): by refitting, and by both identities of lemma 13."""
    X1, y1 = np.vstack([X, x]), np.append(y, outcome)
    without, with_row = minimise(loss, X, y, penalty), minimise(loss, X1, y1, penalty)
    small, large = np.zeros((len(x), len(x))), np.zeros((len(x), len(x)))
    for t, weight in zip((_T + 1) / 2, _W / 2, strict=True):
        at = t * without + (1 - t) * with_row
        small += weight * _objective(loss, X, y, penalty, at)[2]
        large += weight * _objective(loss, X1, y1, penalty, at)[2]

    def score(theta: Floats) -> Floats:
        slope = loss.parts(np.array([x @ theta]), np.array([outcome]))[1]
        return np.asarray(slope[0] * x)

    first, second = (np.linalg.solve(H, score(at)) for H, at in ((large, without), (small, with_row)))
    return without - with_row, np.asarray(first), np.asarray(second)


def kernel_ridge(K: Floats, y: Floats, penalty: float, shape: Shape = "isotropic") -> Floats:
    """Compute |f - f_-i|_A of kernel ridge regression for each row, without refitting.

    With G = (K + lambda I)^-1 and alpha = G y, leaving out row i changes the coefficients by
    beta = G e_i alpha_i/G_ii, so |f - f_-i|_A^2 = beta'K (K + lambda I)^k beta = (alpha_i/G_ii)^2 (K G^(2-k))_ii: k = 0
    is the norm of the function space (isotropic), 1 that of the Fisher shape, 2 the democratic one.

    Examples
    --------
    >>> X, y = np.array([[1.0], [1.0], [2.0]]), np.array([1.0, 0.0, 1.0])
    >>> kernel_ridge(X @ X.T, y, penalty=1.0).round(4)
    array([0.0952, 0.0714, 0.0952])
    """
    penalty, k = checks.positive("penalty", penalty), SHAPES.index(checks.choice("shape", shape, SHAPES))
    values, V = np.linalg.eigh(K)
    G = (V / (values + penalty)) @ V.T
    inner = np.einsum("ij,j,ij->i", V, values * (values + penalty) ** (k - 2.0), V)
    return np.asarray(np.abs(G @ y) / np.diag(G) * np.sqrt(np.maximum(inner, 0.0)))


def shape_matrix(shape: Shape, S: Floats) -> Floats:
    """Return A of output perturbation: I, S or S^2, with S a public matrix near the Hessian."""
    k = SHAPES.index(checks.choice("shape", shape, SHAPES))
    return np.linalg.matrix_power(np.asarray(S, dtype=np.float64), k)


def output_epsilon(sensitivity: Floats, gamma: float, delta: float) -> Floats:
    """Return epsilon_i(delta) of noise with covariance A^-1/gamma from |theta_hat - theta_hat'|_A, exactly (E7).

    Examples
    --------
    >>> output_epsilon(np.array([0.4]), gamma=0.25, delta=1e-6).round(3)
    array([0.834])
    """
    return curves.epsilon(np.sqrt(checks.positive("gamma", gamma)) * np.asarray(sensitivity), delta)


def _objective(loss: Smooth, X: Floats, y: Floats, penalty: float, theta: Floats) -> tuple[float, Floats, Floats]:
    value, slope, bend = loss.parts(X @ theta, y)
    total = float(value.sum() + penalty * theta @ theta / 2)
    return total, X.T @ slope + penalty * theta, (X.T * bend) @ X + penalty * np.eye(len(theta))
