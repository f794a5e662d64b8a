"""The declared columns of a table: their kinds, the short forms that people write, and bounds of plain arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.field_kinds import TEXT, many, whole
from discreet.core.fields import Fields, defined, ref
from discreet.domain.kinds.base import COLUMN, HOW, PRODUCT, Column
from discreet.domain.kinds.categorical import LEVEL, Categorical
from discreet.domain.kinds.deviation import DEVIATION
from discreet.domain.kinds.numeric import LARGEST, Numeric
from discreet.domain.kinds.searched import Searched
from discreet.errors import DomainError

COLUMN_KINDS: tuple[type[Column], ...] = (Numeric, Searched, Categorical)
"""The kinds of columns; the last are the first to parse a short form."""

FORMS = {form.word: form for kind in COLUMN_KINDS for form in kind.forms}
"""The questions about a column of each kind, by the word that people choose."""

_KNOWN = (PRODUCT, DEVIATION, *(kind.FIELDS for kind in reversed(COLUMN_KINDS)))
defined("column", replace(COLUMN, schema={"anyOf": [ref(fields.name) for fields in _KNOWN]}))
Fields(
    "column_factor",
    "A column to a power, with its declared facts.",
    column=TEXT("A declared column."),
    power=whole(1),
    **Numeric.FIELDS.rows,
    levels=many(LEVEL)(absent=()),
)


def parse_column(name: str, spec: Any) -> Column:
    """Read one column's public facts from the short forms that people write."""
    if isinstance(spec, Column):
        return spec
    if isinstance(spec, Mapping) and (unknown := set(spec).difference(*(kind.keys for kind in COLUMN_KINDS))):
        raise DomainError(f"Column {name!r}: unknown entry {sorted(unknown)[0]!r}. {HOW}")
    for kind in reversed(COLUMN_KINDS):
        if (found := kind.parse(name, spec)) is not None:
            return found
    told = "no usable bounds."
    if isinstance(spec, str):
        told = f'{checks.shown(spec)} is neither bounds nor levels. A schema has {{ type = "bool" }} for a yes or no.'
    raise DomainError(f"Column {name!r}: {told} {HOW}")


def unbounded(spec: Any) -> Any:
    """Fill in infinite bounds where none are written, which is allowed inside a ball."""
    if not isinstance(spec, Mapping) or not set(spec) <= {"low", "high", "unit"}:
        return spec
    return {"low": -math.inf, "high": math.inf, **spec}


def array_columns(
    features: list[str], targets: list[str], bounds_X: Any, bounds_y: Any, *, ball: bool
) -> dict[str, Column]:
    """Return the columns of plain arrays X and y; those of X need no bounds of their own inside a ball."""
    if bounds_X is None and ball:
        bounds_X = (-math.inf, math.inf)
    if (twice := checks.repeated(features + targets)) is not None:
        raise DomainError(f"Column {twice!r} is named twice among those of X and y.")
    return _bounded("bounds_X", bounds_X, features) | _bounded("bounds_y", bounds_y, targets)


def _bounded(argument: str, bounds: Any, names: Sequence[str]) -> dict[str, Column]:
    """Return numeric columns of a pair of bounds, each a number for all of them or one number a column."""
    if not names:
        return {}
    how = f"{argument}=(low, high), each a number or one number a column, known without looking at the data"
    if bounds is None:
        instead = " (or data_norm=, a bound on the norm of a row)" if argument == "bounds_X" else ""
        raise DomainError(f"No bounds: give {how}{instead}.")
    try:
        low, high = bounds
        lows = np.broadcast_to(np.asarray(low, dtype=float), (len(names),))
        highs = np.broadcast_to(np.asarray(high, dtype=float), (len(names),))
    except (TypeError, ValueError, OverflowError):
        raise DomainError(f"{argument} has the wrong shape or is not numeric: give {how}.") from None
    return {name: Numeric(a, b) for name, a, b in zip(names, lows.tolist(), highs.tolist(), strict=True)}


def norm_columns_of(
    columns: dict[str, Column], data_norm: Any, names: Sequence[str] | None, declared: Sequence[str]
) -> tuple[str, ...]:
    """Return the columns that a bound on the norm covers: those named among the declared ones, or all numbers."""
    if data_norm is None:
        if names is not None:
            raise DomainError("norm_columns needs data_norm, the bound on their Euclidean norm.")
        return ()
    if not checks.is_real(data_norm) or not 1 / LARGEST <= data_norm <= LARGEST:
        raise DomainError(f"data_norm must be a finite number above 0, got {checks.shown(data_norm)}.")
    if names is None:
        names = [name for name, column in columns.items() if column.bounds and not column.factors]
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise DomainError("norm_columns must be a list of column names.")
    if not names and len(columns) == len(declared):
        raise DomainError("data_norm bounds the norm of no column: name norm_columns, or leave data_norm out.")
    unknown = [name for name in names if name not in declared or (name in columns and columns[name].factors)]
    if unknown:
        hint = checks.meant(str(unknown[0]), declared)
        raise DomainError(f"norm_columns names {unknown[0]!r}, which is not a declared column of the data.{hint}")
    return tuple(dict.fromkeys(names))
