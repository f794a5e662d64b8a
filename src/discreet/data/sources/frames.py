"""Pandas frames and series; pandas itself is never imported here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from discreet.core.problems import Problems
from discreet.data.sources.arrow import ArrowSource
from discreet.data.sources.base import check_lengths, check_names, named_outcomes, spans
from discreet.domain import Domain
from discreet.domain.values import as_arrow, is_categories


def named_columns(frame: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the columns of a pandas frame by name, and the names in order."""
    names = [str(name) for name in frame.columns]
    return {name: frame[label] for name, label in zip(names, frame.columns, strict=True)}, names


class FrameSource(ArrowSource):
    """Named columns, each a pandas Series, an array or a list, converted to Arrow a slice at a time."""

    def __init__(
        self, frame: tuple[dict[str, Any], list[str]], outcomes: Sequence[tuple[str | None, Any]], domain: Domain
    ) -> None:
        self.domain = domain
        (columns, names), beside = frame, named_outcomes(outcomes, domain)
        self.names = [*names, *(name for name, _ in beside)]
        check_names(self.names, domain)
        columns = columns | dict(beside)
        used, problems = {}, Problems()
        for name in domain.reads:
            with problems.met():
                used[name] = self._typed(columns[name], name)
        problems.tell()
        self.total = check_lengths(len(values) for values in used.values())
        self._columns = {name: getattr(values, "iloc", values) for name, values in used.items()}
        first = self.each(lambda name: self._slice(name, 0, min(self.total or 0, 1)))
        for name, column in domain.reads.items():
            with problems.met():
                column.entries.check(name, first[name].type)
        problems.tell()

    def _typed(self, values: Any, name: str) -> Any:
        return as_arrow(values, name, self.domain.reads[name]) if is_categories(values) else values

    def parts(self, rows: int) -> Iterator[Iterable[pa.RecordBatch]]:
        """Return slices of the frame."""
        return (self._batches(start, stop, rows) for start, stop in spans(self.total or 0, rows * 16))

    def _batches(self, start: int, stop: int, rows: int) -> Iterator[pa.RecordBatch]:
        wide = pa.RecordBatch.from_pydict(self.each(lambda name: self._slice(name, start, stop)))
        for i, j in spans(stop - start, rows):
            yield wide.slice(i, j - i)

    def _slice(self, name: str, start: int, stop: int) -> pa.Array:
        array = as_arrow(self._columns[name][start:stop], name, self.domain.reads[name])
        return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
