"""Parts of SQL statements: rows with more columns, and literals."""

from __future__ import annotations

from collections.abc import Sequence


def with_columns(rows: str, columns: Sequence[str], *, keep: bool = True) -> str:
    """Return SQL for rows with more columns, which are computed once."""
    kept = ["*", *columns] if keep else columns
    return f"(SELECT {', '.join(kept)} FROM {rows} OFFSET 0) AS t" if columns else rows


def float8(value: float) -> str:
    """Return SQL for a number that is read back to the same bits."""
    return f"'{float(value)!r}'::float8"


def text(value: str) -> str:
    """Return SQL for text."""
    return "E'" + value.replace("\\", "\\\\").replace("'", "''") + "'::text"
