"""The tables of a service, and whether they are open to requests.

The custodian checks all columns against the schema before analysts see a table, and again whenever its file has
changed. A table that does not fit is closed to all requests, so no request can find out, by the columns that it names,
where an invalid row is.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select, update

from discreet.core.files import canonical
from discreet.data.moments import Moments
from discreet.data.reading import Table
from discreet.domain import Domain
from discreet.errors import DiscreetError, DiscreetWarning
from discreet.service.limited import Document
from discreet.service.log import note
from discreet.service.people import digest
from discreet.service.settings import Settings, TableSettings
from discreet.service.storage import Store, tables

EMPTY = "The table has no row."
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

    def document(self, name: str) -> Document:
        """Return the public facts about a table as text."""
        return Document(canonical(self.domain(name).to_dict()).decode())

    def data(self, name: str) -> Path:
        """Return the path of its rows."""
        return self.settings.path(self[name].data)

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
        """Whether the table is unchanged since its last check."""
        with self._store.reading() as connection:
            found = connection.execute(select(tables).where(tables.c.name == name)).first()
        return found is not None and found.state == "open" and found.fingerprint == self._fingerprint(name)

    def check(self, name: str, by: str) -> str | None:
        """Read all columns of a table; open it if they fit the schema, otherwise close it and return the reason."""
        mark, problem = self._fingerprint(name), problem_of(self.data(name), self.domain(name))
        self._set(name, problem, mark, by)
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

    def _fingerprint(self, name: str) -> str:
        """Compute a digest that changes when the file or the schema does."""
        path = self.data(name)
        parts = sorted(path.rglob("*")) if path.is_dir() else [path]
        stats = [(str(part), part.stat().st_size, part.stat().st_mtime_ns) for part in parts if part.exists()]
        return digest(repr(stats) + self.document(name))


def problem_of(data: Path, domain: Domain) -> str | None:
    """Return the reason why the rows of a file do not fit a domain, without quoting values; None if they fit."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscreetWarning)
            empty = Moments.from_source(data, domain, n_jobs=1).count == 0
            if domain.missing == "drop":  # an entry that does not fit may stand in a row that lacks another column
                for name in domain.columns:
                    Table.of(data, domain.select([name]), n_jobs=1).checked()
    except DiscreetError as error:
        return str(error)
    except OSError as error:
        return f"{error.strerror or 'The file cannot be read'}: {data.name}"
    except Exception as error:
        return INTERNAL.format(type(error).__name__)
    return EMPTY if empty else None
