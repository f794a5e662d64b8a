"""The two fits that intervals can be about, and the public rule that says which of them is shown first.

The *declared* fit is least squares under the declared bounds: what far rows and far residuals would add to the released
sums is charged to the intervals. The *bounded* fit is the one in which they count less, as the release states; it has
nothing to charge. Both have the same estimate. The rule looks at released numbers only, so it costs no privacy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeVar, get_args

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.placeholders import Unavailable

if TYPE_CHECKING:
    from discreet.results.uncertainty import Inference

Estimand = Literal["declared", "bounded"]
ESTIMANDS: tuple[Estimand, ...] = get_args(Estimand)

EstimandChoice = Literal["auto", "declared", "bounded"]
CHOICES: tuple[EstimandChoice, ...] = get_args(EstimandChoice)

MOST_WIDER = 1.25
"""Least squares is first where its intervals are at most this many times as wide as those about the bounded fit."""

ALIKE = 1.02
"""Where no interval is more than this many times as wide as the other one, a single one is shown."""

AnyInference = TypeVar("AnyInference", bound="Inference")


def resolved(found: AnyInference, asked: EstimandChoice = "auto") -> AnyInference:
    """Return an inference about the fit that is asked for; "auto" follows the public rule."""
    return found.about(preferred(found) if asked == "auto" else asked)


def preferred(found: Inference) -> Estimand:
    """Return the fit that intervals are about unless another is asked for; the bounded one where nothing is charged."""
    return "declared" if found.charged and times_as_wide(found) <= MOST_WIDER else "bounded"


def second(found: Inference) -> Inference | None:
    """Return the inference about the other fit, which is shown beside the first; None where they are alike."""
    if not found.charged or float(np.max(_ratios(found), initial=1.0)) <= ALIKE:
        return None
    return found.about("bounded" if found.estimand == "declared" else "declared")


def times_as_wide(found: Inference) -> float:
    """Return how many times as wide intervals about least squares are: the median over those that are given."""
    ratios = _ratios(found)
    return float(np.median(ratios)) if ratios.size else 1.0


def widths_by_outcome(found: Inference) -> Floats:
    """Return `times_as_wide` for each outcome that has intervals."""
    rows = np.atleast_2d(_all_ratios(found))
    return np.array([np.median(row[np.isfinite(row)]) for row in rows if np.isfinite(row).any()])


def _ratios(found: Inference) -> Floats:
    """Return standard errors about least squares over those about the bounded fit, where they are given."""
    ratios = np.ravel(_all_ratios(found))
    return np.asarray(ratios[np.isfinite(ratios)], dtype=np.float64)


def _all_ratios(found: Inference) -> Floats:
    """Return the same for all coefficients, a row for each of several outcomes; NaN where they are not given."""
    declared, bounded = (found.about(own).errors for own in ESTIMANDS)
    if isinstance(declared, Unavailable) or isinstance(bounded, Unavailable):
        return np.empty(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(found.given, declared / bounded, np.nan)
