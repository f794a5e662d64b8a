"""Release by gradient descent on random batches of rows; proofs in docs/mathematics, 8.9.

Rows are lattice points, and so are iterates; a row's contribution depends on that row and the iterate alone, bit for
bit, and contributions are added up as integers.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import SILENT, Floats
from discreet.core.rounding import down
from discreet.data.rows import Rows
from discreet.domain.encoding import ONE
from discreet.gate.entropy import NO_NOISE, Entropy
from discreet.gate.noise import add_rounded_normal
from discreet.gate.once import Drawn, once
from discreet.gate.session import Session, check_rows
from discreet.mechanisms.gradient_descent.event import BatchesEvent, kept
from discreet.released.certificate import Certificate

Ints = NDArray[np.int64]

GRADIENT_BITS = 20
"""Clipped gradients are rounded to multiples of 2^-20."""


@np.errstate(**SILENT)
def release_batches(
    rows: Rows, event: BatchesEvent, step: float, radius: float, session: Session
) -> tuple[Certificate, Floats]:
    """Run stochastic gradient descent, and return the last iterate."""
    check_rows(rows.count)

    def draw(entropy: Entropy) -> Drawn[Floats]:
        theta, iterates = np.zeros(len(event.design)), []
        for _ in range(event.steps):
            iterates += theta.tolist()
            total = _batch(rows, event, theta, entropy)
            noisy, exponent = add_rounded_normal(total, math.ldexp(event.sd, GRADIENT_BITS + 20), entropy)
            gradient = np.ldexp(noisy.astype(float), exponent - GRADIENT_BITS - 20)
            theta = kept(theta - step / event.rate * gradient, radius)
        return Drawn(theta, (replace(event, iterates=tuple(iterates)),))

    planned = replace(event, iterates=(0.0,) * (event.steps * len(event.design)))
    return once(session, rows.domain, draw, planned=[planned])


def clipped_gradients(X: Floats, y: Floats, theta: Floats, clip: float) -> Ints:
    """Gradients x (x'theta - y) of the rows, clipped to a norm of `clip` and rounded to integers in units of 2^-20.

    x'theta is exact: the products are multiples of 2^-36 that add up to less than 2^17. So the result for a row does
    not depend on the rows beside it, and its norm is at most clip + sqrt(d) 2^-21.
    """
    slope = X @ theta - y
    norm = np.sqrt(np.rint(X * ONE).astype(np.int64).__pow__(2).sum(axis=1).astype(float)) / ONE
    size = np.abs(slope) * norm
    slope = slope * np.minimum(1.0, down(clip) / np.maximum(size, 1e-300))
    rounded: Ints = np.rint(np.ldexp(X * slope[:, None], GRADIENT_BITS)).astype(np.int64)
    return rounded


def _batch(rows: Rows, event: BatchesEvent, theta: Floats, entropy: Entropy) -> NDArray[Any]:
    """The sum of the clipped gradients of a sample, in units of 2^-40; every row is in it with probability `rate`."""
    clip = event.clip - math.sqrt(len(event.design)) * 2.0 ** -(GRADIENT_BITS + 1)

    def work(X: Floats, y: Floats) -> Ints:
        kept = _coins(len(X), event.rate, entropy)
        total: Ints = clipped_gradients(X[kept], y[kept], theta, clip).sum(axis=0)
        return total

    total = np.sum([part.astype(object) for part in rows.each(work)], axis=0)
    return np.asarray(total * (1 << 20), dtype=object)


def _coins(size: int, rate: float, entropy: Entropy) -> NDArray[np.bool_]:
    """Independent coins that are heads with a probability of exactly `rate`, a multiple of 2^-32."""
    if entropy is NO_NOISE or rate == 1:
        return np.ones(size, dtype=bool)
    high: NDArray[np.uint64] = entropy.words(size) >> np.uint64(32)
    return np.asarray(high < np.uint64(round(rate * 2**32)))
