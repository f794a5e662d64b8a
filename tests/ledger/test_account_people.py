"""Whom budgets and accounts protect: how often each release counts for a person, held to brute force."""

import itertools
import json
import math
import sqlite3
import warnings
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet import Budget
from discreet.cli import app
from discreet.errors import BudgetError, DiscreetWarning, FileFormatError, ParameterError
from discreet.ledger import Ledger, copies
from discreet.ledger.audit import chain_flaws, flaws, undercounted
from discreet.ledger.entries import LedgerEntry
from discreet.ledger.storage import Memory
from discreet.ledger.terms import Terms
from discreet.privacy import gdp
from discreet.privacy.budget_parts import Cost, Limits

WHAT = {"method": "a release", "columns": ["x"], "formula": None}
OLD = Path(__file__).parents[1] / "files" / "ledger.0.2.0.sql"


def gaussian(person=None, mu=0.005):
    return Cost(0.1, 1e-6, mu=mu, person=person)


def other(person=None):
    return Cost(0.01, 1e-9, person=person)


def terms(person, rows, neighbors="add-remove"):
    return Terms(Limits(3, 1e-6), neighbors, frozenset(), rows, person)


REFUSED = None
COUNTS = [
    # the account's person and rows, the relation, and how often releases of "patient", of rows and of "visit" count
    (("patient", 8), "add-remove", (1, 8, 16)),
    (("patient", 8), "replace-one", (1, 8, REFUSED)),
    (("patient", None), "add-remove", (1, REFUSED, REFUSED)),
    (("patient", None), "replace-one", (1, REFUSED, REFUSED)),
    (("patient", 1), "add-remove", (1, 1, 2)),
    ((None, 8), "add-remove", (16, 8, 16)),
    ((None, 8), "replace-one", (REFUSED, 8, REFUSED)),
    ((None, 1), "add-remove", (2, 1, 2)),
    ((None, 1), "replace-one", (REFUSED, 1, REFUSED)),
]


@pytest.mark.parametrize(("account", "neighbors", "counts"), COUNTS)
def test_how_often_each_release_counts(account, neighbors, counts):
    own = terms(*account, neighbors)
    assert Terms.from_dict(json.loads(json.dumps(own.to_dict()))) == own
    for person, times in zip(("patient", None, "visit"), counts, strict=True):
        if times is REFUSED:
            with pytest.raises(BudgetError, match=r"Remedy: .* Nothing was released"):
                own.steps(person, "the account")
        else:
            assert own.steps(person, "the account") == times


@pytest.mark.parametrize(("account", "neighbors", "counts"), COUNTS)
@pytest.mark.parametrize("cost", [gaussian, other])
def test_budgets_and_ledgers_charge_so(folder, account, neighbors, counts, cost):
    person, rows = account
    ledger = Ledger.create(folder / "people.ledger")
    given = {"epsilon": 3, "delta": 1e-6, "others": (1.5, 5e-7), "neighbors": neighbors}
    counted = {
        "budget": Budget(**given, person=person, rows_per_person=rows),
        "account": ledger.open("clinic", **given, person=person, rows_per_person=rows),
        "table": ledger.open("clinic/visits"),
        "own table": ledger.open("clinic/others", person=person, rows_per_person=rows),
    }
    for one, (whose, times) in itertools.product(
        counted.values(), zip(("patient", None, "visit"), counts, strict=True)
    ):
        balance = one.balance if isinstance(one, Budget) else one.balance()
        if times is REFUSED:
            with pytest.raises(BudgetError, match="Nothing was released"):
                one.reserve(cost(whose), neighbors, WHAT)
            continue
        paid = one.reserve(cost(whose), neighbors, WHAT)
        after = one.balance if isinstance(one, Budget) else one.balance()
        assert after.spent - balance.spent == after.limits.due(cost(whose).to_people(times))
        assert paid.entry.facts["times"] == times
        paid.cancel()
        assert (one.balance if isinstance(one, Budget) else one.balance()) == balance
        one.reserve(cost(whose), neighbors, WHAT).draw()
    assert flaws(ledger) == []
    assert undercounted(ledger.entries()) == []


def test_a_table_has_the_people_of_its_population_unless_it_names_its_own():
    ledger = Ledger.of(Memory())
    ledger.open("clinic", epsilon=3, delta=1e-6, person="patient", rows_per_person=8)
    given = {"a": {}, "b": {"rows_per_person": 2}, "c": {"person": "pid"}, "d": {"person": "pid", "rows_per_person": 3}}
    found = {name: ledger.open(f"clinic/{name}", **terms).terms() for name, terms in given.items()}
    assert {name: (one.person, one.rows_per_person) for name, one in found.items()} == {
        "a": ("patient", 8), "b": ("patient", 2), "c": ("pid", None), "d": ("pid", 3),
    }  # fmt: skip
    assert (ledger.open("lab", epsilon=1, delta=1e-6).terms().rows_per_person) == 1
    for bad in ({"person": ""}, {"person": 3}, {"person": ["id"]}, {"rows_per_person": 0}, {"rows_per_person": True}):
        with pytest.raises(ParameterError):
            ledger.open("other", epsilon=1, delta=1e-6, **bad)
        with pytest.raises(ParameterError):
            Budget(1, 1e-6, **bad)


@pytest.mark.parametrize("change", [{"rows_per_person": None}, {"rows_per_person": "8"}, {"person": 3}])
def test_terms_that_say_nothing_are_refused(change):
    with pytest.raises(FileFormatError):
        Terms.from_dict(terms(None, 8).to_dict() | change)


def test_the_first_release_decides_whom_a_budget_protects_where_nothing_else_does():
    def budget(*people):
        one = Budget(1, 1e-6)
        for person in people:
            one.reserve(gaussian(person), "add-remove", WHAT)
        return one

    assert "whom the first release protects" in repr(budget())
    assert budget("patient").unit == "persons by 'patient'"
    assert budget(None).unit == "one row is one person"
    assert budget("patient", "patient").mu_spent == pytest.approx(0.005 * math.sqrt(2))
    assert budget(None, "patient").mu_spent == pytest.approx(0.005 * math.sqrt(1 + 4))
    for second in (None, "visit"):
        with pytest.raises(BudgetError, match="rows each of them has was not declared"):
            budget("patient", second)
    refused = Budget(1, 1e-6)
    with pytest.raises(BudgetError, match="exceed"):
        refused.reserve(gaussian("patient", mu=9.0), "add-remove", WHAT)
    refused.reserve(gaussian(), "add-remove", WHAT)  # what was refused decided nothing
    assert refused.unit == "one row is one person"


# ---------------------------------------------------------------- brute force


def tables(rng):
    """Some rows, each of a patient and in a group; groups go across patients, or lie within them."""
    patients = rng.integers(0, 3, 7)
    groups = rng.integers(0, 4, 7) if rng.random() < 0.5 else patients * 3 + rng.integers(0, 3, 7)
    return list(zip(patients.tolist(), groups.tolist(), rng.integers(0, 3, 7).tolist(), strict=True))


def distance(before, after):
    """Steps by which a table becomes another one, each of which adds or takes a whole group.

    A group with other rows than before is taken and added.
    """

    def grouped(rows):
        names = {row[1] for row in rows}
        return {name: tuple(sorted(row for row in rows if row[1] == name)) for name in names}

    one, two = grouped(before), grouped(after)
    return sum(0 if one.get(g) == two.get(g) else 2 if g in one and g in two else 1 for g in {*one, *two})


def test_no_patient_is_further_away_than_what_is_charged():
    """Over many tables; rows and groups; and there are tables where nothing less would do."""
    rng, worst = np.random.default_rng(0), {"rows": Fraction(0), "groups": Fraction(0)}
    for _ in range(3000):
        rows = tables(rng)
        mine = [row for row in rows if row[0] == 0]
        if not mine:
            continue
        rest, own = [row for row in rows if row[0] != 0], terms("patient", len(mine))
        single = [(p, i, x) for i, (p, _, x) in enumerate(rows)]  # every row is a group
        left = [row for row in single if row[0] != 0]
        worst["rows"] = max(worst["rows"], Fraction(distance(single, left), own.steps(None, "it")))
        worst["groups"] = max(worst["groups"], Fraction(distance(rows, rest), own.steps("group", "it")))
    assert worst == {"rows": 1, "groups": 1}


def test_a_group_that_changes_may_cost_twice_what_a_group_costs_that_goes():
    """Each group adds its sign: what hides a group by mu needs two mu where a row turns the sign."""
    sd = 1 / 0.1  # one group more or less moves the sum by at most 1
    with_row, without = [+1, +1, -1], [+1, -1, -1]  # the second group loses a row, and the sum of its rows its sign
    assert abs(sum(with_row) - sum(without)) / sd == pytest.approx(2 * 0.1)
    assert gaussian("group", mu=0.1).to_people(terms(None, 1).steps("group", "it")).mu == pytest.approx(2 * 0.1)


@pytest.mark.parametrize("steps", [2, 8, 16])
def test_what_is_not_gaussian_costs_no_more_than_is_charged(steps):
    """The worst mechanism of a promise (epsilon, delta) that is known in closed form, so many steps away."""
    epsilon, delta = 0.2, 1e-7
    mu = gdp.mu(epsilon=epsilon, delta=delta)
    charged = Cost(epsilon, delta).to_people(steps)
    assert charged.epsilon == pytest.approx(steps * epsilon)
    assert gdp.delta(mu=steps * mu, epsilon=charged.epsilon) <= charged.delta
    leak = sum(math.exp(i * epsilon) for i in range(steps)) * delta
    assert charged.delta == pytest.approx(leak, rel=1e-9)


# ---------------------------------------------------------------- files


@pytest.fixture
def old(folder):
    """A ledger that version 0.2.0 wrote: accounts that know rows and no column, and releases of persons among them."""
    place = folder / "old.ledger"
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(OLD.read_text(encoding="utf-8"))
    copies.migrate(place)
    return place


def test_a_ledger_of_0_2_0_opens_and_its_sums_are_right(old):
    ledger = Ledger(old)
    assert flaws(ledger) == []
    assert ledger.account("clinic").terms().words == "8 rows a person"
    told = undercounted(ledger.entries())
    assert [note.split(" counts once")[0] for note in told] == ["Entry 6", "Entry 12"]
    assert "would count 16 times" in told[0]
    assert "would be refused" in told[1]
    ran = CliRunner().invoke(app, ["ledger", "verify", str(old)])
    assert ran.exit_code == 0
    assert "counts once, by version 0.2.0" in ran.output


def test_a_ledger_of_0_2_0_is_charged_by_the_rule_of_today(old):
    ledger = Ledger(old)
    before = ledger.account("clinic").balance().spent
    for person, times in (("visit", 16), ("patient", 16), (None, 8)):
        ledger.account("clinic/visits").reserve(gaussian(person), "add-remove", WHAT).draw()
        spent = ledger.account("clinic").balance().spent
        assert math.isclose(spent.mu2 - before.mu2, (times * 0.005) ** 2, rel_tol=1e-9)
        before = spent
    with pytest.raises(BudgetError, match="does not bound the other"):
        ledger.account("town").reserve(gaussian("id"), "replace-one", WHAT)
    patients = ledger.open("clinic/patients", person="patient", rows_per_person=8)  # the remedy
    patients.reserve(gaussian("patient"), "add-remove", WHAT).cancel()
    assert ledger.account("clinic").balance().spent == before
    assert flaws(ledger) == []


def test_an_entry_that_counts_less_often_than_its_account_says_is_found():
    ledger = Ledger.of(Memory())
    account = ledger.open("clinic", epsilon=3, delta=1e-6, person="patient", rows_per_person=8)
    account.reserve(gaussian("visit"), "add-remove", WHAT)
    for change in ({"times": 1}, {"times": 16.0}, {"times": None}, None):
        forged, last = [], None
        for entry in ledger.entries():
            facts = dict(entry.facts)
            if facts["kind"] == "reserve":
                facts = facts | change if change else {k: v for k, v in facts.items() if k != "times"}
            last = LedgerEntry.after(last, facts)
            forged.append(last)
        assert any("does not count as often" in flaw for flaw in chain_flaws(forged))


def test_the_command_line_names_the_column(folder):
    place = folder / "people.ledger"
    start = ["ledger", "init", str(place), "--account", "clinic", "--epsilon", "3", "--delta", "1e-6"]
    ran = CliRunner().invoke(app, [*start, "--person", "patient", "--rows-per-person", "8"])
    assert ran.exit_code == 0, ran.output
    assert "persons by 'patient', at most 8 rows each" in ran.output
    assert (one := Ledger(place).account("clinic").terms()).person == "patient"
    assert one.rows_per_person == 8
    schema = folder / "visits.toml"
    columns = "[columns]\nx = { low = 0, high = 1 }\ny = { low = 0, high = 1 }\n"
    epsilons = {}
    for person in ("patient", "visit", None):
        head = "" if person is None else f'person = "{person}"\nrows_per_person = 2\n'
        schema.write_text(head + columns, encoding="utf-8")
        options = ["--schema", str(schema), "--rows", "1000", "--target", "y", "--releases", "1", "--json"]
        ran = CliRunner().invoke(app, ["ledger", "plan", str(place), *options])
        epsilons[person] = json.JSONDecoder().raw_decode(ran.output)[0]["gaussian"][0]["epsilon"]
    assert epsilons["patient"] == pytest.approx(3, rel=1e-3)
    mu = gdp.mu(epsilon=3, delta=1e-6)
    for person, times in (("visit", 16), (None, 8)):
        assert epsilons[person] == pytest.approx(gdp.epsilon(mu=mu / times, delta=1e-6), rel=1e-3)


def test_a_table_that_names_another_column_than_its_population_is_warned_of():
    ledger = Ledger.of(Memory())
    ledger.open("clinic", epsilon=3, delta=1e-6, person="patient", rows_per_person=8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ledger.open("clinic/a", rows_per_person=2)
        ledger.open("clinic/b", person="patient", rows_per_person=2)
    with pytest.warns(DiscreetWarning, match="'visit', and its population by 'patient'"):
        ledger.open("clinic/c", person="visit", rows_per_person=2)
