"""Audits: tables that are searched for, every way of rows, what is shown, the command; no budget is charged."""

import json

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from discreet import AdaSSP, Budget, Domain, DPLinearRegression, DPPoissonRegression
from discreet.audit import PATHS, Neighbours, Subject, audit, subject_of
from discreet.audit.attack import worst_pair
from discreet.audit.evidence import Evidence
from discreet.audit.one_run import one_run
from discreet.audit.page import command
from discreet.audit.paths import offered
from discreet.audit.search import Candidate, _climbed, _costs, moved, pairs
from discreet.audit.tables import corners, crowds, middle
from discreet.cli import app
from discreet.errors import ParameterError
from discreet.mechanisms.registry import METHODS

ZERO, ONE = {"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 1.0}
SSP = subject_of("SSP", 8.0, 1e-6)
PAIR = Neighbours(SSP.domain, (ZERO,) * 32, (), (ONE,))


@pytest.fixture(scope="module")
def found():
    return audit(SSP, fits=120, pair=PAIR, seed=1)


# ---------------------------------------------------------------- what is attacked


@pytest.mark.parametrize("name", [method.name for method in METHODS])
def test_every_method_can_be_attacked(name):
    """With the law of its noise, or without: numbers are read off each fit, and they are those of the fit alone."""
    subject = subject_of(name, 8.0, 1e-6)
    crowd = crowds(subject.domain, subject.columns, 16)[-1]
    tables = Neighbours(subject.domain, crowd, (), (corners(subject.domain, subject.columns)[0],)).tables()
    seen = subject.seen(tables[1], 1)
    assert not seen.refusal
    read = Evidence(*tables, subject.quiet()).read(seen, 1)
    again = subject.seen(tables[1], 1)
    assert np.array_equal(seen.coefficients, again.coefficients)
    assert np.isfinite([read.ratio, *read.numbers]).all()
    assert read.whole == (name != "SubsampleAggregate")
    assert all(np.abs(noise).max() < 8 for noise in read.noise.values())


def test_the_worst_person_is_looked_for_inside_the_corners_too():
    """From a person in the middle the search climbs to where sums move most."""
    inside = moved(Neighbours(SSP.domain, (ZERO,) * 4, (), (ONE,)))
    assert {tuple(row.items()) for pair in inside for row in pair.second} == {
        (("x", a), ("y", b)) for a, b in [(x, 1.0) for x in (-1, -0.5, 0, 0.5)] + [(1.0, y) for y in (-1, -0.5, 0, 0.5)]
    }
    start = Candidate(Neighbours(SSP.domain, (ZERO,) * 32, (), ({"x": 0.5, "y": 0.5},)), 0.0)
    end = _climbed(SSP, start, np.random.default_rng(0))
    assert {abs(value) for row in end.pair.second for value in row.values()} == {1.0}
    assert end.loss > 1.1 * _costs(SSP, [start.pair], np.random.default_rng(1))[0].loss


def test_the_likelihood_ratio_has_its_law():
    """Of a Gaussian release its logarithm is normal, with mean -mu^2/2 and sd mu under the first table."""
    model = Evidence(*PAIR.tables())
    ratios = [model.read(SSP.seen(PAIR.tables()[0], k), 0).ratio for k in range(300)]
    mu = SSP.fitted(PAIR.tables()[0], 0).certificate_.events[0].mu
    assert np.mean(ratios) == pytest.approx(-(mu**2) / 2, abs=5 * mu / np.sqrt(300))
    assert np.std(ratios) == pytest.approx(mu, rel=0.2)


CLASS = {"common": ({"x": 1.0, "y": 1}, {"x": -1.0, "y": 0}) * 4, "person": {"x": 1.0, "y": 0}}
LAWS = {
    "drawn batches": ("NoisySGD", {"steps": 4, "rate": 0.5}, {}),
    "a ball": ("OPS", {"calibration": "pure", "delta": None}, {"common": (ONE,) * 4}),
    "a lasso that is 0 at times": ("NAPP", {}, {"common": (ONE,) * 4}),
    "classes with Laplace noise": ("DPLogisticRegression", {"noise": "laplace", "delta": None}, CLASS),
}


@pytest.mark.more
@pytest.mark.parametrize("name", LAWS)
def test_both_tables_agree_on_how_much_they_have_in_common(name):
    """The integral of the lesser density is the mean of min(1, ratio) under one, of its inverse under the other."""
    method, options, tables = LAWS[name]
    subject = subject_of(method, 8.0, **({"delta": 1e-6} | options))
    pair = Neighbours(subject.domain, tables.get("common", (ZERO,) * 4), (), (tables.get("person", ONE),))
    evidence, means = Evidence(*pair.tables(), subject.quiet()), []
    for k, table in enumerate(pair.tables()):
        read = [evidence.read(subject.seen(table, seed), k) for seed in range(150)]
        assert all(own.whole for own in read)
        means.append(np.mean(np.exp(np.minimum([(1 - 2 * k) * own.ratio for own in read], 0.0))))
    assert means[0] == pytest.approx(means[1], abs=0.12)
    assert means[0] < 0.97


def test_a_budget_is_not_charged():
    with Budget(1.0, 1e-6) as budget:
        audit(SSP, fits=40, pair=PAIR, seed=0)
    assert budget.to_dict()["releases"] == []


# ---------------------------------------------------------------- tables


def test_the_worst_pair_costs_all_that_is_promised():
    pair = worst_pair(SSP, np.random.default_rng(0))
    found = audit(SSP, fits=200, pair=pair, seed=0)
    ratios = np.concatenate(found.scores)
    assert np.std(found.scores[0]) == pytest.approx(found.promise.mu, rel=0.3)
    assert np.ptp(ratios) > found.promise.mu


def test_a_search_without_a_law_finds_a_person_who_is_told_apart():
    pair = worst_pair(subject_of("NAPP", 8.0, 1e-6), np.random.default_rng(0))
    assert len(pair.second) == 1
    assert not pair.first


def test_pairs_of_replaced_rows_are_of_one_size():
    pair = worst_pair(subject_of("SSP", 8.0, 1e-6, neighbors="replace-one"), np.random.default_rng(0))
    first, second = pair.tables()
    assert first.num_rows == second.num_rows
    assert first != second
    assert "besides" in str(pair)


def test_public_outcomes_stay_as_they_are():
    subject = subject_of("ReuseCov", 8.0, 1e-6, neighbors="replace-one", association="projection")
    found = pairs(subject, (ZERO,) * 4)
    assert found
    assert all(pair.first[0]["y"] == pair.second[0]["y"] for pair in found)
    assert {row["y"] for pair in moved(found[0], subject.public) for row in pair.second} == {found[0].first[0]["y"]}


def test_an_exposure_is_a_column_too():
    domain = Domain({"x": (-1, 1), "hours": (0.5, 2), "y": (0, 4)})
    subject = subject_of("DPPoissonRegression", 8.0, 1e-6, domain=domain, exposure="hours")
    assert subject.columns == ["x", "y", "hours"]
    pair = pairs(subject, crowds(subject.domain, subject.columns)[0])[0]
    read = Evidence(*pair.tables(), subject.quiet()).read(subject.seen(pair.tables()[1], 1), 1)
    assert read.whole
    assert np.abs(read.noise["sums"]).max() < 8


def test_corners_are_those_of_the_columns():
    domain = Domain({"x": (0, 4), "c": ["a", "b", "d"], "day": ("2020-01-01", "2020-12-31")})
    found = corners(domain, list(domain.columns))
    assert len(found) == 8
    assert {row["c"] for row in found} == {"a", "d"}
    assert str(middle(domain.columns["day"])) == "2020-07-01"
    wide = Domain({f"x{k}": (0, 1) for k in range(40)})
    assert len(corners(wide, list(wide.columns))) == 64


def test_a_person_comes_with_more_rows_than_count():
    own = Domain({"x": (-1, 1), "y": (-1, 1)}, person="who", rows_per_person=2)
    first, second = Neighbours(own, (ZERO,) * 4, (), (ONE,)).tables()
    assert (first.num_rows, second.num_rows) == (4, 10)
    assert len(set(second["who"].to_pylist())) == 5


# ---------------------------------------------------------------- ways of rows


@pytest.mark.parametrize("path", PATHS)
def test_every_way_of_rows_leads_to_the_same_bits(path):
    with offered(PAIR.tables(), path) as sources:
        for source, table in zip(sources, PAIR.tables(), strict=True):
            assert np.array_equal(SSP.seen(source, 3).coefficients, SSP.seen(table, 3).coefficients)


def test_a_way_that_is_not_known_is_refused():
    with pytest.raises(ParameterError, match="Known: memory"):
        audit(SSP, path="telepathy", fits=40, pair=PAIR)
    with pytest.raises(ParameterError, match="at least 40"):
        audit(SSP, fits=10)
    with pytest.raises(ParameterError, match="domain="):
        audit(Subject(AdaSSP(epsilon=1, delta=1e-6), "y", ("x",)), fits=40)


def test_fits_that_are_all_refused_are_told():
    with pytest.raises(ParameterError, match="refused"):
        audit(SSP, fits=40, pair=PAIR, path=lambda table, folder: table.select(["x"]))


# ---------------------------------------------------------------- what is shown


def test_a_page_stands_alone_and_says_what_was_found(found):
    page = found.report()
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    for words in ("epsilon is at least", "Two tables were made up", "discreet audit SSP", "not break"):
        assert words in page
    assert "NOT kept" not in page


def test_a_picture_shows_the_attack_below_the_promise(found):
    (axes,) = found.plot().get_axes()
    assert len(axes.get_lines()) == 5
    fp, tp = found.roc()
    assert (np.diff(fp) >= 0).all()
    assert ((fp >= 0) & (tp <= 1)).all()
    assert 0 < found.epsilon < found.promised


def test_what_is_found_is_json(found):
    facts = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert facts["fits"] == 120
    assert facts["broken"] is False
    assert facts["bound"]["epsilon"] == found.epsilon
    assert "BROKEN" not in repr(found)


# ---------------------------------------------------------------- one run


def test_one_run_proves_something_of_little_noise_and_nothing_of_much():
    assert 1 < one_run(AdaSSP, 10.0, 1e-6, canaries=150, seed=0).epsilon < 10
    assert one_run(DPLinearRegression, 0.1, 1e-6, canaries=60, seed=0, stages=1).epsilon < 0.1
    with pytest.raises(ParameterError, match="canaries"):
        one_run(AdaSSP, 1.0, 1e-6, canaries=3)


def test_one_run_catches_noise_that_is_far_too_small(monkeypatch):
    from discreet.gate import statistics as moments

    drawn = moments.add_normal_on_grid
    monkeypatch.setattr(moments, "add_normal_on_grid", lambda x, sd, m, s: drawn(x, sd / 50, m, s))
    assert one_run(AdaSSP, 1.0, 1e-6, canaries=150, seed=0).broken


# ---------------------------------------------------------------- the command


def test_the_command_writes_figures_picture_and_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = ["audit", "ssp", "--epsilon", "8", "--fits", "60", "--seed", "1", "--path", "parquet"]
    told = CliRunner().invoke(app, [*given, "--out", "a.json", "--picture", "a.png", "--report", "a.html"])
    assert told.exit_code == 0, told.output
    assert "did not break" in told.output
    assert json.loads((tmp_path / "a.json").read_text())["path"] == "parquet"
    assert (tmp_path / "a.png").stat().st_size > 1000
    assert "<h1>SSP</h1>" in (tmp_path / "a.html").read_text()
    facts = json.loads(CliRunner().invoke(app, [*given, "--json"]).output)
    assert facts["method"] == "SSP"


@pytest.mark.parametrize("name", ["ssp", "DPLogisticRegression", "DPPoissonRegression"])
def test_the_command_makes_one_run(name, tmp_path, monkeypatch):
    """A number, a class and a count."""
    monkeypatch.chdir(tmp_path)
    given = ["audit", name, "--epsilon", "8", "--canaries", "40", "--seed", "1"]
    told = CliRunner().invoke(app, [*given, "--out", "a.json"])
    assert told.exit_code == 0, told.output
    assert "16, " in told.output
    facts = json.loads((tmp_path / "a.json").read_text())
    assert (facts["fits"], facts["guesses"], facts["broken"]) == (1, 16, False)
    assert json.loads(CliRunner().invoke(app, [*given, "--json"]).output) == facts


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["nobody"], "There is no method"),
        (["ssp", "--picture", "a.txt"], ".png"),
        (["ssp", "--out", "a.png", "--picture", "a.png"], "different files"),
        (["DPRidge", "--published", "wang2018"], "leave out --published"),
        (["ssp", "--neighbors", "enemies"], "neighbors"),
        (["ssp", "--canaries", "100", "--report", "a.html"], "leave out --fits"),
        (["ssp", "--canaries", "100", "--fits", "60"], "leave out --fits"),
        (["ssp", "--canaries", "3"], "canaries must be"),
    ],
)
def test_the_command_refuses(given, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(app, ["audit", *given])
    assert found.exit_code != 0
    assert words in str(found.exception)


def test_the_command_of_a_page_is_one_that_runs(found):
    assert command(found) == "discreet audit SSP --epsilon 8 --delta 1e-06 --fits 120"


# ---------------------------------------------------------------- found by an audit


def test_a_table_of_zeros_can_be_counted():
    """Noisy counts without any of them have a mean of zero, whose logarithm and root are taken."""
    table = pa.table({"x": [0.0] * 32, "y": [0.0] * 32})
    domain = Domain({"x": (-1, 1), "y": (0, 4)})
    for intercept in (False, True):
        model = DPPoissonRegression(
            epsilon=1, delta=1e-5, domain=domain, rows=64, fit_intercept=intercept, n_jobs=1, random_state=1
        )
        assert np.isfinite(model.fit_source(table, "y", ["x"]).coef_).all()
