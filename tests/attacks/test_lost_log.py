"""A ledger whose log was lost forgot what was charged, in 0.2.0: copied without it after kill -9, 0 of 60 releases.

What is committed is in the file itself now, and the file is compared with its head, which names the newest entry.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger import Ledger
from discreet.ledger.audit import flaws

try:
    from discreet.privacy.budget_parts import Cost
except ImportError:  # its name in 0.2.0
    from discreet.privacy.pots import Cost

COST = Cost(0.03125, 0.0)
WHAT = {"method": "x", "columns": [], "formula": None}
PAY = """
import sys
from discreet.ledger import Ledger
from test_lost_log import Cost
account = Ledger(sys.argv[1]).account("clinic")
for number in range(60):
    paid = account.reserve(Cost(0.03125, 0.0), "add-remove", {"method": "x", "columns": [], "formula": None})
    paid.draw()
    paid.commit("c" * 64)
print("paid", flush=True)
sys.stdin.read()
"""


def made(folder):
    place = folder / "people.ledger"
    Ledger.create(place).open("clinic", epsilon=3, delta=1e-6, others=(3.0, 1e-6))
    return place


def pay(place):
    paid = Ledger(place).account("clinic").reserve(COST, "add-remove", WHAT)
    paid.draw()
    paid.commit("c" * 64)


def test_the_main_file_alone_has_all_that_a_killed_process_paid_for(tmp_path):
    place = made(tmp_path)
    command = [sys.executable, "-c", PAY, place]
    process = subprocess.Popen(command, cwd=Path(__file__).parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"paid\n"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    copy = tmp_path / "elsewhere" / "people.ledger"
    copy.parent.mkdir()
    shutil.copy(place, copy)
    assert Ledger(copy).account("clinic").releases() == 60
    assert flaws(Ledger(copy)) == []
    assert sorted(path.name for path in tmp_path.glob("people*")) == ["people.ledger", "people.ledger-head"]


@pytest.mark.parametrize("later", [1, 5])
def test_an_older_copy_put_in_its_place_is_refused(tmp_path, later):
    place = made(tmp_path)
    pay(place)
    older = place.read_bytes()
    for _ in range(later):
        pay(place)
    place.write_bytes(older)
    for use in (pay, lambda place: Ledger(place).accounts(), lambda place: Ledger(place).entries()):
        with pytest.raises(LedgerError, match=r"has seen entry \d+, and people.ledger ends at entry 3.* restore COPY"):
            use(place)
    assert "has seen entry" in flaws(Ledger(place))[0]


def test_another_ledger_in_its_place_is_refused(tmp_path):
    place, other = made(tmp_path), tmp_path / "other" / "people.ledger"
    other.parent.mkdir()
    made(other.parent)
    shutil.copy(other, place)
    with pytest.raises(LedgerError, match="has another entry"):
        pay(place)


def test_a_copy_without_its_head_can_be_read_and_not_charged(tmp_path):
    place, copy = made(tmp_path), tmp_path / "copy.ledger"
    pay(place)
    shutil.copy(place, copy)
    assert Ledger(copy).account("clinic").releases() == 1
    with pytest.raises(LedgerError, match=r"copy.ledger-head is missing.*discreet ledger restore copy.ledger"):
        pay(copy)
    shutil.copy(f"{place}-head", f"{copy}-head")  # moved with its head it is the ledger
    pay(copy)


def test_a_ledger_that_is_gone_is_not_begun_anew(tmp_path):
    place = made(tmp_path)
    pay(place)
    place.unlink()
    with pytest.raises(LedgerError, match=r"people.ledger-head is the head of a ledger of this name, which is gone"):
        Ledger.create(place)


def test_a_process_that_dies_before_it_writes_the_head_leaves_a_sound_ledger(tmp_path, monkeypatch):
    """The head is one entry behind then, and nobody was told of that entry."""
    place = made(tmp_path)
    pay(place)
    monkeypatch.setattr("discreet.ledger.storage.head.Head._write", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Ledger(place).account("clinic").reserve(COST, "add-remove", WHAT)
    monkeypatch.undo()
    assert Ledger(place).account("clinic").releases() == 2
    pay(place)
    assert flaws(Ledger(place)) == []


@pytest.mark.parametrize("content", [b"", b" " * 512, b"people", b"\0" * 512, b'{"kind": "ledger head"}'])
def test_a_head_that_says_nothing_stops_charges(tmp_path, content):
    place = made(tmp_path)
    pay(place)
    head = place.with_name(place.name + "-head")
    head.write_bytes(content)
    with pytest.raises(LedgerError, match=r"head is (missing|damaged).*Nothing was released"):
        pay(place)


def test_files_are_for_their_owner_alone(tmp_path):
    old = os.umask(0)
    try:
        place = made(tmp_path)
    finally:
        os.umask(old)
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("people*")} == {
        "people.ledger": 0o600,
        "people.ledger-head": 0o600,
    }
    assert place.with_name(place.name + "-head").stat().st_size == 512
