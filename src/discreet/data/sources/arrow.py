"""Arrow tables and streams."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.arrays import Bools, Floats
from discreet.core.problems import Problems
from discreet.data.sources.base import Source, broken, check_lengths, check_names, hiding, named_outcomes, spans
from discreet.data.sources.weights import on_grid
from discreet.domain import Domain
from discreet.domain.encoding import Encoder
from discreet.domain.values import as_arrow, plain, read_column
from discreet.errors import DataError


def check_schema(schema: pa.Schema, domain: Domain) -> None:
    """Refuse a table in which declared columns are absent, repeated or of another type; report all problems."""
    problems = Problems()
    with problems.met():
        check_names(schema.names, domain)
    for name, column in domain.reads.items():
        if schema.names.count(name) == 1:
            with problems.met():
                column.entries.check(name, schema.field(name).type)
    problems.tell()


class ArrowSource(Source):
    """Record batches that hold the declared columns."""

    columnar = True

    def __init__(self, schema: pa.Schema, domain: Domain) -> None:
        self.domain, self.names = domain, schema.names
        check_schema(schema, domain)

    def size(self, batch: pa.RecordBatch) -> int:
        """Return the number of rows of a batch."""
        return int(batch.num_rows)

    def kept(self, batch: pa.RecordBatch) -> Bools | None:
        """Return which rows of a batch have no missing value, if others are dropped."""
        if self.domain.missing != "drop":
            return None
        return np.asarray(_without_missing(batch, self.domain)[1].to_numpy(zero_copy_only=False))

    def fill(self, batch: pa.RecordBatch, A: Floats, encoder: Encoder) -> int:
        """Write x - c and the one-hot levels of a batch into A."""
        if self.domain.missing == "drop":
            arrays, kept = _without_missing(batch, self.domain)
            batch = pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays)).filter(kept)
        rows, values, problems = int(batch.num_rows), {}, Problems()
        for name, column in self.domain.inputs.items():
            with problems.met():
                values[name] = read_column(batch.column(name), name, column)
        problems.tell()
        for name in self.domain.columns:
            encoder.write(name, values, A[:rows])
        return rows

    def weights(self, batch: pa.RecordBatch) -> Floats | None:
        """Return the weight of each row of a batch, if there are weights."""
        name = self.domain.unit.weights
        return None if name is None else on_grid(batch.column(name), self.domain)

    def each(self, read: Callable[[str], pa.Array]) -> dict[str, pa.Array]:
        """Read each declared column by itself; report all problems."""
        problems, arrays = Problems(), {}
        for name in self.domain.reads:
            with problems.met():
                arrays[name] = read(name)
        if problems and self.domain.missing == "error":
            for name, array in arrays.items():
                with problems.met():
                    if name in self.domain.inputs:
                        read_column(array, name, self.domain.inputs[name])
        problems.tell()
        return arrays


class TableSource(ArrowSource):
    """An Arrow table in memory, with outcomes beside it."""

    def __init__(self, table: pa.Table, outcomes: Sequence[tuple[str | None, Any]], domain: Domain) -> None:
        for name, values in named_outcomes(outcomes, domain):
            if name in domain.reads:
                check_lengths([len(values), table.num_rows])
                table = table.append_column(name, as_arrow(values, name, domain.reads[name]))
        super().__init__(table.schema, domain)
        self._table = table.select(list(domain.reads))
        self.total = table.num_rows

    def parts(self, rows: int) -> Iterator[Iterable[pa.RecordBatch]]:
        """Return slices of the table."""
        wide = rows * 16
        return (
            self._table.slice(start, stop - start).to_batches(max_chunksize=rows)
            for start, stop in spans(self._table.num_rows, wide)
        )


class BatchSource(ArrowSource):
    """Record batches that come one after the other."""

    @abstractmethod
    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return the record batches, of any length."""

    def parts(self, rows: int) -> Iterator[Iterable[pa.RecordBatch]]:
        """Return one part for each batch."""
        for batch in self.batches():
            yield [batch.slice(start, stop - start) for start, stop in spans(batch.num_rows, rows)]


class StreamSource(BatchSource):
    """A stream of record batches; the stream of a table is opened again for each reading, others are read once."""

    def __init__(self, source: Any, domain: Domain) -> None:
        self._source, self.once = source, not _is_stored(source)
        self._reader, self._begun = _open_stream(source), False
        super().__init__(self._reader.schema, domain)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return the batches of the stream."""
        if self._begun and not self.once:
            self._reader = _open_stream(self._source)
        self._begun = True
        with hiding((pa.ArrowException, OSError), broken("stream of rows")):
            yield from self._reader

    def table(self) -> pa.Table:
        """Read the declared columns of all rows into memory."""
        with hiding((pa.ArrowException, OSError), broken("stream of rows")):
            return self._reader.read_all().select(list(self.domain.reads))


def _open_stream(source: Any) -> pa.RecordBatchReader:
    """Open any object that offers its rows as an Arrow stream."""
    try:
        return pa.RecordBatchReader.from_stream(source)
    except (pa.ArrowException, TypeError, ValueError, OSError):
        raise DataError(f"Cannot read rows from {type(source).__name__}: its stream holds no columns.") from None


def _is_stored(source: Any) -> bool:
    """Whether a source of an Arrow stream is a table, which has a size and can be read repeatedly."""
    return any(hasattr(source, name) for name in ("__len__", "num_rows", "shape")) and not hasattr(source, "__next__")


def _without_missing(batch: pa.RecordBatch, domain: Domain) -> tuple[dict[str, pa.Array], pa.Array]:
    """Return the declared columns of a batch, and which of its rows have no missing value."""
    arrays = {name: plain(batch.column(name), column) for name, column in domain.inputs.items()}
    kept: Any = None
    for array in arrays.values():
        valid = pc.invert(pc.is_null(array, nan_is_null=pa.types.is_floating(array.type)))
        kept = valid if kept is None else pc.and_(kept, valid)
    return arrays, kept
