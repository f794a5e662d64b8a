"""Predictions of a saved model for the rows of any table, a batch at a time."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.arrays import Floats
from discreet.core.placeholders import Unavailable
from discreet.data.tables import as_table, design_matrix
from discreet.domain import CONSTANT, Domain
from discreet.released.links import probabilities
from discreet.results.glm_results import GLMResults
from discreet.results.many_results import ManyResults
from discreet.results.results import Results

_ROWS = 1 << 13

Model = Results | ManyResults | GLMResults


def predictions(model: Model, source: Any, level: float = 0.95) -> Iterator[pa.Table]:
    """What a model predicts for each row of a source, in the order of the rows; nothing for a row that lacks a value.

    Parameters
    ----------
    model : Results, ManyResults or GLMResults
        The model.
    source : path, frame, Arrow table
        Rows with the columns that the model uses.
    level : float
        Of the interval of an outcome, where the model has one: columns ``low`` and ``high``.

    Examples
    --------
    >>> from discreet import DPLinearRegression
    >>> X = np.linspace(0, 1, 1000)[:, None]
    >>> fitted = DPLinearRegression(epsilon=9, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 1)).fit(X, X[:, 0])
    >>> [table.num_rows for table in predictions(fitted.results_, pa.table({"x0": [0.2, 0.4]}))]
    [2]
    """
    domain = _read(model)
    opened = as_table(source).open(domain)
    with contextlib.closing(opened):
        for batch in itertools.chain.from_iterable(opened.parts(_ROWS)):
            kept = np.asarray(opened.kept(batch))
            rows = pa.Table.from_batches([batch]).select(list(domain.inputs)).filter(kept)
            found = pa.table(_predicted(model, rows, domain, level))
            yield found.take(pa.array(np.cumsum(kept) - 1, mask=~kept))


def why_no_interval(model: Model) -> str | None:
    """Why predictions of a model have no intervals, if they have none."""
    if isinstance(model, ManyResults):
        return "intervals are for one outcome: name it with --target"
    inference = model.inference
    if isinstance(inference, Unavailable):
        return inference.reason
    found = next((part for part in (inference.covariance, inference.sigma) if isinstance(part, Unavailable)), None)
    return None if found is None else found.reason


def _read(model: Model) -> Domain:
    """The columns that a model uses."""
    domain = model.certificate.domain.of_rows()
    used = dict.fromkeys(domain.entries[i].column for i in domain.indices(model.names))
    facts = domain.select(used).to_dict() if used else domain.select(list(domain.columns)[:1]).to_dict()
    return Domain.from_dict(facts | {"missing": "drop"})


def _predicted(model: Model, rows: pa.Table, domain: Domain, level: float) -> dict[str, Any]:
    if isinstance(model, ManyResults):
        return dict(zip(model.targets, np.asarray(model.predict(rows)).T, strict=True))
    if isinstance(model, GLMResults):
        return _of_link(model, _regressors(model, rows, domain) @ model.coef.T + model.intercept)
    found = {"prediction": np.asarray(model.predict(rows), dtype=float)}
    interval: Any = model.predict_interval(rows, level)
    if not isinstance(interval, Unavailable):
        low, high = interval
        found |= {"low": np.asarray(low, dtype=float), "high": np.asarray(high, dtype=float)}
    return found


def _regressors(model: GLMResults, rows: pa.Table, domain: Domain) -> Floats:
    """The columns of a model's design, in the user's units."""
    names = [domain.entries[i].name for i in domain.design(list(domain.columns)) if domain.entries[i].name != CONSTANT]
    matrix = design_matrix(rows, domain)
    return matrix[:, [names.index(name) for name in model.names]]


def _of_link(model: GLMResults, eta: Floats) -> dict[str, Any]:
    """Expected counts, numbers, or classes; with probabilities where the model has them."""
    found: dict[str, Any] = {"prediction": model.predicted(eta).tolist()}
    if model.classes is not None and model.link == "logit":
        found |= {f"p[{label}]": p for label, p in zip(model.classes, probabilities(eta).T, strict=True)}
    return found
