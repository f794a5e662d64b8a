"""Perturbed objectives, sum of losses + R(theta) + b'theta: li2021's lemma 7, theorems 8 and 10, proposition 1.

Losses are convex with gradients of at most L. The method minimises with a penalty R_t, strongly convex with modulus m,
in place of the target R. These are bounds on accuracy only; NAPP-ERM's privacy is another matter (errata E10 to E14).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri, gammainccinv

from discreet.core.arrays import Floats
from discreet.errors import ParameterError
from discreet.planning.theory.inputs import figures


def perturbation_size(
    p: ArrayLike,
    epsilon: ArrayLike,
    *,
    delta: ArrayLike | None = None,
    lipschitz: ArrayLike = 1.0,
    share: ArrayLike = 0.5,
    rho: ArrayLike | None = None,
) -> Floats:
    """The mean of the squared norm of li2021's noise b, or the value that it exceeds with probability rho.

    Spherical Laplace noise has a norm that is Gamma(p) with scale s = L/(r epsilon) (E9), so E |b|^2 = p (p + 1) s^2.
    Gaussian noise has the variance 2 (r epsilon + log(1/delta)) (L/(r epsilon))^2 of (4) in each of p directions.
    Quantiles are exact; the paper's p s log(p/rho) is an upper bound, its sqrt(2 p log(1/rho)) sds one for rho up to
    about 0.6.

    Parameters
    ----------
    p, epsilon : array_like
        Coefficients, and the promise.
    delta : array_like, optional
        Gaussian noise with this delta; spherical Laplace noise by default.
    lipschitz : array_like
        L, one bound on the gradient of a row's loss (E14).
    share : array_like
        r, the share of epsilon that the noise has.
    rho : array_like, optional
        Give a quantile instead of the mean.

    Examples
    --------
    >>> perturbation_size(10, 1.0), perturbation_size(10, 1.0, delta=1e-3).round(1)
    (np.float64(440.0), np.float64(592.6))
    """
    p, epsilon, L, r = figures(p=p, epsilon=epsilon, lipschitz=lipschitz, share=share)
    if np.any(r > 1):
        raise ParameterError("share must be at most 1.")
    s = L / (r * epsilon)
    if delta is None:
        return p * (p + 1) * s**2 if rho is None else (gammainccinv(p, figures(rho=rho)[0]) * s) ** 2
    variance = 2 * (r * epsilon - np.log(figures(delta=delta)[0])) * s**2
    return variance * (p if rho is None else chdtri(p, figures(rho=rho)[0]))


def excess_risk(
    n: ArrayLike, size: ArrayLike, modulus: ArrayLike, *, gap: ArrayLike = 0.0, shortfall: ArrayLike = 0.0
) -> Floats:
    """li2021's lemma 7 and theorem 8, corrected: J(theta_hat) - min J is at most (|b|^2/(2 m) + gap + shortfall)/n.

    With `size` = |b|^2 it holds for that b; with a quantile, with that probability; with E |b|^2, for the expectation.
    The paper has |b|^2/m, which is twice as much as needed; it draws the expectation from a quantile, and misplaces a
    bracket that multiplies the gap by |b|^2 (E23). It takes R_t >= R for granted (E34), which its own lasso and bridge
    weights break: with l = (theta - 1/2)^2/2, R = |theta|, R_t = theta^2 and b = 0 its bound is 0, and the excess
    0.097. Hence `shortfall`.

    Parameters
    ----------
    n : array_like
        Rows.
    size : array_like
        |b|^2, as from `perturbation_size`.
    modulus : array_like
        m: R_t(theta) - m |theta|^2/2 is convex.
    gap : array_like
        R_t - R at the minimiser of the target objective: 0 where R_t is the target.
    shortfall : array_like
        The most by which R exceeds R_t anywhere: `lasso_shortfall` for weighted squares in place of the lasso.

    Examples
    --------
    >>> excess_risk([1e3, 1e5], perturbation_size(10, 1.0), modulus=2.0).round(4)
    array([0.11  , 0.0011])
    """
    n, size, m = figures(n=n, size=size, modulus=modulus)
    gap, shortfall = np.asarray(gap, dtype=np.float64), np.asarray(shortfall, dtype=np.float64)
    if np.any(shortfall < 0):
        raise ParameterError("shortfall must be at least 0.")
    found: Floats = (size / (2 * m) + gap + shortfall) / n
    return found


def lasso_shortfall(penalty: float, weights: ArrayLike) -> float:
    """The most by which Lambda |theta|_1 exceeds the sum of w_j theta_j^2: the sum of Lambda^2/(4 w_j).

    Parameters
    ----------
    penalty : float
        Lambda.
    weights : array_like
        w, one for each coefficient.

    Examples
    --------
    >>> lasso_shortfall(1.0, [1.0, 0.5])
    0.75
    """
    (weights,) = figures(weights=weights)
    return float(np.sum(penalty**2 / (4 * weights)))


def rows_needed(
    risk: ArrayLike,
    size: ArrayLike,
    modulus: ArrayLike,
    *,
    penalty_at_truth: ArrayLike,
    constant: ArrayLike,
    rho: ArrayLike = 0.05,
) -> Floats:
    """li2021's theorem 10, corrected: with more rows than this the expected loss is within `risk` of the best.

    L(theta_hat) - L(theta_0) <= (R_t(theta_0) + |b|^2/m)/n + C log(1/rho)/(2 m), solved for n; infinite where the last
    term, which more rows do not lower, exceeds `risk`. The paper has 2 |b|^2 for Laplace noise and |b|^2 for Gaussian
    (E35).

    Parameters
    ----------
    risk : array_like
        The wanted excess.
    size : array_like
        |b|^2: a quantile from `perturbation_size`, whose probability adds to rho.
    modulus : array_like
        m.
    penalty_at_truth : array_like
        R_t(theta_0). R_t must not depend on the data: the first iteration, or weights from other data.
    constant : array_like
        C of lemma 9, of the order of L^2; no value is printed.
    rho : array_like
        The probability of failure, apart from that of `size`.

    Examples
    --------
    >>> rows_needed([0.1, 0.01], 440.0, modulus=2000.0, penalty_at_truth=250.0, constant=1.0).round()
    array([ 2521., 27048.])
    """
    risk, size, m = figures(risk=risk, size=size, modulus=modulus)
    C, R, rho = figures(constant=constant, penalty_at_truth=penalty_at_truth, rho=rho)
    left = risk + C * np.log(rho) / (2 * m)
    return np.where(left > 0, (R + size / m) / np.where(left > 0, left, 1.0), np.inf)[()]


def augmentation_spread(rows: ArrayLike) -> Floats:
    """The relative sd of the penalty that n_e noise rows make, around the wanted penalty: 2/sqrt(n_e).

    li2021's proposition 1 says "as n_e grows" without a rate. The rows come in pairs of opposite sign, so the realised
    quadratic penalty is R_t(theta) times a chi-square with n_e/2 degrees of freedom over its mean, for every theta.

    Parameters
    ----------
    rows : array_like
        n_e, the number of noise rows.

    Examples
    --------
    >>> augmentation_spread([100, 10_000])
    array([0.2 , 0.02])
    """
    (rows,) = figures(rows=rows)
    return 2 / np.sqrt(rows)
