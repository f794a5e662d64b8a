"""A ledger file with a second name (hard link, mount of the file) paid twice in 0.2.0: 208 draws where 104 are allowed.

SQLite named its log after the file, so each name had a log of its own and nobody saw what was spent by the other. Now
every transaction refuses a file with a second name, before it opens it; symbolic links are followed to the one file.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger import Ledger
from discreet.ledger.audit import flaws
from discreet.privacy.budget_parts import Cost

COST = Cost(0.125, 0.0)
ALLOWED = 8
SPEND = """
import sys
from discreet.errors import DiscreetError
from discreet.ledger import Ledger
from discreet.privacy.budget_parts import Cost
drawn, account = 0, None
try:
    account = Ledger(sys.argv[1]).account("clinic")
    while True:
        paid = account.reserve(Cost(0.125, 0.0), "add-remove", {"method": "x", "columns": [], "formula": None})
        paid.draw()
        drawn += 1
except DiscreetError as error:
    print(drawn, type(error).__name__, error, flush=True)
sys.stdin.read()
"""


def made(folder):
    """A ledger that allows 8 draws; nobody has it open."""
    place = folder / "real" / "people.ledger"
    place.parent.mkdir()
    ledger = Ledger.create(place)
    ledger.open("clinic", epsilon=1, delta=1e-6, others=(1.0, 1e-6))
    return place


def drawn(*commands):
    """How often each process can draw, while all of them are there; and what it is told at the end."""
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes, said = [], []
    for command in commands:  # one after the other: no chance is involved
        processes.append(subprocess.Popen(command, **options))
        said.append(processes[-1].stdout.readline())
    for process in processes:
        process.communicate("", timeout=60)
    return [int(line.split(" ", 1)[0]) for line in said], said


def spending(place):
    return [sys.executable, "-c", SPEND, str(place)]


def mounting(real, other):
    """A process that sees one file at another place, as a container does."""
    script = 'mount --bind "$1" "$2" && exec "$3" -c "$4" "$2"'
    return ["unshare", "--mount", "sh", "-c", script, "sh", str(real), str(other), sys.executable, SPEND]


def can_mount(folder):
    if shutil.which("unshare") is None or shutil.which("mount") is None:
        return False
    one, other = folder / "one", folder / "other"
    one.touch()
    other.touch()
    command = ["unshare", "--mount", "sh", "-c", 'mount --bind "$1" "$2"', "sh", str(one), str(other)]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def test_one_name_allows_what_it_allows(tmp_path):
    place = made(tmp_path)
    assert drawn(spending(place), spending(place))[0] == [ALLOWED, 0]


def test_a_hard_link_does_not_double_the_budget(tmp_path):
    place, second = made(tmp_path), tmp_path / "second.ledger"
    second.hardlink_to(place)
    counts, said = drawn(spending(place), spending(second))
    assert sum(counts) <= ALLOWED
    assert all("LedgerError" in line and "second name" in line and "find -samefile" in line for line in said)


def test_a_mount_of_the_single_file_does_not_double_the_budget(tmp_path):
    if not can_mount(tmp_path):
        pytest.skip("this process may not mount anything: it needs root, or user namespaces")
    place, inside = made(tmp_path), tmp_path / "container file"
    inside.touch()
    counts, said = drawn(spending(place), mounting(place, inside))
    assert sum(counts) <= ALLOWED
    assert counts[0] == ALLOWED
    assert "LedgerError" in said[1]
    assert "Mount the folder" in said[1]


def test_a_mount_of_the_folder_shares_the_log(tmp_path):
    if not can_mount(tmp_path):
        pytest.skip("this process may not mount anything: it needs root, or user namespaces")
    place, inside = made(tmp_path), tmp_path / "container"
    inside.mkdir()
    script = 'mount --bind "$1" "$2" && exec "$3" -c "$4" "$2/people.ledger"'
    command = ["unshare", "--mount", "sh", "-c", script, "sh", str(place.parent), str(inside), sys.executable, SPEND]
    counts, said = drawn(spending(place), command)
    assert counts == [ALLOWED, 0]
    assert "would exceed" in said[1]


def test_symbolic_links_lead_to_one_file_with_one_log(tmp_path):
    place = made(tmp_path)
    links = [tmp_path / name for name in ("a.ledger", "b.ledger")]
    for link in links:
        link.symlink_to(place)
    (tmp_path / "folder").symlink_to(place.parent)
    names = [*links, tmp_path / "folder" / "people.ledger"]
    assert drawn(*map(spending, names))[0] == [ALLOWED, 0, 0]
    assert {Ledger(name).account("clinic").subject for name in names} == {Ledger(place).account("clinic").subject}


@pytest.mark.parametrize("end", ["-journal", "-head"])
def test_a_file_beside_it_with_a_second_name_is_refused(tmp_path, end):
    place = made(tmp_path)
    beside = Path(str(place) + end)
    beside.touch()
    beside.rename(tmp_path / "other")
    beside.symlink_to(tmp_path / "other")
    with pytest.raises(LedgerError, match="Mount the folder"):
        Ledger(place).accounts()
    beside.unlink()
    beside.hardlink_to(tmp_path / "other")
    with pytest.raises(LedgerError, match="second name"):
        Ledger(place).accounts()
    (tmp_path / "other").unlink()
    Ledger(place).account("clinic").reserve(COST, "add-remove", {"method": "x", "columns": [], "formula": None})
    assert Ledger(place).account("clinic").balance().spent.epsilon == COST.epsilon


def test_reading_and_verifying_are_refused_alike_and_work_once_the_name_is_gone(tmp_path):
    place, second = made(tmp_path), tmp_path / "second.ledger"
    second.hardlink_to(place)
    for name in (place, second):
        for work in (Ledger.accounts, Ledger.entries, lambda ledger: ledger.storage.flaws()):
            with pytest.raises(LedgerError, match="second name"):
                work(Ledger(name))
        assert "second name" in flaws(Ledger(name))[0]
    second.unlink()
    assert flaws(Ledger(place)) == []


def test_without_a_list_of_mounts_another_device_tells(tmp_path, monkeypatch):
    names = pytest.importorskip("discreet.ledger.storage.names")
    place = made(tmp_path)
    monkeypatch.setattr(names, "MOUNTS", tmp_path / "no such list")
    names.refuse_second_names(place)
    shown = os.stat_result((*place.stat()[:2], place.stat().st_dev + 1, 1, *place.stat()[4:]))
    monkeypatch.setattr(Path, "lstat", lambda self: shown)
    with pytest.raises(LedgerError, match="Mount the folder"):
        names.refuse_second_names(place)
