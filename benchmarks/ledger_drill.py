"""A custodian's bad day, rehearsed: load, kill -9 at random, the disk is lost, restore from a backup, continue.

    python -m benchmarks.ledger_drill --rounds 40                          a SQLite file
    python -m benchmarks.ledger_drill --rounds 40 --held 8000 --postgres   a PostgreSQL server of its own

In each round four processes draw as fast as they can, and each writes what it was told to a file of its own before it
goes on: an acknowledged charge. They are killed at a random moment, some of them in the middle of a write. Then

    * the main file alone is copied, as people do: every acknowledged charge must be in the copy;
    * the ledger is verified, with the newest acknowledged charge as a witness;
    * a backup is made, and the file is lost: the backup of the round before must be refused, by the head that is left,
      and the new one restored;
    * the processes go on with what was restored.

At the end the account is spent to the last release that it holds. A PostgreSQL
database has neither a file to copy nor a head: there the newest acknowledged charge is the witness.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import postgres
from discreet import BudgetError, Ledger
from discreet.errors import DiscreetError, LedgerError
from discreet.ledger import copies
from discreet.ledger.audit import Witness, flaws
from discreet.privacy.budget_parts import Cost

PROCESSES = 4
COST = Cost(2.0**-12, 0.0)
WHAT: dict[str, Any] = {"method": "x", "columns": [], "formula": None}


def drawing(place: str, told: str) -> None:
    """Draw until nothing is left; write each charge that was acknowledged to a file before the next one."""
    account = Ledger(place).account("clinic")
    with Path(told).open("a", encoding="utf-8") as file:
        while True:
            try:
                paid = account.reserve(COST, "add-remove", WHAT)
            except BudgetError as error:
                if isinstance(error, LedgerError):
                    print(error, flush=True)
                return
            paid.draw()
            file.write(f"{paid.entry.number} {paid.entry.hash}\n")
            file.flush()
            paid.commit("c" * 64)


def acknowledged(folder: Path) -> dict[int, str]:
    """The number and hash of every charge that a process was told of; a line that a kill cut off was not read."""
    lines = [line for path in folder.glob("told*") for line in path.read_text(encoding="utf-8").splitlines()]
    found = [line.split() for line in lines]
    return {int(number): digest for number, digest in found if len(digest) == 64}


class Drill:
    """One drill: its place, and what came of its rounds."""

    def __init__(self, folder: Path, address: str | None, held: int, seed: int) -> None:
        self.folder, self.address, self.held, self.rng = folder, address, held, random.Random(seed)
        self.place = str(folder / "people.ledger") if address is None else postgres.schema(address, "round0")
        whole = held * COST.epsilon
        Ledger.create(self.place).open("clinic", epsilon=whole, delta=1e-6, others=(whole, 0))
        self.older: Path | None = None
        self.wrong: list[str] = []
        self.counts = dict.fromkeys(("acknowledged", "killed", "refused", "restored"), 0)

    def round(self, number: int) -> None:
        """Load, kill, verify, lose, restore."""
        before = len(acknowledged(self.folder))
        context = multiprocessing.get_context("fork")
        given = [(self.place, str(self.folder / f"told.{number}.{i}")) for i in range(PROCESSES)]
        workers = [context.Process(target=drawing, args=one) for one in given]
        for worker in workers:
            worker.start()
        time.sleep(self.rng.uniform(0.1, 1.5))
        for worker in self.rng.sample(workers, PROCESSES):
            time.sleep(self.rng.uniform(0, 0.02))
            self.counts["killed"] += worker.is_alive()
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid or 0, signal.SIGKILL)
        for worker in workers:
            worker.join()
        told = acknowledged(self.folder)
        self.counts["acknowledged"] = len(told)
        witness = self._checked(number, told)
        self._restored(number, witness, advanced=len(told) > before)

    def _checked(self, number: int, told: dict[int, str]) -> Witness:
        """Compare the ledger, and a copy of its main file alone, with what was acknowledged."""
        if self.address is None:
            copy = self.folder / f"copy{number}"
            shutil.copy(self.place, copy)  # before anybody opens it: as it was when the processes were killed
            if not Path(
                f"{self.place}-journal"
            ).exists():  # else a transaction was cut off, and the copy may be refused
                self._compare(f"round {number}: the copy", str(copy), told)
            copy.unlink()
        self._compare(f"round {number}: the ledger", self.place, told)
        entry = max(told)
        ledger = Ledger(self.place).entries()[0].facts["ledger"]
        witness = Witness("what was acknowledged", ledger, entry, told[entry])
        found = flaws(Ledger(self.place), [witness])
        self.wrong += [f"round {number}: {flaw}" for flaw in found if "fsync" not in flaw]
        return witness

    def _compare(self, what: str, place: str, told: dict[int, str]) -> None:
        held = {entry.number: entry.hash for entry in Ledger(place).entries()}
        lost = [number for number, digest in told.items() if held.get(number) != digest]
        self.wrong += [f"{what} lost {len(lost)} charges that were acknowledged"] * bool(lost)

    def _restored(self, number: int, witness: Witness, *, advanced: bool) -> None:
        """Lose the ledger; refuse the older backup, and restore the newer one."""
        newer = self.folder / f"backup{number}"
        copies.backup(self.place, newer)
        if self.address is None:
            Path(self.place).unlink()
            Path(f"{self.place}-journal").unlink(missing_ok=True)
            target, witnesses = self.place, []
        else:
            target, witnesses = postgres.schema(self.address, f"round{number + 1}"), [witness]
        if self.older is not None and advanced:
            try:
                copies.restore(self.older, target, witnesses)
                self.wrong.append(f"round {number}: an older backup was restored")
            except DiscreetError:
                self.counts["refused"] += 1
        copies.restore(newer, target, witnesses)
        self.counts["restored"] += 1
        self.place, self.older = target, newer

    def finish(self) -> dict[str, Any]:
        """Spend what is left; the account holds what it holds, and not one release more."""
        drawing(self.place, str(self.folder / "told.last"))
        told, ledger = acknowledged(self.folder), Ledger(self.place)
        self._compare("at the end the ledger", self.place, told)
        account = ledger.account("clinic")
        self.counts["acknowledged"] = len(told)
        return self.counts | {
            "held": self.held,
            "paid": account.releases(),
            "spent exactly": bool(account.balance().spent.epsilon == self.held * COST.epsilon),
            "flaws": [flaw for flaw in flaws(ledger) if "fsync" not in flaw],
            "wrong": self.wrong,
        }


def drill(rounds: int, *, held: int = 2000, server: bool = False, seed: int = 0) -> dict[str, Any]:
    """Rehearse it so often, and tell what came of it."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        address = stack.enter_context(postgres.server(durable=True)) if server else None
        one, began = Drill(folder, address, held, seed), time.monotonic()
        for number in range(rounds):
            one.round(number)
        return {"rounds": rounds} | one.finish() | {"seconds": round(time.monotonic() - began)}


def main() -> None:
    """Print what came of the drill."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--held", type=int, default=2000, help="the number of releases that the account holds")
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(json.dumps(drill(given.rounds, held=given.held, server=given.postgres, seed=given.seed), indent=1))


if __name__ == "__main__":
    main()
