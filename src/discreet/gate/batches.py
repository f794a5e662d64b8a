"""The gate of methods that draw rows at random: batches and blocks of them; proofs in docs/mathematics, 8.9 and 8.10.

Rows are lattice points, and so are iterates; what a row contributes depends on that row and the iterate alone, bit for
bit, and contributions are added up as integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import SILENT, Floats
from discreet.core.rounding import down
from discreet.core.threads import one_thread
from discreet.data.blocks import block_sums
from discreet.data.reading import Unread, as_progress
from discreet.data.rows import Rows
from discreet.domain.encoding import ONE
from discreet.gate.entropy import NO_NOISE, Entropy
from discreet.gate.noise import add_rounded_normal
from discreet.gate.session import Session, check_rows
from discreet.privacy.events.iterates import AggregateEvent, BatchesEvent, kept
from discreet.released.certificate import Certificate

Ints = NDArray[np.int64]

GRADIENT_BITS = 20
BLOCK_BITS = 24
"""Clipped gradients are rounded to multiples of 2^-20, coefficients of blocks to 2^-24."""

_RIDGE = 2.0**-20


@np.errstate(**SILENT)
def release_batches(
    rows: Rows, event: BatchesEvent, step: float, radius: float, session: Session
) -> tuple[Certificate, Floats]:
    """Stochastic gradient descent; the last iterate."""
    check_rows(rows.count)
    planned = (0.0,) * (event.steps * len(event.design))
    session.certify(rows.domain, replace(event, iterates=planned))  # before anything is spent
    entropy = session.charge(rows.domain)
    theta, iterates = np.zeros(len(event.design)), []
    for _ in range(event.steps):
        iterates += theta.tolist()
        total = _batch(rows, event, theta, entropy)
        noisy, exponent = add_rounded_normal(total, math.ldexp(event.sd, GRADIENT_BITS + 20), entropy)
        gradient = np.ldexp(noisy.astype(float), exponent - GRADIENT_BITS - 20)
        theta = kept(theta - step / event.rate * gradient, radius)
    return session.commit(session.certify(rows.domain, replace(event, iterates=tuple(iterates)))), theta


def clipped_gradients(X: Floats, y: Floats, theta: Floats, clip: float) -> Ints:
    """Gradients x (x'theta - y) of the rows, clipped to a norm of `clip` and rounded to integers in units of 2^-20.

    x'theta is exact: the products are multiples of 2^-36 that add up to less than 2^17. So the result for a row does
    not depend on the rows beside it, and its norm is at most clip + sqrt(d) 2^-21.

    Examples
    --------
    >>> clipped_gradients(np.array([[1.0], [0.5]]), np.array([-1.0, 0.0]), np.zeros(1), 0.25) / 2**20
    array([[0.25],
           [0.  ]])
    """
    slope = X @ theta - y
    norm = np.sqrt(np.rint(X * ONE).astype(np.int64).__pow__(2).sum(axis=1).astype(float)) / ONE
    size = np.abs(slope) * norm
    slope = slope * np.minimum(1.0, down(clip) / np.maximum(size, 1e-300))
    rounded: Ints = np.rint(np.ldexp(X * slope[:, None], GRADIENT_BITS)).astype(np.int64)
    return rounded


def _batch(rows: Rows, event: BatchesEvent, theta: Floats, entropy: Entropy) -> NDArray[Any]:
    """The sum of the clipped gradients of a sample, in units of 2^-40: every row is in it with probability rate."""
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


@np.errstate(**SILENT)
def release_aggregate(table: Unread, event: AggregateEvent, session: Session) -> tuple[Certificate, Floats]:
    """The mean of the clipped least-squares coefficients of disjoint blocks of rows.

    Threads draw blocks in any order, so simulations, which can be repeated, have one thread only.
    """
    certificate = session.certify(table.domain, event)
    table = table.checked()
    check_rows(table.left)
    jobs = 1 if session.simulation else table.n_jobs
    coordinates = (*event.design, event.target)
    entropy = session.charge(table.domain, mu=event.mu)
    choose = _chooser(event.blocks, entropy)
    with as_progress(table.progress) as report:
        sums = block_sums(table, coordinates, event.blocks, choose, jobs, report)
        report(1.0)
    clip = event.radius - math.sqrt(len(event.design)) * 2.0 ** -(BLOCK_BITS + 1)
    with one_thread():  # so that equal moments give equal coefficients, bit for bit
        parts = block_coefficients(sums, clip)
    total = parts.sum(axis=0).astype(object) * (1 << 20)
    noisy, exponent = add_rounded_normal(total, math.ldexp(event.sd, BLOCK_BITS + 20), entropy)
    return session.commit(certificate), np.ldexp(noisy.astype(float), exponent - BLOCK_BITS - 20) / event.blocks


def block_coefficients(S: NDArray[Any], clip: float) -> Ints:
    """Least-squares coefficients of blocks from their integer moments of (x, y), clipped to a ball, in units of 2^-24.

    Where X'X is singular, or nearly, a ridge of 2^-20 of its trace makes the solution one.
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
    """Independent choices among so many blocks, each equally likely: words above the last multiple are redrawn."""
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
