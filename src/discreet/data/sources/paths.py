"""Files and folders: which files a path names, and what kind they are, by how their names end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from discreet.data.sources.base import Source
from discreet.data.sources.csv import CsvSource, header
from discreet.data.sources.parquet import ParquetSource, open_parquet
from discreet.domain import Domain
from discreet.domain.arrow_columns import kind
from discreet.errors import DataError

_KINDS = {".parquet": ParquetSource, ".csv": CsvSource, ".csv.gz": CsvSource}
_LISTED = "Parquet files end in .parquet, CSV files in .csv or .csv.gz."


def open_files(paths: Sequence[str | Path], domain: Domain) -> Source:
    """The rows of files and folders, all Parquet or all CSV."""
    files = [file for path in paths for file in data_files(path)]
    if len({file.resolve() for file in files}) < len(files):
        raise DataError("A file is named twice, so its rows would count twice: one row must be one person.")
    kinds = {_kind(file) for file in files}
    if len(kinds) > 1:
        raise DataError("Parquet and CSV files stand side by side; they may hold the same rows. Name one kind only.")
    return kinds.pop()(files, domain)


def data_files(path: str | Path) -> list[Path]:
    """The files that a path names: itself, or those in a folder and below, in order of name."""
    path = Path(path)
    if path.is_dir():
        below = sorted(file for file in path.rglob("*") if not file.name.startswith("."))
        files = [file for file in below if _ending(file) and file.is_file()]
        if not files:
            raise DataError(f"The folder {path.name} holds no .parquet, .csv or .csv.gz file.")
        return files
    if not path.exists():
        raise DataError(f"There is no file {path.name}.")
    return [path]


def is_data_file(path: Path) -> bool:
    """Whether a file of this name would be read as data."""
    return _ending(path) is not None


def column_kinds(path: str | Path) -> list[tuple[str, str]]:
    """Names and kinds of the columns, from the metadata of a Parquet file or the first line of a CSV file.

    A CSV file does not say what its columns hold; their kind is ``"any"``.
    """
    file = data_files(path)[0]
    if _kind(file) is CsvSource:
        return [(name, "any") for name in header(file).names]
    return [(field.name, kind(field.type)) for field in open_parquet(file).schema_arrow]


def _ending(file: Path) -> str | None:
    return next((ending for ending in _KINDS if file.name.lower().endswith(ending)), None)


def _kind(file: Path) -> type[ParquetSource] | type[CsvSource]:
    ending = _ending(file)
    if ending is None:
        raise DataError(f"Cannot tell what kind of file {file.name} is. {_LISTED}")
    return _KINDS[ending]  # type: ignore[return-value]
