"""What no method can do better than: (1) to (6) of paper 000.

B = norm_x bounds the norm of a row, Y = norm_y the outcome, T = norm_theta the coefficients. Errors are of
F(theta) = |y - X theta|^2/2, summed over the rows. (1) to (3) are exact; (4) to (6) are orders, here with constant 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import ParameterError
from discreet.planning.theory.inputs import Floats, positive, spectrum


def minimax_prediction(d: ArrayLike, sigma: ArrayLike) -> Floats:
    """(1): the least worst-case E |X (theta_hat - theta_0)|^2/2, which is d sigma^2/2.

    The paper writes E[F(theta_hat) - F(theta_0)], with the F of the same y. That difference is -d sigma^2/2 for least
    squares, and below 0 for any method that fits well: the statement is about new outcomes, and is given so here (E26).

    Parameters
    ----------
    d : array_like
        The rank of X.
    sigma : array_like
        The sd of the errors in y = X theta_0 + N(0, sigma^2 I); X is fixed.

    Examples
    --------
    >>> minimax_prediction(10, 2.0)
    np.float64(20.0)
    """
    d, sigma = positive(d=d, sigma=sigma)
    return d * sigma**2 / 2


def minimax_estimation(gram: ArrayLike, sigma: ArrayLike) -> Floats:
    """(2): the least worst-case E |theta_hat - theta_0|^2, which is sigma^2 tr (X'X)^-1.

    Parameters
    ----------
    gram : array_like
        X'X, of full rank; X is fixed.
    sigma : array_like
        The sd of the errors in y = X theta_0 + N(0, sigma^2 I).

    Examples
    --------
    >>> minimax_estimation(np.diag([4.0, 2.0]), 2.0)
    np.float64(3.0)
    """
    (sigma,) = positive(sigma=sigma)
    return sigma**2 * np.sum(1 / _full_rank(gram)[0])


def cramer_rao(gram: ArrayLike, sigma: float, x: ArrayLike | None = None) -> Floats:
    """(3): no unbiased estimator has a smaller covariance than sigma^2 (X'X)^-1.

    Parameters
    ----------
    gram : array_like
        X'X, of full rank; X is fixed.
    sigma : float
        The sd of the errors in y = X theta_0 + N(0, sigma^2 I).
    x : array_like, optional
        A point, or rows of points: then the bound on the variance of the prediction there.

    Examples
    --------
    >>> cramer_rao(np.diag([4.0, 2.0]), 2.0, [1.0, 1.0])
    np.float64(3.0)
    """
    (sd,) = positive(sigma=sigma)
    _full_rank(gram)
    bound: Floats = sd**2 * np.linalg.inv(np.asarray(gram, dtype=np.float64))
    if x is None:
        return bound
    points = np.asarray(x, dtype=np.float64)
    variance: Floats = ((points @ bound) * points).sum(-1)
    return variance


def learning_rate(
    n: ArrayLike, d: ArrayLike, *, norm_x: ArrayLike = 1.0, norm_y: ArrayLike = 1.0, norm_theta: ArrayLike = 1.0
) -> Floats:
    """(4), Shamir's bound without privacy: min{n Y^2, T^2 B^2 + d Y^2, sqrt(n) T B Y}, up to a constant.

    The worst-case excess risk, times n, of any method that learns from n independent rows of an unknown law.

    Parameters
    ----------
    n, d : array_like
        Rows and regressors.
    norm_x, norm_y, norm_theta : array_like
        Bounds B, Y and T; the bound is meant for Y <= B T.

    Examples
    --------
    >>> learning_rate([10, 100, 10_000], 20)
    array([ 3.16227766, 10.        , 21.        ])
    """
    n, d, B, Y, T = positive(n=n, d=d, norm_x=norm_x, norm_y=norm_y, norm_theta=norm_theta)
    return np.minimum(np.minimum(n * Y**2, (T * B) ** 2 + d * Y**2), np.sqrt(n) * T * B * Y)


def private_lower_bound(
    n: ArrayLike,
    d: ArrayLike,
    epsilon: ArrayLike,
    *,
    alpha: ArrayLike | None = None,
    norm_x: ArrayLike = 1.0,
    norm_y: ArrayLike = 1.0,
    norm_theta: ArrayLike = 1.0,
) -> Floats:
    """(5), and (6) where the data are well conditioned: what privacy adds to F in the worst case, up to a constant.

    (5) is min{n Y^2, sqrt(d) (B^2 T^2 + B T Y)/epsilon}. (6) is min{n Y^2, d^2 (B T + Y)^2/(n alpha epsilon^2)}, for
    data whose lambda_min(X'X) is at least alpha n B^2/d; it holds from alpha = `conditioned_from` on, where the two
    meet, and below that (5) does. So the smaller one is given. (The paper's footnote to (6) lacks 1/T: E27.)

    Parameters
    ----------
    n, d, epsilon : array_like
        Rows, regressors, the promise; delta is below 1/n, and logarithms are left out.
    alpha : array_like, optional
        The least inverse condition number of the data that are considered, from 0 to 1; by default any data.
    norm_x, norm_y, norm_theta : array_like
        Bounds B, Y and T.

    Examples
    --------
    >>> private_lower_bound([100, 10_000], 16, 1.0)
    array([8., 8.])
    >>> private_lower_bound([100, 10_000], 16, 1.0, alpha=1.0)
    array([8.    , 0.1024])
    """
    n, d, epsilon = positive(n=n, d=d, epsilon=epsilon)
    B, Y, T = positive(norm_x=norm_x, norm_y=norm_y, norm_theta=norm_theta)
    bound: Floats = np.minimum(n * Y**2, np.sqrt(d) * (B * T + Y) * B * T / epsilon)
    if alpha is None:
        return bound
    return np.minimum(bound, (d * (B * T + Y)) ** 2 / (n * inverse_condition(alpha) * epsilon**2))


def conditioned_from(
    n: ArrayLike,
    d: ArrayLike,
    epsilon: ArrayLike,
    *,
    norm_x: ArrayLike = 1.0,
    norm_y: ArrayLike = 1.0,
    norm_theta: ArrayLike = 1.0,
) -> Floats:
    """The alpha from which on (6) holds: d^1.5 (B T + Y)/(n B T epsilon).

    Parameters
    ----------
    n, d, epsilon, norm_x, norm_y, norm_theta : array_like
        As in `private_lower_bound`.

    Examples
    --------
    >>> conditioned_from(10_000, 16, 1.0)
    np.float64(0.0128)
    """
    n, d, epsilon = positive(n=n, d=d, epsilon=epsilon)
    B, Y, T = positive(norm_x=norm_x, norm_y=norm_y, norm_theta=norm_theta)
    return d**1.5 * (B * T + Y) / (n * B * T * epsilon)


def inverse_condition(alpha: ArrayLike) -> Floats:
    """The ratio lambda_min(X'X) d/(n B^2): at most 1, for the trace of X'X is at most n B^2."""
    (checked,) = positive(alpha=alpha)
    if np.any(checked > 1):
        raise ParameterError(f"alpha is lambda_min(X'X) d/(n norm_x^2), which is at most 1; got {alpha!r}.")
    return checked


def _full_rank(gram: ArrayLike) -> tuple[Floats, Floats]:
    values, coordinates = spectrum(gram)
    if values[0] <= 0:
        raise ParameterError("gram must have full rank: otherwise the coefficients are not determined.")
    return values, coordinates
