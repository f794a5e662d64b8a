"""Sampled statistics and public outcomes: curves against integrals and brute force, sampling, calibration."""

import itertools
import math

import numpy as np
import pytest

from discreet import Domain
from discreet.errors import DataError, FileFormatError, ParameterError
from discreet.gate.entropy import OSEntropy, SeededEntropy
from discreet.gate.sampling import FixedSampler, IndependentSampler, sampler
from discreet.mechanisms.reuse_covariance.event import PublicOutcomesEvent, SampledEvent, largest_mu, sampled
from discreet.privacy import accounting, gdp
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.privacy.events.kinds import event_from_dict
from discreet.privacy.laws import Point, Profile, Tail, gaussian_curve, together
from discreet.privacy.sensitivity import mu as cost
from discreet.privacy.sensitivity import public_mu

X = np.linspace(-14, 18, 64_001)
DX = X[1] - X[0]


def normal(mean=0.0):
    return np.exp(-((X - mean) ** 2) / 2) / math.sqrt(2 * math.pi)


def hockey(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * DX)


# ---------------------------------------------------------------- curves

EPSILONS = (-2.0, -0.3, -0.05, 0.0, 0.05, 0.09, 0.2, 1.0, 3.0)


@pytest.mark.parametrize("mu", [0.3, 1.3, 4.0])
@pytest.mark.parametrize("rate", [0.01, 0.1, 0.7])
def test_independent_sampling_by_integration(rate, mu):
    absent, with_row = normal(), (1 - rate) * normal() + rate * normal(mu)
    ways = sampled(rate, mu, "add-remove").ways
    for epsilon in EPSILONS:
        wanted = hockey(with_row, absent, epsilon), hockey(absent, with_row, epsilon)
        found = [float(way(np.array([epsilon]))[0]) for way in ways]
        assert found == pytest.approx(wanted, rel=1e-5, abs=1e-8)
    worse = max(hockey(with_row, absent, 0.2), hockey(absent, with_row, 0.2))
    assert sampled(rate, mu, "add-remove").delta(0.2) == pytest.approx(worse, rel=1e-5, abs=1e-8)


def fixed_size_laws(points, other, size, sd):
    """Output densities of a sum over a sample of `size` rows, for a table and for one with its first row replaced."""
    laws = []
    for table in (points, [other, *points[1:]]):
        samples = list(itertools.combinations(table, size))
        laws.append(sum(normal(sum(s) / sd) for s in samples) / len(samples))
    return laws


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("rest", [(0, 0, 0, 0, 0), (1, 1, 1, 1, 1), (0, 1, 0, 1, 0), (0.5, 0.2, 0.9, 0, 1)])
def test_samples_of_fixed_size_by_brute_force(size, rest):
    """Rows in [0, 1], so that a replaced one moves a sum by 1 at most: no table exceeds the curve."""
    sd, n = 0.6, 6
    curve = sampled(size / n, 1 / sd, "replace-one")
    for first, other in ((0, 1), (1, 0), (0.3, 1)):
        p, q = fixed_size_laws([first, *rest], other, size, sd)
        for epsilon in (-1.0, -0.2, 0.0, 0.1, 0.5, 1.5):
            assert hockey(p, q, epsilon) <= curve.delta(epsilon) + 1e-7


def test_the_curve_of_fixed_size_is_reached():
    """All other rows equal to the first one's replacement: the bound holds with equality."""
    sd, n, size = 0.6, 6, 2
    p, q = fixed_size_laws([1, 0, 0, 0, 0, 0], 0, size, sd)
    for epsilon in (0.1, 0.5, 1.5):
        assert sampled(size / n, 1 / sd, "replace-one").delta(epsilon) == pytest.approx(hockey(p, q, epsilon), rel=1e-4)


def test_more_rows_or_less_noise_cost_more():
    for relation in ("add-remove", "replace-one"):
        deltas = [sampled(rate, mu, relation).delta(0.5) for rate, mu in ((0.1, 1), (0.2, 1), (0.2, 2))]
        assert deltas == sorted(deltas)
        assert sampled(1 - 1e-12, 1.0, relation).delta(0.5) == pytest.approx(gdp.delta(mu=1, epsilon=0.5), rel=1e-6)


def test_the_gaussian_curve_in_float64():
    epsilon = np.linspace(-9, 9, 73)
    for mu in (1e-3, 0.2, 1.0, 6.0):
        exact = np.array([gdp.delta(mu=mu, epsilon=float(e)) for e in epsilon])
        seen = exact > 1e-290
        np.testing.assert_allclose(gaussian_curve(mu, epsilon)[seen], exact[seen], rtol=1e-9)


# ---------------------------------------------------------------- composition


def exact_product(rate, mu, other, epsilon, direction):
    """The hockey stick of (sampled, Gaussian) by a double integral."""
    z = np.linspace(-9, 9, 4001)
    weights = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    way = sampled(rate, mu, "add-remove").ways[direction]
    return float(weights @ way(epsilon - (other * z + other**2 / 2)))


@pytest.mark.parametrize("direction", [0, 1])
def test_the_conditional_formula_by_brute_force(direction):
    """The mean over the Gaussian loss is the hockey stick of the product, integrated over the plane."""
    rate, mu, other, epsilon = 0.3, 1.2, 0.8, 0.4
    x = np.linspace(-9, 11, 2001)
    step = x[1] - x[0]

    def density(mean):
        return np.exp(-((x - mean) ** 2) / 2) / math.sqrt(2 * math.pi)

    absent = np.outer(density(0), density(0))
    with_row = np.outer((1 - rate) * density(0) + rate * density(mu), density(other))
    p, q = (with_row, absent) if direction == 0 else (absent, with_row)
    plane = float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * step**2)
    assert exact_product(rate, mu, other, epsilon, direction) == pytest.approx(plane, rel=1e-4)


@pytest.mark.parametrize(("rate", "mu", "other"), [(0.1, 1.0, 0.2), (0.5, 0.5, 0.5), (0.02, 3.0, 0.1)])
def test_composition_with_a_gaussian_part_is_tight_and_safe(rate, mu, other):
    curve = together([sampled(rate, mu, "add-remove")], other)
    for epsilon in (0.3, 1.0, 2.0):
        exact = max(exact_product(rate, mu, other, epsilon, way) for way in (0, 1))
        assert exact * (1 - 1e-7) <= curve(epsilon) <= exact * 1.002 + 1e-15


def test_composition_of_gaussian_profiles_is_the_gaussian_one():
    profile = Profile((lambda epsilon: gaussian_curve(0.3, epsilon),))
    for laws, mu in (([profile], 0.4), ([profile, profile], 0.4), ([profile, profile], 0.0)):
        total = math.sqrt(0.09 * len(laws) + mu**2)
        for epsilon in (0.2, 1.0):
            exact = gdp.delta(mu=total, epsilon=epsilon)
            assert exact <= together(laws, mu)(epsilon) <= 1.01 * exact


def test_composition_with_other_laws_is_safe():
    """Randomised response beside a profile: the two-point law's exact mean."""
    e0, epsilon = 0.4, 0.7
    p = 1 / (1 + math.exp(-e0))
    exact = p * gdp.delta(mu=0.5, epsilon=epsilon - e0) + (1 - p) * gdp.delta(mu=0.5, epsilon=epsilon + e0)
    profile = Profile((lambda e: gaussian_curve(0.5, e),))
    assert exact <= together([profile, Point(e0)], 0.0)(epsilon) <= 1.01 * exact
    tail = Tail(lambda m: np.where(m < e0, 1.0, 0.0))
    assert together([profile, tail], 0.0)(epsilon) >= exact


def test_accounting_of_events():
    event = SampledEvent(0.1, 1.0, (Block("gram", ("x",), (), 1.0),), "add-remove")
    gaussian = GaussianEvent(0.2, (Block("cross", ("x",), ("y",), 1.0),))
    epsilon = accounting.epsilon([event, gaussian], 1e-6)
    assert accounting.delta([event, gaussian], epsilon) <= 1e-6 < accounting.delta([event, gaussian], 0.999 * epsilon)
    assert epsilon < gdp.epsilon(mu=math.hypot(1.0, 0.2), delta=1e-6)


# ---------------------------------------------------------------- calibration


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("rate", "epsilon"), [(0.01, 0.1), (0.1, 1.0), (0.5, 0.73), (0.9, 4.0)])
def test_calibration_by_inversion(rate, epsilon, relation):
    rest = 0.8 * gdp.mu(epsilon=epsilon, delta=1e-6)
    mu = largest_mu(rate, relation, epsilon, 1e-6, rest)
    assert together([sampled(rate, mu, relation)], rest)(epsilon) <= 1e-6
    assert together([sampled(rate, 1.001 * mu, relation)], rest)(epsilon) > 1e-6
    assert mu > 0.6 * gdp.mu(epsilon=epsilon, delta=1e-6)


def test_nothing_left_for_the_sample_is_an_error():
    with pytest.raises(ParameterError, match="leaves nothing"):
        largest_mu(0.5, "add-remove", 1.0, 1e-6, rest=1.0)


# ---------------------------------------------------------------- sampling


def test_independent_samples_have_their_rate():
    drawn = IndependentSampler(0.3, SeededEntropy(1)).take(200_000)
    assert drawn.mean() == pytest.approx(0.3, abs=4 * math.sqrt(0.21 / 200_000))
    both = drawn[:-1] & drawn[1:]
    assert both.mean() == pytest.approx(0.09, abs=0.004)


def test_every_sample_of_fixed_size_is_as_likely():
    counts = dict.fromkeys(itertools.combinations(range(5), 2), 0)
    source = SeededEntropy(2)
    for _ in range(20_000):
        drawn = FixedSampler(0.4, 5, source)
        mask = np.concatenate([drawn.take(2), drawn.take(3)])
        counts[tuple(np.flatnonzero(mask).tolist())] += 1
    assert min(counts.values()) > 0
    chi2 = sum((count - 2000) ** 2 / 2000 for count in counts.values())
    assert chi2 < 30  # 9 degrees of freedom, p = 4e-4


class Scripted:
    """Words that are known beforehand."""

    simulation = True

    def __init__(self, *words):
        self._words = iter(words)

    def words(self, n):
        return np.array(next(self._words), dtype=np.uint64)


def test_equal_keys_at_the_border_are_drawn_anew():
    drawn = FixedSampler(0.5, 4, Scripted([5, 1, 5, 9], [4, 8, 1, 9]))
    assert drawn.take(4).tolist() == [True, False, True, False]


def test_the_share_is_rounded_down():
    assert FixedSampler(0.5, 7, OSEntropy()).take(7).sum() == 3
    with pytest.raises(DataError, match="no row"):
        FixedSampler(0.1, 7, OSEntropy())
    with pytest.raises(DataError, match="more of them"):
        FixedSampler(0.5, 4, OSEntropy()).take(5)


def test_which_sampling_goes_with_which_relation():
    assert isinstance(sampler(0.1, "add-remove", 100, OSEntropy()), IndependentSampler)
    assert isinstance(sampler(0.1, "replace-one", 100, OSEntropy()), FixedSampler)


# ---------------------------------------------------------------- public outcomes: sensitivity by brute force

DOMAINS = {
    "numbers": (Domain({"a": (-1, 1), "b": (-1, 1), "y": (-1, 1), "u": (-1, 1)}), ["a", "b"]),
    "one number": (Domain({"a": (-1, 1), "y": (-1, 1), "u": (-1, 1)}), ["a"]),
    "no intercept": (Domain({"a": (-1, 1), "b": (-1, 1), "y": (-1, 1), "u": (-1, 1)}, intercept=False), ["a", "b"]),
    "categories": (Domain({"a": (-1, 1), "c": ["r", "s", "t"], "y": (-1, 1), "u": (-1, 1)}), ["a", "c"]),
    "only a category": (Domain({"c": ["r", "s", "t"], "y": (-1, 1), "u": (-1, 1)}), ["c"]),
}


def rows_of(domain, features):
    """Corner rows of the design, every level of a category."""
    places = domain.design(features)
    pieces = [[[1.0]]] if domain.intercept else []
    for name in features:
        levels = domain.columns[name].levels
        pieces.append([[-1.0], [0.0], [1.0]] if not levels else np.eye(len(levels))[:, 1:].tolist())
    rows = np.array([np.concatenate(row) for row in itertools.product(*pieces)])
    assert rows.shape[1] == len(places)
    return rows


@pytest.mark.parametrize("with_gram", [True, False])
@pytest.mark.parametrize("ratio", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("name", DOMAINS)
def test_public_outcomes_by_brute_force(name, ratio, with_gram):
    domain, features = DOMAINS[name]
    design = tuple(domain.entries[i].name for i in domain.design(features))
    T, s_xx, s_xy = 0.9, 3.0, 3.0 * ratio
    cross = Block("cross", design, ("y", "u"), s_xy)
    blocks = [Block("gram", design, (), s_xx), cross] if with_gram else [cross]
    bound = public_mu(blocks, domain, T)
    rows, outcomes, worst = rows_of(domain, features), np.array([0.9, 0.0]), 0.0
    rng = np.random.default_rng(0)
    if name != "only a category":
        mixed = rng.dirichlet(np.ones(len(rows)), 40) @ rows if "c" not in features else rows[:0]
        rows = np.vstack([rows, mixed])
    for z, w in itertools.product(rows, repeat=2):
        change = np.sum((np.outer(z, z) - np.outer(w, w)) ** 2) / s_xx**2 if with_gram else 0.0
        worst = max(worst, change + np.sum(np.outer(z - w, outcomes) ** 2) / s_xy**2)
    assert math.sqrt(worst) <= bound * (1 + 1e-12)
    tight = {"numbers": 0.85, "one number": 0.99, "no intercept": 0.85, "categories": 0.7, "only a category": 0.8}
    assert math.sqrt(worst) >= tight[name] * bound


def test_public_outcomes_cost_less_than_private_ones():
    domain, features = DOMAINS["numbers"]
    design = tuple(domain.entries[i].name for i in domain.design(features))
    blocks = [Block("gram", design, (), 3.0), Block("cross", design, ("y", "u"), 5.0)]
    assert public_mu(blocks, domain, 0.9) < cost(blocks, domain, "replace-one")
    assert public_mu(blocks, domain, math.sqrt(2)) <= cost(blocks, domain, "replace-one")
    for wrong in ([blocks[1], Block("squares", (), ("y",), 1.0)], [Block("gram", ("a",), (), 1.0), blocks[1]]):
        with pytest.raises(ValueError, match="public outcomes"):
            public_mu(wrong, domain, 1.0)


# ---------------------------------------------------------------- files


@pytest.mark.parametrize(
    "event",
    [
        SampledEvent(0.25, 0.5, (Block("gram", ("x",), (), 3.0),), "replace-one"),
        PublicOutcomesEvent(0.5, 1.5, (Block("cross", ("x",), ("y",), 3.0),)),
    ],
)
def test_events_to_dicts_and_back(event):
    facts = event.to_dict()
    assert event_from_dict(facts) == event
    bad = {"rate": 1.0, "full_mu": 0.0, "neighbors": "none", "mu": -1.0, "norm": math.inf}
    for name in facts.keys() & bad.keys():
        with pytest.raises(FileFormatError, match="unknown kind"):
            event_from_dict(facts | {name: bad[name]})
