"""Reproductions of paper 002: their grids, their work at the smallest size, their pictures and verdicts."""

import importlib
import json

import numpy as np
import pandas as pd
import pytest
from experiments.li2021 import beside as napp_beside
from experiments.li2021 import simulation as simulation_002
from experiments.li2021.panels import area

NAMES = [1, 3, 4, 5, 6, 7, 8]


def reproduction(number):
    return importlib.import_module(f"experiments.li2021.fig{number}").REPRODUCTION


@pytest.mark.parametrize("number", NAMES)
def test_cells_say_all_that_their_work_depends_on(number):
    one = reproduction(number)
    assert one.name == f"002-fig{number}"
    grids = {size: one.cells(size, None) for size in ("quick", "normal", "full")}
    for cells in grids.values():
        keys = [json.dumps(cell, sort_keys=True) for cell in cells]
        assert len(set(keys)) == len(keys)
        assert all("seed" in cell for cell in cells)
    assert len(grids["quick"]) <= len(grids["normal"]) <= len(grids["full"])


def test_work_is_repeatable():
    cell = simulation_002.cells("quick")[0] | {"repeats": 1, "Lambdas": [0.5]}
    assert simulation_002.work(cell) == simulation_002.work(cell)


def test_areas_of_known_curves():
    guess = pd.DataFrame({"true": [0.2, 0.7], "false": [0.2, 0.7]})
    perfect = pd.DataFrame({"true": [0.5, 1.0], "false": [0.0, 0.0]})
    assert area(guess) == pytest.approx(0.5)
    assert area(perfect) == 1


def test_the_simulation_is_that_of_table_4():
    for name, setting in simulation_002.SETTINGS.items():
        X, y = setting.sample(4000, np.random.default_rng(0))
        assert X.shape == (4000, 16)
        assert np.abs(X).max() <= setting.width
        assert np.linalg.norm(X, axis=1).max() <= {"linear": 1, "poisson": 1, "logistic": 2}[name]
        assert np.count_nonzero(setting.theta) == 8
        theta = simulation_002.lasso({}, setting.data(X, y), 0.01)
        assert setting.error(theta, X, y) <= setting.error(setting.theta, X, y) * 1.2


def test_the_table_of_the_page():
    rows = napp_beside.work({"loss": "logistic", "n": 200, "chunk": 0, "repeats": 1})
    methods = {row["method"] for row in rows}
    assert methods == {*napp_beside.PUBLISHED, *napp_beside.SOUND["logistic"], simulation_002.NON_PRIVATE}
    lines = [napp_beside.line(("logistic", 200, m), [r for r in rows if r["method"] == m]) for m in sorted(methods)]
    assert {line["guarantee"] for line in lines} == {"claimed", "verified", "none"}
    assert napp_beside.page(lines).count("\n") == len(lines) + 1


def test_chunks_are_condensed_to_means_of_all_their_repeats():
    cell = simulation_002.cells("quick", "limit", losses=("logistic",))[0] | {"Lambdas": [0.5]}
    rows = [c | row for c in (cell, cell | {"seed": 1}) for row in simulation_002.work(c)]
    frame = pd.DataFrame(rows)
    found = simulation_002.condense(frame)
    assert len(found) == len(frame) / 2
    assert (found["repeats"] == 4).all()
    each = frame.groupby("method", sort=False)["error"].mean()
    np.testing.assert_allclose(found["error"], each)
    assert simulation_002.repeats(found) == "Repeats: logistic 4.\n"


def test_a_quarter_of_the_noise_and_the_printed_budget_are_what_they_say():
    """Without noise all else is the same; eq. (13) as printed retrieves half where there is nothing to retrieve."""
    setting = simulation_002.SETTINGS["linear"]
    data = setting.data(*setting.sample(200, np.random.default_rng(0)))
    cell, how = simulation_002.cells("quick")[0], {"selection": None, "moor": True}
    b = simulation_002.unit_noise(cell, np.random.default_rng(1))
    fits = [
        simulation_002.private(
            cell | {"n_e": None, "noise": noise}, data, scale * b, 0.01, how, np.random.default_rng(2)
        )
        for noise, scale in ((1.0, 1.0), (0.25, 4.0))
    ]
    np.testing.assert_allclose(fits[0]["theta"], fits[1]["theta"])
    assert fits[0]["retrieved"] == 0
    assert fits[0]["printed"] == 0.5
