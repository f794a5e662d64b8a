"""Rows that a command or a configuration names: files, object storage, a database, or an engine's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.data.engines.dask import with_dask
from discreet.data.engines.spark import with_spark
from discreet.data.sources.postgres import Postgres, is_address
from discreet.data.sources.stored import is_stored

READERS: dict[str, Callable[[str], Any]] = {"spark": with_spark, "dask": with_dask}
"""What reads a path on each engine."""


def named_rows(data: str, engine: str | None = None, table: str | None = None, pushdown: bool = False) -> Any:
    """Return the source of named rows, as `fit_source` takes it.

    Parameters
    ----------
    data : str
        A path, an address in object storage, or that of a PostgreSQL database.
    engine : {"spark", "dask"}, optional
        The engine that reads a path.
    table : str, optional
        The table of a database, or a query.
    pushdown : bool
        Whether the database computes the sums.

    Examples
    --------
    >>> named_rows("postgresql://analyst:secret@db.example/clinic", table="visits")
    Postgres('postgresql://db.example/clinic', confidential)
    """
    if is_address(data):
        return Postgres(data, table or "", pushdown=pushdown)
    return data if engine is None else READERS[engine](data)


def is_file(data: str, engine: str | None) -> bool:
    """Whether rows are in files of this computer that this program reads."""
    return engine is None and not is_address(data) and not is_stored(data)
