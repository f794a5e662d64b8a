"""Effects of variables as tables: over their declared ranges, or for one unit more at given values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT
from discreet.domain.values import predicting
from discreet.errors import DataError, ParameterError
from discreet.released.means import ColumnMeans
from discreet.released.units import coefficient_unit, unit_over
from discreet.results.class_contrasts import TWO_CLASSES
from discreet.results.contrasts import Contrasts
from discreet.results.design import as_table, read_columns
from discreet.results.effects import Setting, Variables
from discreet.results.inference import JointInference
from discreet.results.uncertainty import Estimate

if TYPE_CHECKING:
    from discreet.results.fitted import Fitted

_STEP = 1e-3
"""Step of a numerical slope in a mean, as a share of the declared range."""

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
    the weighted sum g'b (the delta method), which is what `JointInference.contrast` knows all about. At the means of
    the release the noise of these counts, too.
    """
    known, found = fitted.joint, Variables(fitted.certificate.domain, fitted.names)
    means = _asked_means(fitted, at)
    if isinstance(means, Unavailable):
        return means
    setting = found.middle if at is None else setting_of(found, at) if means is None else found.at_means(means)
    if isinstance(known, Unavailable):
        return known
    if len(fitted.lines) > 1:
        return TWO_CLASSES
    outcome = "1" if fitted.family.classes else coefficient_unit(found.domain, fitted.target, CONSTANT) or "1"
    names, estimates, units = [], [], []
    for variable, spec in found.specs.items():
        names += found.labels(variable)
        for k, (A, B, width) in enumerate(found.ends(variable, setting)):
            estimate = _smooth(fitted, known, partial(_rates, fitted, A=A, B=B, width=width))
            if means is not None and not (fitted.family.linear and found.is_straight(variable)):
                moved = partial(_moved_rates, fitted, known.estimate, found, variable, k)
                estimate = _with_noise_of(means, estimate, found, moved)
            estimates.append(estimate)
            units.append(unit_over(outcome, spec.coordinate_unit))
    note = "For one unit more of a number; for a level against the first one of its category. "
    if means is not None:
        return _table(
            f"Marginal effects on {fitted.target} at the means", names, estimates, units, note + _told(found, means)
        )
    many = at is not None and setting.rows > 1
    note += "Averages over the rows that are given. " if many else ""
    all_named = at is not None and set(found.specs) <= set(_named(at).column_names)
    note += "" if all_named else "What is not named is in the middle of its range."
    return _table(f"Marginal effects on {fitted.target}", names, estimates, units, note.strip())


def prediction_at_means(fitted: Fitted) -> Contrasts | Unavailable:
    """The expected outcome where all variables are at their means."""
    known, means = fitted.joint, fitted.means
    found = Variables(fitted.certificate.domain, fitted.names)
    if isinstance(known, Unavailable):
        return known
    if isinstance(means, Unavailable):
        return means
    if len(fitted.lines) > 1:
        return TWO_CLASSES
    estimate = _smooth(fitted, known, partial(_outcomes, fitted, Z=found.regressors(found.at_means(means))))
    estimate = _with_noise_of(
        means, estimate, found, lambda at: _outcomes(fitted, known.estimate, found.regressors(at))[0]
    )
    unit = "1" if fitted.family.classes else coefficient_unit(found.domain, fitted.target, CONSTANT)
    title = f"Expected {fitted.target} at the means"
    return _table(title, [fitted.target], [estimate], ["" if unit == "1" else unit], _told(found, means))


def _smooth(fitted: Fitted, known: JointInference, at: Callable[[Floats], tuple[Floats, Floats]]) -> Estimate:
    """The mean over rows of a smooth function of the line; of the line that predicts, where it has no interval.

    `at`: its value in each row at a line, and its gradients there.
    """
    values, gradients = at(known.estimate)
    linear = known.contrast(gradients.mean(axis=0))
    if not linear.law.given[0]:
        values, _ = at(fitted.lines[0][1])
    value = float(values.mean())
    return replace(linear, value=value, shift=value - linear.value)


def _outcomes(fitted: Fitted, line: Floats, Z: Floats) -> tuple[Floats, Floats]:
    """Return the expected outcome in each row of Z, and its gradient in the line."""
    mean, slope = fitted.expected(Z @ line)
    return mean, slope[:, None] * Z


def _rates(fitted: Fitted, line: Floats, A: Floats, B: Floats, width: Floats) -> tuple[Floats, Floats]:
    """Return the change of the expected outcome from A to B for one unit, in each row, and its gradient in the line."""
    (low, slope), (high, steep) = (fitted.expected(Z @ line) for Z in (A, B))
    return (high - low) / width, (steep[:, None] * B - slope[:, None] * A) / width[:, None]


def _moved_rates(fitted: Fitted, line: Floats, found: Variables, variable: str, k: int, at: Setting) -> Floats:
    """Return the rates of one variable, or of its k-th level, at other places."""
    return _rates(fitted, line, *found.ends(variable, at)[k])[0]


# ---------------------------------------------------------------- at the means


def _asked_means(fitted: Fitted, at: Any) -> ColumnMeans | Unavailable | None:
    """Return the means if they are asked for, or why they are not known; None if another place is asked for."""
    if not isinstance(at, str):
        return None
    checks.choice("at", at, ("means",))
    return fitted.means


def _told(found: Variables, means: ColumnMeans) -> str:
    """Say where the means come from, and which variables are not at theirs."""
    missing = found.without_mean(means)
    others = (
        f" {', '.join(missing)}: in the middle of the declared range, for no mean of it was released."
        if missing
        else ""
    )
    return f"Means are those of the release, and their noise is allowed for.{others}"


def _with_noise_of(
    means: ColumnMeans, estimate: Estimate, found: Variables, values: Callable[[Setting], Floats]
) -> Estimate:
    """Return an estimate with what the noise of the means adds, by the delta method.

    `values`: the number at each row of a setting. Errors that come from the same noisy sums as those of the
    coefficients are added up as if they went together.
    """
    low, high = found.domain.ranges(means.names).T
    steps = np.diag(_STEP * np.where(np.isfinite(high - low), high - low, 1.0))
    ends = (values(found.at_means(means, way * steps)) for way in (1.0, -1.0))
    sd = float(means.sd(np.subtract(*ends) / (2 * np.diag(steps))))
    law = estimate.law
    if sd == 0.0 or not isinstance(law, JointInference):
        return estimate
    law = law.with_noise(sd**2 + (2 * sd * float(law.privacy_errors[0]) if means.shared else 0.0))
    errors, given = law.errors, bool(law.given[0])
    std_err = errors if isinstance(errors, Unavailable) else float(errors[0]) if given else estimate.std_err
    return replace(estimate, std_err=std_err, privacy_noise=float(law.privacy_noise[0]), law=law)


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
