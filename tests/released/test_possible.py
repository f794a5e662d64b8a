"""What noise cannot do is never found in honest files, however small the table and however large the noise."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from every_file import DOMAIN, MAKERS, PROMISE, bodies
from replayed import by_rules
from small_table import people

from discreet import Domain, DPLinearRegression, DPRidge, Moments, PrivateMoments, release
from discreet.core import chance
from discreet.core.files import digest
from discreet.gate.entropy import NO_NOISE
from discreet.recipes.rules import RULES
from discreet.released.noiseless import _facts, noiseless
from discreet.released.possible import impossible
from discreet.results.saved import check_file

pytestmark = pytest.mark.filterwarnings("ignore")

BOX = Domain.from_bounds(["a", "b"], ["y"], bounds_X=(-1, 1), bounds_y=(-1, 1))
TABLES = {
    "few rows": lambda seed, epsilon: release(
        Moments.from_source(people(3), DOMAIN), epsilon=epsilon, delta=1e-6, random_state=seed
    ),
    "no variation": lambda seed, epsilon: release(
        Moments.from_source(people(40).iloc[[0] * 40], DOMAIN), epsilon=epsilon, delta=1e-6, random_state=seed
    ),
    "at the bounds": lambda seed, epsilon: release(
        Moments.from_source((np.ones((50, 2)), np.ones(50)), BOX), epsilon=epsilon, delta=1e-6, random_state=seed
    ),
    "stages": lambda seed, epsilon: (
        DPLinearRegression(epsilon=epsilon, delta=1e-6, domain=DOMAIN, random_state=seed)
        .fit_source(people(30), "income")
        .release_
    ),
    "rows left out": lambda seed, epsilon: (
        DPLinearRegression(
            epsilon=epsilon, delta=1e-6, domain=Domain(DOMAIN.columns, missing="drop"), random_state=seed
        )
        .fit_source(people(300).assign(age=np.where(np.arange(300) % 3, 40.0, np.nan)), "income")
        .release_
    ),
}


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("name", TABLES)
def test_honest_noise_is_possible(name, epsilon):
    for seed in range(5):
        public = TABLES[name](seed, epsilon)
        assert impossible(public) == []
        assert noiseless(public) is None


def test_facts_that_noise_destroys_hold_as_often_as_chance_has_it():
    """Where each has k bits, 2^-k of them; and all of them without noise."""
    bits, held = [], []
    for seed in range(40):
        facts = [one for one in _facts(TABLES["rows left out"](seed, 1.0)) if one.bits > 1]
        bits += [one.bits for one in facts]
        held += [one.holds for one in facts]
    expected = sum(2.0**-k for k in bits)
    assert abs(sum(held) - expected) <= 1 + 4 * math.sqrt(expected)
    without = release(Moments.from_source(people(500), DOMAIN), **PROMISE | {"random_state": NO_NOISE})
    assert all(one.holds for one in _facts(without))
    assert noiseless(without) is not None


def test_a_few_noiseless_values_are_enough():
    """One block of counts, of those of a release, without noise."""
    noisy, exact = (
        DPLinearRegression(**PROMISE | {"random_state": state}, domain=DOMAIN)
        .fit_source(people(4000), "income")
        .release_
        for state in (1, NO_NOISE)
    )
    place = next(i for i, block in enumerate(noisy.blocks) if block.statistic == "counts")
    values = list(noisy.values)
    values[place] = exact.values[place]
    assert noiseless(noisy) is None
    assert noiseless(PrivateMoments(noisy.certificate, tuple(values))) is not None


def test_bounds_on_noise_hold_and_are_not_far_from_it():
    """Norms of matrices and vectors of noise, drawn many times, are below their bounds, and not far."""
    rng = np.random.default_rng(0)
    for d in (1, 5, 40):
        draws = [rng.normal(size=(d, d)) for _ in range(200)]
        matrices = [(A + A.T) / 2 for A in draws]  # sd 1 on the diagonal, 1/sqrt(2) off it
        largest = max(float(np.abs(np.linalg.eigvalsh(M)).max()) for M in matrices)
        assert largest < chance.spectral(d, 1.0, math.sqrt(0.5)) < largest + 40
        assert max(float(np.linalg.norm(A[0])) for A in draws) < chance.length(d, 1.0)
    assert 2 * math.exp(-(chance.FAR**2) / 2) < 1e-130
    assert 2.0**-chance.SURE_BITS < 1e-100
    taken = rng.binomial(10_000, 0.3, 1000)
    assert min(chance.most_sampled(float(k), 0.3) for k in taken) > 10_000


@pytest.mark.parametrize("name", MAKERS)
def test_files_of_every_method_are_the_same_each_time(name):
    """The tests of this file and of test_every_field.py rest on it."""
    first = {kind: digest(body) for kind, body in bodies(name).items()}
    bodies.cache_clear()
    assert {kind: digest(body) for kind, body in bodies(name).items()} == first


def test_standard_errors_of_columns_that_do_not_vary_are_no_forgery(tmp_path):
    """X'X is then singular but for its noise, and rounding errors make covariances differ from their transposes."""
    rng, n = np.random.default_rng(0), 20_000
    table = {"a": np.full(n, 10.0), "b": np.zeros(n), "c": np.full(n, 3.3), "d": rng.integers(0, 20, n)}
    frame = pd.DataFrame(table | {"g": rng.choice(list("uvwxyz"), n), "y": rng.standard_cauchy(n), "w": 0.5})
    bounds = {"a": (0, 10), "b": (0, 10), "c": (0, 10), "d": (0, 20), "g": list("uvwxyz"), "y": (-10, 10)}
    domain = Domain(bounds, weights="w", largest_weight=1.0)
    skewed = 0
    for rules, seed in itertools.product(RULES, range(5)):
        model = DPRidge(epsilon=50, delta=1e-6, domain=domain, neighbors="replace-one", rows=60_000, random_state=seed)
        with by_rules(rules):
            model.fit_source(frame, "y")
        G = model.results_.inference.G
        skewed += np.abs(G - G.T).max() > 1e-6 * np.abs(G).max()
        path = tmp_path / f"{rules}-{seed}.json"
        model.results_.save(path, simulation=True)
        wrong = [finding.what for finding in check_file(path)[1] if not finding.ok]
        assert wrong == ["status is 'simulation'"]
    assert skewed
