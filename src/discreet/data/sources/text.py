"""Values that files write as text: numbers and dates by the words of `FileFormat`, each value by itself."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from discreet.domain import Domain, FileFormat
from discreet.domain.columns import Categorical, Identifier, Numeric, Read

_HOW = "file = in a schema or in Domain, options such as --decimal or --date-format on the command line"


def null_values(domain: Domain) -> list[str]:
    """What stands for a missing value: the usual words, unless they are levels, and those of the file."""
    levels = {level for column in domain.reads.values() if isinstance(column, Categorical) for level in column.levels}
    return [word for word in pa.csv.ConvertOptions().null_values if word not in levels] + list(domain.file.na)


def known_names(names: Sequence[str], domain: Domain) -> list[str]:
    """The names in a first line; blanks around them do not count, unless they are declared so."""
    return [name if name in domain.reads else name.strip() for name in names]


def wanted(column: Read, written: FileFormat) -> str:
    """What a column must hold, as text, and what to do if it does not."""
    found = "; some of its entries are of another kind"
    if isinstance(column, Identifier):
        return f"text in UTF-8{found}"
    if isinstance(column, Categorical):
        return {bool: "true or false", int: "whole numbers"}.get(type(column.levels[0]), "text in UTF-8") + found
    what = f"dates such as {written.date}" if column.date else f"numbers such as {written.number}"
    return f"{what}{found}. Remedy: mend them, or tell how the file writes them: {_HOW}"


def is_own(column: Read, written: FileFormat) -> bool:
    """Whether a column is read here rather than by Arrow."""
    if not isinstance(column, Numeric):
        return False
    return written.date_format is not None if column.date else written.thousands is not None


def from_text(array: pa.Array, column: Read, written: FileFormat) -> pa.Array:
    """Numbers, or dates, of text; raises `pa.ArrowInvalid`, whose words are not for people, for other text.

    Examples
    --------
    >>> from_text(pa.array(["1.234,5", "-7", None]), Numeric(0, 9), FileFormat(decimal=",", thousands=".")).to_pylist()
    [1234.5, -7.0, None]
    >>> born = Numeric(0, 9, date=True)
    >>> from_text(pa.array(["31/12/1990"]), born, FileFormat(date_format="%d/%m/%Y"))[0].as_py().isoformat()
    '1990-12-31T00:00:00'
    """
    array = pc.utf8_trim_whitespace(array)
    if not (isinstance(column, Numeric) and column.date):
        return _numbers(array, written)
    return _dates(array, written.date_format) if written.date_format else array.cast(pa.timestamp("us"))


def _numbers(array: pa.Array, written: FileFormat) -> pa.Array:
    """Groups have three digits each, so that a decimal mark is not taken for one of thousands."""
    mark, point = re.escape(written.thousands or ""), re.escape(written.decimal)
    whole = rf"(\d{{1,3}}({mark}\d{{3}})+|\d+)" if mark else r"\d+"
    pattern = rf"^[+-]?({whole}({point}\d*)?|{point}\d+)([eE][+-]?\d+)?$"
    if not pc.all(pc.match_substring_regex(array, pattern), skip_nulls=True).as_py() and array.null_count < len(array):
        raise pa.ArrowInvalid("not a number")
    plain = pc.replace_substring(array, written.thousands, "") if written.thousands else array
    plain = pc.replace_substring(pc.utf8_ltrim(plain, "+"), written.decimal, ".")
    return plain.cast(pa.float64())


def _dates(array: pa.Array, form: str) -> pa.Array:
    """Each different text is read once; Arrow's own reader takes the 31st of February for a day in March."""
    coded = array.dictionary_encode()
    try:
        days = [dt.datetime.strptime(text, form) for text in coded.dictionary.to_pylist()]
    except ValueError:
        raise pa.ArrowInvalid("not a date") from None
    return pa.array(days, pa.timestamp("us")).take(coded.indices)
