"""Bounds on noise: how far a released value can lie from every value that a table can have.

A check may call a file forged only if no honest release would ever look so. Each rule here is broken by honest noise
with a probability of less than 1e-120 for each value or matrix, so with less than 1e-100 in any file: none holds 1e18
values.
"""

from __future__ import annotations

import math

FAR = 25.0
"""Bound on Gaussian noise, in standard deviations: P(|Z| > 25) = 6e-138."""

SURE_BITS = 340
"""Bits of an event that is taken to be impossible: 2^-340 = 4e-103."""

_TAIL = 24.0
"""The t in the bounds on norms below: 2 exp(-t^2/2) = 2e-125."""


def spectral(d: int, diagonal: float, off: float) -> float:
    """Bound the spectral norm of a symmetric d x d matrix of Gaussian noise.

    With sd s off the diagonal and sqrt(2) s on it, the largest eigenvalue is at most 2 s sqrt(d) on average, and a
    function of the noise with Lipschitz constant sqrt(2) s; it exceeds s (2 sqrt(d) + sqrt(2) t) with a probability of
    at most exp(-t^2/2). Less noise in some entries raises neither, and the least eigenvalue has the same law.
    """
    s = max(off, diagonal / math.sqrt(2))
    return s * (2 * math.sqrt(d) + math.sqrt(2) * _TAIL)


def length(d: int, sd: float) -> float:
    """Bound the norm of d Gaussian values: sd (sqrt(d) + t), exceeded with probability at most exp(-t^2/2)."""
    return sd * (math.sqrt(d) + _TAIL)


def most_sampled(taken: float, rate: float) -> float:
    """Bound the number of rows, given a bound on a Poisson sample of them at a known rate.

    A binomial number of mean m is below s with a probability of at most exp(-(m - s)^2/(2 m)).
    """
    half = _TAIL**2 / 2
    return (taken + half + math.sqrt(half**2 + 2 * half * max(taken, 0.0))) / rate
