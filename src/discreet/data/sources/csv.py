"""CSV files, streamed; what a column holds is taken from the domain, never guessed from values."""

from __future__ import annotations

import csv
import gzip
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.csv

from discreet.data.sources.arrow import BatchSource
from discreet.data.sources.base import check_names
from discreet.domain import Domain
from discreet.domain.arrow_columns import level_type
from discreet.domain.columns import Categorical, Column, Numeric
from discreet.errors import DataError, FileFormatError


class Header(NamedTuple):
    """The first line of a CSV file."""

    names: list[str]
    delimiter: str


class CsvSource(BatchSource):
    """Rows of CSV files; every file must have the declared columns in its first line."""

    def __init__(self, files: Sequence[Path], domain: Domain) -> None:
        self.domain = domain
        self._headers = {file: header(file) for file in files}
        for found in self._headers.values():
            check_names(found.names, domain)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The declared columns of all files, one file after the other."""
        for file, found in self._headers.items():
            try:
                yield from self._open(file, found.delimiter)
            except (pa.ArrowException, OSError) as error:
                place = re.search(r"CSV column #(\d+)", str(error))
                raise self._refusal(file, found.names[int(place[1])] if place else None) from None

    def _open(self, file: Path, delimiter: str) -> pa.RecordBatchReader:
        columns = self.domain.inputs
        levels = {level for column in columns.values() if isinstance(column, Categorical) for level in column.levels}
        convert = pa.csv.ConvertOptions(
            column_types={name: _type(column) for name, column in columns.items()},
            include_columns=list(columns),
            null_values=[text for text in pa.csv.ConvertOptions().null_values if text not in levels],
            strings_can_be_null=True,
        )
        parse = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        return pa.csv.open_csv(file, parse_options=parse, convert_options=convert)

    def _refusal(self, file: Path, name: str | None) -> Exception:
        column = self.domain.inputs.get(name or "")
        if column is None:
            return FileFormatError(f"{file.name} is damaged, or not all of its lines have the same columns.")
        if isinstance(column, Numeric):
            wanted = "dates such as 1990-12-31" if column.date else "numbers such as -1.5"
        else:
            wanted = {bool: "true or false", int: "whole numbers"}.get(type(column.levels[0]), "text in UTF-8")
        return DataError(f"Column {name!r} must hold {wanted}; some of its entries are of another kind.")


def header(file: Path) -> Header:
    """The names in the first line of a CSV file, separated by commas, semicolons or tabs; no other line is read."""
    try:
        with gzip.open(file) if file.name.lower().endswith(".gz") else file.open("rb") as content:
            first = content.readline().decode("utf-8-sig")
            delimiter = max(",;\t", key=first.count)
            lines = itertools.chain([first], (line.decode() for line in content))
            names = next(csv.reader(lines, delimiter=delimiter, strict=True), [])
    except (csv.Error, UnicodeError, EOFError, OSError):
        raise FileFormatError(f"{file.name} is not a complete CSV file.") from None
    if not any(names):
        raise FileFormatError(f"{file.name} has no first line with the names of its columns.")
    return Header(names, delimiter)


def _type(column: Column) -> pa.DataType:
    if isinstance(column, Numeric):
        return pa.timestamp("us") if column.date else pa.float64()
    return level_type(column)
