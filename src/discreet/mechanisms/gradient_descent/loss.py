r"""Per-instance losses of noisy gradient descent (``docs/mathematics``, 10.8).

Iterates are public and listed in the certificate. Given them, a step of full-batch descent is Gaussian noise on a sum
to which the row adds x (x'theta_t - y), so with z = (x, -y) and v_t = (theta_t, 1)

    mu_i^2 = sum_t |x|^2 (z'v_t)^2/sd_t^2 = |x|^2 z'M z,      M = sum_t v_t v_t'/sd_t^2.

A sampled step costs a row at most as much as a Poisson-sampled Gaussian of its own clipped gradient. This is a bound,
because the other sampled rows are unknown, and the largest step stands for all of them.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.rounding import down, up
from discreet.mechanisms.gradient_descent.event import BatchesEvent, GradientEvent, sampled_curve
from discreet.per_instance.mechanisms.parts import LossFacts, Part, own_curve, parts_of, span
from discreet.per_instance.stream import EncodedRows
from discreet.privacy.laws import Alone, Law, Point

_LEVELS = 24  # number of levels to which norms of clipped gradients are rounded up
_ITERATES = "at the iterates that were released"


@parts_of(GradientEvent)
def _descent(event: GradientEvent, facts: LossFacts) -> list[Part]:
    """Compute the exact cost at the released iterates; a bound under replace-one unless a replacement is given."""
    d = len(event.design)
    V = np.column_stack([np.reshape(event.iterates, (-1, d)), np.ones(len(event.sds))]) / np.array(event.sds)[:, None]
    M = V.T @ V
    everyone = event.mu**2

    def cost(rows: EncodedRows) -> Floats:
        z = _signed(rows.Z, event, facts)
        norm2 = np.einsum("ij,ij->i", z[:, :d], z[:, :d])
        own: Floats = norm2 * _form(z, M, z)
        if not facts.replaces:
            return own
        if facts.pair is None:
            largest = [event.norm * (event.outcome + event.norm * size) for size in event.sizes]  # gradient of any row
            worst = float(np.linalg.norm([once / sd for once, sd in zip(largest, event.sds, strict=True)]))
            return np.minimum((np.sqrt(own) + worst) ** 2, everyone)
        w = _signed(facts.pair.used[None], event, facts)
        both = _form(z, M, w) * (z[:, :d] @ w[0, :d])
        moved: Floats = own + float(w[0, :d] @ w[0, :d]) * _form(w, M, w) - 2 * both
        return np.maximum(moved, 0.0)

    bound = facts.replaces and facts.pair is None
    note = "a bound over every row that may take this one's place" if bound else ""
    return [Part(event.name, cost, everyone, note, _ITERATES)]


def _signed(Z: Floats, event: GradientEvent | BatchesEvent, facts: LossFacts) -> Floats:
    """Return (x, -y) of each row."""
    y = facts.domain.indices([event.target])[0]
    return np.column_stack([Z[:, span(facts.domain.indices(event.design))], -Z[:, y]])


def _form(z: Floats, M: Floats, w: Floats) -> Floats:
    """Return the bilinear form z'M w of each row."""
    found: Floats = np.einsum("ij,ij->i", z @ M, np.broadcast_to(w, z.shape))
    return found


@parts_of(BatchesEvent)
def _batches(event: BatchesEvent, facts: LossFacts) -> list[Part]:
    """Evaluate the event's bound at the largest clipped gradient of the row."""
    if facts.replaces or not event.iterates:
        return own_curve(event, facts)
    d, steps = len(event.design), int(event.steps)
    V = np.column_stack([np.reshape(event.iterates, (-1, d)), np.ones(steps)])
    clips = event.clip * np.arange(1, _LEVELS + 1) / _LEVELS
    laws: tuple[Law, ...] = (Point(0.0), *(_law(event, float(clip)) for clip in clips[:-1]), event.law)
    rounding = up(math.sqrt(d) * 2.0**-21)

    def level(rows: EncodedRows) -> Floats:
        z = _signed(rows.Z, event, facts)
        largest = np.abs(z @ V.T).max(axis=1) * np.sqrt(np.einsum("ij,ij->i", z[:, :d], z[:, :d]))
        places = np.searchsorted(clips, up(largest) + rounding) + 1.0
        return np.where(largest > 0, np.minimum(places, _LEVELS), 0.0)

    note = "a bound from the row's largest gradient, as if it were known which other rows were drawn"
    return [Part(event.name, level, note=note, given=_ITERATES, laws=laws)]


def _law(event: BatchesEvent, clip: float) -> Law:
    """Return the law of one clipping level, computed only where a row needs it."""
    return Alone(lambda epsilon: sampled_curve(down(event.sd / clip), event.rate, event.steps)(epsilon))
