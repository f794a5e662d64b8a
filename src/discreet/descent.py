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
from discreet.privacy.iterates import GradientEvent, gradient_change
from discreet.randomness import Entropy, add_rounded_normal

Floats = NDArray[np.float64]

_LIMB = 24
THETA_BITS = 16
"""Iterates are multiples of 2^-16, so that their gradients are exact."""


def release_descent(
    moments: Moments, event: GradientEvent, mus: list[float], step: float, radius: float, release: Release
) -> tuple[Certificate, Floats]:
    """Descend with noise that costs `mus`, step by step, and certify; the last iterate."""
    check_rows(moments.count)
    release.charge(mu=math.sqrt(math.fsum(mu * mu for mu in mus)) * (1 + 2.0**-30))
    thetas, done = descend(moments, event, mus, step, radius, release.source)
    certificate = release.certify(moments.domain, done)
    return certificate, thetas[-1]


def descend(
    moments: Moments, event: GradientEvent, mus: list[float], step: float, radius: float, source: Entropy
) -> tuple[list[Floats], GradientEvent]:
    """Noisy gradient descent from 0, exact: the iterates, and the event with the norm and the sd of every step.

    The gradient X'X theta - X'y of an iterate on the lattice is a vector of integers in units of 2^-56.
    """
    d = len(event.design)
    S, v = moments.equations(event.design, event.target)
    limbs, v = _limbs(S), v * (1 << THETA_BITS)
    units = 2 * LATTICE_BITS + THETA_BITS
    theta = np.zeros(d)
    thetas: list[Floats] = [theta]
    sizes: list[float] = []
    sds: list[float] = []
    for mu in mus:
        size = float(np.linalg.norm(theta)) * (1 + 2.0**-40)
        sd = gradient_change(event, size) / mu * (1 + 2.0**-40)
        whole = np.ldexp(theta, THETA_BITS).astype(np.int64)
        noisy, exponent = add_rounded_normal(_product(limbs, whole) - v, math.ldexp(sd, units), source)
        theta = theta - step * np.ldexp(noisy.astype(float), exponent - units)
        theta = on_lattice(theta * min(1.0, radius / max(float(np.linalg.norm(theta)), 1e-300)))
        thetas.append(theta)
        sizes.append(size)
        sds.append(sd)
    points = tuple(np.concatenate(thetas[:-1]).tolist())
    return thetas[1:], replace(event, sizes=tuple(sizes), sds=tuple(sds), iterates=points)


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


def on_lattice(theta: Floats) -> Floats:
    """Multiples of 2^-16 near theta."""
    rounded: Floats = np.ldexp(np.rint(np.ldexp(theta, THETA_BITS)), -THETA_BITS)
    return rounded
