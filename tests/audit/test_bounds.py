"""Bounds of audits hold with their confidence: by all counts that there can be, without a random number."""

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from discreet.audit import bounds
from discreet.audit.statistics import AuditNoise, GuessCounts, best_threshold, counted, separation, trained

N, FAILURE = 24, 0.05
PLACES = np.arange(N + 1)


def chance(too_large, fp, fn):
    """The probability of all pairs of counts whose bound is too large."""
    p, q = binom.pmf(PLACES, N, fp), binom.pmf(PLACES, N, fn)
    return sum(p[i] * q[j] for i in PLACES for j in PLACES if too_large(GuessCounts(N, N, int(i), int(j))))


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("fp", [0.02, 0.2])
def test_a_bound_on_epsilon_is_too_large_no_more_often_than_it_may_be(epsilon, delta, fp):
    """The best test that (epsilon, delta) allows, at a share of false alarms."""
    fn = max(0.0, 1 - delta - math.exp(epsilon) * fp, math.exp(-epsilon) * (1 - delta - fp))
    too_large = chance(lambda counts: counts.epsilon("epsilon", delta, FAILURE) > epsilon + 1e-9, fp, fn)
    assert too_large <= FAILURE


@pytest.mark.parametrize("mu", [0.2, 1.5, 3.0])
@pytest.mark.parametrize("fp", [0.02, 0.2, 0.5])
def test_a_bound_on_mu_is_too_large_no_more_often_than_it_may_be(mu, fp):
    fn = float(1 - ndtr(ndtri(fp) + mu))
    assert chance(lambda counts: counts.mu(FAILURE) > mu + 1e-9, fp, fn) <= FAILURE


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_a_bound_of_one_run_is_too_large_no_more_often_than_it_may_be(epsilon):
    """Randomised response of each canary keeps epsilon, and no guess is better than its answer."""
    right = binom.pmf(PLACES, N, 1 / (1 + math.exp(-epsilon)))
    found = [bounds.one_run_epsilon(N, N, int(k), 0.0, FAILURE) for k in PLACES]
    assert sum(p for p, bound in zip(right, found, strict=True) if bound > epsilon + 1e-6) <= FAILURE


def test_delta_makes_the_bound_of_one_run_smaller():
    assert bounds.one_run_epsilon(100, 50, 48, 1e-3, 0.05) < bounds.one_run_epsilon(100, 50, 48, 0.0, 0.05)


def test_more_right_guesses_prove_more():
    found = [bounds.mu_of_guesses(k, 100, 0.05) for k in range(101)]
    assert found == sorted(found)
    assert found[50] == 0 < found[70]
    assert bounds.epsilon_between(0.0, 0.0, 0.0) == math.inf
    assert bounds.epsilon_between(0.5, 0.6, 0.0) == 0


@pytest.mark.parametrize("sd", [0.8, 1.0])
def test_noise_that_is_a_fifth_too_small_is_seen(sd):
    noise = [sd * np.random.default_rng(0).normal(size=1000)]
    assert AuditNoise.of(noise).is_small(1e-6) == (sd < 1)
    assert not AuditNoise.of(noise).is_large(1e-6)
    assert AuditNoise.of([2 * noise[0]]).is_large(1e-6)
    assert AuditNoise.of([]).ratio is None
    assert not AuditNoise.of([]).is_small(0.1)


def test_a_trained_statistic_finds_what_differs_in_spread_alone():
    rng = np.random.default_rng(0)
    first, second = (
        np.column_stack([np.zeros(800), rng.standard_cauchy(800) * s, rng.normal(size=800)]) for s in (1, 9)
    )
    score = trained(first[:400], second[:400])
    threshold, _ = best_threshold(score(first[:400]), score(second[:400]), "mu", 0.0)
    found = counted(score(first[400:]), score(second[400:]), threshold)
    assert found.right > 0.7 * found.guesses
    assert separation(first, second) < 0.6
    assert np.array_equal(trained(first[:, :1], second[:, :1])(first[:3, :1]), np.zeros(3))
