"""Errata E3, E4 and E15: printed Gaussian calibrations held against the exact curve.

A Gaussian release of sensitivity S with sd s is mu-GDP with mu = S/s, so printed sds are given here as mu.
"""

from math import log, sqrt

import mpmath
import numpy as np
import pytest

from discreet.privacy import gdp

DELTA = 1e-6


def exact_delta(mu, epsilon):
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


def crossing(holds, low, high):
    """Where a claim that holds at `low` and fails at `high` first fails."""
    assert holds(low)
    assert not holds(high)
    while high - low > 1e-7:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


def assert_first_failure(holds, expected, abs_tolerance, low, high):
    found = crossing(holds, low, high)
    assert found == pytest.approx(expected, abs=abs_tolerance)
    assert all(holds(epsilon) for epsilon in np.geomspace(low, found * 0.999, 50))
    assert not any(holds(epsilon) for epsilon in np.geomspace(found * 1.001, high, 50))


def adassp_mu(epsilon):
    """E3: each of AdaSSP's three releases, claimed (epsilon/3, delta/3)-DP."""
    return (epsilon / 3) / sqrt(log(6 / DELTA))


def adassp_release_holds(epsilon):
    return gdp.delta(mu=adassp_mu(epsilon), epsilon=epsilon / 3) <= DELTA / 3


def test_e3_a_single_release_first_fails_at_0_415():
    assert_first_failure(adassp_release_holds, 0.415, 5e-4, low=0.01, high=10)


@pytest.mark.parametrize(("stated", "true"), [(1, 0.352), (10, 4.22)])
def test_e3_a_single_release_costs_more_than_it_claims(stated, true):
    found = gdp.epsilon(mu=adassp_mu(stated), delta=DELTA / 3)
    assert found == pytest.approx(true, abs=5e-3 if true > 1 else 5e-4)
    assert found > stated / 3


@pytest.mark.parametrize(("stated", "true"), [(0.1, 0.051), (1, 0.596), (10, 7.57)])
def test_e3_the_whole_spends_less_than_it_states(stated, true):
    whole = gdp.compose([adassp_mu(stated)] * 3)
    assert gdp.epsilon(mu=whole, delta=DELTA) == pytest.approx(true, abs=5e-3 if true > 1 else 5e-4)


@pytest.mark.parametrize("stated", [0.1, 1, 10])
def test_e3_exact_calibration_holds_with_less_noise(stated):
    mu = gdp.mu(epsilon=stated, delta=DELTA)
    assert exact_delta(mu, stated) <= DELTA
    assert mu > gdp.compose([adassp_mu(stated)] * 3)
    release = gdp.mu(epsilon=stated / 3, delta=DELTA / 3)
    assert exact_delta(release, stated / 3) <= DELTA / 3
    assert (release < adassp_mu(stated)) == (stated > 0.415)


def ssp_mu(epsilon, factor):
    """E4: two releases of sd factor * sqrt(log(4/delta))/epsilon each (the code has factor 1, the text 2)."""
    return gdp.compose([epsilon / (factor * sqrt(log(4 / DELTA)))] * 2)


@pytest.mark.parametrize(("stated", "true", "digits"), [(1, 1.587, 3), (10, 23.2, 1)])
def test_e4_the_ssp_code_costs_more_than_it_states(stated, true, digits):
    found = gdp.epsilon(mu=ssp_mu(stated, factor=1), delta=DELTA)
    assert found == pytest.approx(true, abs=0.5 * 10**-digits)
    assert found > stated


def test_e4_the_text_of_the_paper_is_private_at_1():
    assert gdp.epsilon(mu=ssp_mu(1, factor=2), delta=DELTA) == pytest.approx(0.751, abs=5e-4)


@pytest.mark.parametrize("stated", [1, 10])
def test_e4_exact_calibration_holds_with_more_noise_than_the_code(stated):
    mu = gdp.mu(epsilon=stated, delta=DELTA)
    assert exact_delta(mu, stated) <= DELTA < exact_delta(ssp_mu(stated, factor=1), stated)
    assert mu < ssp_mu(stated, factor=1)


def test_e4_exact_calibration_needs_less_noise_than_the_text_at_1():
    assert gdp.mu(epsilon=1, delta=DELTA) > ssp_mu(1, factor=2)


def lemma7_mu(epsilon, delta):
    """E15: sd sqrt(2 log(2/delta))/epsilon, claimed (epsilon, delta)-DP for every epsilon."""
    return epsilon / sqrt(2 * log(2 / delta))


@pytest.mark.parametrize(("delta", "expected"), [(1e-6, 9.73), (1e-3, 8.51)])
def test_e15_first_fails_at(delta, expected):
    def holds(epsilon):
        return gdp.delta(mu=lemma7_mu(epsilon, delta), epsilon=epsilon) <= delta

    assert_first_failure(holds, expected, 5e-3, low=0.01, high=50)


@pytest.mark.parametrize("delta", [1e-6, 1e-3])
@pytest.mark.parametrize("epsilon", [1, 8, 10, 20])
def test_e15_exact_calibration_holds_on_both_sides(epsilon, delta):
    mu = gdp.mu(epsilon=epsilon, delta=delta)
    assert exact_delta(mu, epsilon) <= delta
    fails = exact_delta(lemma7_mu(epsilon, delta), epsilon) > delta
    assert fails == (epsilon > 9)
    assert (mu < lemma7_mu(epsilon, delta)) == fails
