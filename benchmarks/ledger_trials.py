"""Crash trials of a ledger: races for the last release, and kill -9 at every step.

    python -m benchmarks.ledger_trials race PLACE --rounds 200
    python -m benchmarks.ledger_trials kill PLACE --rounds 20
    python -m benchmarks.ledger_trials all --rounds 200      both, on SQLite and on a PostgreSQL server of its own
    python -m benchmarks.ledger_trials calls FILE            kill -9 at each write and each sync of SQLite, by strace

PLACE is a file that does not exist yet, or the address of an empty database. All releases are real. The results of
the long run are in docs/results/ledger_trials.json.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import postgres
from discreet import BudgetError, Domain, Ledger, Moments, PrivateMoments, release
from discreet.core import files
from discreet.gate.entropy import DRAWN
from discreet.ledger import accounts, charging
from discreet.ledger.audit import flaws, witness_of
from discreet.ledger.entries import LedgerEntry
from discreet.ledger.storage.base import SQLTransaction
from discreet.privacy.budget_parts import Cost

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results" / "ledger_trials.json"
X = np.linspace(-1, 1, 500)[:, None]
DOMAIN = Domain.from_bounds(["x"], ["y"], bounds_X=(-1, 1), bounds_y=(-1, 1))
MOMENTS = Moments.from_source((X, X / 2), DOMAIN)
PROMISE = {"epsilon": 1.0, "delta": 1e-6}
LIMIT = 10.0


def sound(ledger: Ledger, releases: list[Path] = []) -> list[str]:  # noqa: B006
    """What is wrong with a ledger, but for the note that a test's server does not wait for its disk."""
    loaded = [(path, PrivateMoments.load(path).certificate) for path in releases]
    seen = [one for path, certificate in loaded for one in witness_of(path, certificate.receipts, certificate.digest)]
    return [flaw for flaw in flaws(ledger, seen) if "fsync" not in flaw]


# ---------------------------------------------------------------- the race


def race(place: str, rounds: int, processes: int = 16, threads: int = 8) -> dict[str, Any]:
    """Let all of them try for an account that holds one release, again and again; exactly one may win each time."""
    ledger, began = Ledger.create(place), time.monotonic()
    for number in range(rounds):
        ledger.open(f"round {number}", **PROMISE)
    context = multiprocessing.get_context("fork")
    barrier, queue = context.Barrier(processes), context.Queue()
    workers = [context.Process(target=_racer, args=(place, rounds, threads, barrier, queue)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    won = np.sum([queue.get(timeout=3600) for _ in workers], axis=0)
    for worker in workers:
        worker.join()
    return {
        "rounds": rounds,
        "processes": processes,
        "threads": threads,
        "released in all": int(won.sum()),
        "most released in a round": int(won.max()),
        "least released in a round": int(won.min()),
        "flaws": sound(ledger),
        "seconds": round(time.monotonic() - began),
    }


def _racer(place: str, rounds: int, threads: int, barrier: Any, queue: Any) -> None:
    won, own = np.zeros(rounds, dtype=int), threading.Barrier(threads)
    lock = threading.Lock()

    def run() -> None:
        for number in range(rounds):
            account = Ledger(place).account(f"round {number}")
            if own.wait() == 0:
                barrier.wait()
            own.wait()
            try:
                with account:
                    release(MOMENTS, **PROMISE)
                with lock:
                    won[number] += 1
            except BudgetError as error:
                assert "would exceed" in str(error), error  # noqa: PT017

    team = [threading.Thread(target=run) for _ in range(threads)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    queue.put(won)


# ---------------------------------------------------------------- kill -9


def die(*_: Any) -> None:
    """End this process as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)


def _before(owner: Any, name: str, only: Callable[..., bool] = lambda *_: True) -> None:
    kept = getattr(owner, name)
    setattr(owner, name, lambda *a, **k: die() if only(*a) else kept(*a, **k))


def _after(owner: Any, name: str, only: Callable[..., bool] = lambda *_: True) -> None:
    kept = getattr(owner, name)

    def wrapped(*a: Any, **k: Any) -> Any:
        result = kept(*a, **k)
        return die() if only(*a) else result

    setattr(owner, name, wrapped)


def _naming(hook: Callable[..., None]) -> None:
    """Where a file gets its name: a link where the system has files without a name, else another name."""
    hook(files, "_linked")
    hook(Path, "replace")


def _is(kind: str) -> Callable[..., bool]:
    return lambda _, entry: isinstance(entry, LedgerEntry) and entry.facts["kind"] == kind


STEPS: dict[str, tuple[Callable[[], None], bool | None]] = {
    "before reserve": (lambda: _before(accounts.Account, "reserve"), False),
    "inside reserve": (lambda: _after(SQLTransaction, "append", _is("reserve")), False),
    "after reserve": (lambda: _after(accounts.Account, "reserve"), True),
    "before draw": (lambda: _before(accounts.Reservation, "draw"), True),
    "inside draw": (lambda: sys.addaudithook(lambda event, _: die() if event == DRAWN else None), True),
    "before commit": (lambda: _before(charging.Charge, "commit"), True),
    "inside commit": (lambda: _after(SQLTransaction, "append", _is("commit")), True),
    "after commit": (lambda: _after(charging.Charge, "commit"), True),
    "before file": (lambda: _before(files, "atomic_write"), True),
    "inside file": (lambda: _before(os, "fsync"), True),
    "before name": (lambda: _naming(_before), True),
    "after name": (lambda: _naming(_after), True),
}
"""Where a release dies, and whether it is spent then."""


def kill(place: str, folder: Path, rounds: int) -> dict[str, Any]:
    """Die at every step, and then at random moments; after each the ledger and the files must be whole."""
    began = time.monotonic()
    ledger = Ledger.create(place)
    account = ledger.open("clinic", epsilon=LIMIT, delta=1e-6)
    found: dict[str, Any] = {"steps": {}, "flaws": [], "wrong": []}
    for name, (hook, spent) in STEPS.items():
        before, path = account.releases(), folder / f"{name}.json"
        _dying(place, path, hook)
        files_there = sorted(folder.glob("*.json"))
        found["flaws"] += sound(ledger, files_there)
        found["steps"][name] = {"spent": account.releases() - before, "file": path.exists()}
        if account.releases() - before != int(bool(spent)) or path.exists() != (name == "after name"):
            found["wrong"].append(name)
    rng = random.Random(0)
    for number in range(rounds):
        _dying(place, folder / f"r{number}", None, rng.uniform(0.0, 0.4))
        found["flaws"] += sound(ledger, sorted(folder.glob("*.json")))
    paid = folder / "last.json"
    with ledger.account("clinic"):
        release(MOMENTS, **PROMISE).save(paid)
    there = sorted(folder.glob("*.json"))
    found["flaws"] += sound(ledger, there)
    found |= {"random kills": rounds, "releases paid": account.releases(), "files whole": len(there)}
    if len(there) > account.releases() or account.balance().epsilon_spent > LIMIT:
        found["wrong"].append("more files than were paid for")
    return found | {"seconds": round(time.monotonic() - began)}


def _dying(place: str, path: Path, hook: Callable[[], None] | None, delay: float = 0.0) -> None:
    """Release in a process of its own that dies where the hook says, or after a delay while it releases on and on."""
    child = os.fork()
    if child == 0:
        try:
            if hook is not None:
                hook()
            with Ledger(place).account("clinic"):
                for number in range(1 if hook else 10**6):
                    release(MOMENTS, **PROMISE if hook else PROMISE | {"epsilon": 0.01}).save(
                        path if hook else path.with_name(f"{path.name}.{number}.json")
                    )
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    if hook is None:
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the process did not die where it should"


def pay(place: str) -> None:
    """Pay for a release and commit it, and say so after each step."""
    account = Ledger(place).account("clinic")
    paid = account.reserve(Cost(1e-3, 1e-6, mu=1e-3), "add-remove", {"method": "m", "columns": [], "formula": None})
    print("paid", flush=True)
    paid.draw()
    paid.commit("0" * 64)
    print("committed", flush=True)


def calls(place: str) -> dict[str, Any]:
    """Die at the first, second, third... write and sync of a release, until one has no more of them."""
    Ledger.create(place).open("clinic", epsilon=3.0, delta=1e-6)
    found: dict[str, Any] = {"runs": 0, "killed": 0, "wrong": []}
    for call in ("pwrite64", "fdatasync"):
        for when in range(1, 100):
            before = Ledger(place).account("clinic").releases()
            kill_at = ["strace", "-f", "-o", os.devnull, "-e", f"trace={call}"]
            kill_at += ["-e", f"inject={call}:signal=SIGKILL:when={when}"]
            command = [*kill_at, sys.executable, "-m", "benchmarks.ledger_trials", "pay", place]
            ran = subprocess.run(command, check=False, capture_output=True, text=True)
            more = Ledger(place).account("clinic").releases() - before
            found["runs"] += 1
            found["killed"] += ran.returncode != 0
            if sound(Ledger(place)) or more not in ((1,) if "paid" in ran.stdout else (0, 1)):
                found["wrong"].append([call, when])
            if ran.returncode == 0:
                break
    return found


def main() -> None:
    """Run the trials that are asked for, and print what came out."""
    parser = argparse.ArgumentParser()
    parser.add_argument("trial", choices=["race", "kill", "all", "calls", "pay"])
    parser.add_argument("place", nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    if given.trial == "all":
        print(json.dumps(everything(given.rounds), indent=1))
        return
    if given.trial == "pay":
        pay(given.place)
        return
    if given.trial == "calls":
        print(json.dumps(calls(given.place)))
        return
    with tempfile.TemporaryDirectory() as folder:
        race_it = given.trial == "race"
        tried = race(given.place, given.rounds) if race_it else kill(given.place, Path(folder), given.rounds)
    print(json.dumps(tried))


def everything(rounds: int) -> dict[str, Any]:
    """All trials on both storages; kept in the results."""
    found: dict[str, Any] = {"machine": "2-core AMD EPYC"}
    with tempfile.TemporaryDirectory() as name, postgres.server(durable=True) as address:
        folder = Path(name)
        for storage in ("sqlite", "postgresql"):
            for trial in ("race", "kill"):
                place = str(folder / trial) if storage == "sqlite" else postgres.schema(address, trial)
                own = folder / f"{storage}-{trial}-files"
                own.mkdir()
                found[f"{trial} on {storage}"] = race(place, rounds) if trial == "race" else kill(place, own, rounds)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return found


if __name__ == "__main__":
    main()
