"""The interface of storages: one writer at a time, and entries are on disk before a transaction returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol

from discreet.core.files import canonical
from discreet.errors import LedgerError
from discreet.ledger.entries import INDEX, UNIQUE, LedgerEntry, hashed

TABLE = "discreet_ledger"

COLUMNS = ("number", *INDEX, "body", "hash")

VERSION = 2
"""The version of the stored format, which is read before anything else; version 1 is that of discreet 0.2."""

PAGE = 2000
"""The number of entries that are read in one transaction, so that no reader keeps writers waiting."""

DAMAGED = (
    "The ledger is damaged: an entry is not as it was written, or cannot be found. Find out what is wrong with: "
    "discreet ledger verify. Nothing was released."
)


class LostError(Exception):
    """The outcome of a transaction is unknown: it may have been committed or not."""


class NoLedgerError(LedgerError):
    """The database holds no ledger."""


def refuse_version(version: int, name: str) -> None:
    """Refuse a ledger of another format than this program's."""
    if version < VERSION:
        raise LedgerError(
            f"{name} has format {version}, that of an older discreet. Stop the programs that use it, and bring it to "
            f"format {VERSION}, once: discreet ledger migrate {name}. Nothing was released."
        )
    if version > VERSION:
        raise LedgerError(
            f"{name} has format {version}, and this discreet knows formats up to {VERSION}: use a newer discreet. "
            "Nothing was released."
        )


class Reading(Protocol):
    """Lookups of entries in one consistent snapshot."""

    def find(self, column: str, value: Any) -> LedgerEntry | None:
        """The newest entry that has this value in a column of the index."""

    def newer(self, account: str, number: int) -> bool:
        """Whether a later entry is about an account or its tables, judged by the bodies and not by the index."""

    def accounts(self) -> list[str]:
        """The names of all accounts, the oldest first."""

    def last(self) -> LedgerEntry | None:
        """The newest entry."""


class Transaction(Reading, Protocol):
    """Lookups and appends, while nobody else appends."""

    def append(self, entry: LedgerEntry) -> None:
        """Add the next entry."""


class Storage(Protocol):
    """An append-only sequence of entries."""

    name: str
    """The name in error messages, without a password."""

    shared: ClassVar[bool]
    """Whether other processes see the same entries."""

    def create(self) -> None:
        """Prepare for a new ledger; refuse if there is one."""

    def writing(self) -> AbstractContextManager[Transaction]:
        """An exclusive transaction; when it has ended, all of its entries are on disk, or none."""

    def reading(self) -> AbstractContextManager[Reading]:
        """A read-only transaction."""

    def scan(self, after: int = -1) -> Iterator[tuple[LedgerEntry, tuple[Any, ...]]]:
        """All entries after a number, the oldest first, with the index values they are stored under.

        No lock is held between pages.
        """

    def flaws(self) -> list[str]:
        """List the flaws of the storage itself."""


class LastingStorage(Storage, Protocol):
    """A storage that outlives its process."""

    def copy(self, entries: Iterable[LedgerEntry]) -> None:
        """Make a ledger of given entries where there is none; if they raise an error, nothing is made."""

    def scan_old(self) -> Iterator[tuple[LedgerEntry, tuple[Any, ...]]] | None:
        """All entries of a ledger of an older format; None if it has the current one."""

    def migrate(self) -> None:
        """Bring a sound ledger of an older format to the current one."""


def statements(number: str, text: str) -> list[str]:
    """SQL for the table and its indices, with the database's own types."""
    kinds = {name: number if name in ("number", "settles") else text for name in COLUMNS}
    lines = [f"{name} {kinds[name]}" + (" UNIQUE" if name in UNIQUE else "") for name in INDEX]
    lines = [f"number {number} PRIMARY KEY", *lines, f"body {text} NOT NULL", f"hash {text} NOT NULL"]
    plain = [name for name in INDEX if name not in UNIQUE]
    table = f"CREATE TABLE {TABLE} ({', '.join(lines)})"
    return [table, *(f"CREATE INDEX {TABLE}_{name} ON {TABLE} ({name}, number)" for name in plain)]


NEWEST = f"SELECT {', '.join(COLUMNS)} FROM {TABLE} {{where}} ORDER BY number DESC LIMIT 1"
FOLLOWING = f"SELECT {', '.join(COLUMNS)} FROM {TABLE} WHERE number > {{mark}} ORDER BY number LIMIT {PAGE}"
NEWER = (
    f"SELECT number FROM {TABLE} WHERE number > {{mark}} "
    "AND (replace(body, {mark}, '') <> body OR replace(body, {mark}, '') <> body) LIMIT 1"
)

ACCOUNTS = f"SELECT defines FROM {TABLE} WHERE defines IS NOT NULL ORDER BY number"


class SQLTransaction:
    """Lookups and appends on one database connection.

    `mark` is the placeholder for values in its SQL, and `more` are the values of further columns.
    """

    def __init__(self, connection: Any, mark: str, *more: Any) -> None:
        self._connection, self._mark, self._more = connection, mark, more

    def find(self, column: str, value: Any) -> LedgerEntry | None:
        """The newest entry that has this value in a column of the index."""
        return self._newest(f"WHERE {column} = {self._mark}", value)

    def newer(self, account: str, number: int) -> bool:
        """Whether a later entry is about an account or its tables, judged by the bodies and not by the index."""
        own, tables = (f'"account":{canonical(name).decode()}' for name in (account, f"{account}/"))
        asked = NEWER.format(mark=self._mark), (number, own, tables.removesuffix('"'))
        return self._connection.execute(*asked).fetchone() is not None

    def accounts(self) -> list[str]:
        """The names of all accounts, the oldest first."""
        names = [name for (name,) in self._connection.execute(ACCOUNTS)]
        if not all(isinstance(name, str) for name in names):
            raise LedgerError(DAMAGED)
        return names

    def last(self) -> LedgerEntry | None:
        """The newest entry."""
        return self._newest("")

    def append(self, entry: LedgerEntry) -> None:
        """Add the next entry."""
        values = (entry.number, *entry.index, entry.body, entry.hash, *self._more)
        marks = ", ".join([self._mark] * len(values))
        self._connection.execute(f"INSERT INTO {TABLE} VALUES ({marks})", values)

    def _newest(self, where: str, *values: Any) -> LedgerEntry | None:
        found = self._connection.execute(NEWEST.format(where=where), values).fetchone()
        return None if found is None else sound(entry_of(found), tuple(found[1:-2]))


def paged(
    page: Callable[[int], Sequence[Sequence[Any]]], number: int = -1
) -> Iterator[tuple[LedgerEntry, tuple[Any, ...]]]:
    """All entries after a number, page by page, given the rows of the page that follows a number."""
    while rows := page(number):
        for row in rows:
            yield entry_of(row), tuple(row[1:-2])
        number = rows[-1][0]


def entry_of(row: Sequence[Any]) -> LedgerEntry:
    """Return the entry of a row; raise an error if the row is damaged."""
    number, body, digest = row[0], row[-2], row[-1]
    if not (isinstance(number, int) and isinstance(body, str) and isinstance(digest, str)):
        raise LedgerError(DAMAGED)
    return LedgerEntry(number, body, digest)


def sound(entry: LedgerEntry, index: tuple[Any, ...]) -> LedgerEntry:
    """Return an entry if its hash, number and index are right; raise an error otherwise."""
    try:
        as_written = hashed(entry.body) == entry.hash
        own = as_written and (entry.facts["number"], entry.index) == (entry.number, index)
    except Exception:  # what is not an entry may fail in any way
        own = False
    if not own:
        raise LedgerError(DAMAGED)
    return entry
