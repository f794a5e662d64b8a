"""Lower bounds, the epsilon at which privacy is free, and the errors of families of methods: wang2018.

The bounds (1) to (6), figure 1, and tables 1 and 2. B = norm_x bounds the norm of a row, Y = norm_y the outcome, T =
norm_theta the coefficients. Errors are of F(theta) = |y - X theta|^2/2, summed over the rows. (1) to (3) are exact; (4)
to (6), figure and tables are orders, here with constant 1.

The tables assume, as in the paper, that Y is at most of the order of B |theta|, and lambda_min(X'X) = alpha n B^2/d.
|theta| is the norm of the least-squares coefficients, T a public bound on it. Sub-Agg is left out: its bounds hold up
to an unknown polynomial in d, T, B and 1/alpha.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.arrays import Floats
from discreet.errors import ParameterError
from discreet.planning.theory.inputs import figures, spectrum


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
    d, sigma = figures(d=d, sigma=sigma)
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
    (sigma,) = figures(sigma=sigma)
    return sigma**2 * np.sum(1 / spectrum(gram, full_rank=True)[0])


def cramer_rao(gram: ArrayLike, sigma: float, x: ArrayLike | None = None) -> Floats:
    """(3): no unbiased estimator has a smaller covariance than sigma^2 (X'X)^-1.

    Parameters
    ----------
    gram, sigma : array_like, float
        As in `minimax_estimation`.
    x : array_like, optional
        A point, or rows of points: then the bound on the variance of the prediction there.

    Examples
    --------
    >>> cramer_rao(np.diag([4.0, 2.0]), 2.0, [1.0, 1.0])
    np.float64(3.0)
    """
    (sd,) = figures(sigma=sigma)
    spectrum(gram, full_rank=True)
    bound: Floats = sd**2 * np.linalg.inv(np.asarray(gram, dtype=np.float64))
    if x is None:
        return bound
    points = np.asarray(x, dtype=np.float64)
    found: Floats = ((points @ bound) * points).sum(-1)
    return found


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
    n, d, B, Y, T = figures(n=n, d=d, norm_x=norm_x, norm_y=norm_y, norm_theta=norm_theta)
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
    """(5), and (6) for well-conditioned data: the worst-case increase of F due to privacy, up to a constant.

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
    n, d, epsilon, B, Y, T = figures(n=n, d=d, epsilon=epsilon, norm_x=norm_x, norm_y=norm_y, norm_theta=norm_theta)
    bound: Floats = np.minimum(n * Y**2, np.sqrt(d) * (B * T + Y) * B * T / epsilon)
    if alpha is None:
        return bound
    return np.minimum(bound, (d * (B * T + Y)) ** 2 / (n * _inverse_condition(alpha) * epsilon**2))


def conditioned_from(
    n: ArrayLike,
    d: ArrayLike,
    epsilon: ArrayLike,
    *,
    norm_x: ArrayLike = 1.0,
    norm_y: ArrayLike = 1.0,
    norm_theta: ArrayLike = 1.0,
) -> Floats:
    """The least alpha for which (6) holds: d^1.5 (B T + Y)/(n B T epsilon).

    Parameters
    ----------
    n, d, epsilon, norm_x, norm_y, norm_theta : array_like
        As in `private_lower_bound`.

    Examples
    --------
    >>> conditioned_from(10_000, 16, 1.0)
    np.float64(0.0128)
    """
    n, d, epsilon, B, Y, T = figures(n=n, d=d, epsilon=epsilon, norm_x=norm_x, norm_y=norm_y, norm_theta=norm_theta)
    return d**1.5 * (B * T + Y) / (n * B * T * epsilon)


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
    n, d, alpha, norm_x, norm_y, norm_theta : array_like
        As in `private_lower_bound`; without alpha only (5) is used.

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
    n, d, B, Y, T = figures(n=n, d=d, norm_x=norm_x, norm_y=norm_y, norm_theta=norm_theta)
    rate = learning_rate(n, d, norm_x=B, norm_y=Y, norm_theta=T)
    least: Floats = np.sqrt(d) * (B * T + Y) * B * T / rate
    if alpha is not None:
        least = np.minimum(least, d * (B * T + Y) / np.sqrt(n * _inverse_condition(alpha) * rate))
    return np.where(rate >= n * Y**2, 0.0, least)[()]


# ---------------------------------------------------------------- tables 1 and 2


def optimisation_errors(
    n: ArrayLike,
    d: ArrayLike,
    epsilon: ArrayLike,
    delta: ArrayLike,
    *,
    alpha: ArrayLike = 1.0,
    norm_x: ArrayLike = 1.0,
    norm_theta: ArrayLike = 1.0,
    domain: ArrayLike | None = None,
) -> dict[str, Floats]:
    """Table 1: the order of F(theta_hat) - F(theta) for each family of methods.

    The well-conditioned rows of NoisySGD, ObjPert, AdaOPS and AdaSSP lack a factor B^2 in print (E28): they would
    change with the unit of the features, and miss (6). For SSP the table asks for n of the order of d^1.5
    log(4/delta)/(alpha epsilon), its derivation in appendix C.1 for sqrt(log(4/delta)), which is taken here; below that
    SSP has no bound.

    Parameters
    ----------
    n, d, epsilon, delta : array_like
        Rows, regressors, the promise.
    alpha : array_like
        The inverse condition number. NoisySGD and ObjPert must know it beforehand for their rows marked "conditioned".
    norm_x, norm_theta : array_like
        B and |theta|.
    domain : array_like, optional
        T; |theta| by default, the best a user can do.

    Examples
    --------
    >>> for name, error in optimisation_errors(1e5, 10, 1.0, 1e-6).items():
    ...     print(f"{name:<22} {error:.3g}")
    NoisySGD               15.9
    NoisySGD, conditioned  0.0253
    ObjPert                11.8
    ObjPert, conditioned   0.0138
    OPS                    10
    SSP                    0.0138
    AdaOPS, AdaSSP         0.0138
    """
    n, d, epsilon, B, t = figures(n=n, d=d, epsilon=epsilon, norm_x=norm_x, norm_theta=norm_theta)
    T, delta = figures(domain=norm_theta if domain is None else domain, delta=delta)
    alpha = _inverse_condition(alpha)
    log = -np.log(delta)
    conditioned = d**2 * B**2 / (alpha * n * epsilon**2)
    flat = np.sqrt(d) * B**2 / epsilon
    enough = n >= d**1.5 * np.sqrt(np.log(4 / delta)) / (alpha * epsilon)
    return {
        "NoisySGD": flat * np.sqrt(np.log(n / delta)) * T**2,
        "NoisySGD, conditioned": conditioned * np.log(n / delta) * T**2,
        "ObjPert": flat * np.sqrt(log) * T * t,
        "ObjPert, conditioned": conditioned * log * T**2,
        "OPS": (d * (B * T) ** 2 / epsilon) + 0 * n,
        "SSP": np.where(enough, conditioned * log * t**2, np.inf)[()],
        "AdaOPS, AdaSSP": np.minimum(flat * np.sqrt(log), conditioned * log) * t**2,
    }


def estimation_errors(
    n: ArrayLike,
    d: ArrayLike,
    epsilon: ArrayLike,
    delta: ArrayLike,
    *,
    alpha: ArrayLike = 1.0,
    norm_x: ArrayLike = 1.0,
    norm_theta: ArrayLike = 1.0,
    domain: ArrayLike | None = None,
) -> dict[str, Floats]:
    """Table 2, second column: the order of E |theta_hat - theta|^2, theta the least-squares coefficients.

    tr G^-1 and tr G^-2 are at their largest for a given alpha: d^2/(alpha n B^2) and d^3/(alpha n B^2)^2.

    Parameters
    ----------
    n, d, epsilon, delta, alpha, norm_x, norm_theta, domain : array_like
        As in `optimisation_errors`.

    Examples
    --------
    >>> {name: float(error.round(6)) for name, error in estimation_errors(1e5, 10, 1.0, 1e-6).items()}
    {'OPS': 0.001, 'SSP': 1e-06, 'AdaOPS, AdaSSP': 1e-06}
    """
    n, d, epsilon, B, t = figures(n=n, d=d, epsilon=epsilon, norm_x=norm_x, norm_theta=norm_theta)
    T, delta = figures(domain=norm_theta if domain is None else domain, delta=delta)
    alpha = _inverse_condition(alpha)
    one, two = d**2 / (alpha * n * B**2), d**3 / (alpha * n * B**2) ** 2
    private = -np.log(delta) * B**4 * t**2 / epsilon**2
    return {
        "OPS": (B * T) ** 2 / epsilon * one,
        "SSP": private * two,
        "AdaOPS, AdaSSP": private * d / (alpha * n * B**2) * one,
    }


def efficiency_rates(
    n: ArrayLike,
    d: ArrayLike,
    epsilon: ArrayLike,
    delta: ArrayLike,
    *,
    sigma: ArrayLike,
    norm_x: ArrayLike = 1.0,
    norm_theta: ArrayLike = 1.0,
    domain: ArrayLike | None = None,
) -> dict[str, Floats]:
    """Table 2, third column: the order of E |theta_hat - theta_0|^2 over that of least squares, for alpha of order 1.

    1 + log(1/delta) (d B^2 |theta_0|^2/(n epsilon^2 sigma^2) + d^3/(n^2 epsilon^2)) for SSP, AdaOPS and AdaSSP; with
    constants in `relative_efficiency`. For OPS the paper prints B^2 T^2/(epsilon sigma^2), which falls below 1 as
    epsilon grows; it needs a 1 in front (E32, `posterior_efficiency`), and does not fall with n: OPS is not efficient.

    Parameters
    ----------
    n, d, epsilon, delta, norm_x, norm_theta, domain : array_like
        As in `optimisation_errors`.
    sigma : array_like
        The sd of the errors in y = X theta_0 + N(0, sigma^2 I).

    Examples
    --------
    >>> rates = efficiency_rates([1e4, 1e6], 10, 1.0, 1e-6, sigma=0.5)
    >>> rates["AdaOPS, AdaSSP"].round(3), rates["OPS"].round(3)
    (array([1.055, 1.001]), array([5., 5.]))
    """
    n, d, epsilon, B, t = figures(n=n, d=d, epsilon=epsilon, norm_x=norm_x, norm_theta=norm_theta)
    T, sigma, delta = figures(domain=norm_theta if domain is None else domain, sigma=sigma, delta=delta)
    added = -np.log(delta) * (d * (B * t / sigma) ** 2 / n + d**3 / n**2) / epsilon**2
    return {"OPS": 1 + (B * T / sigma) ** 2 / epsilon + 0 * n, "SSP": 1 + added, "AdaOPS, AdaSSP": 1 + added}


# ---------------------------------------------------------------- checks


def _inverse_condition(alpha: ArrayLike) -> Floats:
    """Check the ratio lambda_min(X'X) d/(n B^2): it is at most 1, because the trace of X'X is at most n B^2."""
    (checked,) = figures(alpha=alpha)
    if np.any(checked > 1):
        raise ParameterError(f"alpha is lambda_min(X'X) d/(n norm_x^2), which is at most 1; got {alpha!r}.")
    return checked
