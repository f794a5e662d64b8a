"""Promises declared beforehand, composed with a Gaussian part: proofs in ``docs/mathematics.md``, section 8.4.

A stage that is calibrated after earlier outputs were seen must be held to a promise that was fixed before them.
"""

from __future__ import annotations

import math

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.core.rounding import FEW, down, up
from discreet.errors import ParameterError
from discreet.privacy import gdp


def composed_delta(epsilon: float, epsilon_o: float, delta_o: float, mu: float) -> float:
    """The delta of an (epsilon_o, delta_o)-private stage together with a mu-GDP part, rounded up.

    delta_o + (1 - delta_o) [p D(mu, epsilon - epsilon_o) + (1 - p) D(mu, epsilon + epsilon_o)], with D the curve of
    `gdp.delta` and p = e^epsilon_o/(1 + e^epsilon_o). Either part may be adapted to the other's output, as long
    as its own promise holds whatever that output was.

    Parameters
    ----------
    epsilon : float
        The promise of the whole, at least 0.
    epsilon_o, delta_o : float
        The promise declared for the stage; both may be 0.
    mu : float
        Of all Gaussian releases together (`gdp.compose`).

    Examples
    --------
    >>> round(composed_delta(epsilon=1, epsilon_o=0.5, delta_o=5e-7, mu=0.1), 9)
    5.04e-07
    """
    _check(epsilon, epsilon_o, delta_o)
    p = 1 / (1 + math.exp(-epsilon_o))
    gauss = up(p * gdp.delta(mu, epsilon - epsilon_o) + (1 - p) * gdp.delta(mu, epsilon + epsilon_o))
    return min(1.0, up(delta_o + (1 - delta_o) * gauss))


def remaining_delta(epsilon: float, delta: float, epsilon_o: float, mu: float) -> float:
    """The largest delta_o that may be declared so that the whole is (epsilon, delta)-private, rounded down.

    Everything it depends on is fixed beforehand; it must not be called with figures seen in a release.

    Examples
    --------
    >>> left = remaining_delta(epsilon=1, delta=1e-6, epsilon_o=0.5, mu=0.1)
    >>> composed_delta(1, 0.5, left, 0.1) <= 1e-6
    True
    """
    delta = checks.fraction("delta", delta)
    gauss = composed_delta(epsilon, epsilon_o, 0.0, mu)
    if gauss >= delta:
        raise ParameterError(
            "Nothing is left for the declared stage: the Gaussian part spends delta already. Lower mu or epsilon_o."
        )
    return down((delta - gauss) / (1 - gauss)) - delta * 2.0**-38


def replace_one(epsilon: float, delta: float) -> tuple[float, float]:
    """The add-remove promise (epsilon/2, delta/(1 + e^(epsilon/2))), which is (epsilon, delta) under replace-one.

    Replacing a row is removing it and adding another:
    P(S) <= e^(e/2) P0(S) + d <= e^(e/2) (e^(e/2) P'(S) + d) + d.

    Examples
    --------
    >>> epsilon, delta = replace_one(1.0, 1e-6)
    >>> epsilon, round(delta, 9)
    (0.5, 3.78e-07)
    """
    epsilon, delta = checks.positive("epsilon", epsilon), checks.fraction("delta", delta)
    return epsilon / 2, down(delta / (1 + math.exp(epsilon / 2)), FEW / 4)


def add_remove(epsilon: float, delta: float, neighbors: Neighbors) -> tuple[float, float]:
    """The add-remove promise that keeps one of either relation.

    Examples
    --------
    >>> add_remove(1.0, 1e-6, "add-remove"), add_remove(1.0, 1e-6, "replace-one") == replace_one(1.0, 1e-6)
    ((1.0, 1e-06), True)
    """
    return replace_one(epsilon, delta) if neighbors == "replace-one" else (epsilon, delta)


def _check(epsilon: float, epsilon_o: float, delta_o: float) -> None:
    for name, value in (("epsilon", epsilon), ("epsilon_o", epsilon_o)):
        if not checks.is_real(value) or not 0 <= value < math.inf:
            raise ParameterError(f"{name} must be a finite number from 0, got {value!r}.")
    if not checks.is_real(delta_o) or not 0 <= delta_o < 1:
        raise ParameterError(f"delta_o must be a number from 0 and below 1, got {delta_o!r}.")
