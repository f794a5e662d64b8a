"""Plans assume spreads that real tables have within declared bounds, and tell how much depends on them."""

import json
from pathlib import Path

import pytest
from experiments.planning import spreads as study

from discreet import Domain, plan
from discreet.planning.facts import SPREAD

ROOT = Path(__file__).parents[2]
ROWS = json.loads((ROOT / "experiments" / "results" / "plan_spreads.json").read_text(encoding="utf-8"))["rows"]
DOMAIN = Domain({"age": (0, 1_000), "hours": (0, 100), "stay": (0, 365)})
GIVEN = {"rows": 1_000, "epsilon": [0.1, 1], "delta": 1e-6, "methods": ["DPLinearRegression"], "draws": 4}


def figure(told, spread, k):
    (row,) = [r for r in ROWS if r.get("told") == told and (r["spread"], r["k"]) == (round(spread, 3), k)]
    return row


def test_the_default_is_the_spread_of_real_tables_with_bounds_three_times_as_wide_as_their_range():
    measured = {row["what"]: row["0.5"] for row in ROWS if row.get("k") == 3.0 and "what" in row}
    assert len(measured) == 2
    assert all(SPREAD / 1.5 < value < 1.5 * SPREAD for value in measured.values())


def test_plans_are_less_hopeful_than_with_columns_that_fill_their_bounds():
    for k in (3.0, 10.0, "all"):
        before, now = figure("nothing", 1 / 3, k), figure("nothing", SPREAD, k)
        assert before["bias"] < now["bias"] < 1
        assert all(now[half] < before[half] for half in "AB")
    assert figure("both", SPREAD, 10.0)["B"] < 1.5 < 2 < figure("nothing", SPREAD, 10.0)["B"]


def test_the_figures_of_the_page_are_those_of_the_study():
    page = (ROOT / "docs" / "results" / "plans.md").read_text(encoding="utf-8")
    for told, spread, words in (
        ("nothing", 1 / 3, "nothing, a third"),
        ("nothing", 1 / 10, "nothing, **a tenth**"),
        ("nothing", 1 / 20, "nothing, a twentieth"),
        ("outcome", 1 / 10, "the outcome's"),
        ("features", 1 / 10, "the features'"),
        ("both", 1 / 10, "both"),
    ):
        cells = [f"{figure(told, spread, k)['bias']:.2f}" for k in (*study.WIDTHS, "all")]
        cells += [f"{figure(told, spread, 'all')[half]:.2f}" for half in "AB"]
        assert f"| {words} | {' | '.join(cells)} |" in page


def test_a_cell_of_the_study_can_be_made_again(monkeypatch):
    folder = study.uci.data_folder()
    if folder is None or not (folder / "uci").exists():
        pytest.skip("the UCI sets are not here")
    common = {"epsilon": [1.0], "draws": 2, "folder": str(folder), "spread": SPREAD}
    found = [study.work({"data": "servo", "k": 3.0, "told": told} | common)[0] for told in ("nothing", "both")]
    assert [row["at"] for row in found] == [1.0, 1.0]
    assert all(0 < row["planned"] < 2 for row in found)


def test_a_plan_tells_what_depends_on_spreads_that_nobody_guessed():
    found = plan(DOMAIN, "stay", **GIVEN)
    assert (found.facts.assumed, [one.columns for one in found.spreads]) == (
        ("age", "hours", "stay"),
        [("stay",), ("age", "hours")],
    )
    for one in found.spreads:
        assert one.smaller >= 0.95 * one.larger
        assert one.assumed == pytest.approx(found.at(0.1).vs_trivial, rel=0.1)
    text = str(found).replace("\n", " ")
    assert "Nobody told the sd of stay: for errors of prediction it is taken as 18.25" in text
    assert "hardly matters" not in text
    assert "the sds of 2 features" in text
    assert "--about" in text
    assert found.to_dict()["spreads"][0]["columns"] == ["stay"]
    assert found.to_dict()["facts"]["assumed"] == ["age", "hours", "stay"]


def test_what_is_told_is_not_asked_for():
    told = plan(DOMAIN, "stay", about={"stay": {"mean": 6, "sd": 2}, "age": {"sd": 18}}, **GIVEN)
    assert [one.columns for one in told.spreads] == [("hours",)]
    assert plan(DOMAIN, "stay", ["age"], about={"age": {"sd": 18}}, mean_square=34_000, **GIVEN).spreads == ()
    assert plan(DOMAIN, "stay", tighter=False, **GIVEN).spreads == ()
    ball = Domain.from_bounds(["a", "b"], ["y"], data_norm=1.0, bounds_y=(0, 1), intercept=False)
    assert plan(ball, "y", **GIVEN).facts.assumed == ("y",)
