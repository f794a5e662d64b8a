"""Errata E16 and E17: paper 004's noise held against exact curves; the verified variant holds on the same cases."""

import itertools
from math import exp, expm1, hypot, log, log1p, sqrt

import numpy as np
import pytest

from discreet import ReuseCov
from discreet.privacy import gdp
from discreet.privacy.events.sampled import largest_mu, sampled

DELTA = 1e-6
L = sqrt(2 * log(2.5 / DELTA))
RNG = np.random.default_rng(0)
X, Y = RNG.uniform(-1, 1, (2000, 3)), RNG.uniform(-1, 1, (2000, 4))


def fitted(**options):
    given = {"epsilon": 1, "delta": DELTA, "bounds_X": (-1, 1), "bounds_y": (-1, 1), "fit_intercept": False}
    return ReuseCov(**given | {"neighbors": "replace-one", "random_state": 0, "n_jobs": 1} | options).fit(X, Y)


# ---------------------------------------------------------------- E16


def test_e16_the_changes_of_x_x_and_x_y():
    """B = 1, |y_j| <= 1, l = 4: printed B^2 and sqrt(l) B Y; found sqrt(2) B^2 and 2 sqrt(l) B Y."""
    rows = [np.array(row) for row in ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.6, 0.8))]
    outcomes = [np.full(4, sign) for sign in (-1.0, 1.0)]
    gram = max(np.linalg.norm(np.outer(x, x) - np.outer(w, w)) for x, w in itertools.product(rows, repeat=2))
    pairs = itertools.product(rows, outcomes, rows, outcomes)
    cross = max(np.linalg.norm(np.outer(x, y) - np.outer(w, u)) for x, y, w, u in pairs)
    assert gram == pytest.approx(sqrt(2))
    assert cross == pytest.approx(2 * sqrt(4))


def test_e16_lemma_1_has_epsilon_inside_the_root():
    printed = sqrt(2 * log(1.25 / DELTA) / 0.5)
    found = gdp.epsilon(mu=1 / printed, delta=DELTA)
    assert found == pytest.approx(0.540, abs=5e-4)
    assert found > 0.5
    assert gdp.epsilon(mu=gdp.mu(epsilon=0.5, delta=DELTA), delta=DELTA) <= 0.5


def test_e16_the_step_for_x_x():
    printed = 2 * L / 1.0
    found = gdp.epsilon(mu=sqrt(2) / printed, delta=DELTA / 2)
    assert found == pytest.approx(0.547, abs=5e-4)
    assert found > 0.5
    assert gdp.epsilon(mu=1 / printed, delta=DELTA / 2) < 0.5  # with the change that the paper takes


@pytest.mark.parametrize(("stated", "true"), [(1, 0.950), (2, 2.014)])
def test_e16_the_whole_algorithm(stated, true):
    s = 2 * L / stated
    found = gdp.epsilon(mu=hypot(sqrt(2) / s, 2 / s), delta=DELTA)
    assert found == pytest.approx(true, abs=5e-4)
    assert (found > stated) == (stated == 2)


@pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")
@pytest.mark.parametrize("stated", [1, 2])
def test_e16_the_certificate_of_the_published_variant_recomputes_it(stated):
    """In the paper's layout X'X is a triangle of equal noise, and X'X and X'Y are not both at their worst at once."""
    published = fitted(published="neel2023", epsilon=stated)
    certificate = published.certificate_
    assert certificate.method == "ReuseCov as published in 004"
    assert "E16" in certificate.guarantee.reason or certificate.simulation
    gram, cross = published.release_.blocks
    assert (gram.sd, gram.layout) == (pytest.approx(2 * L * 3 / stated), "uniform")
    assert cross.sd == pytest.approx(2 * L * sqrt(3) * 2 / stated)
    verified = fitted(epsilon=stated)
    assert verified.certificate_.epsilon <= stated
    assert verified.certificate_.epsilon > 0.999 * stated


def test_e16_real_noise_is_claimed_with_the_reason():
    certificate = fitted(published="neel2023", random_state=None).certificate_
    assert certificate.guarantee.status == "claimed"
    assert "E16" in certificate.guarantee.reason
    assert "E16" in certificate.words()


# ---------------------------------------------------------------- E17


@pytest.mark.parametrize(("ratio", "claimed", "true"), [(10, 0.5, 2.76), (50, 0.5, 21.1)])
def test_e17_a_sample_does_not_divide_epsilon(ratio, claimed, true):
    """A step that keeps epsilon_1 = (n/s) epsilon/2 keeps log(1 + (s/n)(e^epsilon_1 - 1)) on the sample, no less."""
    first = ratio * claimed
    found = log1p(expm1(first) / ratio)
    assert found == pytest.approx(true, abs=0.05)
    assert found > 5 * claimed
    # randomised response with epsilon_1 on a sample of one row of n = ratio: the worst pair reaches it
    p = 1 / (1 + exp(-first))
    no = 1 / (1 + exp(first))
    yes = (p + (ratio - 1) * no) / ratio
    assert log(yes / no) == pytest.approx(found, rel=1e-9)


@pytest.mark.parametrize(("ratio", "true"), [(10, 3.885), (50, 42.94)])
def test_e17_the_gaussian_step_itself(ratio, true):
    """Noise for (epsilon_1, delta/2) on X'X, whose change is sqrt(2): exact curve of the sample."""
    mu = sqrt(2) * (ratio * 0.5) / L
    curve = sampled(1 / ratio, mu, "replace-one")
    assert curve.delta(true * (1 - 1e-3)) > DELTA / 2 > curve.delta(true * (1 + 1e-3))


@pytest.mark.parametrize("ratio", [10, 50])
def test_e17_the_verified_variant_holds_on_the_same_case(ratio):
    mu = largest_mu(1 / ratio, "replace-one", 0.5, DELTA / 2, rest=0.0)
    assert sampled(1 / ratio, mu, "replace-one").delta(0.5) <= DELTA / 2
    assert mu < sqrt(2) * (ratio * 0.5) / L
    assert mu > gdp.mu(epsilon=0.5, delta=DELTA / 2)


def test_e17_the_published_sample_says_what_it_costs():
    certificate = fitted(published="neel2023", subsample=0.1, random_state=None).certificate_
    assert certificate.guarantee.status == "claimed"
    assert "E17" in certificate.guarantee.reason
    assert certificate.epsilon > 5
    assert not all(finding.ok for finding in certificate.check())
    verified = fitted(subsample=0.1, random_state=None).certificate_
    assert verified.guarantee.status == "verified"
    assert 0.999 < verified.epsilon <= 1
    assert all(finding.ok for finding in verified.check())


def test_the_published_variants_are_about_replace_one():
    with pytest.raises(ValueError, match="replace-one"):
        fitted(published="neel2023", neighbors="add-remove")
