"""What people pass as X and y: arrays, pandas frames and Arrow tables, with errors that quote no data."""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from discreet.data.sources import as_column, as_table, is_arrow, open_source
from discreet.data.sources.arrays import as_cells, as_matrix
from discreet.data.sources.base import check_lengths
from discreet.data.sources.frames import is_frame, is_series
from discreet.domain import Domain, derived
from discreet.domain.encoding import Encoder
from discreet.domain.formula import formula as read_formula
from discreet.errors import DataError, DomainError, ParameterError

Floats = NDArray[np.float64]


def is_table(X: Any) -> bool:
    """Whether X has named columns."""
    return is_frame(X) or isinstance(X, pa.Table)


def column_names(X: Any) -> list[str]:
    """The names of the columns of X; x0, x1, ... for a matrix."""
    if is_frame(X):
        return [str(name) for name in X.columns]
    if isinstance(X, pa.Table):
        return list(X.column_names)
    return [f"x{i}" for i in range(X.shape[1])]


def as_features(X: Any) -> Any:
    """The features as a table, if X is one, or as a matrix of numbers."""
    if is_arrow(X):
        X = as_table(X)
    if not is_table(X):
        X = as_matrix("X", X)
    if X.shape[1] == 0:
        raise DataError(
            "X has 0 feature(s) (shape=(, 0)) while a minimum of 1 is required. The number of rows is never shown."
        )
    return X


def as_outcome(y: Any) -> Any:
    """The outcome as a series, an Arrow array or an array of one column."""
    if y is None:
        raise DataError("The model requires y to be passed, but the target y is None: give the outcome of every row.")
    if is_frame(y) or is_arrow(y):
        if y.shape[1] != 1:
            raise DataError("y must have one column. For several outcomes use DPLinearRegression or ReuseCov.")
        return y.iloc[:, 0] if is_frame(y) else as_table(y).column(0)
    y = as_column(y)
    if is_series(y) or isinstance(y, (pa.Array, pa.ChunkedArray)):
        return y
    y = as_cells("y", y)
    if y.ndim not in (1, 2) or (y.ndim == 2 and y.shape[1] != 1):
        raise DataError("y must have one column. For several outcomes use DPLinearRegression or ReuseCov.")
    if y.ndim == 2:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Give y.ravel() instead.",
            DataConversionWarning,
            stacklevel=3,
        )
    return y.ravel()


def as_numbers(y: Any) -> Floats:
    """Outcomes to compare predictions with, in a column each."""
    if y is None:
        raise DataError("The target y is None: give the outcome of every row.")
    columns = as_table(y).columns if is_arrow(y) else [y if is_frame(y) else as_column(y)]
    numbers = np.hstack([as_matrix("y", column, column=True).astype(float) for column in columns])
    check_finite("y", numbers)
    return numbers


def as_weights(sample_weight: Any, rows: int) -> Floats | None:
    """Weights of the rows of a score, which is a matter of whoever computes it: no release depends on them."""
    if sample_weight is None:
        return None
    weights = as_matrix("sample_weight", sample_weight, column=True).astype(float)
    check_finite("sample_weight", weights)
    if weights.shape != (rows, 1):
        raise DataError("sample_weight must be one column of weights, one for each row of X.")
    if not weights.sum() > 0:
        raise DataError("The weights in sample_weight must have a sum above 0.")
    return weights[:, 0]


def refuse_weights(sample_weight: Any) -> None:
    """Refuse weights of rows."""
    if sample_weight is not None:
        raise ParameterError(
            "sample_weight is not supported, whether its weights are zero, one or more: a weight would let one "
            "person move the result by more than the noise hides."
        )


def with_intercept(domain: Domain, intercept: bool) -> Domain:
    """The domain for models with or without an intercept."""
    if domain.intercept == intercept:
        return domain
    return Domain.from_dict(domain.to_dict() | {"intercept": bool(intercept)})


def described(domain: Domain, X: Any, target: str | None) -> tuple[list[str], str]:
    """Features and outcome of a table or matrix X whose columns a domain declares; the outcome may be unnamed."""
    target = target or unnamed(domain, X, 1)[0]
    if not is_table(X):
        return [name for name in domain.columns if name != target], target
    return derived.features_from(domain, column_names(X), target), target


def unnamed(domain: Domain, X: Any, count: int) -> list[str]:
    """The declared columns that outcomes without names stand for: all but the features, or the last beside a matrix."""
    if not is_table(X):
        return list(domain.columns)[-count:]
    features = set(column_names(X))
    left = [name for name in domain.inputs if name not in features]
    if len(left) != count:
        raise DataError(
            f"y has no name, so it is unclear which declared column it is: beside the features there are "
            f"{', '.join(left) or 'none'}. Give y as a pandas Series or DataFrame with its name, use fit_source(table, "
            "name), or declare the features and the outcome only, as domain.select([...]) does."
        )
    return left


def check_pair(X: Any, y: Any) -> None:
    """Refuse rows that no model could use, whatever its domain; what the columns of a table hold is not looked at."""
    if check_lengths([X.shape[0], len(y)]) == 0:
        raise DataError("There is no row in X and y.")
    check_finite("X", X)
    if not is_table(X):
        check_finite("y", as_matrix("y", y, column=True))


def check_finite(name: str, matrix: Any) -> None:
    """Refuse a matrix with missing or infinite values; tables pass."""
    if not is_table(matrix) and not np.isfinite(matrix).all():
        raise DataError(f"{name} holds missing (NaN) or infinite values. Fill them, or leave out those rows.")


def declared_for(source: Any, domain: Any, method: str) -> Domain:
    """The declared domain, for a source whose columns have names."""
    if not isinstance(domain, Domain):
        raise DomainError(f"{method} needs domain=, the public bounds of the columns.")
    X = source[0] if isinstance(source, tuple) and source else source
    if isinstance(X, np.ndarray) or (isinstance(source, tuple) and not (is_frame(X) or is_arrow(X))):
        raise DataError(f"{method} goes by the names of columns, which arrays do not have: use fit(X, y).")
    return domain


def described_by(formula: str, source: Any, domain: Any, intercept: bool) -> tuple[Domain, str, list[str]]:
    """The domain with a formula's columns, the outcome and the features, for a source whose columns have names."""
    declared = with_intercept(declared_for(source, domain, "fit_formula"), intercept)
    found, target, features = read_formula(formula, declared)
    if target is None:
        raise ParameterError(f"{formula}: name the outcome left of '~'.")
    return found, target, features


def feature_names(domain: Domain, target: str, features: Sequence[str] | None) -> list[str]:
    """The features: those named, or all columns that can explain the outcome."""
    if isinstance(features, str):
        raise ParameterError(f"features must be a list of column names, for example [{features!r}].")
    outcome = domain.entries[domain.target(target)].column
    names = derived.features_for(domain, outcome) if features is None else list(features)
    derived.refuse_outcome(domain, outcome, names)
    return names


def design_names(domain: Domain, features: Sequence[str]) -> tuple[str, ...]:
    """Names of the regressors' coordinates; at least one."""
    design = tuple(domain.entries[i].name for i in domain.design(features))
    if not design:
        raise ParameterError("A model needs at least one feature, or an intercept.")
    return design


def design_matrix(X: Any, domain: Domain) -> Floats:
    """Features in the user's units, categories one-hot without the first level."""
    encoder, source = Encoder(domain, clip=False), open_source(X, domain)
    places = [i for i in domain.design(list(domain.columns)) if i > 0]
    pieces = [np.empty((0, len(places)))]
    with contextlib.closing(source):
        for batch in itertools.chain.from_iterable(source.parts(8192)):
            A = encoder.empty(source.size(batch), columnar=source.columnar)
            pieces.append(A[: source.fill(batch, A, encoder), places] / encoder.unit[places] + encoder.centre[places])
    matrix = np.concatenate(pieces)
    check_finite("X", matrix)
    return matrix
