"""The error of noisy normal equations against least squares: wang2018's lemma 6, (9), (13), theorem 3, with constants.

theta_hat = (X'X + N1 + lambda I)^-1 (X'y + N2), where N1 is symmetric with sd s_xx on the diagonal and s_xx/sqrt(2)
off it, and N2 has sd s_xy, as in `SSP`, `ConstSSP` and `AdaSSP`. With H = X'X + lambda I and u = N2 - N1 theta -
lambda theta, theta_hat - theta = (H + N1)^-1 u for the least-squares theta, so on the event N1 >= -(1 - c) H

    F(theta_hat) - F(theta) = u' (H + N1)^-1 X'X (H + N1)^-1 u/2 <= u' H^-1 u/(2 c^2).

u + lambda theta is normal with covariance s_xy^2 I + (s_xx^2/2)(|theta|^2 I + theta theta'), so u' H^-1 u has the tail
of a weighted chi-square, not the paper's maximum over d^2 entries with exp(-t^2) for exp(-t^2/2) (erratum E21).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.arrays import Floats
from discreet.errors import ParameterError
from discreet.planning.theory.inputs import exact_mu, figures, spectrum


class MomentNoise(NamedTuple):
    """Standard deviations of the noise in X'X (on its diagonal) and in X'y."""

    s_xx: Floats
    s_xy: Floats


def equations_noise(
    epsilon: ArrayLike,
    delta: ArrayLike,
    *,
    norm_x: ArrayLike = 1.0,
    norm_y: ArrayLike = 1.0,
    gram_share: ArrayLike = 0.5,
    cross_share: ArrayLike = 0.5,
) -> MomentNoise:
    """The noise that keeps a promise for add-remove neighbours: B^2/(mu sqrt(g)) in X'X, B Y/(mu sqrt(h)) in X'y.

    Parameters
    ----------
    epsilon, delta : array_like
        The promise.
    norm_x, norm_y : array_like
        Bounds B and Y on the norm of a row and on the outcome.
    gram_share, cross_share : array_like
        Shares g and h of mu^2: 1/2 each in `SSP` and `ConstSSP`, 1/3 each in `AdaSSP`.

    Examples
    --------
    >>> equations_noise([0.1, 1.0], 1e-6).s_xx.round(2)
    array([51.34,  5.97])
    """
    mu = exact_mu(epsilon, delta)
    B, Y, g, h = figures(norm_x=norm_x, norm_y=norm_y, gram_share=gram_share, cross_share=cross_share)
    return MomentNoise(B**2 / (mu * np.sqrt(g)), B * Y / (mu * np.sqrt(h)))


def gram_noise_bound(d: ArrayLike, s_xx: ArrayLike, rho: ArrayLike = 0.05) -> Floats:
    """A bound b such that no eigenvalue of N1 is below -b, with probability at least 1 - rho.

    It is s_xx (sqrt(2 d) + sqrt(2 log(1/rho))).
    The largest eigenvalue of a Gaussian orthogonal matrix has a mean of at most sqrt(2 d) s_xx, and is s_xx-Lipschitz.

    Parameters
    ----------
    d : array_like
        Regressors.
    s_xx : array_like
        The sd on the diagonal.
    rho : array_like
        The probability of failure; take half of it for both ends of the spectrum together.

    Examples
    --------
    >>> gram_noise_bound(10, 1.0).round(2)
    np.float64(6.92)
    """
    d, s_xx, rho = figures(d=d, s_xx=s_xx, rho=rho)
    found: Floats = s_xx * (np.sqrt(2 * d) + np.sqrt(-2 * np.log(rho)))
    return found


def excess_bound(
    gram: ArrayLike,
    theta: ArrayLike,
    s_xx: ArrayLike,
    s_xy: ArrayLike,
    *,
    penalty: ArrayLike = 0.0,
    rho: ArrayLike = 0.05,
) -> Floats:
    """A bound on F(theta_hat) - F(theta) with probability at least 1 - rho; wang2018's (9) and (13), corrected.

    Parameters
    ----------
    gram, theta : array_like
        X'X and the least-squares coefficients of the data that you expect.
    s_xx, s_xy : array_like
        The noise, as from `equations_noise`.
    penalty : array_like
        lambda, at least 0.
    rho : array_like
        The probability of failure.

    Returns
    -------
    array
        Infinite where lambda_min + lambda does not exceed `gram_noise_bound`: there, as in plain SSP with few rows, the
        noisy equations may be near singular and nothing can be said.

    Examples
    --------
    >>> excess_bound(1e4 * np.eye(2), [1.0, 1.0], *equations_noise([0.1, 1.0], 1e-6)).round(3)
    array([6.15, 0.08])
    """
    return penalised_excess(gram, theta, s_xx, s_xy, least=penalty, most=penalty, rho=rho)


def penalised_excess(
    gram: ArrayLike,
    theta: ArrayLike,
    s_xx: ArrayLike,
    s_xy: ArrayLike,
    *,
    least: ArrayLike,
    most: ArrayLike,
    rho: ArrayLike,
) -> Floats:
    """`excess_bound` for a penalty known to lie between two values, and independent of N1 and N2.

    A larger penalty reduces the error from noise and increases the bias: each part is taken at its worst penalty.

    Examples
    --------
    >>> penalised_excess(100 * np.eye(2), [1.0, 1.0], 1.0, 1.0, least=0.0, most=1.0, rho=0.05).round(3)
    np.float64(0.359)
    """
    values, t = spectrum(gram, theta)
    s_xx, s_xy, rho = figures(s_xx=s_xx, s_xy=s_xy, rho=rho)
    low, high = np.asarray(least, dtype=np.float64), np.asarray(most, dtype=np.float64)
    if np.any(low < 0) or np.any(high < low):
        raise ParameterError("A penalty must be at least 0.")
    H = values + low[..., None]
    log = np.log(2 / rho)
    with np.errstate(divide="ignore", invalid="ignore"):
        c = np.maximum(1 - gram_noise_bound(len(values), s_xx, rho / 2) / H[..., 0], 0.0)
        spread = (1 / H).sum(-1) + 2 * np.sqrt((H**-2).sum(-1) * log) + 2 * log / H[..., 0]
        noise = np.sqrt((s_xy**2 + s_xx**2 * (t @ t)) * spread)
        bias = np.sqrt(np.where(high > 0, high**2 * (t**2 / (values + high[..., None])).sum(-1), 0.0))
        return np.where(c > 0, (noise + bias) ** 2 / (2 * c**2), np.inf)[()]


def estimation_bound(
    gram: ArrayLike, theta: ArrayLike, sigma: ArrayLike, s_xx: ArrayLike, s_xy: ArrayLike, *, rho: ArrayLike = 0.05
) -> Floats:
    """A bound on E[|theta_hat - theta_0|^2 | E], P(E) at least 1 - rho; wang2018's theorem 3 (iii), corrected (E30).

    The paper says that theta_hat is unbiased given an event that concerns the eigenvalue's noise only. It is not: its
    mean does not even exist, because X'X + N1 may be singular, and with that excluded its expectation is too large (in
    one dimension by s_xx^2/X'X^2, relative). Here E is |N1| <= r lambda_min(X'X), and the bound is (1 - r)^-2/(1 -
    rho) times sigma^2 tr G^-1 + (s_xy^2 + s_xx^2 |theta_0|^2/2) tr G^-2 + (s_xx^2/2) |G^-1 theta_0|^2, with G = X'X
    and lambda = 0.

    Parameters
    ----------
    gram, theta : array_like
        G = X'X, and theta_0.
    sigma : array_like
        The sd of the errors in y = X theta_0 + N(0, sigma^2 I), none of which is clipped.
    s_xx, s_xy : array_like
        The noise.
    rho : array_like
        The probability that E fails.

    Examples
    --------
    >>> estimation_bound(1e4 * np.eye(2), [1.0, 1.0], 1.0, 6.0, 6.0).round(6)
    np.float64(0.000214)
    """
    values, t = spectrum(gram, theta)
    sigma, s_xx, s_xy, rho = figures(sigma=sigma, s_xx=s_xx, s_xy=s_xy, rho=rho)
    with np.errstate(divide="ignore", invalid="ignore"):
        keep = np.maximum(1 - gram_noise_bound(len(values), s_xx, rho / 2) / values[0], 0.0)
        total = sigma**2 * (1 / values).sum() + _added(values, t, s_xx, s_xy)
        return np.where(keep > 0, total / (keep**2 * (1 - rho)), np.inf)[()]


def relative_efficiency(
    gram: ArrayLike, theta: ArrayLike, sigma: ArrayLike, s_xx: ArrayLike, s_xy: ArrayLike
) -> Floats:
    """E |theta_hat - theta_0|^2 over that of least squares, to second order in the noise, for lambda = 0.

    1 plus {(s_xy^2 + s_xx^2 |theta_0|^2/2) tr G^-2 + (s_xx^2/2) |G^-1 theta_0|^2 + (3/2) sigma^2 s_xx^2 (tr G^-1 tr
    G^-2 + tr G^-3)}/(sigma^2 tr G^-1): the constants of table 2's d B^2 |theta_0|^2/(n epsilon^2 sigma^2) + d^3/(n^2
    epsilon^2). It falls to 1 as n grows: private estimates are asymptotically as good as least squares.

    Parameters
    ----------
    gram, theta, sigma, s_xx, s_xy : array_like
        As in `estimation_bound`. Good where N1 is small against G, say s_xx sqrt(2 d) below lambda_min(G)/5.

    Examples
    --------
    >>> n = np.array([1e4, 1e5, 1e6])
    >>> [round(float(relative_efficiency(k * np.eye(2) / 2, [0.5, 0.5], 0.3, 6.0, 6.0)), 4) for k in n]
    [1.11, 1.011, 1.0011]
    """
    values, t = spectrum(gram, theta, full_rank=True)
    sigma, s_xx, s_xy = figures(sigma=sigma, s_xx=s_xx, s_xy=s_xy)
    one, two, three = ((values**-k).sum() for k in (1.0, 2.0, 3.0))
    curvature = 1.5 * sigma**2 * s_xx**2 * (one * two + three)
    found: Floats = 1 + (_added(values, t, s_xx, s_xy) + curvature) / (sigma**2 * one)
    return found


def _added(values: Floats, t: Floats, s_xx: Floats, s_xy: Floats) -> Floats:
    """E |G^-1 (N2 - N1 theta)|^2."""
    two = (values**-2).sum()
    found: Floats = (s_xy**2 + s_xx**2 * (t @ t) / 2) * two + s_xx**2 / 2 * ((t / values) ** 2).sum()
    return found
