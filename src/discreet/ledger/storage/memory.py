"""Entries in the memory of one process, for `Budget`."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from discreet.errors import LedgerError
from discreet.ledger.entries import INDEX, UNIQUE, LedgerEntry


class Memory:
    """A list of entries, which ends with its process."""

    name = "the memory of this process"
    shared: ClassVar[bool] = False

    def __init__(self) -> None:
        self._entries: list[LedgerEntry] = []
        self._places: dict[tuple[str, Any], int] = {}
        self._lock, self._process = threading.RLock(), os.getpid()

    def _alone(self) -> threading.RLock:
        """The lock; a new one after a fork, because another thread of the parent may have held the old one."""
        if self._process != os.getpid():
            self._lock, self._process = threading.RLock(), os.getpid()
        return self._lock

    def create(self) -> None:
        """Refuse if there is a ledger."""
        if self._entries:
            raise LedgerError("There is a ledger already.")

    @contextmanager
    def writing(self) -> Iterator[Memory]:
        """Append all or nothing."""
        with self._alone():
            entries, places = list(self._entries), dict(self._places)
            try:
                yield self
            except BaseException:
                self._entries, self._places = entries, places
                raise

    @contextmanager
    def reading(self) -> Iterator[Memory]:
        """Look up entries."""
        with self._alone():
            yield self

    def find(self, column: str, value: Any) -> LedgerEntry | None:
        """The newest entry that has this value in a column of the index."""
        place = self._places.get((column, value))
        return None if place is None else self._entries[place]

    def newer(self, account: str, number: int) -> bool:
        """Whether a later entry is about an account or its tables."""
        return any(self._places.get((column, account), -1) > number for column in ("population", "account"))

    def accounts(self) -> list[str]:
        """The names of all accounts, the oldest first."""
        return [name for column, name in self._places if column == "defines"]

    def last(self) -> LedgerEntry | None:
        """The newest entry."""
        return self._entries[-1] if self._entries else None

    def append(self, entry: LedgerEntry) -> None:
        """Add the next entry."""
        keys = [(name, value) for name, value in zip(INDEX, entry.index, strict=True) if value is not None]
        if entry.number != len(self._entries) or any(key in self._places for key in keys if key[0] in UNIQUE):
            raise LedgerError("Two entries have the same place. Nothing was written.")
        self._entries.append(entry)
        self._places |= dict.fromkeys(keys, entry.number)

    def scan(self, after: int = -1) -> Iterator[tuple[LedgerEntry, tuple[Any, ...]]]:
        """All entries after a number, with the index values they are stored under."""
        with self._alone():
            entries = self._entries[after + 1 :]
        return ((entry, entry.index) for entry in entries)

    def flaws(self) -> list[str]:
        """Return an empty list: no other process can change the entries."""
        return []
