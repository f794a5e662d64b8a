"""Storages for the entries of a ledger: in memory, in a SQLite file, or in a PostgreSQL database."""

from __future__ import annotations

from pathlib import Path

from discreet.ledger.storage.base import LastingStorage, Reading, Storage, Transaction
from discreet.ledger.storage.memory import Memory
from discreet.ledger.storage.sqlite import SQLite

__all__ = ["LastingStorage", "Memory", "Reading", "SQLite", "Storage", "Transaction", "storage_of"]


def storage_of(place: str | Path) -> LastingStorage:
    """Return the storage for a path or the address of a database.

    Examples
    --------
    >>> storage_of("people.ledger").name
    'people.ledger'
    """
    if str(place).startswith(("postgresql://", "postgres://")):
        from discreet.ledger.storage.postgres import PostgreSQL  # its driver is not always there

        return PostgreSQL(str(place))
    return SQLite(Path(place))
