r"""Inversion of privacy curves for many rows: epsilon_i(delta) and delta_i(epsilon) by threaded search and tables.

The equation delta_i(epsilon) = delta is solved for all rows of a chunk at once, by secant steps inside a bracket on
h(epsilon) = sqrt(-2 log delta_i(epsilon)), which is nearly linear: for a Gaussian loss it is about epsilon/mu - mu/2.

*Tables.* A part whose curve has one statistic, proportional to its size s, stands beside a mu-GDP part. The mu of the
Gaussian release that has the same epsilon at delta, or the same delta at epsilon, is nearly S = hypot(s, mu): cubic
splines in log s and log mu join its ratio to S. The ratio in the middle of every cell is computed too, and what is read
off is raised by 5e-5 and four times what the splines fall short there or in a cell next to it; where that is much, the
grid is made finer. Of s and mu, one that is far below the other in every row is rounded up, for no loss falls with
either.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erfinv, log_ndtr

from discreet.core.arrays import Floats
from discreet.data.reading import threads
from discreet.per_instance import curves
from discreet.per_instance.curves import LossCurve

_CHUNK = 1 << 16
_CLOSE, _MARGIN = 1e-6, 1e-8  # relative: remaining error, and the margin that is added
_STEPS = 200

_FEW = 1024
_GRIDS, _SLACK, _MORE = (0.25, 0.125), 5e-4, 5e-5  # steps of the grids, and margins added to interpolated values
_FAR = 1 / 50  # relative to the other part; smaller ones add 2e-4 at most
_DEEP = 35.0  # standard deviations: delta beyond is below 1e-260


def epsilon(curve: LossCurve, mu: Floats, statistics: Floats, delta: float) -> Floats:
    """Return an upper bound on epsilon_i(delta) of every row: to a relative 1e-6, or from a table for many rows."""
    if curve.width > 1 or len(mu) <= _FEW:
        return _each_epsilon(curve, mu, statistics, delta)
    mus = _mus()
    some = curves.epsilon(mus, delta)
    rises = some > 0

    def gaussian(mu: Floats, statistics: Floats) -> Floats:
        e, at_0 = _each_epsilon(curve, mu, statistics, delta), _each_delta(curve, mu, statistics, 0.0)
        return np.where(e > 0, np.interp(e, some[rises], mus[rises]), _mu(np.minimum(at_0, delta), 0.0))

    return curves.epsilon(_read(curve, gaussian, mu, statistics[0]), delta)


def delta(curve: LossCurve, mu: Floats, statistics: Floats, epsilon: float) -> Floats:
    """Return delta_i(epsilon) of every row; from a table for many rows."""
    if curve.width > 1 or len(mu) <= _FEW:
        return _each_delta(curve, mu, statistics, epsilon)
    S = np.hypot(mu, curve.size(statistics))
    up = np.where(S > 0, np.maximum(epsilon / _DEEP / np.maximum(S, 1e-300), 1.0), 0.0)

    def gaussian(mu: Floats, statistics: Floats) -> Floats:
        return _mu(_each_delta(curve, mu, statistics, epsilon), epsilon)

    return curves.delta(_read(curve, gaussian, mu * up, statistics[0] * up), epsilon)


# ---------------------------------------------------------------- each row


def _each_delta(curve: LossCurve, mu: Floats, statistics: Floats, epsilon: float) -> Floats:
    """Compute delta_i(epsilon), from the curve of each row."""

    def work(at: slice) -> Floats:
        here = mu[at]
        return np.minimum(curve.delta(np.full(len(here), epsilon), here, statistics[:, at]), 1.0)

    return _chunks(len(mu), work)


def _each_epsilon(curve: LossCurve, mu: Floats, statistics: Floats, delta: float) -> Floats:
    """Solve for epsilon_i(delta) of each row."""
    target = delta - curve.failure
    if target <= 0:
        return np.full(len(mu), np.inf)
    sizes, starts, slopes = _gaussian(target)

    def work(at: slice) -> Floats:
        here, known = mu[at], statistics[:, at]
        size = np.hypot(here, curve.size(known))
        both = np.interp(size, sizes, starts + 1j * slopes)  # two functions between the same points of the table
        start, slope = both.real.copy(), both.imag.copy()

        def above(e: Floats, rows: NDArray[np.intp]) -> Floats:
            return curve.delta(e, here[rows], known[:, rows]) - curve.failure

        return _least(above, target, start, slope)

    return _chunks(len(mu), work)


def _gaussian(delta: float) -> tuple[Floats, Floats, Floats]:
    """Tabulate starts of the search: mu, the epsilon at which its curve meets delta, and the slope of h there."""
    least = 2 * np.sqrt(2) * float(erfinv(delta))
    mu = np.geomspace(least * (1 + 1e-9), max(100.0, 2 * least), 1000)
    e = curves.epsilon(mu, delta)
    return mu, e, np.exp(e + log_ndtr(-e / mu - mu / 2)) / (delta * _height(delta))


def _chunks(rows: int, work: Callable[[slice], Floats]) -> Floats:
    places = [slice(start, min(start + _CHUNK, rows)) for start in range(0, rows, _CHUNK)]
    if len(places) == 1:
        return work(places[0])
    with ThreadPoolExecutor(threads(None)) as pool:
        return np.concatenate(list(pool.map(work, places)))


def _height(delta: ArrayLike) -> Floats:
    """Transform delta to h."""
    return np.asarray(np.sqrt(-2 * np.log(np.clip(delta, 1e-300, 1.0))))


def _least(curve: Callable[[Floats, NDArray[np.intp]], Floats], delta: float, start: Floats, slope: Floats) -> Floats:
    """Find the least epsilon >= 0 at which each curve is at most delta.

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


# ---------------------------------------------------------------- tables


@cache
def _mus() -> Floats:
    return np.geomspace(1e-12, 1e3, 200_000)


def _mu(delta: Floats, epsilon: float) -> Floats:
    """Find the mu whose Gaussian curve has this delta at epsilon."""
    mus = _mus()
    some = np.log(np.maximum(curves.delta(mus, epsilon), 1e-300))
    rises = np.append(np.diff(some) > 0, False)
    return np.asarray(np.interp(np.log(np.maximum(delta, 1e-299)), some[rises], mus[rises]))


def _read(curve: LossCurve, gaussian: Callable[[Floats, Floats], Floats], mu: Floats, statistic: Floats) -> Floats:
    """Interpolate the mu of an equivalent Gaussian release for every row; 0 where mu and the statistic are 0."""
    from scipy.interpolate import RectBivariateSpline  # slow to import, and seldom needed
    from scipy.ndimage import maximum_filter

    found, rows, unit = np.zeros(len(mu)), (statistic > 0) | (mu > 0), float(curve.size(np.ones((1, 1)))[0])
    if not rows.any():
        return found
    s, mu = statistic[rows] * unit, mu[rows]
    s = np.maximum(s, _FAR * float(np.hypot(s, mu).min()))
    mu = np.maximum(mu, _FAR * float(s.min()))
    x, y = np.log(s), np.log(mu)

    def ratio(xs: Floats, ys: Floats) -> Floats:
        s, mu = (np.exp(a) for a in np.meshgrid(xs, ys, indexing="ij"))
        return gaussian(mu.ravel(), s.reshape(1, -1) / unit).reshape(s.shape) / np.hypot(s, mu)

    for step in _GRIDS:
        xs, ys = _points(x, step), _points(y, step)
        table = RectBivariateSpline(xs, ys, ratio(xs, ys))
        middles = (xs[1:] + xs[:-1]) / 2, (ys[1:] + ys[:-1]) / 2
        short = 4 * maximum_filter(np.maximum(ratio(*middles) - table(*middles), 0.0), size=3)
        if short.max() <= _SLACK:
            break
    cell = tuple(np.minimum((a - at[0]) / (at[1] - at[0]), len(at) - 2).astype(np.intp) for a, at in ((x, xs), (y, ys)))
    found[rows] = (table.ev(x, y) + short[cell] + _MORE) * np.hypot(s, mu)
    return found


def _points(x: Floats, step: float) -> Floats:
    low, high = float(x.min()), float(x.max())
    return np.linspace(low, max(high, low + step), max(4, int((high - low) / step) + 2))
