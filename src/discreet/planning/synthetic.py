"""Synthetic tables, made from public facts alone: bounds and levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core import checks
from discreet.domain import Domain
from discreet.domain.provisional import made_up_bounds
from discreet.errors import ParameterError
from discreet.planning.facts import facts
from discreet.planning.population import population

DIGITS = 4
"""The number of digits to which numbers are rounded, relative to the width of their bounds."""


def synthetic(domain: Domain, rows: int, seed: int = 0) -> pa.Table:
    """Make up a table that fits a domain; no data are touched, so it reveals nothing but the domain.

    Numbers lie around the middle of their bounds, levels are equally frequent, and columns have random correlations.
    Columns without bounds get made-up ones: from the known bound, or 0, to 100 beyond it. Persons have one or a few
    rows each, and weights are uniform below their bound.

    Parameters
    ----------
    domain : Domain
        Public bounds and levels of the columns.
    rows : int
        The number of rows.
    seed : int
        The seed; the same seed makes the same table.

    Examples
    --------
    >>> table = synthetic(Domain({"age": (18, 90), "sex": ["F", "M"]}), 1000)
    >>> table.num_rows, table.column_names, sorted(set(table["sex"].to_pylist()))
    (1000, ['age', 'sex'], ['F', 'M'])
    """
    if (count := checks.rows(rows)) is None:
        raise ParameterError("rows is required: how many rows to make up.")
    domain = made_up_bounds(domain)
    outcome = "y"
    while outcome in domain.reads:
        outcome += "'"
    known = facts(
        domain.with_columns({**domain.inputs, outcome: (0, 1)}, intercept=True), outcome, None,
        rows=count, r_squared=0.5, mean_square=None, correlation=None, about=None,
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    people = population(known, rng)
    chosen = rng.integers(len(people.y), size=count)
    drawn = {name: column.rounded(people.values[name][chosen], DIGITS) for name, column in domain.inputs.items()}
    table: dict[str, Any] = {name: pa.array(entries) for name, entries in drawn.items()}
    if (person := domain.unit.person) is not None:
        table[person] = pa.array(rng.integers(1, 2 + count // 2, count))
    if (weights := domain.unit.weights) is not None:
        table[weights] = pa.array(domain.unit.largest_weight * (1 - rng.random(count)))
    return pa.table(table)
