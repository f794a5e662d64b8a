"""neel2023's theorems 4.2 and 4.5, as printed orders and corrected with constants; lemma 12 is part of the latter.

Errors are mean squared errors of a row, as in `outcomes`; G = X'Y/n is the association. Proofs are in
``docs/research/theory.md``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.arrays import Floats
from discreet.planning.theory.inputs import exact_mu, figures


def association_bound(
    n: ArrayLike,
    d: ArrayLike,
    outcomes: ArrayLike,
    epsilon: ArrayLike,
    delta: ArrayLike,
    *,
    norm_x: ArrayLike = 1.0,
    norm_y: ArrayLike = 1.0,
    rho: ArrayLike = 0.05,
    printed: bool = False,
) -> Floats:
    """neel2023's theorem 4.2: the mean squared error of the entries of X'Y/n after the projection, for public outcomes.

    With probability 1 - rho it is at most the smaller of r^2 (d l + 2 sqrt(d l t) + 2 t)/(d l), the error of the
    Gaussian noise by itself, and 2 r X Y sqrt(d + 2 sqrt(d t) + 2 t)/(d sqrt(l)). Here t = log(1/rho), and
    r = 2 sqrt(l) X Y/(n mu) is the sd of the noise for replace-one neighbours. The paper prints the order
    sqrt(2 log(1.25/delta) log(2/rho)) X^2 Y^2/(n epsilon sqrt(d)), where c(epsilon, delta) has epsilon in the
    numerator and the sensitivity lacks its factor 2 (E16).

    Parameters
    ----------
    n, d, outcomes, epsilon, delta : array_like
        Rows, regressors, l, and the promise of this step alone.
    norm_x, norm_y : array_like
        X and Y, bounds on the norm of a row and on each outcome.
    rho : array_like
        The probability of failure.
    printed : bool
        The paper's order, with constant 1 and epsilon in its right place.

    Examples
    --------
    >>> association_bound(1e4, 100, [1, 1000, 100_000], 1.0, 1e-6)
    array([1.00382247e-06, 2.00381882e-04, 2.00381882e-04])
    """
    n, d, l, epsilon = figures(n=n, d=d, outcomes=outcomes, epsilon=epsilon)  # noqa: E741
    X, Y, delta, rho = figures(norm_x=norm_x, norm_y=norm_y, delta=delta, rho=rho)
    if printed:
        c = np.sqrt(2 * np.log(1.25 / delta)) / epsilon
        found: Floats = c * np.sqrt(np.log(2 / rho)) * (X * Y) ** 2 / (n * np.sqrt(d))
        return found
    r, t = 2 * np.sqrt(l) * X * Y / (n * exact_mu(epsilon, delta)), np.log(1 / rho)
    plain = r**2 * _chi_square(d * l, t) / (d * l)
    return np.minimum(plain, 2 * r * X * Y * np.sqrt(_chi_square(d, t)) / (d * np.sqrt(l)))


def sampled_rate(
    sample: ArrayLike,
    n: ArrayLike,
    d: ArrayLike,
    outcomes: ArrayLike,
    epsilon: ArrayLike,
    penalty: ArrayLike,
    *,
    norm_x: ArrayLike = 1.0,
    norm_y: ArrayLike = 1.0,
    norm_w: ArrayLike = 1.0,
    rho: ArrayLike = 0.05,
) -> Floats:
    """neel2023's theorem 4.5 as printed, an order for the error of algorithm 4 with a sample of s rows.

    w sqrt(X Y q + (d/lambda) (1 + q) (X^4 n^2 w^2/(s^4 epsilon^2) + l X^2 Y^2/(n epsilon)^2)), q = log(2 d/rho)/s. It
    has the wrong units (E37), and its noise of X'X is that of line 3, which is not private (E17). `sampled_bound` is
    the corrected bound.

    Parameters
    ----------
    sample, n, d, outcomes, epsilon : array_like
        s, rows, regressors, l, the promise.
    penalty : array_like
        lambda, in units of X'X/n.
    norm_x, norm_y, norm_w : array_like
        X, Y and w.
    rho : array_like
        The probability of failure.

    Examples
    --------
    >>> sampled_rate([1e3, 1e4], 1e5, 10, 4, 1.0, 0.1).round(3)
    array([1.006, 0.026])
    """
    s, n, d, l, epsilon = figures(sample=sample, n=n, d=d, outcomes=outcomes, epsilon=epsilon)  # noqa: E741
    lambda_, X, Y, w, rho = figures(penalty=penalty, norm_x=norm_x, norm_y=norm_y, norm_w=norm_w, rho=rho)
    q = np.log(2 * d / rho) / s
    noise = X**4 * n**2 * w**2 / (s**4 * epsilon**2) + l * (X * Y / (n * epsilon)) ** 2
    return w * np.sqrt(X * Y * q + d / lambda_ * (1 + q) * noise)


def sampled_bound(
    sample: ArrayLike,
    d: ArrayLike,
    penalty: ArrayLike,
    gram_sd: ArrayLike,
    association_sd: ArrayLike,
    *,
    norm_x: ArrayLike = 1.0,
    norm_y: ArrayLike = 1.0,
    norm_w: ArrayLike = 1.0,
    rho: ArrayLike = 0.05,
) -> Floats:
    """neel2023's theorem 4.5, corrected: the excess error over least squares of a model from noisy X'X of s rows.

    At most (sqrt(lambda) w + Y t/(1 - t) + sqrt(v (d + 2 sqrt(d u) + 2 u)/lambda)/((1 - t) c))^2 with probability 1 -
    rho: the penalty, the sample (`sampling_excess`) and the noise, where u = log(3/rho), t^2 = 3 (1 + X^2/lambda)
    log(6 d/rho)/s, v = s_2^2 + s_1^2 (w + Y t/((1 - t) sqrt(lambda)))^2 and c = 1 - s_1 (sqrt(2 d) + sqrt(2 u))/((1 -
    t) lambda). Infinite where t >= 1 or c <= 0.

    Parameters
    ----------
    sample, d : array_like
        s, drawn without replacement, and regressors.
    penalty : array_like
        lambda, in units of X'X/n.
    gram_sd, association_sd : array_like
        s_1 and s_2, the sds of the noise in X'X/n (on its diagonal; 1/sqrt(2) of it off) and in X'y/n.
    norm_x, norm_y, norm_w : array_like
        X, Y, and the norm of the least-squares coefficients.
    rho : array_like
        The probability of failure.

    Examples
    --------
    >>> sampled_bound([1e4, 1e6], 10, 0.02, 1e-4, 1e-4, norm_w=0.5).round(4)
    array([0.3449, 0.0121])
    """
    s, d, lambda_, s1, s2 = figures(sample=sample, d=d, penalty=penalty, gram_sd=gram_sd, association_sd=association_sd)
    X, Y, w, rho = figures(norm_x=norm_x, norm_y=norm_y, norm_w=norm_w, rho=rho)
    u, t = np.log(3 / rho), np.sqrt(3 * (1 + X**2 / lambda_) * np.log(6 * d / rho) / s)
    left = np.where(t < 1, 1 - t, np.nan)
    c = 1 - s1 * (np.sqrt(2 * d) + np.sqrt(2 * u)) / (left * lambda_)
    v = s2**2 + (s1 * (w + Y * t / (left * np.sqrt(lambda_)))) ** 2
    noise = np.sqrt(v * _chi_square(d, u) / lambda_) / (left * np.where(c > 0, c, np.nan))
    found: Floats = np.nan_to_num((np.sqrt(lambda_) * w + Y * t / left + noise) ** 2, nan=np.inf)[()]
    return found


def _chi_square(k: Floats, t: Floats) -> Floats:
    """The upper bound, except with probability e^-t, of chi2(k) or of squares with weights up to 1 that sum to k."""
    found: Floats = k + 2 * np.sqrt(k * t) + 2 * t
    return found
