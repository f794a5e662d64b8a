"""Many outcomes at once: paper 004's (2), (5), (7), theorems 4.1, 4.3, the cost of figure 1, and sampling.

Errors are mean squared errors of a row, |y - X w|^2/n, averaged over the l outcomes. X = norm_x bounds the norm of a
row, Y = norm_y an outcome, w = norm_w is the size of an outcome's coefficients. The lower bound (1) is
`private_lower_bound`/n. What each mechanism gives with constants, and which wins, is told by `regime`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from discreet.core import checks
from discreet.planning.theory.inputs import Floats, fractions, positive

Labels = Literal["private", "public"]


def paper_baseline(
    n: ArrayLike,
    d: ArrayLike,
    outcomes: ArrayLike,
    epsilon: ArrayLike,
    norm_x: ArrayLike = 1.0,
    norm_y: ArrayLike = 1.0,
    norm_w: ArrayLike = 1.0,
) -> Floats:
    """004's (5), one private regression for each outcome: sqrt(l d) (X^2 w^2 + X w Y)/(n epsilon), without logarithms.

    Parameters
    ----------
    n, d, outcomes, epsilon : array_like
        Rows, regressors, l, the promise.
    norm_x, norm_y, norm_w : array_like
        X, Y and w.

    Examples
    --------
    >>> paper_baseline(1000, 25, 4, 1.0)
    np.float64(0.02)
    """
    n, d, l, epsilon = positive(n=n, d=d, outcomes=outcomes, epsilon=epsilon)  # noqa: E741
    X, Y, w = positive(norm_x=norm_x, norm_y=norm_y, norm_w=norm_w)
    return np.sqrt(l * d) * (X * w + Y) * X * w / (n * epsilon)


def reuse_rate(
    n: ArrayLike,
    d: ArrayLike,
    outcomes: ArrayLike,
    epsilon: ArrayLike = 1.0,
    *,
    labels: Labels = "private",
    norm_x: ArrayLike = 1.0,
    norm_y: ArrayLike = 1.0,
    norm_w: ArrayLike = 1.0,
) -> Floats:
    """004's (2), the order of the error with one X'X for all outcomes: theorem 4.1, and 4.3 for public ones.

    w sqrt(d X^4 w^2/(n epsilon)^2 + a), with a = l d X^2 Y^2/(n epsilon)^2 by the Gaussian mechanism, or, where
    outcomes are public, sqrt(d) X^2 Y^2/(n epsilon) by the projection if that is less. An order, with constant 1 and
    without logarithms.

    Parameters
    ----------
    n, d, outcomes, epsilon : array_like
        Rows, regressors, l, the promise.
    labels : {"private", "public"}
        Whether outcomes are protected.
    norm_x, norm_y, norm_w : array_like
        X, Y and w.

    Examples
    --------
    >>> reuse_rate(1e5, 100, [1, 100, 10_000]).round(5)
    array([0.00014, 0.001  , 0.01   ])
    """
    n, d, l, epsilon = positive(n=n, d=d, outcomes=outcomes, epsilon=epsilon)  # noqa: E741
    X, Y, w = positive(norm_x=norm_x, norm_y=norm_y, norm_w=norm_w)
    association = l * d * (X * Y / (n * epsilon)) ** 2
    if checks.choice("labels", labels, ("private", "public")) == "public":
        association = np.minimum(association, np.sqrt(d) * (X * Y) ** 2 / (n * epsilon))
    return w * np.sqrt(d * X**4 * w**2 / (n * epsilon) ** 2 + association)


def reuse_cost(
    n: ArrayLike,
    d: ArrayLike,
    outcomes: ArrayLike,
    epsilon: ArrayLike = 1.0,
    *,
    labels: Labels = "private",
    norm_x: ArrayLike = 1.0,
    norm_y: ArrayLike = 1.0,
    norm_w: ArrayLike = 1.0,
) -> Floats:
    """cost(l) of 004's figure 1: `reuse_rate` over sqrt(d) X^2 w^2/(n epsilon), the order of (1) for Y up to X w.

    1 means that many outcomes cost no more than one. Row 4 of the figure, sqrt(l), is for X w = Y; in general it is
    sqrt(l) Y/(X w). Row 2 prints n/d^(1/4) (E36); its own bound over (1) is sqrt(n epsilon)/d^(1/4) times Y/(X w).

    Parameters
    ----------
    n, d, outcomes, epsilon, labels, norm_x, norm_y, norm_w
        As in `reuse_rate`.

    Examples
    --------
    >>> reuse_cost(1e6, 100, [1, 100, 10_000], norm_w=10.0).round(2)
    array([ 1.  ,  1.41, 10.05])
    """
    given = {"norm_x": norm_x, "norm_y": norm_y, "norm_w": norm_w}
    n, d, epsilon, X, w = positive(n=n, d=d, epsilon=epsilon, norm_x=norm_x, norm_w=norm_w)
    error = reuse_rate(n, d, outcomes, epsilon, labels=labels, **given)
    return error / (np.sqrt(d) * (X * w) ** 2 / (n * epsilon))


def sampling_excess(
    sample: ArrayLike,
    d: ArrayLike,
    penalty: ArrayLike,
    *,
    norm_x: ArrayLike = 1.0,
    norm_y: ArrayLike = 1.0,
    rho: ArrayLike = 0.05,
) -> Floats:
    """What X'X of a sample of s rows costs in accuracy, apart from noise: 004's lemma 12, mended (E37), with constants.

    With S = X'X/n + lambda I and S_s its estimate, w_s - w = S_s^-1 (S - S_s) w, so |w_s - w|_S^2 <= (t/(1 - t))^2
    |w|_S^2 and |w|_S <= Y whenever the eigenvalues of S^-1/2 S_s S^-1/2 lie within t of 1: by the matrix Chernoff
    bound with probability 1 - rho for t^2 = 3 (1 + X^2/lambda) log(2 d/rho)/s. The paper's X Y log(2 d/rho)/(lambda s)
    has the wrong units (X/n for X^2 in two places, |v| for |v|^2 in a third): scale X by c and lambda by c^2, and
    nothing changes but its bound, which falls like 1/c.

    Parameters
    ----------
    sample, d : array_like
        s, drawn without replacement, and regressors.
    penalty : array_like
        lambda, in units of X'X/n.
    norm_x, norm_y : array_like
        X and Y.
    rho : array_like
        The probability of failure.

    Returns
    -------
    array
        A bound on the excess mean squared error over the ridge model from all rows; infinite where t >= 1.

    Examples
    --------
    >>> sampling_excess([1e3, 1e5], 10, 0.1).round(4)
    array([0.6411, 0.0022])
    """
    s, d, lambda_ = positive(sample=sample, d=d, penalty=penalty)
    (X, Y), (rho,) = positive(norm_x=norm_x, norm_y=norm_y), fractions(rho=rho)
    t = np.sqrt(3 * (1 + X**2 / lambda_) * np.log(2 * d / rho) / s)
    return np.where(t < 1, (t / np.where(t < 1, 1 - t, 1.0) * Y) ** 2, np.inf)[()]
