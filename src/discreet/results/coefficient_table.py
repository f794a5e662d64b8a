"""The words and the second interval of tables of coefficients, of one outcome or of several."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.core.arrays import Floats
from discreet.core.placeholders import Unavailable
from discreet.results.estimands import Estimand, times_as_wide
from discreet.results.summary import number

if TYPE_CHECKING:
    from discreet.results.fitted import Fitted

PREDICTIONS = "Predictions use other coefficients, coef_ and intercept_: drawn towards zero where noise is large."


def visibly_moved(fitted: Fitted) -> bool:
    """Whether the coefficients that predict visibly differ from the estimates."""
    if isinstance(fitted.inference, Unavailable):
        return False
    noise, estimates = fitted.known("std_err") or fitted.known("privacy_noise"), fitted.coefficients
    return any(abs(coef - estimates[name]) > 0.01 * noise[name] for name, coef in fitted.predicting.items())


def second_column(fitted: Fitted, numbers: Mapping[str, Floats | Unavailable]) -> dict[str, list[str]]:
    """Return the intervals about the other fit, under its name; nothing where they are alike."""
    other = fitted.second
    if other is None:
        return {}
    low, high = (numbers[f"{other.estimand}_{side}"] for side in ("low", "high"))
    if isinstance(low, Unavailable) or isinstance(high, Unavailable):
        return {}
    return {second_name(fitted): [interval_cell(*pair) for pair in zip(low, high, strict=True)]}


def second_name(fitted: Fitted) -> str:
    """The heading of the intervals about the other fit; "" where there are none."""
    other = fitted.second
    return "" if other is None else _fit(fitted, other.estimand)


def interval_cell(low: float, high: float) -> str:
    """Format an interval in one cell, to three digits of its width.

    Examples
    --------
    >>> interval_cell(-0.392617, 0.0579174), interval_cell(1999.215, 2001.308)
    ('-0.393 to 0.058', '1999.2 to 2001.3')
    """
    if math.isnan(low):
        return "withheld"
    places = 2 - math.floor(math.log10(high - low)) if 0 < high - low < math.inf else 12
    return " to ".join(number(round(end, places)) for end in (low, high))


def about_words(fitted: Fitted) -> str:
    """Say in a sentence which fit the intervals are about, and why it is first."""
    found = fitted.inference
    if isinstance(found, Unavailable) or not found.charged:
        return f"Estimand: {fitted.estimand}." if not fitted.several else ""
    plain = "least squares of" if fitted.family.linear else "the maximum-likelihood fit to"
    cut = " and far residuals are cut" if fitted.family.linear else ""
    bounded = f"the bounded fit, in which rows far from the others count less{cut}"
    if found.estimand == "bounded":
        wider = times_as_wide(found)
        beside = f"; those about {plain} all rows are {wider:.2g} times as wide" if fitted.second is not None else ""
        return f"Intervals are about {bounded}{beside}."
    beside = f"; those beside them are about {bounded}" if fitted.second is not None else ""
    return f"Intervals are about {plain} the table, with every column clipped to its declared bounds{beside}."


def _fit(fitted: Fitted, estimand: Estimand) -> str:
    if estimand == "bounded":
        return "bounded fit"
    return "least squares" if fitted.family.linear else "max. likelihood"
