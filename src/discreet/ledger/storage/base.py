"""What a storage of entries must do: one writer at a time, and on disk before it says so."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol

from discreet.core.files import canonical
from discreet.errors import LedgerError
from discreet.ledger.entries import INDEX, UNIQUE, Entry, hashed

TABLE = "discreet_ledger"

COLUMNS = ("number", *INDEX, "body", "hash")


DAMAGED = (
    "The ledger is damaged: an entry is not as it was written, or cannot be found. Find out what is wrong with: "
    "discreet ledger verify. Nothing was released."
)


class LostError(Exception):
    """The answer to a transaction did not come: it may have been done, or not."""


class NoLedgerError(LedgerError):
    """There is a database, and no ledger in it."""


class Reading(Protocol):
    """Looking up entries, all at one moment."""

    def find(self, column: str, value: Any) -> Entry | None:
        """The newest entry that has this value in a column of the index."""

    def newer(self, account: str, number: int) -> bool:
        """Whether an entry after this one is about an account or its tables, as bodies tell and no index."""

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
NEWER = (
    f"SELECT number FROM {TABLE} WHERE number > {{mark}} "
    "AND (replace(body, {mark}, '') <> body OR replace(body, {mark}, '') <> body) LIMIT 1"
)

ACCOUNTS = f"SELECT defines FROM {TABLE} WHERE defines IS NOT NULL ORDER BY number"


class SQLTransaction:
    """Reading and appending on one connection to a database, whose SQL has a mark where a value goes."""

    def __init__(self, connection: Any, mark: str) -> None:
        self._connection, self._mark = connection, mark

    def find(self, column: str, value: Any) -> Entry | None:
        """The newest entry that has this value in a column of the index."""
        return self._newest(f"WHERE {column} = {self._mark}", value)

    def newer(self, account: str, number: int) -> bool:
        """Whether an entry after this one is about an account or its tables, as bodies tell and no index."""
        own, tables = (f'"account":{canonical(name).decode()}' for name in (account, f"{account}/"))
        asked = NEWER.format(mark=self._mark), (number, own, tables.removesuffix('"'))
        return self._connection.execute(*asked).fetchone() is not None

    def accounts(self) -> list[str]:
        """The names of all accounts, the oldest first."""
        names = [name for (name,) in self._connection.execute(ACCOUNTS)]
        if not all(isinstance(name, str) for name in names):
            raise LedgerError(DAMAGED)
        return names

    def last(self) -> Entry | None:
        """The newest entry."""
        return self._newest("")

    def append(self, entry: Entry) -> None:
        """Add the next entry."""
        marks = ", ".join([self._mark] * len(COLUMNS))
        values = (entry.number, *entry.index, entry.body, entry.hash)
        self._connection.execute(f"INSERT INTO {TABLE} VALUES ({marks})", values)

    def _newest(self, where: str, *values: Any) -> Entry | None:
        found = self._connection.execute(NEWEST.format(where=where), values).fetchone()
        return None if found is None else sound(entry_of(found), tuple(found[1:-2]))


def entry_of(row: Sequence[Any]) -> Entry:
    """The entry of a row; a damaged file may hold anything in its place."""
    number, body, digest = row[0], row[-2], row[-1]
    if not (isinstance(number, int) and isinstance(body, str) and isinstance(digest, str)):
        raise LedgerError(DAMAGED)
    return Entry(number, body, digest)


def sound(entry: Entry, index: tuple[Any, ...]) -> Entry:
    """An entry that is as it was written, under its own name; refuse any other."""
    try:
        as_written = hashed(entry.body) == entry.hash
        own = as_written and (entry.facts["number"], entry.index) == (entry.number, index)
    except Exception:  # what is not an entry may fail in any way
        own = False
    if not own:
        raise LedgerError(DAMAGED)
    return entry
