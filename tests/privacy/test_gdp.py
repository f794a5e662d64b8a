"""The Gaussian privacy curve against 60-digit arithmetic, its own inverses and dp-accounting."""

import math
from concurrent.futures import ThreadPoolExecutor

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.privacy import gdp

TINY = math.ulp(0.0)
ALMOST_1 = math.nextafter(1, 0)


def exact(mu, epsilon, digits=60):
    """D(mu, epsilon) straight from its definition, with at least this many digits right."""
    guard = 20 + max(0, -2 * math.log10(mu)) + 4 * math.log10(2 + abs(epsilon) / mu + mu)
    with mpmath.workdps(int(digits + guard)):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


def above(x):
    return math.nextafter(x, math.inf)


def below(x):
    return math.nextafter(x, -math.inf)


def log_uniform(rng, low, high, count):
    return np.exp(rng.uniform(math.log(low), math.log(high), count)).tolist()


def assert_mu_is_tight(epsilon, delta):
    mu = gdp.mu(epsilon=epsilon, delta=delta)
    assert exact(mu, epsilon) <= delta < exact(above(mu), epsilon)


def assert_epsilon_is_tight(mu, delta):
    epsilon = gdp.epsilon(mu=mu, delta=delta)
    assert exact(mu, epsilon) <= delta
    assert epsilon == 0 or exact(mu, below(epsilon)) > delta


def assert_delta_is_tight(mu, epsilon):
    delta = gdp.delta(mu=mu, epsilon=epsilon)
    assert below(delta) < exact(mu, epsilon) <= delta


def test_exact_agrees_with_an_integral():
    """The reference itself: D is the integral of the positive part of p - e^epsilon q."""
    for mu, epsilon in [(0.2367, 1), (2, 0.5), (1.5, -0.7), (0.01, 0.02)]:
        with mpmath.workdps(40):
            m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
            start = e / m + m / 2
            excess = mpmath.quad(
                lambda x, m=m, e=e: mpmath.npdf(x - m) - mpmath.exp(e) * mpmath.npdf(x),
                [start, start + 1, start + 4, start + 10, mpmath.inf],
            )
            assert abs(exact(mu, epsilon) / excess - 1) < 1e-25


@pytest.mark.more
def test_mu_is_the_largest_safe_double():
    rng = np.random.default_rng(1)
    points = zip(log_uniform(rng, 1e-3, 50, 2000), log_uniform(rng, 1e-15, 0.5, 2000), strict=True)
    for epsilon, delta in points:
        mu = gdp.mu(epsilon=epsilon, delta=delta)
        assert exact(mu, epsilon) <= delta
        assert exact(above(mu), epsilon) > delta  # much tighter than a factor of 1 + 1e-9


@pytest.mark.more
def test_epsilon_is_the_smallest_safe_double():
    rng = np.random.default_rng(2)
    for mu, delta in zip(log_uniform(rng, 1e-4, 20, 2000), log_uniform(rng, 1e-15, 0.5, 2000), strict=True):
        assert_epsilon_is_tight(mu, delta)


def test_delta_is_the_smallest_safe_double():
    rng = np.random.default_rng(3)
    for mu, score in zip(log_uniform(rng, 1e-8, 100, 2000), rng.uniform(-8, 20, 2000), strict=True):
        assert_delta_is_tight(mu, mu * (score + mu / 2))  # score is a: delta is near Q(score)


@pytest.mark.parametrize("epsilon", [0, 1e-12, 1e-3, 0.7, 50, 1000, 1e12])
@pytest.mark.parametrize("delta", [TINY, 1e-300, 1e-15, 0.3, 0.5, 0.999, ALMOST_1])
def test_the_ends_of_the_domain(epsilon, delta):
    assert_mu_is_tight(epsilon, delta)
    mu = gdp.mu(epsilon=epsilon, delta=delta)
    assert gdp.epsilon(mu=mu, delta=delta) <= epsilon
    assert_epsilon_is_tight(mu, delta)
    assert_epsilon_is_tight(above(mu), delta)


@pytest.mark.parametrize("mu", [1e-300, 1e-8, 1e-4, 1, 100, 1e5])
@pytest.mark.parametrize("delta", [1e-300, 1e-15, 0.5, 0.999])
def test_epsilon_from_tiny_to_vast_mu(mu, delta):
    assert_epsilon_is_tight(mu, delta)


def test_the_stated_error_bound_of_the_curve():
    """Before its enlargement by 1 + 2^-172 the curve is within 2^-182."""
    rng = np.random.default_rng(4)
    for mu, score in zip(log_uniform(rng, 1e-10, 1e3, 300), rng.uniform(-30, 39, 300), strict=True):
        epsilon = max(0.0, mu * (score + mu / 2))
        with mpmath.workdps(100):
            ratio = mpmath.mpf(gdp._curve(mu, epsilon)[0]) / exact(mu, epsilon, digits=90)
            assert abs(ratio - 1 - mpmath.ldexp(1, -172)) < mpmath.ldexp(1, -182)


def test_known_values():
    assert gdp.mu(epsilon=1, delta=1e-6) == pytest.approx(0.23670438066343, rel=1e-13)
    assert gdp.delta(mu=1, epsilon=0) == pytest.approx(math.erf(1 / math.sqrt(8)), rel=1e-15)
    assert gdp.epsilon(mu=1, delta=1e-6) == pytest.approx(4.886, abs=1e-3)


@pytest.mark.parametrize("mu", [1e-8, 0.3, 4.0])
@pytest.mark.parametrize("epsilon", [-1e-300, -1e-9, -0.3, -2.5, -30.0])
def test_negative_epsilon(mu, epsilon):
    assert_delta_is_tight(mu, epsilon)


def test_no_release_costs_nothing():
    assert gdp.delta(mu=0, epsilon=0) == gdp.delta(mu=0, epsilon=3) == 0
    assert gdp.epsilon(mu=0, delta=1e-9) == 0
    assert gdp.delta(mu=0, epsilon=-1) == pytest.approx(-math.expm1(-1), rel=1e-15)


def test_a_delta_below_every_double_is_not_called_zero():
    assert gdp.delta(mu=1e-8, epsilon=1) == TINY
    assert gdp.delta(mu=1e-300, epsilon=1e300) == TINY
    assert gdp.delta(mu=1e-8, epsilon=-1000) == 1
    assert gdp.delta(mu=1e9, epsilon=1) == 1


def test_epsilon_is_zero_when_delta_alone_suffices():
    at_zero = gdp.delta(mu=0.5, epsilon=0)
    assert gdp.epsilon(mu=0.5, delta=at_zero) == 0
    assert 0 < gdp.epsilon(mu=0.5, delta=below(at_zero)) < 1e-15


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, "1", None, True, 1j])
def test_what_is_no_finite_number_is_refused(bad):
    calls = [
        lambda: gdp.delta(mu=bad, epsilon=1),
        lambda: gdp.delta(mu=1, epsilon=bad),
        lambda: gdp.epsilon(mu=bad, delta=0.1),
        lambda: gdp.epsilon(mu=1, delta=bad),
        lambda: gdp.mu(epsilon=bad, delta=0.1),
        lambda: gdp.mu(epsilon=1, delta=bad),
        lambda: gdp.compose([1, bad]),
    ]
    for call in calls:
        with pytest.raises(ParameterError):
            call()


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5])
def test_delta_outside_the_unit_interval_is_refused(delta):
    with pytest.raises(ParameterError, match="delta"):
        gdp.mu(epsilon=1, delta=delta)
    with pytest.raises(ParameterError, match="delta"):
        gdp.epsilon(mu=1, delta=delta)


def test_numbers_out_of_range_are_refused():
    for call in (
        lambda: gdp.delta(mu=-1, epsilon=1),
        lambda: gdp.epsilon(mu=-1e-9, delta=0.1),
        lambda: gdp.epsilon(mu=1e13, delta=0.1),
        lambda: gdp.compose([-1]),
    ):
        with pytest.raises(ParameterError, match="mu must be a number from 0"):
            call()
    for epsilon in (-1e-9, 1e13):
        with pytest.raises(ParameterError, match="epsilon must be a number from 0"):
            gdp.mu(epsilon=epsilon, delta=0.1)


def test_numpy_scalars_are_numbers():
    assert gdp.mu(epsilon=np.float64(1), delta=np.float64(1e-6)) == gdp.mu(epsilon=1, delta=1e-6)
    assert gdp.compose(np.array([3, 4])) == 5


epsilons = st.floats(1e-3, 50)
mus = st.floats(1e-6, 30)
deltas = st.floats(-15, -0.01).map(lambda exponent: 10**exponent)
quick = settings(deadline=None, max_examples=60, derandomize=True)


@quick
@given(epsilons, deltas)
def test_round_trips_agree_to_the_last_bit(epsilon, delta):
    mu = gdp.mu(epsilon=epsilon, delta=delta)
    assert gdp.delta(mu=mu, epsilon=epsilon) <= delta < gdp.delta(mu=above(mu), epsilon=epsilon)
    back = gdp.epsilon(mu=mu, delta=delta)
    assert back <= epsilon
    assert gdp.mu(epsilon=back, delta=delta) == mu


@quick
@given(st.lists(epsilons, min_size=2, max_size=2).map(sorted), deltas)
def test_more_epsilon_allows_more_mu(pair, delta):
    low, high = pair
    assert gdp.mu(epsilon=low, delta=delta) <= gdp.mu(epsilon=high, delta=delta)


@quick
@given(epsilons, st.lists(deltas, min_size=2, max_size=2).map(sorted))
def test_more_delta_allows_more_mu(epsilon, pair):
    low, high = pair
    assert gdp.mu(epsilon=epsilon, delta=low) <= gdp.mu(epsilon=epsilon, delta=high)


@quick
@given(st.lists(mus, min_size=2, max_size=2).map(sorted), deltas, st.floats(-5, 50))
def test_more_mu_costs_more(pair, delta, epsilon):
    low, high = pair
    assert gdp.epsilon(mu=low, delta=delta) <= gdp.epsilon(mu=high, delta=delta)
    assert gdp.delta(mu=low, epsilon=epsilon) <= gdp.delta(mu=high, epsilon=epsilon)


@quick
@given(mus, st.lists(st.floats(-5, 50), min_size=2, max_size=2).map(sorted))
def test_more_epsilon_needs_less_delta(mu, pair):
    low, high = pair
    assert gdp.delta(mu=mu, epsilon=high) <= gdp.delta(mu=mu, epsilon=low) <= 1


@quick
@given(st.lists(st.floats(0, 1e6), max_size=6))
def test_compose_is_the_smallest_safe_double(parts):
    root = gdp.compose(parts)
    with mpmath.workprec(5000):
        total = mpmath.fsum(mpmath.mpf(part) ** 2 for part in parts)
        assert mpmath.mpf(root) ** 2 >= total
        assert root == 0 or mpmath.mpf(below(root)) ** 2 < total


def test_compose():
    assert gdp.compose([]) == 0
    assert gdp.compose([0.1]) == 0.1
    assert gdp.compose([0.5] * 4) == 1
    assert gdp.compose([1e-200, 1e-200]) == pytest.approx(math.sqrt(2) * 1e-200, rel=1e-15)
    assert gdp.compose([1.7e308, 1.7e308]) == math.inf


def test_threads_do_not_disturb_one_another():
    points = [(epsilon, 10.0**-power) for epsilon in (0.001, 1, 30) for power in range(1, 16)]
    alone = [gdp.mu(*point) for point in points]
    with mpmath.workdps(5), ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda point: gdp.mu(*point), points)) == alone


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1, 3, 10, 50])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2, 0.4])
def test_dp_accounting_has_the_same_closed_form(epsilon, delta):
    dp_accounting = pytest.importorskip("dp_accounting")
    mu = gdp.mu(epsilon=epsilon, delta=delta)
    assert 1 / mu == pytest.approx(dp_accounting.get_sigma_gaussian(epsilon, delta), rel=1e-8)
    assert epsilon == pytest.approx(dp_accounting.get_epsilon_gaussian(1 / mu, delta), rel=1e-8)
    loss = dp_accounting.pld.privacy_loss_mechanism.GaussianPrivacyLoss(1 / mu)
    assert gdp.delta(mu=mu, epsilon=epsilon) == pytest.approx(loss.get_delta_for_epsilon(epsilon), rel=1e-8)
    assert gdp.delta(mu=mu, epsilon=-epsilon) == pytest.approx(loss.get_delta_for_epsilon(-epsilon), rel=1e-12)


def test_dp_accounting_composes_to_the_same_curve():
    dp_accounting = pytest.importorskip("dp_accounting")
    parts = [0.3, 0.4, 0.25]
    accountant = dp_accounting.pld.PLDAccountant()
    for part in parts:
        accountant.compose(dp_accounting.GaussianDpEvent(1 / part))
    epsilon = gdp.epsilon(mu=gdp.compose(parts), delta=1e-6)
    assert epsilon <= accountant.get_epsilon(1e-6) <= epsilon * 1.001
