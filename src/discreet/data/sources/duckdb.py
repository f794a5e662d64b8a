"""DuckDB relations, streamed; duckdb is imported only when one is given."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from discreet.data.sources.arrow import BatchSource
from discreet.data.sources.base import broken, check_names, comes_from, hiding, missing_package
from discreet.domain import Domain
from discreet.errors import DataError

_ROWS = 1 << 16
_BUSY = (
    "The connection of this DuckDB relation has another result that was not read to its end. Remedy: fetch all of that "
    "result, or make the relation from a connection of its own, connection.cursor()."
)
_MEMORY, _SORTING = "1GB", 2
"""Memory and threads for sorting; each thread needs a part of the memory."""


def is_relation(value: Any) -> bool:
    """Whether a value is a DuckDB relation."""
    return comes_from(value, "duckdb", "_duckdb") and type(value).__name__ == "DuckDBPyRelation"


class RelationSource(BatchSource):
    """The rows of a relation; its query runs each time they are read."""

    ordered = False

    def __init__(self, relation: Any, domain: Domain) -> None:
        self._errors = (_import().Error, pa.ArrowException, OSError)
        names = list(relation.columns)
        check_names(names, domain)
        folded = [name.lower() for name in names]
        for name in domain.reads:
            if folded.count(name.lower()) > 1:
                raise DataError(f"Column {name!r} stands twice in the data: DuckDB does not tell capitals apart.")
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in domain.reads)
        with self._told():
            self._relation = relation.project(quoted)
            self._reader = _open(self._relation.limit(0))
            schema = self._reader.schema
            self.close()
        super().__init__(schema, domain)
        self.names = names

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return the declared columns, a chunk at a time."""
        with self._told():
            self._reader = _open(self._relation.project("*"))
            yield from self._reader
            self.close()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Replace DuckDB's errors, which may quote data, by our own."""
        try:
            yield
        except self._errors as error:
            busy = "ResourceInUse" in type(error).__name__
            raise DataError(_BUSY) if busy else broken("DuckDB relation") from None

    def close(self) -> None:
        """Close the result, since a connection has one at a time."""
        self._reader.close()


def sort_to_file(rows: pa.RecordBatchReader, folder: Path, more: Sequence[str] = ()) -> None:
    """Write rows to ``rows.parquet``, sorted by `key`, with `n`, the number of rows of each key, and `more` columns.

    Memory is bounded; rows that do not fit spill to files in the folder, which are removed with it.
    """
    duckdb = _import()
    failed = DataError(
        "The rows could not be put in the order of persons. It needs room for all rows in the folder for temporary "
        "files, which TMPDIR names."
    )
    with hiding((duckdb.Error, pa.ArrowException, OSError), failed), contextlib.closing(duckdb.connect()) as connection:
        connection.execute(f"SET memory_limit = '{_MEMORY}'; SET threads = {_SORTING}")
        connection.execute("SET temp_directory = $folder", {"folder": str(folder / "spill")})
        connection.register("rows", rows)
        added = ["*", "count(*) OVER (PARTITION BY key) AS n", *more]
        connection.execute(
            f"COPY (SELECT {', '.join(added)} FROM rows ORDER BY key) TO $place (FORMAT parquet)",
            {"place": str(folder / "rows.parquet")},
        )


def _open(relation: Any) -> pa.RecordBatchReader:
    newer = hasattr(relation, "to_arrow_reader")
    return relation.to_arrow_reader(_ROWS) if newer else relation.fetch_record_batch(_ROWS)


def _import() -> ModuleType:
    try:
        import duckdb
    except ImportError:
        raise missing_package("duckdb") from None
    return duckdb
