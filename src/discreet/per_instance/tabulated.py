r"""Losses that depend on two numbers of a row: computed on a grid of these, and read off it for every row.

A part whose curve has one statistic, proportional to its size s, stands beside a mu-GDP part. The mu of the Gaussian
release that has the same epsilon at delta, or the same delta at epsilon, is nearly S = hypot(s, mu): cubic splines in
log s and log mu join its ratio to S. The ratio in the middle of every cell is computed too, and what is read off is
raised by 5e-5 and four times what the splines fall short there or in a cell next to it; where that is much, the grid is
made finer. Of s and mu, one that is far below the other in every row is rounded up, for no loss falls with either.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from discreet.per_instance import curves, solving
from discreet.per_instance.curves import Curve

Floats = NDArray[np.float64]
_FEW = 1024
_STEPS, _SLACK, _MORE = (0.25, 0.125), 5e-4, 5e-5
_FAR = 1 / 50  # of the other: what is below adds 2e-4 at most
_DEEP = 35.0  # standard deviations: delta beyond is below 1e-260


def epsilon(curve: Curve, mu: Floats, statistics: Floats, delta: float) -> Floats:
    """`solving.epsilon`, from a table where there are many rows and the curve has one statistic."""
    if curve.width > 1 or len(mu) <= _FEW:
        return solving.epsilon(curve, mu, statistics, delta)
    mus = _mus()
    some = curves.epsilon(mus, delta)
    rises = some > 0

    def gaussian(mu: Floats, statistics: Floats) -> Floats:
        e, at_0 = solving.epsilon(curve, mu, statistics, delta), solving.delta(curve, mu, statistics, 0.0)
        return np.where(e > 0, np.interp(e, some[rises], mus[rises]), _mu(np.minimum(at_0, delta), 0.0))

    return curves.epsilon(_read(curve, gaussian, mu, statistics[0]), delta)


def delta(curve: Curve, mu: Floats, statistics: Floats, epsilon: float) -> Floats:
    """`solving.delta`, from a table where there are many rows and the curve has one statistic."""
    if curve.width > 1 or len(mu) <= _FEW:
        return solving.delta(curve, mu, statistics, epsilon)
    S = np.hypot(mu, curve.size(statistics))
    up = np.where(S > 0, np.maximum(epsilon / _DEEP / np.maximum(S, 1e-300), 1.0), 0.0)

    def gaussian(mu: Floats, statistics: Floats) -> Floats:
        return _mu(solving.delta(curve, mu, statistics, epsilon), epsilon)

    return curves.delta(_read(curve, gaussian, mu * up, statistics[0] * up), epsilon)


@cache
def _mus() -> Floats:
    return np.geomspace(1e-12, 1e3, 200_000)


def _mu(delta: Floats, epsilon: float) -> Floats:
    """The mu whose curve has this delta at epsilon."""
    mus = _mus()
    some = np.log(np.maximum(curves.delta(mus, epsilon), 1e-300))
    rises = np.append(np.diff(some) > 0, False)
    found: Floats = np.interp(np.log(np.maximum(delta, 1e-299)), some[rises], mus[rises])
    return found


def _read(curve: Curve, gaussian: Callable[[Floats, Floats], Floats], mu: Floats, statistic: Floats) -> Floats:
    """The mu of a Gaussian release for every row; 0 where both its numbers are."""
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

    for step in _STEPS:
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
