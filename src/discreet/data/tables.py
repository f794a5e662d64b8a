"""Conversion of user input: rows, X and y are inspected here, once, and become one internal object.

Columns are also matched to declared ones here, by name. Errors quote no data.
"""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from sklearn.exceptions import DataConversionWarning

from discreet.core.arrays import Floats
from discreet.data.engines.base import Engine, EngineSource
from discreet.data.engines.dask import DaskEngine, is_dask
from discreet.data.engines.pushdown import PushdownSource
from discreet.data.engines.spark import SparkEngine, is_spark
from discreet.data.sources.arrays import ArraySource, as_cells, as_matrix
from discreet.data.sources.arrow import StreamSource, TableSource
from discreet.data.sources.base import Source, check_lengths, comes_from, spans
from discreet.data.sources.duckdb import RelationSource, is_relation
from discreet.data.sources.frames import FrameSource, named_columns
from discreet.data.sources.paths import open_files
from discreet.data.sources.polars import LazySource, is_lazy, is_polars
from discreet.data.sources.postgres import Postgres, PostgresSource, is_address
from discreet.data.sources.tensors import here, is_tensor
from discreet.domain import Domain
from discreet.domain.encoding import Encoder, clipped
from discreet.domain.formula import Model, with_exposure
from discreet.domain.formula import formula as read_formula
from discreet.domain.values import predicting
from discreet.errors import DataError, DomainError, ParameterError

_CHECKED = 1 << 18
"""The number of rows that are checked at a time, so that a large matrix needs no other of its size."""


@dataclass(frozen=True, eq=False, repr=False)
class InputTable:
    """Rows as passed by the user, with the reader for their kind; **confidential**.

    Parameters
    ----------
    reader : callable
        Reads this kind of rows: takes `held` and a domain.
    held : tuple
        The rows. Those in memory are a matrix or named columns, and outcomes that came beside them, if any.
    names : list of str
        The columns of X, if they are in memory; x0, x1, ... for a matrix.
    named : bool
        Whether columns have names of their own.
    rows : int, optional
        The number of rows of X, if they are in memory.

    Examples
    --------
    >>> table = as_table((np.zeros((2, 1)), [1.0, 2.0]))
    >>> table, table.names, table.named
    (InputTable(confidential), ['x0'], False)
    """

    reader: Callable[..., Source]
    held: tuple[Any, ...]
    names: list[str]
    named: bool = True
    rows: int | None = None

    def open(self, domain: Domain) -> Source:
        """Return a reader of the rows; its columns are checked against the domain before anything is scanned."""
        return self.reader(*self.held, domain)

    def beside(self, y: Outcomes, names: Sequence[str] | None = None) -> InputTable:
        """Return a table of X with outcomes, renamed if names are given."""
        if not self.named:
            return replace(self, held=(self.held[0], y.matrix()))
        columns = [here("y", column) for column in y.columns()]
        return replace(self, held=(self.held[0], list(zip(names or y.names, columns, strict=True))))

    def counted(self, domain: Domain, columns: Mapping[str, Any]) -> InputTable:
        """Return a table with additional columns for the person and the weight of each row."""
        columns = {name: here(name, values) for name, values in columns.items()}
        if self.named:
            return replace(self, held=(self.held[0], [*self.held[1], *columns.items()]))
        self.open(domain.of_rows())  # refuses a number of columns other than declared
        blocks = [block for block in self.held if block is not None]
        cells = (here("X", block[:, i]) for block in blocks for i in range(block.shape[1]))
        named = dict(zip(domain.columns, cells, strict=True))
        return InputTable(FrameSource, ((named, list(named)), list(columns.items())), list(named), rows=self.rows)

    @property
    def matrix(self) -> Any:
        """The matrix of a table whose columns have no names."""
        return self.held[0]

    def __repr__(self) -> str:
        return "InputTable(confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Rows are confidential and are not pickled.")


@dataclass(frozen=True, eq=False, repr=False)
class Outcomes:
    """The outcomes passed as y: one column or several; **confidential**.

    Parameters
    ----------
    values : array or list
        Cells in rows and columns, or a list of series, Arrow arrays or lists of cells.
    names : list of str or None
        Their names; None for an outcome without a name.
    """

    values: Any
    names: list[str | None]

    def columns(self) -> list[Any]:
        """Return each outcome by itself."""
        return self.values if isinstance(self.values, list) else list(self.values.T)

    def matrix(self) -> np.ndarray[Any, Any]:
        """Return the outcomes as numbers, one column each."""
        if not isinstance(self.values, list):
            return as_matrix("y", self.values)
        columns = [as_matrix("y", column, column=True) for column in self.values]
        return columns[0] if len(columns) == 1 else np.hstack(columns)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Outcomes({len(self)}, confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Outcomes are confidential and are not pickled.")


# ---------------------------------------------------------------- rows


def as_table(source: Any) -> InputTable:
    """Convert rows to a table: one or more paths, a frame, Arrow table or stream, query, array, or pair (X, y)."""
    if isinstance(source, InputTable):
        return source
    if is_address(source):
        raise ParameterError("Name a table or a query beside the address of a database: Postgres(address, 'visits').")
    if isinstance(source, (str, Path)):
        return InputTable(open_files, ([source],), [])
    if isinstance(source, list) and source and all(isinstance(item, (str, Path)) for item in source):
        return InputTable(open_files, (source,), [])
    if isinstance(source, Postgres):
        return InputTable(PushdownSource if source.pushdown else PostgresSource, (source.open(),), [])
    if (engine := as_engine(source)) is not None:
        return InputTable(EngineSource, (engine,), [])
    if isinstance(source, tuple) and len(source) == 2:
        X = _in_memory(source[0])
        y = _outcomes(source[1]) if X.named else Outcomes([source[1]], [None])
        if len(y) > 1 and None in y.names:
            raise DataError("y must have one column, or columns with names: give a frame or a table.")
        return X.beside(y)
    if isinstance(source, np.ndarray) or is_tensor(source) or _has_columns(source):
        return _in_memory(source)
    if is_lazy(source):
        return InputTable(LazySource, (source,), [])
    if is_relation(source):
        return InputTable(RelationSource, (source,), [])
    if hasattr(source, "__arrow_c_stream__"):
        return InputTable(StreamSource, (source,), [])
    raise DataError(
        f"Cannot read rows from {type(source).__name__}. Give a Parquet, CSV or Excel path, a list of paths, a "
        "pandas, polars, Spark or Dask frame, an Arrow table or stream, a DuckDB relation, a table of Postgres, an "
        "array, or a pair (X, y)."
    )


def as_engine(source: Any) -> Engine | None:
    """Return the engine that holds the rows, or None."""
    if isinstance(source, Engine):
        return source
    return SparkEngine(source) if is_spark(source) else DaskEngine(source) if is_dask(source) else None


def written(path: str | Path, **file: Any) -> InputTable:
    """Return the table of a file whose format differs from that of the domain; see `FileFormat`."""
    return InputTable(lambda paths, domain: open_files(paths, domain.with_file(**file)), ([path],), [])


def open_source(source: Any, domain: Domain) -> Source:
    """Return a reader of rows from any source."""
    return as_table(source).open(domain)


def as_features(X: Any) -> InputTable:
    """Convert X to a table of features: named columns, or a matrix of numbers."""
    features = _in_memory(X)
    if not features.names:
        raise DataError(
            "X has 0 feature(s) (shape=(, 0)) while a minimum of 1 is required. The number of rows is never shown."
        )
    return features


def _in_memory(X: Any) -> InputTable:
    """Convert data in memory to a table of named columns, or of a matrix of numbers."""
    if _is_frame(X):
        columns, names = named_columns(X)
        return InputTable(FrameSource, ((columns, names), ()), names, rows=len(X))
    if _is_arrow(X):
        X = _arrow(X)
        return InputTable(TableSource, (X, ()), list(X.column_names), rows=X.num_rows)
    X = as_matrix("X", X)
    return InputTable(ArraySource, (X, None), [f"x{i}" for i in range(X.shape[1])], named=False, rows=len(X))


def _is_frame(value: Any) -> bool:
    """Whether a value is a pandas DataFrame."""
    return comes_from(value, "pandas") and hasattr(value, "iloc") and hasattr(value, "columns")


def _is_series(value: Any) -> bool:
    """Whether a value is a pandas Series."""
    return comes_from(value, "pandas") and hasattr(value, "iloc") and not hasattr(value, "columns")


def _has_columns(value: Any) -> bool:
    return _is_frame(value) or _is_arrow(value)


def _is_arrow(value: Any) -> bool:
    """Whether a value is an Arrow table in memory, or can be converted to one at once."""
    return isinstance(value, (pa.Table, pa.RecordBatch)) or is_polars(value)


def _arrow(value: Any) -> pa.Table:
    """Convert a value that `_is_arrow` accepts to an Arrow table."""
    if isinstance(value, pa.Table):
        return value
    return pa.Table.from_batches([value]) if isinstance(value, pa.RecordBatch) else pa.table(value)


# ---------------------------------------------------------------- outcomes


def as_outcomes(y: Any, *, several: bool = False) -> Outcomes:
    """Convert y to outcomes: one for every row, or several."""
    if y is None:
        raise DataError("The model requires y to be passed, but the target y is None: give the outcome of every row.")
    found = _outcomes(y)
    if len(found) < 1 or (len(found) > 1 and not several):
        raise DataError("y must have one column. For several outcomes use DPLinearRegression or ReuseCov.")
    if len(found) == 1 and not isinstance(found.values, list):
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Give y.ravel() instead.",
            DataConversionWarning,
            stacklevel=3,
        )
        return Outcomes(found.columns(), found.names)
    return found


def as_numbers(y: Any) -> Floats:
    """Convert outcomes to numbers, one column each, to compare predictions with."""
    if y is None:
        raise DataError("The target y is None: give the outcome of every row.")
    columns = _arrow(y).columns if _is_arrow(y) else [y if _is_frame(y) else _column(y)]
    numbers = np.hstack([np.asarray(as_matrix("y", column, column=True), dtype=float) for column in columns])
    check_finite("y", numbers)
    return numbers


def check_finite(name: str, matrix: Any) -> None:
    """Refuse a matrix with missing or infinite values."""
    if not all(np.isfinite(matrix[i:j]).all() for i, j in spans(len(matrix), _CHECKED)):
        raise DataError(f"{name} holds missing (NaN) or infinite values. Fill them, or leave out those rows.")


def _outcomes(y: Any) -> Outcomes:
    """Return the columns of y with their names."""
    if isinstance(y, Mapping):
        return Outcomes(list(y.values()), list(y))
    if _is_series(y):
        return Outcomes([y], [_name(y.name)])
    if _is_frame(y):
        return Outcomes([y.iloc[:, i] for i in range(y.shape[1])], _names(list(y.columns)))
    if _is_arrow(y):
        table = _arrow(y)
        return Outcomes(table.columns, _names(table.column_names))
    column = _column(y)
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return Outcomes([column], [_name(getattr(y, "name", None))])
    cells = as_cells("y", y)
    if cells.ndim == 1:
        return Outcomes([cells], [None])
    if cells.ndim != 2:
        raise DataError("y must have one column, or columns with names: give a frame or a table.")
    return Outcomes(cells, [None] * cells.shape[1])


def _names(labels: list[Any]) -> list[str | None]:
    return [str(label) for label in labels] if len(labels) > 1 else [_name(label) for label in labels]


def _name(name: Any) -> str | None:
    return None if name is None or name == "" else str(name)


def _column(y: Any) -> Any:
    """Convert a polars series, or another that offers an Arrow stream, to an Arrow array; return others unchanged."""
    if isinstance(y, (pa.Array, pa.ChunkedArray)) or _is_series(y) or not hasattr(y, "__arrow_c_stream__"):
        return y
    try:
        return pa.chunked_array(y)
    except (pa.ArrowException, TypeError, ValueError, OSError):
        raise DataError("y must be one column of numbers, or of the levels of one category.") from None


def check_pair(X: InputTable, y: Outcomes) -> None:
    """Refuse rows that no model can use, whatever its domain; values in named columns are not inspected."""
    if check_lengths([X.rows or 0, *map(len, y.columns())]) == 0:
        raise DataError("There is no row in X and y.")
    if not X.named:
        check_finite("X", X.matrix)
        check_finite("y", y.matrix())


def as_row_weights(sample_weight: Any, rows: int | None) -> Floats:
    """Convert the weights of a fit to a vector of numbers, one for each row of X."""
    weights = as_matrix("sample_weight", sample_weight, column=True).astype(float)
    check_finite("sample_weight", weights)
    if weights.shape != (rows, 1):
        raise DataError("sample_weight must be one column of weights, one for each row of X.")
    return weights[:, 0]


def as_weights(sample_weight: Any, rows: int) -> Floats | None:
    """Convert the weights of a score, on which no release depends, to a vector of numbers."""
    if sample_weight is None:
        return None
    weights = as_matrix("sample_weight", sample_weight, column=True).astype(float)
    check_finite("sample_weight", weights)
    if weights.shape != (rows, 1):
        raise DataError("sample_weight must be one column of weights, one for each row of X.")
    if not weights.sum() > 0:
        raise DataError("The weights in sample_weight must have a sum above 0.")
    return weights[:, 0]


# ---------------------------------------------------------------- which columns are what


def described(domain: Domain, X: InputTable, names: Sequence[str | None]) -> tuple[list[str], list[str]]:
    """Return the names of features and outcomes, given an X whose columns are declared; outcomes may have no names."""
    targets = [str(name) for name in names] if None not in names else _unnamed(domain, X, len(names))
    if not X.named:
        own = set(targets)
        return [name for name in domain.columns if name not in own], targets
    return domain.features_from(X.names, set(targets)), targets


def _unnamed(domain: Domain, X: InputTable, count: int) -> list[str]:
    """Return the columns of outcomes without names: all but the features, or the last ones if X is a matrix."""
    if not X.named:
        return list(domain.columns)[-count:]
    features = set(X.names)
    left = [name for name in domain.inputs if name not in features]
    if len(left) != count:
        raise DataError(
            f"y has no name, so it is unclear which declared column it is: beside the features there are "
            f"{', '.join(left) or 'none'}. Give y as a pandas Series or DataFrame with its name, use fit_source(table, "
            "name), or declare the features and the outcome only, as domain.select([...]) does."
        )
    return left


def declared_table(source: Any, domain: Any, method: str) -> tuple[InputTable, Domain]:
    """Return the table of a source and its domain; refuse columns without names."""
    if not isinstance(domain, Domain):
        raise DomainError(f"{method} needs domain=, the public bounds of the columns.")
    table = as_table(source)
    if not table.named:
        raise DataError(f"{method} goes by the names of columns, which arrays do not have: use fit(X, y).")
    return table, domain


def described_by(formula: str, domain: Domain) -> tuple[Domain, str, list[str]]:
    """Return the domain with a formula's columns, the outcome and the features."""
    return _with_outcome(formula, read_formula(formula, domain))


def counted_by(formula: str, domain: Domain) -> tuple[Domain, str, list[str], str | None]:
    """Return the domain with a formula's columns, the outcome, the features and the exposure."""
    found, exposure = with_exposure(formula, domain)
    return *_with_outcome(formula, found), exposure


def _with_outcome(formula: str, found: Model) -> tuple[Domain, str, list[str]]:
    if found.target is None:
        raise ParameterError(f"{formula}: name the outcome left of '~'.")
    return found.domain, found.target, found.features


def feature_names(domain: Domain, outcomes: Sequence[str], features: Sequence[str] | None) -> list[str]:
    """Return the features: those named, or all columns that can explain the outcomes."""
    if isinstance(features, str):
        raise ParameterError(f"features must be a list of column names, for example [{features!r}].")
    own = set(outcomes)
    if features is None:
        return domain.features_for(own)
    domain.refuse_outcomes(own, features)
    return list(features)


def design_matrix(X: Any, domain: Domain, *, clip: bool = True) -> Floats:
    """Return features in the user's units, clipped to their bounds, with categories one-hot without the first level."""
    encoder, source = Encoder(domain, clip=clip), as_table(X).open(domain)
    places = [i for i in domain.design(list(domain.columns)) if i > 0]
    pieces = [np.empty((0, len(places)))]
    with contextlib.closing(source), predicting():
        for batch in itertools.chain.from_iterable(source.parts(8192)):
            A = encoder.empty(source.size(batch), columnar=source.columnar)
            pieces.append(A[: source.fill(batch, A, encoder), places] / encoder.unit[places] + encoder.centre[places])
    matrix = np.concatenate(pieces)
    check_finite("X", matrix)
    return clipped(matrix, domain, [domain.entries[i].name for i in places]) if clip else matrix
