"""Axes in which the columns are whitened, from the statistics released so far.

A matrix P holds the axes as columns: z = P'x. With an intercept the first of them is the constant, and the others are
centred. Mathematics in ``docs/mathematics``, section 12.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.arrays import Bools, Floats
from discreet.solve.noise_aware import denoise

_WIDENED = 0.5
"""Variances are widened by this share of their noise."""

FARTHEST = 1.5
"""Rows of a rare group lie at most this far from the mean, in units of a typical row norm."""

_AT_ENDS = 0.8
"""A number lies at the ends of its range if its variance is at least this share of the largest for its mean."""

_CONSTANT = 0.1
"""The square of the constant in a wide table is at most this share of the other coordinates' together."""

_LEAST_VARIANCE = 0.1
"""The least variance of a column of a wide table, in units of their mean."""

_KNOWN = 0.3
"""c: a direction is scaled to variance 1 if its variation is well above c s sqrt(q), the noise of the release."""


class Axes(NamedTuple):
    """Axes, and the number of them that the release knows: about the mean of |z|^2, the constant apart."""

    P: Floats
    known: float


def standardised(sums: Floats, squares: Floats, sds: tuple[float, float], n: float, *, constant: bool) -> Axes:
    """Return axes along the columns, centred and scaled by noisy sums of x and of x^2.

    `sums`, `squares`: noisy sums over the rows of each regressor, and of its square; without the constant.
    `sds`: noise sds of the sums, and of the squares.
    `constant`: whether the design begins with the constant; columns are centred only then.

    Examples
    --------
    >>> axes = standardised(np.array([50.0]), np.array([29.0]), (0.01, 0.01), 100.0, constant=True)
    >>> (np.array([[1.0, 0.5], [1.0, 0.7]]) @ axes.P).round(2)  # the mean, and one sd above it
    array([[1., 0.],
           [1., 1.]])
    """
    d = len(sums)
    error, noise = sds[0] / n, sds[1] / n
    mean = np.clip(sums / n, -1.0, 1.0) if constant else np.zeros(d)
    mean = np.where(np.abs(mean) < error, 0.0, mean)
    spread = error if constant else 0.0
    variance = np.clip(squares / n - mean**2 + spread**2, 0.0, 1.0)
    variance = np.minimum(variance + _WIDENED * (noise + 2 * np.abs(mean) * spread), 1.0)
    scale = 1 / np.sqrt(np.maximum(variance, 1e-12))
    if not constant:
        return Axes(np.diag(scale), float(d))
    P = np.zeros((d + 1, d + 1))
    P[0, 0], P[0, 1:], P[1:, 1:] = 1.0, -mean * scale, np.diag(scale)
    return Axes(P, float(d))


class ColumnAxes(NamedTuple):
    """Axes along the columns of a wide table: z_j = factors_j x_j + shifts_j, and the mean of |z|^2."""

    factors: Floats
    shifts: Floats
    size: float


def along_columns(
    sums: Floats, squares: Floats, sds: tuple[float, float], n: float, levels: Bools, *, constant: bool, scaled: bool
) -> ColumnAxes:
    """Return axes along the columns, centred, with numbers scaled to variance 1 and levels left as they are.

    The noise on each mean and on each variance may exceed what differs between columns, so that means are shrunk
    towards 0 and variances towards their mean, by as much as the noise explains of what they differ by.

    `sums`, `squares`, `sds`, `constant`: as in `standardised`.
    `levels`: which columns are levels of categories.
    `scaled`: whether numbers are scaled; those of rows in a ball are not.
    """
    error, noise = sds[0] / n, sds[1] / n
    mean = np.zeros(len(sums))
    for own in (levels, ~levels) if constant else ():
        mean[own] = _shrunk(sums[own] / n, 0.0, error)
    mean = np.clip(mean, -1.0, 1.0)
    found = squares / n - 2 * mean * sums / n + mean**2
    variance, numbers = np.ones(len(sums)), ~levels
    if scaled and numbers.any():
        middle = min(max(float(found[numbers].mean()), noise / math.sqrt(numbers.sum()), 1e-9), 1.0)
        variance[numbers] = np.maximum(_shrunk(found[numbers], middle, noise), _LEAST_VARIANCE * middle)
    factors = 1 / np.sqrt(variance)
    mixed = not scaled or bool(levels.any())
    size = float(np.sum(found * factors**2)) if mixed else float(len(found))
    size = min(max(size, noise / math.sqrt(len(found)), 1e-6), float(len(found)))
    if not constant:
        return ColumnAxes(factors, np.zeros(len(sums)), size)
    one = min(1.0, math.sqrt(_CONSTANT * size))
    return ColumnAxes(np.append(one, factors), np.append(0.0, -mean * factors), size + one**2)


def _shrunk(values: Floats, middle: float, noise: float) -> Floats:
    """Shrink noisy values towards a middle, by the share of their squared distance from it that noise explains."""
    gaps = values - middle
    share = max(0.0, 1 - noise**2 * len(gaps) / max(float(gaps @ gaps), 1e-300)) if len(gaps) else 0.0
    shrunk: Floats = middle + share * gaps
    return shrunk


def whitened(P: Floats, gram: Floats, sd: float, *, constant: bool, least: float = 0.0) -> Axes:
    """Return the next axes, whitened by noisy U'U in the last ones where the release knows the directions.

    With U'U = Q diag(l) Q', centred where there is a constant, and a its eigenvalues denoised, the new axes are
    P Q diag((a + f)/t), to the power -1/2, with f = c s sqrt(q), or more, and t what U'U has for a coordinate that is 1
    in every row. They are rotated so that each needs as few columns as possible, which only saves time.

    `P`, `gram`: the axes, and noisy U'U of u = w z/r.
    `sd`: the noise sd of the diagonal of U'U.
    `least`: the share of the mean of a that is added to f.

    Examples
    --------
    >>> gram = np.array([[100.0, 0.0, 0.0], [0.0, 50.0, 49.0], [0.0, 49.0, 50.0]])
    >>> axes = whitened(np.eye(3), gram, 1e-9, constant=True)
    >>> np.allclose(axes.P.T @ gram @ axes.P, 100 * np.eye(3))
    True
    """
    q = len(gram)
    if constant:
        total = max(float(gram[0, 0]), 2 * sd)
        mean = gram[0, 1:] / total
        gram = gram[1:, 1:] - np.outer(mean, mean) * total
        centring = np.vstack([-mean, np.eye(q - 1)])
    else:
        total = max(float(np.trace(gram)) / q, 2 * sd)
        centring = np.eye(q)
    l, Q = np.linalg.eigh(gram)  # noqa: E741
    a = np.maximum(denoise(l, sd), 0.0)
    raised = a + _KNOWN * sd * math.sqrt(q) + least * a.mean()
    rotated = triangular(P @ centring @ (Q / np.sqrt(raised / total)))
    axes = np.column_stack([P[:, :1], rotated]) if constant else rotated
    return Axes(axes, float(np.sum(a / raised)))


def rare_gaps(axes: Axes, levels: Sequence[Sequence[int]]) -> Floats:
    """Return how far rows of a rare group lie from the mean along the columns, a row for each group.

    For a level of a category it is e_l - p, with p the shares of the levels. A number of mean m and variance v near
    (1 - m)(1 + m), the largest that there is, lies at the ends of its range: the gap is that to the rarer end.

    `axes`: those along the columns, with a constant.
    `levels`: for each category, the places of its levels in the design.

    Examples
    --------
    >>> axes = Axes(np.array([[1.0, -0.1, -0.9], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), 2.0)
    >>> rare_gaps(axes, [[1, 2]])  # levels of 0.1 and 0.9 of the rows
    array([[ 0. ,  0.9, -0.9],
           [ 0. , -0.1,  0.1]])
    """
    scale = np.diag(axes.P)[1:]
    mean, variance = -axes.P[0, 1:] / scale, 1 / scale**2
    gaps = []
    for places in levels:
        at = np.array(places)
        p = np.clip(mean[at - 1], 0.0, 1.0)
        p /= max(float(p.sum()), 1.0)
        for j in range(len(at)):
            gap = np.zeros(len(axes.P))
            gap[at] = -p
            gap[at[j]] += 1.0
            gaps.append(gap)
    of_levels = {i for places in levels for i in places}
    for i in np.flatnonzero(variance > _AT_ENDS * (1 - mean**2)) + 1:
        if i not in of_levels:
            gap = np.zeros(len(axes.P))
            gap[i] = -np.sign(mean[i - 1]) - mean[i - 1]
            gaps.append(gap)
    return np.array(gaps).reshape(-1, len(axes.P))


def capped(axes: Axes, gaps: Floats, typical: float) -> Axes:
    """Return axes in which rows of rare groups lie not much further out than a typical row.

    In whitened axes a group of a share p lies at 1/sqrt(p), so that its rows are shortened, and stretched again at each
    stage. With d the gap of a group and t = P'd/|P'd|, the axes P (I - (1 - c) t t') shorten P'd to c P'd.

    `gaps`: see `rare_gaps`.
    `typical`: the norm of a typical row.

    Examples
    --------
    >>> axes = Axes(np.array([[1.0, -0.1], [0.0, 10.0]]), 1.0)
    >>> capped(axes, np.array([[0.0, 1.0]]), 1.0).P
    array([[ 1.   , -0.015],
           [ 0.   ,  1.5  ]])
    """
    P, most = axes.P, FARTHEST * typical
    for d in gaps:
        z = d @ P
        size = float(np.linalg.norm(z))
        if size > most:
            P = P - np.outer(P @ z, z) * ((1 - most / size) / size**2)
    return axes._replace(P=P)


def triangular(P: ArrayLike) -> Floats:
    """Return P O with O orthogonal: row norms are unchanged, and each column needs only the first coordinates of x.

    U'U and U'E are rotated with it, and rotated back by `Coordinates.P`; rows are rotated in less time. P has
    at least as many rows as columns.
    """
    flipped = np.asarray(P, dtype=float)[::-1]
    rotated: Floats = np.linalg.qr(flipped.T)[1].T[::-1, ::-1]
    return rotated
