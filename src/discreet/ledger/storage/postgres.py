"""Entries in a PostgreSQL database, for a team. One writer at a time, by a lock that ends with its transaction.

The lock is only for speed: without it, two entries with the same number would still conflict, because numbers are
unique.
"""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any, ClassVar
from urllib.parse import urlsplit

from discreet.errors import LedgerError, ParameterError
from discreet.ledger.entries import LedgerEntry
from discreet.ledger.storage.base import (
    FOLLOWING,
    TABLE,
    VERSION,
    LostError,
    NoLedgerError,
    SQLTransaction,
    paged,
    refuse_version,
    statements,
)

try:
    import psycopg
except ImportError:
    raise ParameterError('A ledger in PostgreSQL needs its driver: pip install "discreet[postgres]"') from None

Connection = psycopg.Connection[tuple[Any, ...]]

_LOCK = 0x64697363
"""The key of the advisory lock: "disc" in ASCII."""

_GUARDS = [
    f"CREATE FUNCTION {TABLE}_guard() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'a ledger is only added to'; END $$",
    f"CREATE TRIGGER {TABLE}_rows BEFORE UPDATE OR DELETE ON {TABLE} FOR EACH ROW EXECUTE FUNCTION {TABLE}_guard()",
    f"CREATE TRIGGER {TABLE}_all BEFORE TRUNCATE ON {TABLE} FOR EACH STATEMENT EXECUTE FUNCTION {TABLE}_guard()",
]

_FORMAT = [
    f"CREATE FUNCTION {TABLE}_format() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT {VERSION}'",
    f"ALTER TABLE {TABLE} ADD COLUMN format INTEGER NOT NULL DEFAULT {VERSION} CHECK (format = {VERSION})",
    f"ALTER TABLE {TABLE} ALTER COLUMN format DROP DEFAULT",
]
"""Statements that say which format a ledger has, and refuse the entries of programs that do not say the same."""

_REASONS = {
    "53100": "its server's disk is full",
    "57014": "a statement took longer than the server's statement_timeout allows, or it was cancelled",
    "55P03": "others were using it for longer than the server's lock_timeout allows",
    "23502": "its format is another one than this program's",
}
"""Messages for SQLSTATEs; the server's own words may quote the address."""


class PostgreSQL:
    """A table in a database, named by an address such as ``postgresql://host/people``; one ledger in each schema."""

    shared: ClassVar[bool] = True

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._address, self.name = address, f"postgresql://{parts.hostname or 'local'}/{parts.path.lstrip('/')}"

    def create(self) -> None:
        """Create the table; refuse if there is one."""
        with self._told(), closing(self._connect()) as connection, connection.transaction():
            self._make(connection)

    def _make(self, connection: Connection) -> None:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        if _version(connection) is not None:
            raise LedgerError(f"{self.name} holds a ledger already. It is not replaced; name another database.")
        for statement in [*statements("BIGINT", "TEXT"), *_GUARDS, *_FORMAT]:
            connection.execute(statement)

    @contextmanager
    def writing(self) -> Iterator[SQLTransaction]:
        """Append all or nothing, while nobody else does."""
        with self._told(), self._opened() as connection:
            try:
                with connection.transaction():
                    connection.execute(f"SET LOCAL synchronous_commit TO on; SELECT pg_advisory_xact_lock({_LOCK})")
                    yield SQLTransaction(connection, "%s", VERSION)
            except (psycopg.OperationalError, psycopg.errors.UniqueViolation):
                raise LostError from None

    @contextmanager
    def reading(self) -> Iterator[SQLTransaction]:
        """Look up entries in one snapshot."""
        with self._told(), self._opened() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield SQLTransaction(connection, "%s")

    def copy(self, entries: Iterable[LedgerEntry]) -> None:
        """Make a ledger of given entries where there is none, in one transaction."""
        with self._told(), closing(self._connect()) as connection, connection.transaction():
            self._make(connection)
            transaction = SQLTransaction(connection, "%s", VERSION)
            for entry in entries:
                transaction.append(entry)

    def scan(self, after: int = -1) -> Iterator[tuple[LedgerEntry, tuple[Any, ...]]]:
        """All entries after a number, the oldest first, with the index values they are stored under.

        No lock is held between pages.
        """
        return paged(partial(self._page, VERSION), after)

    def scan_old(self) -> Iterator[tuple[LedgerEntry, tuple[Any, ...]]] | None:
        """All entries of a ledger of format 1; None if it has the current format."""
        with self._told(), self._opened(version=None) as connection:
            version = _version(connection) or 0
        if version > VERSION:
            refuse_version(version, self.name)
        return paged(partial(self._page, 1)) if version == 1 else None

    def _page(self, version: int, number: int) -> list[Any]:
        with self._told(), self._opened(version) as connection:
            return connection.execute(FOLLOWING.format(mark="%s"), [number]).fetchall()

    def migrate(self) -> None:
        """Bring a ledger of format 1 to the current format, in one transaction."""
        with self._told(), self._opened(version=1) as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            for statement in _FORMAT:
                connection.execute(statement)

    def flaws(self) -> list[str]:
        """List missing guard triggers, and a server that has fsync off."""
        with self._told(), self._opened() as connection:
            on = connection.execute(
                "SELECT count(*) FROM pg_trigger WHERE tgrelid = %s::regclass AND tgenabled = 'O' AND NOT tgisinternal",
                [TABLE],
            ).fetchone()
            waits = connection.execute("SHOW fsync").fetchone()
        flaws = [] if on == (2,) else ["The guards that let entries be added only were changed."]
        return flaws if waits == ("on",) else [*flaws, "The server has fsync off: a crash of it may lose entries."]

    @contextmanager
    def _opened(self, version: int | None = VERSION) -> Iterator[Connection]:
        """A connection to a ledger of one format, or of any; it is kept for reuse unless it failed."""
        connection, found = self._used() or self._new()
        try:
            if version not in (None, found):
                refuse_version(found, self.name)
            yield connection
        finally:
            if connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
                _idle(self._address).append(connection)
            else:
                connection.close()

    def _used(self) -> tuple[Connection, int] | None:
        """An idle connection that still works, and the format of its ledger, if there is one."""
        idle = _idle(self._address)
        while idle:
            with contextlib.suppress(psycopg.Error, IndexError):
                connection = idle.pop()
                if (found := _version(connection)) is not None:
                    return connection, found
        return None

    def _new(self) -> tuple[Connection, int]:
        """A new connection, and the format of its ledger."""
        connection = self._connect()
        if (found := _version(connection)) is not None:
            return connection, found
        connection.close()
        raise NoLedgerError(
            f"{self.name} holds no ledger. Make one with: discreet ledger init ADDRESS --account NAME --epsilon 3 "
            "--delta 1e-6"
        )

    def _connect(self) -> Connection:
        return psycopg.connect(self._address, autocommit=True, application_name="discreet")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Replace errors of PostgreSQL, which may quote the address, by ledger errors."""
        try:
            yield
        except psycopg.Error as error:
            why = f"the database says {error.sqlstate}" if error.sqlstate else "the database does not answer"
            why = _REASONS.get(error.sqlstate or "", why)
            raise LedgerError(f"The ledger {self.name} cannot be used: {why}. Nothing was released.") from None


_IDLE: dict[tuple[int, str], list[Connection]] = {}
"""Idle connections by process: a forked process never uses those of its parent."""


def _idle(address: str) -> list[Connection]:
    return _IDLE.setdefault((os.getpid(), address), [])


@atexit.register
def _close_idle() -> None:
    for (process, _), connections in _IDLE.items():
        for connection in connections if process == os.getpid() else ():
            connection.close()


def _version(connection: Connection) -> int | None:
    """The version of the format of the ledger that a database holds; None if it holds none."""
    found = connection.execute(
        "SELECT to_regclass(%s), (SELECT prosrc FROM pg_catalog.pg_proc WHERE oid = to_regprocedure(%s))",
        [TABLE, f"{TABLE}_format()"],
    ).fetchone()
    if found is None or found[0] is None:
        return None
    return 1 if found[1] is None else int(found[1].removeprefix("SELECT "))
