"""Safe rounding: bounds on the true value of a computed number.

Let x be computed from exact doubles by at most k roundings, each of a relative error of at most u = 2^-53, without
cancellation: products, quotients, roots, and sums of terms of one sign, none of them below 2^-960 or infinite. The true
value t then has x (1 - u)^k <= t <= x (1 + u)^k, and

    down(x, slack) <= t <= up(x, slack)      as long as k <= 2^53 slack - 2,

because `up` and `down` themselves round once. So `FEW` covers 30 roundings, `MANY` 8,190 and `ROOM` eight million. An
elementary function of the C library counts as two, one of SciPy (ndtri, ndtr) as 64; an argument's error counts as
often as the function's elasticity. Where terms cancel, the caller states why the slack covers the loss.

Zeros and infinities are taken to be exact. Below 2^-960 nothing is claimed but that numbers move by a double at least.
"""

from __future__ import annotations

import math
from typing import overload

import numpy as np

from discreet.core.arrays import Floats

FEW = 2.0**-48
"""Slack for formulas of a line or two, such as sensitivities, from which noise is computed."""

MANY = 2.0**-40
"""Slack for anything else: sums over columns, powers, quantiles. The default."""

ROOM = 2.0**-30
"""Slack for calibrations: far above the slacks with which a certificate recomputes them, so that it agrees."""

CURVE = 1e-9
"""Slack for privacy curves by special functions, quadrature and sums in doubles, accurate to 1e-11 (tests)."""

_LEAST = 2.0**-960


@overload
def up(x: float, slack: float = MANY) -> float: ...
@overload
def up(x: Floats, slack: float = MANY) -> Floats: ...
def up(x: float | Floats, slack: float = MANY) -> float | Floats:
    """Return an upper bound on the true value of x, whatever its sign; `slack` is relative, see above."""
    if isinstance(x, np.ndarray):
        shifted: Floats = x * (1 + np.copysign(slack, x))
        return np.where((x != 0) & (np.abs(x) < _LEAST), np.maximum(shifted, np.nextafter(x, np.inf)), shifted)
    moved = x * (1 + math.copysign(slack, x))
    return moved if x == 0 or not abs(x) < _LEAST else max(moved, math.nextafter(x, math.inf))


@overload
def down(x: float, slack: float = MANY) -> float: ...
@overload
def down(x: Floats, slack: float = MANY) -> Floats: ...
def down(x: float | Floats, slack: float = MANY) -> float | Floats:
    """Return a lower bound on the true value of x, whatever its sign."""
    return -up(-x, slack)
