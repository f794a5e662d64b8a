"""One posterior sample, theta ~ N(theta_hat, H^-1/gamma), H = X'X + lambda I: wang2018, lemmas 8, 9, proposition 18."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri

from discreet.core.arrays import Floats
from discreet.errors import ParameterError
from discreet.mechanisms.posterior_sampling.estimator import PublicFacts, balanced
from discreet.planning.theory.inputs import figures


def posterior_distance(d: ArrayLike, gamma: ArrayLike, *, rho: ArrayLike = 0.05) -> Floats:
    """wang2018's lemma 8.1, exactly: |theta - theta_hat|_H^2 exceeds this with probability rho.

    gamma |theta - theta_hat|_H^2 is chi-square with d degrees of freedom. The paper bounds its quantile by
    d + 2 sqrt(d log(1/rho)) + 2 log(1/rho), and that by 5 d log(1/rho) "for all rho"; the latter needs rho <= 1/e
    (E31).

    Parameters
    ----------
    d, gamma : array_like
        Regressors, and the precision of the sample.
    rho : array_like
        The probability.

    Examples
    --------
    >>> posterior_distance(10, 2.0).round(3)
    np.float64(9.154)
    """
    d, gamma, rho = figures(d=d, gamma=gamma, rho=rho)
    return chdtri(d, rho) / gamma


def posterior_excess(
    d: ArrayLike, gamma: ArrayLike, *, penalty: ArrayLike = 0.0, norm_theta: ArrayLike = 0.0, rho: ArrayLike = 0.05
) -> Floats:
    """wang2018's lemma 9, with a penalty: F(theta) - min F exceeds this with probability at most rho.

    `posterior_distance`/2 + lambda |theta*|^2/2; exact for lambda = 0. (Section 2 of the paper writes lambda |theta|^2
    for the penalty whose minimiser it takes; that minimiser belongs to lambda |theta|^2/2: E38.)

    Parameters
    ----------
    d, gamma, rho : array_like
        As in `posterior_distance`.
    penalty, norm_theta : array_like
        lambda, and the norm of the least-squares coefficients.

    Examples
    --------
    >>> posterior_excess(10, 2.0, penalty=4.0, norm_theta=0.5).round(3)
    np.float64(5.077)
    """
    lambda_, T = np.asarray(penalty, dtype=np.float64), np.asarray(norm_theta, dtype=np.float64)
    if np.any(lambda_ < 0):
        raise ParameterError("penalty must be at least 0.")
    return posterior_distance(d, gamma, rho=rho) / 2 + lambda_ * T**2 / 2


def posterior_efficiency(gamma: ArrayLike, sigma: ArrayLike) -> Floats:
    """wang2018's lemma 8.3: the covariance of a sample with lambda = 0 is 1 + 1/(gamma sigma^2) times least squares'.

    Exact for y = X theta_0 + N(0, sigma^2 I), none of it clipped, and gamma chosen without the data. wang2017 prints
    1 + 1/gamma in its proposition 16.3 and 1 + gamma in 17.2 (E20).

    Parameters
    ----------
    gamma, sigma : array_like
        The precision of the sample, and the sd of the errors.

    Examples
    --------
    >>> posterior_efficiency(2.0, 0.5)
    np.float64(3.0)
    """
    gamma, sigma = figures(gamma=gamma, sigma=sigma)
    return 1 + 1 / (gamma * sigma**2)


def ops_rate(
    n: ArrayLike,
    d: ArrayLike,
    epsilon: ArrayLike,
    delta: ArrayLike,
    *,
    norm_x: ArrayLike = 1.0,
    norm_y: ArrayLike = 1.0,
    norm_theta: ArrayLike = 1.0,
) -> Floats:
    """wang2018's proposition 18, the order of the balanced OPS's excess F, with constant 1.

    (d n log(2/delta) B^4 Y^2 |theta|^4/epsilon^2)^(1/3), for n so large that the penalty chosen exceeds the least one
    that can be private. The paper's gamma is not private (E1); `ops_bound` has the exact one, and the same order.

    Parameters
    ----------
    n, d, epsilon, delta : array_like
        Rows, regressors, the promise.
    norm_x, norm_y, norm_theta : array_like
        B, Y, and the norm of the least-squares coefficients, which is about the guess that OPS was given.

    Examples
    --------
    >>> ops_rate([1e3, 1e6], 10, 1.0, 1e-6).round(1)
    array([ 52.5, 525.5])
    """
    n, d, epsilon = figures(n=n, d=d, epsilon=epsilon)
    B, Y, T, delta = figures(norm_x=norm_x, norm_y=norm_y, norm_theta=norm_theta, delta=delta)
    return (d * n * np.log(2 / delta) * B**4 * Y**2 * T**4 / epsilon**2) ** (1 / 3)


def ops_bound(
    n: ArrayLike,
    d: ArrayLike,
    epsilon: ArrayLike,
    delta: ArrayLike,
    *,
    norm_x: float = 1.0,
    norm_y: float = 1.0,
    norm_theta: float = 1.0,
    rho: ArrayLike = 0.05,
) -> Floats:
    """`posterior_excess` at the lambda and gamma of the verified `OPS`: proposition 18 with constants, corrected.

    Parameters
    ----------
    n, d : array_like
        The declared largest number of rows, and regressors.
    epsilon, delta : array_like
        The promise, for add-remove neighbours.
    norm_x, norm_y, norm_theta : float
        B, Y, and the norm of the least-squares coefficients. OPS itself guesses Y/B for the last.
    rho : array_like
        The probability of failure.

    Examples
    --------
    >>> ops_bound([1e3, 1e6], 10, 1.0, 1e-6).round(1)
    array([ 49.8, 361. ])
    """

    def calibrated(n: float, d: float, epsilon: float, delta: float) -> tuple[float, float]:
        facts = PublicFacts(epsilon=float(epsilon), delta=float(delta), B=norm_x, Y=norm_y, n_max=int(n), d=int(d))
        found = balanced(facts)
        return found.lambda_, found.gamma

    given = figures(n=n, d=d, epsilon=epsilon, delta=delta)
    lambda_, gamma = np.vectorize(calibrated, otypes=[float, float])(*given)
    return posterior_excess(d, gamma, penalty=lambda_, norm_theta=norm_theta, rho=rho)
