"""Groups, composition, post-processing, distributions and generalisation, with E20's counterexamples."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_table import DOMAIN, people

from discreet import AdaSSP, DPLinearRegression, Moments, release
from discreet.per_instance import Distribution, compose, group, household, losses, over
from discreet.per_instance import generalization as gen
from discreet.per_instance.composition import identification, simple
from discreet.privacy import gdp


def stick(P, Q, epsilon):
    """The least delta for finite distributions, by definition."""
    return float(np.maximum(np.asarray(P) - math.exp(epsilon) * np.asarray(Q), 0).sum())


def both(P, Q, epsilon):
    return max(stick(P, Q, epsilon), stick(Q, P, epsilon))


# -------------------------------------------------------------------- groups


def test_e20_the_printed_group_delta_fails_in_the_second_direction():
    """P_0 = (0, 1), P_1 = (d, 1 - d), P_2 = (e d, 1 - e d): the first step is (0, d), the second (1, 0)."""
    d = 0.01
    P0, P1, P2 = [0, 1], [d, 1 - d], [math.e * d, 1 - math.e * d]
    epsilons, deltas = [0.0, 1.0], [both(P0, P1, 0.0), both(P1, P2, 1.0)]
    assert deltas == pytest.approx([d, 0])
    E, forth, back = group(epsilons, deltas)
    printed = deltas[0] + deltas[1] * math.exp(epsilons[0])  # wang2017, fact 6.4, for both directions
    assert printed == pytest.approx(d)
    assert stick(P2, P0, E) == pytest.approx(math.e * d)  # 2.7 times as much
    assert stick(P2, P0, E) > 2.7 * printed
    assert stick(P2, P0, E) <= back * (1 + 1e-12)
    assert stick(P0, P2, E) <= forth * (1 + 1e-12)


LAWS = st.lists(st.floats(0.01, 1), min_size=4, max_size=4).map(lambda p: np.array(p) / sum(p))


@settings(max_examples=200, deadline=None)
@given(st.lists(LAWS, min_size=2, max_size=5), st.floats(0, 1.5))
def test_group_losses_cover_both_directions(laws, epsilon):
    steps = [both(p, q, epsilon) for p, q in pairwise(laws)]
    E, forth, back = group([epsilon] * len(steps), steps)
    assert stick(laws[0], laws[-1], E) <= forth + 1e-12
    assert stick(laws[-1], laws[0], E) <= back + 1e-12


@settings(max_examples=200, deadline=None)
@given(
    LAWS, LAWS, st.lists(st.lists(st.floats(0.01, 1), min_size=2, max_size=2), min_size=4, max_size=4), st.floats(0, 2)
)
def test_post_processing_never_costs(P, Q, channel, epsilon):
    K = np.array(channel)
    K /= K.sum(axis=1)[:, None]
    assert stick(P @ K, Q @ K, epsilon) <= stick(P, Q, epsilon) + 1e-12


@settings(max_examples=100, deadline=None)
@given(LAWS, LAWS, st.floats(0.05, 2))
def test_fact_5_bounds_the_odds_of_likely_events(P, Q, epsilon):
    delta = both(P, Q, epsilon)
    if delta == 0:
        return
    least, bound = identification(epsilon, min(delta, 0.5))
    for event in range(1, 15):
        chosen = [bool(event >> k & 1) for k in range(4)]
        p, q = P[chosen].sum(), Q[chosen].sum()
        if min(p, q) >= least:
            assert abs(math.log(p / q)) <= bound + 1e-9


def test_a_household_is_exact_for_sums():
    frame = people(200)
    public = release(Moments.from_source(frame, DOMAIN), epsilon=1, delta=1e-6, targets=["income"])
    members = frame.iloc[[3, 8, 21]]
    whole, rest = (Moments.from_source(f, DOMAIN) for f in (frame, frame.drop(index=members.index)))
    square = 0.0
    for block in public.blocks:
        X, Y = DOMAIN.indices(block.rows), DOMAIN.indices(block.columns)
        gap = whole.floats(list(range(7))) - rest.floats(list(range(7)))
        part = {"gram": gap[np.ix_(X, X)], "cross": gap[np.ix_(X, Y)], "squares": np.diag(gap)[Y]}[block.statistic]
        square += (part**2).sum() / block.sd**2
    assert household(members, public) == pytest.approx(gdp.epsilon(math.sqrt(square), 1e-6), rel=1e-9)
    one = losses(frame, public).epsilon()[3]
    assert household(frame.iloc[[3]], public) == pytest.approx(one, rel=1e-9)
    assert household(members, public) > one


@pytest.mark.filterwarnings("ignore::discreet.DiscreetWarning")
@pytest.mark.parametrize("cls", [DPLinearRegression, AdaSSP])
def test_one_person_is_the_smallest_household(cls):
    frame = people(100)
    model = cls(epsilon=2, delta=1e-6, domain=DOMAIN).fit(frame.drop(columns="income"), frame["income"])
    own, alone = losses(frame, model).epsilon(), household(frame.iloc[[5]], model)
    assert alone >= own[5] * (1 - 1e-9)  # equal for sums; the eigenvalue is bounded
    if cls is DPLinearRegression:
        assert alone == pytest.approx(own[5], rel=1e-9)


def test_losses_of_two_releases_compose():
    frame = people(100)
    moments = Moments.from_source(frame, DOMAIN)
    first, second = (losses(frame, release(moments, epsilon=e, delta=1e-6)) for e in (1, 2))
    total = compose(first, second)
    assert total.mu() == pytest.approx(np.hypot(first.mu(), second.mu()))
    assert (total.epsilon(1e-6) < first.epsilon(1e-6) + second.epsilon(1e-6)).all()
    assert total.for_all(1e-6) >= total.epsilon(1e-6).max()
    assert simple([1, 2], [1e-6, 1e-6]) == (3.0, 2e-6)
    with pytest.raises(ValueError, match="same rows"):
        compose(first, losses(frame[:50], release(moments, epsilon=1, delta=1e-6)))


# -------------------------------------------------------------------- distributions


def test_moments_quantiles_and_tails():
    rng = np.random.default_rng(0)
    values = rng.exponential(1.0, 4000)
    found = Distribution(values)
    assert found.moments(3) == pytest.approx([np.mean(values**k) for k in (1, 2, 3)])
    levels = [0.0, 0.1, 0.5, 0.99, 1.0]
    assert found.quantiles(levels) == pytest.approx(np.quantile(values, levels, method="inverted_cdf"))
    for t in (0.5, 2.0, 5.0):
        assert np.mean(values >= t) <= found.tail(t) <= 1
    assert found.tail(5.0) < 0.1


def test_covariate_shift_reweights_the_targets():
    """Targets from N(1, 1) by reweighting those from N(0, 1)."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal(200_000)
    shifted = Distribution(z**2).shifted(np.exp(z - 0.5))
    assert shifted.moments(1)[0] == pytest.approx(2.0, abs=0.1)  # E z^2 under N(1, 1)
    assert Distribution(z**2).moments(1)[0] == pytest.approx(1.0, abs=0.02)


def test_losses_over_data_sets_for_one_person():
    """A mean of n values in [0, 1] with noise of sd 0.1: the fewer they are, the more one of them matters."""
    found = over(range(1, 50), loss=lambda n: gdp.epsilon(1 / n / 0.1, 1e-6), where=lambda n: n >= 10)
    assert found.largest == gdp.epsilon(1.0, 1e-6)
    with pytest.raises(ValueError, match="assumption"):
        over([1], loss=float, where=lambda n: n > 1)


def test_bad_distributions_are_refused():
    for values, weights in (([], None), ([-1.0], None), ([1.0], [0.0]), ([1.0], [1.0, 2.0]), ([math.nan], None)):
        with pytest.raises(ValueError, match="must hold"):
            Distribution(values, weights)
    with pytest.raises(ValueError, match="from 0 to 1"):
        Distribution([1.0]).quantiles([2])


# -------------------------------------------------------------------- generalisation


def test_e20_the_printed_proposition_11_fails():
    """One row, a with probability 0.1, else b; theta = 1 with probability 1/2 + d for a, 1/2 - d for b.

    Without the row theta is fair, so epsilon = 0 and delta = d. The target population is a; the loss is [theta = 1].
    """
    p, d = 0.1, 0.01
    weighted_train = p * (1 / p) * (0.5 + d)
    test = p * (0.5 + d) + (1 - p) * (0.5 - d)
    gap = weighted_train - test
    assert gap == pytest.approx(1.8 * d)
    assert both([0.5, 0.5], [0.5 + d, 0.5 - d], 0.0) == pytest.approx(d)
    printed = (math.exp(0) - 1) + d + 0.0 * d
    mended = gen.cross_domain([[0.0]], [[d]], [[0.0]], [[d]])
    assert printed < gap <= mended == pytest.approx(2 * d)


def test_e20_the_assumption_of_corollary_12_is_vacuous():
    epsilon = np.array([0.0, 1e-6])
    assert np.exp(2 * epsilon).mean() > 1
    e, e2, d = np.array([[0.5, 1.0, 2.0]]), np.array([[1.0, 0.5, 0.2]]), 0.01
    mended = gen.corollary12(e, e2, d)
    assert gen.cross_domain(e, [[d] * 3], e2, [[d] * 3]) <= mended
    assert mended - (np.exp(2 * e).mean() + np.exp(2 * e2).mean()) / 2 + 1 > 2 * d  # the printed last term


def gaussian_mean_gap(n, sigma, rng, draws):
    """E train loss - E test loss of a noisy mean of fair coins, loss = [theta and z on the same side of 1/2]."""
    Z = rng.integers(0, 2, (draws, n))
    theta = Z.mean(axis=1) + sigma * rng.standard_normal(draws)
    train = ((theta > 0.5)[:, None] == (Z == 1)).mean()
    test = ((theta > 0.5) == (rng.integers(0, 2, draws) == 1)).mean()
    return abs(train - test)


@pytest.mark.parametrize(("n", "sigma"), [(5, 0.3), (10, 0.5), (3, 1.0)])
def test_the_bound_covers_a_simulated_gap(n, sigma):
    """The mean is released as a sum over a fixed n, so one coin moves it by 0 or 1/n."""
    gap = gaussian_mean_gap(n, sigma, np.random.default_rng(0), 200_000)
    assert gap > 0.01
    for epsilon in np.linspace(0, 3, 13):
        deltas = [[0.0, gdp.delta(1 / n / sigma, float(epsilon))]] * 2  # coins 0 and 1, given any other coins
        assert gen.on_average([[float(epsilon)] * 2] * 2, deltas) >= gap - 0.003


def test_generalization_needs_pairs():
    with pytest.raises(ValueError, match="two targets"):
        gen.on_average([[0.1]], [[0.0]])
    with pytest.raises(ValueError, match="tables"):
        gen.on_average([0.1], [0.0])
    with pytest.raises(ValueError, match="same data sets"):
        gen.cross_domain([[0.1]], [[0.0]], [[0.1], [0.1]], [[0.0], [0.0]])
