"""Average effects on the expected outcome of a generalised linear model: on a probability, or on a rate.

An effect is a smooth function g of (intercept, coefficients) b; with G its gradient at the estimate, the errors of g(b)
are those of the weighted sum G'b (the delta method), which is what `Inference.contrast` knows all about.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.placeholders import Unavailable
from discreet.domain import Numeric
from discreet.domain.derived import unit_of
from discreet.released.units import unit_over
from discreet.results.contrasts import Contrasts
from discreet.results.effects import Setting, Variables
from discreet.results.estimate import Estimate, Law
from discreet.results.inference import Inference

Mean = Callable[[Floats], tuple[Floats, Floats]]
"""From linear predictors to expected outcomes, and to the slopes of these."""


@dataclass(frozen=True, eq=False)
class _Moved:
    """The law of an estimate whose value is so much above that of a weighted sum."""

    law: Law
    by: float

    def interval(self, level: float) -> Floats | Unavailable:
        """The ends, moved."""
        ends = self.law.interval(level)
        return ends if isinstance(ends, Unavailable) else ends + self.by

    def p_values_at(self, values: Floats) -> Floats | Unavailable:
        """Of the tests that it has these values."""
        return self.law.p_values_at(values - self.by)


def smooth(inference: Inference, value: float, gradient: Floats) -> Estimate:
    """A smooth function of (intercept, coefficients), with its value and its gradient at the estimate."""
    linear = inference.contrast(gradient)
    return replace(linear, value=value, law=_Moved(linear.law, value - linear.value))


def average_effects(
    target: str, inference: Inference, found: Variables, at: Setting, mean: Mean, note: str, outcome: str
) -> Contrasts:
    """What one unit more of each variable, or a level instead of the first, changes of the expected outcome.

    Parameters
    ----------
    target : str
        The outcome.
    inference : Inference
        What is known of the coefficients.
    found : Variables
        The variables.
    at : Setting
        The rows over which effects are averaged.
    mean : callable
        From linear predictors to expected outcomes and their slopes.
    note, outcome : str
        What stands below the table, and the unit of the expected outcome.
    """
    names, estimates, units, b = [], [], [], inference.estimate
    for variable, spec in found.specs.items():
        names += found.labels(variable)
        unit = unit_of(spec) if isinstance(spec, Numeric) else None
        for A, B, width in found.ends(variable, at):
            (low, slope), (high, steep) = mean(A @ b), mean(B @ b)
            gradient = ((steep[:, None] * B - slope[:, None] * A) / width[:, None]).mean(axis=0)
            estimates.append(smooth(inference, float(np.mean((high - low) / width)), gradient))
            units.append(unit_over(outcome, unit))
    nothing = (0.0,) * len(estimates)
    facts: tuple[Any, ...] = (tuple(names), tuple(estimates), nothing, tuple(units), (note,))
    return Contrasts(f"Average marginal effects on {target}", *facts)
