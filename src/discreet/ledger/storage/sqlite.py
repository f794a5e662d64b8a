"""Entries in a SQLite file: what is committed is in the file itself and on disk, and there is one writer at a time.

The journal of a transaction is deleted when it ends (`DELETE`, not a write-ahead log), so that a copy of the file has
every charge that was told to anybody. A writer keeps its lock until the head beside the file is written, too.

Every transaction has a connection of its own. The system's locks belong to a process: SQLite manages those of its own
connections, and the file must not be opened in another way, for closing it would drop them. A process has one
transaction at a time, and a fork waits for it, for the child would take the parent's locks for its own.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from discreet.errors import LedgerError
from discreet.ledger.entries import LedgerEntry
from discreet.ledger.storage.base import (
    FOLLOWING,
    TABLE,
    VERSION,
    SQLTransaction,
    paged,
    refuse_version,
    statements,
)
from discreet.ledger.storage.head import Head
from discreet.ledger.storage.names import refuse_second_names

WAIT = 120
"""Seconds to wait for other writers."""

MARK = 0x64697332
"""The application id in the file's header: "dis2" in ASCII. Programs of version 0.2, which know another, refuse it."""

OLD_MARK = 0x64697363
"""The application id of format 1: "disc"."""

KEEP = "PRAGMA locking_mode = EXCLUSIVE"
"""Keep the lock after a commit until the connection is closed; set before `BEGIN`, two writers would wait forever."""

_GUARDS = [
    f"CREATE TRIGGER {TABLE}_{what.lower()} BEFORE {what} ON {TABLE} "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"
    for what in ("UPDATE", "DELETE")
]
_SCHEMA = [*statements("INTEGER", "TEXT"), *_GUARDS]

_turn = threading.RLock()


def _wait() -> None:
    _turn.acquire()


def _go_on() -> None:
    _turn.release()


def _begin_anew() -> None:
    global _turn
    _turn = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_begin_anew)


class SQLite:
    """A SQLite file; its folder must be on a local disk, because locks of network folders are unreliable."""

    shared: ClassVar[bool] = True

    def __init__(self, path: Path) -> None:
        self.path, self.name = Path(os.path.realpath(path)), path.name
        self.head = Head(self.path)

    def create(self) -> None:
        """Create the file, for its owner alone; refuse if there is one, or the head of one that is gone."""
        if self.head.read() is not None and not self.path.exists():
            raise LedgerError(
                f"{self.head.path.name} is the head of a ledger of this name, which is gone. What was spent by it "
                "would be spent again. Put the ledger back where it was, or restore it from a copy: discreet ledger "
                f"restore COPY {self.name}. A ledger of other people has another name."
            )
        self._make()

    def copy(self, entries: Iterable[LedgerEntry], *, headed: bool = True) -> None:
        """Make a ledger of given entries, which has its name once it is complete; without a head it is only a copy.

        A journal that a killed process left would be applied to the new file, so it must be gone with the old one.
        """
        for old in (self.path.with_name(self.path.name + end) for end in ("", "-journal", "-wal")):
            if old.exists():
                raise LedgerError(f"{old.name} exists. A ledger is not replaced: move it away, and leave its head.")
        part, last = SQLite(self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")), None
        try:
            part._make()
            with part._session("rw", "IMMEDIATE") as connection:
                transaction = SQLTransaction(connection, "?")
                for last in entries:
                    transaction.append(last)
                connection.execute("COMMIT")
            if headed and last is not None:
                with self.head.opened() as write:
                    write(last)
            _new_file(self.path)
            part.path.replace(self.path)
        except OSError as error:
            raise LedgerError(f"{self.name} cannot be made: {error.strerror}.") from None
        finally:
            part.path.unlink(missing_ok=True)
        _sync(self.path.parent)

    def _make(self) -> None:
        """Create the file, for its owner alone."""
        try:
            _new_file(self.path)
        except FileExistsError:
            raise LedgerError(f"{self.name} exists already. A ledger is not replaced; name another file.") from None
        except OSError as error:
            raise LedgerError(f"{self.name} cannot be made: {error.strerror}.") from None
        with self._told(), closing(self._connect("rw")) as connection:
            for setting in ("journal_mode = DELETE", "synchronous = EXTRA"):
                connection.execute(f"PRAGMA {setting}")
            connection.execute("BEGIN IMMEDIATE")
            for statement in [*_marks(), *_SCHEMA]:
                connection.execute(statement)
            connection.execute("COMMIT")
        _sync(self.path.parent)

    @contextmanager
    def writing(self) -> Iterator[SQLTransaction]:
        """Append all or nothing, while nobody else does; then the head names the newest entry."""
        if self.path.exists() and self._mode() == "ro":
            raise LedgerError(f"The ledger {self.name} cannot be used: {READ_ONLY}. Nothing was released.")
        with self._session("rw", "IMMEDIATE") as connection:
            transaction, found = SQLTransaction(connection, "?"), self.head.read()
            self.head.refuse_older(found, transaction)
            self.head.refuse_unknown(found, transaction)
            with self.head.opened() as write:
                yield transaction
                last = transaction.last()
                connection.execute(KEEP)
                connection.execute("COMMIT")
                if last is not None:
                    write(last)

    @contextmanager
    def reading(self) -> Iterator[SQLTransaction]:
        """Look up entries in one snapshot; the folder may be read-only."""
        with self._session(self._mode()) as connection:
            transaction = SQLTransaction(connection, "?")
            self.head.refuse_older(self.head.readable(), transaction)
            yield transaction

    def scan(self, after: int = -1) -> Iterator[tuple[LedgerEntry, tuple[Any, ...]]]:
        """All entries after a number, the oldest first, with the index values they are stored under.

        No lock is held between pages.
        """
        with self.reading():
            return paged(partial(self._page, VERSION), after)

    def _page(self, version: int, number: int) -> list[Any]:
        with self._session(self._mode(), version=version) as connection:
            return connection.execute(FOLLOWING.format(mark="?"), [number]).fetchall()

    def scan_old(self) -> Iterator[tuple[LedgerEntry, tuple[Any, ...]]] | None:
        """All entries of a ledger of format 1; None if it has the current format."""
        with self._session(self._mode(), version=None) as connection:
            version = self._version(connection)
        if version > VERSION:
            refuse_version(version, self.name)
        return paged(partial(self._page, 1)) if version == 1 else None

    def flaws(self) -> list[str]:
        """List inconsistent pages and indices, and changed tables or guard triggers."""
        with self._session(self._mode()) as connection:
            damaged = [line for (line,) in connection.execute("PRAGMA integrity_check") if line != "ok"]
            schema = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")]
        flaws = [f"The file is damaged: {line}" for line in damaged]
        return flaws if sorted(schema) == sorted(_SCHEMA) else [*flaws, "The tables or their guards were changed."]

    def migrate(self) -> None:
        """Bring a file of format 1 to the current format; it can be killed at any time, and done again."""
        with self._session("rw", version=1) as connection:
            connection.execute("COMMIT")
            connection.execute("PRAGMA busy_timeout = 5000")
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute(KEEP)
            for statement in _marks():
                connection.execute(statement)
            last = SQLTransaction(connection, "?").last()
            with self.head.opened() as write:
                connection.execute("COMMIT")
                if last is not None:
                    write(last)
        for path in (self.path, self.head.path):
            path.chmod(0o600)

    @contextmanager
    def _session(self, mode: str, how: str = "DEFERRED", version: int | None = VERSION) -> Iterator[sqlite3.Connection]:
        """A transaction on a file of one format, or of any, which is read before anything else; it holds a lock."""
        if not self.path.is_file():
            raise LedgerError(
                f"There is no ledger {self.name}. Make one with: discreet ledger init {self.name} --account NAME "
                "--epsilon 3 --delta 1e-6"
            )
        refuse_second_names(self.path)
        with _turn, self._told(), closing(self._connect(mode)) as connection:
            if version != (found := self._version(connection)) and version is not None:
                refuse_version(found, self.name)
            for setting in ("synchronous = EXTRA", "fullfsync = ON"):
                connection.execute(f"PRAGMA {setting}")
            connection.execute(f"BEGIN {how}")
            try:
                connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()  # which takes the lock
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def _version(self, connection: sqlite3.Connection) -> int:
        """The version of the file's format; 1 also where another program gave it a write-ahead log again."""
        try:
            pragmas = ("application_id", "user_version", "journal_mode")
            mark, version, journal = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas)
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_NOTADB:
                raise
            mark = version = journal = 0
        if mark != MARK and (mark, version) != (OLD_MARK, 0):
            raise LedgerError(f"{self.name} is no ledger, or its first bytes are damaged. Nothing was released.")
        return 1 if mark == OLD_MARK or journal == "wal" else int(version)

    def _mode(self) -> str:
        """The mode in which to read: one that can finish what a killed process began, where that is allowed."""
        return "rw" if all(os.access(path, os.W_OK) for path in (self.path, self.path.parent)) else "ro"

    def _connect(self, mode: str) -> sqlite3.Connection:
        place = f"file:{quote(str(self.path))}?mode={mode}"
        return sqlite3.connect(place, uri=True, isolation_level=None, timeout=WAIT, check_same_thread=False)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Replace errors of SQLite by ledger errors."""
        try:
            yield
        except (sqlite3.Error, UnicodeError) as error:
            why = _REASONS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "it is damaged, or no ledger")
            raise LedgerError(f"The ledger {self.name} cannot be used: {why}. Nothing was released.") from None


def _marks() -> list[str]:
    """Statements that say which format a file has."""
    return [f"PRAGMA application_id = {MARK}", f"PRAGMA user_version = {VERSION}"]


def _new_file(path: Path) -> None:
    """Make an empty file that only its owner may read."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _sync(folder: Path) -> None:
    """Flush a folder's list of files to disk, if the system allows it."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


READ_ONLY = "the file or its folder is read-only"
_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk is full, or it fails",
    sqlite3.SQLITE_READONLY: READ_ONLY,
    sqlite3.SQLITE_CANTOPEN: "the file or its folder is read-only, or may not be read",
    sqlite3.SQLITE_PERM: "it may not be read or written",
    sqlite3.SQLITE_BUSY: f"others were using it for more than {WAIT} seconds; try again",
    sqlite3.SQLITE_CONSTRAINT: "two entries have the same place, which a ledger does not allow",
}
