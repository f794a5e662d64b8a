"""Time and memory of what is asked of a ledger of 100,000 entries, each command in a process of its own.

python -m benchmarks.ledger_long                     a SQLite ledger
python -m benchmarks.ledger_long --entries 1000      a shorter one
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.ledger import fill
from discreet import Ledger

ENTRIES = 100_000
COMMANDS = (
    ("show", "{place}"),
    ("show", "{place}", "--json"),
    ("history", "{place}"),
    ("history", "{place}", "--json"),
    ("verify", "{place}"),
    ("backup", "{place}", "--out", "{place}.copy"),
    ("restore", "{place}.copy", "{place}.new"),
    ("export", "{place}", "--head", "--out", "{place}.json"),
)


class Use(NamedTuple):
    """What a command used: seconds by the clock, and the most memory in MB."""

    seconds: float
    megabytes: float


LAUNCH = """
import os, subprocess, sys, time
began = time.perf_counter()
process = subprocess.Popen([sys.executable, "-m", "discreet", *sys.argv[1:]], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(time.perf_counter() - began, usage.ru_maxrss / 1024)
sys.exit(status != 0)
"""
"""A small process that starts the command, because a process begins with the memory of the one that started it."""


def used(*command: str) -> Use:
    """Run a command of discreet with its output thrown away."""
    ran = subprocess.run([sys.executable, "-c", LAUNCH, *command], check=True, capture_output=True, text=True)
    return Use(*map(float, ran.stdout.split()))


def made(place: Path, entries: int = ENTRIES) -> Path:
    """A ledger of so many entries: two of three releases are of a table of the population."""
    ledger = Ledger.create(place)
    ledger.open("clinic", epsilon=3, delta=1e-6)
    ledger.open("clinic/visits")
    fill(ledger, entries, ("clinic", "clinic/visits", "clinic/visits"))
    return place


def main() -> None:
    """Print what each command used."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--entries", type=int, default=ENTRIES)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        place = made(Path(folder) / "people.ledger", given.entries)
        print(f"{given.entries} entries, {place.stat().st_size / 1e6:.0f} MB")
        for command in COMMANDS:
            found = used("ledger", *(part.format(place=place) for part in command))
            told = " ".join(part for part in command if "{" not in part)
            print(f"{told:<20}{found.seconds:>6.1f} s{found.megabytes:>8.0f} MB", flush=True)


if __name__ == "__main__":
    main()
