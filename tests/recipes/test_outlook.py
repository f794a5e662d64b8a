"""Before anything is spent, a word says where no interval is likely: from public facts, with the choice to stop."""

import sys
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from experiments.planning import outlook as study

from discreet import Budget, Domain, DPLinearRegression, plan, release
from discreet.errors import NoIntervalWarning
from discreet.planning import interval_outlook
from discreet.privacy import gdp
from discreet.recipes.outlook import MOST, NONE, unlikely

COLUMNS = {f"x{i}": (0, 1) for i in range(40)} | {"y": (0, 1)}
DOMAIN = Domain(COLUMNS)
WIDE = {"epsilon": 0.5, "delta": 1e-6, "domain": DOMAIN}


def table(n=400):
    rng = np.random.default_rng(0)
    return pa.table({name: rng.random(n) for name in COLUMNS})


@pytest.mark.parametrize(("kind", "size"), [("numbers", 3), ("numbers", 10), ("numbers", 30), ("levels", 28)])
def test_the_limits_are_those_of_made_up_tables(kind, size):
    told = study.known(kind, size, 0.1)
    assert study.given(told, 0.6 * NONE, draws=3) <= 0.1
    assert study.given(told, 2 * MOST, draws=3) >= 0.9


def test_more_rows_and_a_larger_epsilon_help_and_more_coefficients_do_not():
    mu = gdp.mu(epsilon=1, delta=1e-6)
    order = ["unlikely", "some", "likely"]
    places = [order.index(interval_outlook(20, rows, mu)) for rows in (100, 3_000, 100_000)]
    assert places == [0, 1, 2]
    assert [order.index(interval_outlook(size, 5_000, mu)) for size in (5, 20, 100)] == [2, 1, 0]


def test_the_word_says_what_would_help_and_that_helps():
    word = unlikely(303, 15_000, 1.0, 1e-9)
    assert "303 coefficients are too many for about 15,000 rows at epsilon 1" in word
    assert "at most 77 coefficients, from about 120,000 rows on, or from epsilon 9 on" in word
    assert (
        unlikely(77, 15_000, 1.0, 1e-9) == unlikely(303, 120_000, 1.0, 1e-9) == unlikely(303, 15_000, 9.2, 1e-9) == ""
    )
    assert unlikely(303, 120_000, 1.0, 1e-9, most=3) != ""
    assert "coefficients, from" not in unlikely(5, 10, 0.01, 1e-6)
    assert unlikely(1, 10, 0.01, 1e-6) == ""


def test_a_fit_warns_before_it_spends_if_rows_were_declared(no_noise_yet):
    budget = Budget(epsilon=1, delta=1e-5)
    with budget, warnings.catch_warnings():
        warnings.simplefilter("error", NoIntervalWarning)
        with pytest.raises(NoIntervalWarning, match=r"41 coefficients are too many for about 400 rows at epsilon 0\.5"):
            DPLinearRegression(**WIDE, rows=400).fit_source(table(), "y")
        with pytest.raises(NoIntervalWarning, match="41 coefficients"):
            release(table(), **WIDE, rows=400, targets=["y"])
    assert (budget.mu_spent, budget.to_dict()["releases"]) == (0, [])


@pytest.mark.parametrize("more", [{}, {"rows": 500_000}])
def test_nothing_is_said_of_rows_that_were_not_declared_or_that_suffice(more):
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoIntervalWarning)
        DPLinearRegression(**WIDE, **more, random_state=0).fit_source(table(), "y")


def test_a_fit_whose_warning_is_not_heeded_is_made():
    with pytest.warns(NoIntervalWarning):
        model = DPLinearRegression(**WIDE, rows=400, random_state=0).fit_source(table(), "y")
    assert model.coef_.shape == (40,)


def test_plans_say_it_too():
    found = plan(DOMAIN, "y", rows=400, epsilon=[0.1, 0.5], delta=1e-6, methods=["DPLinearRegression"], draws=2)
    assert unlikely(41, 400, 0.5, 1e-6) in found.advice()
    enough = plan(DOMAIN, "y", rows=400_000, epsilon=1, methods=["DPLinearRegression"], draws=2, tighter=False)
    assert "No interval is likely" not in str(enough)


# -------------------------------------------------------------------- the command


@pytest.fixture
def command(run, tmp_path):
    lines = ["[columns]", *(f"{name} = {{ low = 0, high = 1 }}" for name in COLUMNS)]
    (tmp_path / "wide.toml").write_text("\n".join(lines))
    pyarrow.csv.write_csv(table(), tmp_path / "wide.csv")
    given = ["wide.csv", "--schema", "wide.toml", "--epsilon", 0.5, "--delta", 1e-6, "--rows", 400]

    def call(name, *more):
        outcome = "--target" if name == "fit" else "--targets"
        return run(name, *given, outcome, "y", *more)

    return call


@pytest.mark.parametrize("name", ["fit", "release"])
def test_the_command_says_it_and_goes_on_without_a_terminal(command, name, tmp_path):
    ran = command(name, "--out", "made.json")
    assert ran.code == 0, ran.err
    assert "No interval is likely: 41 coefficients" in " ".join(ran.err.split())
    assert (tmp_path / "made.json").exists()


@pytest.mark.parametrize("name", ["fit", "release"])
def test_the_command_asks_on_a_terminal_and_stops_before_it_spends(command, name, tmp_path, monkeypatch, no_noise_yet):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    ran = command(name, "--out", "made.json")
    assert ran.code == 1
    assert "Nothing was spent" in ran.err
    assert not (tmp_path / "made.json").exists()


def test_the_command_does_not_ask_if_it_is_told_to_go_on(command, monkeypatch):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: pytest.fail("asked"))
    assert command("fit", "--yes").code == 0


def test_the_command_goes_on_where_the_answer_is_yes(command, monkeypatch):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: True)
    assert command("fit").code == 0
