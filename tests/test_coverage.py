"""The coverage study: its shortcuts change nothing, its truth is the truth, and its figures keep what is asked."""

import json
from pathlib import Path

import numpy as np
import pytest
from experiments.coverage import intervals as coverage
from experiments.coverage import joint_tests
from experiments.coverage import page as coverage_page
from experiments.coverage.populations import DESIGNS, Population, mean_clipped

from discreet import DPLinearRegression, Moments

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")
RESULTS = Path(__file__).parents[1] / "experiments" / "results" / "coverage.json"


@pytest.mark.parametrize("design", DESIGNS)
def test_tables_that_are_encoded_once_have_the_moments_of_their_rows(design):
    people = Population(design, 3)
    X, y = people.sample(9000, np.random.default_rng(0))
    table = coverage.Table(X, y, people.domain)
    assert table.moments(people.domain) == Moments.from_source((X, y), people.domain)
    low, high = people.bounds_y
    narrow = type(people.domain).from_bounds(
        people.names, ["y"], bounds_X=people.bounds_X, bounds_y=(low + 5, high - 6)
    )
    assert table.moments(narrow) == Moments.from_source((X, y), narrow)


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_the_study_fits_what_a_user_would_fit(epsilon):
    people = Population("skewed", 3)
    X, y = people.sample(2000, np.random.default_rng(1))
    _, ours = coverage.Table(X, y, people.domain).fit(epsilon, np.random.default_rng(2))
    given = {"epsilon": epsilon, "delta": 1e-6, "bounds_X": people.bounds_X, "bounds_y": people.bounds_y}
    real = DPLinearRegression(**given, stages=1, random_state=np.random.default_rng(2)).fit(X, y).results_
    assert real.certificate.declared is not None
    assert ours.to_dict() == real.to_dict()
    assert ours.inference.to_dict() == real.inference.to_dict()


@pytest.mark.parametrize("design", DESIGNS)
def test_the_truth_is_the_fit_to_many_clipped_rows(design):
    people = Population(design, 3)
    X, y = people.sample(400_000, np.random.default_rng(3))
    Z = np.column_stack([np.ones(len(y)), np.clip(X, *people.bounds_X)])
    for low, high in (people.bounds_y, (people.mean_y - 1.5, people.mean_y + 2.5)):
        clipped = np.clip(y, low, high)
        found = np.linalg.lstsq(Z, clipped)[0]
        error = np.std(clipped - Z @ found) * np.sqrt(np.diag(np.linalg.inv(Z.T @ Z)))
        assert np.all(np.abs(people.truth(low, high) - found) < 4.5 * error)
    exact = np.concatenate([[2.0], people.theta])
    moved = np.abs(people.truth(*people.bounds_y) - exact).max()
    assert moved < 1e-6 if design == "independent" else moved > 1e-3
    assert people.textbook() == pytest.approx(0.95, abs=1e-3 if design != "skewed" else 0.03)


def test_mean_clipped_is_an_expectation():
    e = np.random.default_rng(4).standard_normal(200_000)
    for m in (-2.0, 0.3, 5.0):
        drawn = np.clip(m + e, -1.0, 2.0)
        assert mean_clipped(np.array([m]), -1.0, 2.0)[0] == pytest.approx(drawn.mean(), abs=5 * drawn.std() / 447)


@pytest.mark.skipif(not RESULTS.exists(), reason="the study has not been run")
def test_the_committed_study_keeps_what_is_asked():
    rows = json.loads(RESULTS.read_text())["rows"]
    assert len(rows) == 2 * 108
    assert {row["simulations"] for row in rows} == {1000}
    shown = [row for row in rows if not row["flagged"]]
    assert all(0.93 <= row["coverage"] <= 0.975 for row in shown)
    for route in coverage.ROUTES:
        own = [row for row in rows if row["route"] == route]
        assert sum(row["flagged"] for row in own) <= len(own) / 2
    few = [row for row in rows if row["flagged"] and row["available"] > 0]
    assert all(row["coverage"] + 2 * row["error"] >= 0.93 for row in few)
    closer = json.loads(RESULTS.with_name("coverage_limit.json").read_text())["rows"]
    again = {(row["design"], row["d"], row["n"], row["epsilon"], row["route"]): row for row in closer}
    for row in few:
        if row["coverage"] < 0.93:
            more = again[row["design"], row["d"], row["n"], row["epsilon"], row["route"]]
            assert more["coverage"] >= 0.93
            assert more["simulations"] >= 5000
    assert sum(row["naive"] < 0.85 for row in shown) > len(shown) / 3
    page = (RESULTS.parents[2] / "docs" / "coverage.md").read_text()
    assert coverage_page.verdict(rows) in " ".join(page.split())
    assert coverage_page.closer(closer) in " ".join(page.split())


def test_joint_tests_are_counted_for_each_route():
    cell = {"design": "independent", "d": 3, "zeros": 2, "n": 500, "first": 0, "simulations": 2}
    rows = joint_tests.work(cell)
    assert [(row["epsilon"], row["route"]) for row in rows] == [
        (e, r) for e in coverage.EPSILONS for r in coverage.ROUTES
    ]
    assert rows == joint_tests.work(cell)
    last = [row for row in rows if row["epsilon"] == 10]
    assert all(len(row["rejected"]) == len(row["noise"]) == 2 for row in last)
    line = joint_tests.summary(("independent", 3, 2, 500, 10, "release"), [rows[-1]] * 3, 6)
    assert line["available"] == 1
    assert line["size"] == pytest.approx(np.mean(rows[-1]["rejected"], axis=0)[0], abs=1e-4)
    assert not Population("independent", 5, 3).theta[2:].any()


def test_the_committed_joint_tests_reject_at_their_level():
    rows = json.loads(RESULTS.with_name("joint_tests.json").read_text())["rows"]
    assert len(rows) == len(joint_tests.CELLS) * 8
    assert {row["simulations"] for row in rows} == {3000}
    shown = [row for row in rows if row["available"] >= 0.5]
    assert len(shown) > len(rows) / 2
    assert all(0.035 <= row["size"] <= 0.065 for row in shown)
    assert min(row["plain"] for row in shown) < 0.02
    page = (RESULTS.parents[2] / "docs" / "coverage.md").read_text()
    assert page.endswith(coverage_page.joint(rows))
