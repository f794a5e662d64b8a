"""Reproductions of li2021: their grids, their work at the smallest size, their pictures and verdicts."""

import importlib
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from experiments.li2021 import beside as napp_beside
from experiments.li2021 import simulation as simulation_li2021
from experiments.li2021.panels import area
from experiments.li2021.together import Pairs, Table, curvatures, means, solve, together

from discreet.families import Logistic, Poisson
from discreet.mechanisms.napp.algorithm import iterate
from discreet.mechanisms.napp.augmented import PLACES, DrawnRows

NAMES = [1, 3, 4, 5, 6, 7, 8]


def reproduction(number):
    return importlib.import_module(f"experiments.li2021.fig{number}").REPRODUCTION


@pytest.mark.parametrize("number", NAMES)
def test_cells_say_all_that_their_work_depends_on(number):
    one = reproduction(number)
    assert one.name == f"li2021-fig{number}"
    grids = {size: one.cells(size, None) for size in ("quick", "normal", "full")}
    for cells in grids.values():
        keys = [json.dumps(cell, sort_keys=True) for cell in cells]
        assert len(set(keys)) == len(keys)
        assert all("seed" in cell for cell in cells)
    assert len(grids["quick"]) <= len(grids["normal"]) <= len(grids["full"])


def test_work_is_repeatable():
    cell = simulation_li2021.cells("quick")[0] | {"repeats": 1, "Lambdas": [0.5]}
    assert simulation_li2021.work(cell) == simulation_li2021.work(cell)


def test_areas_of_known_curves():
    guess = pd.DataFrame({"true": [0.2, 0.7], "false": [0.2, 0.7]})
    perfect = pd.DataFrame({"true": [0.5, 1.0], "false": [0.0, 0.0]})
    assert area(guess) == pytest.approx(0.5)
    assert area(perfect) == 1


def test_the_simulation_is_that_of_table_4():
    for name, setting in simulation_li2021.SETTINGS.items():
        X, y = setting.sample(4000, np.random.default_rng(0))
        assert X.shape == (4000, 16)
        assert np.abs(X).max() <= setting.width
        assert np.linalg.norm(X, axis=1).max() <= {"linear": 1, "poisson": 1, "logistic": 2}[name]
        assert np.count_nonzero(setting.theta) == 8
        theta = simulation_li2021.lasso({}, setting.data(X, y), 0.01)
        assert setting.error(theta, X, y) <= setting.error(setting.theta, X, y) * 1.2


def test_the_table_of_the_page():
    rows = napp_beside.work({"loss": "logistic", "n": 200, "chunk": 0, "repeats": 1})
    methods = {row["method"] for row in rows}
    assert methods == {*napp_beside.PUBLISHED, *napp_beside.SOUND["logistic"], simulation_li2021.NON_PRIVATE}
    lines = [napp_beside.line(("logistic", 200, m), [r for r in rows if r["method"] == m]) for m in sorted(methods)]
    assert {line["guarantee"] for line in lines} == {"claimed", "verified", "none"}
    assert napp_beside.page(lines).count("\n") == len(lines) + 1


def test_chunks_are_condensed_to_means_of_all_their_repeats():
    cell = simulation_li2021.cells("quick", "limit", losses=("logistic",))[0] | {"Lambdas": [0.5]}
    rows = [c | row for c in (cell, cell | {"seed": 1}) for row in simulation_li2021.work(c)]
    frame = pd.DataFrame(rows)
    found = simulation_li2021.condense(frame)
    assert len(found) == len(frame) / 2
    assert (found["repeats"] == 4).all()
    each = frame.groupby("method", sort=False)["error"].mean()
    np.testing.assert_allclose(found["error"], each)
    assert "500: logistic 4." in simulation_li2021.repeats(found)


def test_a_quarter_of_the_noise_and_the_printed_budget_are_what_they_say():
    """Without noise all else is the same; eq. (13) as printed retrieves half where there is nothing to retrieve."""
    setting = simulation_li2021.SETTINGS["linear"]
    data = setting.data(*setting.sample(200, np.random.default_rng(0)))
    cell, how = simulation_li2021.cells("quick")[0], {"selection": None, "moor": True}
    b = simulation_li2021.unit_noise(cell, np.random.default_rng(1))
    fits = [
        simulation_li2021.private(
            cell | {"n_e": None, "noise": noise}, data, scale * b, 0.01, how, np.random.default_rng(2)
        )
        for noise, scale in ((1.0, 1.0), (0.25, 4.0))
    ]
    np.testing.assert_allclose(fits[0]["theta"], fits[1]["theta"])
    assert fits[0]["retrieved"] == 0
    assert fits[0]["printed"] == 0.5


@pytest.mark.parametrize("n_e", [1000, None])
@pytest.mark.parametrize("loss", simulation_li2021.SETTINGS)
def test_many_fits_at_once_are_those_of_algorithm_1_one_by_one(loss, n_e, monkeypatch):
    """Given the same rows: a generator draws nothing but rows, so each fit alone can draw them again."""
    for function in (iterate, together):  # weights of small coefficients multiply what is left over
        monkeypatch.setitem(function.__globals__, "_TOLERANCE", 1e-10)
    setting, rng = simulation_li2021.SETTINGS[loss], np.random.default_rng(0)
    data = setting.data(*setting.sample(300, rng))
    cell = {"loss": loss, "epsilon": 0.4, "delta": 1e-4, "noise": 1.0}
    b, methods = simulation_li2021.unit_noise(cell, rng), simulation_li2021.METHODS.values()
    grid = [(how, Lambda) for how in methods for Lambda in simulation_li2021.LAMBDAS[loss][1::2]]
    plans = [replace(simulation_li2021.plan(loss, Lambda, 0.4, **how, n_e=n_e), T=6) for how, Lambda in grid]
    B = np.array([simulation_li2021.noise(cell, b, how) for how, _ in grid])
    for plan, noise, run in zip(plans, B, together(data, plans, B, np.random.default_rng(1)), strict=True):
        alone = iterate(data, setting.loss, plan, noise, np.random.default_rng(1))
        np.testing.assert_allclose(run.thetas, alone.thetas, atol=1e-6)
        np.testing.assert_allclose(run.weights, alone.weights, rtol=1e-3)


@pytest.mark.parametrize("loss", [Poisson(20.0), Logistic()])
def test_means_and_curvatures_are_those_of_the_loss(loss):
    eta = np.linspace(-8, 8, 101)
    _, slope, curvature = loss.parts(eta, np.ones(101))
    found = means(loss, eta.copy())
    np.testing.assert_allclose(found, slope + 1, atol=1e-14)
    np.testing.assert_allclose(curvatures(loss, found), curvature, atol=1e-14)


def rows_and_pairs(loss, n_e, theta, W):
    """Augmented rows one by one, and as those of two fits of which the second has these weights."""
    place, rng = PLACES[loss.name.lower()], np.random.default_rng(0)
    Z, b = rng.standard_normal((n_e // 2, len(theta))), 50 * rng.standard_normal(len(theta))
    D, shift = place.spread(W, n_e), place.shift(b, n_e)
    pairs = Pairs(loss, place, Z, np.array([D / 2, D]), np.array([shift, shift]))
    return DrawnRows(loss, place, Z * D, shift), pairs


@pytest.mark.parametrize("loss", [Poisson(20.0), Logistic()])
def test_the_gradient_of_shared_rows_and_their_expected_hessian(loss):
    theta, W = np.linspace(-3, 4, 6), np.geomspace(10, 1000, 6)
    rows, pairs = rows_and_pairs(loss, 200_000, theta, W)
    _, g, H = rows(theta)
    np.testing.assert_allclose(pairs.gradient(theta[None], np.array([1]))[0], g, atol=1e-9 * np.abs(g).max())
    found, size = pairs.hessian(theta[None], np.array([1]))[0], np.sqrt(np.diag(H))
    assert np.abs((found - H) / np.outer(size, size)).max() < 0.02


def test_the_solver_comes_back_from_far_off():
    """Where a weight has grown at once: all rates are at their limit, and a step of Newton's leads nowhere."""
    loss, theta, W = Poisson(20.0), np.full(6, 10.0), np.array([30.0, 30.0, 30.0, 8e4, 8e4, 30.0])
    rows, pairs = rows_and_pairs(loss, 2000, theta, W)
    rng = np.random.default_rng(2)
    table = Table(rng.uniform(-0.25, 0.25, (50, 6)), rng.poisson(2, 50).astype(float), loss)
    found = solve([table, pairs], np.array([theta, theta]), np.array([W, W]), np.full(2, 1e-6))[1]
    slope = table.loss.parts(table.X @ found, table.y)[1]
    assert np.linalg.norm(rows(found)[1] + table.X.T @ slope) < 1e-4
