"""Formats of text files: notation of numbers, dates and missing values, declared and never guessed from values."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from discreet.core import checks
from discreet.core.field_kinds import TEXT, TEXTS
from discreet.core.fields import Fields, Written
from discreet.core.problems import Problems
from discreet.domain.kinds.base import Column
from discreet.errors import DomainError

_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}
_SPACES = "\u00a0\u202f\u2019"  # that cannot be broken, wide and narrow, and the apostrophe of typesetters
_EXAMPLE = dt.datetime(1990, 12, 31, 13, 45)


@dataclass(frozen=True)
class FileFormat(Written):
    """The format of a CSV or Excel file, where it differs from the usual one.

    Parameters
    ----------
    sep : str, optional
        The separator of values in a CSV file: one character, or ``"tab"``. By default a comma, a semicolon or a tab,
        whichever the first line has most of.
    decimal : str
        The decimal mark of numbers that are text: ``"."`` or ``","``.
    thousands : str, optional
        The separator of groups of three digits, as the point in 1.234.567; none by default.
    na : tuple of str
        More words for a missing value, besides an empty one, NA, N/A, n/a, NaN, null and their like.
    date_format : str, optional
        The notation of dates, such as ``"%d/%m/%Y"``; 1990-12-31 by default.
    sheet : str, optional
        The sheet of an Excel file; the first by default.

    Examples
    --------
    >>> FileFormat(sep=";", decimal=",", thousands=".").number, FileFormat(date_format="%d.%m.%y").date
    ('-1.234,5', '31.12.90')
    """

    sep: str | None = None
    decimal: str = "."
    thousands: str | None = None
    na: tuple[str, ...] = ()
    date_format: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sep", _SEPARATORS.get(str(self.sep).lower(), self.sep))
        words: Any = self.na
        listed = isinstance(words, Iterable) and not isinstance(words, str)
        object.__setattr__(self, "na", tuple(words) if listed else (words,))
        problems = Problems()
        for message in self._wrong():
            problems.add(DomainError(message))
        problems.tell()

    def _wrong(self) -> Iterable[str]:
        for name in ("sheet", "date_format"):
            if not isinstance(getattr(self, name) or "", str):
                yield f"{name} must be text."
        for name, marks in (("sep", ""), ("thousands", _SPACES)):
            value = getattr(self, name)
            if value is not None and not _is_mark(value, marks):
                yield f"{name} must be one character that is no digit, letter or quote, got {checks.shown(value)}."
        if self.decimal not in (".", ","):
            yield f"decimal must be '.' or ',', got {checks.shown(self.decimal)}."
        if self.thousands is not None and self.thousands in (self.decimal, "+", "-"):
            yield f"thousands cannot be {self.thousands!r}, which is the decimal mark or a sign."
        if not all(isinstance(word, str) for word in self.na):
            yield "na must be a list of words that stand for a missing value, such as ['unknown', '-9']."
        if self.date_format is not None and not _is_date_format(self.date_format):
            yield (
                f"date_format must tell the day, the month and the year, such as '%d/%m/%Y', got "
                f"{checks.shown(self.date_format)}."
            )

    @classmethod
    def of(cls, given: Any, columns: Mapping[str, Column]) -> FileFormat:
        """Return the format of a mapping, a format or None, checked against the declared columns."""
        found = given if isinstance(given, cls) else cls._read({} if given is None else given)
        for name, column in columns.items():
            for level in (own if isinstance(own, str) else checks.shown(own) for own in column.levels):
                if level in found.na:
                    raise DomainError(f"Column {name!r}: {level!r} is a level, and na says that it is a missing value.")
        return found

    @classmethod
    def _read(cls, given: Any) -> FileFormat:
        if not isinstance(given, Mapping):
            raise DomainError("file must be a mapping, for example {'sep': ';', 'decimal': ','}.")
        known = [field.name for field in fields(cls)]
        unknown = [str(name) for name in given if name not in known]
        if unknown:
            hint = checks.meant(unknown[0], known)
            raise DomainError(f"file has no {unknown[0]!r}.{hint} Known: {', '.join(known)}.")
        return cls(**given)

    FIELDS = Fields(
        "file_format",
        "The format of the file of rows, where it is not the default.",
        sep=TEXT(absent=None),
        decimal=TEXT(absent="."),
        thousands=TEXT(absent=None),
        na=TEXTS(absent=()),
        date_format=TEXT(absent=None),
        sheet=TEXT(absent=None),
    )

    @property
    def number(self) -> str:
        """Format a number as the file does."""
        return f"-1{self.thousands}234{self.decimal}5" if self.thousands else f"-1{self.decimal}5"

    @property
    def date(self) -> str:
        """Format a date as the file does."""
        return _EXAMPLE.strftime(self.date_format or "%Y-%m-%d")

    def read_numbers(self, array: pa.Array) -> pa.Array:
        """Read float64 numbers of text; raises `pa.ArrowInvalid` for other text.

        Groups have three digits each, so that a decimal mark is not taken for one of thousands.
        """
        mark, point = re.escape(self.thousands or ""), re.escape(self.decimal)
        whole = rf"(\d{{1,3}}({mark}\d{{3}})+|\d+)" if mark else r"\d+"
        pattern = rf"^[+-]?({whole}({point}\d*)?|{point}\d+)([eE][+-]?\d+)?$"
        matches = pc.match_substring_regex(array, pattern)
        if not pc.all(matches, skip_nulls=True).as_py() and array.null_count < len(array):
            raise pa.ArrowInvalid("not a number")
        plain = pc.replace_substring(array, self.thousands, "") if self.thousands else array
        plain = pc.replace_substring(pc.utf8_ltrim(plain, "+"), self.decimal, ".")
        return plain.cast(pa.float64())

    def read_dates(self, array: pa.Array) -> pa.Array:
        """Read timestamps of text in `date_format`; raises `pa.ArrowInvalid` for other text.

        Each different text is read once; Arrow's own reader takes the 31st of February for a day in March.
        """
        coded = array.dictionary_encode()
        try:
            days = [dt.datetime.strptime(text, str(self.date_format)) for text in coded.dictionary.to_pylist()]
        except ValueError:
            raise pa.ArrowInvalid("not a date") from None
        return pa.array(days, pa.timestamp("us")).take(coded.indices)


def _is_mark(value: Any, more: str) -> bool:
    plain = isinstance(value, str) and len(value) == 1 and not value.isalnum()
    return plain and value not in '"\n\r\\' and (value.isascii() or value in more)


def _is_date_format(text: Any) -> bool:
    """Whether a date can be written and read again by a format."""
    try:
        return dt.datetime.strptime(_EXAMPLE.strftime(text), text).date() == _EXAMPLE.date()
    except (TypeError, ValueError):
        return False
