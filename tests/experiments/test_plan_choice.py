"""The study of the defaults of plans: its candidates are what it says, and the shipped ones are the library's own."""

import json
from pathlib import Path

import numpy as np
import pytest
from experiments import uci
from experiments.planning import choice as plan_choice

from discreet import Domain, plan
from discreet.planning import population

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")


@pytest.mark.parametrize("name", plan_choice.SPECTRA)
@pytest.mark.parametrize(("d", "correlation"), [(2, 0.3), (7, 0.1), (30, 0.5)])
def test_spectra_have_the_correlation(name, d, correlation):
    values = plan_choice.spectrum(name)(d, correlation)
    assert values.sum() == pytest.approx(d)
    assert np.all(np.diff(values) <= 1e-12)
    assert values.min() >= 0
    assert np.mean(values**2) == pytest.approx(1 + (d - 1) * correlation**2, rel=1e-6)


def test_the_shipped_candidates_are_the_librarys_own():
    assert plan_choice.spectrum("log-odds")(9, 0.3) == pytest.approx(population.spectrum(9, 0.3), rel=1e-9)
    X = np.random.default_rng(1).standard_normal((200, 5)) @ np.diag([3.0, 1, 1, 1, 0.1])
    ours, theirs = (f(X, np.random.default_rng(2)) for f in (plan_choice.signal("features alike"), population.signal))
    assert ours == pytest.approx(theirs, rel=1e-9)


def test_directions_that_are_alike_explain_alike():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((500, 3)) @ np.diag([5.0, 1.0, 0.2])
    values, U = np.linalg.eigh(X.T @ X / len(X))
    for name, power in plan_choice.POWERS.items():
        explained = np.array([plan_choice.signal(name)(X, rng) @ X @ U / len(X) / np.sqrt(values) for _ in range(4000)])
        assert np.log(explained.std(axis=0)) == pytest.approx(power * np.log(values), abs=0.06)


def test_a_cell_is_the_plan_of_the_library():
    (one,) = [one for one in plan_choice.facts(ROOT / plan_choice.STUDY) if one["data"] == "servo"]
    found = plan_choice.work(one | plan_choice.SHIPPED | {"draws": 3})
    domain = Domain.from_bounds([f"x{i}" for i in range(4)], ["y"], data_norm=1.0, bounds_y=(-1, 1), intercept=False)
    wanted = plan(
        domain, "y", rows=150, epsilon=[0.1, 1.0], delta=uci.delta(one["n"]), r_squared=one["R2"],
        mean_square=one["E y2"], methods=["DPLinearRegression"], tighter=False, draws=3,
    )  # fmt: skip
    for row, expected in zip(found, wanted.expected, strict=True):
        assert row["ratio"] * one["truth"][str(expected.epsilon)] == pytest.approx(expected.mse, rel=1e-9)


def test_the_committed_study_shows_the_choice():
    assert len(plan_choice.facts(ROOT / plan_choice.STUDY)) == 31
    rows = json.loads((ROOT / "experiments" / "results" / "plan_choice.json").read_text())["rows"]
    assert len(rows) == len(plan_choice.candidates()) == 11
    assert rows == sorted(rows, key=lambda row: row["A"])
    (shipped,) = [row for row in rows if row["shipped"]]
    assert {name: shipped[name] for name in plan_choice.SHIPPED} == plan_choice.SHIPPED
    (chosen,) = [row for row in rows if row["half A's choice"]]
    assert shipped["B"] < chosen["B"] + 0.03, "what half A would choose now is hardly better on half B"
    (base,) = [row for row in rows if plan_choice.BASE.items() <= row.items()]
    laws = [row for row in rows if row["coefficients"] != plan_choice.BASE["coefficients"]]
    assert all(row["A"] > base["A"] and row["B"] > base["B"] for row in laws)
