"""When privacy is for free: the least epsilon whose price stays below what learning costs anyway (000, figure 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.planning.theory.inputs import Floats, positive
from discreet.planning.theory.lower_bounds import inverse_condition, learning_rate


def free_epsilon(
    n: ArrayLike,
    d: ArrayLike,
    *,
    alpha: ArrayLike | None = None,
    norm_x: ArrayLike = 1.0,
    norm_y: ArrayLike = 1.0,
    norm_theta: ArrayLike = 1.0,
) -> Floats:
    """The least epsilon at which the private bound, (5) or (6), is no larger than the bound without privacy, (4).

    For B T = Y this is min{1/sqrt(d) v sqrt(d/n), d/sqrt(n^1.5 alpha) v sqrt(d/(n alpha))}, and for B T = sqrt(d) Y
    and n > d it is min{sqrt(d), d/sqrt(n alpha)}, up to constants, as in the paper (where the 2 after
    Y is a footnote's mark).
    Where (4) is n Y^2, predicting 0 is as good as anything, and the answer is 0.

    Parameters
    ----------
    n, d : array_like
        Rows and regressors.
    alpha : array_like, optional
        The least inverse condition number of the data that are considered; by default any data, and only (5) is used.
    norm_x, norm_y, norm_theta : array_like
        Bounds B, Y and T on rows, outcomes and coefficients.

    Notes
    -----
    An order, with all constants 1 and logarithms left out: good for comparing n, d and alpha, not for choosing epsilon.

    Examples
    --------
    >>> free_epsilon([100, 10_000], 10).round(2)
    array([0.63, 0.57])
    >>> free_epsilon([100, 10_000], 10, alpha=1.0).round(3)
    array([0.632, 0.06 ])
    """
    n, d, B, Y, T = positive(n=n, d=d, norm_x=norm_x, norm_y=norm_y, norm_theta=norm_theta)
    rate = learning_rate(n, d, norm_x=B, norm_y=Y, norm_theta=T)
    least: Floats = np.sqrt(d) * (B * T + Y) * B * T / rate
    if alpha is not None:
        least = np.minimum(least, d * (B * T + Y) / np.sqrt(n * inverse_condition(alpha) * rate))
    return np.where(rate >= n * Y**2, 0.0, least)[()]
