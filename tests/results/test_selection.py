"""Selection: sure where the release is, modest where it is not, the same for the same release."""

import json

import numpy as np
import pytest
from small_table import people_moments

from discreet import Domain, Moments, PrivateMoments, release
from discreet.errors import NotReleasedError, ParameterError
from discreet.gate.entropy import NO_NOISE
from discreet.solve.inclusion import Likelihood, inclusion

PUBLIC = release(people_moments(rows=4000), epsilon=2, delta=1e-6, targets=["income"], random_state=3)


def simulated(seed, *, correlation=0.0, n=None, epsilon=None):
    """A sparse table's release, and which variables are in the model."""
    rng = np.random.default_rng(seed)
    n, d = n or int(rng.choice([1000, 4000, 16_000])), 10
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    relevant = rng.permutation(d) < rng.integers(1, d // 2 + 1)
    X = np.clip(X / 2.5, -1, 1)
    f = X @ np.where(relevant, rng.standard_normal(d), 0.0)
    y = np.clip(0.25 * f / f.std() + rng.normal(0.1, 0.25, n), -1, 1)
    domain = Domain.from_bounds([f"x{j}" for j in range(d)], ["y"], bounds_X=(-1, 1), bounds_y=(-1, 1))
    moments = Moments.from_source((X, y), domain, n_jobs=1)
    promise = {"epsilon": epsilon or float(rng.choice([0.3, 1.0, 5.0])), "delta": 1e-6}
    return release(moments, **promise, targets=["y"], random_state=seed), relevant


@pytest.fixture(scope="module", params=[0.0, 0.6])
def many(request):
    """Probabilities and the truth of many variables of tables of all kinds."""
    cases = [simulated(seed, correlation=request.param) for seed in range(40)]
    found = np.concatenate([public.select("y").probability for public, _ in cases])
    return found, np.concatenate([relevant for _, relevant in cases])


def test_probabilities_are_probabilities_and_roughly_calibrated(many):
    found, truth = many
    assert np.all((found >= 0) & (found <= 1))
    surest, unlikely = found > 0.9, found < 0.1
    assert surest.sum() > 20
    assert unlikely.sum() > 20
    assert truth[surest].mean() > 0.85
    assert truth[unlikely].mean() < 0.15
    assert truth[surest].mean() > truth[(found > 0.3) & (found < 0.7)].mean() > truth[unlikely].mean()


def test_irrelevant_variables_are_rarely_sure(many):
    found, truth = many
    assert np.mean(found[~truth] > 0.95) < 0.03


def test_effects_are_found_with_little_noise():
    cases = [simulated(seed, n=16_000, epsilon=8.0) for seed in range(8)]
    found = np.concatenate([public.select("y").probability > 0.5 for public, _ in cases])
    truth = np.concatenate([relevant for _, relevant in cases])
    assert found[truth].mean() > 0.8
    assert found[~truth].mean() < 0.05


def test_with_much_noise_nothing_is_sure():
    public, _ = simulated(2, n=1000, epsilon=0.02)
    found = public.select("y")
    assert {found.verdict(name) for name in found.names} == {"unsure"}


def test_the_same_release_gives_the_same_answer(tmp_path):
    first, second = PUBLIC.select("income"), PUBLIC.select("income")
    assert np.array_equal(first.probability, second.probability)
    PUBLIC.save(tmp_path / "a.json", simulation=True)
    loaded = PrivateMoments.load(tmp_path / "a.json").select("income")
    assert np.array_equal(loaded.probability, first.probability)
    assert str(loaded) == str(first) == repr(first)


def test_names_units_and_tables():
    found = PUBLIC.select("income", ["hours", "region", "age"])
    assert found.names == ("hours", "region[south]", "region[west]", "age")
    assert set(found.chosen(0.9)) >= {"age", "hours"}
    assert dict(zip(found.names, found.coef, strict=True))["age"] == pytest.approx(500, rel=0.4)
    assert found.certificate is PUBLIC.certificate
    body = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert list(body["probability"]) == list(found.names)
    assert body["verdict"]["age"] == found.verdict("age") == "in"
    assert body["guarantee"]["epsilon"] == 2
    lines = str(found).splitlines()
    assert "epsilon = 2" in lines[1]
    shown = [float(line.split()[1]) for line in lines[4:]]
    assert len(shown) == 4
    assert shown == sorted(shown, reverse=True)


def test_the_level_is_a_probability():
    found = PUBLIC.select("income")
    assert set(found.chosen(0.99)) <= set(found.chosen()) <= set(found.chosen(0.01))
    for level in (0, 1, -0.5, "high"):
        with pytest.raises(ParameterError, match="level must lie strictly between"):
            found.chosen(level)
    with pytest.raises(NotReleasedError):
        PUBLIC.select("wealth")


def test_whatever_must_be_in_the_model_has_probability_one():
    e = PUBLIC.equations("income")
    always = np.array([name in ("(intercept)", "age") for name in e.names])
    probability, coefficient = inclusion(Likelihood.of_equations(e), always)
    assert np.all(probability[always] == 1)
    assert np.isfinite(coefficient).all()


def test_a_release_of_one_person_is_unsure_of_everything():
    domain = Domain.from_bounds(["a", "b"], ["y"], bounds_X=(0, 1), bounds_y=(0, 1))
    alone = Moments.from_source((np.full((1, 2), 0.5), np.ones(1)), domain)
    for seed in (NO_NOISE, 0):
        found = release(alone, epsilon=1, delta=1e-6, random_state=seed).select("y")
        assert np.all((found.probability > 0.05) & (found.probability < 0.95))
