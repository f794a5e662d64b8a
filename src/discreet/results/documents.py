"""Models as documents: "model" where coefficients were released themselves, else "results" or "many results"."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.field_kinds import (
    ANYTHING,
    FROM_0,
    MATRIX,
    NAMES,
    NUMBER,
    TEXT,
    TEXTS,
    VECTOR,
    check_shapes,
    many,
    maybe,
    one_of,
    record,
)
from discreet.core.fields import REQUIRED, DocumentFields, FieldKind, Fields, ref
from discreet.core.placeholders import Later, Unavailable, or_unavailable
from discreet.errors import FileFormatError, NotReleasedError
from discreet.families import FAMILIES, Family
from discreet.families.coordinates import ModelCoordinates
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.values import VALUES, GridValues
from discreet.released.certificate import VERSIONS, Certificate
from discreet.released.means import OLD_MEANS, ColumnMeans, column_means
from discreet.released.moments import ReleasedMoments
from discreet.released.search import outside_words
from discreet.released.units import regressors
from discreet.results.glm_inference import WITHOUT_ERRORS
from discreet.results.inference import loaded_inference
from discreet.results.marginal_inference import MarginalInference
from discreet.results.uncertainty import Inference

if TYPE_CHECKING:
    from discreet.results.results import Results

_INFERENCE = FieldKind(
    {"anyOf": [ref("inference"), ref("old_inference"), ref("unavailable")]}, write=lambda found: found.to_dict()
)
"""The standard errors of a model; their shapes follow from the rest of the file, so they are read after it."""

Fields("old_inference", "The form of early files; it is no longer read.", tilt=ANYTHING)
_CLASS = FieldKind({"type": ["string", "number", "boolean"]})
_RELEASE = TEXT(
    "The sha256 of the release that the model was fitted to; empty where it is not known.", absent="", old=True
)
_ROWS_SD = FROM_0("The sd of the noise in rows, 0 if they were declared; missing where it is not known.", absent=None)
_MEANS = or_unavailable(record(ColumnMeans))("Means of the columns.", absent=OLD_MEANS)
RESULTS = DocumentFields(
    "results",
    "A fitted linear model.",
    VERSIONS,
    certificate=record(Certificate),
    target=TEXT("The outcome."),
    model=TEXT("The method of the fit."),
    names=NAMES("Regressors, without the intercept."),
    coef=VECTOR("Slopes in the user's units, in the order of names."),
    intercept=NUMBER,
    rows=maybe(NUMBER)("The number of rows, if the release contains it.", absent=None, old=True),
    rows_sd=_ROWS_SD,
    release=_RELEASE,
    remarks=TEXTS(absent=()),
    means=_MEANS,
    inference=_INFERENCE(absent=None, old=True),
)
MODEL = DocumentFields(
    "model",
    "A released model of classes or counts.",
    VERSIONS[2:],
    certificate=record(Certificate),
    target=TEXT("The outcome."),
    model=TEXT("The estimator."),
    names=NAMES,
    link=one_of(lambda: FAMILIES)(
        "The mean of y is its inverse at intercept + coef'x; the sign of that is the class for sign."
    ),
    coef=replace(MATRIX, write=lambda coef: np.atleast_2d(coef).tolist())(
        "A row for each linear predictor, in the user's units."
    ),
    intercept=replace(VECTOR, write=lambda intercept: np.atleast_1d(intercept).tolist()),
    classes=maybe(many(_CLASS))(
        "With two of them the predictor is of the second; with more there is one predictor for each."
    ),
    weights=maybe(MATRIX)("Weights of an adaptive penalty."),
    values=VALUES("Other released values.", absent=(), since=5),
    inference=_INFERENCE(absent=WITHOUT_ERRORS),
)
MANY_RESULTS = DocumentFields(
    "many results",
    "Linear models of several outcomes.",
    VERSIONS,
    certificate=record(Certificate),
    targets=TEXTS("The outcomes."),
    names=NAMES,
    model=TEXT,
    rows=NUMBER,
    rows_sd=_ROWS_SD,
    coef=MATRIX("A row for each outcome."),
    intercept=VECTOR,
    release=replace(_RELEASE, absent=REQUIRED),
    means=_MEANS,
    inference=FieldKind({"anyOf": [ref("many_inference"), ref("unavailable")]}, write=lambda found: found.to_dict()),
)
_TABLES = {table.kind: table for table in (RESULTS, MODEL, MANY_RESULTS)}
FORMAT_VERSIONS = {kind: table.versions for kind, table in _TABLES.items()}
"""Versions of each kind. Certificates of models hold events that versions 1 and 2 do not know; 4 has functions of
columns, 5 models in private coordinates, with the other values released."""


def document(fitted: Results) -> dict[str, Any]:
    """The body of a model's file."""
    certificate = fitted.certificate
    if fitted.several:
        return MANY_RESULTS.body(fitted, certificate.format_version)
    if fitted.release_later is not None:
        return RESULTS.body(fitted, certificate.format_version)
    body = MODEL.body(fitted, max(MODEL.versions[0], MODEL.version(fitted), certificate.format_version))
    return body | {"inference": fitted.inference_later().to_dict()} if fitted.values else body


def facts_of(body: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a document of any kind, by the names that `Results` has for it."""
    facts = _TABLES[body["kind"]].read(body)
    if "target" in facts:
        facts["targets"] = (facts.pop("target"),)
    facts["names"] = regressors(facts["certificate"].domain, facts["names"], facts["targets"])
    d, kind = len(facts["names"]), body["kind"]
    return _released(facts, d) if kind == MODEL.kind else _solved(facts, d, several=kind == MANY_RESULTS.kind)


def _solved(facts: dict[str, Any], d: int, *, several: bool) -> dict[str, Any]:
    """Return the facts of a model of one outcome, or of several, that was fitted to a release."""
    told, release, m = facts.pop("inference"), facts.pop("release"), len(facts["targets"])
    check_shapes(facts, {"coef": (m, d), "intercept": (m,)} if several else {"coef": (d,)})
    found: Inference | Unavailable
    if several:
        found = MarginalInference.from_dict(told, m, d + 1) if "estimate" in told else Unavailable.from_dict(told)
    else:
        found = loaded_inference(told, d + 1)
    return facts | {"inference_later": Later.of(found), "release_later": Later.of(release)}


def _released(facts: dict[str, Any], d: int) -> dict[str, Any]:
    """Return the facts of a model whose coefficients were released."""
    told, coef, intercept, classes = facts.pop("inference"), facts["coef"], facts["intercept"], facts["classes"]
    certificate, values, count = facts["certificate"], facts["values"], len(coef)
    check_shapes(facts, {"coef": (count, d), "intercept": (count,), "weights": (count, d)})
    if not _are_classes(classes, count, FAMILIES[facts["link"]]):
        raise FileFormatError("it is damaged: its link or its classes are not those of a model.")
    if values:
        ReleasedMoments(certificate, values).check_values()
    if told is not WITHOUT_ERRORS:
        told = loaded_inference(told, (d + 1) * (count if FAMILIES[facts["link"]].joint else 1))
    elif values:
        raise FileFormatError("it is damaged: it lacks standard errors.")
    one = {} if classes else {"coef": coef[0], "intercept": float(intercept[0])}
    return facts | one | {"inference_later": Later.of(told)} | released_facts(certificate, values)


def released_facts(certificate: Certificate, values: tuple[tuple[GridValues, ...], ...]) -> dict[str, Any]:
    """Return the facts of a model whose coefficients were released, with the noisy values of its stages, if any."""
    facts: dict[str, Any] = {"values": values, "release_later": None, "rows": certificate.rows}
    if not values:
        return facts
    released = ReleasedMoments(certificate, values)
    exposure = exposure_of(certificate)
    rates = () if exposure is None else (f"Rates, and predictions, are for one unit of {exposure}.",)
    remarks = *rates, *outside_words(released)
    with contextlib.suppress(NotReleasedError):  # of a file whose stages were tampered with, which `check_saved` finds
        facts["rows"], facts["rows_sd"] = released.rows_and_noise()
        facts["means"] = column_means(released)
    return facts | {"remarks": remarks}


def exposure_of(certificate: Certificate) -> str | None:
    """Return the column of the exposure that rates are for one unit of, if there is one."""
    own = [event.coordinates for event in certificate.of(StageEvent)]
    return next((at.exposure for at in own if isinstance(at, ModelCoordinates)), None)


def _are_classes(classes: tuple[Any, ...] | None, count: int, family: Family) -> bool:
    """Whether classes are different scalars, as many as there are linear predictors; or two, or none, for one."""
    if classes is None:
        return count == 1 and not family.classes
    plain = all(isinstance(label, str | int | float) for label in classes)
    different = plain and len(set(map(str, classes))) == len(classes)
    return different and family.classes and (count == 1 if len(classes) == 2 else count == len(classes) > 2)
