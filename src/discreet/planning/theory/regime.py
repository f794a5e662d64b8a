"""Which mechanism wins for given public figures, and why: figure 1 of paper 004, with constants."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.errors import ParameterError
from discreet.planning.theory.outcomes import paper_baseline
from discreet.privacy import gdp
from discreet.privacy.split import Sizes

Labels = Literal["private", "public"]


@dataclass(frozen=True)
class Regime:
    """What to expect of each mechanism.

    Parameters
    ----------
    winner : str
        The mechanism with the least error: "gaussian" or "projection".
    errors : dict
        Bounds on the expected excess squared error of a row, averaged over the outcomes: 2 |w| sqrt(covariance +
        association)/n, by mechanism; "independent" is one run for each outcome.
    signal : float
        What a model with coefficients of that size explains: a larger error says that nothing can be learned.
    shares : dict
        The share of X'X in the budget, by mechanism.
    covariance, association : float
        What the winner's normal equations are off by, squared: because of the noise in X'X, and in X'Y.
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
        return "\n".join([head, *lines, f"Best: {self.winner}. {self.why}", f"Paper 004, figure 1: {self.paper_row}"])


def regime(
    n: float,
    d: int,
    outcomes: int,
    *,
    epsilon: float,
    delta: float,
    labels: Labels = "private",
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
    row, baseline = (
        _paper_row(n, d, outcomes, R, norm_y, w, labels),
        float(paper_baseline(n, d, outcomes, epsilon, R, norm_y, w)),
    )
    return Regime(winner, errors, signal, shares, *parts, row, baseline, _why(winner, labels, *parts, errors, signal))


def _check(labels: Labels, neighbors: Neighbors, **figures: float) -> None:
    checks.choice("labels", labels, ("private", "public"))
    for name, value in figures.items():
        checks.positive(name, value)
    if checks.neighbors(neighbors) != "replace-one" and labels == "public":
        raise ParameterError('labels="public" is about replace-one neighbours: the outcomes of a row stay.')


def _mechanisms(sizes: Sizes, mu: float, labels: Labels) -> tuple[dict[str, float], dict[str, float]]:
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
    winner: str, labels: Labels, covariance: float, association: float, errors: dict[str, float], signal: float
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


def _paper_row(n: float, d: int, l: int, X: float, Y: float, w: float, labels: Labels) -> str:  # noqa: E741
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
