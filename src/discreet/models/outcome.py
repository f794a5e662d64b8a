"""Classes of an outcome, and the labels that y stands for: public facts, declared and never read off the data."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from discreet.core.arrays import Floats
from discreet.domain.value_types import is_missing
from discreet.domain.values import entries
from discreet.errors import DataError, ParameterError

PUBLIC = "public"
"""The value of ``classes`` that declares the set of labels in y to be public knowledge."""


def named_outcomes(target: Any) -> tuple[str, ...]:
    """Return the names of the outcomes: one, or a list of several.

    Examples
    --------
    >>> named_outcomes("income"), named_outcomes(["income", "visits"])
    (('income',), ('income', 'visits'))
    """
    if isinstance(target, str):
        return (target,)
    names = tuple(target) if isinstance(target, Iterable) and not isinstance(target, Mapping) else ()
    if not names or not all(isinstance(name, str) for name in names):
        got = "None" if target is None else type(target).__name__  # whose entries may be private values
        raise ParameterError(
            f"target must name the outcome, for example 'income', or list several, as ['income', 'visits']; got {got}."
        )
    return names


def declared_classes(classes: Any, y: Any) -> tuple[Any, ...]:
    """Return the classes of plain arrays: as declared, or the labels of y where those are declared to be public."""
    if isinstance(classes, str) and classes == PUBLIC:
        return _found_classes(entries(y))
    if classes is None:
        raise ParameterError(
            "Declare the classes of y: classes=[0, 1], or a domain whose outcome is a category. If the set of labels "
            "in y is public knowledge anyway, classes='public' takes it from y."
        )
    if isinstance(classes, str) or not isinstance(classes, (Sequence, np.ndarray)) or len(classes) < 2:
        raise ParameterError("classes must be a list of at least two labels, for example classes=[0, 1].")
    listed = [_label(label) for label in classes]
    try:
        twice = len(set(listed)) < len(listed)
    except TypeError:
        raise ParameterError("classes must be labels: numbers, text or truth values.") from None
    if twice:
        raise ParameterError("A class is listed twice in classes.")
    return tuple(listed)


def _found_classes(labels: list[Any]) -> tuple[Any, ...]:
    """Return the labels that occur, in order."""
    if any(is_missing(label) or (isinstance(label, Real) and abs(label) == np.inf) for label in labels):
        raise DataError("y holds missing (NaN) or infinite values. Fill them, or leave out those rows.")
    try:
        with warnings.catch_warnings():  # they compare the number of labels with that of rows, which is private
            warnings.simplefilter("ignore")
            check_classification_targets(np.asarray(labels))
        kinds = sorted({(type(label).__name__, label) for label in map(_label, labels)}, key=lambda pair: pair[0])
        found = sorted({label: None for _, label in kinds})
    except (TypeError, ValueError):  # which may quote labels
        raise DataError("Unknown label type: y must hold a few labels of one kind, all numbers or all text.") from None
    if len(found) < 2:
        raise DataError("y holds one class only: a classifier needs at least two.")
    return tuple(found)


def _label(value: Any) -> Any:
    """Return a label as the Python object that numpy's stands for."""
    return value.item() if isinstance(value, np.generic) else value


def codes(y: Any, classes: Sequence[Any]) -> Floats:
    """Return the indices of the labels among the classes, each found by its exact value and whatever the others are.

    An undeclared label is an error that does not say which.
    """
    dtype = getattr(y, "dtype", None)
    plain = isinstance(dtype, np.dtype) and dtype.kind in "biuf" and dtype.itemsize <= 8
    try:
        if plain and not isinstance(y, np.ma.MaskedArray):
            return _codes_of_numbers(np.asarray(y), classes)
        known = {label: float(k) for k, label in enumerate(classes)}
        return np.array([known[label] for label in map(_label, entries(y))], dtype=np.float64)
    except (KeyError, TypeError):
        raise DataError(
            "y holds a label that is not among the declared classes. Remedy: declare it, or recode y."
        ) from None


def _codes_of_numbers(values: NDArray[Any], classes: Sequence[Any]) -> Floats:
    """Return `codes` for an array of one type of numbers; a class that the type cannot hold exactly is in no row."""
    places, found = np.zeros(len(values)), 0
    for k, label in enumerate(classes):
        held = values.dtype.type(label) if _holds(values.dtype, label) else None
        if held is not None:
            here = values == held
            places[here] = k
            found += int(np.count_nonzero(here))
    if found < len(values):
        raise KeyError("a label is none of the classes")
    return places


def _holds(dtype: np.dtype[Any], label: Any) -> bool:
    """Whether a type of numbers holds a label exactly."""
    if not isinstance(label, Real) or label != label:
        return False
    try:
        with np.errstate(over="ignore"):
            return bool(dtype.type(label).item() == label)
    except OverflowError:  # whole numbers that the type is too small for
        return False
