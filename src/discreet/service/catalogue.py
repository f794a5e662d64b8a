"""The tables of a service, and whether they are open to requests.

The custodian checks all columns against the schema before analysts see a table, and again whenever its file has
changed; rows in a database, in object storage or on an engine are checked before every release. A table that does not
fit is closed to all requests, so no request can find out, by the columns that it names, where an invalid row is.
"""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select, update

from discreet.core.files import canonical
from discreet.data.moments import Moments
from discreet.data.named import is_file, named_rows
from discreet.data.sources.postgres import is_address
from discreet.domain import Domain
from discreet.domain.provisional import wide_bounds
from discreet.errors import DiscreetError, DiscreetWarning, ParameterError
from discreet.service.limited import SentText
from discreet.service.log import note
from discreet.service.people import digest, server_secret
from discreet.service.settings import Settings, TableSettings, secret
from discreet.service.storage import Store, tables

EMPTY = "The table has no row."
_WIDTHS = 2.0**10, 2.0**40
"""Columns without bounds are summed up within these, to notice that they have changed."""

INTERNAL = "An internal error of kind {}. Its details are hidden, for they may quote data."


class Catalogue:
    """The tables of a service.

    Parameters
    ----------
    settings : Settings
        The custodian's configuration.
    store : Store
        The database that records which tables are open.
    """

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings, self._store = settings, store

    def __getitem__(self, name: str) -> TableSettings:
        return self.settings.tables[name]

    def __contains__(self, name: str) -> bool:
        return name in self.settings.tables

    def domain(self, name: str) -> Domain:
        """Return the public facts about a table."""
        return self.settings.domains[name]

    def document(self, name: str) -> SentText:
        """Return the public facts about a table as text."""
        return SentText(canonical(self.domain(name).to_dict()).decode())

    def data(self, name: str) -> Any:
        """Return the source of its rows, which may hold a password and is never shown."""
        table, place = self[name], self.place(name)
        return named_rows(place, table.engine, table.table, table.pushdown)

    def place(self, name: str) -> str:
        """Return the path or the address of its rows, which may hold a password."""
        table, place = self[name], secret(self[name].data)
        self.settings.refuse_keywords(place, f"tables.{name}.data")
        if is_address(place) != (table.table is not None) or (is_address(place) and table.engine is not None):
            raise ParameterError(
                f"tables.{name}: a database needs `table`, a table or a query, and no `engine`; other rows have no "
                "`table`."
            )
        if table.pushdown and not is_address(place):
            raise ParameterError(f"tables.{name}: `pushdown` is for databases.")
        path = self.settings.path(place)
        return str(path) if is_file(place, table.engine) or path.exists() else place

    def states(self) -> dict[str, dict[str, Any]]:
        """Return which tables are open, and why others are not: for custodians."""
        with self._store.reading() as connection:
            rows = connection.execute(select(tables)).mappings().all()
        known = {row["name"]: dict(row) for row in rows}
        unknown = {"state": "closed", "problem": "It was not checked yet."}
        return {name: known.get(name, unknown) for name in self.settings.tables}

    def is_open(self, name: str) -> bool:
        """Whether a table takes requests."""
        return self.states().get(name, {}).get("state") == "open"

    def is_checked(self, name: str) -> bool:
        """Whether the table is unchanged since its last check; what is in no file of this computer may have changed."""
        with self._store.reading() as connection:
            found = connection.execute(select(tables).where(tables.c.name == name)).first()
        mark = self._fingerprint(name)
        return found is not None and mark is not None and found.state == "open" and found.fingerprint == mark

    def check(self, name: str, by: str) -> str | None:
        """Read all columns of a table; open it if they fit the schema, otherwise close it and return the reason."""
        mark = self._fingerprint(name)
        problem, found = checked(lambda: self.data(name), self.domain(name), name)
        self._set(name, problem, mark or (None if found is None else digest(server_secret(self._store) + found)), by)
        return problem

    def close(self, name: str, problem: str, by: str) -> None:
        """Take no more requests until the table has been checked again."""
        self._set(name, problem, None, by)

    def changed(self, name: str) -> float:
        """When the table was last found changed: earlier releases are about other rows."""
        return float(self.states()[name].get("changed", 0.0))

    def _set(self, name: str, problem: str | None, mark: str | None, by: str) -> None:
        values: dict[str, Any] = {"state": "open" if problem is None else "closed", "problem": problem}
        with self._store.writing() as connection:
            known = connection.execute(select(tables).where(tables.c.name == name)).first()
            if known is None or known.state != values["state"]:
                note(connection, by, f"{'opened' if problem is None else 'closed'} a table", table=name)
            if mark is not None and (known is None or known.fingerprint != mark):
                values |= {"fingerprint": mark, "changed": time.time()}
            if known is None:
                connection.execute(insert(tables).values(name=name, **values))
            else:
                connection.execute(update(tables).where(tables.c.name == name).values(**values))

    def _fingerprint(self, name: str) -> str | None:
        """Compute a digest that changes when the file or the schema does; None for rows that are not in files here."""
        place = self.place(name)
        if not is_file(place, self[name].engine):
            return None
        path = Path(place)
        parts = sorted(path.rglob("*")) if path.is_dir() else [path]
        stats = [(str(part), part.stat().st_size, part.stat().st_mtime_ns) for part in parts if part.exists()]
        return digest(repr(stats) + self.document(name))


def checked(open_: Callable[[], Any], domain: Domain, name: str) -> tuple[str | None, str | None]:
    """Return why rows do not fit a domain, without quoting values, or None; and a digest of their exact sums."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscreetWarning)
            widths = _WIDTHS if domain.searched else _WIDTHS[:1]
            read = [wide_bounds(domain, width) for width in widths]
            if domain.missing == "drop":  # an entry that does not fit may stand in a row that lacks another column
                read += [read[0].select([column]) for column in domain.columns]
            found = [Moments.from_source(open_(), own, n_jobs=1) for own in read]
    except (DiscreetError, ImportError) as error:  # neither quotes data
        return str(error), None
    except OSError as error:
        return f"{error.strerror or 'The rows cannot be read'}: {name}", None
    except Exception as error:
        return INTERNAL.format(type(error).__name__), None
    sums = b"".join(own.to_bytes() for own in found)
    return (EMPTY if found[0].count == 0 else None), hashlib.sha256(sums).hexdigest()
