"""Predictions of a saved model for the rows of any table, a batch at a time."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.placeholders import Unavailable
from discreet.data.tables import as_table
from discreet.domain import Domain
from discreet.results.results import Results

_ROWS = 1 << 13


def predictions(model: Results, source: Any, level: float = 0.95) -> Iterator[pa.Table]:
    """Yield a model's predictions for each row of a source, in order; none for a row that lacks a value.

    Parameters
    ----------
    model : Results
        The model.
    source : path, frame, Arrow table
        Rows with the columns that the model uses.
    level : float
        The level of the interval of an outcome, where the model has one: columns ``low`` and ``high``.

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
            found = pa.table(model.predictions(rows, level))
            yield found.take(pa.array(np.cumsum(kept) - 1, mask=~kept))


def why_no_interval(model: Results) -> str | None:
    """Return the reason that predictions of a model have no intervals, if they have none."""
    found = model.predict_interval(np.zeros((1, len(model.names))))
    return found.reason if isinstance(found, Unavailable) else None


def _read(model: Results) -> Domain:
    """Return the columns that a model uses."""
    domain = model.certificate.domain.of_rows()
    used = dict.fromkeys(domain.entries[i].column for i in domain.indices(model.names))
    return domain.select(used or list(domain.columns)[:1]).with_missing("drop")
