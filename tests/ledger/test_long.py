"""A ledger of 100,000 entries is shown and listed in seconds, and in little more memory than a short one."""

import json
import subprocess
import sys

import pytest
from benchmarks.ledger_long import made, used

from discreet.ledger import Ledger, picture
from discreet.privacy.budget_parts import Cost


@pytest.mark.more
def test_100_000_entries_take_seconds_and_little_memory(folder):
    """0.2.0 took 51 s and 1 GB for a list of them."""
    long, short = made(folder / "long.ledger"), made(folder / "short.ledger", 10)
    for command in (("show",), ("show", "--json"), ("history",), ("history", "--json")):
        found = used("ledger", command[0], str(long), *command[1:])
        assert found.megabytes - used("ledger", command[0], str(short), *command[1:]).megabytes < 60
        assert found.seconds < 25  # 2 to 3 on a machine that does nothing else


def test_a_long_list_has_every_release(folder):
    """More than a table with a frame has, on lines of their own."""
    place = made(folder / "people.ledger", 3000)
    Ledger(place).account("clinic").reserve(
        Cost(1e-4, 1e-6, mu=1e-4), "add-remove", {"method": "x", "columns": ["\x1b[2J"], "formula": None}
    )

    def asked(*options):
        command = [sys.executable, "-m", "discreet", "ledger", "history", str(place), *options]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    lines = asked().splitlines()
    releases = json.loads(asked("--json"))
    assert len(lines) - 2 == len(releases) == 1500
    assert [line.split()[0] for line in lines[2:]] == [str(one["number"]) for one in releases]
    assert "not finished, spent" in lines[-1]
    assert "\x1b" not in lines[-1]
    assert [one["state"] for one in releases] == ["released"] * 1499 + ["not finished, spent"]


def test_a_picture_of_many_entries_is_that_of_few_points(monkeypatch):
    """Its first and last points and its sums are those of all entries; no time goes back."""
    from discreet.ledger.storage import Memory

    ledger = Ledger.of(Memory())
    account = ledger.open("clinic", epsilon=3, delta=1e-6, others=(3.0, 1e-6))
    for number in range(70):
        paid = account.reserve(Cost(0.01, 0.0), "add-remove", {"method": "x", "columns": [], "formula": None})
        (paid.cancel if number % 7 == 3 else paid.draw)()
    (whole,) = picture.stories(ledger.entries())
    monkeypatch.setattr(picture, "POINTS", 10)
    (few,) = picture.stories(ledger.entries())
    assert len(whole.points) == 81
    assert 10 <= len(few.points) <= 21
    assert set(few.points) <= set(whole.points)
    assert (few.points[0], few.points[-1]) == (whole.points[0], whole.points[-1])
    assert (few.releases, few.lost, few.balance) == (60, 60, account.balance())
    assert [when for when, _ in few.points] == sorted(when for when, _ in few.points)
