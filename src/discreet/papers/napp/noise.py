"""The noise b of paper 002 (eqs. (4), (9), (10)): Gaussian or spherical Laplace, on all of space or above c <= 0."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, log_ndtr, ndtr, ndtri

from discreet.gate.laplace import spherical_laplace
from discreet.gate.noise import normals
from discreet.gate.randomness import NO_NOISE, Entropy, SeededEntropy

Floats = NDArray[np.float64]

_GRID = 20_001


def generator(source: Entropy) -> np.random.Generator:
    """A fast generator for what needs no secrecy, started from a source of random words."""
    return np.random.default_rng((SeededEntropy(0) if source is NO_NOISE else source).words(4))


def draw(d: int, scale: float, law: str, above: float | None, source: Entropy) -> Floats:
    """b, whose norm has shape d where it is spherical Laplace (E9); zeros without noise.

    Parameters
    ----------
    d, scale, law : int, float, {"gaussian", "laplace"}
        The number of coordinates, and the noise's scale and law.
    above : float, optional
        c: all coordinates exceed it.
    source : Entropy
        Where random words come from.

    Examples
    --------
    >>> bool((draw(50, 2.0, "laplace", -1.0, SeededEntropy(0)) > -1).all())
    True
    """
    if source is NO_NOISE:
        return np.zeros(d)
    if above is None or above == 0:
        b = scale * (normals(d, source) if law == "gaussian" else spherical_laplace(d, source)[0])
        return b if above is None else np.abs(b)
    c, rng = above / scale, generator(source)
    sd = 1.0 if law == "gaussian" else _mixing(d, c, rng)
    u = rng.random(d)
    least = ndtr(c / sd)
    b = scale * sd * ndtri(least + u * (1 - least))
    return np.maximum(b, np.nextafter(above, math.inf))


def _mixing(d: int, c: float, rng: np.random.Generator) -> float:
    """An sd sqrt(w) such that normals of this sd, all above c, are spherical Laplace noise above c.

    exp(-norm) is a mixture of normal densities of variance w with a Gamma law of shape (d + 1)/2 and scale 2. Above c
    that law is weighted by the probability Phi(-c/sqrt w)^d that all normals are.
    """
    shape = (d + 1) / 2
    x = np.linspace(math.log(shape) - 12, math.log(shape) + 5, _GRID)
    w = np.exp(x)
    log_density = shape * x - w / 2 - gammaln(shape) + d * log_ndtr(-c / np.sqrt(w))
    density = np.exp(log_density - log_density.max())
    below = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return math.sqrt(math.exp(float(np.interp(rng.random() * below[-1], below, x))))
