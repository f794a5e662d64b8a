"""Plans as documents."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.core.field_kinds import (
    ANYTHING,
    COUNT,
    NAMES,
    NEIGHBORS,
    NUMBER,
    OBJECT,
    TEXT,
    TEXTS,
    by_name,
    many,
    maybe,
    record,
)
from discreet.core.fields import DocumentFields, Fields
from discreet.core.placeholders import Unavailable
from discreet.planning.facts import PlanFacts
from discreet.planning.simulation import Expected

_GAPS = replace(many(maybe(NUMBER)), write=lambda values: [float(v) if math.isfinite(v) else None for v in values])
"""Numbers, null where one is missing."""

_FOUND = replace(maybe(NUMBER), write=lambda value: None if isinstance(value, Unavailable) else float(value))
_HOPELESS = replace(OBJECT, write=lambda why: {f"{epsilon:g}": reason for epsilon, reason in why.items()})
_EXPECTED = Fields(
    "expected_accuracy",
    "",
    method=TEXT,
    epsilon=NUMBER,
    mse=maybe(NUMBER)("Mean squared error of prediction; null where nobody told the outcome's sd."),
    mse_range=many(maybe(NUMBER))("The range of mse over four tables in five."),
    vs_trivial=NUMBER("The error relative to that of predicting the mean."),
    vs_non_private=NUMBER("The error relative to that without privacy."),
    stages=maybe(COUNT),
    rmse=_GAPS,
    std_err=_GAPS,
    width=_GAPS("Of intervals."),
    per_sd=_GAPS(
        "Standard errors in sds of the outcome, of the effect of one sd of the regressor.", absent=None, old=True
    ),
)
_ANSWER = Fields(
    "answer",
    "",
    want=TEXT(attribute="want.words"),
    epsilon=_FOUND,
    rows=replace(by_name(_FOUND), write=lambda rows: {f"{epsilon:g}": _FOUND.write(n) for epsilon, n in rows.items()}),
)


def _expected(found: Expected) -> dict[str, Any]:
    """Expected errors; each number that fits do not give is missing."""
    none = np.full(np.shape(found.rmse), np.nan)
    held = {key: getattr(found, key) for key in ("std_err", "width", "per_sd")}
    held = {key: none if isinstance(values, Unavailable) else values for key, values in held.items()}
    written = _EXPECTED.write(replace(found, **held))
    return written if found.in_units else written | {"mse": None, "mse_range": [None, None]}


PLAN = DocumentFields(
    "plan",
    "The expected accuracy of linear models; made without data.",
    (1,),
    facts=record(PlanFacts),
    delta=NUMBER(attribute="promise.delta"),
    neighbors=NEIGHBORS(attribute="promise.neighbors"),
    level=NUMBER("Of intervals.", attribute="promise.level"),
    stages=ANYTHING,
    draws=COUNT("The number of simulated tables."),
    simulated_r_squared=NUMBER(attribute="r_squared"),
    names=NAMES,
    expected=many(replace(record(_EXPECTED), write=_expected)),
    declared=many(replace(record(_EXPECTED), write=_expected))(
        "The same with guessed ranges declared as bounds, where columns have none.", absent=()
    ),
    hopeless=_HOPELESS("By epsilon, why a search for bounds cannot succeed.", absent={}),
    left_out=ANYTHING,
    answers=many(record(_ANSWER)),
    tighter=many(replace(OBJECT, write=vars)),
    spreads=many(replace(OBJECT, write=lambda spread: vars(spread) | {"columns": list(spread.columns)})),
    rows_per_person=replace(by_name(NUMBER), write=lambda people: {str(m): share for m, share in people.items()})(
        attribute="people"
    ),
    method=TEXT("The best method.", attribute="best"),
    advice=replace(ANYTHING, write=lambda advice: advice()),
)
_MODEL_EXPECTED = Fields(
    "model_expected_accuracy",
    "",
    epsilon=NUMBER,
    excess=NUMBER,
    best=NUMBER,
    std_err=_GAPS,
    privacy_noise=_GAPS,
    error=_GAPS,
    intervals=COUNT(
        "How many of the intercept and the coefficients most fits give intervals for.", absent=None, old=True
    ),
)
MODEL_PLAN = DocumentFields(
    "plan",
    "The expected accuracy of a model of classes or counts; made without data.",
    (1,),
    "model_plan",
    method=TEXT,
    target=TEXT,
    names=NAMES,
    rows=COUNT,
    delta=NUMBER(attribute="promise.delta"),
    draws=COUNT,
    needs=many(TEXTS)("By coefficient, the guesses that nobody made and that its errors depend on.", absent=()),
    expected=many(record(_MODEL_EXPECTED)),
    declared=many(record(_MODEL_EXPECTED))(
        "The same with guessed ranges declared as bounds, where columns have none.", absent=()
    ),
    hopeless=_HOPELESS("By epsilon, why a search for bounds cannot succeed.", absent={}),
)
