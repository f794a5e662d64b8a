"""AdaSSP and AdaOPS: wang2018's theorems 2, 3 as orders, and theorem 3 (ii) with constants; piazza2021's lemma 15."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from discreet.core.arrays import Floats
from discreet.planning.theory.equations import equations_noise, penalised_excess
from discreet.planning.theory.inputs import figures, spectrum


def adassp_rate(
    gram: ArrayLike,
    epsilon: ArrayLike,
    delta: ArrayLike,
    *,
    norm_x: ArrayLike = 1.0,
    norm_theta: ArrayLike = 1.0,
    rho: ArrayLike = 0.05,
) -> Floats:
    """wang2018's theorem 3 (ii), the order of AdaSSP's F(theta_hat) - F(theta), with constant 1.

    min{sqrt(d log(d^2/rho) log(6/delta)) B^2 |theta|^2/epsilon, B^4 |theta|^2 tr G^-1 log(6/delta)
    log(d^2/rho)/epsilon^2}, with log(2 d^2/rho) as in the algorithm, so that d = 1 has a meaning. piazza2021 prints max
    for min in its proposition 16 (E24).

    Parameters
    ----------
    gram : array_like
        G = X'X of the data that you expect.
    epsilon, delta : array_like
        The promise.
    norm_x, norm_theta : array_like
        B, and the norm of the least-squares coefficients; the outcome's bound Y is at most of the order of B |theta|.
    rho : array_like
        The probability of failure.

    Examples
    --------
    >>> adassp_rate(1e4 * np.eye(4), [0.1, 1.0], 1e-6).round(3)
    array([4.034, 0.04 ])
    """
    values, _ = spectrum(gram)
    epsilon, B, T, delta, rho = figures(epsilon=epsilon, norm_x=norm_x, norm_theta=norm_theta, delta=delta, rho=rho)
    d, logs = len(values), np.log(6 / delta) * np.log(2 * len(values) ** 2 / rho)
    with np.errstate(divide="ignore"):
        conditioned = B**4 * T**2 * (1 / values).sum() * logs / epsilon**2
    found: Floats = np.minimum(np.sqrt(d * logs) * (B * T) ** 2 / epsilon, conditioned)
    return found


def adaops_rate(
    n: ArrayLike,
    d: ArrayLike,
    epsilon: ArrayLike,
    delta: ArrayLike,
    *,
    alpha: ArrayLike,
    norm_x: ArrayLike = 1.0,
    norm_theta: ArrayLike = 1.0,
    rho: ArrayLike = 0.05,
) -> Floats:
    """wang2018's theorem 2 (ii), the order of AdaOPS's F(theta_hat) - F(theta), with constant 1.

    min{sqrt((d + log(1/rho)) log(1/delta)) B^2 |theta|^2/epsilon, d (d + log(1/rho)) log(1/delta) B^2 |theta|^2/(alpha
    n epsilon^2)}. The paper leaves out the B^2 of the second term, here and in table 1 (E28): with it the bound does
    not change when features are measured in another unit, and it equals (6).

    Parameters
    ----------
    n, d : array_like
        Rows and regressors.
    epsilon, delta : array_like
        The promise; the order is for delta well below 1/n, and log(1/delta)^2 is left out where it exceeds d
        log(1/delta).
    alpha : array_like
        lambda_min(X'X) d/(n B^2).
    norm_x, norm_theta : array_like
        B, and the norm of the least-squares coefficients; the outcome's bound Y is at most of the order of B |theta|.
    rho : array_like
        The probability of failure.

    Examples
    --------
    >>> adaops_rate([1e3, 1e5], 10, 1.0, 1e-6, alpha=1.0).round(3)
    array([1.795, 0.018])
    """
    n, d, epsilon, alpha = figures(n=n, d=d, epsilon=epsilon, alpha=alpha)
    B, T, delta, rho = figures(norm_x=norm_x, norm_theta=norm_theta, delta=delta, rho=rho)
    wide = (d - np.log(rho)) * -np.log(delta)
    return np.minimum(np.sqrt(wide) * (B * T) ** 2 / epsilon, d * wide * (B * T) ** 2 / (alpha * n * epsilon**2))


def adaops_covariance(
    gram: ArrayLike,
    epsilon: ArrayLike,
    delta: ArrayLike,
    *,
    sigma: ArrayLike,
    norm_x: ArrayLike = 1.0,
    norm_y: ArrayLike = 1.0,
    norm_theta: ArrayLike = 1.0,
) -> Floats:
    """wang2018's theorem 2 (iii): AdaOPS's covariance is at most this many times that of least squares, given an event.

    1 + 64 e^4 C B^2 log(6/delta)/(lambda_min(G) sigma^2 epsilon^2) with C = Y^2 + B^2 (|theta_0|^2 + sigma^2 tr G^-1),
    the constant being the proof's. It is for the algorithm as printed, whose privacy proof fails (E5); the verified
    AdaOPS is not covered.

    Parameters
    ----------
    gram : array_like
        G = X'X, large enough that 4 log(6/delta)/epsilon < lambda_min(G)/(2 B^2); otherwise the answer is infinite.
    epsilon, delta : array_like
        The promise, epsilon below 2 log(6/delta)/(1 + log(6/delta)).
    sigma : array_like
        The sd of the errors in y = X theta_0 + N(0, sigma^2 I), none of which is clipped.
    norm_x, norm_y, norm_theta : array_like
        B, Y and |theta_0|.

    Examples
    --------
    >>> adaops_covariance(1e7 * np.eye(2), 1.0, 1e-6, sigma=1.0).round(2)
    np.float64(1.01)
    """
    values, _ = spectrum(gram)
    epsilon, sigma = figures(epsilon=epsilon, sigma=sigma)
    B, Y, T, delta = figures(norm_x=norm_x, norm_y=norm_y, norm_theta=norm_theta, delta=delta)
    log = np.log(6 / delta)
    with np.errstate(divide="ignore"):
        C = Y**2 + B**2 * (T**2 + sigma**2 * (1 / values).sum())
        factor = 1 + 64 * np.exp(4) * C * B**2 * log / (values[0] * sigma**2 * epsilon**2)
    fine = (8 * log * B**2 < epsilon * values[0]) & (epsilon < 2 * log / (1 + log))
    return np.where(fine, factor, np.inf)[()]


def adassp_bound(
    gram: ArrayLike,
    theta: ArrayLike,
    epsilon: ArrayLike,
    delta: ArrayLike,
    *,
    norm_x: ArrayLike = 1.0,
    norm_y: ArrayLike = 1.0,
    rho: ArrayLike = 0.05,
) -> Floats:
    """A bound on F(theta_hat) - F(theta) for the verified `AdaSSP` that holds with probability at least 1 - rho.

    Its penalty is max{0, k - l}, with k = sqrt(d log(2 d^2/rho)) s_xx and l the released eigenvalue. The paper's proof
    needs |N1| <= (lambda_min + lambda)/2, its (15), and says that this penalty gives it. It does not (E29): with d = 10
    and lambda_min = 0 it fails in a fifth of the draws with our noise, and in nearly all with the paper's. So the bound
    is that of `excess_bound`, which weighs how near N1 comes; there it is very loose.

    Parameters
    ----------
    gram, theta : array_like
        X'X and the least-squares coefficients of the data that you expect.
    epsilon, delta : array_like
        The promise, for add-remove neighbours.
    norm_x, norm_y : array_like
        Bounds B and Y on the norm of a row and on the outcome.
    rho : array_like
        The probability of failure, and AdaSSP's own rho.

    Returns
    -------
    array
        Infinite where lambda_min and the penalty together may not exceed the noise of X'X.

    Examples
    --------
    >>> adassp_bound(1e4 * np.eye(4), [0.5, 0.5, 0.5, 0.5], [0.1, 1.0], 1e-6).round(3)
    array([8.626, 0.11 ])
    """
    (rho,) = figures(rho=rho)
    share = 1 / 3
    s_xx, s_xy = equations_noise(epsilon, delta, norm_x=norm_x, norm_y=norm_y, gram_share=share, cross_share=share)
    least, most = adassp_penalty(gram, epsilon, delta, norm_x=norm_x, rho=rho)
    return penalised_excess(gram, theta, s_xx, s_xy, least=least, most=most, rho=2 * rho / 3)


def adassp_penalty(
    gram: ArrayLike, epsilon: ArrayLike, delta: ArrayLike, *, norm_x: ArrayLike = 1.0, rho: ArrayLike = 0.05
) -> tuple[Floats, Floats]:
    """Two values between which the verified `AdaSSP`'s penalty lies, except with probability rho/3.

    Parameters
    ----------
    gram, epsilon, delta, norm_x, rho : array_like
        As in `adassp_bound`; a third of rho is the probability of failure.

    Examples
    --------
    >>> least, most = adassp_penalty(30 * np.eye(4), 1.0, 1e-6)
    >>> least.round(1), most.round(1)
    (np.float64(18.6), np.float64(37.2))
    """
    values, _ = spectrum(gram)
    d, (B, rho, delta) = len(values), figures(norm_x=norm_x, rho=rho, delta=delta)
    s = equations_noise(epsilon, delta, norm_x=B, gram_share=1 / 3, cross_share=1 / 3).s_xx  # of lambda_min too
    needed = np.sqrt(d * np.log(2 * d**2 / rho)) * s
    z, margin = -ndtri(rho / 6), np.sqrt(np.log(6 / delta))  # |Z| > z has probability rho/3
    released = [np.maximum(values[0] + s * (end - margin), 0.0) for end in (z, -z)]
    least, most = (np.maximum(needed - end, 0.0) for end in released)
    return least, most


def overestimate(delta: ArrayLike, *, published: bool = False) -> Floats:
    """piazza2021's lemma 15: the probability that AdaSSP's released eigenvalue is above the true one.

    Exactly Q(sqrt(2 log(2/delta'))) with delta' = delta/3 for piazza2021's offset; for wang2018's and ours,
    sqrt(log(6/delta)) sds, Q(sqrt(log(6/delta))). The thesis's figure for the bound, 0.000084 at delta' = 300^-1.1, is
    in base 2; 1.0e-4 is right (E24).

    Parameters
    ----------
    delta : array_like
        The promise's delta.
    published : bool
        Use piazza2021's offset instead of ours.

    Examples
    --------
    >>> f"{overestimate(1e-6):.1e}", f"{overestimate(1e-6, published=True):.1e}"
    ('3.9e-05', '1.2e-08')
    """
    (delta,) = figures(delta=delta)
    offset: Floats = np.sqrt((2.0 if published else 1.0) * np.log(6 / delta))
    return ndtr(-offset)
