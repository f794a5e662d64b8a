"""Rows sorted by person, so that each row's weight is known: in memory, or on disk if there are many.

Numbers and codes of levels are read by the source's own reader, row by row. The rows of each person are counted by
Arrow in memory, or by DuckDB, which spills to disk, so that memory does not grow with the table.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from discreet.core.arrays import Bools, Floats
from discreet.core.problems import Problems
from discreet.core.scratch import Scratch
from discreet.data import within
from discreet.data.sources.base import Source, spans
from discreet.data.sources.duckdb import sort_to_file
from discreet.data.sources.weights import ALL, on_grid
from discreet.domain import Domain
from discreet.domain.encoding import Encoder
from discreet.domain.keys import keys
from discreet.domain.values import plain, read_column
from discreet.errors import MISSING, DataError, DiscreetError

IN_MEMORY = 1 << 28
"""Rows of at most so many bytes are sorted in memory."""

_ROWS = 1 << 16


class PersonSource(Source):
    """Rows sorted by person; **confidential**.

    Parameters
    ----------
    held : Arrow table, or path
        The rows; a file is in a folder of its own, which is removed with this object.
    domain : Domain
        The public facts, including the column of persons.
    folder : Scratch, optional
        The folder of the file.
    """

    columnar = True

    def __init__(self, held: pa.Table | Path, domain: Domain, folder: Scratch | None = None) -> None:
        self.domain, self._held, self._folder = domain, held, folder
        inputs = {name: f"c{i}" for i, name in enumerate(domain.inputs)}
        self._places = within.places(domain) if domain.deviates else inputs
        self.total = held.num_rows if isinstance(held, pa.Table) else pq.read_metadata(held).num_rows

    def parts(self, rows: int) -> Iterator[Iterable[pa.RecordBatch]]:
        """Return slices of the table, or row groups of the file, in order."""
        if isinstance(self._held, pa.Table):
            table = self._held
            return (table.slice(i, j - i).to_batches(rows) for i, j in spans(table.num_rows, rows * 16))
        groups = pq.read_metadata(self._held).num_row_groups
        return (self._group(group, rows) for group in range(groups))

    def _group(self, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(self._held) as file:
            yield from file.iter_batches(rows, row_groups=[group], use_threads=False)

    def size(self, batch: pa.RecordBatch) -> int:
        """Return the number of rows of a batch."""
        return int(batch.num_rows)

    def kept(self, batch: pa.RecordBatch) -> Bools | None:
        """Return which rows of a batch have no missing value, if others are dropped."""
        if self.domain.missing != "drop":
            return None
        if self.domain.deviates:
            return np.asarray(batch.column(within.SHARE).to_numpy() > 0, dtype=bool)
        return np.asarray(np.all([_held(x) for x in self._values(batch).values()], axis=0), dtype=bool)

    def fill(self, batch: pa.RecordBatch, A: Floats, encoder: Encoder) -> int:
        """Write x - c and the one-hot levels."""
        values, kept = self._values(batch), self.kept(batch)
        if kept is not None:
            values = {name: x[kept] for name, x in values.items()}
        rows = int(batch.num_rows if kept is None else np.count_nonzero(kept))
        for name in self.domain.columns:
            encoder.write(name, values, A[:rows])
        return rows

    def weights(self, batch: pa.RecordBatch) -> Floats:
        """Return each row's own weight, times m/n if its person has n > m rows, rounded down to the grid."""
        m, n = self.domain.unit.rows_per_person, batch.column("n").to_numpy().astype(np.int64)
        own = batch.column("w").to_numpy().astype(np.int64)
        return np.asarray(np.where(n > m, own * m // np.maximum(n, 1), own), dtype=np.float64)

    def persons(self, batch: pa.RecordBatch) -> pa.Array:
        """Return the person of each row."""
        return batch.column("key")

    def _values(self, batch: pa.RecordBatch) -> dict[str, Any]:
        if self.domain.deviates:
            return within.deviations(batch, self.domain, self._places)
        return {name: batch.column(self._places[name]).to_numpy() for name in self.domain.inputs}

    def __repr__(self) -> str:
        return "PersonSource(confidential)"


def by_person(source: Source) -> PersonSource:
    """Sort the rows of a source by person."""
    domain = source.domain
    with contextlib.closing(source):
        batches, first, size = _batches(source), list[pa.RecordBatch](), 0
        for batch in batches:
            first.append(batch)
            size += batch.nbytes
            if size > IN_MEMORY:
                return _on_disk(itertools.chain(first, batches), first[0].schema, domain)
        return PersonSource(_in_order(pa.Table.from_batches(first or [_plain(None, domain)])), domain)


def _batches(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield all batches of a source, converted by `_plain`."""
    for batch in itertools.chain.from_iterable(source.parts(_ROWS)):
        yield _plain(batch, source.domain)
    source.check_unchanged()


def _plain(batch: pa.RecordBatch | None, domain: Domain) -> pa.RecordBatch:
    """Return the person, weight and values of the declared columns of each row; no rows without a batch."""
    unit, drop, problems = domain.unit, domain.missing == "drop", Problems()
    rows = 0 if batch is None else batch.num_rows
    key, weights, values = pa.nulls(rows, pa.string()), np.full(rows, ALL), {}
    with problems.met():
        if batch is not None:
            key = keys(batch.column(unit.person), str(unit.person))
            if key.null_count and not drop:
                raise DataError(f"Column {unit.person!r} has missing values. Remedy: {MISSING}.")
    with problems.met():
        if batch is not None and unit.weights is not None:
            weights = on_grid(batch.column(unit.weights), domain)
    for i, (name, column) in enumerate(domain.inputs.items()):
        empty = column.missing(rows)
        with problems.met():
            values[f"c{i}"] = empty if batch is None else _read(batch.column(name), name, domain, empty)
    problems.tell()
    known = key.is_valid().to_numpy(zero_copy_only=False)
    weights = np.where(known, weights, 0.0).astype(np.int32)
    if domain.deviates:
        own = dict(zip(domain.inputs, values.values(), strict=True))
        kept = np.all([known, *(_held(x) for x in own.values())], axis=0)
        values = within.steps(own, kept, None if unit.weights is None else weights, domain)
    return pa.RecordBatch.from_pydict({"key": key, "w": weights} | values)


def _held(values: np.ndarray[Any, Any]) -> Bools:
    """Return which values are not missing."""
    return np.asarray(~np.isnan(values) if values.dtype.kind == "f" else values >= 0)


def _read(array: pa.Array, name: str, domain: Domain, empty: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Read the numbers or codes of a column; NaN or -1 for missing ones, if they are allowed."""
    column = domain.inputs[name]
    if domain.missing == "error":
        return read_column(array, name, column).astype(empty.dtype)
    array = plain(array, column)
    valid = pc.invert(pc.is_null(array, nan_is_null=pa.types.is_floating(array.type)))
    empty[valid.to_numpy(zero_copy_only=False)] = read_column(array.filter(valid), name, column)
    return empty


def _in_order(table: pa.Table) -> pa.Table:
    """Sort rows by person, and add the number of rows of each person."""
    names = table.column_names
    coded = pc.fill_null(table["key"].combine_chunks().dictionary_encode().indices, -1).to_numpy() + 1
    order, counts = np.argsort(coded, kind="stable"), np.bincount(coded, minlength=1)
    ordered = table.take(pa.array(order)).append_column("n", pa.array(counts[coded[order]]))
    return (within.with_sums(ordered, counts[counts > 0]) if within.SHARE in names else ordered).combine_chunks()


def _check_order(source: PersonSource) -> None:
    """Refuse rows that are not sorted by person, which would be a silent failure of the database.

    Keys must increase from one person to the next, as bytes, so that nobody comes twice; rows without a key come last.
    """
    last, run, most = pa.scalar(None, pa.string()), 0, 0
    for batch in itertools.chain.from_iterable(source.parts(_ROWS)):
        own, n = source.persons(batch), batch.column("n").to_numpy()
        codes = own.dictionary_encode().indices.fill_null(-1).to_numpy()
        starts = np.flatnonzero(np.diff(codes, prepend=codes[0] - 1))
        runs, firsts = np.diff([*starts, len(codes)]), own.take(pa.array(starts))
        if own[0].equals(last) and run:
            runs[0] += run
        elif run != most or (run and not _rises(pa.array([last.as_py(), own[0].as_py()], pa.string()))):
            raise DataError(_UNORDERED)
        if (runs[:-1] != n[starts][:-1]).any() or not _rises(firsts):
            raise DataError(_UNORDERED)
        last, run, most = own[-1], int(runs[-1]), int(n[-1])
    if run != most:
        raise DataError(_UNORDERED)


def _rises(firsts: pa.Array) -> bool:
    """Whether each key is larger than the one before, as bytes; a missing key comes last."""
    here, there = firsts[:-1], firsts[1:]
    more = pc.and_(here.is_valid(), pc.fill_null(pc.greater(there, here), fill_value=True))
    return bool(pc.all(more, min_count=0).as_py())


_UNORDERED = "The rows were not put in the order of persons: DuckDB failed. Nothing was released."


def _on_disk(batches: Iterable[pa.RecordBatch], schema: pa.Schema, domain: Domain) -> PersonSource:
    """Sort rows by person on disk, in a folder that only its owner may read and that is removed with the source."""
    folder, failures = Scratch(), list[DiscreetError]()

    def rows() -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except DiscreetError as failure:  # DuckDB would replace its message
            failures.append(failure)
            raise

    try:
        try:
            more = within.sums_in_sql(domain) if domain.deviates else []
            sort_to_file(pa.RecordBatchReader.from_batches(schema, rows()), folder.path, more)
        except DataError as failure:
            raise (failures or [failure])[0] from None
        source = PersonSource(folder.path / "rows.parquet", domain, folder)
        _check_order(source)
    except BaseException:
        folder.close()
        raise
    return source
