"""A warning of pipeline steps that learn from the rows, which the promise of the estimator does not cover."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures
from sklearn.utils import get_tags

from discreet.errors import DiscreetWarning

_DEEP = 8
"""Maximum number of frames between a pipeline's own `fit` and that of its last step; there are two or three."""


def warn_of_learning_steps(estimator: Any) -> None:
    """Warn if a pipeline that is being fitted ends in this estimator, and has steps that learn from the rows."""
    learned = [step for step in steps_before(estimator) if learns(step)]
    if learned:
        names = ", ".join(dict.fromkeys(type(step).__name__ for step in learned))
        warnings.warn(
            f"{names} before {type(estimator).__name__} learns from the rows, so one person changes all of them: the "
            "promise covers what comes after it, not the pipeline. Leave it out, for columns are mapped from their "
            "bounds here, or take steps that read each row by itself; see docs/migrate/scikit_learn.md.",
            DiscreetWarning,
            stacklevel=3,
        )


def steps_before(estimator: Any) -> list[Any]:
    """Return the steps of the pipeline whose `fit` is under way and ends in this estimator; none without one."""
    frame = sys._getframe(1) if hasattr(sys, "_getframe") else None
    for _ in range(_DEEP):
        if frame is None:
            break
        owner = frame.f_locals.get("self")
        if isinstance(owner, Pipeline) and owner.steps[-1][1] is estimator:
            return [step for _, step in owner.steps[:-1]]
        frame = frame.f_back
    return []


def learns(step: Any) -> bool:
    """Whether a step's output for one row may depend on others; for unknown steps, whether they must be fitted.

    Examples
    --------
    >>> from sklearn.preprocessing import FunctionTransformer, StandardScaler
    >>> learns(StandardScaler()), learns(FunctionTransformer()), learns(OneHotEncoder(categories=[["a", "b"]]))
    (True, False, False)
    """
    if step is None or isinstance(step, str):  # "passthrough" and "drop"
        return False
    if isinstance(step, (Pipeline, FeatureUnion, ColumnTransformer)):
        return any(map(learns, _inner(step)))
    if isinstance(step, (OneHotEncoder, OrdinalEncoder)):
        return isinstance(step.categories, str)
    return not isinstance(step, PolynomialFeatures) and bool(get_tags(step).requires_fit)


def _inner(step: Any) -> Iterator[Any]:
    parts = step.steps if isinstance(step, Pipeline) else getattr(step, "transformer_list", None) or step.transformers
    return (part[1] for part in parts)
