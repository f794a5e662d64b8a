"""Broken variants of every mechanism are caught, and the sound ones are not; all noise is from seeds."""

from dataclasses import replace

import numpy as np
import pytest

from discreet import Domain
from discreet.audit import Neighbours, Subject, audit, subject_of
from discreet.gate import batches, descent, moments, objective, output, posterior, steps
from discreet.gate.noise import add_normal, add_normal_on_grid, add_rounded_normal, normals

EPSILON, DELTA = 8.0, 1e-6
LESS = 0.8
ZERO, ONE, AGAINST = {"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 1.0}, {"x": 1.0, "y": -1.0}


def attacked(subject, fits, common=(ZERO,) * 32, person=(ONE,), **options):
    return audit(subject, fits=fits, pair=Neighbours(subject.domain, common, (), person), seed=1, **options)


def method(name, epsilon=EPSILON, delta=DELTA, **options):
    return subject_of(name, epsilon, delta, **options)


def on_grid(times):
    return lambda x, sd, m, source: add_normal_on_grid(x, times * sd, m, source)


def rounded(times):
    return lambda x, sd, source: add_rounded_normal(x, times * sd, source)


def plain(times):
    return lambda values, sd, source: add_normal(values, times * sd, source)


def standard(times):
    return lambda size, source: times * normals(size, source)


def in_objective(times):
    drawn = objective._noise

    def noise(event, d, entropy):
        b, error = drawn(event, d, entropy)
        return times * b, error

    return noise


CLASSES = {"common": ({"x": 1.0, "y": 1}, {"x": -1.0, "y": 0}) * 16, "person": ({"x": 1.0, "y": 0},)}
COUNTS = {"common": ({"x": 1.0, "y": 4.0}, {"x": -1.0, "y": 0.0}) * 16, "person": ({"x": 1.0, "y": 0.0},)}
WITH_INTERCEPT = {"fit_intercept": True}
SMALLER = {
    # where noise is added, with what instead, the method, its options, fits, and tables
    "sums in stages": (moments, "add_normal_on_grid", on_grid, "DPLinearRegression", {}, 60, {}),
    "sums": (moments, "add_normal_on_grid", on_grid, "SSP", {}, 200, {}),
    "an eigenvalue": (moments, "add_normal_on_grid", on_grid, "AdaSSP", {}, 200, {}),
    "gradients": (descent, "add_rounded_normal", rounded, "NoisyGradientDescent", WITH_INTERCEPT, 120, {}),
    "an objective": (objective, "_noise", in_objective, "ObjectivePerturbation", WITH_INTERCEPT, 300, {}),
    "an objective with Laplace noise": (
        objective,
        "_noise",
        in_objective,
        "ObjectivePerturbation",
        WITH_INTERCEPT | {"noise": "laplace", "delta": None},
        600,
        {},
    ),
    "an objective of classes": (objective, "_noise", in_objective, "DPLinearSVC", {}, 260, CLASSES),
    "sums before it": (moments, "add_normal_on_grid", on_grid, "DPPoissonRegression", {}, 60, COUNTS),
    "a posterior sample": (posterior, "normals", standard, "OPS", {}, 440, {}),
    "an adaptive sample": (posterior, "add_normal", plain, "AdaOPS", {}, 200, {}),
    "blocks": (batches, "add_rounded_normal", rounded, "SubsampleAggregate", {}, 900, {}),
    "coefficients": (output, "add_normal", plain, "OutputPerturbation", {}, 220, {}),
}
SLOW = (
    "a posterior sample",
    "an adaptive sample",
    "an objective of classes",
    "an objective with Laplace noise",
    "batches",
    "blocks",
)
"""Of which a fit takes long."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.more) if n in SLOW else n for n in SMALLER])
def test_noise_that_is_a_fifth_too_small_is_caught(name, monkeypatch):
    place, what, made, known, options, fits, tables = SMALLER[name]
    sound = attacked(method(known, **options), fits, **tables)
    assert not sound.broken
    assert all(0.9 < own.ratio < 1.1 for own in sound.noise.values())
    monkeypatch.setattr(place, what, made(LESS))
    found = attacked(method(known, **options), fits, **tables)
    assert found.broken
    assert min(own.ratio for own in found.noise.values()) < 0.9


LAWLESS = {
    # whose law is not known: a variant with almost no noise is told by what it does
    "batches": (batches, "add_rounded_normal", rounded, "NoisySGD", {"steps": 4, "rate": 1.0}, 400, {}),
    "blocks": (batches, "add_rounded_normal", rounded, "SubsampleAggregate", {}, 200, {}),
    "an objective of classes with Laplace noise": (
        objective, "_noise", in_objective, "DPLogisticRegression",
        {"noise": "laplace", "delta": None, "fit_intercept": False}, 400, CLASSES,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.more) if n in SLOW else n for n in LAWLESS])
def test_noise_that_is_far_too_small_is_caught_where_the_law_is_not_known(name, monkeypatch):
    place, what, made, known, options, fits, tables = LAWLESS[name]
    assert not attacked(method(known, 1.0, **options), fits, **tables).broken
    monkeypatch.setattr(place, what, made(0.02))
    assert attacked(method(known, 1.0, **options), fits, **tables).broken


# ---------------------------------------------------------------- events that are forgotten


def test_a_statistic_without_noise_is_caught(monkeypatch):
    """The counts of an outcome, as if one line had been forgotten."""
    noisy = moments.noisy_blocks

    def without(parts, noise):
        kept = zip(parts, noise, strict=True)
        return tuple(moments.GridValues(m - more, tuple((part >> m).tolist())) for part, (_, m, more) in kept)

    def forgetful(exact, noise, entropy):
        found = zip(noisy(exact, noise, entropy), exact, noise, strict=True)
        return tuple(without(parts, sds) if len(parts[0]) == 16 else own for own, parts, sds in found)

    monkeypatch.setattr(steps, "noisy_blocks", forgetful)
    assert attacked(method("DPLinearRegression"), 60).broken


def test_steps_that_are_not_accounted_for_are_caught(monkeypatch):
    """Each stage takes all of mu, as if the others cost nothing."""
    monkeypatch.setattr(steps.Steps, "left", lambda self, share=1.0: 0.999 * self.mu)
    found = attacked(method("DPLinearRegression"), 60)
    assert any("own check: epsilon of all events" in problem for problem in found.problems)


def test_one_step_of_a_descent_without_noise_is_caught(monkeypatch):
    calls = []

    def first_without(x, sd, source):
        calls.append(1)
        return add_rounded_normal(x, sd * (1e-3 if len(calls) % 6 == 1 else 1.0), source)

    monkeypatch.setattr(descent, "add_rounded_normal", first_without)
    assert attacked(method("NoisyGradientDescent", steps=6), 400).broken


# ---------------------------------------------------------------- readers that look at values


def test_types_that_are_inferred_from_values_are_caught():
    """A reader that takes a column of whole numbers for classes, so that one row changes what all others are."""

    def inferred(table, folder):
        frame = table.to_pandas()
        if (frame["x"] % 1 == 0).all():
            frame["x"] = (frame["x"] > 0) * 2.0 - 1.0
        return frame

    subject, common, person = method("SSP"), (ZERO,) * 32, ({"x": 0.5, "y": 1.0},)
    assert not attacked(subject, 160, common, person, path="pandas").broken
    assert attacked(subject, 160, common, person, path=inferred).broken


def test_bounds_that_are_read_off_the_table_are_caught():
    """A method whose outcome is scaled by its largest value."""

    def scaled(table, folder):
        frame = table.to_pandas()
        return frame.assign(y=frame["y"] / frame["y"].abs().max())

    common, person = ({"x": 1.0, "y": 0.125},) * 32, (AGAINST,)
    assert attacked(method("SSP"), 160, common, person, path=scaled).broken


def test_refusals_that_depend_on_one_row_are_caught():
    """A reader that refuses a value where it should move it to the bound."""

    def strict(table, folder):
        return {"x": []} if max(table["y"].to_pylist()) > 1 else table

    person = ({"x": 1.0, "y": 7.0},)
    assert not attacked(method("SSP"), 120, person=person).broken
    found = attacked(method("SSP"), 120, person=person, path=strict)
    assert found.refused == 60
    assert found.broken


# ---------------------------------------------------------------- persons and weights


PERSONS = {"person": "who", "rows_per_person": 2}
COLUMNS = {"x": (-1, 1), "y": (-1, 1)}


@pytest.mark.parametrize("name", ["DPLinearRegression", "SSP"])
def test_all_rows_of_a_person_stay_within_the_promise_to_persons_and_break_that_to_rows(name):
    own = Domain(COLUMNS, **PERSONS)
    pair = Neighbours(own, (ZERO,) * 32, (), (ONE,))
    promised = Subject(method(name, domain=own, rows=None).estimator, "y", ("x",))
    found = audit(promised, fits=80, pair=pair, seed=1)
    assert not found.broken
    assert 0.9 < found.noise["sums"].ratio < 1.1
    to_rows = Subject(method(name, rows=None).estimator, "y", ("x",))
    assert audit(to_rows, fits=120, pair=pair, seed=1).broken


def test_a_heavy_row_stays_within_the_promise():
    own = Domain(COLUMNS, weights="w", largest_weight=4.0)
    subject = Subject(method("DPLinearRegression", domain=own, rows=None).estimator, "y", ("x",))
    found = audit(subject, fits=80, pair=Neighbours(own, (ZERO,) * 32, (), (ONE,)), seed=1)
    assert not found.broken
    assert 0.9 < found.noise["sums"].ratio < 1.1


@pytest.mark.parametrize("name", ["DPLinearRegression", "SSP", "NoisyGradientDescent"])
def test_a_row_that_takes_the_place_of_another_stays_within_the_promise(name):
    subject = method(name, neighbors="replace-one")
    pair = Neighbours(subject.domain, (ZERO,) * 32, (AGAINST,), (ONE,))
    found = audit(subject, fits=80, pair=pair, seed=1)
    assert not found.broken
    assert replace(found, confidence=0.5).epsilon > found.epsilon > 1
    assert np.isfinite(found.roc()).all()
