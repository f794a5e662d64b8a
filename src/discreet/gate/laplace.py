"""Spherical Laplace noise: a vector whose density falls with its norm as exp(-norm)."""

from __future__ import annotations

import math

import numpy as np

from discreet.gate.randomness import Entropy, FloatArray, rounded_normal


def spherical_laplace(p: int, source: Entropy) -> tuple[FloatArray, float]:
    """A vector of p coordinates with density proportional to exp(-norm), and a bound on its error in norm.

    Its norm is Gamma distributed with shape p: a sum of p exponentials -log U, whose uniforms have 53 digits behind
    their leading zeros however small they are. Its direction is that of p normals, each rounded to a multiple of 2^-39;
    all else is within a few units in the last place.

    Examples
    --------
    >>> from discreet.gate.randomness import SeededEntropy
    >>> spherical_laplace(3, SeededEntropy(0))[0].shape
    (3,)
    """
    normals = np.ldexp(rounded_normal(np.zeros(p), 2.0**39, source).astype(float), -39)
    norm = float(sum(_exponential(source) for _ in range(p)))
    length = float(np.linalg.norm(normals))
    if length == 0:
        return spherical_laplace(p, source)
    return normals * (norm / length), norm * (2.0**-44 + 2.0**-38 * math.sqrt(p) / length)


def _exponential(source: Entropy) -> float:
    """-log U for a uniform U in (0, 1): leading zeros are drawn 64 at a time, then the digits behind them."""
    zeros, word = 0, int(source.words(1)[0])
    while word == 0:
        zeros, word = zeros + 64, int(source.words(1)[0])
    shift = 64 - word.bit_length()
    digits = (word << 64 | int(source.words(1)[0])) << shift & (2**128 - 1)
    return (zeros + shift) * math.log(2) - math.log(math.ldexp(float(digits), -128))
