"""DuckDB relations, streamed; duckdb is imported only when one is given."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pyarrow as pa

from discreet.data.sources.arrow import BatchSource
from discreet.data.sources.base import broken, check_names, comes_from, hiding, missing_package
from discreet.domain import Domain
from discreet.errors import DataError

_ROWS = 1 << 16


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
        for name in domain.inputs:
            if folded.count(name.lower()) > 1:
                raise DataError(f"Column {name!r} stands twice in the data: DuckDB does not tell capitals apart.")
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in domain.inputs)
        with hiding(self._errors, broken("DuckDB relation")):
            self._relation = relation.project(quoted)
            self._reader = _open(self._relation.limit(0))
            schema = self._reader.schema
            self.close()
        super().__init__(schema, domain)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The declared columns, a chunk at a time."""
        with hiding(self._errors, broken("DuckDB relation")):
            self._reader = _open(self._relation.project("*"))
            yield from self._reader
            self.close()

    def close(self) -> None:
        """Close the result, for a connection has one at a time."""
        self._reader.close()


def _open(relation: Any) -> pa.RecordBatchReader:
    newer = hasattr(relation, "to_arrow_reader")
    return relation.to_arrow_reader(_ROWS) if newer else relation.fetch_record_batch(_ROWS)


def _import() -> ModuleType:
    try:
        import duckdb
    except ImportError:
        raise missing_package("duckdb") from None
    return duckdb
