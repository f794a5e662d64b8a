r"""Privacy losses that are quadratic in a few normals and nearly linear: their curves from a few closed forms a row.

Under the law of one direction let Z be standard normal, and the loss of a row

    T = A Z1^2 + 2 B Z1 Z2 + b1 Z1 + b2 Z2 + mu Z3 + c.

Turn the axes: Z = Y e + U with e a unit vector and U normal across it. Given U, T is a quadratic in Y alone,
alpha Y^2 + beta Y + gamma, and E (1 - e^(epsilon - T))+ over Y has a closed form (``docs/mathematics``, 10.9). With
e the gradient of T where T = epsilon is likeliest, that closed form hardly depends on U, and a few Gauss-Hermite points
leave a relative error below 2e-4, half of what is added. `_bend` says by how much the gradient turns on the way there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

from discreet.core.arrays import Floats

_Points = tuple[tuple[float, float, float], ...]
"""The points of a quadrature rule for U: two coordinates and a weight each."""

_Rules = tuple[tuple[float, _Points], ...]

_UP = 1 + 4e-4  # factor on delta that exceeds the error of a rule within its limit
ROUNDED = "delta is raised by less than 1e-3 of it, more than the errors of integrals"

_ROOT2 = np.sqrt(2.0)


class Quadratic(NamedTuple):
    """The coefficients of T, one of each for every row."""

    A: Floats
    B: Floats | float
    b1: Floats
    b2: Floats | float
    mu: Floats
    c: Floats

    def of(self, rows: NDArray[np.bool_]) -> Quadratic:
        """Select some rows."""
        A, B, b1, b2, mu, c = (a[rows] if isinstance(a, np.ndarray) else a for a in self)
        return Quadratic(A, B, b1, b2, mu, c)  # type: ignore[arg-type]


def _bend(T: Quadratic, epsilon: Floats) -> Floats:
    """Measure how far T is from a function of its gradient's direction alone, between its mean and where it is epsilon.

    The change of the gradient across its direction over that way, or over one standard deviation, relative; and at
    least the curvature itself.

    Examples
    --------
    >>> one = np.ones(1)
    >>> _bend(Quadratic(0.01 * one, 0.0, 0.6 * one, 0.0, 0.8 * one, one / 2), np.array([2.5])).round(3)
    array([0.032])
    """
    A, B, b1, b2, _, c = T
    size2 = _square(T)
    square = A**2 + 2 * B**2
    across = np.maximum(square - ((A * b1 + B * b2) ** 2 + (B * b1) ** 2) / size2, 0.0)
    way = np.maximum(np.abs(epsilon - c) / size2, size2**-0.5)
    return np.asarray(np.sqrt(np.maximum(4 * way**2 * across, square)))


def _stick(T: Quadratic, epsilon: Floats, points: _Points) -> Floats:
    """Compute E (1 - e^(epsilon - T))+, by a rule for U."""
    if isinstance(T.B, np.ndarray):
        return _in_space(T, epsilon, points)
    A, _, b1, _, mu, c = T
    c = c - epsilon
    e1 = b1 * (1 - 2 * c / _square(T) * A)  # the gradient where T = epsilon is likeliest
    norm = np.hypot(e1, mu)
    e1, e3 = e1 / norm, mu / norm
    m1, along = A * e1, b1 * e1 + mu * e3
    alpha, total = m1 * e1, np.zeros_like(c)
    s = np.sqrt(1 + 2 * alpha)
    for x, _, weight in points:
        u = x * e3
        total += weight * _above(alpha, along + 2 * m1 * u, c + (b1 + A * u) * u - x * mu * e1, s)
    return np.clip(total, 0.0, 1.0)


def _in_space(T: Quadratic, epsilon: Floats, points: _Points) -> Floats:
    """Compute `_stick` with Z2."""
    A, B, b1, b2, mu, c = T
    c = c - epsilon
    a = -2 * c / _square(T)  # twice the way to T = epsilon, over the gradient
    e1, e2 = b1 + a * (A * b1 + B * b2), b2 + a * B * b1
    norm = np.sqrt(e1**2 + e2**2 + mu**2)
    e1, e2, e3 = e1 / norm, e2 / norm, mu / norm
    m1, m2 = A * e1 + B * e2, B * e1
    alpha, along = m1 * e1 + m2 * e2, b1 * e1 + b2 * e2 + mu * e3
    s, total = np.sqrt(1 + 2 * alpha), np.zeros_like(c)
    for x, y, weight in points:
        turn = (x * e1 + y * e2) / (1 + e3)  # U = (x, y, 0) less what turns the third axis into e
        u1, u2, u3 = x - turn * e1, y - turn * e2, -turn * (1 + e3)
        beta = along + 2 * (m1 * u1 + m2 * u2)
        gamma = c + (b1 + A * u1 + 2 * B * u2) * u1 + b2 * u2 + mu * u3
        total += weight * _above(alpha, beta, gamma, s)
    return np.clip(total, 0.0, 1.0)


def nearly_linear(
    T: Quadratic, epsilon: Floats, rules: _Rules, otherwise: Callable[[NDArray[np.bool_]], Floats]
) -> Floats:
    """Compute `_stick` of each row by the first rule that allows its bend, raised by more than the error of any.

    Rules are pairs (limit on the bend, points), by rising limits; `otherwise` is for a mask of rows that none allows.
    """
    found, bent, low = np.empty(len(epsilon)), _bend(T, epsilon), -1.0
    for limit, points in rules:
        here = (bent > low) & (bent <= limit)
        if here.all():
            return _stick(T, epsilon, points) * _UP
        if here.any():
            found[here] = _stick(T.of(here), epsilon[here], points) * _UP
        low = limit
    if (rest := ~(bent <= low)).any():
        found[rest] = otherwise(rest) * _UP
    return found


@cache
def line(n: int) -> _Points:
    """Return Gauss-Hermite points for losses without Z2."""
    x, w = np.polynomial.hermite_e.hermegauss(n)
    return tuple((float(a), 0.0, float(b)) for a, b in zip(x, w / w.sum(), strict=True))


@cache
def plane(n: int) -> _Points:
    """Return the product of two such rules; for n = 2 and 3 the four and seven points of the same degree."""
    if n == 2:
        return tuple((np.sqrt(2) * x, np.sqrt(2) * y, 0.25) for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)))
    if n == 3:
        angles = np.arange(6) * np.pi / 3
        return ((0.0, 0.0, 0.5), *((float(2 * np.cos(t)), float(2 * np.sin(t)), 1 / 12) for t in angles))
    return tuple((x, y, v * w) for x, _, v in line(n) for y, _, w in line(n))


def _square(T: Quadratic) -> Floats:
    """Compute the squared norm of the gradient at the mean."""
    return np.maximum(T.b1**2 + T.b2**2 + T.mu**2, 1e-280)


def _above(alpha: Floats, beta: Floats, gamma: Floats, s: Floats) -> Floats:
    """Compute E (1 - e^-T)+ for T = alpha Y^2 + beta Y + gamma, with s^2 = 1 + 2 alpha."""
    beta, inside = np.abs(beta), beta**2 - 4 * alpha * gamma
    root = beta + np.sqrt(np.maximum(inside, 0.0))
    near, lean = -2 * gamma / root, beta / s
    found = _tail(near, s * near + lean, s)
    far = np.abs(alpha) * 18 > root
    if far.any():
        side = -np.sign(alpha[far])
        y = side * root[far] / (2 * np.abs(alpha[far]))
        found[far] -= side * _tail(side * y, side * (s[far] * y + lean[far]), s[far])
        none = far & (inside < 0)  # T has one sign everywhere
        mean = np.exp(np.minimum(lean[none] ** 2 / 2 - gamma[none], 0.0)) / s[none]
        found[none] = np.where(gamma[none] > 0, 1 - mean, 0.0)
    return found


def _tail(a: Floats, b: Floats, s: Floats) -> Floats:
    """phi(a) (M(a) - M(b)/s), M the Mills ratio: of Y beyond a root of T, at a under one law and b under the other."""
    with np.errstate(under="ignore"):
        a = np.clip(a, -36.0, 38.0)
        found: Floats = np.exp(a * a / -2) * (erfcx(a / _ROOT2) - erfcx(np.maximum(b, -36.0) / _ROOT2) / s) / 2
    return found
