r"""epsilon_i(delta) and delta_i(epsilon) of many rows whose curves differ, in threads.

The equation delta_i(epsilon) = delta is solved for all rows of a chunk at once, by secant steps inside a bracket on
h(epsilon) = sqrt(-2 log delta_i(epsilon)), which is nearly linear: for a Gaussian loss it is about epsilon/mu - mu/2.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfinv, log_ndtr

from discreet.data.summing import threads
from discreet.per_instance import curves
from discreet.per_instance.curves import Curve

Floats = NDArray[np.float64]

_CHUNK = 1 << 16
_CLOSE, _MARGIN = 1e-6, 1e-8  # relative: of the error that is left, and what is added besides
_STEPS = 200


def delta(curve: Curve, mu: Floats, statistics: Floats, epsilon: float) -> Floats:
    """delta_i(epsilon) of every row."""

    def work(at: slice) -> Floats:
        here = mu[at]
        return np.minimum(curve.delta(np.full(len(here), epsilon), here, statistics[:, at]), 1.0)

    return _chunks(len(mu), work)


def epsilon(curve: Curve, mu: Floats, statistics: Floats, delta: float) -> Floats:
    """epsilon_i(delta) of every row, to a relative 1e-6, from the safe side."""
    target = delta - curve.failure
    if target <= 0:
        return np.full(len(mu), np.inf)
    sizes, starts, slopes = _gaussian(target)

    def work(at: slice) -> Floats:
        here, known = mu[at], statistics[:, at]
        size = np.hypot(here, curve.size(known))
        start, slope = _at(size, sizes, starts, slopes)

        def above(e: Floats, rows: NDArray[np.intp]) -> Floats:
            return curve.delta(e, here[rows], known[:, rows]) - curve.failure

        return _least(above, target, start, slope)

    return _chunks(len(mu), work)


def _gaussian(delta: float) -> tuple[Floats, Floats, Floats]:
    """mu, where the curve of a mu-GDP part meets delta, and the slope of h there: where the search begins."""
    least = 2 * np.sqrt(2) * float(erfinv(delta))
    mu = np.geomspace(least * (1 + 1e-9), max(100.0, 2 * least), 1000)
    e = curves.epsilon(mu, delta)
    return mu, e, np.exp(e + log_ndtr(-e / mu - mu / 2)) / (delta * _height(delta))


def _at(x: Floats, places: Floats, first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Two functions read off a table, between the same two of its places."""
    both = np.interp(x, places, first + 1j * second)
    return both.real.copy(), both.imag.copy()


def _chunks(rows: int, work: Callable[[slice], Floats]) -> Floats:
    places = [slice(start, min(start + _CHUNK, rows)) for start in range(0, rows, _CHUNK)]
    if len(places) == 1:
        return work(places[0])
    with ThreadPoolExecutor(threads(None)) as pool:
        return np.concatenate(list(pool.map(work, places)))


def _height(delta: ArrayLike) -> Floats:
    """h, from delta."""
    found: Floats = np.sqrt(-2 * np.log(np.clip(delta, 1e-300, 1.0)))
    return found


def _least(curve: Callable[[Floats, NDArray[np.intp]], Floats], delta: float, start: Floats, slope: Floats) -> Floats:
    """The least epsilon from 0 on at which each curve is at most delta.

    A secant step from `last` and e to `new` leaves an error of (new - e)(new - last) h''/2h'. That h is nearly linear
    means abs(new h''/2h') < 1, so (new - e)(new - last)/new is more than the error; it is added. The first step
    takes the slope of a Gaussian part of the same size, and for it `last` is 0.
    """
    goal, found, at, e = _height(delta), np.zeros(len(start)), np.arange(len(start)), start
    low, high, last = np.full(len(e), -1.0), np.full(len(e), np.inf), np.full(len(e), -1e-12)
    h = _height(curve(e, at)) - goal
    before = h - slope * (e - last)
    for _ in range(_STEPS):
        low, high = np.where(h < 0, e, low), np.where(h < 0, high, e)
        with np.errstate(invalid="ignore", divide="ignore"):
            new = e - h * (e - last) / (h - before)
        new = np.where((new <= 0) & (low < 0), 0.0, new)
        secant = (new > low) & (new < high) & (new < 8 * e + 1e-3)
        new = np.where(secant, new, np.where(np.isinf(high), 2 * e + 1e-6, (np.maximum(low, 0) + high) / 2))
        error = np.abs((new - e) * (new - last))
        done = secant & (error <= _CLOSE * new**2) | (high - low < _MARGIN * high) | (high == 0)
        found[at[done]] = np.minimum(
            new[done] * (1 + _MARGIN) + error[done] / np.maximum(new[done], 1e-300), high[done]
        )
        left = ~done
        if not left.any():
            return found
        last, before, e, at, low, high = e[left], h[left], new[left], at[left], low[left], high[left]
        h = _height(curve(e, at)) - goal
    found[at] = high
    return found
