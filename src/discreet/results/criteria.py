"""Comparison of models: adjusted R^2, RMSE, AIC and BIC with their noise, and the test of a model within another."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from discreet.core.placeholders import Unavailable
from discreet.errors import ParameterError
from discreet.results.inference import Test

if TYPE_CHECKING:
    from discreet.results.fitted import Fitted

NO_LIKELIHOOD = Unavailable(
    "not available",
    "The likelihood of classes and counts was not released. To ask whether features matter, fit one model with all of "
    "them: wald_test, or compare_f_test.",
)
NO_ROWS = Unavailable("not available", "The number of rows is not known.")


def of_residuals(fitted: Fitted, which: Literal["aic", "bic"]) -> Callable[[float], float] | Unavailable:
    """Return Akaike's or Schwarz's criterion as a function of the residual sd, with normal errors."""
    n, k = fitted.nobs, len(fitted.parameters)
    if not fitted.family.linear:
        return NO_LIKELIHOOD
    if n is None:
        return NO_ROWS
    rows = max(n, k + 1.0)
    charge = 2.0 if which == "aic" else math.log(rows)

    def criterion(sd: float) -> float:
        variance = max(sd**2 * (rows - k) / rows, math.ulp(0.0))
        return rows * (math.log(2 * math.pi * variance) + 1) + charge * k

    return criterion


def of_explained(fitted: Fitted) -> Callable[[float], float] | Unavailable:
    """Return R^2 adjusted for the number of coefficients, as a function of R^2."""
    n, k, slopes = fitted.nobs, len(fitted.parameters), len(fitted.names)
    if n is None:
        return NO_ROWS
    rest = max(n - k, 1.0)
    return lambda explained: 1 - (1 - explained) * (rest + slopes) / rest


Number = float | Unavailable
Ends = tuple[float, float] | Unavailable


def at(criterion: Callable[[float], float] | Unavailable, value: Any) -> Number:
    """Return a criterion at a number, or why there is none."""
    if isinstance(criterion, Unavailable) or isinstance(value, Unavailable):
        return criterion if isinstance(criterion, Unavailable) else value
    return criterion(float(value))


def between(criterion: Callable[[float], float] | Unavailable, ends: Ends) -> Ends:
    """Return a criterion at both ends of an interval, or why there is none."""
    if isinstance(criterion, Unavailable) or isinstance(ends, Unavailable):
        return criterion if isinstance(criterion, Unavailable) else ends
    return criterion(ends[0]), criterion(ends[1])


def nested_test(fitted: Fitted, restricted: Fitted) -> Test | Unavailable:
    """Test whether the coefficients that a smaller model of the same release lacks are all zero."""
    if fitted.release != restricted.release or not fitted.release:
        raise ParameterError("Nested models are of one release: fit both to the same one, release.fit(...).")
    if fitted.target != restricted.target or fitted.link != restricted.link:
        raise ParameterError("Nested models have the same outcome and are of the same kind.")
    more = [name for name in restricted.labels if name not in fitted.labels]
    if more:
        raise ParameterError(f"The smaller model is not within this one, which lacks {', '.join(more)}.")
    extra = [name for name in fitted.labels if name not in restricted.labels]
    if not extra:
        raise ParameterError("Both models have the same coefficients.")
    return fitted.wald_test(extra)
