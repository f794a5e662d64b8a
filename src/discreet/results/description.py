"""The JSON-ready description of a model of one outcome; `outcomes` has that of several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.core.placeholders import Unavailable
from discreet.results.estimands import ESTIMANDS
from discreet.results.numbers import json_ready

if TYPE_CHECKING:
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
        **{key: json_ready(value) for key, value in numbers.items()},
        "units": {name: fitted.unit(name) for name in fitted.labels},
        "rows": fitted.rows,
        "rows_sd": fitted.rows_sd,
        "guarantee": fitted.certificate.guarantee.to_dict(),
        "release": fitted.release,
    }


def _both_intervals(fitted: Results) -> dict[str, Any]:
    """Return the intervals by the fit that they are about; of one fit, where nothing is charged for the other."""
    found = fitted.inference
    if isinstance(found, Unavailable):
        return {}
    known = ESTIMANDS if found.charged else (found.estimand,)
    return {own: fitted.about(own).intervals(0.95) for own in known}
