r"""What releases of many outcomes cost each row: a sample of the rows, and outcomes that are public.

*Sampled.* Given which other rows are in the sample, the row's own is a coin of known rate, and the noise is Gaussian:
so the curve of ``privacy.sampled`` at the row's own mu is a bound, by joint convexity (``docs/mathematics.md``, 9.3).

*Public outcomes.* A row's features are replaced and its outcomes stay: with w the features in the place of x, X'X moves
by x x' - w w' and X'Y by (x - w) y'.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.per_instance.exact import gaussian
from discreet.per_instance.parts import Facts, Part, parts_of
from discreet.per_instance.sampled_curve import SampledCurve
from discreet.per_instance.stream import Rows
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.privacy.events.sampled import PublicOutcomesEvent, SampledEvent

Floats = NDArray[np.float64]


@parts_of(SampledEvent, moments=lambda event: any(block.statistic == "eigenvalue" for block in event.blocks))
def sample(event: SampledEvent, facts: Facts) -> list[Part]:
    """The event's curve at the row's own mu."""
    inner = gaussian(GaussianEvent(event.full_mu, event.blocks), facts)

    def cost(rows: Rows) -> Floats:
        mu: Floats = np.sqrt(np.sum([part.cost(rows) for part in inner], axis=0))
        return np.minimum(mu, event.full_mu)[None]

    name = ", ".join(block.name for block in event.blocks) + " of a sample"
    note = "a bound, as if it were known which other rows are in the sample"
    curve = SampledCurve(event.rate, event.neighbors)
    return [Part(name, cost, np.array([event.full_mu]), note=note, curve=curve)]


@parts_of(PublicOutcomesEvent)
def public(event: PublicOutcomesEvent, facts: Facts) -> list[Part]:
    """Exact for given features; otherwise a bound over all, never above the certificate's."""
    names = ", ".join(block.name for block in event.blocks)
    w = None if facts.pair is None else facts.pair.used
    note = "a bound over all features that may take this row's place" if w is None else ""

    def cost(rows: Rows) -> Floats:
        total: Floats = np.sum([_moved(block, facts, rows, w) / block.sd**2 for block in event.blocks], axis=0)
        return np.minimum(total, event.mu**2) if w is None else total

    return [Part(names, cost, event.mu**2, note)]


def _moved(block: Block, facts: Facts, rows: Rows, w: Floats | None) -> Floats:
    """Squared change of X'X or X'Y when features w, or the worst, take the place of a row's."""
    X, Y = facts.domain.indices(block.rows), facts.domain.indices(block.columns)
    p, y2, R2 = rows.norm2(X), rows.norm2(Y), facts.domain.norm_squared(X)
    if w is None:
        constant = float(X[0] == 0)
        longest = (np.sqrt(np.maximum(p - constant, 0.0)) + math.sqrt(R2 - constant)) ** 2
        return p**2 + R2**2 if block.statistic == "gram" else longest * y2
    q, g = float(w[X] @ w[X]), rows.Z[:, X] @ w[X]
    square = p**2 + q**2 - 2 * g**2 if block.statistic == "gram" else (p + q - 2 * g) * y2
    return np.maximum(square, 0.0)
