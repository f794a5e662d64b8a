"""Release by gradient descent on exact moments; proofs in docs/mathematics, 8.8."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import SILENT, Floats
from discreet.core.rounding import ROOM, up
from discreet.data.moments import Moments
from discreet.domain import LATTICE_BITS
from discreet.gate.entropy import Entropy
from discreet.gate.noise import add_rounded_normal
from discreet.gate.once import Drawn, once
from discreet.gate.session import Session, check_rows
from discreet.mechanisms.gradient_descent.event import POINT_BITS, GradientEvent, kept
from discreet.released.certificate import Certificate


@np.errstate(**SILENT)
def release_descent(
    moments: Moments, event: GradientEvent, steps: int, step: float, radius: float, session: Session
) -> tuple[Certificate, Floats]:
    """Run noisy gradient descent from 0 in exact arithmetic, certify it, and return the last iterate.

    The gradient X'X theta - X'y of an iterate on the lattice is a vector of integers in units of 2^-56.
    """
    check_rows(moments.count)

    def draw(entropy: Entropy) -> Drawn[Floats]:
        S, v = moments.equations(event.design, event.target)
        bits = limb_bits(radius, len(v))
        limbs, v = _limbs(S, bits), v * (1 << POINT_BITS)
        units = 2 * LATTICE_BITS + POINT_BITS
        theta, points = np.zeros(len(event.design)), list[float]()
        for _ in range(steps):
            point = theta.tolist()
            sd = event.sd_at(up(math.hypot(*point)))
            whole = np.ldexp(theta, POINT_BITS).astype(np.int64)
            noisy, exponent = add_rounded_normal(_product(limbs, bits, whole) - v, math.ldexp(sd, units), entropy)
            points += point
            theta = kept(theta - step * np.ldexp(noisy.astype(float), exponent - units), radius)
        return Drawn(theta, (replace(event, iterates=tuple(points)),))

    return once(session, moments.domain, draw, mu=up(math.sqrt(steps) * event.step_mu, ROOM))


def limb_bits(radius: float, d: int) -> int:
    """The largest length of limbs such that d of them times entries of an iterate add up to less than 2^62."""
    longest = int(math.ldexp(radius, POINT_BITS)) + 1
    return 62 - longest.bit_length() - d.bit_length()


def _limbs(S: NDArray[Any], bits: int) -> list[NDArray[np.int64]]:
    """Split integers into limbs, the last of which carries the sign."""
    limbs = []
    while any(abs(int(value)) >= 1 << bits for value in (S.min(), S.max())):
        limbs.append((S & ((1 << bits) - 1)).astype(np.int64))
        S = S >> bits
    return [*limbs, S.astype(np.int64)]


def _product(limbs: list[NDArray[np.int64]], bits: int, whole: NDArray[np.int64]) -> NDArray[Any]:
    """The exact product of a matrix and a vector."""
    total: NDArray[Any] = (limbs[-1] @ whole).astype(object)
    for limb in reversed(limbs[:-1]):
        total = (total << bits) + limb @ whole
    return total
