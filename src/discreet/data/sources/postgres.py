"""Tables and queries of a PostgreSQL database, streamed as Arrow batches; the driver is imported only when one is used.

All passes of a fit are in one transaction, which sees the database as it was at its beginning. It searches operators,
functions and types in pg_catalog first, whatever the user's search path, and text is in UTF-8.
"""

from __future__ import annotations

import contextlib
import json
import re
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

from discreet.core import checks
from discreet.data.sources.arrow import BatchSource, check_schema
from discreet.data.sources.base import missing_package
from discreet.domain import Domain
from discreet.domain.kinds.base import Readable
from discreet.domain.value_types import KEYS, TEXT
from discreet.errors import DataError, ParameterError

_QUERY = re.compile(r"\s*(select|with|values|table)\b", re.IGNORECASE)
_BEGIN = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_PATH = "pg_catalog.current_setting('search_path')"
_SETTINGS = (
    "SELECT pg_catalog.set_config('client_encoding', 'UTF8', true)",
    "SELECT pg_catalog.set_config('search_path', pg_catalog.concat('pg_catalog', CASE WHEN "
    f"pg_catalog.length({_PATH}) OPERATOR(pg_catalog.>) 0 THEN ', ' END, {_PATH}), true)",
)
_TEXTS = ("citext", "uuid")
"""Types that Arrow does not read as text, and that are cast to text."""

_AMOUNTS = ("numeric", "money", "oid")
"""Types whose numbers Arrow reads as another type."""

_REASONS = {
    "08": "The connection was lost.",
    "28": "The server refuses this user, or the password.",
    "3D": "There is no such database.",
    "40": "The server gave up the transaction: start again.",
    "42501": "This user may not read it.",
    "42601": "The query is not valid SQL.",
    "42703": "It names a column that is not there.",
    "42P01": "There is no such table.",
    "53": "The server is short of memory, disk or connections.",
    "57014": "A statement took longer than the server's statement_timeout allows, or was cancelled. Remedy: a longer "
    "limit for this user, ALTER ROLE ... SET statement_timeout, or fewer rows in the query.",
    "57": "The server is going down, or ended the connection.",
}
"""Messages for SQLSTATEs or their first letters; the server's own words may quote data or the query."""


class Postgres:
    """Rows of a PostgreSQL database: a source for `fit_source`, `fit_formula` and `Moments.from_source`.

    Parameters
    ----------
    address : str
        As libpq takes it: ``postgresql://user@host/database``. A password is best left out: libpq finds it in
        ``~/.pgpass`` or ``PGPASSWORD``. It is never shown.
    rows : str
        The name of a table or view, as in the database, with its schema if need be; or a query, SELECT or WITH.
    pushdown : bool
        Whether the database computes the sums, so that no row leaves it. It takes longer, and refuses splines,
        polynomials and products with categories.

    Examples
    --------
    >>> Postgres("postgresql://analyst:secret@db.example/clinic", "visits")
    Postgres('postgresql://db.example/clinic', confidential)
    """

    def __init__(self, address: str, rows: str, *, pushdown: bool = False) -> None:
        if not is_address(address):
            raise ParameterError("The address of a database must begin with postgresql://, as postgresql://host/name.")
        if not isinstance(rows, str) or not rows.strip():
            raise ParameterError("rows must be the name of a table, or a query: 'visits', or 'SELECT ... FROM visits'.")
        checks.choice("pushdown", pushdown, (True, False))
        self._address, self._rows, self.pushdown = address, rows, pushdown

    def open(self) -> Snapshot:
        """Open a new transaction."""
        return Snapshot(self._address, self._rows, self.name)

    @property
    def name(self) -> str:
        """The address without secrets."""
        parts = urlsplit(self._address)
        return f"postgresql://{parts.hostname or 'local'}/{parts.path.lstrip('/')}"

    def __repr__(self) -> str:
        return f"Postgres({self.name!r}, confidential)"

    def __reduce__(self) -> Any:
        raise TypeError("The address of a database may hold a password, and is not pickled.")


def is_address(value: Any) -> bool:
    """Whether a value is the address of a database."""
    return isinstance(value, str) and value.startswith(("postgresql://", "postgres://"))


class Snapshot:
    """A transaction on a database snapshot; its connection ends with it."""

    def __init__(self, address: str, rows: str, name: str) -> None:
        self._driver, self._name = _import(), name
        with self.told():
            self._connection = self._driver.connect(address)
        weakref.finalize(self, _end, self._connection)
        self._rows = rows.strip().rstrip(";") if _QUERY.match(rows) else f"SELECT * FROM {_identifier(rows)}"
        with self.told(), contextlib.closing(self._connection.cursor()) as cursor:
            cursor.execute(_BEGIN)
            for setting in _SETTINGS:
                cursor.execute(setting)
                cursor.fetchall()
        self.schema = self._schema()

    def _schema(self) -> pa.Schema:
        with self.told(), contextlib.closing(self._connection.cursor()) as cursor:
            cursor.execute(f"SELECT * FROM {self.rows()} LIMIT 0")
            return cursor.fetch_record_batch().schema

    def kind(self, name: str) -> str:
        """Return the PostgreSQL type of a column."""
        metadata = self.schema.field(name).metadata or {}
        return str(metadata.get(b"POSTGRESQL:type", b"").decode())

    def check(self, domain: Domain) -> None:
        """Refuse a table whose columns are not those declared, after casts in the database."""
        fields = []
        for field in self.schema:
            column = domain.reads.get(field.name)
            cast = None if column is None else self._cast(field.name, column)
            kind = {"float8": pa.float64(), "text": pa.string(), None: field.type}[cast]
            if column is not None and column.entries is KEYS and self.kind(field.name) in _AMOUNTS:
                kind = pa.decimal128(38, 2)
            fields.append(pa.field(field.name, kind))
        check_schema(pa.schema(fields), domain)

    def _cast(self, name: str, column: Readable) -> str | None:
        """Return the type to which a column is cast, if any: for types that Arrow lacks, and for padded text."""
        kind, is_text = self.kind(name), pa.types.is_string(self.schema.field(name).type)
        if column.entries is KEYS:
            return "text" if is_text or kind in _TEXTS else None
        if kind == "numeric":
            return "float8"
        return "text" if column.entries is TEXT and (is_text or kind == "citext") else None

    def value(self, name: str, column: Readable) -> str:
        """Return a column as an SQL expression."""
        cast = self._cast(name, column)
        return quoted(name) if cast is None else f"{quoted(name)}::{cast}"

    def rows(self) -> str:
        """Return the rows as a part of a FROM clause."""
        return f"({self._rows}\n) AS t"  # a query may end with a comment

    def stream(self, query: str) -> tuple[Any, pa.RecordBatchReader]:
        """Return the cursor of a query and the reader of its batches."""
        cursor = self._connection.cursor()
        cursor.execute(query)
        return cursor, cursor.fetch_record_batch()

    def fetch(self, query: str) -> list[tuple[Any, ...]]:
        """Fetch all rows of a short result, in another thread, so that Ctrl-C arrives here and cancels the query."""

        def fetch() -> list[tuple[Any, ...]]:
            with self.told(), contextlib.closing(self._connection.cursor()) as cursor:
                cursor.execute(query)
                return list(cursor.fetchall())

        with ThreadPoolExecutor(1) as pool:
            try:
                return pool.submit(fetch).result()
            except KeyboardInterrupt:
                self.cancel()
                raise

    def estimate(self) -> int:
        """Return the planner's estimate of the number of rows, used for the progress display only."""
        with self.told(), contextlib.closing(self._connection.cursor()) as cursor:
            cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})  # EXPLAIN does not support COPY
            cursor.execute(f"EXPLAIN (FORMAT JSON) {self._rows}")
            (plan,) = cursor.fetchone()
        return int(json.loads(plan)[0]["Plan"]["Plan Rows"])

    def cancel(self) -> None:
        """Cancel the running query."""
        with contextlib.suppress(Exception):
            self._connection.adbc_cancel()

    @contextlib.contextmanager
    def told(self) -> Iterator[None]:
        """Replace errors of the driver and the server, which may quote data or a password, by our own."""
        try:
            yield
        except (self._driver.Error, pa.ArrowException, OSError) as error:
            state = getattr(error, "sqlstate", None) or _stated(str(error))
            reason = next((text for code, text in _REASONS.items() if state.startswith(code)), None)
            if reason is None:
                reason = (
                    f"SQLSTATE is {state}."
                    if state
                    else "The server cannot be reached, or ended the query, as by its statement_timeout."
                )
            raise DataError(f"Reading from {self._name} failed. {reason}") from None


class PostgresSource(BatchSource):
    """Rows that are streamed out of a database."""

    ordered = False

    def __init__(self, transaction: Snapshot, domain: Domain) -> None:
        transaction.check(domain)
        self.domain, self._transaction, self.total = domain, transaction, transaction.estimate()
        self.names = transaction.schema.names
        self._cursor: Any = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return the declared columns."""
        own = self._transaction
        columns = [f"{own.value(name, column)} AS {quoted(name)}" for name, column in self.domain.reads.items()]
        with own.told():
            self._cursor, reader = own.stream(f"SELECT {', '.join(columns)} FROM {own.rows()}")
            yield from reader

    def cancel(self) -> None:
        """Stop the query."""
        self._transaction.cancel()

    def close(self) -> None:
        """Close the result."""
        if self._cursor is not None:
            with contextlib.suppress(Exception):
                self._cursor.close()
            self._cursor = None


def _stated(text: str) -> str:
    """The SQLSTATE of an error that has none, as those of streams; in English, as PostgreSQL words it by default."""
    return "57014" if "canceling statement" in text else ""


def quoted(name: str) -> str:
    """Return a name as a quoted SQL identifier.

    Examples
    --------
    >>> print(quoted('the "true" age'))
    "the ""true"" age"
    """
    return '"' + name.replace('"', '""') + '"'


def _identifier(name: str) -> str:
    return ".".join(part if part.startswith('"') else quoted(part) for part in name.strip().split("."))


def _end(connection: Any) -> None:
    with contextlib.suppress(Exception):
        connection.close()


def _import() -> ModuleType:
    try:
        import adbc_driver_postgresql.dbapi as driver
    except ImportError:
        raise missing_package("adbc-driver-postgresql", "postgres") from None
    return driver  # type: ignore[no-any-return]
