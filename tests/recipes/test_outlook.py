"""Before anything is spent, a word says where no interval is likely: from public facts, with the choice to stop."""

import sys
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from experiments.planning import outlook as study
from experiments.planning import outlook_models

from discreet import Budget, Domain, DPLinearRegression, DPLogisticRegression, DPPoissonRegression, plan, release
from discreet.errors import NoIntervalWarning
from discreet.planning import interval_outlook
from discreet.privacy import gdp
from discreet.recipes.outlook import CLASSES_AND_COUNTS, NUMBERS, unlikely

COLUMNS = {f"x{i}": (0, 1) for i in range(40)} | {"y": (0, 1)}
DOMAIN = Domain(COLUMNS)
WIDE = {"epsilon": 0.5, "delta": 1e-6, "domain": DOMAIN}


def table(n=400):
    rng = np.random.default_rng(0)
    return pa.table({name: rng.random(n) for name in COLUMNS})


@pytest.mark.parametrize(("kind", "size"), [("numbers", 3), ("numbers", 10), ("numbers", 30), ("levels", 28)])
def test_the_limits_are_those_of_made_up_tables(kind, size):
    told = study.known(kind, size, 0.1)
    assert study.given(told, 0.6 * NUMBERS.none, draws=3) <= 0.1
    assert study.given(told, 2 * NUMBERS.most, draws=3) >= 0.9


@pytest.mark.parametrize("outcome", ["yes or no", "count, mean 2, up to 4"])
@pytest.mark.parametrize(("kind", "size"), [("numbers", 3), ("numbers", 10), ("levels", 28)])
def test_the_limits_of_classes_and_counts_are_those_of_made_up_tables(outcome, kind, size):
    given = outlook_models.given
    assert given(outcome, kind, size, 0.1, 0.6 * CLASSES_AND_COUNTS.none, draws=2) <= 0.1
    assert given(outcome, kind, size, 0.1, 1.5 * CLASSES_AND_COUNTS.most, draws=2) >= 0.9


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


# -------------------------------------------------------------------- classes and counts


@pytest.mark.parametrize(
    ("model", "outcome"), [(DPLogisticRegression, [0, 1]), (DPPoissonRegression, (0, 4))], ids=["classes", "counts"]
)
def test_models_of_classes_and_counts_warn_before_they_spend(model, outcome, no_noise_yet):
    domain = Domain(dict.fromkeys(list(COLUMNS)[:20], (0, 1)) | {"y": outcome})
    rows = table(2000).select(list(COLUMNS)[:20]).append_column("y", pa.array([0, 1] * 1000))
    budget = Budget(epsilon=1, delta=1e-5)
    with budget, warnings.catch_warnings():
        warnings.simplefilter("error", NoIntervalWarning)
        with pytest.raises(
            NoIntervalWarning, match=r"21 coefficients are too many for about 2,000 rows at epsilon 0\.5"
        ):
            model(epsilon=0.5, delta=1e-6, domain=domain, rows=2000).fit_source(rows, "y")
    assert budget.mu_spent == 0


@pytest.mark.parametrize("more", [{}, {"rows": 30_000, "epsilon": 2}, {"rows": 2000, "stages": 1}])
def test_models_of_classes_say_nothing_where_rows_suffice_or_no_interval_was_to_be_had(more):
    domain = Domain(dict.fromkeys(list(COLUMNS)[:20], (0, 1)) | {"y": [0, 1]})
    rows = table(2000).select(list(COLUMNS)[:20]).append_column("y", pa.array([0, 1] * 1000))
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoIntervalWarning)
        own = {"epsilon": 0.5, "delta": 1e-6, "domain": domain, "random_state": 0} | more
        DPLogisticRegression(**own).fit_source(rows, "y")


def test_a_wide_model_of_classes_says_that_it_has_no_standard_errors_unless_asked(no_noise_yet):
    domain = Domain({f"x{i}": (0, 1) for i in range(70)} | {"y": [0, 1]})
    rows = pa.table({f"x{i}": np.linspace(0, 1, 100) for i in range(70)} | {"y": [0, 1] * 50})
    given = {"epsilon": 0.5, "delta": 1e-6, "domain": domain}
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoIntervalWarning)
        with pytest.raises(NoIntervalWarning, match="with 71 coefficients a model of classes is released without"):
            DPLogisticRegression(**given).fit_source(rows, "y")
        with pytest.raises(NoIntervalWarning, match="71 coefficients are too many for about 100 rows"):
            DPLogisticRegression(**given, rows=100, covariance="classical").fit_source(rows, "y")


def test_plans_of_classes_and_counts_say_that_no_interval_is_likely():
    columns = dict.fromkeys(list(COLUMNS)[:20], (0, 1))
    given = {"rows": 2000, "epsilon": [0.1, 0.5], "delta": 1e-6, "draws": 2}
    for outcome, methods in (([0, 1], None), ((0, 4), ["DPPoissonRegression"])):
        found = plan(Domain(columns | {"y": outcome}), "y", **given, methods=methods)
        word = unlikely(21, 2000, 0.5, 1e-6, linear=False)
        assert word in found.summary().notes
        assert word in found.coefficients().notes
        assert "not told" not in str(found.coefficients())
        assert {cell for row in found.coefficients().rows for cell in row[1:]} == {"withheld"}


def test_plans_of_classes_say_it_of_some_epsilons_where_others_suffice():
    domain = Domain({"x": (0, 1), "y": [0, 1]})
    found = plan(domain, "y", rows=2000, epsilon=[0.045, 5], delta=1e-6, draws=2)
    assert [one.intervals > 0 for one in found.expected] == [False, True]
    assert "No interval is likely up to epsilon 0.045" in found.summary().notes[-1]
    assert [cell for row in found.coefficients().rows for cell in row[1:]] == ["withheld", "not told"] * 2
    svm = plan(domain, "y", rows=2000, epsilon=5, delta=1e-6, draws=2, methods=["DPLinearSVC"])
    assert "DPLinearSVC gives no intervals, whatever epsilon is." in svm.summary().notes


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


def test_the_command_says_it_of_classes(run, tmp_path):
    names = list(COLUMNS)[:20]
    lines = ["[columns]", *(f"{name} = {{ low = 0, high = 1 }}" for name in names), 'y = { type = "bool" }']
    (tmp_path / "yes.toml").write_text("\n".join(lines))
    rows = table(2000).select(names).append_column("y", pa.array([False, True] * 1000))
    pyarrow.csv.write_csv(rows, tmp_path / "yes.csv")
    given = ["--schema", "yes.toml", "--epsilon", 0.5, "--delta", 1e-6, "--rows", 2000, "--out", "made.json"]
    ran = run("fit", "yes.csv", *given, "--target", "y", "--method", "DPLogisticRegression")
    assert ran.code == 0, ran.err
    assert "No interval is likely: 21 coefficients" in " ".join(ran.err.split())
    assert (tmp_path / "made.json").exists()
