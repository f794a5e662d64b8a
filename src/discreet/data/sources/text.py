"""Missing values and column names in text files."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.csv

from discreet.domain import Domain


def null_values(domain: Domain) -> list[str]:
    """Return the words for a missing value: the usual ones, unless they are levels, and those declared for the file."""
    levels = {level for column in domain.reads.values() for level in column.levels}
    return [word for word in pa.csv.ConvertOptions().null_values if word not in levels] + list(domain.file.na)


def known_names(names: Sequence[str], domain: Domain) -> list[str]:
    """Return the names in a first line, without surrounding blanks unless they are declared with them."""
    return [name if name in domain.reads else name.strip() for name in names]
