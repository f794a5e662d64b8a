"""The fourth gate: gradient descent on exact moments; it sees them and noise together. Proofs: mathematics.md, 8.8."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.domain import LATTICE_BITS
from discreet.issuing import Release, check_rows
from discreet.moments import Moments
from discreet.privacy.certificate import Certificate
from discreet.privacy.coefficients import ROUND_UP
from discreet.privacy.iterates import GradientEvent
from discreet.privacy.points import POINT_BITS, kept
from discreet.randomness import Entropy, add_rounded_normal

Floats = NDArray[np.float64]

_LIMB = 24


def release_descent(
    moments: Moments, event: GradientEvent, steps: int, step: float, radius: float, release: Release
) -> tuple[Certificate, Floats]:
    """Descend with noise that costs the event's `step_mu` each time, and certify; the last iterate."""
    check_rows(moments.count)
    release.charge(mu=math.sqrt(steps) * event.step_mu * (1 + 2.0**-30))
    theta, done = descend(moments, event, steps, step, radius, release.source)
    certificate = release.certify(moments.domain, done)
    return certificate, theta


def descend(
    moments: Moments, event: GradientEvent, steps: int, step: float, radius: float, source: Entropy
) -> tuple[Floats, GradientEvent]:
    """Noisy gradient descent from 0, exact: the last iterate, and the event with all those before.

    The gradient X'X theta - X'y of an iterate on the lattice is a vector of integers in units of 2^-56.
    """
    S, v = moments.equations(event.design, event.target)
    limbs, v = _limbs(S), v * (1 << POINT_BITS)
    units = 2 * LATTICE_BITS + POINT_BITS
    theta = np.zeros(len(event.design))
    points: list[float] = []
    for _ in range(steps):
        points += theta.tolist()
        sd = event.sd_at(math.hypot(*theta) * ROUND_UP)
        whole = np.ldexp(theta, POINT_BITS).astype(np.int64)
        noisy, exponent = add_rounded_normal(_product(limbs, whole) - v, math.ldexp(sd, units), source)
        theta = kept(theta - step * np.ldexp(noisy.astype(float), exponent - units), radius)
    return theta, replace(event, iterates=tuple(points))


def _limbs(S: NDArray[Any]) -> list[NDArray[np.int64]]:
    """Integers as limbs of 24 bits, the last of which has the sign."""
    limbs = []
    while any(abs(int(value)) >= 1 << (_LIMB - 1) for value in (S.min(), S.max())):
        limbs.append((S & ((1 << _LIMB) - 1)).astype(np.int64))
        S = S >> _LIMB
    return [*limbs, S.astype(np.int64)]


def _product(limbs: list[NDArray[np.int64]], whole: NDArray[np.int64]) -> NDArray[Any]:
    """The exact product of a matrix and a vector: limbs times entries below 2^30 add up to less than 2^63."""
    parts = [(limb @ whole).astype(object) * (1 << (_LIMB * i)) for i, limb in enumerate(limbs)]
    return np.asarray(np.sum(parts, axis=0), dtype=object)
