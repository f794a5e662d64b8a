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
from discreet.results.results import Results

_ROWS = 1 << 13


def predictions(model: Results, source: Any, level: float = 0.95, *, clip: bool = True) -> Iterator[pa.Table]:
    """Yield a model's predictions for each row of a source, in order; none for a row that lacks a value.

    Where the model has intervals of an outcome, columns ``low`` and ``high`` hold those of this level. `clip` is as for
    `Results.predict`.
    """
    domain = model.certificate.domain.of_rows()
    used = dict.fromkeys(domain.entries[i].column for i in domain.indices(model.names))
    domain = domain.select(used or list(domain.columns)[:1]).with_missing("drop")
    opened = as_table(source).open(domain)
    with contextlib.closing(opened):
        for batch in itertools.chain.from_iterable(opened.parts(_ROWS)):
            kept = np.asarray(opened.kept(batch))
            rows = pa.Table.from_batches([batch]).select(list(domain.inputs)).filter(kept)
            found = pa.table(model.predictions(rows, level, clip=clip))
            yield found.take(pa.array(np.cumsum(kept) - 1, mask=~kept))


def why_no_interval(model: Results) -> str | None:
    """Return the reason that predictions of a model have no intervals, if they have none."""
    found = model.predict_interval(np.zeros((1, len(model.names))))
    return found.reason if isinstance(found, Unavailable) else None
