"""Tables 1 and 2 of paper 000: what the families of methods achieve, as orders with constant 1.

Assumed throughout, as in the paper: rows are bounded by B, outcomes by Y, which is at most of the order of B |theta|,
and lambda_min(X'X) = alpha n B^2/d. |theta| is the norm of the least-squares coefficients, T a public bound on it.
Sub-Agg is left out: its bounds hold up to an unknown polynomial in d, T, B and 1/alpha.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from discreet.planning.theory.inputs import Floats, fractions, positive
from discreet.planning.theory.lower_bounds import inverse_condition


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
    """Table 1: the order of F(theta_hat) - F(theta) of each family.

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
    n, d, epsilon, B, t = positive(n=n, d=d, epsilon=epsilon, norm_x=norm_x, norm_theta=norm_theta)
    (T,), (delta,), alpha = (
        positive(domain=norm_theta if domain is None else domain),
        fractions(delta=delta),
        inverse_condition(alpha),
    )
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
    n, d, epsilon, B, t = positive(n=n, d=d, epsilon=epsilon, norm_x=norm_x, norm_theta=norm_theta)
    (T,), (delta,), alpha = (
        positive(domain=norm_theta if domain is None else domain),
        fractions(delta=delta),
        inverse_condition(alpha),
    )
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
    n, d, epsilon, B, t = positive(n=n, d=d, epsilon=epsilon, norm_x=norm_x, norm_theta=norm_theta)
    (T, sigma), (delta,) = (
        positive(domain=norm_theta if domain is None else domain, sigma=sigma),
        fractions(delta=delta),
    )
    added = -np.log(delta) * (d * (B * t / sigma) ** 2 / n + d**3 / n**2) / epsilon**2
    return {"OPS": 1 + (B * T / sigma) ** 2 / epsilon + 0 * n, "SSP": 1 + added, "AdaOPS, AdaSSP": 1 + added}
