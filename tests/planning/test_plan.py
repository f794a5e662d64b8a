"""Plans: made-up tables fit the facts, fits are the library's own, answers keep what they say, no data are touched."""

import builtins
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from discreet import AdaSSP, Domain, DPLinearRegression, DPRidge, Moments, formula, plan
from discreet.core.placeholders import Unavailable
from discreet.data.moments import counted
from discreet.data.reading import Table
from discreet.data.stages import Readings
from discreet.domain.coordinates import Coordinates
from discreet.errors import DiscreetError, ParameterError
from discreet.mechanisms.registry import METHODS
from discreet.planning import simulation
from discreet.planning.facts import facts
from discreet.planning.population import SampledTable, population, spectrum
from discreet.planning.result import best_of
from discreet.planning.simulation import SimulatedPromise, Simulation, chosen, fit
from discreet.planning.targets import accuracy_targets, answer, least
from discreet.privacy.events.coordinates import stage_block
from discreet.statistics.base import stage_statistics

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.DiscreetWarning")
COLUMNS = {"age": {"low": 18, "high": 90, "unit": "year"}, "smoker": bool, "ward": ["a", "b", "c"], "stay": (0, 30)}
DOMAIN = Domain(COLUMNS)
ABOUT = {"age": {"mean": 45, "sd": 15}, "ward": {"shares": [0.6, 0.3, 0.1]}, "stay": {"mean": 8, "sd": 3}}
PROMISE = SimulatedPromise(1e-6, "add-remove", 0.95)
RESULTS = Path(__file__).parents[2] / "experiments" / "results"


def known(domain=DOMAIN, target="stay", rows=5000, **more):
    given = {"r_squared": 0.4, "mean_square": None, "correlation": 0.3, "about": None} | more
    return facts(domain, target, None, rows=rows, **given)


def frame(table):
    """The rows of a simulated table, one by one."""
    people = table.people
    values = pd.DataFrame(people.values | {people.facts.target: people.y})
    for name, column in people.facts.domain.inputs.items():
        if name in people.facts.shares:
            values[name] = np.array(column.levels, dtype=object)[values[name]]
    values["smoker"] = values["smoker"].astype(bool)
    copies = table._copies.astype(int)
    return values.iloc[table._present].iloc[np.repeat(np.arange(len(copies)), copies)]


# -------------------------------------------------------------------- outcomes that are made, and levels


def planned(columns, text, about):
    domain, given = Domain({"age": (18, 90), **columns}), {"rows": 8000, "epsilon": [1], "draws": 2, "tighter": False}
    return plan(domain, text, about={"age": ABOUT["age"]} | about, methods=["DPLinearRegression"], **given)


def test_a_made_outcome_is_planned_as_a_column_made_by_hand():
    bounds = formula("log(stay) ~ 1", Domain({"stay": (1, 30)})).domain.columns["log(stay)"].bounds
    guess = {"mean": 1.5, "sd": 0.5}
    made = planned({"stay": (1, 30)}, "log(stay) ~ age", {"log(stay)": guess})
    by_hand = planned({"made": bounds}, "made ~ age", {"made": guess})
    assert made.facts.target == "log(stay)"
    assert np.array_equal(made.at(1).std_err, by_hand.at(1).std_err)
    words = r"about names 'stay', which this model does not use: .*\. Tell the mean and sd of log\(stay\) itself"
    with pytest.raises(ParameterError, match=words):
        planned({"stay": (1, 30)}, "log(stay) ~ age", {"stay": {"mean": 8}})


def test_a_level_is_planned_as_a_number_that_is_0_or_1():
    ward = planned({"ward": ["a", "b", "c"]}, "ward[c] ~ age", {"ward": {"shares": [0.5, 0.3, 0.2]}})
    number = planned({"y": (0, 1)}, "y ~ age", {"y": {"mean": 0.2, "sd": 0.97 * 0.4}})
    assert ward.facts.outcome == number.facts.outcome
    assert "ward[c]" not in ward.facts.assumed
    assert np.array_equal(ward.at(1).std_err, number.at(1).std_err)


def test_a_formula_of_a_yes_or_no_is_planned_as_its_name_is():
    about = {"age": ABOUT["age"], "smoker": {"shares": [0.7, 0.3]}}
    given = {"rows": 2000, "epsilon": [1], "draws": 2, "about": about}
    by_name = plan(DOMAIN, "smoker", ["age"], **given)
    assert np.array_equal(plan(DOMAIN, "smoker ~ age", **given).at(1).std_err, by_name.at(1).std_err)


def test_an_outcome_of_a_ball_is_refused():
    with pytest.raises(ParameterError, match="one of norm_columns"):
        plan(Domain({"a": (0, 1), "b": (0, 1)}, data_norm=1.0), "b", rows=1000)


# -------------------------------------------------------------------- made-up tables


@pytest.mark.parametrize("rows", [300, 20_000])
def test_a_simulated_table_has_the_moments_and_counts_of_its_rows(rows):
    domain, target, features = formula("stay ~ age + smoker + ward + age:smoker + age^2", DOMAIN)
    given = facts(domain, target, features, rows=rows, r_squared=0.4, mean_square=None, correlation=0.3, about=ABOUT)
    table = SampledTable(population(given, np.random.default_rng(0)), rows, np.random.default_rng(1))
    data = frame(table)
    assert len(data) == rows
    tight = Domain({**given.domain.columns, "stay": (2, 12)})
    for bounds in (given.domain, tight):
        ours, real = table.moments(bounds), Moments.from_source(data, bounds)
        places = list(range(len(bounds.entries)))
        np.testing.assert_allclose(ours.floats(places), real.floats(places), rtol=1e-14, atol=1e-8 * rows)
        counts = counted(Table.of(data, bounds), "stay")[0].integers()
        assert (table.source(bounds).readings.first_pass(["stay"])[0][0].integers() == counts).all()


def test_bounds_of_features_may_be_tightened_too():
    given = known(about=ABOUT)
    table = SampledTable(population(given, np.random.default_rng(2)), 5000, np.random.default_rng(3))
    tight = Domain({**DOMAIN.columns, "age": (30, 60)})
    places = list(range(len(tight.entries)))
    real = Moments.from_source(frame(table), tight).floats(places)
    np.testing.assert_allclose(table.moments(tight).floats(places), real, rtol=1e-14, atol=1e-5)


@pytest.mark.parametrize("rows", [600, 30_000])
def test_a_simulated_table_has_the_sums_of_its_rows_in_any_coordinates(rows):
    table = SampledTable(population(known(about=ABOUT), np.random.default_rng(0)), rows, np.random.default_rng(1))
    design = DOMAIN.design_names(["age", "smoker", "ward"])
    rng = np.random.default_rng(2)
    P, theta, widths = rng.normal(size=(5, 5)), 0.3 * rng.normal(size=(5, 1)), [[0.02, 0.1, 0.4]]
    stage = Coordinates.rounded(design, ["stay"], P, theta, 0.7, widths, [0.9, 1.5, 3.0])
    for bounds in (DOMAIN, Domain({**DOMAIN.columns, "age": (30, 60), "stay": (2, 12)})):
        ours, real = table.source(bounds).readings, Readings.of(Table.of(frame(table), bounds))
        (counts, margins), (their_counts, their_margins) = (own.first_pass(["stay"]) for own in (ours, real))
        assert (counts[0].integers() == their_counts[0].integers()).all()
        assert margins.count == their_margins.count == rows
        places = np.arange(len(bounds.entries))
        for i in (np.zeros_like(places), places):
            np.testing.assert_allclose(*(m.integers(i, places).astype(float) for m in (margins, their_margins)))
        sums = [own.staged(stage) for own in (ours, real)]
        assert sums[0].count == rows
        for kind in (kind for kind in stage_statistics() if not kind.of_slopes):
            block = stage_block(stage, kind.name, () if kind.outcomes == "none" else ("stay",))
            if kind.second_reading:
                held = [own.score_products(stage, [1], []).integers(block) for own in (ours, real)]
            else:
                held = [own.integers(block, [1]) for own in sums]
            for part, same in zip(*held, strict=True):
                np.testing.assert_allclose(part.astype(float), same.astype(float), rtol=1e-12, atol=1e-6 * 2**40)


FITS = [(DPLinearRegression, "auto"), (DPLinearRegression, 1), (DPLinearRegression, 4), (DPRidge, 2), (AdaSSP, None)]


@pytest.mark.parametrize(("estimator", "stages"), FITS)
def test_a_simulated_fit_is_the_fit_of_the_same_rows(estimator, stages):
    given = known(about=ABOUT, rows=4000)
    table = SampledTable(population(given, np.random.default_rng(4)), 4000, np.random.default_rng(5))
    options = {} if stages is None else {"stages": stages}
    ours = fit(estimator.__name__, table, DOMAIN, 1.0, PROMISE, 4000, 6, widths=True, **options)
    model = estimator(
        epsilon=1.0, delta=1e-6, domain=DOMAIN, rows=4000, random_state=np.random.default_rng(6), **options
    )
    model.fit_source(frame(table), "stay")
    assert ours.stages == (None if stages is None else max(len(model.release_.stages), 1))
    params = np.concatenate([[model.intercept_], model.coef_])
    np.testing.assert_allclose(ours.error + table.people.best, params, rtol=1e-6, atol=1e-9)
    predicted = table.people.design @ params
    assert ours.mse == pytest.approx(np.mean((table.people.y - predicted) ** 2))
    assert model.certificate_.guarantee.status == "simulation"
    found = model.results_.inference
    interval = found if isinstance(found, Unavailable) else found.interval(0.95)
    if isinstance(interval, Unavailable):
        assert ours.width.reason == interval.reason
    else:
        np.testing.assert_allclose(ours.width, interval[:, 1] - interval[:, 0], rtol=1e-6)
    assert isinstance(interval, Unavailable) == (estimator is AdaSSP)


def test_people_fit_the_facts():
    found = [population(known(about=ABOUT, correlation=0.5), np.random.default_rng(i)) for i in range(8)]
    age, y = (np.concatenate(v) for v in ([p.values["age"] for p in found], [p.y for p in found]))
    ward = np.concatenate([p.values["ward"] for p in found])
    assert (age.mean(), age.std()) == (pytest.approx(45, abs=0.3), pytest.approx(15, abs=0.3))
    assert (y.mean(), y.std()) == (pytest.approx(8, abs=0.1), pytest.approx(3, abs=0.1))
    assert np.bincount(ward) / len(ward) == pytest.approx([0.6, 0.3, 0.1], abs=0.02)
    for values, low, high in ((age, 18, 90), (y, 0, 30)):
        assert low <= values.min() < values.max() <= high
    assert np.mean([p.r_squared for p in found]) == pytest.approx(0.4, abs=0.02)


@pytest.mark.parametrize(("r_squared", "mean_square"), [(0.0, 0.3), (0.3, 0.05), (0.9, 0.2), (0.6, 0.7)])
def test_models_without_an_intercept_go_by_the_mean_square(r_squared, mean_square):
    names = [f"x{i}" for i in range(6)]
    domain = Domain.from_bounds(names, ["y"], data_norm=2.0, bounds_y=(-1, 1), intercept=False)
    given = known(domain, "y", r_squared=r_squared, mean_square=mean_square)
    people = population(given, np.random.default_rng(0))
    norms = np.sqrt(sum(people.values[name] ** 2 for name in names))
    np.testing.assert_allclose(norms, 2.0)
    assert np.abs(people.y).max() <= 1
    assert people.trivial == pytest.approx(mean_square, rel=0.05)
    assert people.r_squared == pytest.approx(r_squared, abs=0.02)


@pytest.mark.parametrize(("d", "correlation"), [(2, 0.7), (8, 0.3), (8, 0.0), (40, 0.45)])
def test_features_have_the_correlation(d, correlation):
    domain = Domain({f"x{i}": (0, 1) for i in range(d)} | {"y": (0, 1)})
    found = []
    for seed in range(4):
        people = population(known(domain, "y", correlation=correlation), np.random.default_rng(seed))
        C = np.corrcoef(np.array([people.values[f"x{i}"] for i in range(d)]))
        found.append((np.sum(C**2) - d) / (d * (d - 1)))
    assert np.sqrt(np.mean(found)) == pytest.approx(correlation, abs=0.03)
    assert np.mean(spectrum(d, correlation) ** 2) == pytest.approx(1 + (d - 1) * correlation**2)
    C = np.full((d, d), 0.25) + 0.75 * np.eye(d)
    people = population(known(domain, "y", correlation=C), np.random.default_rng(9))
    np.testing.assert_allclose(np.corrcoef([people.values[f"x{i}"] for i in range(d)]), C, atol=0.06)


def test_standard_errors_are_the_spread_that_comes_out():
    """On made-up tables of another law: uniform features, normal errors. See also experiments/planning/errors.py."""
    from experiments.coverage.intervals import EncodedTable as Rows
    from experiments.coverage.populations import population as study_population
    from experiments.planning.errors import guesses

    people = study_population("independent", 3)
    found = plan(
        people.domain, "y", rows=10_000, epsilon=3, delta=1e-6, methods=["DPLinearRegression"], tighter=False,
        **guesses(people, "one number"),
    ).expected[0]  # fmt: skip
    off = []
    for i in range(150):
        rng = np.random.default_rng([11, i])
        released, results = Rows(*people.sample(10_000, rng), people.domain).fit(3.0, rng)
        y = released.domain.columns["y"]
        if not isinstance(results.inference, Unavailable):
            off.append(results.inference.estimate - people.truth(y.low, y.high))
    assert len(off) > 130
    logs = np.log(found.std_err / np.std(off, axis=0))
    assert np.exp(np.mean(logs)) == pytest.approx(1, abs=0.15)
    np.testing.assert_allclose(found.width, 2 * 1.96 * found.std_err, rtol=0.05)


# -------------------------------------------------------------------- the way back


@pytest.mark.parametrize("x", [0.011, 0.3, 0.5, 7.0])
def test_the_least_that_is_enough(x):
    found = least(lambda value: value >= x, 1.0, 0.01, 10.0)
    assert x <= found <= 1.17 * x
    assert least(lambda value: True, 1.0, 0.01, 10.0) == 0.01
    assert isinstance(least(lambda value: False, 1.0, 0.01, 10.0), Unavailable)


def test_answers_are_enough_and_not_much_more_than_enough():
    """To 5 %: half widths and radii that stages choose by noisy counts make errors fall by steps."""
    simulation = Simulation(known(about=ABOUT, rows=20_000), PROMISE, 4, 0)
    for want in accuracy_targets(simulation.facts, {"age": 0.012}, 2.5):
        found = answer(simulation, "DPLinearRegression", want, [1.0])
        for factor, enough in ((1.0, True), (0.5, False)):
            most = 1.05 * want.most if enough else want.most
            at = simulation.expected("DPLinearRegression", factor * found.epsilon)
            assert (want.value(at) <= most) == enough
            at = simulation.expected("DPLinearRegression", 1.0, rows=round(factor * found.rows[1.0]))
            assert (want.value(at) <= most) == enough


def test_an_error_below_what_no_privacy_reaches_is_not_promised():
    found = plan(DOMAIN, "stay", rows=20_000, r_squared=0.4, about=ABOUT, want_error=2, tighter=False, draws=4,
                 methods=["DPLinearRegression"])  # fmt: skip
    assert isinstance(found.answers[0].epsilon, Unavailable)
    assert "Even without privacy" in " ".join(found.advice())


def test_tighter_bounds_help_where_bounds_are_loose_and_only_there():
    loose = Domain({"x": (-1000, 1000), "z": (0, 10), "y": (0, 100)})
    about = {"x": {"mean": 0, "sd": 100}, "z": {"mean": 5, "sd": 4}}
    given = {"epsilon": 1, "about": about, "correlation": 0.0, "methods": ["DPLinearRegression"]}
    found = plan(loose, "y", rows=20_000, stages=1, **given)
    gains = {t.column: t for t in found.tighter}
    assert gains["x"].error < 0.75
    assert gains["z"].error > 0.9
    assert (gains["x"].low, gains["x"].high) == (-500, 500)
    assert "with x in" in " ".join(found.advice())
    found = plan(loose, "y", rows=20_000, **given)
    assert min(t.error for t in found.tighter) > 0.9, "stages find private coordinates, whatever the bounds"
    assert "no column gains more than 10 %" in " ".join(found.advice())


def test_columns_of_which_the_same_is_known_stand_for_each_other():
    domain = Domain({"a": (0, 10), "b": (0, 1), "c": (0, 10), "y": (0, 1)})
    about = {"c": {"mean": 2, "sd": 1}}
    given = {"rows": 300, "epsilon": 1, "draws": 2, "methods": ["DPLinearRegression"], "about": about}
    a, b, c, y = plan(domain, "y", **given).tighter
    assert [t.column for t in (a, b, c, y)] == ["a", "b", "c", "y"]
    assert (a.mse, a.error) == (b.mse, b.error)
    assert (a.low, a.high, b.low, b.high) == (2.5, 7.5, 0.25, 0.75)
    assert len({t.mse for t in (a, c, y)}) == 3
    C = np.eye(3).tolist()
    a, b, *_ = plan(domain, "y", **given, correlation=C).tighter
    assert a.mse != b.mse


# -------------------------------------------------------------------- what people see


@pytest.fixture(scope="module")
def small():
    return plan(DOMAIN, "stay", rows=20_000, about=ABOUT, epsilon=[1, 0.1], r_squared=0.4, draws=4)


def test_every_method_is_simulated_or_said_to_be_left_out(small):
    assert set(small.methods) | set(small.left_out) == {method.name for method in METHODS}
    assert not set(small.methods) & set(small.left_out)
    assert {"DPLinearRegression", "DPRidge", "AdaSSP", "ConstSSP", "SSP", "OPS", "AdaOPS"} <= set(small.methods)
    assert chosen(["adassp"], DOMAIN)[0] == ["AdaSSP"]


def test_more_epsilon_and_more_rows_help(small):
    for name in ("DPLinearRegression", "AdaSSP", "OPS"):
        assert small.at(1.0, name).mse < small.at(0.1, name).mse
    assert 0.59 < small.at(1.0).vs_trivial < small.at(0.1).vs_trivial < 1
    assert small.at(1.0).vs_non_private < 1.05
    more = plan(DOMAIN, "stay", rows=200_000, about=ABOUT, epsilon=0.1, delta=small.promise.delta, r_squared=0.4,
                draws=4, tighter=False, methods=["DPLinearRegression"])  # fmt: skip
    assert more.at(0.1).mse < small.at(0.1).mse


def test_tables_words_and_files_say_the_same(small):
    table = small.to_frame()
    row = table[table["epsilon"] == 1.0].loc["AdaSSP"]
    assert row["mse"] == small.at(1.0, "AdaSSP").mse
    body = json.loads(small.to_json())
    found = next(e for e in body["expected"] if (e["method"], e["epsilon"]) == ("AdaSSP", 1.0))
    assert found["mse"] == row["mse"]
    coefficients = small.to_frame("DPLinearRegression")
    assert list(coefficients.index[:5]) == small.names
    assert coefficients.loc["age", "unit"].iloc[0] == "1/year"
    text = repr(small)
    assert f"{row['vs_trivial']:.3f}" in text
    assert "Use DPLinearRegression" in text
    assert "Left out" in text
    assert small._repr_html_().count("<table") >= 3
    axes = small.plot().get_axes()[0]
    assert len(axes.get_lines()) == len(small.methods) + 2
    with pytest.raises(ParameterError, match="no AdaSSP at epsilon 3"):
        small.at(3.0, "AdaSSP")


def test_the_same_seed_gives_the_same_plan_and_another_gives_another():
    given = {"rows": 2000, "epsilon": 1, "draws": 2, "methods": ["SSP"], "tighter": False}
    one, same, other = (plan(DOMAIN, "stay", **given, random_state=seed).to_json() for seed in (1, 1, 2))
    assert one == same != other


def test_the_default_is_recommended_unless_another_is_clearly_better(small):
    def with_error(method, mse):
        return replace(small.at(1.0, method), mse=mse)

    assert best_of([with_error("DPLinearRegression", 1.04), with_error("AdaSSP", 1.0)]) == "DPLinearRegression"
    assert best_of([with_error("DPLinearRegression", 1.2), with_error("AdaSSP", 1.0)]) == "AdaSSP"


# -------------------------------------------------------------------- stages


def test_a_plan_tells_in_how_many_stages_releases_are_made():
    given = {"rows": 2000, "draws": 2, "methods": ["DPLinearRegression", "DPRidge", "SSP"], "tighter": False}
    found = plan(DOMAIN, "stay", epsilon=[0.01, 0.1, 2], about=ABOUT, **given)
    told = {(e.method, e.epsilon): e.stages for e in found.expected}
    for name in ("DPLinearRegression", "DPRidge"):
        assert [told[name, epsilon] for epsilon in (0.01, 0.1, 2)] == [0, 2, 3]
    assert {told["SSP", epsilon] for epsilon in (0.01, 0.1, 2)} == {None}
    words = " ".join(str(found).split())
    assert (
        "mean only at epsilon 0.01; in 2 stages at epsilon 0.1; in 3 stages at epsilon 2 (DPLinearRegression, DPRidge)"
        in words
    )
    assert isinstance(found.at(0.01, "DPLinearRegression").std_err, Unavailable)
    assert "slopes are 0" in " ".join(str(found.coefficients("DPRidge")).split())
    assert [e["stages"] for e in found.to_dict()["expected"]] == [0, 0, None, 2, 2, None, 3, 3, None]
    assert found.to_frame()["stages"].loc["DPLinearRegression"].tolist() == [0, 2, 3]


def test_stages_are_an_argument():
    given = {"rows": 3000, "epsilon": 1, "draws": 2, "methods": ["DPLinearRegression"], "tighter": False}
    found = {stages: plan(DOMAIN, "stay", about=ABOUT, stages=stages, **given) for stages in ("auto", 1, 2, 3, 4)}
    for stages in (1, 2, 3, 4):
        assert found[stages].expected[0].stages == stages == found[stages].to_dict()["stages"]
    assert len({one.expected[0].mse for one in found.values()}) == 4
    assert "in one stage (DPLinearRegression)" in str(found[1])
    loose = Domain({**COLUMNS, "age": (-2000, 2000), "stay": (0, 1000)})
    mse = {n: plan(loose, "stay", about=ABOUT, stages=n, **given | {"draws": 6}).expected[0].mse for n in (1, "auto")}
    assert mse["auto"] < 0.9 * mse[1], "loose bounds cost little in private coordinates"


def test_methods_that_solve_the_same_release_share_it(monkeypatch):
    made = []
    own = simulation.simulate

    def counted_release(recipe, people, session):
        made.append(session.method)
        return own(recipe, people, session)

    monkeypatch.setattr(simulation, "simulate", counted_release)
    given = {"rows": 3000, "epsilon": [0.5, 1], "draws": 2, "tighter": False}
    found = plan(DOMAIN, "stay", methods=["DPLinearRegression", "DPRidge"], **given)
    assert made == ["DPLinearRegression"] * 4
    alone = plan(DOMAIN, "stay", methods=["DPRidge"], **given)
    assert [e.mse for e in alone.expected] == [found.at(e.epsilon, "DPRidge").mse for e in alone.expected]


@pytest.mark.parametrize(("ball", "stages", "told"), [(True, "auto", 1), (True, 2, 2), (False, "auto", 2)])
def test_tiny_tables_without_an_intercept_have_the_stages_of_their_fits(ball, stages, told):
    """Rows in a ball have one stage unless more are asked for, and without an intercept there is no mean to tell."""
    bounds = {"data_norm": 1.0} if ball else {"bounds_X": (-1, 1)}
    domain = Domain.from_bounds(["a", "b"], ["y"], **bounds, bounds_y=(-1, 1), intercept=False)
    given = {"rows": 50, "epsilon": 0.1, "delta": 1e-6}
    planned = plan(domain, "y", methods=["DPLinearRegression"], draws=4, tighter=False, stages=stages, **given)
    assert planned.expected[0].stages == told
    assert planned.expected[0].vs_trivial == pytest.approx(1, abs=0.1)
    model = DPLinearRegression(domain=domain, fit_intercept=False, stages=stages, random_state=0, **given)
    model.fit_source(pd.DataFrame({"a": [0.1] * 50, "b": [0.2] * 50, "y": [0.5] * 50}), "y")
    assert max(len(model.release_.stages), 1) == told


# -------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"rows": 0}, "rows must be a whole number"),
        ({"rows": None}, "rows is required"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilon": [1, -2]}, "epsilon must be"),
        ({"epsilon": []}, "names no value"),
        ({"epsilon": object()}, "epsilon must be"),
        ({"epsilon": np.array(-1.0)}, "epsilon must be"),
        ({"r_squared": 1}, "r_squared must be a number from 0 to below 1"),
        ({"r_squared": -0.1}, "r_squared must be"),
        ({"correlation": 1.5}, "correlation must be"),
        ({"correlation": [[1, 2], [2, 1]]}, "3 x 3 matrix for age, smoker, ward"),
        ({"features": ["height"]}, "'height' is not declared"),
        ({"target": "height"}, "'height' is not declared"),
        ({"mean_square": 1000}, "No outcome 'stay' within its bounds"),
        ({"mean_square": 10}, "No outcome 'stay' within its bounds"),
        ({"mean_square": 250, "about": {"stay": {"sd": 2}}}, "either mean_square"),
        ({"about": {"stay": {"sd": 20}}}, "No column 'stay' within its bounds"),
        ({"about": {"age": {"mean": 10}}}, "within its bounds"),
        ({"about": {"age": {"median": 10}}}, "'median' for column 'age'"),
        ({"about": {"height": {"sd": 20}}}, "about names 'height'"),
        ({"about": {"ward": {"shares": [0.5, 0.5]}}}, "must be 3 numbers"),
        ({"about": {"ward": {"shares": [0.5, 0.3, 0.1]}}}, "'ward' add up to 0.9, not to 1"),
        ({"about": {"ward": {"shares": [5, 3, 2]}}}, "divide each of them by their sum"),
        ({"target": "smoker", "about": {"smoker": {"shares": [7, 3]}}}, "'smoker' add up to 10, not to 1"),
        ({"methods": ["DPLogisticRegression"]}, "needs a yes or no"),
        ({"methods": ["DPRidge", "DPLogisticRegression"]}, "cannot be simulated by a plan: for classes"),
        ({"methods": ["Magic"]}, "no method 'Magic'"),
        ({"stages": 0}, "stages must be one of 'auto', 1, 2, 3, 4; got 0"),
        ({"stages": "three"}, "stages must be one of"),
        ({"want_width": {"height": 1}}, "want_width names 'height'"),
        ({"want_width": {"age": 0}}, "above 0"),
        ({"want_error": -1}, "want_error must be"),
        ({"draws": 0}, "draws must be"),
        ({"level": 2}, "level must"),
    ],
)
def test_bad_input_is_refused_before_anything_is_simulated(more, words, monkeypatch):
    monkeypatch.setattr(Simulation, "expected", lambda *_, **__: pytest.fail("simulated"))
    with pytest.raises(DiscreetError, match=words.replace("(", r"\(")):
        plan(DOMAIN, **({"target": "stay", "rows": 1000} | more))


def test_sds_in_a_ball_are_guessed_for_all_of_it_or_for_none():
    domain = Domain.from_bounds(["a", "b"], ["y"], data_norm=5.0, bounds_y=(-1, 1))
    people = population(known(domain, "y", about={"a": {"sd": 1}, "b": {"sd": 0.5}}), np.random.default_rng(0))
    assert [people.values[name].std() for name in "ab"] == pytest.approx([1, 0.5], rel=0.05)
    with pytest.raises(ParameterError, match="all of a, b"):
        known(domain, "y", about={"a": {"sd": 1}})


# -------------------------------------------------------------------- the command

SCHEMA = """\
[columns]
age    = { low = 18, high = 90, unit = "year" }
smoker = { type = "bool" }
stay   = { low = 0, high = 30, unit = "day" }
"""
COMMAND = ["plan", "--schema", "people.toml", "--rows", 20_000, "--target", "stay", "--draws", 2]


def test_the_command_prints_saves_and_draws(run, tmp_path):
    (tmp_path / "people.toml").write_text(SCHEMA)
    given = [
        "--epsilon",
        "0.5,1",
        "--about",
        "stay.sd=2",
        "--about",
        "smoker.shares=0.7,0.3",
        "--methods",
        "SSP,AdaSSP",
    ]
    ran = run(*COMMAND, *given, "--want-error", 1.9, "--out", "plan.json", "--picture", "plan.svg")
    assert ran.code == 0, ran.err
    for words in ("Plan: stay", "eps 0.5", "AdaSSP", "off by no more than 1.9 day", "day/year", "Written: plan.json"):
        assert words in ran.said
    assert json.loads((tmp_path / "plan.json").read_text())["facts"]["rows"] == 20_000
    assert "<svg" in (tmp_path / "plan.svg").read_text()
    assert "exists already" in run(*COMMAND, "--out", "plan.json").err
    assert json.loads(run(*COMMAND, *given, "--json").out)["method"] in ("SSP", "AdaSSP")
    ran = run(*COMMAND, "--epsilon", "1", "--methods", "DPRidge", "--stages", 2)
    assert "in 2 stages (DPRidge)" in ran.said


def test_the_command_takes_one_correlation_or_those_of_pairs(run, tmp_path):
    (tmp_path / "people.toml").write_text(SCHEMA)
    short = [*COMMAND, "--epsilon", "1", "--methods", "SSP", "--json"]
    assert json.loads(run(*short, "--correlation", 0.4).out)["facts"]["correlation"] == 0.4
    pair = json.loads(run(*short, "--correlation", "age,smoker=0.9").out)["facts"]
    assert pair["correlations"] == [[1, 0.9], [0.9, 1]]
    assert "correlation" not in pair["untold"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--correlation", "age=0.5"], "give two columns"),
        (["--correlation", "high"], "not a number"),
        (["--epsilon", "one"], "not a number"),
        (["--epsilon", "0"], "epsilon must be"),
        (["--about", "age=50"], "give COLUMN.mean="),
        (["--want-width", "age"], "give NAME=NUMBER"),
        (["--picture", "plan.txt"], ".png, .svg or .pdf"),
        (["--r-squared", "1"], "r_squared must be"),
        (["--stages", "9"], "stages must be one of"),
        (["--stages", "few"], "stages must be one of"),
        (["--features", "height"], "'height' is not declared"),
    ],
)
def test_the_command_refuses_bad_input(run, tmp_path, more, words):
    (tmp_path / "people.toml").write_text(SCHEMA)
    ran = run(*COMMAND, *more)
    assert ran.code == 2
    assert words in ran.said
    assert [path.name for path in tmp_path.iterdir()] == ["people.toml"]


def test_no_data_file_is_touched(run, tmp_path, monkeypatch):
    """The table lies beside the schema and cannot be read; every reader of the library fails."""
    (tmp_path / "people.toml").write_text(SCHEMA)
    data = tmp_path / "people.parquet"
    data.write_bytes(b"nothing that could be read")
    data.chmod(0)
    opened = []

    def watched(original):
        def call(file, *arguments, **options):
            opened.append(os.fspath(file) if isinstance(file, (str, os.PathLike)) else "")
            return original(file, *arguments, **options)

        return call

    monkeypatch.setattr("discreet.data.tables.InputTable.open", lambda *_: pytest.fail("data were read"))
    monkeypatch.setattr(builtins, "open", watched(open))
    monkeypatch.setattr(os, "open", watched(os.open))
    monkeypatch.setattr(Path, "open", watched(Path.open))
    ran = run(*COMMAND, "--epsilon", "1", "--methods", "DPLinearRegression,AdaSSP")
    assert ran.code == 0, ran.err
    assert any(name.endswith("people.toml") for name in opened)
    assert not any("parquet" in name for name in opened)


def test_dates_are_read_and_told_as_dates():
    domain = Domain({"day": ("2022-01-01", "2023-12-31"), "y": (0, 1)})
    given = {"rows": 5000, "epsilon": [1], "methods": ["DPLinearRegression"], "draws": 2, "stages": 1}
    found = plan(domain, "y", about={"day": {"mean": "2023-01-01", "sd": 20}}, **given)
    assert found.facts.to_dict()["about"]["day"]["mean"] == 19358
    assert "with day in (2022-07-03, 2023-07-02) the error" in " ".join(str(found).split())
    assert "day: mean 2023-01-01" in " ".join(str(plan(domain, "day", **given)).split())
    with pytest.raises(ParameterError, match=r"must be a date such as 2020-12-31, got '2023-31-31'"):
        plan(domain, "y", about={"day": {"mean": "2023-31-31"}}, **given)


def test_a_plan_in_which_single_coefficients_have_no_standard_error_is_saved():
    domain = Domain({"age": (18, 90), "region": ["north", "south", "west"], "income": (0, 100_000)})
    promise = {"rows": 2000, "delta": 1e-7, "epsilon": [0.16, 0.2, 0.25, 0.3]}
    about = {"age": {"mean": 50, "sd": 4}, "region": {"shares": [0.03, 0.47, 0.5]}, "income": {"sd": 5_000}}
    given = {"draws": 6, "methods": ["DPLinearRegression"], "tighter": False, "about": about}
    found = plan(domain, "income ~ region + age", **promise, **given)
    given = [one.std_err for one in found.expected if not isinstance(one.std_err, Unavailable)]
    assert any(np.isnan(values).any() and not np.isnan(values).all() for values in given)
    saved = json.loads(found.to_json())
    assert any(None in one["std_err"] for one in saved["expected"])
