r"""The privacy loss of a row under AdaOPS, over all outputs of its stages.

It draws l = lambda_min + s1 Z1, then D = log(Y + B|theta|) + s2 Z2, then
the sample, whose lambda and gamma depend on l and D. With P and Q the laws of everything without and with the row, and
L(l, D) the log-ratio of the densities of (l, D),

    HS_epsilon(P, Q) = E_{(l, D) ~ P} HS_{epsilon - L(l, D)}(sample without, sample with),

a double integral over Z1 and Z2 of the exact curve, done by Gauss-Legendre panels over [-9, 9].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.arrays import Floats
from discreet.mechanisms.posterior_sampling.adaptive_event import AdaptivePlan
from discreet.per_instance.curves import normal_points
from discreet.per_instance.leverage import LeaveOneOut
from discreet.privacy import ops


def _hs(epsilon: ArrayLike, m: ArrayLike, r: ArrayLike, gamma: ArrayLike, *, without: bool) -> Floats:
    """The hockey-stick divergence of the sample without the row from that with it, or the reverse, for any epsilon.

    HS_e(P, Q) = 1 - e^e + e^e HS_-e(Q, P).
    """
    e = np.asarray(epsilon, dtype=np.float64)
    ahead, back = (ops.delta, ops.delta_with) if without else (ops.delta_with, ops.delta)
    size = np.abs(e)
    below = -np.expm1(-size) + np.exp(-size) * np.asarray(back(size, m, r, gamma))
    return np.where(e >= 0, np.asarray(ahead(size, m, r, gamma)), below)


@dataclass(frozen=True, repr=False)
class Neighbour:
    """The table with and without one row as AdaOPS sees it: lambda_min of X'X, and the row; **confidential**."""

    least_without: float
    least_with: float
    rows: Callable[[float], LeaveOneOut]  # from lambda to the row's, as arrays of one entry

    def __repr__(self) -> str:
        return "Neighbour(confidential)"


class AdaOpsCurve:
    """delta_i(epsilon) of one row under AdaOPS, in and out of the table; **confidential**.

    There are `panels` of 16 points each, for Z1 and for Z2. Lambda jumps between grid points, so the integral over Z1
    is good to about three digits.
    """

    def __init__(self, plan: AdaptivePlan, pair: Neighbour, *, panels: int = 4) -> None:
        self._stages = [list(_drawn(plan, pair, panels, without=without)) for without in (True, False)]

    def delta(self, epsilon: float) -> tuple[float, float]:
        """The larger divergence: without against with the row, or with against without."""
        forth, back = (
            sum(
                weight * float(weights @ _hs(epsilon - ratio, row.leverage, row.residual, gamma, without=without))
                for weight, weights, ratio, row, gamma in stages
            )
            for stages, without in zip(self._stages, (True, False), strict=True)
        )
        return min(1.0, forth), min(1.0, back)

    def __repr__(self) -> str:
        return "AdaOpsCurve(confidential)"


def _drawn(
    plan: AdaptivePlan, pair: Neighbour, panels: int, *, without: bool
) -> Iterator[tuple[float, Floats, Floats, LeaveOneOut, Floats]]:
    """For each Z1 its weight; and for each Z2 a weight, the log-ratio so far, and gamma."""
    z, weights = normal_points(panels)
    first, second = (pair.least_without, pair.least_with) if without else (pair.least_with, pair.least_without)
    shift = (first - second) / plan.s1
    for z1, weight in zip(z, weights, strict=True):
        penalty = plan.penalty(first + plan.s1 * z1)
        row = pair.rows(penalty.lambda_)
        unit = plan.precision(penalty, 1.0)
        ratio = np.atleast_1d(shift * z1 + shift**2 / 2)
        if not plan.mu2:
            yield weight, np.ones(1), ratio, row, np.atleast_1d(unit / plan.residual_bound(penalty) ** 2)
            continue
        logs = [math.log(plan.Y + plan.B * float(x[0])) for x in (row.coef_norm_without, row.coef_norm_with)]
        here, there = logs if without else logs[::-1]
        bounds = np.array([plan.residual_bound(penalty, here + penalty.s2 * z2) for z2 in z])
        gap = (here - there) / penalty.s2
        yield weight, weights, ratio + gap * z + gap**2 / 2, row, unit / bounds**2
