"""A ledger that lies in the place of the one that was charged: a new one, an older copy, another one.

0.2.0 charged whatever it found there. A service remembers the newest entry that it
has seen, and refuses a ledger without it.
"""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from conftest import CONFIG, SCHEMA, Town, set_up, write_people
from sqlalchemy import text

from discreet.errors import LedgerError, ParameterError
from discreet.ledger import Ledger
from discreet.ledger.accounts import Reservation
from discreet.ledger.entries import LedgerEntry
from discreet.ledger.storage import storage_of
from discreet.service.core import Service
from discreet.service.jobs import NEUTRAL
from discreet.service.settings import Settings
from discreet.service.storage import FORMAT, Store, fact, write_fact

OLD = Path(__file__).parents[1] / "files"
KEY = "dk_190787ba_DR0yffUbhDqealYpTLVoWzJK1XOyrkhW36ctPRpjVrE"
"""The key of ada in the database of 0.2.0."""


def removed(path):
    """Remove a ledger with all that lies beside it."""
    for part in path.parent.glob(f"{path.name}*"):
        part.unlink()


def copied(path, to):
    """Copy a ledger with all that lies beside it, as a snapshot of the disk does."""
    to.mkdir(exist_ok=True)
    for part in path.parent.glob(f"{path.name}*"):
        if not part.name.endswith("-shm"):
            shutil.copy(part, to / part.name)


def opened(path):
    made = Ledger.create(path)
    made.open("town", epsilon=3.0, delta=1e-6, others=(0.5, 4e-7))
    made.open("town/people")
    made.open("town/small", epsilon=0.2, delta=5e-7)


def reserved(ledger):
    return sum(entry.facts["kind"] == "reserve" for entry in ledger.entries())


@pytest.mark.more
def test_an_older_copy_is_refused_at_start_and_before_each_charge(tmp_path):
    town = Town(set_up(tmp_path))
    ledger, backup = tmp_path / "people.ledger", tmp_path / "backup"
    copied(ledger, backup)
    assert town.done()["state"] == "done"
    newest = tmp_path / "newest"
    copied(ledger, newest)
    removed(ledger)  # under a service that runs
    copied(backup / ledger.name, tmp_path)
    told = town.done(formula="income ~ sex", reuse=False)
    assert (told["state"], told["answer"]) == ("failed", NEUTRAL)
    assert reserved(Ledger(ledger)) == 0
    assert town.service.catalogue.is_open("people")  # nothing is wrong with the table
    problem = town("carl", "GET", f"/jobs/{told['id']}").json()["problem"]
    assert "older copy" in problem
    assert "restore the newest backup" in problem
    with pytest.raises(LedgerError, match="older copy"):
        Service(Settings.from_file(town.config))
    removed(ledger)
    copied(newest / ledger.name, tmp_path)  # the remedy
    again = Town(town.config)
    assert again.done(formula="income ~ sex", reuse=False)["state"] == "done"
    assert reserved(again.service.ledger) == 2


def test_a_new_ledger_in_its_place_is_refused(tmp_path):
    config = set_up(tmp_path)
    Service(Settings.from_file(config))
    removed(tmp_path / "people.ledger")
    opened(tmp_path / "people.ledger")  # of the same accounts, none of which has spent anything
    with pytest.raises(LedgerError, match="not the one that this service has charged"):
        Service(Settings.from_file(config))


def test_a_ledger_that_went_on_elsewhere_is_taken(tmp_path):
    config = set_up(tmp_path)
    Service(Settings.from_file(config))
    Ledger(tmp_path / "people.ledger").open("village", epsilon=1, delta=1e-6)
    Service(Settings.from_file(config))
    Service(Settings.from_file(config))


@pytest.mark.more
def test_a_charge_is_noted_before_its_noise_is_drawn(tmp_path, monkeypatch):
    town, seen = Town(set_up(tmp_path)), []
    draw = Reservation.draw

    def drawn(self):
        seen.append(town.service.witness._seen()["entry"] >= self.entry.number)
        draw(self)

    monkeypatch.setattr(Reservation, "draw", drawn)
    assert town.done()["state"] == "done"
    assert seen
    assert all(seen)


# ---------------------------------------------------------------- the format of the database


def old_service(folder):
    """A service as 0.2.0 left it: a model was made, and a request waits."""
    with sqlite3.connect(folder / "service.db") as database:
        database.executescript((OLD / "service.0.2.0.sql").read_text(encoding="utf-8"))
    storage = storage_of(folder / "people.ledger")
    storage.create()
    with storage.writing() as ledger:
        for number, line in enumerate((OLD / "service.0.2.0.ledger.jsonl").read_text(encoding="utf-8").splitlines()):
            ledger.append(LedgerEntry(number, **json.loads(line)))
    write_people(folder / "people.csv")
    (folder / "people.toml").write_text(SCHEMA, encoding="utf-8")
    (folder / "service.toml").write_text(CONFIG.format(step=0.05, workers=1, more=""), encoding="utf-8")
    return folder / "service.toml"


def test_a_database_of_0_2_0_is_brought_up_to_date(tmp_path):
    town = Town(old_service(tmp_path))
    with town.service.store.reading() as connection:
        assert int(fact(connection, "format")) == FORMAT
    assert town.service.people.of_key(KEY)[0].name == "ada"
    (waiting,) = town.service.jobs.waiting()
    assert waiting.facts["formula"] == "income ~ region"
    (release,) = town("ada", "GET", "/tables/people/releases").json()
    assert release["epsilon"] == 0.5
    Town(town.config)  # and once more, as it is now


def test_the_certificates_of_0_2_0_are_witnesses(tmp_path):
    """Its database names the entries that were paid: an older ledger is refused at the first start."""
    config = old_service(tmp_path)
    store = Store(str(tmp_path / "service.db"))
    with store.reading() as connection:
        assert json.loads(fact(connection, "witness"))["entry"] == 4
    removed(tmp_path / "people.ledger")
    opened(tmp_path / "people.ledger")
    with pytest.raises(LedgerError, match="entry 4"):
        Service(Settings.from_file(config))


def test_a_database_of_a_newer_format_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "service.db"
    store = Store(str(path))
    with store.writing() as connection:
        write_fact(connection, "format", str(FORMAT + 1))
    store.close()
    before = path.read_bytes()
    with pytest.raises(ParameterError, match="or a newer one"):
        Store(str(path))
    assert path.read_bytes() == before


def test_what_is_no_database_is_told(tmp_path):
    (tmp_path / "service.db").write_text("something else entirely, of some length" * 100)
    with pytest.raises(ParameterError, match="cannot be opened"):
        Store(str(tmp_path / "service.db"))


@pytest.mark.more
def test_postgresql_is_brought_up_to_date_too(team):
    with team.service.store.writing() as connection:  # as 0.2.0 left it
        connection.execute(text("DROP TABLE discreet_rates"))
        connection.execute(text("DELETE FROM discreet_facts"))
    again = Town(team.config)
    with again.service.store.reading() as connection:
        assert int(fact(connection, "format")) == FORMAT
