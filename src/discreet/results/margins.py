"""Effects of variables as tables: over their declared ranges, or for one unit more at given values."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.core.arrays import Floats
from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT
from discreet.domain.values import predicting
from discreet.errors import DataError, ParameterError
from discreet.released.units import coefficient_unit, unit_over
from discreet.results.class_contrasts import TWO_CLASSES
from discreet.results.contrasts import Contrasts
from discreet.results.design import as_table, read_columns
from discreet.results.effects import Setting, Variables
from discreet.results.uncertainty import Estimate

if TYPE_CHECKING:
    from discreet.results.fitted import Fitted

_MIDDLE = (
    "The other variables are in the middle: numbers of their declared ranges, categories at the mean of their levels."
)


def declared_effects(fitted: Fitted) -> Contrasts | Unavailable:
    """The effect of each variable over its declared range."""
    known, found = fitted.joint, Variables(fitted.certificate.domain, fitted.names)
    if isinstance(known, Unavailable):
        return known
    names, rows = [], []
    for (place, (head, _)), variable in itertools.product(enumerate(fitted.lines), found.specs):
        words = found.words(variable)
        names += [f"{head}{label}, {words}" if words else head + label for label in found.labels(variable)]
        rows += [fitted.on_line(place, row) for row in found.across(variable)]
    title = f"Effects on {fitted.target} over the declared ranges"
    estimates = [fitted.weighted_sum(known, row) for row in rows]
    return _table(title, names, estimates, [fitted.unit(CONSTANT)] * len(rows), _MIDDLE)


def marginal_effects(fitted: Fitted, at: Any) -> Contrasts | Unavailable:
    """The effect of one unit more of each variable, at a place or on average over the rows of a public table.

    It is a smooth function of (intercept, coefficients) b; with g its gradient at the estimate, its errors are those of
    the weighted sum g'b (the delta method), which is what `JointInference.contrast` knows all about.
    """
    known, found = fitted.joint, Variables(fitted.certificate.domain, fitted.names)
    setting = found.middle if at is None else setting_of(found, at)
    if isinstance(known, Unavailable):
        return known
    if len(fitted.lines) > 1:
        return TWO_CLASSES
    outcome = "1" if fitted.family.classes else coefficient_unit(found.domain, fitted.target, CONSTANT) or "1"
    names, estimates, units = [], [], []
    for variable, spec in found.specs.items():
        names += found.labels(variable)
        for A, B, width in found.ends(variable, setting):
            value, gradient = _slope(fitted, known.estimate, A, B, width)
            linear = known.contrast(gradient)
            if not linear.law.given[0]:
                value, _ = _slope(fitted, fitted.lines[0][1], A, B, width)
            estimates.append(replace(linear, value=value, shift=value - linear.value))
            units.append(unit_over(outcome, spec.coordinate_unit))
    note = "For one unit more of a number; for a level against the first one of its category. "
    many = at is not None and setting.rows > 1
    note += "Averages over the rows that are given. " if many else ""
    all_named = at is not None and set(found.specs) <= set(_named(at).column_names)
    note += "" if all_named else "What is not named is in the middle of its range."
    return _table(f"Marginal effects on {fitted.target}", names, estimates, units, note.strip())


def _slope(fitted: Fitted, line: Floats, A: Floats, B: Floats, width: Floats) -> tuple[float, Floats]:
    """Return the mean change of the expected outcome from A to B for one unit, and its gradient in the line."""
    (low, slope), (high, steep) = (fitted.expected(Z @ line) for Z in (A, B))
    gradient = ((steep[:, None] * B - slope[:, None] * A) / width[:, None]).mean(axis=0)
    return float(np.mean((high - low) / width)), gradient


def _table(title: str, names: list[str], estimates: list[Estimate], units: list[str], note: str) -> Contrasts:
    return Contrasts(title, tuple(names), tuple(estimates), (0.0,) * len(estimates), tuple(units), (note,))


def _named(at: Any) -> pa.Table:
    """Return values by name as a table; single values make one row."""
    if isinstance(at, Mapping):
        at = {name: [x] if isinstance(x, str) or not hasattr(x, "__len__") else x for name, x in at.items()}
    table = as_table(at)
    if table is None:
        raise ParameterError("at must hold values by name, as {'age': 40}, or be a table with named columns.")
    return table


def setting_of(found: Variables, at: Any) -> Setting:
    """Read the values at which effects are asked for."""
    table = _named(at)
    unknown = [name for name in table.column_names if name not in found.specs]
    if isinstance(at, Mapping) and unknown:
        raise ParameterError(
            f"at names {unknown[0]!r}, which the model does not use. It uses: {', '.join(found.specs)}."
        )
    if not table.num_rows:
        raise ParameterError("at has no rows.")
    given = {name: spec for name, spec in found.specs.items() if name in table.column_names}
    with predicting():
        values = read_columns(table, given)
    if any(not np.isfinite(x).all() for x in values.values()):
        raise DataError("at holds missing (NaN) or infinite values. Fill them, or leave out those rows.")
    own = {name: spec.as_rows(values[name]) for name, spec in given.items()}
    return Setting(found.middle.repeated(table.num_rows).values | own)
