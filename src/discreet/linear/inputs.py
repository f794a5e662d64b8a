"""What people pass as X and y: arrays, pandas frames and Arrow tables, with errors that quote no data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.domain import Domain
from discreet.encoding import ONE, Encoder
from discreet.errors import DataError
from discreet.sources import open_source
from discreet.sources.arrays import as_array
from discreet.sources.frames import is_frame, is_series

Floats = NDArray[np.float64]


def is_table(X: Any) -> bool:
    """Whether X has named columns."""
    return is_frame(X) or isinstance(X, pa.Table)


def column_names(X: Any) -> list[str]:
    """The names of the columns of X; x0, x1, ... for an array."""
    if is_frame(X):
        return [str(name) for name in X.columns]
    if isinstance(X, pa.Table):
        return list(X.column_names)
    shape = X.shape if hasattr(X, "shape") else as_array("X", X).shape
    if len(shape) != 2:
        raise DataError(f"X must have two dimensions, rows and columns; it has {len(shape)}.")
    return [f"x{i}" for i in range(shape[1])]


def as_outcome(y: Any) -> Any:
    """The outcome as a series, an Arrow array or an array of one column."""
    if y is None:
        raise DataError("y is missing: this estimator requires y to be passed, the outcome of every row of X.")
    if is_frame(y):
        if len(y.columns) != 1:
            raise DataError("y must have one column.")
        return y.iloc[:, 0]
    if is_series(y) or isinstance(y, (pa.Array, pa.ChunkedArray)):
        return y
    y = as_array("y", y)
    if y.ndim not in (1, 2) or (y.ndim == 2 and y.shape[1] != 1):
        raise DataError("y must have one column.")
    return y


def join(X: Any, y: Any, target: str) -> Any:
    """X with its outcome, as a source of rows."""
    if not isinstance(X, pa.Table):
        return X, y
    try:
        values = y if isinstance(y, (pa.Array, pa.ChunkedArray)) else pa.array(np.ravel(y), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise DataError(
            "y must hold numbers or the levels of one category; its entries are of several kinds."
        ) from None
    if len(values) != X.num_rows:
        raise DataError("X and y have different lengths: they must describe the same people.")
    return X.append_column(target, values)


def design_matrix(X: Any, domain: Domain) -> Floats:
    """Features in the user's units, categories one-hot without the first level."""
    encoder, source = Encoder(domain), open_source(X, domain)
    places = [i for i in domain.design(list(domain.columns)) if i > 0]
    scale = np.array([1.0 if domain.entries[i].level is None else ONE for i in places])
    pieces = [np.empty((0, len(places)))]
    for part in source.parts(8192):
        for batch in part:
            A = encoder.empty(source.size(batch), columnar=source.columnar)
            pieces.append(A[: source.fill(batch, A, encoder), places] / scale + encoder.centre[places])
    matrix = np.concatenate(pieces)
    if not np.isfinite(matrix).all():
        raise DataError("X holds missing (NaN) or infinite values. Fill them before predicting.")
    return matrix
