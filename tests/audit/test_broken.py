"""Broken variants of every mechanism are caught, and the sound ones are not; all noise is from seeds."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from discreet import Domain, NappAugmentation
from discreet.audit import Neighbours, Subject, audit, subject_of
from discreet.drivers import run
from discreet.gate import coordinates
from discreet.gate import statistics as moments
from discreet.gate.noise import add_normal, add_normal_on_grid, add_rounded_normal, normals, spherical_laplace
from discreet.mechanisms.gradient_descent import batches_release as batches
from discreet.mechanisms.gradient_descent import release as descent
from discreet.mechanisms.gradient_descent.event import BatchesEvent, GradientEvent
from discreet.mechanisms.napp import release as napp
from discreet.mechanisms.napp.event import NappEvent
from discreet.mechanisms.objective_perturbation import release as objective
from discreet.mechanisms.objective_perturbation.event import ObjectiveEvent
from discreet.mechanisms.output_perturbation import release as output
from discreet.mechanisms.output_perturbation.event import OutputEvent
from discreet.mechanisms.posterior_sampling import release as posterior
from discreet.mechanisms.posterior_sampling.adaptive_event import AdaptiveEvent
from discreet.mechanisms.posterior_sampling.ball_release import Ball
from discreet.mechanisms.posterior_sampling.event import BallEvent, PosteriorEvent, PrintedEvent
from discreet.mechanisms.reuse_covariance.event import PublicOutcomesEvent, SampledEvent
from discreet.mechanisms.subsample_aggregate import release as aggregate
from discreet.mechanisms.subsample_aggregate.event import AggregateEvent
from discreet.privacy.events import kinds
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import GaussianEvent
from discreet.recipes.base import Spending
from discreet.recipes.rules import NEWEST, RULES

EPSILON, DELTA = 8.0, 1e-6
LESS = 0.8
ZERO, ONE, AGAINST = {"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 1.0}, {"x": 1.0, "y": -1.0}


def attacked(subject, fits, common=(ZERO,) * 32, person=(ONE,), instead=(), **options):
    return audit(subject, fits=fits, pair=Neighbours(subject.domain, common, instead, person), seed=1, **options)


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


def laplace(times):
    def noise(d, source):
        b, error = spherical_laplace(d, source)
        return times * b, error

    return noise


def in_objective(times):
    drawn = objective._noise

    def noise(event, d, entropy):
        b, error = drawn(event, d, entropy)
        return times * b, error

    return noise


def in_ball(times):
    return lambda S, b, gamma, penalty, radius: Ball(S, b, gamma / times**2, penalty, radius)


CLASSES = {"common": ({"x": 1.0, "y": 1}, {"x": -1.0, "y": 0}) * 16, "person": ({"x": 1.0, "y": 0},)}
COUNTS = {"common": ({"x": 1.0, "y": 4.0}, {"x": -1.0, "y": 0.0}) * 16, "person": ({"x": 1.0, "y": 0.0},)}
THREE = Domain({"x": (-1, 1), "y": [0, 1, 2]})
FLAT = {"common": ({"x": 1.0, "y": 0.0},) * 32}
FAR = {"common": (ONE,) * 32}
MOVED = {"instead": ({"x": -1.0, "y": 1.0},)}
WITH_INTERCEPT = {"fit_intercept": True}
NO_INTERCEPT = {"fit_intercept": False}
PURE = {"noise": "laplace", "delta": None}
AUGMENTED = {"published": "li2021", "penalty": "l2", "alpha": 1.0} | WITH_INTERCEPT
AUGMENTED |= {"augmentation": NappAugmentation(n_e=None, iterations=2)}


@dataclass(frozen=True)
class Smaller:
    """A variant with less noise: of which event, where noise is added, what stands there instead, and what is tried."""

    event: type
    place: ModuleType
    what: str
    made: Callable[[float], Any]
    method: str
    fits: int
    options: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, Any] = field(default_factory=dict)
    slow: bool = False


def sums(event, method, fits, options=None, tables=None, slow=False):
    return Smaller(event, moments, "add_normal_on_grid", on_grid, method, fits, options or {}, tables or {}, slow)


def perturbed(method, fits, options=None, tables=None, slow=True):
    return Smaller(ObjectiveEvent, objective, "_noise", in_objective, method, fits, options or {}, tables or {}, slow)


def drawn(event, method, fits, options=None, tables=None, slow=True):
    return Smaller(event, posterior, "normals", standard, method, fits, options or {}, tables or {}, slow)


SMALLER = {
    "sums": sums(GaussianEvent, "SSP", 200),
    "an eigenvalue": sums(GaussianEvent, "AdaSSP", 200),
    "sums of a sample": sums(SampledEvent, "ReuseCov", 160, {"subsample": 0.4}, slow=True),
    "sums with public outcomes": sums(
        PublicOutcomesEvent, "ReuseCov", 100, {"association": "projection", "neighbors": "replace-one"}, MOVED
    ),
    "sums in stages": sums(StageEvent, "DPLinearRegression", 60),
    "sums in three stages, and row norms": sums(StageEvent, "DPLinearRegression", 60, {"stages": 3}),
    "steps of a model of classes": sums(StageEvent, "DPLogisticRegression", 40, {"stages": 3}, CLASSES),
    "steps of a model of counts": sums(StageEvent, "DPPoissonRegression", 60, tables=COUNTS),
    "an objective": perturbed("ObjectivePerturbation", 300, WITH_INTERCEPT, slow=False),
    "an objective with Laplace noise": perturbed("ObjectivePerturbation", 600, WITH_INTERCEPT | PURE),
    "classes as declared": perturbed("DPLogisticRegression", 260, {"stages": 1}, CLASSES),
    "classes by a smooth hinge": perturbed("DPLinearSVC", 260, {"stages": 1}, CLASSES),
    "classes with a lasso": perturbed("DPLogisticRegression", 440, {"penalty": "l1", **NO_INTERCEPT}, CLASSES),
    "classes with Laplace noise": perturbed("DPLogisticRegression", 400, PURE, CLASSES),
    "a smooth hinge with Laplace noise": perturbed("DPLinearSVC", 400, PURE, CLASSES),
    "three classes": perturbed("DPLogisticRegression", 120, {"domain": THREE, "stages": 1}, tables=CLASSES),
    "classes after a pilot": perturbed("DPLogisticRegression", 260, {"adaptive": True}, CLASSES),
    "counts as declared": perturbed("DPPoissonRegression", 260, {"stages": 1}, COUNTS),
    "a lasso": perturbed("NAPP", 440, tables=FAR),
    "a lasso with Laplace noise": perturbed("NAPP", 700, PURE, FAR),
    "augmented rows": Smaller(NappEvent, napp, "normals", standard, "NAPP", 260, AUGMENTED),
    "augmented rows with Laplace noise": Smaller(
        NappEvent, napp, "spherical_laplace", laplace, "NAPP", 400, AUGMENTED | PURE, slow=True
    ),
    "a posterior sample": drawn(PosteriorEvent, "OPS", 440),
    "a sample by printed constants": drawn(PrintedEvent, "OPS", 440, {"published": "wang2018-code"}, slow=False),
    "an adaptive one by printed constants": drawn(PrintedEvent, "AdaOPS", 440, {"published": "wang2018"}),
    "a sample in a ball": Smaller(
        BallEvent, posterior, "Ball", in_ball, "OPS", 440, {"calibration": "pure", "delta": None}, FLAT, slow=True
    ),
    "an adaptive sample": Smaller(AdaptiveEvent, posterior, "add_normal", plain, "AdaOPS", 200, slow=True),
    "coefficients": Smaller(OutputEvent, output, "add_normal", plain, "OutputPerturbation", 220),
    "gradients": Smaller(
        GradientEvent, descent, "add_rounded_normal", rounded, "NoisyGradientDescent", 120, WITH_INTERCEPT
    ),
    "batches": Smaller(
        BatchesEvent, batches, "add_rounded_normal", rounded, "NoisySGD", 120, {"steps": 16, "rate": 0.5}
    ),
    "blocks": Smaller(AggregateEvent, aggregate, "add_rounded_normal", rounded, "SubsampleAggregate", 900, slow=True),
}


def test_every_event_has_a_variant_with_less_noise():
    assert {own.event for own in SMALLER.values()} == set(kinds._MECHANISMS.values())


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.more) if v.slow else n for n, v in SMALLER.items()])
def test_noise_that_is_a_fifth_too_small_is_caught(name, monkeypatch):
    own = SMALLER[name]
    subject = method(own.method, **own.options)
    sound = attacked(subject, own.fits, **own.tables)
    assert any(isinstance(event, own.event) for event in sound.promise.events)
    assert not sound.broken
    assert all(0.9 < noise.ratio < 1.1 for noise in sound.noise.values())
    monkeypatch.setattr(own.place, own.what, own.made(LESS))
    found = attacked(subject, own.fits, **own.tables)
    assert found.broken
    assert min(noise.ratio for noise in found.noise.values()) < 0.9


MUCH_SMALLER = {
    # where a variant with almost no noise is told by what it does, too
    "batches": (batches, "add_rounded_normal", rounded, "NoisySGD", {"steps": 4, "rate": 1.0}),
    "blocks": (aggregate, "add_rounded_normal", rounded, "SubsampleAggregate", {}),
}


@pytest.mark.more
@pytest.mark.parametrize("name", MUCH_SMALLER)
def test_noise_that_is_far_too_small_is_caught_by_the_attack_alone(name, monkeypatch):
    place, what, made, known, options = MUCH_SMALLER[name]
    assert not attacked(method(known, 1.0, **options), 400).broken
    monkeypatch.setattr(place, what, made(0.02))
    found = attacked(method(known, 1.0, **options), 400)
    assert replace(found, noise={}).broken


# ---------------------------------------------------------------- events that are forgotten


def test_a_statistic_without_noise_is_caught(monkeypatch):
    """The counts of an outcome, as if one line had been forgotten."""
    monkeypatch.setattr(run, "noisy_blocks", forgetful(16))
    assert attacked(method("DPLinearRegression"), 60).broken


def test_row_norms_without_noise_are_caught(monkeypatch):
    subject = method("DPLinearRegression", stages=3)
    assert any(getattr(event, "of_norms", False) for event in attacked(subject, 60).promise.events)
    monkeypatch.setattr(coordinates, "noisy_blocks", forgetful(len(RULES[NEWEST].edges) + 1))
    assert attacked(subject, 60).broken


def forgetful(size):
    """The function that adds noise, but for statistics of so many numbers."""
    noisy = moments.noisy_blocks

    def without(parts, noise):
        kept = zip(parts, noise, strict=True)
        return tuple(moments.GridValues(m - more, tuple((part >> m).tolist())) for part, (_, m, more) in kept)

    def forget(exact, noise, entropy):
        found = zip(noisy(exact, noise, entropy), exact, noise, strict=True)
        return tuple(without(parts, sds) if len(parts[0]) == size else own for own, parts, sds in found)

    return forget


def test_steps_that_are_not_accounted_for_are_caught(monkeypatch):
    """Each stage takes all of mu, as if the others cost nothing."""
    monkeypatch.setattr(Spending, "left", lambda self, share=1.0: 0.999 * self.mu)
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
    found = audit(subject, fits=160, pair=pair, seed=1)
    assert not found.broken
    assert replace(found, confidence=0.5).epsilon > found.epsilon > 1
    assert np.isfinite(found.roc()).all()
