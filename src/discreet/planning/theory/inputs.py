"""Checks of the figures that go into a bound; all may be arrays, which are broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.arrays import Floats
from discreet.errors import ParameterError
from discreet.privacy import gdp


def figures(**values: ArrayLike) -> list[Floats]:
    """Arrays in the order given: delta and rho strictly between 0 and 1, all other figures finite and above 0.

    Examples
    --------
    >>> figures(n=10, epsilon=[0.1, 1], delta=1e-6)
    [array(10.), array([0.1, 1. ]), array(1.e-06)]
    """
    return [_figure(name, value) for name, value in values.items()]


def _figure(name: str, value: ArrayLike) -> Floats:
    most, words = (1.0, "strictly between 0 and 1") if name in ("delta", "rho") else (np.inf, "finite and above 0")
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be a number or an array of numbers.") from None
    if not np.all((array > 0.0) & (array < most)):
        raise ParameterError(f"{name} must be {words}, got {value!r}.")
    return array


def spectrum(gram: ArrayLike, theta: ArrayLike | None = None, *, full_rank: bool = False) -> tuple[Floats, Floats]:
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
    if full_rank and values[0] <= 0:
        raise ParameterError("gram must have full rank: otherwise the coefficients are not determined.")
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
    epsilon, delta = figures(epsilon=epsilon, delta=delta)
    found: Floats = np.vectorize(lambda e, d: gdp.mu(epsilon=float(e), delta=float(d)), otypes=[float])(epsilon, delta)
    return found
