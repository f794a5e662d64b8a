"""Entries in a SQLite file: a write-ahead log that is on disk before a transaction ends, and one writer at a time.

Every transaction has a connection of its own, so threads and forked processes share none. One more is kept open and
idle, because SQLite writes the whole log back into the file whenever the last one is closed.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from discreet.errors import LedgerError
from discreet.ledger.entries import LedgerEntry
from discreet.ledger.storage.base import ACCOUNTS, ALL, TABLE, SQLTransaction, entry_of, statements
from discreet.ledger.storage.names import refuse_second_names

WAIT = 120
"""Seconds to wait for other writers."""

MARK = 0x64697363
"""The application id in the file's header: "disc" in ASCII."""

_GUARDS = [
    f"CREATE TRIGGER {TABLE}_{what.lower()} BEFORE {what} ON {TABLE} "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"
    for what in ("UPDATE", "DELETE")
]
_PARENTS: list[sqlite3.Connection] = []
_SCHEMA = [*statements("INTEGER", "TEXT"), *_GUARDS]


class SQLite:
    """A SQLite file; its folder must be on a local disk, because locks of network folders are unreliable."""

    shared: ClassVar[bool] = True

    def __init__(self, path: Path) -> None:
        self.path, self.name = Path(os.path.realpath(path)), path.name
        self._idle: tuple[int, sqlite3.Connection] | None = None

    def create(self) -> None:
        """Create the file; refuse if there is one."""
        try:
            self.path.touch(exist_ok=False)
        except FileExistsError:
            raise LedgerError(f"{self.name} exists already. A ledger is not replaced; name another file.") from None
        except OSError as error:
            raise LedgerError(f"{self.name} cannot be made: {error.strerror}.") from None
        with self._told(), closing(self._connect("rwc")) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA application_id = {MARK}")
            connection.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA:
                connection.execute(statement)
            connection.execute("COMMIT")
        _sync(self.path.parent)

    @contextmanager
    def writing(self) -> Iterator[SQLTransaction]:
        """Append all or nothing, while nobody else does."""
        self._refuse_others()
        with self._told(), closing(self._connect("rw")) as connection:
            self._keep_open()
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA fullfsync = ON")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield SQLTransaction(connection, "?")
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[SQLTransaction]:
        """Look up entries in one snapshot; the folder may be read-only."""
        self._refuse_others()
        with self._told(), closing(self._read_only()) as connection:
            connection.execute("BEGIN")
            yield SQLTransaction(connection, "?")

    def entries(self) -> Sequence[tuple[LedgerEntry, tuple[Any, ...]]]:
        """All entries, in one snapshot, with the index values they are stored under."""
        self._refuse_others()
        with self._told(), closing(self._read_only()) as connection:
            found = connection.execute(ALL).fetchall()
        return [(entry_of(line), line[1:-2]) for line in found]

    def flaws(self) -> list[str]:
        """List inconsistent pages and indices, and changed tables or guard triggers."""
        self._refuse_others()
        with self._told(), closing(self._read_only()) as connection:
            damaged = [line for (line,) in connection.execute("PRAGMA integrity_check") if line != "ok"]
            schema = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")]
        flaws = [f"The file is damaged: {line}" for line in damaged]
        return flaws if sorted(schema) == sorted(_SCHEMA) else [*flaws, "The tables or their guards were changed."]

    def _read_only(self) -> sqlite3.Connection:
        log = self.path.with_name(self.path.name + "-wal")
        if os.access(self.path.parent, os.W_OK) or log.exists():
            return self._connect("ro")
        return self._connect("ro&immutable=1")  # a log cannot be made here, and there is none to be missed

    def _keep_open(self) -> None:
        if self._idle is not None and self._idle[0] == os.getpid():
            return
        if self._idle is not None:
            _PARENTS.append(self._idle[1])  # a connection is never closed by a fork of the process that opened it
        connection = self._connect("rw")
        connection.execute(ACCOUNTS).fetchall()
        self._idle = os.getpid(), connection

    def __del__(self) -> None:
        if self._idle is not None and self._idle[0] == os.getpid():
            self._idle[1].close()

    def _connect(self, mode: str) -> sqlite3.Connection:
        place = f"file:{quote(str(self.path))}?mode={mode}"
        return sqlite3.connect(place, uri=True, isolation_level=None, timeout=WAIT, check_same_thread=False)

    def _refuse_others(self) -> None:
        """Refuse a file that is not a ledger, or has a second name, before SQLite opens it."""
        if not self.path.is_file():
            raise LedgerError(
                f"There is no ledger {self.name}. Make one with: discreet ledger init {self.name} --account NAME "
                "--epsilon 3 --delta 1e-6"
            )
        with self.path.open("rb") as file:
            header = file.read(72)
        if header[:15] != b"SQLite format 3" or header[68:72] != MARK.to_bytes(4, "big"):
            raise LedgerError(f"{self.name} is no ledger, or its first bytes are damaged.")
        refuse_second_names(self.path)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Replace errors of SQLite by ledger errors."""
        try:
            yield
        except (sqlite3.Error, UnicodeError) as error:
            why = _REASONS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, "it is damaged, or no ledger")
            raise LedgerError(f"The ledger {self.name} cannot be used: {why}. Nothing was released.") from None


def _sync(folder: Path) -> None:
    """Flush a folder's list of files to disk, if the system allows it."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk is full, or it fails",
    sqlite3.SQLITE_READONLY: "the file or its folder is read-only",
    sqlite3.SQLITE_CANTOPEN: "the file or its folder is read-only, or may not be read",
    sqlite3.SQLITE_PERM: "it may not be read or written",
    sqlite3.SQLITE_BUSY: f"others were writing for more than {WAIT} seconds; try again",
    sqlite3.SQLITE_CONSTRAINT: "two entries have the same place, which a ledger does not allow",
}
