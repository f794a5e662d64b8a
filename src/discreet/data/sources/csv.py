"""CSV files, streamed; the type of a column is taken from the domain, never guessed from values.

A row is one line, and every line is read by itself. So no value may span lines: line ends inside quotes, unclosed
quotes and quotes inside bare text are refused, in unused columns too. The bytes that were checked are the bytes that
are parsed.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

from discreet.data.sources.arrow import ArrowSource
from discreet.data.sources.base import check_names, spans
from discreet.data.sources.stored import Stamps
from discreet.data.sources.text import known_names, null_values
from discreet.domain import Domain, FileFormat
from discreet.errors import DataError, FileFormatError

_READ = 1 << 22
_LONGEST = 1 << 24
"""The longest line in bytes, without its end; at least the bytes read at once."""


class Header(NamedTuple):
    """The first line of a CSV file."""

    names: list[str]
    delimiter: str


class CsvSource(ArrowSource):
    """Rows of CSV files; every file must have the declared columns in its first line."""

    def __init__(self, files: Sequence[Path], domain: Domain) -> None:
        self.domain, self._stamps = domain, Stamps(files)
        self._headers = {file: header(file, domain.file) for file in files}
        self._names = {file: known_names(found.names, domain) for file, found in self._headers.items()}
        for names in self._names.values():
            check_names(names, domain)
            self.names = names

    def parts(self, rows: int) -> Iterator[Iterable[pa.RecordBatch]]:
        """Return the declared columns of some whole lines at a time, one file after the other."""
        for file, found in self._headers.items():
            for text in _texts(file, found, self.domain.file):
                yield self._batches(text, file, found, rows)

    def check_unchanged(self) -> None:
        """Refuse files that were written while they were read."""
        self._stamps.check()

    def _batches(self, text: bytes, file: Path, found: Header, rows: int) -> Iterator[pa.RecordBatch]:
        if not is_strict(text, found.delimiter):
            raise _not_strict(file)
        for batch in self._parsed(text, file, found).to_batches():
            yield from (batch.slice(start, stop - start) for start, stop in spans(batch.num_rows, rows))

    def _parsed(self, text: bytes, file: Path, found: Header) -> pa.Table:
        try:
            return self._columns(text, file, found, list(self.domain.reads))
        except pa.ArrowException:  # it names one column, but all are to be reported
            self.each(lambda name: self._column(text, file, found, name))
            raise _damaged(file) from None

    def _column(self, text: bytes, file: Path, found: Header, name: str) -> pa.Array:
        try:
            return self._columns(text, file, found, [name])[name].combine_chunks()
        except pa.ArrowException as error:  # its message quotes values
            if str(error).startswith("CSV parse error"):
                raise _damaged(file) from None
            wanted = self.domain.reads[name].entries.wanted(self.domain.file)
            raise DataError(f"Column {name!r} must hold {wanted}.") from None

    def _columns(self, text: bytes, file: Path, found: Header, names: Sequence[str]) -> pa.Table:
        types, written = {name: self.domain.reads[name].entries for name in names}, self.domain.file
        parsed = {name for name, own in types.items() if own.is_parsed(written)}
        convert = pa.csv.ConvertOptions(
            column_types={name: pa.string() if name in parsed else own.arrow for name, own in types.items()},
            include_columns=list(types),
            null_values=null_values(self.domain),
            strings_can_be_null=True,
            decimal_point=written.decimal,
        )
        read = pa.csv.ReadOptions(column_names=self._names[file], block_size=len(text) + 1)
        parse = pa.csv.ParseOptions(delimiter=found.delimiter)
        table = pa.csv.read_csv(pa.BufferReader(text), read, parse, convert)
        for i, (name, own) in enumerate(types.items()):
            if name in parsed:
                table = table.set_column(i, name, own.from_text(table[name].combine_chunks(), written))
        return table


def header(file: Path, written: FileFormat) -> Header:
    """Return the names in the first line of a CSV file; no other line is read."""
    with unpacked(file) as content:
        return _header(content, file, written.sep)


def is_strict(text: bytes, delimiter: str) -> bool:
    r"""Whether each line can be read by itself: a value is bare without quotes, or quoted as a whole.

    Quotes inside quotes are doubled, so a quoted value is a sequence of pairs of quotes, each beginning where the one
    before it ends. No line ends inside a pair, and a carriage return belongs to the end of a line.

    Parameters
    ----------
    text : bytes
        Lines, with a line end before the first and after the last.
    delimiter : str
        The separator of values.

    Examples
    --------
    >>> is_strict(b'\n1,"so, ""so"" and so"\n2,""\n', ",")
    True
    >>> is_strict(b'\n1,"so\n2,so"\n', ","), is_strict(b'\n1,5" wide\n', ","), is_strict(b'\n1,"so" so\n', ",")
    (False, False, False)
    """
    if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):
        return False
    if b'"' not in text:
        return True
    values = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(values == ord('"'))
    inside = np.searchsorted(quotes, np.flatnonzero(values == ord("\n"))) % 2
    begin, end = np.zeros((2, 256), bool)
    begin[[ord(delimiter), ord("\n"), ord('"')]] = True
    end[[ord(delimiter), ord("\n"), ord('"'), ord("\r")]] = True
    return not inside.any() and bool(begin[values[quotes[::2] - 1]].all() and end[values[quotes[1::2] + 1]].all())


def _texts(file: Path, found: Header, written: FileFormat) -> Iterator[bytes]:
    """Yield some whole lines at a time, with a line end before the first (a blank line is no row) and after the last.

    The line end before them keeps Arrow from taking a line for the beginning of a file, where it would drop a byte
    order mark.
    """
    with unpacked(file) as content:
        if _header(content, file, written.sep) != found:
            raise FileFormatError(f"{file.name} has changed since it was opened.")
        held = b"\n"
        while piece := content.read(_READ):
            cut = piece.rfind(b"\n") + 1
            text, held = (held + piece[:cut], b"\n" + piece[cut:]) if cut else (b"", held + piece)
            if max(text.find(b"\n", 1), len(held)) > _LONGEST + 1:
                raise _too_long(file)
            if text:
                yield text
        if len(held) > 1:
            yield held + b"\n"


@contextlib.contextmanager
def unpacked(file: Path) -> Iterator[IO[bytes]]:
    """Open the bytes of a file, decompressed if its name says that it is compressed."""
    packing = "gzip" if file.name.lower().endswith(".gz") else None
    try:
        with io.BufferedReader(pa.input_stream(file, compression=packing)) as content:
            yield content
    except (OSError, pa.ArrowException):
        raise FileFormatError(f"{file.name} is not a complete CSV file.") from None


def _header(content: IO[bytes], file: Path, sep: str | None) -> Header:
    """Return the names and their separator: the given one, or the most frequent of commas, semicolons and tabs."""
    first = content.readline(_LONGEST + 2).removeprefix(b"\xef\xbb\xbf")
    line = first.removesuffix(b"\n")
    if len(line) > _LONGEST:
        raise _too_long(file)
    try:
        text = line.decode().removesuffix("\r")
        delimiter = sep or max(",;\t", key=re.sub('"[^"]*"', "", text).count)
        if not is_strict(b"\n" + line + b"\n", delimiter):
            raise _not_strict(file)
        names = next(csv.reader([text], delimiter=delimiter, strict=True), [])
    except (csv.Error, UnicodeError):
        raise FileFormatError(f"{file.name} is not a complete CSV file.") from None
    if not any(names):
        raise FileFormatError(f"{file.name} has no first line with the names of its columns.")
    return Header(names, delimiter)


def _not_strict(file: Path) -> FileFormatError:
    return FileFormatError(
        f"{file.name} has a line that cannot be read by itself, and one line must be one row: a quote is left open, "
        "stands inside a value that is not quoted, or holds a line break. Remedy: write the table as Parquet, or "
        "export it again, without line breaks in text and with quotes inside text doubled."
    )


def _too_long(file: Path) -> FileFormatError:
    return FileFormatError(
        f"{file.name} has a line of more than {_LONGEST >> 20} MiB. Remedy: write the table as Parquet, or without the "
        "column that holds so much text."
    )


def _damaged(file: Path) -> FileFormatError:
    return FileFormatError(f"{file.name} is damaged, or not all of its lines have the same columns.")
