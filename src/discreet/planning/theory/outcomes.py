"""Many outcomes at once: neel2023's (2), (5), (7), theorems 4.1, 4.3, figure 1, and sampling.

Errors are mean squared errors of a row, |y - X w|^2/n, averaged over the l outcomes. X = norm_x bounds the norm of a
row, Y = norm_y an outcome, w = norm_w is the size of an outcome's coefficients. The lower bound (1) is
`private_lower_bound`/n. `regime` compares the mechanisms with constants, and says which is best and why.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.checks import Neighbors
from discreet.errors import ParameterError
from discreet.planning.theory.inputs import figures
from discreet.privacy import gdp
from discreet.privacy.split import Sizes

_Labels = Literal["private", "public"]


def paper_baseline(
    n: ArrayLike,
    d: ArrayLike,
    outcomes: ArrayLike,
    epsilon: ArrayLike,
    norm_x: ArrayLike = 1.0,
    norm_y: ArrayLike = 1.0,
    norm_w: ArrayLike = 1.0,
) -> Floats:
    """neel2023's (5), a private regression for each outcome: sqrt(l d) (X^2 w^2 + X w Y)/(n epsilon), without logs.

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
    n, d, l, epsilon = figures(n=n, d=d, outcomes=outcomes, epsilon=epsilon)  # noqa: E741
    X, Y, w = figures(norm_x=norm_x, norm_y=norm_y, norm_w=norm_w)
    return np.sqrt(l * d) * (X * w + Y) * X * w / (n * epsilon)


def reuse_rate(
    n: ArrayLike,
    d: ArrayLike,
    outcomes: ArrayLike,
    epsilon: ArrayLike = 1.0,
    *,
    labels: _Labels = "private",
    norm_x: ArrayLike = 1.0,
    norm_y: ArrayLike = 1.0,
    norm_w: ArrayLike = 1.0,
) -> Floats:
    """neel2023's (2), the order of the error with one X'X for all outcomes: theorem 4.1, and 4.3 for public ones.

    w sqrt(d X^4 w^2/(n epsilon)^2 + a), with a = l d X^2 Y^2/(n epsilon)^2 by the Gaussian mechanism, or, where
    outcomes are public, sqrt(d) X^2 Y^2/(n epsilon) by the projection if that is less. An order, with constant 1 and
    without logarithms.

    Parameters
    ----------
    n, d, outcomes, epsilon, norm_x, norm_y, norm_w : array_like
        As in `paper_baseline`.
    labels : {"private", "public"}
        Whether outcomes are protected.

    Examples
    --------
    >>> reuse_rate(1e5, 100, [1, 100, 10_000]).round(5)
    array([0.00014, 0.001  , 0.01   ])
    """
    n, d, l, epsilon = figures(n=n, d=d, outcomes=outcomes, epsilon=epsilon)  # noqa: E741
    X, Y, w = figures(norm_x=norm_x, norm_y=norm_y, norm_w=norm_w)
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
    labels: _Labels = "private",
    norm_x: ArrayLike = 1.0,
    norm_y: ArrayLike = 1.0,
    norm_w: ArrayLike = 1.0,
) -> Floats:
    """cost(l) of neel2023's figure 1: `reuse_rate` over sqrt(d) X^2 w^2/(n epsilon), the order of (1) for Y up to X w.

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
    n, d, epsilon, X, w = figures(n=n, d=d, epsilon=epsilon, norm_x=norm_x, norm_w=norm_w)
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
    """The excess error from X'X of a sample of s rows, apart from noise: neel2023's lemma 12, corrected (E37).

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
    s, d, lambda_, X, Y, rho = figures(sample=sample, d=d, penalty=penalty, norm_x=norm_x, norm_y=norm_y, rho=rho)
    t = np.sqrt(3 * (1 + X**2 / lambda_) * np.log(2 * d / rho) / s)
    return np.where(t < 1, (t / np.where(t < 1, 1 - t, 1.0) * Y) ** 2, np.inf)[()]


# ---------------------------------------------------------------- which mechanism wins


@dataclass(frozen=True)
class Regime:
    """The expected errors of each mechanism.

    Parameters
    ----------
    winner : str
        The mechanism with the least error: "gaussian" or "projection".
    errors : dict
        Bounds on the expected excess squared error of a row, averaged over the outcomes: 2 |w| sqrt(covariance +
        association)/n, by mechanism; "independent" is one run for each outcome.
    signal : float
        The mean square that coefficients of that size explain: if the error is larger, nothing can be learned.
    shares : dict
        The share of X'X in the budget, by mechanism.
    covariance, association : float
        The squared errors of the winner's normal equations due to the noise in X'X and in X'Y.
    paper_row : str
        The row of the paper's table for these figures, with its own bound.
    paper_baseline : float
        The paper's (5) for independent runs, without logarithms.
    why : str
        The reason in words.
    """

    winner: str
    errors: dict[str, float]
    signal: float
    shares: dict[str, float]
    covariance: float
    association: float
    paper_row: str
    paper_baseline: float
    why: str

    def __str__(self) -> str:
        lines = [
            f"{name:<12} {error:>12.4g}   share of X'X {self.shares[name]:.3f}" for name, error in self.errors.items()
        ]
        head = f"{'mechanism':<12} {'error <=':>12}   (a model of this size explains {self.signal:.4g})"
        return "\n".join([head, *lines, f"Best: {self.winner}. {self.why}", f"neel2023, figure 1: {self.paper_row}"])


def regime(
    n: float,
    d: int,
    outcomes: int,
    *,
    epsilon: float,
    delta: float,
    labels: _Labels = "private",
    neighbors: Neighbors = "replace-one",
    norm_x: float | None = None,
    norm_y: float = 1.0,
    norm_w: float | None = None,
) -> Regime:
    """Compare the mechanisms for many outcomes from public figures, before any budget is spent.

    Parameters
    ----------
    n : float
        The public number of rows.
    d, outcomes : int
        Regressors, the constant included, and outcomes.
    epsilon, delta : float
        The promise.
    labels : {"private", "public"}
        Whether outcomes are protected; the projection is for public ones, and for replace-one neighbours.
    neighbors : {"add-remove", "replace-one"}
        The relation.
    norm_x : float, optional
        The bound on the norm of a row's regressors; sqrt(d), that of columns mapped to [-1, 1], by default.
    norm_y : float
        The bound on each outcome.
    norm_w : float, optional
        The size of an outcome's coefficients; by default such that it explains 1/16 of the largest possible y'y.

    Examples
    --------
    >>> regime(1e6, 100, 10, epsilon=1, delta=1e-8).winner
    'gaussian'
    >>> print(regime(2e4, 100, 100_000, epsilon=1, delta=1e-8, labels="public").winner)
    projection
    """
    _check(labels, neighbors, n=n, d=d, outcomes=outcomes, norm_y=norm_y)
    R = math.sqrt(d) if norm_x is None else checks.positive("norm_x", norm_x)
    mu = gdp.mu(epsilon=checks.epsilon(epsilon), delta=checks.delta(delta))
    sizes = Sizes(d, outcomes, R, norm_y * math.sqrt(outcomes), neighbors, float(n), norm_w)
    w = sizes.coefficient_norm
    shares, totals = _mechanisms(sizes, mu, labels)
    errors = {name: 2 * w * math.sqrt(total) / n for name, total in totals.items()}
    gained = "projection" in errors and errors["projection"] < (1 - 1e-6) * errors["gaussian"]
    winner = "projection" if gained else "gaussian"
    covariance = sizes.covariance(mu, shares[winner])
    parts = covariance, totals[winner] - covariance
    signal = (R * w) ** 2 / d
    row = _paper_row(n, d, outcomes, R, norm_y, w, labels)
    baseline = float(paper_baseline(n, d, outcomes, epsilon, R, norm_y, w))
    return Regime(winner, errors, signal, shares, *parts, row, baseline, _why(winner, labels, *parts, errors, signal))


def _check(labels: _Labels, neighbors: Neighbors, **figures: float) -> None:
    checks.choice("labels", labels, ("private", "public"))
    for name, value in figures.items():
        checks.positive(name, value)
    if checks.neighbors(neighbors) != "replace-one" and labels == "public":
        raise ParameterError('labels="public" is about replace-one neighbours: the outcomes of a row stay.')


def _mechanisms(sizes: Sizes, mu: float, labels: _Labels) -> tuple[dict[str, float], dict[str, float]]:
    """The best share of X'X, and the error of an outcome's equations with it, by mechanism."""
    l = sizes.outcomes  # noqa: E741
    alone = replace(sizes, outcomes=1, T=sizes.T / math.sqrt(l), w=sizes.coefficient_norm)
    shares, totals = {"gaussian": sizes.gram_share()}, {}
    if labels == "public":
        shares["projection"] = sizes.projected_share(mu)
    for name, share in shares.items():
        totals[name] = sizes.total(mu, name, share)
    shares["independent"] = alone.gram_share()
    totals["independent"] = alone.total(mu / math.sqrt(l), "gaussian", shares["independent"])
    return shares, totals


def _why(
    winner: str, labels: _Labels, covariance: float, association: float, errors: dict[str, float], signal: float
) -> str:
    parts = []
    if winner == "projection":
        parts.append(
            "The noise of X'Y exceeds what any features could cause with these outcomes; the projection drops it."
        )
    elif covariance >= association:
        parts.append("The noise of X'X dominates, and all outcomes share it: more outcomes cost almost nothing.")
    else:
        parts.append("The noise of X'Y dominates, and grows with the square root of the number of outcomes.")
        if labels == "private":
            parts.append("With private outcomes nothing better than the Gaussian mechanism is known.")
    parts.append(f"Independent runs would have {errors['independent'] / errors[winner]:.3g} times the error.")
    if errors[winner] > signal:
        parts.append("The bound exceeds what there is to explain: expect little of any mechanism here.")
    return " ".join(parts)


def _paper_row(n: float, d: int, l: int, X: float, Y: float, w: float, labels: _Labels) -> str:  # noqa: E741
    """The row of figure 1, its bound without constants and logarithms, and its cost against a single outcome."""
    flat, ratio = math.sqrt(d) * (X * w) ** 2 / n, (X * w / Y) ** 2
    if l > n / math.sqrt(d) and labels == "public":
        if n < math.sqrt(d) * ratio:
            return f"row 1, projection, public Y, l > n/sqrt(d) and n small: {flat:.3g}, cost 1"
        value = w * d**0.25 * Y * X / math.sqrt(n)
        cost = "cost sqrt(n)/d^(1/4), printed as n/d^(1/4) (E36)"
        return f"row 2, projection, public Y, l > n/sqrt(d) and n large: {value:.3g}, {cost}"
    if l < ratio:
        return f"row 3, Gaussian, private X and Y, few outcomes: {flat:.3g}, cost 1"
    value = w * math.sqrt(l * d) * Y * X / n
    beyond = "" if l <= n / math.sqrt(d) else " (beyond its range, for private Y has no other)"
    return f"row 4, Gaussian, private X and Y, many outcomes{beyond}: {value:.3g}, cost sqrt(l)"
