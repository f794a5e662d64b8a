"""Backups of a ledger, the way back from one, and the step from an older format. What is copied is checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from discreet.errors import LedgerError
from discreet.ledger.audit import Chain, Witness
from discreet.ledger.entries import LedgerEntry
from discreet.ledger.storage import SQLite, storage_of

ADVICE = "Find out what is wrong with: discreet ledger verify. Nothing was written."


def backup(place: str | Path, path: str | Path) -> LedgerEntry:
    """Copy a ledger, which may be in use, to a file from which it can be restored; return the newest entry in it.

    Parameters
    ----------
    place : str or Path
        The file or database of the ledger.
    path : str or Path
        A new file. It cannot be charged, because it has no head.
    """
    source = storage_of(place)
    kept = _Checked(source.scan(), source.name, ADVICE)
    SQLite(Path(path)).copy(kept, headed=False)
    return kept.last


def restore(copy: str | Path, place: str | Path, witnesses: Iterable[Witness] = ()) -> LedgerEntry:
    """Make a ledger of a backup, or of another copy of its file; return its newest entry.

    A copy that is damaged, or lacks an entry that a witness has seen, is refused.

    Parameters
    ----------
    copy : str or Path
        The backup.
    place : str or Path
        A new file, or the address of a database without a ledger. The head that a lost ledger left beside its file is a
        witness.
    witnesses : iterable of Witness
        Entries that the copy must have.
    """
    source, target = storage_of(copy), storage_of(place)
    seen, head = list(witnesses), target.head.read() if isinstance(target, SQLite) else None
    if head is not None and isinstance(target, SQLite):
        seen.append(Witness(target.head.path.name, head["ledger"], head["number"], head["hash"]))
    advice = "Restore a newer copy: from this one, what is missing would be spent again. Nothing was written."
    kept = _Checked(source.scan(), source.name, advice, seen)
    target.copy(kept)
    return kept.last


def migrate(place: str | Path, witnesses: Iterable[Witness] = ()) -> LedgerEntry | None:
    """Bring a ledger of an older format to the current one; return its newest entry, or None if it was current.

    Nobody else may use it meanwhile. If it is damaged, or lacks an entry that a witness has seen, it stays as it is.
    """
    storage = storage_of(place)
    old = storage.scan_old()
    if old is None:
        return None
    kept = _Checked(old, storage.name, ADVICE, witnesses)
    for _ in kept:
        pass
    storage.migrate()
    return kept.last


class _Checked:
    """Entries up to the first flaw, and then an error if there is one, or if an entry is missing."""

    def __init__(
        self,
        stored: Iterable[tuple[LedgerEntry, tuple[Any, ...]]],
        name: str,
        advice: str,
        witnesses: Iterable[Witness] = (),
    ) -> None:
        self._stored, self._name, self._advice, self._chain = stored, name, advice, Chain(witnesses)

    def __iter__(self) -> Iterator[LedgerEntry]:
        for entry, index in self._stored:
            self._chain.take(entry, index)
            if self._chain.damaged:
                break
            self.last = entry
            yield entry
        if found := self._chain.flaws:
            raise LedgerError(f"{self._name} cannot be copied:", *(f"- {flaw}" for flaw in found), self._advice)
