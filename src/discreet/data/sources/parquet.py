"""Parquet files, streamed a row group at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.data.sources.arrow import ArrowSource
from discreet.data.sources.stored import Stamps, StoredFile
from discreet.domain import Domain
from discreet.errors import FileFormatError

_BUFFER, _STORED_BUFFER = 1 << 18, 1 << 20
"""Bytes read at a time for each column and thread; more for object storage, which responds slowly."""


class ParquetSource(ArrowSource):
    """Row groups of Parquet files; every file must have the declared columns."""

    def __init__(self, files: Sequence[Path | StoredFile], domain: Domain) -> None:
        self._groups: list[tuple[Path | StoredFile, int]] = []
        self._stamps = Stamps(files)
        self.total = 0
        for path in files:
            metadata = open_parquet(path)
            super().__init__(metadata.schema_arrow, domain)
            self._groups += [(path, group) for group in range(metadata.num_row_groups)]
            self.total += metadata.metadata.num_rows

    def parts(self, rows: int) -> Iterator[Iterable[pa.RecordBatch]]:
        """Return one part for each row group."""
        return (self._read(path, group, rows) for path, group in self._groups)

    def _read(self, path: Path | StoredFile, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        size = _STORED_BUFFER if isinstance(path, StoredFile) else _BUFFER
        with open_parquet(path, buffer_size=size, pre_buffer=False) as file:
            columns = list(self.domain.reads)
            try:
                yield from file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False)
            except (pa.ArrowException, OSError, UnicodeError):
                raise FileFormatError(f"{path.name} is damaged: one of its row groups cannot be read.") from None

    def check_unchanged(self) -> None:
        """Refuse files that were replaced, since row groups of two versions may hold the same row."""
        self._stamps.check()

    def close(self) -> None:
        """Release memory that Arrow keeps for the next reading, which may be much later."""
        pa.default_memory_pool().release_unused()


def open_parquet(path: Path | StoredFile, **options: Any) -> pq.ParquetFile:
    """Open a Parquet file, with an error that names it."""
    try:
        return pq.ParquetFile(path.open() if isinstance(path, StoredFile) else path, **options)
    except (pa.ArrowException, OSError, UnicodeError):
        raise FileFormatError(f"{path.name} is not a complete Parquet file.") from None
