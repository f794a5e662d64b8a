"""Entries in a PostgreSQL database, for a team. One writer at a time, by a lock that ends with its transaction.

The lock is only for speed: without it, two entries with the same number would still conflict, because numbers are
unique.
"""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, ClassVar
from urllib.parse import urlsplit

from discreet.errors import LedgerError, ParameterError
from discreet.ledger.entries import LedgerEntry
from discreet.ledger.storage.base import ALL, TABLE, LostError, NoLedgerError, SQLTransaction, entry_of, statements

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


class PostgreSQL:
    """A table in a database, named by an address such as ``postgresql://host/people``; one ledger in each schema."""

    shared: ClassVar[bool] = True

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._address, self.name = address, f"postgresql://{parts.hostname or 'local'}/{parts.path.lstrip('/')}"

    def create(self) -> None:
        """Create the table; refuse if there is one."""
        with self._told(), closing(self._connect()) as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            if _holds_ledger(connection):
                raise LedgerError(f"{self.name} holds a ledger already. It is not replaced; name another database.")
            for statement in [*statements("BIGINT", "TEXT"), *_GUARDS]:
                connection.execute(statement)

    @contextmanager
    def writing(self) -> Iterator[SQLTransaction]:
        """Append all or nothing, while nobody else does."""
        with self._told(), self._opened() as connection:
            try:
                with connection.transaction():
                    connection.execute(f"SET LOCAL synchronous_commit TO on; SELECT pg_advisory_xact_lock({_LOCK})")
                    yield SQLTransaction(connection, "%s")
            except (psycopg.OperationalError, psycopg.errors.UniqueViolation):
                raise LostError from None

    @contextmanager
    def reading(self) -> Iterator[SQLTransaction]:
        """Look up entries in one snapshot."""
        with self._told(), self._opened() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield SQLTransaction(connection, "%s")

    def entries(self) -> Sequence[tuple[LedgerEntry, tuple[Any, ...]]]:
        """All entries, in one snapshot, with the index values they are stored under."""
        with self._told(), self._opened() as connection:
            found = connection.execute(ALL).fetchall()
        return [(entry_of(line), tuple(line[1:-2])) for line in found]

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
    def _opened(self) -> Iterator[Connection]:
        """A connection to a database that holds a ledger; it is kept for reuse unless it failed."""
        connection = self._used() or self._new()
        try:
            yield connection
        finally:
            if connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
                _idle(self._address).append(connection)
            else:
                connection.close()

    def _used(self) -> Connection | None:
        """An idle connection that still works, if there is one."""
        idle = _idle(self._address)
        while idle:
            with contextlib.suppress(psycopg.Error, IndexError):
                connection = idle.pop()
                if _holds_ledger(connection):
                    return connection
        return None

    def _new(self) -> Connection:
        """A new connection."""
        connection = self._connect()
        if _holds_ledger(connection):
            return connection
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


def _holds_ledger(connection: Connection) -> bool:
    return connection.execute("SELECT to_regclass(%s)", [TABLE]).fetchone() != (None,)
