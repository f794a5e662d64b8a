"""Rounding to the safe side: against exact rationals, and against chains of roundings that all go the same way."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.rounding import CURVE, FEW, MANY, ROOM, down, up
from discreet.mechanisms.output_perturbation.event import root
from discreet.mechanisms.posterior_sampling.adaptive_event import AdaptiveEvent, eigenvalue_change, quantile
from discreet.privacy import ops

U = Fraction(1, 2**53)
SLACKS = [FEW / 4, FEW, MANY, 8 * MANY, ROOM, CURVE]
LEAST = 2.0**-960
NORMAL = st.floats(min_value=LEAST, max_value=1e300)


def covered(slack):
    """The number of roundings that the docstring claims."""
    return int(Fraction(slack) / U) - 2


@pytest.mark.parametrize("slack", SLACKS)
@given(x=NORMAL)
def test_the_bounds_hold_for_as_many_roundings_as_claimed(slack, x):
    """If k roundings gave x, the value was between x (1 - u)^k and x (1 + u)^k; these are exact, or beyond them."""
    k, exact = covered(slack), Fraction(x)
    more = 1 + k * U + (k * U) ** 2  # above (1 + u)^k for k u < 1
    less = 1 - k * U  # below (1 - u)^k, and the bound stays below even this
    assert Fraction(up(x, slack)) >= exact * more
    assert Fraction(down(x, slack)) <= exact * less
    assert Fraction(down(-x, slack)) <= -exact * more
    assert Fraction(up(-x, slack)) >= -exact * less


@pytest.mark.parametrize("slack", SLACKS)
@given(x=NORMAL)
def test_no_more_is_given_away_than_the_slack(slack, x):
    assert Fraction(up(x, slack)) <= Fraction(x) * (1 + Fraction(slack) + 4 * U)
    assert Fraction(down(x, slack)) >= Fraction(x) * (1 - Fraction(slack) - 4 * U)


@given(st.lists(st.floats(min_value=0.01, max_value=100), min_size=2, max_size=15))
def test_a_chain_of_products_and_sums_is_covered(values):
    """Sums and products of positive doubles, computed step by step and exactly: at most 2 roundings a value."""
    x, exact = 1.0, Fraction(1)
    for i, value in enumerate(values):
        x, exact = (x * value, exact * Fraction(value)) if i % 2 else (x + value, exact + Fraction(value))
        x, exact = x / 3, exact / 3
    assert Fraction(down(x, FEW)) <= exact <= Fraction(up(x, FEW))


@given(x=st.floats(min_value=5e-324, max_value=LEAST))
@pytest.mark.parametrize("slack", SLACKS)
def test_tiny_numbers_move_by_a_double_at_least(slack, x):
    assert up(x, slack) > x > down(x, slack)
    assert up(-x, slack) > -x > down(-x, slack)


def test_the_ends():
    assert up(0.0) == down(0.0) == 0.0
    assert up(math.inf) == down(math.inf) == math.inf
    assert up(-math.inf) == down(-math.inf) == -math.inf
    assert up(1.7976931348623157e308) == math.inf
    assert down(1.7976931348623157e308) < 1.7976931348623157e308
    assert math.isnan(up(math.nan))
    assert math.isnan(down(math.nan))


@pytest.mark.parametrize("slack", SLACKS)
def test_arrays_are_rounded_as_their_numbers_are(slack):
    x = np.array([0.0, 1.0, -1.0, 0.1, -3e-7, 5e-324, -5e-324, 1e-300, 1.7976931348623157e308, math.inf, -math.inf])
    with np.errstate(over="ignore"):
        assert up(x, slack).tolist() == [up(v, slack) for v in x.tolist()]
        assert down(x, slack).tolist() == [down(v, slack) for v in x.tolist()]
    assert up(np.array(2.0), slack) == up(2.0, slack)


def test_a_negative_quantile_is_rounded_up_too():
    """Failures above 1/2 have negative quantiles: farther from 0 would be the wrong side."""
    assert quantile(0.9) > -1.2815515655446004
    assert quantile(0.1) > 1.2815515655446004


def adaptive(residual, gamma):
    """An event of AdaOPS that rests on the public bound of its residuals."""
    return AdaptiveEvent(
        design=("a", "b"),
        target="y",
        norm=1.0,
        outcome=1.0,
        neighbors="add-remove",
        rows=1000.0,
        eigenvalue=-1e3,
        eigenvalue_sd=20.0,
        eigenvalue_change=eigenvalue_change(2, 1.0),
        log_norm=None,
        norm_sd=None,
        penalty=100.0,
        residual=residual,
        gamma=gamma,
        failures=(5e-8, 0.0, 1e-7),
        draw=0.2,
        tolerance=1.0,
        output=1e6,
    )


def test_a_draw_is_checked_at_the_residual_that_the_check_grants():
    """R may be listed 2^-40 too small; the precision must then fit the larger R."""
    R = 1 + ops.coefficient_bound(100.0, 1000.0, 1.0, 1.0)
    gamma = (ops.gaussian_residual_limit(0.2, 1e-7, 0.01) / R) ** 2
    assert adaptive(R, down(gamma, ROOM)).keeps()
    assert not adaptive(down(R, 2.0**-41), gamma * (1 + 2.0**-41)).keeps()
    assert not adaptive(down(R, 2.0**-39), down(gamma, ROOM)).keeps()


@pytest.mark.parametrize("shape", ["fisher", "democratic"])
def test_the_shape_of_noise_is_as_good_as_its_sensitivity_assumes(shape):
    """A norm of the computed C, where S is so large that it is off by more than 2^-30: against exact rationals."""
    rng, worst = np.random.default_rng(0), 0.0
    size = 1e10 if shape == "fisher" else 1e9
    for _ in range(40):
        Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        S = (Q * [1.0, 7.0, size]) @ Q.T
        S = (S + S.T) / 2
        values, vectors = np.linalg.eigh(S)
        C = root(shape, S, 3)
        v = vectors[:, 0] + rng.normal(size=3) * 1e-12
        exact = [[Fraction(x) for x in line] for line in S.tolist()]
        w, u = [Fraction(x) for x in v.tolist()], [[Fraction(x) for x in line] for line in C.tolist()]
        moved = sum(sum(a * b for a, b in zip(line, w, strict=True)) ** 2 for line in u)
        Sw = [sum(a * b for a, b in zip(line, w, strict=True)) for line in exact]
        norm = sum(a * b for a, b in zip(Sw, w, strict=True)) if shape == "fisher" else sum(a * a for a in Sw)
        relative = abs(math.sqrt(moved / norm) - 1)
        stretch = float(np.linalg.norm(C, 2))
        largest = stretch**2 if shape == "fisher" else stretch
        assert relative <= 8 * 3 * 2.0**-52 * largest / values[0]
        worst = max(worst, relative)
    assert worst > ROOM
