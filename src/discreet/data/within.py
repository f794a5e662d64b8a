"""Columns less the mean over a person's rows; the same bits in whatever order and wherever the rows are read.

Values become whole steps of 2^-20 of the width of their bounds first, so that sums over the rows of a person are exact,
and weights are whole numbers, too. A deviation then depends on the rows of its own person alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.core.arrays import Bools, Floats, Ints
from discreet.domain import Domain
from discreet.domain.derived import cell, number
from discreet.domain.encoding import ONE, refuse_non_finite
from discreet.domain.kinds.base import Column

SHARE = "k"
"""The column of what a row counts in the mean of its person: its weight, or 1; 0 if it is dropped."""


def places(domain: Domain) -> dict[str, str]:
    """Return the name of each column's steps in tables of persons; the sums of a person's rows begin with s, not v."""
    return {name: f"v{i}" for i, name in enumerate(domain.columns)}


def steps(values: Mapping[str, NDArray[Any]], kept: Bools, weights: Ints | None, domain: Domain) -> dict[str, Ints]:
    """Return the steps of each column of some rows, and what each row counts.

    Parameters
    ----------
    values : mapping of arrays
        Numbers and codes of levels of the declared columns.
    kept : array of bool
        Which rows lack no value.
    weights : array of int, optional
        What each row counts.
    domain : Domain
        The deviations.
    """
    own = {name: np.where(kept, x, np.zeros(1, x.dtype)) for name, x in values.items()}
    for name, x in own.items():
        if x.dtype.kind == "f":
            refuse_non_finite(name, x)
    found: dict[str, Ints] = {SHARE: np.where(kept, 1 if weights is None else weights, 0).astype(np.int64)}
    for name, place in places(domain).items():
        column = domain.columns[name]
        found[place] = column.steps(*_values(column.of, column.spec, own), ONE)  # type: ignore[attr-defined]
    return found


def _values(name: str, column: Column, values: Mapping[str, NDArray[Any]]) -> tuple[Any, NDArray[Any] | None]:
    """Return the numbers and the places of the levels of a column, declared or derived."""
    if not column.factors:
        return (values[name], None) if column.bounds else (1.0, values[name])
    numbers = 1.0 if column.is_indicator else number(column, values, refuse_non_finite, clip=True)
    return numbers, None if column.bounds else cell(column, values)


def with_sums(table: pa.Table, lengths: Ints) -> pa.Table:
    """Add the sums over the rows of each person, which follow one another, so many of each."""
    starts, share = np.cumsum(lengths) - lengths, table[SHARE].to_numpy()
    for name in [name for name in table.column_names if name[0] == "v"]:
        totals = np.add.reduceat(share * table[name].to_numpy(), starts) if len(starts) else np.zeros(0, np.int64)
        table = table.append_column(f"s{name[1:]}", pa.array(np.repeat(totals, lengths)))
    total = np.add.reduceat(share, starts) if len(starts) else np.zeros(0, np.int64)
    return table.append_column("s", pa.array(np.repeat(total, lengths)))


def sums_in_sql(domain: Domain) -> list[str]:
    """Return what `with_sums` adds as columns of a query over rows with a `key`."""
    over = "OVER (PARTITION BY key) AS BIGINT)"
    sums = [f"CAST(sum({SHARE} * {name}) {over} AS s{name[1:]}" for name in places(domain).values()]
    return [*sums, f"CAST(sum({SHARE}) {over} AS s"]


def deviations(batch: pa.RecordBatch, domain: Domain, at: Mapping[str, str]) -> dict[str, Floats]:
    """Return each column less the mean of its person, in the user's units."""
    total = batch.column("s").to_numpy()
    found = {}
    for name, column in domain.columns.items():
        v, s = batch.column(at[name]).to_numpy(), batch.column(f"s{at[name][1:]}").to_numpy()
        found[name] = np.where(total > 0, v * total - s, 0) / np.maximum(total, 1) * (column.width / ONE)  # type: ignore[attr-defined]
    return found
