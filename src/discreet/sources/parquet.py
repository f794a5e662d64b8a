"""Parquet files and folders, streamed a row group at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.domain import Domain
from discreet.errors import DataError, FileFormatError
from discreet.sources.arrow import ArrowSource

_BUFFER = 1 << 20


class ParquetSource(ArrowSource):
    """Row groups of Parquet files; every file must have the declared columns."""

    def __init__(self, paths: list[Any], domain: Domain) -> None:
        self._files = [file for path in paths for file in parquet_files(path)]
        self._groups: list[tuple[Path, int]] = []
        self.total = 0
        for path in self._files:
            metadata = open_parquet(path)
            super().__init__(metadata.schema_arrow, domain)
            self._groups += [(path, group) for group in range(metadata.num_row_groups)]
            self.total += metadata.metadata.num_rows

    def parts(self, rows: int) -> Iterator[Iterable[pa.RecordBatch]]:
        """One part a row group."""
        return (self._read(path, group, rows) for path, group in self._groups)

    def _read(self, path: Path, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        with open_parquet(path, buffer_size=_BUFFER, pre_buffer=False) as file:
            columns = list(self.domain.columns)
            try:
                yield from file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False)
            except (pa.ArrowException, OSError):
                raise FileFormatError(f"{path.name} is damaged: one of its row groups cannot be read.") from None


def parquet_files(path: str | Path) -> list[Path]:
    """The Parquet files that a path names: itself, or those in a folder, in order of name."""
    path = Path(path)
    if path.is_dir():
        files = sorted(path.rglob("*.parquet"))
        if not files:
            raise DataError(f"The folder {path.name} holds no .parquet file.")
        return files
    if not path.exists():
        raise DataError(f"There is no file {path.name}.")
    return [path]


def open_parquet(path: Path, **options: Any) -> pq.ParquetFile:
    """Open a Parquet file, with an error that names it."""
    try:
        return pq.ParquetFile(path, **options)
    except (pa.ArrowException, OSError):
        raise FileFormatError(f"{path.name} is not a complete Parquet file.") from None
