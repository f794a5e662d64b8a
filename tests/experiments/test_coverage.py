"""The coverage study: its shortcuts change nothing, its truth is the truth, and its figures keep what is asked."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from experiments.coverage import __main__ as study
from experiments.coverage import intervals as coverage
from experiments.coverage import report_page, tables
from experiments.coverage.populations import DESIGNS, Population, mean_clipped

from discreet import DPLinearRegression, Moments
from discreet.privacy.values import ReleasedStage

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")
RESULTS = Path(__file__).parents[2] / "experiments" / "results" / "coverage.json"


@pytest.mark.parametrize("design", DESIGNS)
def test_tables_that_are_encoded_once_have_the_moments_of_their_rows(design):
    people = Population(design, 3)
    X, y = people.sample(9000, np.random.default_rng(0))
    table = coverage.EncodedTable(X, y, people.domain)
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
    _, ours = coverage.EncodedTable(X, y, people.domain).fit(epsilon, np.random.default_rng(2))
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


# ---------------------------------------------------------------- the study


def test_cells_of_the_study_are_repeatable():
    cell = {"population": "wages", "n": 2000, "epsilon": 3.0, "first": 0, "fits": 2, "folder": None}
    (row,) = study.work(cell)
    assert (row,) == tuple(study.work(cell))
    assert row["fits"] == 2
    assert np.all(np.array(row["bounded"]) <= row["given"])
    line = report_page.line(("wages", 2000, 3.0), [row, row])
    assert line["fits"] == 4
    assert 0 <= line["coverage"] <= 1


def test_the_bounded_fit_is_least_squares_where_nothing_is_far():
    people = tables.population("even", None)
    rows = people.sample(4000, np.random.default_rng(0))
    model = DPLinearRegression(epsilon=1, delta=1e-6, domain=people.domain, random_state=0).fit_source(rows, "y")
    stage = model.release_.stages[-1]
    own = stage.event.coordinates
    far = replace(own, radius=1e6, widths=((4.0,),))
    wide = ReleasedStage(replace(stage.event, coordinates=far, chosen=(0,)), stage.values)
    released = SimpleNamespace(stages=[wide], domain=model.release_.domain)
    expected = np.linalg.lstsq(people.design, people.outcome)[0]
    assert study.bounded_fit(released, people.design, people.outcome) == pytest.approx(expected, abs=1e-9)


def test_the_committed_study_keeps_what_is_asked():
    rows = json.loads(RESULTS.read_text())["rows"]
    shown = [row for row in rows if row["given"] >= 0.5]
    at_3 = [row for row in rows if row["epsilon"] == 3]
    assert sum(row["given"] >= 0.5 for row in at_3) >= 0.75 * len(at_3)
    assert sum(row["before"] >= 0.5 for row in rows) < sum(row["given"] >= 0.5 for row in rows)
    assert np.mean([row["coverage"] for row in shown]) == pytest.approx(0.95, abs=0.015)
    made_up = [row for row in shown if row["population"] in tables.MADE_UP]
    assert all(0.92 <= row["coverage"] <= 0.985 for row in made_up)
    page = (RESULTS.parents[2] / "docs" / "results" / "coverage.md").read_text()
    assert report_page.verdict(rows) in page
