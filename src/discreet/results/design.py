"""Design matrices of tables, for predictions, in the user's units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.domain import Domain
from discreet.domain.encoding import Encoder, clipped
from discreet.domain.kinds.base import Column
from discreet.domain.value_types import NUMBERS
from discreet.domain.values import predicting, read_column
from discreet.errors import DataError, ParameterError


def design_matrix(X: Any, domain: Domain, names: Sequence[str], *, clip: bool = True) -> Floats:
    """One column for each regressor, in the user's units.

    `X`: the features by name; or a matrix, or a table, that has one column for each of `names` already.
    `clip`: whether columns are clipped to their declared bounds, as those of a fit are.

    Examples
    --------
    >>> design_matrix({"sex": ["M", "F"], "age": [30, 40]}, Domain({"age": (18, 90), "sex": ["F", "M"]}), ["sex[M]"])
    array([[1.],
           [0.]])
    """
    if domain.deviates:
        raise ParameterError(
            "Persons are absorbed in this model, and their own levels are not released, so it predicts no outcome. Its "
            "coefficients tell how much outcomes of one person change with the columns."
        )
    table, clip = as_table(X), checks.flag("clip", clip)
    ready = all(name not in domain.columns or domain.columns[name].entries is NUMBERS for name in names)
    if table is not None and names and ready and list(names) == table.column_names:
        X, table = np.column_stack([table.column(name).to_numpy() for name in names]), None
    with predicting():
        matrix = _matrix(X, names) if table is None else _encoded(table, domain, names, clip=clip)
    if not np.isfinite(matrix).all():
        raise DataError("X holds missing (NaN) or infinite values. Fill them, or leave out those rows.")
    return clipped(matrix, domain, names) if clip else matrix


def as_table(X: Any) -> pa.Table | None:
    """X as an Arrow table if its columns have names."""
    try:
        if isinstance(X, Mapping):
            return pa.table(dict(X))
        return pa.table(X) if hasattr(X, "__arrow_c_stream__") else None
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise DataError("X cannot be read: a column holds entries of several kinds, or is of another length.") from None


def _encoded(table: pa.Table, domain: Domain, names: Sequence[str], *, clip: bool) -> Floats:
    places = domain.indices(names)
    used = domain.select(dict.fromkeys(domain.entries[i].column for i in places)) if places else None
    if used is None:
        return np.empty((table.num_rows, 0))
    for name in used.inputs:
        if table.column_names.count(name) != 1:
            raise DataError(f"X must have a column {name!r}, once. The model uses: {', '.join(used.inputs)}.")
    values = read_columns(table, used.inputs)
    encoder = Encoder(used, clip=clip)
    A = encoder.empty(table.num_rows)
    for name in used.columns:
        encoder.write(name, values, A)
    here = used.indices(names)
    return A[:, here] / encoder.unit[here] + encoder.centre[here]


def read_columns(table: pa.Table, columns: Mapping[str, Column]) -> dict[str, NDArray[Any]]:
    """Numbers, and codes of levels, of some columns of a table."""
    values = {}
    for name, column in columns.items():
        column.entries.check(name, table.schema.field(name).type)
        values[name] = read_column(table.column(name).combine_chunks(), name, column)
    return values


def _matrix(X: Any, names: Sequence[str]) -> Floats:
    try:
        matrix = np.asarray(X, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise DataError("X cannot be read as a matrix of numbers.") from None
    if matrix.ndim != 2 or matrix.shape[1] != len(names):
        raise DataError(f"X must be a matrix with {len(names)} columns: {', '.join(names)}.")
    return matrix
