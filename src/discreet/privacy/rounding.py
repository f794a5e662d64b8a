r"""Bounds on the rounding errors of coefficients and of posterior draws: ``docs/mathematics.md``, 7.7 and 8.7.

H = X'X + lambda I has d columns, eigenvalues of at least h, and a trace of at most t. In double precision, with
Cholesky's factor, the computed coefficients err by at most `relative` times their norm, the computed draw by at most
`tolerance`.
"""

from __future__ import annotations

import math

from discreet.privacy.losses import Loss

ROWS = 1 << 24
"""The trace is bounded by that of a table of this size where no number of rows is declared."""

_UNIT = 2.0**-53

Z_EXCESS = 12.0
"""The norm of d standard normals exceeds sqrt(d) + 12 with a probability below 1e-31."""


def trace_bound(d: int, B: float, lambda_: float, rows: float | None) -> float:
    """t: the largest trace of H for at most this many rows.

    Examples
    --------
    >>> trace_bound(d=2, B=1.0, lambda_=5.0, rows=100)
    110.0
    """
    return (rows or ROWS) * B**2 + d * lambda_


def most_rows(rows: float | None) -> float:
    """The largest table that a perturbed objective is promised for: twice a rounded number of rows, or 2^20.

    Examples
    --------
    >>> most_rows(1000)
    2000
    """
    return 2 * rows if rows else 1 << 20


def gradient_error(loss: Loss, d: int, B: float, rows: float, size: float) -> float:
    """The error of the norm of a computed sum of so many gradients, at a theta of this norm.

    A row's eta errs by at most (d + 1) u |x| |theta|, its slope by the curvature times that and a few units in the last
    place; the split of `rows.Rows.sums` adds 8,192 u 2^-13 of the largest slope, twice. Twice their sum is taken.

    Examples
    --------
    >>> from discreet.privacy.losses import Logistic
    >>> gradient_error(Logistic(), d=10, B=3.0, rows=1e6, size=10.0) < 1e-6
    True
    """
    eta = (d + 2) * _UNIT * B * size
    return 2 * rows * B * (loss.curvature * eta + (16 + 2) * _UNIT * loss.slope)


def relative(d: int, trace: float, h: float) -> float:
    """The error of computed ridge coefficients, relative to their norm.

    Examples
    --------
    >>> relative(d=10, trace=1e6, h=100.0) < 1e-8
    True
    """
    return 2.0**-46 * (d + 8) * trace / h


def tolerance(d: int, trace: float, h: float, size: float, gamma: float) -> float:
    """The error of a computed draw, for ridge coefficients of at most this norm.

    Examples
    --------
    >>> tolerance(d=10, trace=1e6, h=100.0, size=1.0, gamma=1.0) < 1e-7
    True
    """
    spread = 1 / math.sqrt(gamma * h)
    draw = (math.sqrt(d) + Z_EXCESS) * spread
    return relative(d, trace, h) * (size + draw) + math.sqrt(d) * 2.0**-39 * spread
