"""Storage of the service besides the ledger: people, keys, sessions, jobs with their results, and a log.

The storage is a SQLite file or a PostgreSQL database. SQLite has one writer at a time; PostgreSQL locks rows.
The format version is read before anything else: an older database is brought up to date, a newer one is refused.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Float,
    Index,
    Integer,
    MetaData,
    Select,
    String,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.exc import DatabaseError

from discreet.errors import ParameterError

FORMAT = 2
"""The format version of the tables: 1 is that of discreet 0.2.0, which does not state it."""

ON_A_PAGE = 100
"""Number of entries on a page of a list."""

WAIT = 60
"""Seconds to wait for other writers, or for a connection."""

CONNECTIONS = 10
"""Maximum number of connections of one process: more cost more than they gain, and take long to open all at once."""

_LOCK = 0x64697372
"""The advisory lock under which tables are created in PostgreSQL."""

metadata = MetaData()

people = Table(
    "discreet_people", metadata,
    Column("name", String, primary_key=True),
    Column("role", String, nullable=False),
    Column("since", Float, nullable=False),
    Column("revoked", Float),
)  # fmt: skip
keys = Table(
    "discreet_keys", metadata,
    Column("id", String, primary_key=True),
    Column("person", String, nullable=False, index=True),
    Column("hash", String, nullable=False),
    Column("since", Float, nullable=False),
    Column("revoked", Float),
)  # fmt: skip
sessions = Table(
    "discreet_sessions", metadata,
    Column("hash", String, primary_key=True),
    Column("person", String, nullable=False, index=True),
    Column("key", String),
    Column("form", String, nullable=False),
    Column("until", Float, nullable=False),
)  # fmt: skip
tables = Table(
    "discreet_tables", metadata,
    Column("name", String, primary_key=True),
    Column("state", String, nullable=False),
    Column("fingerprint", String),
    Column("changed", Float, nullable=False, default=0.0),
    Column("problem", Text),
)  # fmt: skip
jobs = Table(
    "discreet_jobs", metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("id", String, nullable=False, unique=True),
    Column("person", String, nullable=False),
    Column("table", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("body", Text, nullable=False),
    Column("original", Text, nullable=False),
    Column("price", Text),
    Column("reference", String, nullable=False),
    Column("state", String, nullable=False),
    Column("created", Float, nullable=False),
    Column("started", Float),
    Column("finished", Float),
    Column("shown", Float),
    Column("worker", String),
    Column("lease", Float),
    Column("tries", Integer, nullable=False, default=0),
    Column("decided_by", String),
    Column("answer", Text),
    Column("problem", Text),
    UniqueConstraint("person", "reference"),
    Index("discreet_jobs_state", "state", "number"),
    Index("discreet_jobs_person", "person", "number"),
    Index("discreet_jobs_table", "table", "kind", "state"),
)  # fmt: skip
files = Table(
    "discreet_files", metadata,
    Column("job", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("content", Text, nullable=False),
)  # fmt: skip
events = Table(
    "discreet_events", metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("at", Float, nullable=False),
    Column("who", String, nullable=False),
    Column("what", String, nullable=False),
    Column("about", Text, nullable=False),
)  # fmt: skip
facts = Table(
    "discreet_facts", metadata,
    Column("name", String, primary_key=True),
    Column("value", Text, nullable=False),
)  # fmt: skip
rates = Table(
    "discreet_rates", metadata,
    Column("who", String, primary_key=True),
    Column("left", Float, nullable=False),
    Column("at", Float, nullable=False),
)  # fmt: skip


class Store:
    """A database of the service.

    Parameters
    ----------
    place : str
        A file, or the address of a PostgreSQL database.
    """

    def __init__(self, place: str) -> None:
        self.engine = _engine(place)
        own = self.engine.dialect.name == "sqlite"  # whose writers would poll for its lock, and overtake each other
        self._turn: AbstractContextManager[Any] = threading.Lock() if own else nullcontext()
        try:
            with self.reading() as connection:
                found = _format(connection)
            if found != FORMAT:
                self._upgrade()
        except DatabaseError:
            raise ParameterError(
                "The database of the service cannot be opened: it is no database, is damaged, or does not answer. "
                "Check `database` in [service], or restore a backup."
            ) from None

    def _upgrade(self) -> None:
        """Create the tables, or bring those of an older version up to date, all at once or not at all."""
        with self.writing() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
            found = _format(connection)
            if found == FORMAT:  # another process was quicker
                return
            metadata.create_all(connection)
            if found is not None:
                for number in range(found, FORMAT):
                    MIGRATIONS[number](connection)
            write_fact(connection, "format", str(FORMAT))

    def __repr__(self) -> str:
        return f"Store({self.engine.dialect.name})"

    @contextmanager
    def writing(self, *, wait: bool = True) -> Iterator[Connection]:
        """Open a transaction: either all of it is on disk when it has ended, or none of it.

        Without `wait` nobody waits for the disk: if the power fails, the last such transactions may be undone.
        """
        options = {"writes": True, "wait": wait}
        with self._turn, self.engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a read-only transaction."""
        with self.engine.connect() as connection, connection.begin():
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def paged(wanted: Select[Any], page: int, most: int = ON_A_PAGE) -> Select[Any]:
    """Return a query for one page of a list; pages count from 1."""
    return wanted.limit(most).offset((page - 1) * most)


def fact(connection: Connection, name: str) -> str | None:
    """Return a single value that the service keeps; None if there is none."""
    found: str | None = connection.execute(select(facts.c.value).where(facts.c.name == name)).scalar()
    return found


def write_fact(connection: Connection, name: str, value: str) -> None:
    """Keep a single value."""
    if not connection.execute(update(facts).where(facts.c.name == name).values(value=value)).rowcount:
        connection.execute(insert(facts).values(name=name, value=value))


def _format(connection: Connection) -> int | None:
    """Read the format version; None if the database has no tables of a service."""
    if not inspect(connection).has_table(facts.name):
        return None
    found = int(fact(connection, "format") or 1)
    if found > FORMAT:
        raise ParameterError(
            f"The database of the service has format {found}, and this discreet knows formats up to {FORMAT}. Use the "
            "discreet that wrote it, or a newer one. Nothing was changed."
        )
    return found


def _to_2(connection: Connection) -> None:
    """From 0.2.0: the newest receipt of the ledger is kept by itself; it is read from the certificates."""
    known: list[dict[str, Any]] = []
    for content in connection.execute(select(files.c.content).where(files.c.name == "certificate.json")).scalars():
        known += json.loads(content).get("ledger") or []
    if known:
        newest = max(known, key=lambda receipt: int(receipt["entry"]))
        write_fact(connection, WITNESS, json.dumps({name: newest[name] for name in ("ledger", "entry", "hash")}))


MIGRATIONS = {1: _to_2}
"""What brings a database from each version to the next one, once its new tables are there."""

WITNESS = "witness"
"""The fact that names the newest entry of the ledger that the service has seen."""


def _engine(place: str) -> Engine:
    if "://" in place:
        address = "postgresql+psycopg://" + place.split("://", 1)[1]
        engine = create_engine(
            address, pool_size=CONNECTIONS, max_overflow=0, pool_timeout=WAIT, pool_pre_ping=True, hide_parameters=True
        )
        event.listen(engine, "begin", _begin_postgres)
        return engine
    if not Path(place).exists():
        os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o600))
    options = {"timeout": WAIT, "check_same_thread": False, "isolation_level": None}
    engine = create_engine(
        f"sqlite:///{place}", pool_size=CONNECTIONS, max_overflow=0, pool_timeout=WAIT, hide_parameters=True,
        connect_args=options,
    )  # fmt: skip
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: Any, _: Any) -> None:
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "fullfsync = ON", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    """Lock SQLite for writing at the beginning: a transaction that reads first may be unable to write later."""
    options = connection.get_execution_options()
    if options.get("writes"):
        connection.exec_driver_sql(f"PRAGMA synchronous = {'FULL' if options['wait'] else 'NORMAL'}")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writes") else "BEGIN")


def _begin_postgres(connection: Connection) -> None:
    """Let PostgreSQL answer before the disk does, where nobody waits for it."""
    if not connection.get_execution_options().get("wait", True):
        connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
