"""Missing values and names of columns in files that write text."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.csv

from discreet.domain import Domain


def null_values(domain: Domain) -> list[str]:
    """What stands for a missing value: the usual words, unless they are levels, and those of the file."""
    levels = {level for column in domain.reads.values() for level in column.levels}
    return [word for word in pa.csv.ConvertOptions().null_values if word not in levels] + list(domain.file.na)


def known_names(names: Sequence[str], domain: Domain) -> list[str]:
    """The names in a first line; blanks around them do not count, unless they are declared so."""
    return [name if name in domain.reads else name.strip() for name in names]
