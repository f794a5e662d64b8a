"""Excel files, a row at a time; openpyxl is imported only when one is given.

The first row has the names of the columns. Each cell is read by itself, as declared for its column: numbers, dates and
truth values as they are, text as in a CSV file. Rows without any value are skipped.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.data.sources.arrow import ArrowSource
from discreet.data.sources.base import check_names, missing_package
from discreet.data.sources.stored import Stamps
from discreet.data.sources.text import known_names, null_values
from discreet.domain import Domain, FileFormat
from discreet.domain.values import FAILURES, as_arrow
from discreet.errors import DataError, DiscreetError, FileFormatError


class ExcelSource(ArrowSource):
    """Rows of one sheet of each of some Excel files."""

    def __init__(self, files: Sequence[Path], domain: Domain) -> None:
        self.domain, self._stamps = domain, Stamps(files)
        self._places: dict[Path, dict[str, int]] = {}
        self._nulls = frozenset(null_values(domain))
        for file in files:
            names = known_names(header(file, domain.file), domain)
            check_names(names, domain)
            self.names = names
            self._places[file] = {name: names.index(name) for name in domain.reads}

    def parts(self, rows: int) -> Iterator[Iterable[pa.RecordBatch]]:
        """Return some rows of a file at a time."""
        for file, places in self._places.items():
            with _rows(file, self.domain.file) as found:
                next(found)
                while some := list(itertools.islice(found, rows)):
                    yield [self._batch([row for row in some if any(cell is not None for cell in row)], places)]

    def check_unchanged(self) -> None:
        """Refuse files that were written while they were read."""
        self._stamps.check()

    def _batch(self, rows: list[tuple[Any, ...]], places: dict[str, int]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict(
            self.each(lambda name: self._column([_cell(row, places[name]) for row in rows], name))
        )

    def _column(self, cells: list[Any], name: str) -> pa.Array:
        column = self.domain.reads[name]
        cells = [None if isinstance(cell, str) and cell in self._nulls else cell for cell in cells]
        written = [i for i, cell in enumerate(cells) if isinstance(cell, str)]
        try:
            texts = pa.array([cells[i] for i in written], pa.string())
            for i, value in zip(written, column.entries.from_text(texts, self.domain.file).to_pylist(), strict=True):
                cells[i] = value
        except FAILURES:
            wanted = column.entries.wanted(self.domain.file)
            raise DataError(f"Column {name!r} must hold {wanted}.") from None
        return as_arrow(cells, name, column)


def header(file: Path, written: FileFormat) -> list[str]:
    """Return the names in the first row of a sheet; no other row is read."""
    with _rows(file, written) as rows:
        names = ["" if cell is None else str(cell) for cell in next(rows, ())]
    if not any(names):
        raise FileFormatError(f"{file.name} has no first row with the names of its columns.")
    return names


@contextlib.contextmanager
def _rows(file: Path, written: FileFormat) -> Iterator[Iterator[tuple[Any, ...]]]:
    """Return the rows of the sheet as values; formulas have the values that were last computed."""
    try:
        import openpyxl
    except ImportError:
        raise missing_package("openpyxl", "excel") from None
    try:
        with contextlib.closing(openpyxl.load_workbook(file, read_only=True, data_only=True)) as book:
            yield _sheet(book, file, written).iter_rows(values_only=True)
    except DiscreetError:
        raise
    except Exception:  # openpyxl and its decompression raise many kinds of errors
        raise FileFormatError(f"{file.name} is not a complete Excel file (.xlsx).") from None


def _sheet(book: Any, file: Path, written: FileFormat) -> Any:
    names = [sheet.title for sheet in book.worksheets]
    if not names:
        raise FileFormatError(f"{file.name} has no sheet with cells.")
    if written.sheet is not None and written.sheet not in names:
        raise FileFormatError(f"{file.name} has no sheet {written.sheet!r}. It has: {', '.join(names)}.")
    return book[written.sheet or names[0]]


def _cell(row: tuple[Any, ...], place: int) -> Any:
    return row[place] if place < len(row) else None
