"""Polars frames, and lazy frames that are streamed; polars is imported only when one is given."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pyarrow as pa

from discreet.data.sources.arrow import BatchSource
from discreet.data.sources.base import broken, check_names, comes_from, hiding, missing_package
from discreet.domain import Domain

_ROWS = 1 << 16


def is_polars(value: Any) -> bool:
    """Whether a value is a polars DataFrame."""
    return comes_from(value, "polars") and type(value).__name__ == "DataFrame"


def is_lazy(value: Any) -> bool:
    """Whether a value is a polars LazyFrame."""
    return comes_from(value, "polars") and type(value).__name__ == "LazyFrame"


class LazySource(BatchSource):
    """The rows of a lazy frame; its query runs each time they are read."""

    ordered = False

    def __init__(self, lazy: Any, domain: Domain) -> None:
        polars = _import()
        self._lazy, self._errors = lazy, (polars.exceptions.PolarsError, pa.ArrowException, OSError)
        with hiding(self._errors, broken("lazy frame")):
            schema = lazy.collect_schema()
        check_names(schema.names(), domain)
        super().__init__(pa.table(polars.DataFrame(schema=schema)).schema, domain)
        self.names = schema.names()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return the declared columns, a chunk at a time if this version of polars can."""
        with hiding(self._errors, broken("lazy frame")):
            chosen = self._lazy.select(list(self.domain.reads))
            if hasattr(chosen, "collect_batches"):
                frames = chosen.collect_batches(chunk_size=_ROWS, maintain_order=False)
            else:
                frames = [chosen.collect()]
            for frame in frames:
                yield from pa.table(frame).to_batches()


def _import() -> ModuleType:
    try:
        import polars
    except ImportError:
        raise missing_package("polars") from None
    return polars
