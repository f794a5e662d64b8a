"""The theorem of the two parts of a budget (docs/mathematics, 3.1) against the analyst who plays best against them."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from discreet.privacy import gdp
from discreet.privacy.budget_parts import Cost, Limits

STEP = 0.02
LOSSES = np.arange(-1200, 1201) * STEP
"""Privacy losses so far, on a grid; what is reached on it is that of the real line within a thousandth."""


def after_gaussian(value, mu):
    """The expectation over the loss N(mu^2/2, mu^2) of a Gaussian release, of a value that grows with the loss."""
    shifts = np.arange(math.floor((mu**2 / 2 - 9 * mu) / STEP), math.ceil((mu**2 / 2 + 9 * mu) / STEP) + 1)
    edges = (np.concatenate([shifts, [shifts[-1] + 1]]) - 0.5) * STEP
    weights = np.diff(norm.cdf((edges - mu**2 / 2) / mu))
    places = np.clip(np.arange(len(LOSSES))[:, None] + shifts, 0, len(LOSSES) - 1)
    return value[places] @ weights


def after_other(value, epsilon, delta):
    """The same for randomised response: all is told with probability delta, else a bit."""
    k = round(epsilon / STEP)
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    places = np.arange(len(LOSSES))
    up, down = (value[np.clip(places + sign * k, 0, len(LOSSES) - 1)] for sign in (1, -1))
    return delta + (1 - delta) * (p * up + (1 - p) * down)


def best(t, gaussian, others):
    """What the best analyst reaches who may use each release of two lists, in any order, by what came out."""
    end = np.maximum(0.0, -np.expm1(t - LOSSES))
    values = {(0, 0): end}
    for g in range(len(gaussian) + 1):
        for o in range(len(others) + 1):
            ways = [end]
            if g:
                ways.append(after_gaussian(values[g - 1, o], gaussian[g - 1]))
            if o:
                ways.append(after_other(values[g, o - 1], *others[o - 1]))
            values[g, o] = np.max(ways, axis=0)
    return values[len(gaussian), len(others)][len(LOSSES) // 2]


@pytest.mark.parametrize(
    ("gaussian", "others"),
    [
        ([0.5, 0.5], [(0.4, 1e-3), (0.4, 1e-3)]),
        ([0.3, 0.6, 0.2], [(0.2, 0.0), (0.6, 1e-2), (0.2, 1e-3)]),
        ([1.0], [(1.0, 0.0)]),
        ([0.8, 0.8, 0.8], []),
        ([], [(0.2, 1e-3)] * 4),
    ],
)
@pytest.mark.parametrize("t", [0.0, 0.5, 1.0, 2.0, 3.0])
def test_nobody_gets_more_than_the_theorem_says(gaussian, others, t):
    mu = math.sqrt(sum(one**2 for one in gaussian))
    epsilon, delta = sum(e for e, _ in others), sum(d for _, d in others)
    curve = gdp.delta(mu, t - epsilon) if mu else max(0.0, -math.expm1(t - epsilon))
    reached = best(t, gaussian, others)
    assert reached <= (curve + delta) * 1.001 + 1e-9
    if not others:  # and Gaussian releases alone reach it
        assert reached == pytest.approx(curve, rel=1e-3)


def test_the_best_analyst_does_better_than_any_order_that_is_fixed():
    """So the game is a real one: what comes next depends on what came out."""
    gaussian, others, t = [0.5, 0.5], [(0.4, 0.0), (0.4, 0.0)], 1.2
    end = np.maximum(0.0, -np.expm1(t - LOSSES))
    fixed = end
    for cost in others:
        fixed = after_other(fixed, *cost)
    for mu in gaussian:
        fixed = after_gaussian(fixed, mu)
    assert best(t, gaussian, others) >= fixed[len(LOSSES) // 2]


@pytest.mark.parametrize("others", [(0.0, 0.0), (0.5, 5e-7), (0.5, 0.0), (1.0, 1e-6), (0.0, 5e-7)])
def test_the_parts_keep_the_promise(others):
    limits = Limits(1.0, 1e-6, others)
    curve = gdp.delta(limits.mu, 1.0 - others[0]) if limits.mu else 0.0
    assert curve + others[1] <= 1e-6 * (1 + 1e-12)


@pytest.mark.parametrize("rows", [2, 3, 7])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 1e-4), (1.0, 1e-6)])
def test_groups_by_brute_force(rows, epsilon, delta):
    """k steps of P_i <= e^epsilon P_{i+1} + delta."""
    worst, factor = 0.0, 1.0
    for _ in range(rows):
        worst, factor = worst + factor * delta, factor * math.exp(epsilon)
    cost = Cost(epsilon, delta).to_people(rows)
    assert cost.epsilon == pytest.approx(math.log(factor))
    assert worst * (1 - 1e-12) <= cost.delta <= worst * (1 + 1e-9)
    assert Cost(epsilon, delta, mu=0.1).to_people(rows).mu >= rows * 0.1 * (1 - 1e-15)
    assert Cost(200.0, 1e-9).to_people(2).delta == 1.0
