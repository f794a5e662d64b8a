"""The comparison of all methods: equal promises, tallies, and the quick run with its page and pictures."""

import math
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from experiments import study, uci
from experiments.comparison import page as comparison_page
from experiments.comparison import uci_sets as comparison
from experiments.comparison.contenders import BY_NAME, CONTENDERS, DEFAULT, EQUAL, NON_PRIVATE, Contender, Task
from experiments.comparison.equal import PRECISION, spent, stated_epsilon
from experiments.comparison.pictures import LINES, OWN
from experiments.comparison.tallies import CAP, by_set, summary

import discreet
from discreet.mechanisms.registry import METHODS

FOLDER = uci.data_folder()
needs_data = pytest.mark.skipif(FOLDER is None, reason="DISCREET_DATA does not name the folder with the UCI sets")


def test_every_method_of_linear_regression_takes_part_and_every_printed_one():
    others = {"DPLogisticRegression", "DPPoissonRegression", "DPLinearSVC"}
    for method in METHODS:
        if method.name in others:
            continue
        assert method.name in EQUAL
        for paper in method.estimator.papers:
            assert any(f"[{paper}], as printed" in name and name.startswith(method.name) for name in BY_NAME)


def test_names_are_unique_and_pictures_show_known_ones():
    assert len(BY_NAME) == len(CONTENDERS)
    assert {*LINES, *OWN, *comparison_page.PRINTED, *comparison.QUICK} <= set(BY_NAME)
    assert not {name for name in EQUAL if "as printed" in name or "as sold" in name}


PRINTED = [
    comparison_page.PRINTED[name]
    for name in ("AdaSSP [wang2018]", "SSP [piazza2021]", "ReuseCov [neel2023]", "OPS [wang2018]")
]


@pytest.mark.parametrize(("cls", "paper"), PRINTED)
@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_published_noise_is_run_at_its_true_epsilon(cls, paper, epsilon):
    stated = stated_epsilon(cls, paper, epsilon, 1e-6, 500, 5)
    true = spent(cls, paper, stated, 1e-6, 500, 5)
    assert epsilon * (1 - 2 * PRECISION) <= true <= epsilon


def test_what_the_papers_noise_costs():
    """Errata E3 and E4; and neel2023's noise under add-remove, by hand: every entry of X'X has the same sd."""
    assert spent(discreet.AdaSSP, "wang2018", 1.0, 1e-6, 1000, 10) == pytest.approx(0.596, abs=5e-4)
    assert spent(discreet.SSP, "wang2018", 1.0, 1e-6, 1000, 10) == pytest.approx(0.751, abs=5e-4)
    sd = 2 * math.sqrt(2 * math.log(2.5e6))
    by_hand = discreet.privacy.gdp.epsilon(mu=math.sqrt(2) / sd, delta=1e-6)
    assert spent(discreet.ReuseCov, "neel2023", 1.0, 1e-6, 1000, 10) == pytest.approx(by_hand, rel=1e-4)


def test_the_cost_of_objective_perturbation_depends_on_neither_rows_nor_columns():
    few, many = (
        spent(discreet.ObjectivePerturbation, "wang2018", 1.0, 1e-6, *size) for size in ((1000, 8), (50_000, 60))
    )
    assert many == pytest.approx(few, rel=PRECISION / 4)


def test_a_sold_epsilon_is_more_than_the_true_one():
    assert float(comparison_page.cost("diffprivlib, as sold", 1.0)) < 0.5
    assert comparison_page.cost("AdaOPS [wang2018], as printed", 1.0) == "?"


def made_up():
    """Two sets, one epsilon; the default, a better and a worse method."""
    rows = []
    for data, trivial in (("a", 0.5), ("b", 0.1)):
        for method, ratio in ((DEFAULT, 0.5), ("AdaSSP", 0.25 if data == "a" else 1.0), ("SSP, as sold", 0.01)):
            for split, factor in ((0, 0.9), (1, 1.1)):
                mse = ratio * trivial * factor
                rows.append({"data": data, "epsilon": 1.0, "split": split, "method": method, "trivial": trivial})
                rows[-1] |= {"fits": 2, "failed": split, "mse": mse, "sum_sq": 2 * mse**2, "seconds": 0.1}
    return pd.DataFrame(rows)


def test_tallies():
    ratios = by_set(made_up()).set_index(["method", "data"])
    assert ratios.loc[("AdaSSP", "a"), "ratio"] == pytest.approx(0.25)
    assert ratios.loc[("AdaSSP", "a"), "sd"] == pytest.approx(0.25 * 0.1 / math.sqrt(3))
    assert ratios.loc[("AdaSSP", "a"), "failed"] == pytest.approx(0.25)
    table = summary(by_set(made_up())).set_index("method")
    assert table.loc["AdaSSP", "mean"] == pytest.approx(0.5)
    assert table.loc["AdaSSP", "error"] == pytest.approx(0.5 * math.sqrt(2 / 3) * 0.1 / 2)
    assert table.loc["AdaSSP", "median"] == pytest.approx(0.625)
    assert table.loc[["AdaSSP", DEFAULT, "SSP, as sold"], "wins"].tolist() == [1, 1, 0]  # as sold: no equal promise
    assert table.loc["AdaSSP", "better"] == 1
    assert (table.loc["AdaSSP", "worst"], table.loc["AdaSSP", "worst_set"]) == (pytest.approx(1.0), "b")


def test_errors_are_capped_and_failures_predict_nothing():
    X, y = np.ones((3, 1)), np.full(3, 0.5)
    cell = {"data": "a", "epsilon": 1.0, "split": 0}
    for coef, expected in ((np.array([1e9]), CAP), (np.array([np.nan]), CAP), (None, 1.0)):
        contender = Contender("x", "verified", lambda task, rng, coef=coef: (coef, 0.5))
        row = comparison._one(contender, Task(X, y, 1.0, 1e-6), X, y, 2, CAP * 0.25, cell)
        assert (row["mse"] / row["trivial"], row["failed"]) == (pytest.approx(expected), 2 * (coef is None))


@needs_data
def test_the_quick_run_its_page_and_its_pictures(tmp_path):
    grid = comparison.REPRODUCTION.cells("quick", FOLDER)
    rows = study.run("quick", grid, partial(comparison.work, folder=FOLDER), tmp_path / "log.jsonl", jobs=1)
    frame = pd.DataFrame(rows)
    assert set(frame["method"]) == set(comparison.QUICK)
    assert len(frame) == len(grid) * len(comparison.QUICK)
    again = comparison.work(grid[0], FOLDER)
    assert [row["mse"] for row in again] == [row["mse"] for row in rows[: len(again)]]
    ratios = comparison.REPRODUCTION.condense(frame)
    text = comparison.REPRODUCTION.table(ratios)
    assert all(f"| {name} |" in text for name in comparison.QUICK)
    assert "absent: it was not run" in text
    figures = comparison.REPRODUCTION.draw(ratios)
    assert set(figures) == {"comparison", "comparison_sets"}
    assert all(finding.claim and finding.measured for finding in comparison.REPRODUCTION.judge(ratios))


@needs_data
def test_a_grid_made_for_other_peers_is_refused():
    cell = comparison.cells("quick", FOLDER)[0] | {"suite": "few-00000000"}
    with pytest.raises(ValueError, match="peers"):
        comparison.work(cell, Path())


def test_without_privacy_it_is_least_squares():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    coef, _ = BY_NAME[NON_PRIVATE].fit(Task(X, y, 1.0, 1e-6), rng)
    assert coef == pytest.approx(np.linalg.solve(X.T @ X, X.T @ y))
