r"""Replace-one neighbours: what it costs a row to be replaced by a given one, or by the worst.

With z the row, w the one in its place, p = |z_X|^2, q = |w_X|^2, g = z_X.w_X and a, b their outcomes' norms,

    X'X     |z z' - w w'|^2 = p^2 + q^2 - 2 g^2          uniform layout: half of that + sum (z_j^2 - w_j^2)^2
    X'Y     p |z_Y|^2 + q |w_Y|^2 - 2 g (z_Y.w_Y)
    y'y     sum (y_j^2 - v_j^2)^2
    counts  2, or 0 in the same bin
    lambda_min  |lambda_min(A) - lambda_min(A - z z' + w w')|

The worst w has q <= R^2 and |w_Y| <= T, so X'X and X'Y on the same X cost at most the maximum over 0 <= g <= R |z_X| of
(p^2 + R^4 - 2 g^2)/s_xx^2 + (p |z_Y|^2 + R^2 T^2 + 2 g |z_Y| T)/s_xy^2; and never more than the certificate's mu^2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.data.histogram import bin_of
from discreet.domain import Domain
from discreet.per_instance.eigenvalue import Spectrum
from discreet.per_instance.parts import Facts, Pair, Part
from discreet.per_instance.stream import Rows
from discreet.privacy import sensitivity
from discreet.privacy.events.gaussian import Block, GaussianEvent

Floats = NDArray[np.float64]


def against(event: GaussianEvent, facts: Facts, pair: Pair) -> list[Part]:
    """Exact costs of a given replacement."""
    return [_against(block, facts, pair, event.mu**2 / len(event.blocks)) for block in event.blocks]


def _against(block: Block, facts: Facts, pair: Pair, everyone: float) -> Part:
    column = block.columns[0] if block.statistic == "counts" else None
    return Part(block.name, lambda rows: _swap(block, facts, pair, rows) / block.sd**2, everyone, column=column)


def _swap(block: Block, facts: Facts, pair: Pair, rows: Rows) -> Floats:
    """Squared change of a statistic."""
    if block.statistic == "counts":
        same = bin_of(rows.Z[:, 1]) == bin_of(pair.declared[block.columns[0]][1:2])
        return np.where(rows.present > 0, np.where(same, 0.0, 2.0), 1.0)
    w = pair.used
    X, Y = facts.domain.indices(block.rows), facts.domain.indices(block.columns)
    x, v = w[X], w[Y]
    if block.statistic == "eigenvalue":
        A = facts.moments.floats(X)
        with_w = Spectrum(A + np.outer(x, x))
        least = np.linalg.eigvalsh(A)[0]
        moved: Floats = (np.abs(least - with_w.least + with_w.fall(rows.Z[:, X])) + with_w.error) ** 2
        return moved
    p, q, g = rows.norm2(X), x @ x, rows.Z[:, X] @ x
    if block.statistic == "gram":
        frobenius = np.maximum(p**2 + q**2 - 2 * g**2, 0.0)
        if block.layout == "weighted":
            return frobenius
        diagonal: Floats = ((rows.squares[:, X] - x**2) ** 2).sum(axis=1)
        return (frobenius + diagonal) / 2
    if block.statistic == "cross":
        return np.maximum(p * rows.norm2(Y) + q * (v @ v) - 2 * g * (rows.Z[:, Y] @ v), 0.0)
    squares: Floats = ((rows.squares[:, Y] - v**2) ** 2).sum(axis=1)
    return squares


def worst(event: GaussianEvent, facts: Facts) -> list[Part]:
    """A bound on the cost of any replacement, all blocks of an event together."""
    names = ", ".join(block.name for block in event.blocks)
    note = "a bound over every row that may take this one's place"
    spectra = {block: facts.spectrum(block.rows) for block in event.blocks if block.statistic == "eigenvalue"}

    def cost(rows: Rows) -> Floats:
        total = np.zeros(len(rows.Z))
        left = list(event.blocks)
        for i, j in sensitivity.pairs(event.blocks):
            gram, cross = event.blocks[i], event.blocks[j]
            left = [block for block in left if block not in (gram, cross)]
            total += _joint(gram, cross, facts.domain, rows)
        for block in left:
            total += _most(block, facts.domain, rows, spectra.get(block)) / block.sd**2
        return np.minimum(total, event.mu**2)

    return [Part(names, cost, event.mu**2, note)]


def _joint(gram: Block, cross: Block, domain: Domain, rows: Rows) -> Floats:
    """Of X'X and X'Y together: the best g for the adversary, and the cost there."""
    X, Y = domain.indices(gram.rows), domain.indices(cross.columns)
    R2, T2, p, a = domain.norm_squared(X), domain.norm_squared(Y), rows.norm2(X), rows.norm2(Y)
    pull = np.sqrt(a * T2) / cross.sd**2
    g = np.minimum(pull * gram.sd**2 / 2, np.sqrt(p * R2))
    joint: Floats = (p**2 + R2**2 - 2 * g**2) / gram.sd**2 + (p * a + R2 * T2) / cross.sd**2 + 2 * g * pull
    return joint


def _most(block: Block, domain: Domain, rows: Rows, spectrum: Spectrum | None) -> Floats:
    """Bound on the squared change of one statistic."""
    X, Y = domain.indices(block.rows), domain.indices(block.columns)
    R2, T2 = domain.norm_squared(X), domain.norm_squared(Y)
    if spectrum is not None:
        fall = spectrum.fall(rows.Z[:, X])
        return np.asarray((np.maximum(fall, R2 - fall) + spectrum.error) ** 2)
    if block.statistic == "counts":
        return np.full(len(rows.Z), 2.0)
    p = rows.norm2(X)
    if block.statistic == "gram":
        square = p**2 + R2**2
        return square if block.layout == "weighted" else (square + rows.norm4(X) + R2) / 2
    if block.statistic == "cross":
        return np.asarray((np.sqrt(p * rows.norm2(Y)) + np.sqrt(R2 * T2)) ** 2)
    u = rows.squares[:, Y]
    return np.asarray(np.minimum((np.maximum(u, 1 - u) ** 2).sum(axis=1), (u**2).sum(axis=1) + T2))
