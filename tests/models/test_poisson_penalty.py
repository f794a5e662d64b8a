"""The public penalty of Poisson regression: what it is, that it is public, and what the committed study says of it."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from experiments.defaults import poisson_penalty

from discreet import DPPoissonRegression
from discreet.families import Logistic, Poisson, Squared
from discreet.mechanisms.objective_perturbation.event import Calibration
from discreet.models.perturbed import public_modulus
from discreet.privacy import accounting

RESULTS = Path(__file__).parents[2] / "experiments" / "results"
RNG = np.random.default_rng(1)
X = RNG.uniform(-1, 1, (4000, 3))
Y = np.minimum(RNG.poisson(np.exp(0.5 + X @ [1.0, -0.5, 0.0])), 10)


def calibration(loss, epsilon):
    return Calibration(loss, ("a", "b", "c", "d"), 2.0, epsilon, 1e-6)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_curvature_costs_a_quarter_of_epsilon(epsilon):
    poisson = calibration(Poisson(10.0), epsilon)
    b = 4 * 10.0
    assert math.log1p(b / poisson.least_modulus()) == pytest.approx(epsilon / 4)
    assert math.log1p(4 / calibration(Squared(), epsilon).least_modulus()) == pytest.approx(epsilon / 10)
    assert calibration(Logistic(), epsilon).least_modulus() == pytest.approx(4 / epsilon)
    assert public_modulus(poisson) == pytest.approx(
        max(poisson.least_modulus(), 0.1 * poisson.calibrate(poisson.least_modulus()).scale * 2)
    )


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_the_promise_is_kept_and_used_up(neighbors, noise):
    promise = {"epsilon": 1.0, "delta": None if noise == "laplace" else 1e-6}
    given = {"bounds_X": (-1, 1), "bounds_y": (0, 10), "neighbors": neighbors, "noise": noise, "stages": 1}
    model = DPPoissonRegression(**promise, **given).fit(X, Y)
    (event,) = model.certificate_.events
    assert all(finding.ok for finding in model.certificate_.check())
    assert model.certificate_.guarantee.status == "verified"
    assert accounting.epsilon([event], 1e-6) == pytest.approx(1.0, rel=1e-4)


def test_the_penalty_does_not_depend_on_the_data():
    given = {"epsilon": 1.0, "delta": 1e-6, "bounds_X": (-1, 1), "bounds_y": (0, 10), "stages": 1}
    assert len({DPPoissonRegression(**given).fit(rows, Y[: len(rows)]).modulus_ for rows in (X, X / 9, X[:50])}) == 1


def test_a_cell_of_the_study_has_what_the_library_releases():
    """The noise of the study is that of the calibration, and rules are read off the grid as the library has them."""
    cell = {"n": 1000, "d": 2, "epsilon": 1.0, "slope": 0.5, "Y": 10, "mean": 2, "half": "A", "draws": 2}
    rows = [cell | row for row in poisson_penalty.work(cell)]
    model = calibration(Poisson(10.0), 1.0)
    model = Calibration(model.loss, ("a", "b", "c"), math.sqrt(3.0), 1.0, 1e-6)
    for row in rows:
        assert row["scale"] == pytest.approx(model.calibrate(row["modulus"]).scale, rel=1e-9)
        assert row["excess"] > 0
    points = {row["modulus"]: row["excess"] for row in rows if row["centre"] == 0}
    low, high = (min(points, key=lambda m: abs(m / model.least_modulus() - side)) for side in (0.75, 1.5))
    found = math.exp(poisson_penalty.excess(rows, (0.25, 0.1, 0.0)))
    assert min(points[low], points[high]) <= found <= max(points[low], points[high])


def test_the_committed_study_holds_what_is_claimed():
    rows = json.loads((RESULTS / "poisson_penalty.json").read_text())["rows"]
    plain = [row for row in rows if row["centre"] == 0]
    best = min(plain, key=lambda row: row["half A"])
    (taken,) = [row for row in plain if (row["share"], row["floor"]) == (Poisson.share, 0.1)]
    assert taken["half A"] < 1.03 * best["half A"]
    assert taken["half B"] < 0.7
    assert taken["with levels"] < 0.95
    (before,) = [row for row in plain if (row["share"], row["floor"]) == (0.1, 0.1)]
    assert before["half A"] == before["half B"] == 1
