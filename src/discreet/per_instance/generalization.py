r"""Bounds on generalisation gaps from moments of per-instance losses (wang2017 section 2.3), as mended (E20).

For a loss in [0, 1], with Z the other n - 1 rows, z' drawn as the data and z'' as the target population,

    gap <= E [ e^(epsilon(Z, z') + epsilon(Z, z'')) - 1 + delta(Z, z') + e^epsilon(Z, z') delta(Z, z'') ].

*Proof.* P_[Z,z'](S) <= e^e' P_Z(S) + d' <= e^e' (e^e'' P_[Z,z''](S) + d'') + d', and the largest P' - P'' over sets is
the same in both directions, so |E' f - E'' f| is bounded by it for f in [0, 1]; then the ghost sample of wang2017. The
printed third term, epsilon delta, lacks its exponential: with epsilon = 0 it vanishes, and a gap of 1.8 delta is
possible (tests).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.arrays import Floats
from discreet.errors import ParameterError


def on_average(epsilon: ArrayLike, delta: ArrayLike) -> float:
    """Proposition 9: bound on the on-average generalisation gap.

    Parameters
    ----------
    epsilon, delta : array
        Losses of targets drawn as the data: one line a data set Z of n - 1 rows, one column a target. The bound
        averages over pairs of two different targets.

    Examples
    --------
    >>> round(on_average([[0.1, 0.1]], [[1e-6, 1e-6]]), 4)
    0.2214
    """
    e, d = _tables(epsilon, delta)
    return _pairs(e, d, e, d, same=True)


def cross_domain(epsilon: ArrayLike, delta: ArrayLike, epsilon_target: ArrayLike, delta_target: ArrayLike) -> float:
    """Proposition 11, mended: bound on the gap between the weighted data and a target population.

    Parameters
    ----------
    epsilon, delta : array
        Losses of targets drawn as the data, as in `on_average`.
    epsilon_target, delta_target : array
        Losses of targets from the other population, given the same data sets.

    Examples
    --------
    >>> cross_domain([[0.0]], [[0.01]], [[0.0]], [[0.01]])
    0.02
    """
    e, d = _tables(epsilon, delta)
    e2, d2 = _tables(epsilon_target, delta_target)
    if len(e) != len(e2):
        raise ParameterError("Both populations need the same data sets: as many lines in all four tables.")
    return _pairs(e, d, e2, d2, same=False)


def corollary12(epsilon: ArrayLike, epsilon_target: ArrayLike, delta: float) -> float:
    """Corollary 12, mended: (E e^(2 epsilon) + E' e^(2 epsilon))/2 - 1 + delta (1 + E e^epsilon); simpler and weaker.

    No assumption is needed; the printed one, E e^(2 epsilon) <= 1, holds only where epsilon = 0.

    Examples
    --------
    >>> round(corollary12([0.1], [0.2], 1e-6), 4)
    0.3566
    """
    e, e2 = (np.asarray(a, dtype=np.float64) for a in (epsilon, epsilon_target))
    return float((np.exp(2 * e).mean() + np.exp(2 * e2).mean()) / 2 - 1 + delta * (1 + np.exp(e).mean()))


def _tables(epsilon: ArrayLike, delta: ArrayLike) -> tuple[Floats, Floats]:
    e = np.asarray(epsilon, dtype=np.float64)
    d = np.broadcast_to(np.asarray(delta, dtype=np.float64), e.shape)
    if e.ndim != 2 or not e.size or np.any(e < 0) or np.any((d < 0) | (d > 1)):
        raise ParameterError("Losses must be tables, a line a data set: epsilon from 0, delta from 0 to 1.")
    return e, d


def _pairs(e: Floats, d: Floats, e2: Floats, d2: Floats, *, same: bool) -> float:
    """Compute the mean over data sets of the mean over pairs of targets."""
    k = e.shape[1]
    if same and k < 2:
        raise ParameterError("At least two targets a data set are needed.")
    grow, grow2 = np.exp(e), np.exp(e2)
    products = grow.sum(axis=1) * grow2.sum(axis=1) - (same * (grow * grow2).sum(axis=1))
    crossed = grow.sum(axis=1) * d2.sum(axis=1) - (same * (grow * d2).sum(axis=1))
    count = k * (k - 1) if same else k * e2.shape[1]
    return float((products / count - 1 + d.mean(axis=1) + crossed / count).mean())
