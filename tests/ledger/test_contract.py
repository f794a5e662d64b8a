"""The contract of a ledger, the same in memory, in SQLite and in PostgreSQL."""

import contextlib
import json
import pickle
import threading
from fractions import Fraction

import pytest

from discreet.errors import BudgetError, LedgerError, ParameterError
from discreet.ledger import Ledger
from discreet.ledger.audit import chain_flaws, flaws, unsettled, watched
from discreet.ledger.entries import LedgerEntry
from discreet.ledger.storage import Memory
from discreet.privacy import gdp
from discreet.privacy.budget_parts import Cost, Limits

WHAT = {"method": "a release", "columns": ["age", "income"], "formula": None}
GAUSSIAN = Cost(1.0, 1e-6, mu=0.25)
OTHER = Cost(0.25, 1e-7)


def opened(ledger, **terms):
    return ledger.open("clinic", **{"epsilon": 3, "delta": 1e-6, "others": (0.5, 5e-7)} | terms)


def pay(account, cost=GAUSSIAN, neighbors="add-remove"):
    return account.reserve(cost, neighbors, WHAT)


def release(account, cost=GAUSSIAN):
    paid = pay(account, cost)
    paid.draw()
    paid.commit("c" * 64)
    return paid


def kinds(ledger):
    return [entry.facts["kind"] for entry in ledger.entries()]


def is_sound(ledger):
    """All but the note that the tests' server does not wait for its disk."""
    return [flaw for flaw in flaws(ledger) if "fsync" not in flaw] == []


def test_a_release_is_an_entry_before_and_one_after_the_draw(ledger):
    account = opened(ledger)
    release(account)
    assert kinds(ledger) == ["ledger", "account", "reserve", "commit"]
    reserve, commit = (entry.facts for entry in ledger.entries()[2:])
    assert reserve["cost"] == GAUSSIAN.to_dict()
    assert reserve["columns"] == ["age", "income"]
    assert reserve["method"] == "a release"
    assert commit["settles"] == reserve["number"]
    assert commit["certificate"] == "c" * 64
    assert commit["after"] == reserve["after"]
    assert is_sound(ledger)


def test_each_pot_holds_what_is_in_it_and_not_one_release_more(ledger):
    account = opened(ledger)
    mu = account.balance().limits.mu
    while account.balance().mu_left >= GAUSSIAN.mu:
        release(account)
    spent = account.balance().spent
    assert spent.mu2 == account.releases() * Fraction(GAUSSIAN.mu) ** 2 <= Fraction(mu) ** 2
    with pytest.raises(BudgetError, match=r"exceed .* Nothing was released"):
        pay(account)
    release(account, Cost(1.0, 1e-6, mu=account.balance().mu_left))
    with pytest.raises(BudgetError):
        pay(account, Cost(1.0, 1e-6, mu=1e-6))
    release(account, OTHER)
    release(account, OTHER)
    with pytest.raises(BudgetError, match="epsilon = 0"):
        pay(account, Cost(1e-12, 0.0))
    assert account.balance().epsilon_spent <= 3
    assert account.balance().delta_spent <= 1e-6
    assert is_sound(ledger)


def test_sums_are_exact(ledger):
    """0.1 + 0.2 is more than 0.3 in floating point, and three times 0.1 is more than 0.3 exactly."""
    account = opened(ledger, epsilon=1, others=(0.3, 0.0))
    release(account, Cost(0.1, 0.0))
    release(account, Cost(0.1, 0.0))
    with pytest.raises(BudgetError):
        pay(account, Cost(0.1, 0.0))
    release(account, Cost(account.balance().others_left[0], 0.0))
    assert account.balance().spent.epsilon <= Fraction(0.3)


def test_what_is_cancelled_before_the_draw_is_there_again(ledger):
    account = opened(ledger)
    before = account.balance()
    pay(account).cancel()
    assert account.balance() == before
    assert account.releases() == 0
    assert kinds(ledger)[-2:] == ["reserve", "cancel"]
    assert is_sound(ledger)


def test_what_was_drawn_cannot_be_cancelled_nor_drawn_twice(ledger):
    account = opened(ledger)
    paid = pay(account)
    paid.draw()
    for step in (paid.cancel, paid.draw):
        with pytest.raises(BudgetError, match="drawn already"):
            step()
    paid.commit("c" * 64)
    for step in (paid.cancel, paid.draw, lambda: paid.commit("c" * 64)):
        with pytest.raises(BudgetError, match="committed already"):
            step()
    given_up = pay(account)
    given_up.cancel()
    with pytest.raises(BudgetError, match="cancelled already"):
        given_up.draw()
    with pytest.raises(BudgetError, match="reserved already"):
        pay(account).commit("c" * 64)
    assert is_sound(ledger)


def test_what_was_never_finished_is_spent(ledger):
    account = opened(ledger)
    pay(account)
    assert account.balance().spent.mu2 == Fraction(GAUSSIAN.mu) ** 2
    assert [entry.number for entry in unsettled(ledger.entries())] == [2]
    assert is_sound(ledger)


def test_tables_share_the_limits_of_their_population(ledger):
    clinic = opened(ledger)
    visits, staff = ledger.open("clinic/visits"), ledger.open("clinic/staff", epsilon=1, delta=1e-6)
    release(visits)
    with pytest.raises(BudgetError, match=r"clinic/staff|the budget"):
        pay(staff)
    release(staff, Cost(0.2, 1e-6, mu=0.1))
    assert clinic.balance().spent.mu2 == Fraction(0.25) ** 2 + Fraction(0.1) ** 2
    assert staff.balance().spent.mu2 == Fraction(0.1) ** 2
    assert visits.balance() == clinic.balance()
    assert clinic.releases() == 2
    assert staff.releases() == 1
    with contextlib.suppress(BudgetError):
        for _ in range(99):
            release(visits)
    with pytest.raises(BudgetError):
        pay(staff, Cost(0.9, 1e-6, mu=0.2))
    assert is_sound(ledger)


def test_people_with_several_rows_pay_for_each(ledger):
    opened(ledger)
    visits = ledger.open("clinic/visits", rows_per_person=2)
    few = Cost(0.5, 1e-6, mu=0.125)
    release(visits, few)
    assert visits.balance().mu_spent == 0.25
    release(visits, Cost(0.125, 1e-8))
    assert visits.balance().spent.epsilon == Fraction(0.25)
    assert 2.13e-8 < visits.balance().spent.delta < 2.14e-8
    pay(visits, few).cancel()
    assert visits.balance().mu_spent == 0.25
    assert is_sound(ledger)


@pytest.mark.parametrize(("rows", "epsilon"), [(2, 2.1), (5, 5.9), (12, 17.0)])
def test_what_rows_come_to(rows, epsilon):
    """(1, 1e-6) for a row, for somebody with several of them."""
    mu = Cost(1, 1e-6, mu=gdp.mu(1, 1e-6)).to_people(rows).mu
    assert gdp.epsilon(mu, 1e-6) == pytest.approx(epsilon, rel=0.05)


def test_accounts_are_opened_once_and_never_changed(ledger):
    opened(ledger)
    with pytest.raises(LedgerError, match="already, and its limits are fixed"):
        opened(ledger, epsilon=9)
    with pytest.raises(LedgerError, match="no account 'lab'"):
        ledger.account("lab")
    with pytest.raises(LedgerError, match="no account 'lab'"):
        ledger.open("lab/visits")
    with pytest.raises(ParameterError, match="neighbors"):
        ledger.open("clinic/visits", neighbors="replace-one")
    with pytest.raises(ParameterError, match="a part of a promise"):
        ledger.open("clinic/visits", others=(0.1, 0.0))
    ledger.open("lab", epsilon=1, delta=1e-6, neighbors="replace-one", public_outcomes=["y"])
    assert ledger.accounts() == ["clinic", "lab"]
    with pytest.raises(ParameterError, match="Name the account"):
        ledger.account()
    assert is_sound(ledger)


@pytest.mark.parametrize("name", ["", "a/b/c", "/a", "a/", " a", "a\n", 3, None, "x" * 2000])
def test_names_of_accounts(name):
    ledger = Ledger.of(Memory())
    with pytest.raises(ParameterError):
        ledger.open(name, epsilon=1, delta=1e-6)


@pytest.mark.parametrize(
    "terms",
    [
        {"epsilon": 0}, {"epsilon": None}, {"delta": None}, {"delta": 0}, {"others": (4, 0)}, {"others": (0, 1)},
        {"others": 1}, {"others": (float("nan"), 0)}, {"rows_per_person": 0}, {"rows_per_person": 1.5},
        {"public_outcomes": ["y"]}, {"neighbors": "twins"},
    ],
)  # fmt: skip
def test_bad_terms_are_refused_and_leave_nothing(terms):
    ledger = Ledger.of(Memory())
    with pytest.raises(ParameterError):
        opened(ledger, **terms)
    assert kinds(ledger) == ["ledger"]


def test_one_relation_and_no_column_less(ledger):
    account = opened(ledger, neighbors="replace-one", public_outcomes=["u"])
    with pytest.raises(BudgetError, match="Use one relation"):
        pay(account)
    with pytest.raises(BudgetError, match="takes 'v' as public"):
        pay(account, Cost(1, 1e-6, 0.1, frozenset("uv")), "replace-one")
    pay(account, Cost(1, 1e-6, 0.1, frozenset("u")), "replace-one")
    assert is_sound(ledger)


def test_without_anything_set_aside_others_are_refused(ledger):
    account = opened(ledger, others=(0, 0))
    with pytest.raises(BudgetError, match="nothing set aside"):
        pay(account, OTHER)
    with pytest.raises(BudgetError, match="Nothing bounds"):
        pay(ledger.open("lab", epsilon=1, delta=1e-6, others=(1, 1e-6)), Cost(float("inf"), 0, mu=0.1))


def test_a_request_is_paid_for_once(ledger):
    opened(ledger)
    release(ledger.account("clinic", request="nightly"))
    with pytest.raises(BudgetError, match=r"'nightly' was paid for already, as entry 2"):
        pay(ledger.account("clinic", request="nightly"))
    lost = ledger.account("clinic", request="weekly")
    pay(lost)
    with pytest.raises(BudgetError, match="paid for already"):
        pay(lost)
    assert ledger.account("clinic").releases() == 2
    assert is_sound(ledger)


def test_an_answer_that_did_not_come_is_not_paid_twice(ledger, monkeypatch):
    """The work of a transaction that was done is done again: it finds its own entry."""
    account = opened(ledger)
    write = ledger.write

    def twice(work):
        write(work)
        return write(work)

    monkeypatch.setattr(ledger, "write", twice)
    paid = pay(account)
    paid.draw()
    paid.commit("c" * 64)
    pay(account).cancel()
    assert kinds(ledger) == ["ledger", "account", "reserve", "commit", "reserve", "cancel"]
    monkeypatch.undo()
    assert account.releases() == 1
    assert is_sound(ledger)


def test_who_and_why(ledger, monkeypatch):
    opened(ledger)
    monkeypatch.setenv("DISCREET_WHO", "Ada")
    pay(ledger.account("clinic", purpose="yearly report"))
    pay(ledger.account("clinic", who="Grace"))
    one, other = (entry.facts for entry in ledger.entries()[-2:])
    assert (one["who"], one["purpose"], other["who"], other["purpose"]) == ("Ada", "yearly report", "Grace", "")


def test_the_clock_decides_nothing(ledger, monkeypatch):
    account = opened(ledger)
    release(account)
    moment = ledger.entries()[-1].facts | {"when": "1999-12-31T23:59:59.000+00:00"}
    monkeypatch.setattr(
        "discreet.ledger.accounts.stamp", lambda who=None: {k: moment[k] for k in ("when", "who", "software")}
    )
    release(account)
    notes = []
    assert list(watched(ledger.entries(), notes)) == ledger.entries()
    assert [note.split()[-1].rstrip(".") for note in notes] == ["4"]
    assert is_sound(ledger)
    assert account.releases() == 2


def test_threads_race_for_the_last_unit(ledger):
    account = opened(ledger, others=(0.5, 0.0))
    won = []

    def run():
        with contextlib.suppress(BudgetError):
            won.append(pay(account, Cost(0.125, 0.0)))

    threads = [threading.Thread(target=run) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 4
    assert is_sound(ledger)


def test_a_changed_entry_is_found_whatever_is_changed_in_it(ledger):
    """Every byte of every entry, and of the hash beside it."""
    release(opened(ledger))
    entries = ledger.entries()
    for place, entry in enumerate(entries):
        for field in ("body", "hash"):
            text = getattr(entry, field)
            for at in range(len(text)):
                forged = text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1 :]
                changed = LedgerEntry(
                    entry.number, *((forged, entry.hash) if field == "body" else (entry.body, forged))
                )
                assert chain_flaws([*entries[:place], changed, *entries[place + 1 :]])


def test_entries_left_out_added_or_moved_are_found(ledger):
    account = opened(ledger)
    for _ in range(3):
        release(account)
    entries = ledger.entries()
    assert chain_flaws(entries) == []
    for place in range(len(entries) - 1):
        assert chain_flaws(entries[:place] + entries[place + 1 :])
        assert chain_flaws([*entries[: place + 1], entries[place], *entries[place + 1 :]])
        assert chain_flaws([*entries[:place], entries[place + 1], entries[place], *entries[place + 2 :]])
    assert chain_flaws([])


def test_a_forger_who_hashes_anew_must_still_keep_the_limits(ledger):
    release(opened(ledger))
    forged, last = [], None
    for entry in ledger.entries():
        facts = json.loads(entry.body)
        if facts["kind"] == "reserve":
            facts["cost"]["mu"] = 0.01
        last = LedgerEntry.after(last, facts)
        forged.append(last)
    assert any("what it says was spent is not what was" in flaw for flaw in chain_flaws(forged))


def test_limits_follow_from_the_promise():
    limits = Limits(3, 1e-6, (0.5, 5e-7))
    assert Limits.from_dict(limits.to_dict()) == limits
    assert gdp.epsilon(limits.mu, 1e-6 - 5e-7) <= 2.5
    with pytest.raises(ValueError, match="not the one that follows"):
        Limits.from_dict(limits.to_dict() | {"mu": 2 * limits.mu})


# ---------------------------------------------------------------- where a ledger outlives its process


def test_entries_are_only_added(place):
    ledger = Ledger.create(place)
    opened(ledger)
    if "postgresql" in str(place):
        import psycopg

        connect, errors = lambda: psycopg.connect(place, autocommit=True), psycopg.Error
    else:
        import sqlite3

        connect, errors = lambda: sqlite3.connect(place, isolation_level=None), sqlite3.Error
    statements = [
        "UPDATE discreet_ledger SET hash = 'x'",
        "DELETE FROM discreet_ledger",
        "DELETE FROM discreet_ledger WHERE number = 1",
    ]
    with contextlib.closing(connect()) as connection:
        for statement in [*statements, *(["TRUNCATE discreet_ledger"] if "postgresql" in str(place) else [])]:
            with pytest.raises(errors, match="only added to"):
                connection.execute(statement)
    assert is_sound(ledger)


def test_guards_that_were_taken_away_are_told(place):
    ledger = Ledger.create(place)
    if "postgresql" in str(place):
        import psycopg

        with contextlib.closing(psycopg.connect(place, autocommit=True)) as connection:
            connection.execute("ALTER TABLE discreet_ledger DISABLE TRIGGER discreet_ledger_rows")
    else:
        import sqlite3

        with contextlib.closing(sqlite3.connect(place)) as connection:
            connection.execute("DROP TRIGGER discreet_ledger_update")
    assert any("guards" in flaw for flaw in flaws(ledger))


def test_a_ledger_is_made_once_and_opened_by_all(place):
    with pytest.raises(LedgerError, match="no ledger"):
        Ledger(place).accounts()
    opened(Ledger.create(place))
    with pytest.raises(LedgerError, match="already"):
        Ledger.create(place)
    account = Ledger(place).account()
    release(account)
    again = pickle.loads(pickle.dumps(Ledger(place).account("clinic", purpose="p", who="w", request="r")))
    assert (again.purpose, again.who, again.request, again.releases()) == ("p", "w", "r", 1)


def test_a_ledger_that_cannot_be_reached_releases_nothing():
    pytest.importorskip("psycopg")
    with pytest.raises(LedgerError, match="does not answer") as caught:
        Ledger("postgresql://ada:secret@localhost:1/people").account("clinic")
    assert "secret" not in str(caught.value)


# ---------------------------------------------------------------- PostgreSQL alone


def test_who_may_only_insert_and_select_can_release_and_change_nothing(database):
    import psycopg

    opened(Ledger.create(database))
    role = database.split("search_path%3D")[1] + "_analyst"
    with contextlib.closing(psycopg.connect(database, autocommit=True)) as connection:
        schema = database.split("search_path%3D")[1]
        connection.execute(f"CREATE ROLE {role} LOGIN")
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        connection.execute(f"GRANT INSERT, SELECT ON discreet_ledger TO {role}")
    address = database.replace("discreet@", f"{role}@")
    account = Ledger(address).account("clinic")
    release(account)
    assert account.releases() == 1
    with contextlib.closing(psycopg.connect(address, autocommit=True)) as connection:
        for statement in ("ALTER TABLE discreet_ledger DISABLE TRIGGER ALL", "DELETE FROM discreet_ledger"):
            with pytest.raises(psycopg.Error):
                connection.execute(statement)


def test_connections_that_break_are_made_anew_and_nothing_is_paid_twice(database, monkeypatch):
    import psycopg

    from discreet.ledger.storage.base import SQLTransaction

    account = opened(Ledger.create(database))
    release(account)
    with contextlib.closing(psycopg.connect(database, autocommit=True)) as connection:
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'discreet'"
        connection.execute(end)
        release(account)
        append, broken = SQLTransaction.append, []

        def breaking(self, entry):
            append(self, entry)
            if not broken:
                broken.append(entry.number)
                connection.execute(end)

        monkeypatch.setattr(SQLTransaction, "append", breaking)
        release(account)
    assert broken == [6]
    assert account.releases() == 3
    assert is_sound(account.ledger)
