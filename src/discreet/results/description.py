"""The JSON-ready description of a model of one outcome; `outcomes` has that of several."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from discreet.core.placeholders import Unavailable
from discreet.results.estimands import ESTIMANDS
from discreet.results.numbers import json_ready

if TYPE_CHECKING:
    from discreet.results.fitted import Fitted
    from discreet.results.results import Results


def description(fitted: Results) -> dict[str, Any]:
    """Describe a fitted model; a number that is missing for one coefficient is None."""
    found = fitted.inference
    numbers = {
        "params": fitted.coefficients,
        "coef": fitted.predicting,
        "debiased": fitted.known("estimate"),
        "std_err": fitted.known("std_err"),
        "privacy_noise": fitted.known("privacy_noise"),
        "pvalues": fitted.known("p_values"),
        "estimand": None if isinstance(found, Unavailable) else found.estimand,
        "conf_int": fitted.intervals(0.95),
        "conf_int_about": _both_intervals(fitted),
        "rsquared": fitted.rsquared,
        "residual_sd": fitted.residual_sd,
        "cut_at": fitted.cut_at,
        "rsquared_interval": fitted.rsquared_interval(),
        "residual_sd_interval": fitted.residual_sd_interval(),
        "mean_outcome_interval": fitted.mean_outcome_interval(),
        "dispersion": fitted.dispersion,
        "df_resid": fitted.df_resid,
    }
    return {
        "target": fitted.target,
        "model": fitted.model,
        "link": fitted.link,
        "classes": fitted.classes,
        "reference": fitted.reference_class,
        **{key: json_ready(value) for key, value in numbers.items()},
        "units": {name: fitted.unit(name) for name in fitted.labels},
        **declared_bounds(fitted),
        "outcome_range": None if fitted.classes else _ends(*fitted.outcome_ranges[0]),
        "rows": fitted.rows,
        "rows_sd": fitted.rows_sd,
        "guarantee": fitted.certificate.guarantee.to_dict(),
        "release": fitted.release,
    }


def declared_bounds(fitted: Fitted) -> dict[str, Any]:
    """Return what predictions clip to: bounds of the regressors, and of the numbers that they are made of.

    A level lies between 0 and 1. Dates are days since 1970-01-01. A number that only a `data_norm` bounds has None, and
    is not among the inputs: it is not clipped.
    """
    domain, names = fitted.certificate.domain, fitted.names
    columns = dict.fromkeys(domain.column_of[name] for name in names)
    inputs = domain.select(columns).inputs if columns else {}
    pairs = {name: _ends(*column.bounds) for name, column in inputs.items() if column.bounds}
    return {
        "bounds": {name: _ends(*pair) for name, pair in zip(names, domain.ranges(names), strict=True)},
        "input_bounds": {name: pair for name, pair in pairs.items() if pair is not None},
    }


def outcome_bounds(fitted: Fitted) -> dict[str, Any]:
    """Return the range that predictions of each outcome are clipped to."""
    return {name: _ends(*pair) for name, pair in zip(fitted.targets, fitted.outcome_ranges, strict=True)}


def _ends(low: float, high: float) -> list[float] | None:
    """Return bounds as JSON has them; None where there are none."""
    return [float(low), float(high)] if math.isfinite(low) and math.isfinite(high) else None


def _both_intervals(fitted: Results) -> dict[str, Any]:
    """Return the intervals by the fit that they are about; of one fit, where nothing is charged for the other."""
    found = fitted.inference
    if isinstance(found, Unavailable):
        return {}
    known = ESTIMANDS if found.charged else (found.estimand,)
    return {own: fitted.about(own).intervals(0.95) for own in known}
