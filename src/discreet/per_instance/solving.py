r"""epsilon_i(delta) and delta_i(epsilon) of many rows whose curves differ, in threads.

The equation delta_i(epsilon) = delta is solved for all rows of a chunk at once, by secant steps inside a bracket on
h(epsilon) = sqrt(-2 log delta_i(epsilon)), which is nearly linear: for a Gaussian loss it is about epsilon/mu - mu/2.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from discreet.per_instance.curves import Curve
from discreet.summing import threads

Floats = NDArray[np.float64]

_CHUNK = 1 << 13
_CLOSE, _MARGIN = 1e-6, 1e-8  # of the last step, after which the error is its square or so; and what is added
_STEPS = 200


def delta(curve: Curve, mu: Floats, statistics: Floats, epsilon: float) -> Floats:
    """delta_i(epsilon) of every row."""

    def work(at: slice) -> Floats:
        here = mu[at]
        return np.minimum(curve.delta(np.full(len(here), epsilon), here, statistics[:, at]), 1.0)

    return _chunks(len(mu), work)


def epsilon(curve: Curve, mu: Floats, statistics: Floats, delta: float) -> Floats:
    """epsilon_i(delta) of every row, to a relative 1e-8, from the safe side."""

    def work(at: slice) -> Floats:
        here, known = mu[at], statistics[:, at]
        size = np.hypot(here, curve.size(known))
        start = size * (size / 2 - float(ndtri(delta)))
        return _least(lambda e, rows: curve.delta(e, here[rows], known[:, rows]), len(here), delta, start)

    return _chunks(len(mu), work)


def _chunks(rows: int, work: Callable[[slice], Floats]) -> Floats:
    places = [slice(start, min(start + _CHUNK, rows)) for start in range(0, rows, _CHUNK)]
    if len(places) == 1:
        return work(places[0])
    with ThreadPoolExecutor(threads(None)) as pool:
        return np.concatenate(list(pool.map(work, places)))


def _least(curve: Callable[[Floats, NDArray[np.intp]], Floats], rows: int, delta: float, start: Floats) -> Floats:
    """The least epsilon at which each curve is at most delta."""
    goal = float(np.sqrt(-2 * np.log(delta)))

    def height(e: Floats, at: NDArray[np.intp]) -> Floats:
        found: Floats = np.sqrt(-2 * np.log(np.clip(curve(e, at), 1e-300, 1.0))) - goal
        return found

    found, everyone = np.zeros(rows), np.arange(rows)
    before = height(found, everyone)
    at = everyone[before < 0]  # the others need no epsilon above 0
    last, before, low, high = np.zeros(len(at)), before[at], np.zeros(len(at)), np.full(len(at), np.inf)
    e = np.maximum(start[at], 1e-12)
    for _ in range(_STEPS):
        h = height(e, at)
        low, high = np.where(h < 0, e, low), np.where(h < 0, high, e)
        with np.errstate(invalid="ignore", divide="ignore"):
            step = e - h * (e - last) / (h - before)
        halved = np.where(np.isinf(high), 2 * e, (low + high) / 2)
        new = np.where((step > low) & (step < high) & (step < 8 * e), step, halved)
        done = np.minimum(np.abs(new - e), high - low) <= _CLOSE * e
        found[at[done]] = np.minimum(new[done] * (1 + _MARGIN), high[done])
        left = ~done
        if not left.any():
            return found
        last, before, e = e[left], h[left], new[left]
        at, low, high = at[left], low[left], high[left]
    found[at] = high
    return found
