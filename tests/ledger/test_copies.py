"""Backups of ledgers, the way back from them, and the step from the format of 0.2.0."""

import contextlib
import itertools
import json
import sqlite3
import zipfile
from pathlib import Path

import pytest
from benchmarks import postgres

from discreet.errors import LedgerError
from discreet.ledger import Ledger, copies
from discreet.ledger.audit import Witness, export, flaws, head_of
from discreet.ledger.storage import base
from discreet.privacy.budget_parts import Cost

WHAT = {"method": "x", "columns": [], "formula": None}
OLD = Path(__file__).parents[1] / "files" / "ledger.0.2.0.zip"
NUMBERS = itertools.count()


def made(place, releases=2):
    Ledger.create(place).open("clinic", epsilon=3, delta=1e-6, others=(3.0, 1e-6))
    pay(place, releases)
    return Ledger(place)


def pay(place, releases=1):
    for _ in range(releases):
        paid = Ledger(place).account("clinic").reserve(Cost(0.25, 0.0), "add-remove", WHAT)
        paid.draw()
        paid.commit("c" * 64)


def bodies(place):
    return [(entry.body, entry.hash) for entry in Ledger(place).entries()]


def fresh(place, folder):
    """Another place of the same kind."""
    if "postgresql" not in str(place):
        return folder / f"new{next(NUMBERS)}.ledger"
    return postgres.schema(place.split("&options")[0], f"restored{next(NUMBERS)}")


def lost(place, folder):
    """The file is gone, and its head is left; a database has none."""
    if "postgresql" in str(place):
        return fresh(place, folder)
    place.rename(folder / f"gone{next(NUMBERS)}")
    return place


def is_sound(place):
    return [flaw for flaw in flaws(Ledger(place)) if "fsync" not in flaw] == []


def test_a_backup_is_restored_as_it_was_and_goes_on(place, folder):
    made(place)
    before, copy = bodies(place), folder / "copy"
    assert copies.backup(place, copy).number == len(before) - 1
    assert copy.stat().st_mode & 0o777 == 0o600
    with pytest.raises(LedgerError, match="head is missing"):
        pay(copy)
    new = lost(place, folder)
    assert copies.restore(copy, new).number == len(before) - 1
    assert bodies(new) == before
    pay(new)
    assert is_sound(new)
    assert Ledger(new).account("clinic").releases() == 3


def test_what_would_roll_back_is_refused(place, folder):
    """Below an exported head, below a release, and below the head that the lost file left."""
    ledger, copy = made(place), folder / "copy"
    copies.backup(place, copy)
    pay(place)
    head = folder / "head.json"
    export(ledger, head, head_only=True)
    release = ledger.entries()[-2]
    seen = Witness("r.json", release.facts["ledger"], release.number, release.hash, "c" * 64)
    for witness in (head_of(head), seen):
        new = fresh(place, folder)
        with pytest.raises(LedgerError, match=r"has seen entry \d+, and the ledger ends at 5"):
            copies.restore(copy, new, [witness])
        assert "postgresql" in str(new) or not new.exists()
        with pytest.raises(LedgerError, match="no ledger"):
            Ledger(new).accounts()
    if "postgresql" not in str(place):
        with pytest.raises(LedgerError, match=r"people.ledger-head has seen entry 7"):
            copies.restore(copy, lost(place, folder))
        assert not place.exists()


def test_a_ledger_is_never_replaced(place, folder):
    made(place)
    copies.backup(place, folder / "copy")
    for target in (place, folder / "copy"):
        with pytest.raises(LedgerError, match="not replaced"):
            copies.restore(folder / "copy", target)
    with pytest.raises(LedgerError, match="not replaced"):
        copies.backup(place, folder / "copy")


def test_the_journal_of_a_lost_file_is_not_applied_to_a_restored_one(folder):
    place = folder / "people.ledger"
    made(place)
    copies.backup(place, folder / "copy")
    place.unlink()
    Path(f"{place}-journal").write_bytes(b"x" * 512)
    with pytest.raises(LedgerError, match=r"people\.ledger-journal exists"):
        copies.restore(folder / "copy", place)


@pytest.mark.parametrize("change", ["body = replace(body, 'mu', 'nu')", "account = 'lab'", "hash = 'x'"])
def test_a_damaged_ledger_makes_no_copy(folder, change):
    place = folder / "people.ledger"
    made(place)
    with contextlib.closing(sqlite3.connect(place, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER discreet_ledger_update")
        connection.execute(f"UPDATE discreet_ledger SET {change} WHERE number = 2")
    with pytest.raises(LedgerError, match=r"damaged|Entry 2"):
        copies.backup(place, folder / "copy")
    with pytest.raises(LedgerError, match=r"damaged|Entry 2"):
        copies.restore(place, folder / "new.ledger")
    assert sorted(path.name for path in folder.iterdir()) == ["people.ledger", "people.ledger-head"]


def test_a_backup_of_a_ledger_in_use_is_a_moment_of_it(folder):
    """Entries are added between two of its pages."""
    place = folder / "people.ledger"
    ledger = made(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "PAGE", 1)
        patch.setattr("discreet.ledger.storage.sqlite.FOLLOWING", base.FOLLOWING.replace("2000", "1"))
        scan = ledger.scan()
        before = [next(scan) for _ in range(3)]
        pay(place)
        assert [entry.number for entry in [*before, *scan]] == list(range(8))


# ---------------------------------------------------------------- formats


@pytest.fixture
def old(folder):
    """A ledger that 0.2.0 wrote until it was killed, and what it said of it."""
    with zipfile.ZipFile(OLD) as archive:
        archive.extractall(folder)
    return folder / "people.ledger", json.loads((folder / "expected.json").read_text(encoding="utf-8"))


def test_a_ledger_of_0_2_0_is_migrated_with_what_its_log_alone_had(old):
    place, expected = old
    for work in (Ledger.accounts, Ledger.entries, lambda ledger: ledger.open("x", epsilon=1, delta=1e-6)):
        with pytest.raises(LedgerError, match=r"has format 1.*discreet ledger migrate people\.ledger"):
            work(Ledger(place))
    assert copies.migrate(place).number == len(expected["entries"]) - 1
    assert bodies(place) == [tuple(one) for one in expected["entries"]]
    ledger = Ledger(place)
    told = {name: ledger.account(name).balance().spent.to_dict() for name in ledger.accounts()}
    assert told == expected["spent"]
    assert flaws(ledger) == []
    assert {path.name for path in place.parent.glob("people*")} == {"people.ledger", "people.ledger-head"}
    assert {path.stat().st_mode & 0o777 for path in place.parent.glob("people*")} == {0o600}
    pay(place)
    assert flaws(ledger) == []
    assert copies.migrate(place) is None


def test_a_ledger_of_0_2_0_that_lost_its_log_is_told_by_a_witness(old):
    place, expected = old
    Path(f"{place}-wal").unlink()
    facts = json.loads(expected["entries"][-1][0])
    witness = Witness("r.json", facts["ledger"], facts["number"], expected["entries"][-1][1])
    with pytest.raises(LedgerError, match=r"r.json has seen|another ledger|no entry|damaged"):
        copies.migrate(place, [witness])
    with pytest.raises(LedgerError):
        Ledger(place).accounts()


@pytest.mark.parametrize(
    "step", ["journal_mode = DELETE", "BEGIN EXCLUSIVE", "application_id =", "user_version =", "COMMIT"]
)
def test_a_migration_that_dies_at_any_step_is_done_again(old, step, monkeypatch):
    place, expected = old
    connect = sqlite3.connect

    class Dying(sqlite3.Connection):
        def execute(self, sql, *values):
            if step in sql and self.armed:
                raise KeyboardInterrupt
            return super().execute(sql, *values)

        armed = False

    def connected(*given, **options):
        made = connect(*given, factory=Dying, **options)
        made.armed = True
        return made

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", connected)
        with contextlib.suppress(KeyboardInterrupt):
            copies.migrate(place)
    with contextlib.suppress(LedgerError):
        copies.migrate(place)
    assert bodies(place) == [tuple(one) for one in expected["entries"]]
    pay(place)
    assert flaws(Ledger(place)) == []


def test_nobody_else_may_use_a_ledger_that_is_migrated(old):
    place, _ = old
    with contextlib.closing(sqlite3.connect(place)) as other:
        other.execute("SELECT count(*) FROM discreet_ledger").fetchone()
        with pytest.raises(LedgerError, match="others were using it"):
            copies.migrate(place)
    copies.migrate(place)


def test_a_program_of_0_2_0_refuses_a_migrated_file(old):
    """It looks for its own mark in the header; these are its words for a file without it."""
    place, _ = old
    assert place.read_bytes()[68:72] == b"disc"
    copies.migrate(place)
    assert place.read_bytes()[68:72] == b"dis2"


def test_a_newer_format_is_told(folder):
    place = folder / "people.ledger"
    made(place)
    with contextlib.closing(sqlite3.connect(place, isolation_level=None)) as connection:
        connection.execute("PRAGMA user_version = 3")
    for work in (pay, copies.migrate, lambda place: Ledger(place).entries()):
        with pytest.raises(LedgerError, match="has format 3, and this discreet knows formats up to 2"):
            work(place)


def test_a_log_that_another_program_made_is_taken_back(folder):
    place = folder / "people.ledger"
    made(place)
    with contextlib.closing(sqlite3.connect(place)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    with pytest.raises(LedgerError, match="discreet ledger migrate"):
        pay(place)
    copies.migrate(place)
    pay(place)
    assert flaws(Ledger(place)) == []


def test_a_ledger_of_0_2_0_in_postgresql_is_migrated_and_closed_to_programs_of_0_2_0(database):
    import psycopg

    made(database)
    before = bodies(database)
    with contextlib.closing(psycopg.connect(database, autocommit=True)) as connection:
        connection.execute("ALTER TABLE discreet_ledger DROP COLUMN format")  # as 0.2.0 made it
        connection.execute("DROP FUNCTION discreet_ledger_format()")
        with pytest.raises(LedgerError, match="has format 1"):
            pay(database)
        assert copies.migrate(database).number == len(before) - 1
        assert copies.migrate(database) is None
        with pytest.raises(psycopg.errors.NotNullViolation):
            connection.execute("INSERT INTO discreet_ledger VALUES (6, 'x', 'x', NULL, NULL, NULL, '{}', 'x')")
    assert bodies(database) == before
    pay(database)
    assert is_sound(database)
