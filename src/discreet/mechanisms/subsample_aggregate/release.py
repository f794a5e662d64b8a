"""Release of coefficients of random blocks of rows; proofs in docs/mathematics, 8.10.

Rows are lattice points, and the moments of a block are exact integers, so that its coefficients do not depend on the
order of its rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import SILENT, Floats
from discreet.core.rounding import down
from discreet.core.threads import one_thread
from discreet.data.blocks import block_sums
from discreet.data.reading import Table, as_progress
from discreet.domain.required import require_bounds
from discreet.gate.entropy import NO_NOISE, Entropy
from discreet.gate.noise import add_rounded_normal
from discreet.gate.once import Drawn, once
from discreet.gate.session import Session, check_rows
from discreet.mechanisms.subsample_aggregate.event import AggregateEvent
from discreet.released.certificate import Certificate

Ints = NDArray[np.int64]

BLOCK_BITS = 24
"""Coefficients of blocks are rounded to multiples of 2^-24."""

_RIDGE = 2.0**-20


@np.errstate(**SILENT)
def release_aggregate(table: Table, event: AggregateEvent, session: Session) -> tuple[Certificate, Floats]:
    """Release the mean of the clipped least-squares coefficients of disjoint blocks of rows.

    Threads draw blocks in any order, so seeded simulations use one thread only.
    """
    require_bounds(table.domain, "SubsampleAggregate")
    table = table.checked()
    check_rows(table.left)
    jobs = 1 if session.simulation else table.n_jobs
    coordinates = (*event.design, event.target)
    clip = event.radius - math.sqrt(len(event.design)) * 2.0 ** -(BLOCK_BITS + 1)

    def draw(entropy: Entropy) -> Drawn[Floats]:
        choose = _chooser(event.blocks, entropy)
        with as_progress(table.progress) as report:
            sums = block_sums(table, coordinates, event.blocks, choose, jobs, report)
            report(1.0)
        with one_thread():  # so that equal moments give equal coefficients, bit for bit
            parts = block_coefficients(sums, clip)
        total = parts.sum(axis=0).astype(object) * (1 << 20)
        noisy, exponent = add_rounded_normal(total, math.ldexp(event.sd, BLOCK_BITS + 20), entropy)
        return Drawn(np.ldexp(noisy.astype(float), exponent - BLOCK_BITS - 20) / event.blocks)

    return once(session, table.domain, draw, planned=[event], mu=event.mu)


def block_coefficients(S: NDArray[Any], clip: float) -> Ints:
    """Least-squares coefficients of blocks from their integer moments of (x, y), clipped to a ball, in units of 2^-24.

    Where X'X is singular, or nearly so, a ridge of 2^-20 of its trace makes the solution unique.
    """
    G = np.ldexp(S.astype(float), -40)
    d = G.shape[-1] - 1
    ridge = _RIDGE * np.maximum(np.trace(G[:, :d, :d], axis1=1, axis2=2), 1.0)
    theta = np.linalg.solve(G[:, :d, :d] + ridge[:, None, None] * np.eye(d), G[:, :d, d:])[:, :, 0]
    norm = np.sqrt(np.sum(theta**2, axis=1, keepdims=True))
    theta = theta * np.minimum(1.0, down(clip) / np.maximum(norm, 1e-300))
    rounded: Ints = np.rint(np.ldexp(theta, BLOCK_BITS)).astype(np.int64)
    return rounded


def _chooser(blocks: int, entropy: Entropy) -> Callable[[int], Ints]:
    """Draw independent uniform choices among so many blocks: words above the last multiple are redrawn."""
    if entropy is NO_NOISE:
        return lambda size: np.arange(size) % blocks
    bits = 16 if blocks <= 1 << 12 else 32
    limit, kind = (2**bits // blocks) * blocks, np.dtype(f"u{bits // 8}")

    def pieces(size: int) -> NDArray[Any]:
        return np.array(entropy.words(-(-size * bits // 64))).view(kind)[:size]

    def choose(size: int) -> Ints:
        found = pieces(size)
        while limit < 2**bits and (late := found >= limit).any():
            found[late] = pieces(int(late.sum()))
        chosen: Ints = (found % kind.type(blocks)).astype(np.int64)
        return chosen

    return choose
