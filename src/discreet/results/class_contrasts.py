"""Models of several classes that exclude each other, in contrasts to one of them: log odds and odds ratios."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.checks import meant
from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT
from discreet.errors import ParameterError
from discreet.results.inference import JointInference
from discreet.results.summary import number, to_pandas
from discreet.results.uncertainty import Inference

if TYPE_CHECKING:
    from discreet.results.fitted import Fitted
    from discreet.results.results import Results

TWO_CLASSES = Unavailable(
    "not available", "Intervals of a probability, and marginal effects on it, are those of a model of two classes."
)


def contrasts_to(found: Inference, classes: int, reference: int) -> Inference:
    """Infer differences of the coefficients of all other classes to those of one class."""
    assert isinstance(found, JointInference)
    D = np.delete(np.eye(classes), reference, axis=0)
    D[:, reference] = -1.0
    A: Floats = np.kron(D, np.eye(len(found.T) // classes)).astype(np.float64)
    return found.combined(A)


def place_of(fitted: Results, reference: Any) -> int:
    """Return the place of a class that others are to be compared with.

    Texts stand for classes that print alike, as those of a command line do.
    """
    classes = fitted.classes or ()
    if not fitted.contrasted:
        raise ParameterError("Only a multinomial model, of three or more classes, is compared with one of them.")
    found = [i for i, label in enumerate(classes) if label == reference or str(label) == reference]
    if not found:
        names = [str(label) for label in classes]
        hint = meant(reference, names) if isinstance(reference, str) else ""
        raise ParameterError(f"{reference!r} is no class of {fitted.target!r}.{hint} Classes: {', '.join(names)}.")
    return found[0]


def ratios(fitted: Results, level: float) -> Any:
    """Return e^coefficient with its interval, in a frame with a row for each coefficient but the intercepts."""
    found, ratio = fitted.intervals(level), fitted.family.words.ratio
    if not ratio:
        return Unavailable("not available", f"A {fitted.kind} has no ratios: only odds and rates have them.")
    if isinstance(found, Unavailable):
        return found
    estimates, p = fitted.coefficients, fitted.known("p_values")
    names = [name for name in found if fitted.coordinate(name) != CONSTANT]
    columns: dict[str, list[Any]] = {"name": names, ratio: [math.exp(estimates[name]) for name in names]}
    columns |= {side: [math.exp(found[name][i]) for name in names] for i, side in enumerate(("low", "high"))}
    return to_pandas(columns | {"p_value": [p[name] for name in names]})


def odds_column(fitted: Fitted) -> dict[str, list[str]]:
    """Return the odds ratios of contrasts to a class, for a summary; nothing of other models."""
    if fitted.reference_class is None:
        return {}
    cells = fitted.coefficients.items()
    return {"odds ratio": ["" if fitted.coordinate(name) == CONSTANT else number(_exp(value)) for name, value in cells]}


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
