"""What people pass as many outcomes: matrices, frames and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from discreet.data.inputs import column_names, is_table, unnamed, with_intercept
from discreet.data.moments import outcome_names
from discreet.data.sources import as_table, is_arrow
from discreet.data.sources.arrays import as_cells, as_matrix
from discreet.data.sources.frames import is_frame, is_series
from discreet.domain import Domain, derived
from discreet.errors import DataError, DomainError, ParameterError
from discreet.models.base import MomentsRegressor


class Outcomes(NamedTuple):
    """Outcomes with their names; y0, y1, ... where they have none."""

    values: Any
    names: list[str]
    named: bool


def as_outcomes(y: Any) -> Outcomes | None:
    """Several outcomes; None where y is a single one, or nothing that could be several."""
    if is_frame(y) or is_arrow(y):
        table = y if is_frame(y) else as_table(y)
        names = [str(name) for name in (table.columns if is_frame(y) else table.column_names)]
        return Outcomes(table, names, True) if len(names) > 1 else None
    if y is None or is_series(y) or isinstance(y, (pa.Array, pa.ChunkedArray)) or hasattr(y, "__arrow_c_stream__"):
        return None
    cells = as_cells("y", y)
    if cells.ndim != 2 or cells.shape[1] < 2:
        return None
    return Outcomes(cells, [f"y{j}" for j in range(cells.shape[1])], False)


def join_many(X: Any, outcomes: Outcomes) -> Any:
    """Features with their outcomes, as a source of rows."""
    Y, names = outcomes.values, outcomes.names
    if is_table(X):
        return X, Y if is_table(Y) else {name: Y[:, j] for j, name in enumerate(names)}
    if isinstance(Y, pa.Table):
        return X, np.hstack([as_matrix("y", column, column=True) for column in Y.columns])
    return X, as_matrix("y", Y)


def refuse_repeated(features: list[str], outcomes: list[str]) -> None:
    """Refuse a table of outcomes whose names are not its own."""
    for name in outcomes:
        if name in features:
            raise DataError(f"Column {name!r} is among the features and among the outcomes. Rename one of them.")


def describe_many(model: MomentsRegressor, X: Any, outcomes: Outcomes) -> tuple[Domain, list[str]]:
    """The domain of features and outcomes, from an estimator's bounds or its domain, and the features."""
    names = column_names(X)
    if model.domain is None:
        refuse_repeated(names, outcomes.names)
        bounds = {"bounds_X": model.bounds_X, "bounds_y": model.bounds_y, "data_norm": model.data_norm}
        return Domain.from_bounds(names, outcomes.names, intercept=model.fit_intercept, **bounds), names
    if not isinstance(model.domain, Domain):
        raise DomainError("domain must be a Domain, for example Domain({'age': (18, 90), 'income': (0, 200_000)}).")
    if not (model.bounds_X is None and model.bounds_y is None and model.data_norm is None):
        raise DomainError("Give either domain= or bounds_X=, bounds_y= and data_norm=, not both.")
    if not outcomes.named:
        outcomes.names[:] = unnamed(model.domain, X, len(outcomes.names))
    own = set(outcomes.names)
    if not is_table(X):
        names = [name for name in model.domain.columns if name not in own]
    names = derived.features_from(model.domain, names, "") if is_table(X) else names
    return with_intercept(model.domain.select([*names, *outcomes.names]), model.fit_intercept), names


def features_of(domain: Domain, targets: Sequence[str], features: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """The features, named or all that can explain the outcomes, and the outcomes' columns."""
    if isinstance(features, str):
        raise ParameterError(f"features must be a list of column names, for example [{features!r}].")
    columns = list(dict.fromkeys(domain.entries[i].column for i in domain.indices(outcome_names(domain, targets))))
    own = set(columns)
    if features is None:
        free = {name: {name, *(f.column for f in spec.factors)} for name, spec in domain.columns.items()}
        return [name for name, used in free.items() if not own & used], columns
    derived.refuse_outcomes(domain, own, features)
    return list(features), columns
