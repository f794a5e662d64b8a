"""Files and folders: the files that a path names, and their kinds by extension."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TypeVar

from discreet.core.files import refuse_special
from discreet.data.sources.base import Source
from discreet.data.sources.csv import CsvSource, header, unpacked
from discreet.data.sources.excel import ExcelSource
from discreet.data.sources.excel import header as excel_header
from discreet.data.sources.parquet import ParquetSource, open_parquet
from discreet.data.sources.stored import StoredFile, is_stored, stored_files
from discreet.domain import Domain, FileFormat
from discreet.domain.value_types import kind
from discreet.errors import DataError

_KINDS: dict[str, Callable[[Sequence[Path], Domain], Source]] = {
    ".parquet": ParquetSource,
    ".csv": CsvSource,
    ".csv.gz": CsvSource,
    ".tsv": CsvSource,
    ".xlsx": ExcelSource,
    ".xlsm": ExcelSource,
}
_LISTED = "Parquet files end in .parquet, CSV files in .csv, .csv.gz or .tsv, Excel files in .xlsx."
_ONE_ROW = "one row must be one person."
F = TypeVar("F", Path, StoredFile)


def open_files(paths: Sequence[str | Path], domain: Domain) -> Source:
    """Open the rows of files and folders, all of one kind."""
    if any(map(is_stored, paths)):
        return _open_stored([str(path) for path in paths], domain)
    files = [file for path in paths for file in data_files(path)]
    kinds = {_kind(file) for file in files}
    if len(kinds) > 1:
        raise DataError("Files of several kinds stand side by side; they may hold the same rows. Name one kind only.")
    reader = kinds.pop()
    _refuse_copies(files, lambda file: _has_rows(reader([file], domain)))
    return reader(files, domain)


def _open_stored(addresses: Sequence[str], domain: Domain) -> Source:
    """Open the rows of files in object storage."""
    if not all(map(is_stored, addresses)):
        raise DataError("Some of these files are in object storage, others are not. Name files of one place only.")
    files = [file for address in addresses for file in stored_files(address)]
    _refuse_copies(files, lambda file: _has_rows(ParquetSource([file], domain)))
    return ParquetSource(files, domain)


def data_files(path: str | Path) -> list[Path]:
    """Return the files that a path names: itself, or those in a folder and below, sorted by name."""
    path = Path(path)
    if path.is_dir():
        below = sorted(file for file in path.rglob("*") if not file.name.startswith("."))
        files = [file for file in below if _ending(file) and not file.is_dir()]
        if not files:
            raise DataError(f"The folder {path.name} holds no .parquet, .csv, .csv.gz, .tsv or .xlsx file.")
    else:
        files = [path]
    for file in files:
        if not file.exists():
            raise DataError(f"There is no file {file.name}.")
        refuse_special(file)
    return files


def is_data_file(path: Path) -> bool:
    """Whether a file of this name would be read as data."""
    return _ending(path) is not None


def column_kinds(path: str | Path, written: FileFormat | None = None) -> list[tuple[str, str]]:
    """Return names and kinds of the columns, from the metadata of a Parquet file or the first line of another.

    A CSV or Excel file does not declare the types of its columns; their kind is ``"any"``.
    """
    file, written = data_files(path)[0], written or FileFormat()
    reader = _kind(file)
    if reader is ParquetSource:
        return [(field.name, kind(field.type)) for field in open_parquet(file).schema_arrow]
    names = header(file, written).names if reader is CsvSource else excel_header(file, written)
    return [(name.strip(), "any") for name in names if name.strip()]


def by_first_line(path: str | Path, written: FileFormat) -> FileFormat:
    """Return the format with the separator of a file's first line, where it is not a comma."""
    file = data_files(path)[0]
    found = header(file, written).delimiter if _kind(file) is CsvSource else ","
    return written if found == "," else replace(written, sep=found)


def _ending(file: Path) -> str | None:
    return next((ending for ending in _KINDS if file.name.lower().endswith(ending)), None)


def _kind(file: Path) -> Callable[[Sequence[Path], Domain], Source]:
    ending = _ending(file)
    if ending is None:
        raise DataError(f"Cannot tell what kind of file {file.name} is. {_LISTED}")
    return _KINDS[ending]


def _refuse_copies(files: Sequence[F], has_rows: Callable[[F], bool]) -> None:
    """Refuse a file that is named twice, also by a link, and files with the same bytes after decompression."""
    for first, second, *_ in _alike([files], _identity):
        also = "" if first.name == second.name else f", as {second.name} too"
        raise DataError(f"{first.name} is named twice{also}, so its rows would count twice: {_ONE_ROW}")
    groups: list[Sequence[F]] = [files]
    tests: list[Callable[[Path | StoredFile], Hashable]] = [_size, _beginning, _bytes]
    for same in tests[any(map(_is_packed, files)) :]:  # sizes of compressed files say nothing of content
        groups = _alike(groups, same)
    for first, second, *_ in groups:
        if has_rows(first):
            raise DataError(
                f"{first.name} and {second.name} are copies of each other, so their rows would count twice: "
                f"{_ONE_ROW} Leave one of them out."
            )


def _alike(groups: Sequence[Sequence[F]], same: Callable[[F], Hashable]) -> list[Sequence[F]]:
    """Split groups of files by a function, and return those of two or more files."""
    found: list[Sequence[F]] = []
    for group in groups:
        parts: dict[Hashable, list[F]] = {}
        for file in group:
            parts.setdefault(same(file), []).append(file)
        found += [part for part in parts.values() if len(part) > 1]
    return found


def _identity(file: Path | StoredFile) -> Hashable:
    if isinstance(file, StoredFile):
        return file.path
    facts = file.stat()
    return (facts.st_dev, facts.st_ino) if facts.st_ino else file.resolve()  # some file systems number no files


def _size(file: Path | StoredFile) -> int:
    return file.size if isinstance(file, StoredFile) else file.stat().st_size


def _is_packed(file: Path | StoredFile) -> bool:
    return file.name.lower().endswith(".gz")


def _content(file: Path | StoredFile) -> contextlib.AbstractContextManager[IO[bytes]]:
    return contextlib.closing(file.open()) if isinstance(file, StoredFile) else unpacked(file)


def _beginning(file: Path | StoredFile) -> bytes:
    with _content(file) as content:
        return hashlib.sha256(content.read(1 << 16)).digest()


def _bytes(file: Path | StoredFile) -> bytes:
    found = hashlib.sha256()
    with _content(file) as content:
        while piece := content.read(1 << 20):
            found.update(piece)
    return found.digest()


def _has_rows(source: Source) -> bool:
    return any(source.size(batch) for batch in itertools.chain.from_iterable(source.parts(1024)))
