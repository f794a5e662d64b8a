"""The words and the second interval of tables of coefficients, of one outcome or of several."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.placeholders import Unavailable
from discreet.results.estimands import Estimand, times_as_wide, widths_by_outcome
from discreet.results.summary import number

if TYPE_CHECKING:
    from discreet.results.fitted import Fitted
    from discreet.results.uncertainty import Inference

PREDICTIONS = "Predictions use other coefficients, coef_ and intercept_, which are adjusted for noise."

_VISIBLE = 0.1
"""Coefficients differ visibly from this share of the standard error about the bounded fit on."""

_APART = 1.5
"""Outcomes whose intervals widen by more than this factor more than others' are told as a range."""


def visibly_moved(fitted: Fitted) -> bool:
    """Whether the coefficients that predict visibly differ from the estimates.

    A coefficient whose interval is withheld is shown as it predicts, so it does not.
    """
    if isinstance(fitted.inference, Unavailable):
        return False
    bounded, coef, shown = fitted.about("bounded"), fitted.table("coef"), fitted.table("params")
    errors = bounded.table("std_err")
    errors = bounded.table("privacy_noise") if isinstance(errors, Unavailable) else errors
    assert not any(isinstance(part, Unavailable) for part in (coef, shown, errors))
    return bool(np.any(np.abs(coef - shown) > _VISIBLE * errors))  # type: ignore[operator]


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
        wider = _times_as_wide(found) if fitted.second is not None else ""
        beside = f"; those about {plain} all rows are {wider} times as wide" if wider else ""
        return f"Intervals are about {bounded}{beside}."
    beside = f"; those beside them are about {bounded}" if fitted.second is not None else ""
    return f"Intervals are about {plain} the table, with every column clipped to its declared bounds{beside}."


def _times_as_wide(found: Inference) -> str:
    """Say how many times as wide the other intervals are: the median; or its range over outcomes, where they differ."""
    each = widths_by_outcome(found)
    if each.size > 1 and each.max() > _APART * each.min():
        return f"{_two_digits(each.min())} to {_two_digits(each.max())}"
    return _two_digits(times_as_wide(found))


def _two_digits(value: float) -> str:
    """Format a factor with two digits.

    Examples
    --------
    >>> _two_digits(1.234), _two_digits(123.4)
    ('1.2', '120')
    """
    return f"{float(f'{value:.2g}'):,g}"


def _fit(fitted: Fitted, estimand: Estimand) -> str:
    if estimand == "bounded":
        return "bounded fit"
    return "least squares" if fitted.family.linear else "max. likelihood"
