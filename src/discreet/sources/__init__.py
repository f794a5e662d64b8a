"""Where rows come from: arrays, frames, Arrow tables and streams, Parquet files; one way to read them all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.domain import Domain
from discreet.errors import DataError
from discreet.sources.arrays import ArraySource, as_array
from discreet.sources.arrow import StreamSource, TableSource, open_stream
from discreet.sources.base import Source
from discreet.sources.frames import FrameSource, is_frame, is_series
from discreet.sources.parquet import ParquetSource


def open_source(source: Any, domain: Domain) -> Source:
    """Choose the reader for a source and check its columns against the domain, before anything is scanned."""
    if isinstance(source, (str, Path)):
        return ParquetSource([source], domain)
    if isinstance(source, list) and source and all(isinstance(item, (str, Path)) for item in source):
        return ParquetSource(source, domain)
    if isinstance(source, tuple) and len(source) == 2:
        return _open_pair(source[0], source[1], domain)
    if isinstance(source, np.ndarray):
        return ArraySource(source, None, domain)
    if isinstance(source, pa.Table):
        return TableSource(source, domain)
    if is_frame(source):
        return FrameSource({str(name): source[name] for name in source.columns}, list(source.columns), domain)
    if hasattr(source, "__arrow_c_stream__"):
        return StreamSource(open_stream(source), domain)
    raise DataError(
        f"Cannot read rows from {type(source).__name__}. Give a Parquet path, a list of paths, a pandas frame, "
        "an Arrow table or stream, an array, or a pair (X, y)."
    )


def _open_pair(X: Any, y: Any, domain: Domain) -> Source:
    if not is_frame(X):
        return ArraySource(X, y, domain)
    if is_frame(y):
        outcomes, names = {str(name): y[name] for name in y.columns}, list(y.columns)
    else:
        named = is_series(y) and y.name is not None
        names = [str(y.name) if named else list(domain.columns)[-1]]
        outcomes = {names[0]: y if is_series(y) else np.ravel(as_array("y", y))}
    return FrameSource({str(name): X[name] for name in X.columns} | outcomes, [*X.columns, *names], domain)


__all__ = ["Source", "open_source"]
