"""What a storage of entries must do: one writer at a time, and on disk before it says so."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol

from discreet.errors import LedgerError
from discreet.ledger.entries import INDEX, UNIQUE, Entry

TABLE = "discreet_ledger"

COLUMNS = ("number", *INDEX, "body", "hash")


class LostError(Exception):
    """The answer to a transaction did not come: it may have been done, or not."""


class Reading(Protocol):
    """Looking up entries, all at one moment."""

    def find(self, column: str, value: Any) -> Entry | None:
        """The newest entry that has this value in a column of the index."""

    def accounts(self) -> list[str]:
        """The names of all accounts, the oldest first."""

    def last(self) -> Entry | None:
        """The newest entry."""


class Transaction(Reading, Protocol):
    """Looking up entries and appending to them, while nobody else appends."""

    def append(self, entry: Entry) -> None:
        """Add the next entry."""


class Storage(Protocol):
    """Entries that are added to, and never changed."""

    name: str
    """What errors call it; never with a password."""

    shared: ClassVar[bool]
    """Whether other processes see the same entries."""

    def create(self) -> None:
        """Make room for a new ledger; refuse where there is one."""

    def writing(self) -> AbstractContextManager[Transaction]:
        """A transaction that no other one overlaps; its entries are on disk when it has ended, or none of them is."""

    def reading(self) -> AbstractContextManager[Reading]:
        """A transaction that writes nothing."""

    def entries(self) -> Sequence[tuple[Entry, tuple[Any, ...]]]:
        """All entries, at one moment, with what they are stored under."""

    def flaws(self) -> list[str]:
        """What is wrong with the storage itself."""


def statements(number: str, text: str) -> list[str]:
    """SQL for the table and its indices, with the database's own types."""
    kinds = {name: number if name in ("number", "settles") else text for name in COLUMNS}
    lines = [f"{name} {kinds[name]}" + (" UNIQUE" if name in UNIQUE else "") for name in INDEX]
    lines = [f"number {number} PRIMARY KEY", *lines, f"body {text} NOT NULL", f"hash {text} NOT NULL"]
    plain = [name for name in INDEX if name not in UNIQUE]
    table = f"CREATE TABLE {TABLE} ({', '.join(lines)})"
    return [table, *(f"CREATE INDEX {TABLE}_{name} ON {TABLE} ({name}, number)" for name in plain)]


NEWEST = f"SELECT {', '.join(COLUMNS)} FROM {TABLE} {{where}} ORDER BY number DESC LIMIT 1"
ALL = f"SELECT {', '.join(COLUMNS)} FROM {TABLE} ORDER BY number"
ACCOUNTS = f"SELECT defines FROM {TABLE} WHERE defines IS NOT NULL ORDER BY number"


def row(entry: Entry) -> tuple[Any, ...]:
    """An entry as a row of the table."""
    return (entry.number, *entry.index, entry.body, entry.hash)


def entry_of(row: Sequence[Any]) -> Entry:
    """The entry of a row; a damaged file may hold anything in its place."""
    number, body, hashed = row[0], row[-2], row[-1]
    if not (isinstance(number, int) and isinstance(body, str) and isinstance(hashed, str)):
        raise LedgerError("The ledger is damaged: a row holds no entry. Nothing was released.")
    return Entry(number, body, hashed)
