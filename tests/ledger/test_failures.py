"""Full disks, read-only folders, older copies and changed bytes: nothing is released uncounted, and all is told."""

import contextlib
import random
import resource
import shutil
import sqlite3
import stat
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest

from discreet import BudgetError, DiscreetWarning, Domain, Ledger, LedgerError, Moments, release
from discreet.core.files import write_document
from discreet.errors import FileFormatError
from discreet.ledger import audit
from discreet.ledger.accounts import Reservation
from discreet.ledger.audit import flaws, head_of, witness_of
from discreet.ledger.entries import INDEX
from discreet.ledger.storage.base import NEWEST

X = np.linspace(-1, 1, 400)[:, None]
DOMAIN = Domain.from_bounds(["a"], ["y"], bounds_X=(-1, 1), bounds_y=(-1, 1))
MOMENTS = Moments.from_source((X, X), DOMAIN)


def spend(epsilon=0.1):
    return release(MOMENTS, epsilon=epsilon, delta=1e-6)


@pytest.fixture
def ledger(folder):
    made = Ledger.create(folder / "people.ledger")
    made.open("clinic", epsilon=3, delta=1e-6)
    return made


def copied(ledger, path):
    """The ledger as it is on disk, with its head."""
    shutil.copy(f"{ledger.place}-head", f"{path}-head")
    return Ledger(shutil.copy(ledger.place, path))


def test_on_a_full_disk_nothing_is_released(ledger):
    """As the operating system lets a disk be full for one process: no file may grow."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    with ledger.account("clinic") as account:
        spend()
        before = account.balance()
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limit[1]))
        try:
            with pytest.raises(LedgerError, match=r"the disk is full.* Nothing was released"):
                spend()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        assert account.balance() == before
        spend()
    assert flaws(ledger) == []


def test_a_release_that_cannot_be_noted_is_complete_and_spent(ledger, monkeypatch):
    """The disk is full once the noise is drawn: the release is paid for, so it is handed out, with a warning."""
    settle = Reservation._settle

    def full(self, *given):
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limit[1]))
        try:
            settle(self, *given)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)

    monkeypatch.setattr(Reservation, "_settle", full)
    with ledger.account("clinic") as account, pytest.warns(DiscreetWarning, match="counts as spent"):
        released = spend()
    monkeypatch.undo()
    assert released.certificate.receipts[0].entry == 2
    assert account.releases() == 1
    assert [entry.number for entry in audit.unsettled(ledger.entries())] == [2]
    assert flaws(ledger) == []


def test_in_a_read_only_folder_all_can_be_read_and_nothing_released(folder):
    """By an ordinary user, for nothing is read-only to root."""
    place = folder / "people.ledger"
    account = Ledger.create(place).open("clinic", epsilon=3, delta=1e-6)
    with account:
        spend()
    del account
    code = f"""
        import os, sys, warnings
        from discreet import BudgetError, Domain, Ledger, Moments, release
        from discreet.ledger.audit import flaws
        import numpy as np
        X = np.linspace(-1, 1, 400)[:, None]
        domain = Domain.from_bounds(["a"], ["y"], bounds_X=(-1, 1), bounds_y=(-1, 1))
        moments = Moments.from_source((X, X), domain)
        release(moments, epsilon=0.1, delta=1e-6)  # so that all is loaded that an ordinary user may not read
        print(len(flaws(Ledger({str(place)!r}))))
        if os.getuid() == 0:
            os.setgid(65534); os.setuid(65534)
        ledger = Ledger({str(place)!r})
        print(flaws(ledger), ledger.account("clinic").releases())
        try:
            with ledger.account("clinic"):
                release(moments, epsilon=0.1, delta=1e-6)
        except BudgetError as error:
            print(error)
    """
    place.parent.chmod(0o555)
    place.chmod(0o444)
    try:
        ran = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)], check=False, capture_output=True, text=True, timeout=120
        )
    finally:
        place.parent.chmod(0o755)
        place.chmod(stat.S_IRUSR | stat.S_IWUSR)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("0\n[] 1\n")
    assert "read-only" in ran.stdout
    assert "Nothing was released" in ran.stdout


def test_an_older_copy_is_told_by_an_exported_head_and_by_every_release_since(ledger, tmp_path):
    with ledger.account("clinic"):
        spend().save(tmp_path / "old.json")
        older = copied(ledger, tmp_path / "older.ledger")
        new = spend()
        new.save(tmp_path / "new.json")
    audit.export(ledger, tmp_path / "head.json", head_only=True)
    head = head_of(tmp_path / "head.json")
    old = type(new).load(tmp_path / "old.json").certificate
    witness = [witness_of("new.json", new.certificate.receipts, new.certificate.digest), [head]]
    for seen in [[], *witness, witness_of("old.json", old.receipts, old.digest)]:
        assert flaws(ledger, seen) == []
    assert flaws(older) == []
    for seen in witness:
        assert "an older copy was put back" in flaws(older, seen)[0]
    with older.account("clinic"):  # somebody goes on with it
        spend()
        spend()
    for seen in witness:
        assert "written anew" in flaws(older, seen)[0]
    assert flaws(older, witness_of("old.json", old.receipts, old.digest)) == []


def test_a_release_of_another_ledger_or_another_certificate_is_told(ledger, folder):
    other = Ledger.create(folder / "other.ledger")
    other.open("clinic", epsilon=3, delta=1e-6)
    with other.account("clinic"):
        certificate = spend().certificate
    assert "another ledger" in flaws(ledger, witness_of("r.json", certificate.receipts, certificate.digest))[0]
    assert "not the release" in flaws(other, witness_of("r.json", certificate.receipts, "0" * 64))[0]


def test_an_exported_ledger_can_be_verified_alone(ledger, tmp_path):
    with ledger.account("clinic"):
        spend()
    audit.export(ledger, tmp_path / "all.json")
    assert audit.chain_flaws(audit.exported(tmp_path / "all.json")) == []
    assert flaws(ledger, [head_of(tmp_path / "all.json")]) == []
    write_document(tmp_path / "forged.json", {"kind": "ledger head", "format_version": 9})
    with pytest.raises(FileFormatError, match="format_version 9"):
        head_of(tmp_path / "forged.json")


def said(ledger):
    """All that a ledger says, or nothing where it cannot be read."""
    try:
        return [(entry.number, entry.body, entry.hash) for entry in ledger.entries()]
    except BudgetError:
        return None


def test_a_changed_byte_of_the_file_is_found_wherever_it_says_anything(ledger, tmp_path):
    """Bytes that hold nothing, the free room of pages, may change; whatever the ledger says may not."""
    with ledger.account("clinic"):
        spend()
        spend()
    original = copied(ledger, tmp_path / "copy.ledger")
    content, words = (tmp_path / "copy.ledger").read_bytes(), said(original)
    rng, found = random.Random(0), 0
    path = tmp_path / "forged.ledger"
    filled = [at for at, byte in enumerate(content) if byte]
    for at in [*rng.sample(filled, 400), *range(100)]:
        forged = bytearray(content)
        forged[at] ^= 1 << rng.randrange(8)
        for name in tmp_path.glob("forged.ledger*"):
            name.unlink()
        path.write_bytes(forged)
        changed = Ledger(path)
        wrong = flaws(changed)
        found += bool(wrong)
        assert wrong or said(changed) == words, at
    assert found > 300


@pytest.mark.parametrize(
    "change", ["request = 'x'", "account = 'lab'", "settles = 1", "body = replace(body, 'mu', 'nu')", "hash = 'x'"]
)
def test_a_changed_row_is_found(ledger, change):
    """By somebody who takes the guards away and puts them back, and who changes what the row is stored under, too."""
    with ledger.account("clinic"):
        spend()
    with contextlib.closing(sqlite3.connect(ledger.place, isolation_level=None)) as connection:
        (guard,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'discreet_ledger_update'").fetchone()
        connection.execute("DROP TRIGGER discreet_ledger_update")
        connection.execute(f"UPDATE discreet_ledger SET {change} WHERE number = 2")
        connection.execute(guard)
    assert any("Entry 2" in flaw for flaw in flaws(ledger))


@pytest.mark.parametrize("content", [b"", b"people", b"SQLite format 3\x00" + b"\x00" * 200])
def test_what_is_no_ledger_is_refused(folder, content):
    place = folder / "people.ledger"
    place.write_bytes(content)
    with pytest.raises(LedgerError, match="is no ledger"):
        Ledger(place).account("clinic")
    assert place.read_bytes() == content


def test_a_ledger_holds_no_data(ledger):
    """Canaries in the rows never reach it."""
    values = np.full((50, 1), 0.7316283)
    moments = Moments.from_source((values, values), DOMAIN)
    with ledger.account("clinic"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release(moments, epsilon=0.1, delta=1e-6)
    text = "".join(entry.body for entry in ledger.entries())
    assert "7316283" not in text
    assert ": 50" not in text
    assert '":50' not in text


def test_files_of_the_ledger_are_closed(ledger):
    """However many transactions there were, few files stay open."""
    opened = Path("/proc/self/fd")
    before = len(list(opened.iterdir())) if opened.exists() else 0
    for _ in range(20):
        with Ledger(ledger.place).account("clinic"):
            spend()
    after = len(list(opened.iterdir())) if opened.exists() else 0
    assert after <= before + 8


@pytest.mark.parametrize("where", ["", *(f"WHERE {name} = 'x'" for name in INDEX)])
def test_no_look_up_grows_with_the_ledger(ledger, where):
    """Each goes by an index, or by the number itself."""
    with contextlib.closing(sqlite3.connect(ledger.place)) as connection:
        plan = [line[-1] for line in connection.execute("EXPLAIN QUERY PLAN " + NEWEST.format(where=where))]
    assert len(plan) == 1
    assert "USING INDEX" in plan[0] or plan[0] == "SCAN discreet_ledger"  # by number, from its end
    assert ("USING INDEX" in plan[0]) == bool(where)
