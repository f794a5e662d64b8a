"""The rules of a release in stages, by version: each constant is replayed, and rare groups have usable estimates."""

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from replayed import by_rules, mismatch

from discreet import Domain, DPLinearRegression, DPLogisticRegression, DPPoissonRegression
from discreet.privacy.events.base import of_kind
from discreet.privacy.events.coordinates import StageEvent
from discreet.recipes import rules as table
from discreet.recipes.geometry import number_of_stages
from discreet.recipes.rules import MODEL_RULES, NEWEST, NEWEST_OF_MODELS, RULES, ModelRules, Rules
from discreet.results.saved import check_saved, load_saved
from discreet.statistics.row_norms import RowNormCounts

LEVELS = list("abcde")
DOMAIN = Domain({"x": (0, 1), "c": LEVELS, "y": (-10, 10)})
RARE, EMPTY = (0.4, 0.3, 0.2, 0.09, 0.01), (0.4, 0.3, 0.2, 0.1, 0.0)


def people(shares, seed, n=10_000):
    rng = np.random.default_rng(seed)
    x, c = rng.uniform(0, 1, n), rng.choice(LEVELS, n, p=shares)
    return pd.DataFrame({"x": x, "c": c, "y": 2 * x + 1.5 * (c == "b") - (c == "e") + rng.normal(size=n)})


def fitted(shares, seed, version=NEWEST, n=10_000, epsilon=3.0, **options):
    model = DPLinearRegression(epsilon=epsilon, delta=1e-6, domain=DOMAIN, random_state=seed, n_jobs=1, **options)
    with by_rules(version):
        return model.fit_source(people(shares, seed, n), "y")


def hc1(frame):
    """The heteroscedasticity-consistent standard error of the last level's coefficient in least squares."""
    X = np.column_stack([np.ones(len(frame)), frame["x"], *(frame["c"] == level for level in LEVELS[1:])])
    e = frame["y"] - X @ np.linalg.lstsq(X, frame["y"])[0]
    G = np.linalg.inv(X.T @ X)
    V = G @ (X.T * e.to_numpy() ** 2 @ X) @ G * len(X) / (len(X) - X.shape[1])
    return float(np.sqrt(V[-1, -1]))


# ---------------------------------------------------------------- rare groups


def test_a_level_of_a_hundredth_of_the_rows_has_a_standard_error_near_that_of_least_squares():
    ratios = {1: [], NEWEST: []}
    for seed in range(5):
        expected = hc1(people(RARE, seed))
        for version, own in ratios.items():
            own.append(fitted(RARE, seed, version).results_.std_err["c[e]"] / expected)
    assert np.median(ratios[NEWEST]) <= 2
    assert np.median(ratios[1]) > 10  # its rows were shortened far more than others


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_a_level_without_rows_keeps_a_bounded_coefficient(epsilon):
    """Nothing is known of it: it is shrunk towards the mean of the others, and does not follow noise."""
    for seed in range(5):
        results = fitted(EMPTY, seed, epsilon=epsilon).results_
        assert abs(results.params["c[e]"]) < 4  # the outcome's own spread is 1.4
        assert results.params["c[b]"] == pytest.approx(1.5, abs=0.5)


# ---------------------------------------------------------------- each constant


CHANGED = {
    "several": 1e9,
    "many": 1e9,
    "several_shares": (0.1, 0.2, 0.3, 0.4),
    "several_stage": {"counts": 0.1, "gram": 0.4, "cross": 0.45, "squares": 0.05},
    "scout": (0.4, 0.5),
    "scout_of_two": (0.4, 0.5),
    "edges": tuple(0.8 * 2.0 ** (k / 4) for k in range(25)),
    "norms": 0.04,
    "beyond": 600.0,
    "root_beyond": 30.0,
    "reach": 0.001,
    "noise": 300.0,
    "narrowest": 0.3,
    "clipped": 600.0,
    "root_clipped": 20.0,
    "most_clipped": 0.01,
    "doubt": 64.0,
    "capped": False,
    "counted": False,
    "last_stage": {"counts": 0.05, "gram": 0.2, "cross": 0.72, "squares": 0.03},
}


def test_every_constant_is_tried():
    assert set(CHANGED) == {field.name for field in fields(Rules)}


@pytest.mark.parametrize("name", [name for name in CHANGED if name not in ("doubt", "most_clipped", "counted")])
def test_a_release_by_another_constant_is_found(name, monkeypatch):
    table_of = {"n": 600, "epsilon": 1.0} if name.startswith("several_") else {}
    table_of = {"stages": 2} if name == "scout_of_two" else table_of
    assert mismatch(fitted(RARE, 0, **table_of).release_) is None
    with monkeypatch.context() as patch:
        patch.setitem(table.RULES, NEWEST, replace(RULES[NEWEST], **{name: CHANGED[name]}))
        forged = fitted(RARE, 0, **table_of).release_
        assert mismatch(forged) is None
    assert forged.certificate.recipe["rules"] == NEWEST
    assert mismatch(forged) is not None


def test_a_release_without_counts_of_the_outcome_is_found(monkeypatch):
    own = {"fit_intercept": False, "epsilon": 1.0}
    assert mismatch(fitted(RARE, 0, **own).release_) is None
    with monkeypatch.context() as patch:
        patch.setitem(table.RULES, NEWEST, replace(RULES[NEWEST], counted=CHANGED["counted"]))
        forged = fitted(RARE, 0, **own).release_
    assert mismatch(forged) is not None


def test_no_more_residuals_are_clipped_than_the_most():
    released = fitted(RARE, 0, n=3000, epsilon=1.0).release_
    course, coordinates = released.geometry, released.stages[-1].event.coordinates
    counts = np.full(len(coordinates.widths[0]) + 1, 1.0)
    counts[:4] = 800.0, 600.0, 300.0, 200.0
    expected = {}
    for most in (0.3, 0.12, 0.01):
        own = replace(course, rules=replace(RULES[NEWEST], most_clipped=most, clipped=1e9))
        (place,) = own.chosen({"y": counts}, 0.0, coordinates=coordinates, mu=0.1, final=True)
        expected[most] = counts[place + 1 :].sum() / counts.sum() <= most < counts[place:].sum() / counts.sum()
    assert all(expected.values())


def test_another_doubt_gives_another_model(monkeypatch):
    """It comes after all that was released, and changes the fit alone."""
    released = fitted(RARE, 0).release_
    one = released.fit("y").coef
    with monkeypatch.context() as patch:
        patch.setitem(table.RULES, NEWEST, replace(RULES[NEWEST], doubt=1.0))
        other = type(released)(released.certificate, released.values).fit("y").coef
    assert not np.allclose(one, other, rtol=1e-6)


def test_three_stages_begin_earlier_by_the_newer_rules():
    for version, several in ((1, 30.0), (2, 15.0), (3, 6.0)):
        least = several * 8**1.5
        stages = [number_of_stages(n, 8, constant=True, rules=RULES[version]) for n in (0.99 * least, 1.01 * least)]
        assert stages == [2, 3]


def test_the_last_stage_has_most_of_the_promise_from_many_rows_on():
    """Below that the three stages are alike, and row norms are not counted."""
    for rows, counted in ((600, False), (3000, True)):
        events = fitted(RARE, 0, n=rows, epsilon=1.0).release_.certificate.events
        stages = of_kind(StageEvent, events)
        assert [stage.of_norms for stage in stages] == [False, False, *([True] if counted else []), False]
        first, last = (sum(1 / block.sd**2 for block in stage.blocks) for stage in (stages[1], stages[-1]))
        assert (last > 3 * first) == counted


def test_the_shares_of_a_stage_add_up_to_one():
    stages = [stage for own in RULES.values() for stage in (own.last_stage, own.several_stage)]
    for shares in stages + [stage for own in MODEL_RULES.values() for stage in own.last_stage.values()]:
        assert sum(shares.values()) == pytest.approx(1)
    assert all(sum(own.several_shares) == pytest.approx(1) for own in RULES.values())


# ---------------------------------------------------------------- models of classes and counts

OLD_MODELS = Path(__file__).parents[1] / "files" / "rules"
CHANGED_MODELS = {
    "radius": replace(RULES[2], beyond=600.0),
    "near": False,
    "growth": 1.0,
    "last": MODEL_RULES[2].last,
    "last_stage": MODEL_RULES[2].last_stage,
}


def modelled(seed=0, epsilon=3.0, n=10_000, cls=DPLogisticRegression):
    """A fit to a category with a level of a hundredth of the rows."""
    rng = np.random.default_rng(seed)
    x, c = rng.standard_normal(n).clip(-4, 4), rng.choice(LEVELS, n, p=RARE)
    eta = -0.4 + 0.6 * x + 0.5 * (c == "b") + 0.8 * (c == "e")
    counted = cls is DPPoissonRegression
    y = rng.poisson(np.exp(eta)).clip(0, 20) if counted else rng.random(n) < 1 / (1 + np.exp(-eta))
    domain = Domain({"x": (-4, 4), "c": LEVELS, "y": (0, 20) if counted else bool})
    model = cls(epsilon=epsilon, delta=1e-6, domain=domain, random_state=seed, n_jobs=1)
    return model.fit_source(pd.DataFrame({"x": x, "c": c, "y": y}), "y").release_


def test_every_constant_of_models_is_tried():
    assert set(CHANGED_MODELS) == {field.name for field in fields(ModelRules)}
    for name, own in CHANGED_MODELS.items():
        assert own != getattr(MODEL_RULES[NEWEST_OF_MODELS], name)


@pytest.mark.parametrize("name", CHANGED_MODELS)
def test_a_model_by_another_constant_is_found(name, monkeypatch):
    with monkeypatch.context() as patch:
        changed = replace(MODEL_RULES[NEWEST_OF_MODELS], **{name: CHANGED_MODELS[name]})
        patch.setitem(table.MODEL_RULES, NEWEST_OF_MODELS, changed)
        forged = modelled()
        assert mismatch(forged) is None
    assert forged.certificate.recipe["rules"] == NEWEST_OF_MODELS
    assert mismatch(forged) is not None


@pytest.mark.parametrize("name", ["bought", "visits"])
def test_models_by_the_rules_before_are_replayed_by_them(name, tmp_path):
    """Files that the commit before version 3 wrote: every finding holds. Those of classes differ by version 3."""
    path = OLD_MODELS / f"{name}.model.json"
    old = load_saved(path)
    assert old.certificate.recipe["rules"] == 2
    assert all(finding.ok for finding in check_saved(old))
    assert mismatch(old) is None
    own = replace(old.certificate, recipe=dict(old.certificate.recipe) | {"rules": NEWEST_OF_MODELS})
    assert (own.mismatch(old.values) is None) == (name == "visits")
    assert json.loads(path.read_text())["certificate"]["recipe"]["rules"] == 2


def test_rows_of_a_rare_level_lie_just_within_a_large_radius():
    """In the axes of the steps, not in those that row norms are counted in."""
    events = [event for event in modelled().certificate.events if hasattr(event, "coordinates")]
    (norms,) = [own for own in events if any(block.statistic == RowNormCounts.name for block in own.blocks)]
    farthest = []
    for own in (norms.coordinates, events[-1].coordinates):
        P, places = own.P.floats, [own.design.index(f"c[{level}]") for level in LEVELS]
        gap = np.zeros(len(P))
        gap[places] = -np.array(RARE)
        gap[places[-1]] += 1
        farthest.append(np.linalg.norm(gap @ P) / events[-1].coordinates.radius)
    assert farthest[0] < 0.8
    assert 0.85 < farthest[1] < 1


def test_the_last_stage_of_classes_has_a_fifth_and_that_of_counts_a_half():
    def share(released):
        last = released.certificate.events[-1]
        return last.mu**2 / released.certificate.facts.mu**2

    assert share(modelled()) == pytest.approx(0.2, rel=0.01)
    assert 0.45 < share(modelled(cls=DPPoissonRegression)) < 0.5  # 65 % of what earlier releases leave
