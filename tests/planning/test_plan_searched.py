"""Plans with columns whose bounds nobody knows: the release is simulated with its search, beside bounds declared."""

import json

import numpy as np
import pyarrow as pa
import pytest

from discreet import Domain, DPLinearRegression, plan
from discreet.drivers.simulate import simulate
from discreet.errors import ParameterError
from discreet.planning.facts import facts
from discreet.planning.population import SampledTable, population
from discreet.planning.searched import WITHIN

pytestmark = pytest.mark.filterwarnings("ignore")

DOMAIN = Domain({"a": "number", "b": {"low": 0}, "born": "date", "g": ["u", "v"], "y": "number"})
ABOUT = {
    "a": {"mean": 0, "sd": 4},
    "b": {"high": 50},
    "born": {"low": "1950-01-01", "high": "2005-01-01"},
    "y": {"mean": 3, "sd": 12},
}
ASKED = {"rows": 6000, "delta": 1e-6, "r_squared": 0.6, "about": ABOUT, "draws": 3, "tighter": False}
GUESSES = {"rows": 6000, "r_squared": 0.6, "mean_square": None, "correlation": None, "about": ABOUT}
TOLD = facts(DOMAIN, "y", None, **GUESSES).about  # means and sds, without ranges
DECLARED = ASKED | {"about": {k: v for k, v in TOLD.items() if k != "g"}, "methods": ["DPLinearRegression"]}
NARROW = {"a": ABOUT["a"], "b": ABOUT["b"]}


@pytest.fixture(scope="module")
def found():
    return plan(DOMAIN, "y", **ASKED, epsilon=[0.02, 0.15, 3])


def test_the_simulated_release_is_that_of_a_table_with_the_same_rows():
    known = facts(DOMAIN, "y", None, rows=800, r_squared=0.6, mean_square=None, correlation=None, about=ABOUT)
    people = population(known, np.random.default_rng(1))
    made_up = SampledTable(people, 800, np.random.default_rng(2))
    asked = {"epsilon": 20, "delta": 1e-6, "rows": 800, "random_state": 7}
    model = DPLinearRegression(**asked)
    recipe, session = model.recipe(known.declared, "y", known.features)
    ours = simulate(recipe, made_up.source(known.declared), session)

    copies = np.repeat(np.arange(len(people.y))[made_up._present], made_up._copies.astype(int))
    levels = np.array(DOMAIN.columns["g"].levels)
    rows = {name: own[copies] for name, own in people.values.items()}
    days = pa.array(rows["born"] * 86_400e6).cast(pa.int64(), safe=False).cast(pa.timestamp("us"))
    table = pa.table({**rows, "born": days, "g": levels[rows["g"]], "y": people.y[copies]})
    theirs = DPLinearRegression(**asked, domain=known.declared).fit_source(table, "y", list(known.features))
    assert ours.certificate.domain == theirs.certificate_.domain
    assert ours.certificate.searched == theirs.certificate_.searched == known.declared
    assert [own.mu for own in ours.certificate.events] == [own.mu for own in theirs.certificate_.events]
    for mine, other in zip(ours.values, theirs.release_.values, strict=True):
        for values, others in zip(mine, other, strict=True):
            assert np.allclose(values.floats(), others.floats(), rtol=1e-9, atol=1e-6)


def test_the_plan_searches_and_shows_declared_beside(found):
    assert found.epsilons == (0.15, 3)
    assert found.methods == ["DPLinearRegression", "DPRidge"]
    assert {found.left_out[name] for name in ("SSP", "AdaSSP")} == {"needs bounds of all columns"}
    declared = plan(found.facts.domain, "y", **DECLARED, epsilon=[0.02, 0.15, 3])
    assert [one.mse for one in found.declared] == [one.mse for one in declared.expected]
    assert found.at(0.15).mse > 1.01 * found.declared[1].mse
    assert found.at(3).mse < 1.01 * found.declared[2].mse
    assert found.at(3).std_err[1] > 0
    text = str(found)
    assert "DPLinearRegression, declared" in text
    assert "Were they declared, a in (-13.333, 13.333)" in " ".join(text.split())


def test_where_rows_tell_that_no_search_succeeds_the_plan_says_so(found):
    assert str(found.summary()).count("no search") == 2
    assert "6,000 rows at epsilon 0.02 are too few to search" in " ".join(str(found).split())
    with pytest.raises(ParameterError, match="too few to search for the bounds of 4 columns"):
        found.at(0.02)
    with pytest.raises(ParameterError, match=r"About 300 rows at epsilon 1 are too few.*what they are worth"):
        plan(DOMAIN, "y", **ASKED | {"rows": 300}, epsilon=[0.5, 1])


def test_persons_are_known_to_the_search():
    persons = DOMAIN.with_unit(person="who", rows_per_person=200)
    with pytest.raises(ParameterError, match="6,000 rows at epsilon 3 are too few"):
        plan(persons, "y", **ASKED, epsilon=3)


def test_documents_have_both(found):
    document = json.loads(found.to_json())
    assert document["facts"]["domain"]["columns"]["b"] == {"type": "number", "low": 0.0}
    assert [one["epsilon"] for one in document["declared"]] == [0.02, 0.15, 3]
    assert list(document["hopeless"]) == ["0.02"]


def test_wanted_widths_count_the_search():
    found = plan(DOMAIN, "y", **ASKED | {"draws": 2}, methods=["DPLinearRegression"], epsilon=1, want_width={"a": 1.0})
    least = found.answers[0].epsilon
    declared = plan(found.facts.domain, "y", **DECLARED | {"draws": 2}, epsilon=least)
    assert float(np.median(declared.at(least).width[1])) < 1.0


@pytest.mark.parametrize(
    ("target", "more"),
    [("g", {"g": {"shares": [0.6, 0.4]}}), ("c", {"c": {"high": 20, "mean": 3}})],
    ids=["classes", "counts"],
)
def test_classes_and_counts(target, more):
    domain = DOMAIN.select(["a", "b", "g"]).with_columns({**DOMAIN.select(["a", "b", "g"]).columns, "c": {"low": 0}})
    asked = {"rows": 20_000, "delta": 1e-6, "r_squared": 0.3, "about": NARROW | more, "draws": 2}
    asked |= {"methods": ["DPPoissonRegression"]} if target == "c" else {}
    made = plan(domain, target, ["a", "b"], epsilon=[0.01, 2], **asked)
    assert [one.epsilon for one in made.declared] == [0.01, 2]
    assert list(made.hopeless) == [0.01]
    assert 0 < made.at(2.0).excess < 0.2 * made.at(2.0).best
    assert made.at(2.0).intervals == 3
    assert made.at(2.0).excess != made.declared[1].excess
    with pytest.raises(ParameterError, match="too few to search"):
        made.at(0.01)
    assert "2, declared" in str(made)
    assert json.loads(made.to_json())["declared"][1]["intervals"] == 3


@pytest.mark.parametrize(
    ("about", "words"),
    [
        (None, "nobody told it of 'a', 'b', 'born', 'y'.*--about a.mean="),
        (ABOUT | {"a": {"sd": 1}}, "nobody told it of 'a'. Tell"),
        (ABOUT | {"a": {"low": 1}}, "nobody told it of 'a'. Tell"),
        (ABOUT | {"a": {"low": 1, "high": 1}}, "range that was guessed for column 'a' is empty"),
        (ABOUT | {"b": {"low": 3, "high": 9}}, "about has 'low' for column 'b'; known are high, mean, sd"),
        (ABOUT | {"b": {"mean": -4, "sd": 9}}, "mean of column 'b' must lie within its bounds"),
        (ABOUT | {"a": {"mean": 0, "sd": -1}}, "sd of column 'a'"),
        (ABOUT | {"born": {"low": "soon", "high": "2000-01-01"}}, "low of column 'born' must be a date"),
        (ABOUT | {"g": {"low": 1}}, "known are shares"),
        ({"a": 1}, "about must map columns"),
    ],
)
def test_the_spread_of_such_columns_must_be_told(about, words):
    with pytest.raises(ParameterError, match=words):
        plan(DOMAIN, "y", **ASKED | {"about": about}, epsilon=1)


def test_ranges_tell_mean_and_spread():
    known = facts(DOMAIN, "y", None, **GUESSES)
    assert known.domain.columns["b"].range == (0, 50)
    assert (known.numbers["b"].mean, known.numbers["b"].sd) == (25, 25 * WITHIN)
    assert known.domain.columns["a"].range == pytest.approx((-4 / WITHIN, 4 / WITHIN))
    assert known.declared == DOMAIN
    squared = facts(
        DOMAIN, "y", None, **GUESSES | {"mean_square": 25.0, "about": ABOUT | {"y": {"low": -9, "high": 9}}}
    )
    assert squared.outcome.sd == 5
    assert facts(DOMAIN, "y", ["g"], **GUESSES | {"about": {"y": ABOUT["y"]}}).domain.searched == ()


def test_what_cannot_search_is_refused():
    with pytest.raises(ParameterError, match="needs bounds of all columns"):
        plan(DOMAIN, "y", **ASKED, epsilon=3, stages=1)
    with pytest.raises(ParameterError, match="Counts are at least 0"):
        plan(DOMAIN, "a", ["b"], rows=6000, about=NARROW, epsilon=3, methods=["DPPoissonRegression"])
    with pytest.raises(ParameterError, match="AdaSSP cannot be simulated by a plan: needs bounds"):
        plan(DOMAIN, "y", **ASKED, epsilon=3, methods=["AdaSSP"])


SCHEMA = """
[columns]
a = { type = "number" }
b = { low = 0 }
born = { type = "date" }
g = { levels = ["u", "v"] }
y = { type = "number" }
"""


def test_on_the_command_line(run, tmp_path):
    (tmp_path / "people.toml").write_text(SCHEMA)
    told = [f"{name}.{what}={value}" for name, own in ABOUT.items() for what, value in own.items()]
    asked = ["plan", "--schema", "people.toml", "--rows", 6000, "--target", "y", "--delta", 1e-6, "--draws", 2]
    guesses = [part for guess in told for part in ("--about", guess)]
    ran = run(*asked, *guesses, "--epsilon", "0.02,1")
    assert ran.code == 0, ran.err
    for words in ("DPLinearRegression, declared", "no search", "born in (1950-01-01, 2005-01-01)"):
        assert words in ran.said
    assert "nobody told it of 'a'" in run(*asked, *guesses[8:]).err
