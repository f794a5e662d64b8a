"""Audits of scoring steps: their likelihood ratio is known, sound ones pass, and broken variants are caught."""

from dataclasses import replace

import numpy as np
import pytest

from discreet import Domain
from discreet.audit import Neighbours, Subject, audit, subject_of
from discreet.domain.coordinates import CoordinateMap
from discreet.domain.encoding import ONE
from discreet.families.coordinates import ModelCoordinates
from discreet.gate import coordinates as gate
from discreet.gate import statistics as moments
from discreet.gate.noise import add_normal_on_grid
from discreet.privacy.events.coordinates import StageEvent
from discreet.recipes.base import Spending

EPSILON, DELTA = 8.0, 1e-6
CLASSES = ({"x": 1.0, "y": 1}, {"x": -1.0, "y": 0}) * 16, ({"x": 1.0, "y": 0},)
COUNTS = ({"x": 1.0, "y": 4.0}, {"x": -1.0, "y": 0.0}) * 16, ({"x": 1.0, "y": 0.0},)
THREE = ({"x": 1.0, "y": 2}, {"x": -1.0, "y": 0}, {"x": 0.5, "y": 1}) * 10, ({"x": 1.0, "y": 0},)
OF_THREE = Domain({"x": (-1, 1), "y": [0, 1, 2]})
METHODS = {
    "classes": ("DPLogisticRegression", {"covariance": "robust"}, CLASSES),
    "a hinge": ("DPLinearSVC", {}, CLASSES),
    "counts": ("DPPoissonRegression", {"covariance": "robust"}, COUNTS),
    "three classes": ("DPLogisticRegression", {"covariance": "classical", "domain": OF_THREE}, THREE),
}
SANDWICH = {"cross", "information", "meat"}
AT_MODEL = {"classes": SANDWICH, "counts": SANDWICH, "three classes": {"cross", "pair information"}}
FITS, MANY = 60, 200
MORE = pytest.mark.more


def attacked(subject, tables, fits=FITS):
    common, person = tables
    return audit(subject, fits=fits, pair=Neighbours(subject.domain, common, (), person), seed=1)


def of(name, **options):
    method, own, tables = METHODS[name]
    return subject_of(method, EPSILON, DELTA, **own | options), tables


def at_models(found):
    own = (event for event in found.promise.events if isinstance(event, StageEvent))
    return [event for event in own if isinstance(event.coordinates, ModelCoordinates)]


@pytest.mark.parametrize("name", [*list(METHODS)[:1], *(pytest.param(own, marks=MORE) for own in list(METHODS)[1:])])
def test_noise_that_is_too_small_is_caught(name, monkeypatch):
    subject, tables = of(name)
    sound = attacked(subject, tables)
    kinds = {block.statistic for event in at_models(sound) for block in event.blocks}
    assert kinds >= AT_MODEL.get(name, {"cross"})
    assert len(at_models(sound)) >= 8
    assert not sound.broken
    assert 0.9 < sound.noise["sums"].ratio < 1.1
    monkeypatch.setattr(moments, "add_normal_on_grid", lambda x, sd, m, s: add_normal_on_grid(x, 0.8 * sd, m, s))
    found = attacked(subject, tables)
    assert found.broken
    assert found.noise["sums"].ratio < 0.9


@MORE
@pytest.mark.parametrize("name", METHODS)
def test_a_quarter_of_the_noise_is_caught_by_the_guesses_alone(name, monkeypatch):
    subject, tables = of(name)
    monkeypatch.setattr(moments, "add_normal_on_grid", lambda x, sd, m, s: add_normal_on_grid(x, 0.25 * sd, m, s))
    assert replace(attacked(subject, tables, MANY), noise={}).broken


@MORE
@pytest.mark.parametrize("name", ["classes", "counts"])
def test_steps_without_noise_are_caught(name, monkeypatch):
    """The noise of U'e is forgotten in stages at a model, and that of all other statistics is sound."""
    subject, tables = of(name)
    right = gate.noisy_blocks

    def forget(exact, noise, entropy):
        found = zip(right(exact, noise, entropy), exact, noise, strict=True)
        return tuple(bare(*parts, *sds) if [len(part) for part in parts] == [2] else own for own, parts, sds in found)

    def bare(part, noise):
        _, m, more = noise
        return (moments.GridValues(m - more, tuple((part >> m).tolist())),)

    monkeypatch.setattr(gate, "noisy_blocks", forget)
    assert attacked(subject, tables).broken


@MORE
def test_residuals_that_are_not_clipped_are_caught(monkeypatch):
    """A count far above all others, whose residual would move U'e by many times what is claimed."""
    domain = Domain({"x": (-1, 1), "y": (0, 400)})
    subject = subject_of("DPPoissonRegression", EPSILON, DELTA, domain=domain, rows=640)
    tables = ({"x": 1.0, "y": 2.0}, {"x": -1.0, "y": 1.0}) * 320, ({"x": 1.0, "y": 400.0},)
    assert not attacked(subject, tables, MANY).broken

    def unclipped(self, V, E):
        start = 0
        for v, widths in zip(V, self._widths, strict=True):
            E[start : start + len(widths)] = np.rint(v / widths[:, None])
            start += len(widths)

    monkeypatch.setattr(CoordinateMap, "_clip", unclipped)
    assert replace(attacked(subject, tables, MANY), noise={}).broken


@MORE
def test_rows_that_are_not_shortened_are_caught(monkeypatch):
    """Coordinates u of any length: a row far from all others moves every sum by more than is claimed."""
    domain = Domain({"x": (-100, 100), "y": [0, 1]})
    subject = subject_of("DPLogisticRegression", EPSILON, DELTA, domain=domain)
    tables = ({"x": 1.0, "y": 1}, {"x": -1.0, "y": 0}) * 16, ({"x": 100.0, "y": 0},)
    assert not attacked(subject, tables, MANY).broken
    right = CoordinateMap.rotate

    def long(self, A):
        found = right(self, A)
        own = found.U * (found.row_norms / self._radius)
        found.U[:] = np.clip(np.rint(own), -16 * ONE, 16 * ONE)
        return found

    monkeypatch.setattr(CoordinateMap, "rotate", long)
    assert replace(attacked(subject, tables, MANY), noise={}).broken


@MORE
def test_steps_that_are_not_accounted_for_are_caught(monkeypatch):
    subject, tables = of("classes")
    monkeypatch.setattr(Spending, "left", lambda self, share=1.0: 0.999 * self.mu)
    found = attacked(subject, tables)
    assert any("own check: epsilon of all events" in problem for problem in found.problems)


@MORE
@pytest.mark.parametrize("name", ["DPLogisticRegression", "DPPoissonRegression"])
def test_all_rows_of_a_person_stay_within_the_promise_to_persons_and_break_that_to_rows(name):
    tables = CLASSES if name == "DPLogisticRegression" else COUNTS
    columns = {"x": (-1, 1), "y": [0, 1] if tables is CLASSES else (0, 4)}
    own = Domain(columns, person="who", rows_per_person=4)
    pair = Neighbours(own, tables[0], (), tables[1])
    given = {"rows": None, "covariance": "robust"}
    promised = Subject(subject_of(name, EPSILON, DELTA, domain=own, **given).estimator, "y", ("x",))
    found = audit(promised, fits=FITS, pair=pair, seed=1)
    assert any(event.radii for event in at_models(found))
    assert not found.broken
    assert 0.9 < found.noise["sums"].ratio < 1.1
    to_rows = Subject(subject_of(name, EPSILON, DELTA, domain=Domain(columns), **given).estimator, "y", ("x",))
    assert audit(to_rows, fits=MANY, pair=pair, seed=1).broken


@MORE
@pytest.mark.parametrize("name", ["DPLogisticRegression", "DPPoissonRegression"])
def test_a_heavy_row_stays_within_the_promise(name):
    tables = CLASSES if name == "DPLogisticRegression" else COUNTS
    columns = {"x": (-1, 1), "y": [0, 1] if tables is CLASSES else (0, 4)}
    own = Domain(columns, weights="w", largest_weight=4.0)
    given = {"rows": None, "covariance": "robust"}
    subject = Subject(subject_of(name, EPSILON, DELTA, domain=own, **given).estimator, "y", ("x",))
    found = audit(subject, fits=FITS, pair=Neighbours(own, tables[0], (), tables[1]), seed=1)
    assert not found.broken
    assert 0.9 < found.noise["sums"].ratio < 1.1
