"""Checks of the figures that go into a bound; all may be arrays, which are broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.arrays import Floats
from discreet.errors import ParameterError
from discreet.privacy import gdp


def positive(**values: ArrayLike) -> list[Floats]:
    """Arrays of finite numbers above zero, in the order given.

    Examples
    --------
    >>> positive(n=10, epsilon=[0.1, 1])
    [array(10.), array([0.1, 1. ])]
    """
    return [_checked(name, value, 0.0, np.inf, "finite and above 0") for name, value in values.items()]


def fractions(**values: ArrayLike) -> list[Floats]:
    """Arrays of numbers strictly between zero and one."""
    return [_checked(name, value, 0.0, 1.0, "strictly between 0 and 1") for name, value in values.items()]


def _checked(name: str, value: ArrayLike, low: float, high: float, words: str) -> Floats:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be a number or an array of numbers.") from None
    if not np.all((array > low) & (array < high)):
        raise ParameterError(f"{name} must be {words}, got {value!r}.")
    return array


def spectrum(gram: ArrayLike, theta: ArrayLike | None = None) -> tuple[Floats, Floats]:
    """Eigenvalues of a symmetric matrix that is positive semi-definite, and a vector in its eigenbasis.

    Examples
    --------
    >>> spectrum([[2.0, 0.0], [0.0, 1.0]], [3.0, 4.0])[0]
    array([1., 2.])
    """
    matrix = np.asarray(gram, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.allclose(matrix, matrix.T):
        raise ParameterError("gram must be a symmetric matrix: X'X of the design you expect.")
    values, vectors = np.linalg.eigh(matrix)
    if values[0] < -1e-9 * max(values[-1], 1.0):
        raise ParameterError("gram must be positive semi-definite: X'X of the design you expect.")
    vector: Any = np.zeros(len(values)) if theta is None else np.asarray(theta, dtype=np.float64)
    if vector.shape != values.shape:
        raise ParameterError(f"theta must have one coefficient for each of the {len(values)} columns.")
    return np.maximum(values, 0.0), vectors.T @ vector


def exact_mu(epsilon: ArrayLike, delta: ArrayLike) -> Floats:
    """`gdp.mu` for arrays.

    Examples
    --------
    >>> exact_mu([0.5, 1.0], 1e-6).round(4)
    array([0.1241, 0.2367])
    """
    epsilon, delta = positive(epsilon=epsilon)[0], fractions(delta=delta)[0]
    found: Floats = np.vectorize(lambda e, d: gdp.mu(epsilon=float(e), delta=float(d)), otypes=[float])(epsilon, delta)
    return found
