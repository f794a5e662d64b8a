"""Real Gaussian noise on numbers in floating point, whose own errors are in the sensitivity."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from discreet.gate.randomness import Entropy, FloatArray, rounded_normal

NORMAL_BITS = 39
"""`normals` are rounded to multiples of 2^-39."""


def normals(size: int, source: Entropy) -> FloatArray:
    """Real standard normals, rounded to multiples of 2^-39; zeros without noise.

    Examples
    --------
    >>> from discreet.gate.randomness import SeededEntropy
    >>> normals(3, SeededEntropy(0)).shape
    (3,)
    """
    drawn = rounded_normal(np.zeros(size), 2.0**NORMAL_BITS, source)
    return np.asarray(np.ldexp(drawn.astype(float), -NORMAL_BITS), dtype=np.float64)


def add_normal(values: ArrayLike, sd: float, source: Entropy) -> FloatArray:
    """Values + sd Z, for real standard normals Z, rounded to a grid between 2^-30 and 2^-29 of the sd.

    Examples
    --------
    >>> from discreet.gate.randomness import NO_NOISE
    >>> bool(abs(add_normal([0.3], 1.0, NO_NOISE)[0] - 0.3) < 1e-8)
    True
    >>> add_normal([-1e-30], 1.0, NO_NOISE)
    array([0.])
    """
    grid = math.ldexp(1.0, math.frexp(sd)[1] - 31)
    scaled = np.asarray(values, dtype=float) / grid
    whole = np.floor(scaled)
    whole = np.where(scaled - whole < 1, whole, whole + 1)  # a tiny value below 0 is 0: the difference is rounded to 1
    noisy = (whole + rounded_normal(np.maximum(scaled - whole, 0.0), sd / grid, source)) * grid
    return np.asarray(noisy, dtype=np.float64)
