"""Time that a ledger adds to a release, when it is new and when it holds 10,000 entries.

    python -m benchmarks.ledger                SQLite on this disk, and PostgreSQL where it is installed

Each figure is the median over releases of the time with an account less the time without one; the server waits for its
disk.
"""

from __future__ import annotations

import contextlib
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import postgres
from discreet import Domain, Ledger, Moments, release
from discreet.ledger.audit import flaws
from discreet.privacy.budget_parts import Cost

ENTRIES = 10_000
REPEATS = 31
X = np.linspace(-1, 1, 500)[:, None]
DOMAIN = Domain.from_bounds(["x"], ["y"], bounds_X=(-1, 1), bounds_y=(-1, 1))
MOMENTS = Moments.from_source((X, X / 2), DOMAIN)


def main() -> None:
    print(f"{'':<12}{'new':>10}{'10,000 entries':>18}{'verify':>12}")
    with tempfile.TemporaryDirectory(dir=".") as folder:
        report("SQLite", str(Path(folder) / "people.ledger"))
    if postgres.binaries() is not None:
        with postgres.server(durable=True) as address:
            report("PostgreSQL", address)


def report(name: str, place: str) -> None:
    ledger = Ledger.create(place)
    ledger.open("clinic", epsilon=3, delta=1e-6)
    new = added(place)
    fill(ledger)
    old = added(place)
    began = time.perf_counter()
    assert [flaw for flaw in flaws(ledger) if "fsync" not in flaw] == []
    print(f"{name:<12}{new:>7.1f} ms{old:>15.1f} ms{time.perf_counter() - began:>10.1f} s")


def added(place: str) -> float:
    """Milliseconds that counting adds to a release, as a program sees them that names the ledger each time."""

    def took(block: contextlib.AbstractContextManager[object]) -> float:
        began = time.perf_counter()
        with block:
            release(MOMENTS, epsilon=1e-3, delta=1e-6)
        return 1e3 * (time.perf_counter() - began)

    def counted() -> float:
        began = time.perf_counter()
        with Ledger(place).account("clinic"):
            release(MOMENTS, epsilon=1e-3, delta=1e-6)
        return 1e3 * (time.perf_counter() - began)

    pairs = [(counted(), took(contextlib.nullcontext())) for _ in range(REPEATS)]
    return statistics.median(one for one, _ in pairs) - statistics.median(other for _, other in pairs)


def fill(ledger: Ledger, entries: int = ENTRIES, names: Sequence[str] = ("clinic",)) -> None:
    """Add entries by the protocol itself, many to a transaction."""
    accounts = itertools.cycle([ledger.account(name, purpose="a study") for name in names])
    what = {"method": "moments", "columns": ["x", "y"], "formula": None}
    write = ledger.write

    def filling(t: object) -> None:
        inside = partial(_inside, t)
        while t.last().number < entries - 1:  # type: ignore[attr-defined]
            account = next(accounts)
            account.ledger.write = inside  # type: ignore[method-assign]
            paid = account.reserve(Cost(1e-4, 1e-6, mu=1e-4), "add-remove", what)
            paid.draw()
            paid.commit("0" * 64)

    try:
        write(filling)
    finally:
        ledger.write = write  # type: ignore[method-assign]


def _inside(t: object, work: Callable[[object], object]) -> object:
    return work(t)


if __name__ == "__main__":
    main()
