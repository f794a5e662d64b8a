r"""The privacy loss of a row in one posterior sample: remark 15 and proposition 16 of wang2017, printed and corrected.

theta ~ N(theta_hat, H^-1/gamma) with H = X'X + lambda I. For a row outside the data let m = x'H^-1 x be its leverage
and r = y - x'theta_hat its residual. With Z a standard normal, the loss of the row is

    -log(1 + m)/2 + gamma m r^2/(2 (1 + m)) + sqrt(gamma m) r Z + m Z^2/2,

and abs(Z) exceeds t = sqrt(2 log(1/delta)) with probability at most delta. So every bound here is (epsilon, delta) for
the law without the row against the law with it, and by ``docs/mathematics``, 8.2, both ways. The paper has
log(2/delta) for t^2 = 2 log(1/delta) (E1). `discreet.privacy.ops.epsilon` is the exact figure, never larger.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.arrays import Floats
from discreet.errors import ParameterError
from discreet.planning.theory.inputs import figures


def leverage_loss(
    leverage: ArrayLike, residual: ArrayLike, gamma: ArrayLike, delta: ArrayLike, *, printed: bool = False
) -> Floats:
    """wang2017's remark 15: m (1 + t^2)/2 + gamma min(m, 1) r^2/2 + sqrt(gamma m) t abs(r).

    Where x = sqrt(gamma m) t abs(r) is at most 1, and delta at most e^-1/4, this is at most 2 x + m (1 + t^2)/2, as
    the remark goes on. It prints log(2/delta) for t^2, and means the residual in the fit *with* the row, which is
    smaller by 1 + m: too small for large leverages (E8).

    Parameters
    ----------
    leverage, residual : array_like
        m, and r; as printed, r in the fit with the row.
    gamma, delta : array_like
        The precision of the sample, and delta.
    printed : bool
        The paper's constants, which do not bound epsilon.

    Examples
    --------
    >>> leverage_loss(0.001, 1.0, 1000.0, 1e-6).round(3), leverage_loss(0.001, 1.0, 1000.0, 1e-6, printed=True).round(3)
    (np.float64(5.771), np.float64(4.317))
    """
    m, gamma = figures(leverage=leverage, gamma=gamma)
    r, t2 = np.abs(np.asarray(residual, dtype=np.float64)), _tail(delta, printed)
    found: Floats = m * (1 + t2) / 2 + gamma * np.minimum(m, 1) * r**2 / 2 + np.sqrt(gamma * m * t2) * r
    return found


def conditioned_loss(
    least: ArrayLike, residual: ArrayLike, gamma: ArrayLike, delta: ArrayLike, *, printed: bool = False
) -> Floats:
    """wang2017's (9): the loss of anybody with norm(x) <= 1 and this residual, from the least eigenvalue h of H.

    `leverage_loss` at m = 1/h. As printed the term (1 + t^2)/(2 h), which is the price of the covariance, carries a
    factor gamma (E8).

    Parameters
    ----------
    least : array_like
        h = lambda + lambda_min(X'X).
    residual, gamma, delta, printed
        As in `leverage_loss`; r in the fit without the row both times.

    Examples
    --------
    >>> conditioned_loss(20.0, 1.0, 0.01, 1e-6).round(3), conditioned_loss(20.0, 1.0, 0.01, 1e-6, printed=True).round(4)
    (np.float64(0.834), np.float64(0.0893))
    """
    h, gamma = figures(least=least, gamma=gamma)
    if not printed:
        return leverage_loss(1 / h, residual, gamma, delta)
    r, t2 = np.abs(np.asarray(residual, dtype=np.float64)), _tail(delta, printed)
    found: Floats = np.sqrt(gamma * t2 / h) * r + gamma * r**2 / (2 * np.maximum(h, 1)) + gamma * (1 + t2) / (2 * h)
    return found


def worst_loss(
    n: ArrayLike, penalty: ArrayLike, gamma: ArrayLike, delta: ArrayLike, *, printed: bool = False
) -> Floats:
    """wang2017's (10): the loss of anybody in any table of at most n rows with norm(x) <= 1 and abs(y) <= 1.

    `conditioned_loss` at h = lambda and the largest residual there is, 1 + sqrt(n/lambda)/2 (its proof has the half,
    its text has not). As printed: sqrt(2 (n + lambda) gamma t^2)/lambda + 2 (n + lambda) gamma/(lambda max(1, lambda))
    + gamma (1 + t^2)/(2 lambda), with the factor gamma that does not belong there (E8).

    Parameters
    ----------
    n : array_like
        The largest number of rows, a public figure, because neighbouring tables differ in their number of rows.
    penalty : array_like
        lambda.
    gamma, delta, printed
        As in `leverage_loss`.

    Examples
    --------
    >>> worst_loss(100, 20.0, 0.01, 1e-6).round(3), worst_loss(100, 20.0, 0.01, 1e-6, printed=True).round(3)
    (np.float64(0.966), np.float64(0.305))
    """
    n, lambda_, gamma = figures(n=n, penalty=penalty, gamma=gamma)
    if not printed:
        return conditioned_loss(lambda_, 1 + np.sqrt(n / lambda_) / 2, gamma, delta)
    t2, size = _tail(delta, printed), 2 * (n + lambda_) * gamma
    found: Floats = np.sqrt(size * t2) / lambda_ + size / (lambda_ * np.maximum(1, lambda_))
    return found + gamma * (1 + t2) / (2 * lambda_)


class ModelLosses(NamedTuple):
    """Leading terms of losses under y = X theta_0 + N(0, sigma^2 I)."""

    anybody: Floats
    """The loss of anybody with norm(x) <= 1 and abs(y) <= 1."""
    from_model: Floats
    """The loss of anybody with norm(x) <= 1 whose outcome follows the model, with probability 1 - rho."""
    mean_square: Floats
    """The mean squared loss over the rows of the table."""


def model_losses(
    n: ArrayLike,
    d: ArrayLike,
    gamma: ArrayLike,
    delta: ArrayLike,
    *,
    sigma: ArrayLike,
    alpha: ArrayLike = 1.0,
    norm_theta: ArrayLike = 1.0,
    rho: ArrayLike = 0.05,
    printed: bool = False,
) -> ModelLosses:
    """wang2017's proposition 16.2: losses where the linear model holds, for large n and lambda small beside n/d.

    anybody     (1 + norm(theta_0)) sqrt(d gamma/(alpha n)) t
    from_model  sigma sqrt(2 log(2/rho)) sqrt(d gamma/(alpha n)) t
    mean_square sigma^2 t^2 d gamma/n,                       whatever alpha is

    Each is `leverage_loss` without its terms of smaller order, at the leverage d/(alpha n), or, for the rows, with
    leverages that add up to d. So they hold up to a factor that tends to 1 as d gamma/(alpha n) falls. The paper prints
    orders: log(2/delta) for t^2 = 2 log(1/delta), log(2/rho) without its 2, and log(2/rho) in the mean square too.

    Parameters
    ----------
    n, d, gamma, delta : array_like
        Rows, regressors, the precision of the sample, delta. The paper needs gamma up to 4 n log(2/delta)/max(d, (1 +
        log(2/delta))^2).
    sigma, norm_theta : array_like
        The sd of the errors, and the norm of the coefficients.
    alpha : array_like
        The least eigenvalue of d X'X/n.
    rho : array_like
        The probability of failure.
    printed : bool
        The paper's orders, with constant 1.

    Examples
    --------
    >>> model_losses(1e5, 10, 100.0, 1e-6, sigma=0.2, norm_theta=0.5).mean_square.round(4)
    np.float64(0.0111)
    """
    n, d, gamma, sigma = figures(n=n, d=d, gamma=gamma, sigma=sigma)
    (alpha, T, rho), t2 = figures(alpha=alpha, norm_theta=norm_theta, rho=rho), _tail(delta, printed)
    if printed and np.any(gamma > 4 * n * t2 / np.maximum(d, (1 + t2) ** 2)):
        raise ParameterError("gamma is too large for proposition 16.2: 4 n log(2/delta)/max(d, (1 + log(2/delta))^2).")
    share, spread = d * gamma / n * t2, np.log(2 / rho) * (1 if printed else 2)
    square = sigma**2 * share * (spread if printed else 1.0)
    return ModelLosses((1 + T) * np.sqrt(share / alpha), sigma * np.sqrt(share * spread / alpha), square)


def _tail(delta: ArrayLike, printed: bool) -> Floats:
    """The value of t^2: log(2/delta) as printed, or the correct 2 log(1/delta)."""
    (delta,) = figures(delta=delta)
    return np.log(2 / delta) if printed else 2 * np.log(1 / delta)
