"""The Gaussian privacy curve for many people at once: epsilon(mu, delta) and delta(mu, epsilon), to a relative 1e-9.

`discreet.privacy.gdp` gives the same for one mu, rounded to the safe side in arithmetic of any precision.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfinv, log_ndtr, ndtri

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.errors import ParameterError
from discreet.privacy import ops


class LossCurve(Protocol):
    """The privacy curve of a part that is not Gaussian, as a function of `width` statistics of each row."""

    width: ClassVar[int]

    @property
    def failure(self) -> float:
        """A failure probability that is included in every delta."""

    def delta(self, epsilon: Floats, mu: Floats, statistics: Floats) -> Floats:
        """Return delta_i(epsilon_i) of the part composed with a mu_i-GDP part; a column a row."""

    def size(self, statistics: Floats) -> Floats:
        """Return the approximate mu of the part, where a search for epsilon starts."""


_STEP = 0.004  # step of log mu in the table
_FEW = 4096
_CHUNK = 1 << 15


def epsilon(mu: ArrayLike, delta: float) -> Floats:
    """Return the least epsilon, at least 0, at which each mu-GDP mechanism is (epsilon, delta)-private.

    Examples
    --------
    >>> epsilon([0.0, 0.2367, 1.0], delta=1e-6).round(3)
    array([0.   , 1.   , 4.887])
    """
    delta = checks.fraction("delta", delta)
    mu = _mus(mu)
    least = 2 * np.sqrt(2) * erfinv(delta)  # D(mu, 0) = delta
    found = np.zeros_like(mu)
    above = mu > least
    if above.sum() <= _FEW:
        found[above] = _solve(mu[above], delta)[0]
    else:
        from scipy.interpolate import CubicHermiteSpline  # slow to import, and seldom needed

        top = float(mu.max())
        nodes = np.linspace(np.log(least), np.log(top), int(np.log(top / least) / _STEP) + 8)
        values, slopes = _solve(np.exp(nodes), delta)
        table = CubicHermiteSpline(nodes, values, slopes * np.exp(nodes))
        found[above] = table(np.log(mu[above]))
    return np.maximum(found, 0.0)


def delta(mu: ArrayLike, epsilon: float) -> Floats:
    """Return the least delta at which each mu-GDP mechanism is (epsilon, delta)-private.

    Examples
    --------
    >>> delta([0.0, 1.0], epsilon=1.0).round(4)
    array([0.    , 0.1269])
    """
    epsilon, mu = checked(epsilon), _mus(mu)
    found = np.zeros(mu.size)
    flat = mu.ravel()
    for start in range(0, flat.size, _CHUNK):
        part = flat[start : start + _CHUNK]
        some = part > 0
        found[start : start + _CHUNK][some] = ops.gaussian_delta(np.full(some.sum(), epsilon), part[some])[0]
    return found.reshape(mu.shape)


def checked(epsilon: float) -> float:
    """Check that epsilon is finite and at least 0."""
    if not checks.is_real(epsilon) or not 0 <= epsilon < np.inf:
        raise ParameterError(f"epsilon must be a finite number from 0, got {epsilon!r}.")
    return float(epsilon)


def _mus(mu: ArrayLike) -> Floats:
    values = np.asarray(mu, dtype=np.float64)
    if not np.all(np.isfinite(values) & (values >= 0)):
        raise ParameterError("mu must hold finite numbers from 0.")
    return values


def _solve(mu: Floats, delta: float) -> tuple[Floats, Floats]:
    """Solve for epsilon, and its slope in mu, by Newton steps on log D (concave in epsilon) from where D <= delta."""
    e = np.maximum(0.0, mu * (mu / 2 - ndtri(delta)))
    for _ in range(100):
        value = ops.gaussian_delta(e, mu)[0]
        slope = np.exp(e + log_ndtr(-e / mu - mu / 2))
        step = np.log(np.maximum(value, 1e-300) / delta) * value / slope
        e = np.maximum(e + step, 0.0)
        if np.all(np.abs(step) <= 1e-13 * (1 + e)):
            break
    a = e / mu - mu / 2
    with np.errstate(under="ignore"):
        rise = np.exp(-a * a / 2) / np.sqrt(2 * np.pi)
    return e, rise / np.exp(e + log_ndtr(-e / mu - mu / 2))


def normal_points(panels: int) -> tuple[Floats, Floats]:
    """Return points and weights for integrals against the normal density over [-9, 9]: 16 points a panel.

    Examples
    --------
    >>> z, weights = normal_points(4)
    >>> round(float(weights @ z**2), 9)
    1.0
    """
    x, w = np.polynomial.legendre.leggauss(16)
    edges = np.linspace(-9, 9, panels + 1)
    half = (edges[1:] - edges[:-1])[:, None] / 2
    z = (half * (x + 1) + edges[:-1, None]).ravel()
    weights = (half * w).ravel() * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    return z, weights / weights.sum()
