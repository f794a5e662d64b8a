"""Models as documents: "model" where coefficients were released themselves, else "results" or "many results"."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.files import number, numbers, text, texts
from discreet.core.placeholders import Later, Unavailable
from discreet.errors import FileFormatError, NotReleasedError
from discreet.families import FAMILIES, Family
from discreet.families.coordinates import Linked
from discreet.privacy.values import GridValues
from discreet.released.certificate import VERSIONS, Certificate
from discreet.released.moments import ReleasedMoments
from discreet.released.units import regressors
from discreet.results.glm_inference import WITHOUT_ERRORS
from discreet.results.inference import loaded_inference
from discreet.results.marginal_inference import MarginalInference

if TYPE_CHECKING:
    from discreet.results.results import Results

FORMAT_VERSIONS = {"results": VERSIONS, "many results": VERSIONS, "model": (3, 4, 5)}
"""Versions of each kind. Certificates of models hold events that versions 1 and 2 do not know; 4 has functions of
columns, 5 models in private coordinates, with the other values released."""


def document(fitted: Results) -> dict[str, Any]:
    """The body of a model's file."""
    certificate = fitted.certificate
    if fitted.several:
        return _several_document(fitted)
    facts = {"target": fitted.target, "model": fitted.model, "names": list(fitted.names)}
    if fitted.release_later is not None:
        body = {"kind": "results", "format_version": certificate.format_version, "certificate": certificate.to_dict()}
        known = {"coef": fitted.coef.tolist(), "intercept": fitted.intercept, "rows": fitted.rows}
        told = {"remarks": list(fitted.remarks)} if fitted.remarks else {}
        return body | facts | known | {"release": fitted.release} | told | {"inference": fitted.inference.to_dict()}
    versions = FORMAT_VERSIONS["model"]
    version = versions[-1] if fitted.values else max(versions[0], certificate.domain.format_version)
    body = {"kind": "model", "format_version": version, "certificate": certificate.to_dict()}
    body |= facts | {"link": fitted.link}
    body |= {"coef": np.atleast_2d(fitted.coef).tolist(), "intercept": np.atleast_1d(fitted.intercept).tolist()}
    body["classes"] = None if fitted.classes is None else list(fitted.classes)
    body["weights"] = None if fitted.weights is None else fitted.weights.tolist()
    if fitted.values:
        body["values"] = [[part.to_dict() for part in parts] for parts in fitted.values]
    if fitted.values or fitted.inference != WITHOUT_ERRORS:
        body["inference"] = fitted.inference.to_dict()
    return body


def _several_document(fitted: Results) -> dict[str, Any]:
    """The body of a file of several outcomes."""
    certificate = fitted.certificate
    body = {"kind": "many results", "format_version": certificate.format_version, "certificate": certificate.to_dict()}
    facts = {"targets": list(fitted.targets), "names": list(fitted.names), "model": fitted.model, "rows": fitted.rows}
    numbers = {"coef": fitted.coef.tolist(), "intercept": fitted.intercept.tolist(), "release": fitted.release}
    return body | facts | numbers | {"inference": fitted.inference.to_dict()}


def facts_of(body: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a document of any kind, by the names that `Results` has for it."""
    certificate, several = Certificate.from_dict(body["certificate"]), body["kind"] == "many results"
    targets = texts(body["targets"]) if several else (text(body["target"]),)
    names = regressors(certificate.domain, texts(body["names"]), targets)
    facts = {"targets": targets, "names": names, "model": text(body["model"]), "certificate": certificate}
    if several:
        return facts | _several(body, len(targets), len(names))
    return facts | (_released if body["kind"] == "model" else _solved)(body, certificate, len(names))


def _several(body: dict[str, Any], m: int, d: int) -> dict[str, Any]:
    """The rest of a model of several outcomes."""
    found = body["inference"]
    known = "estimate" in found
    return {
        "coef": numbers(body["coef"], (m, d)),
        "intercept": numbers(body["intercept"], (m,)),
        "inference_later": Later.of(
            MarginalInference.from_dict(found, m, d + 1) if known else Unavailable.from_dict(found)
        ),
        "rows": number(body["rows"]),
        "release_later": Later.of(text(body["release"])),
    }


def _solved(body: dict[str, Any], certificate: Certificate, d: int) -> dict[str, Any]:
    """The rest of a model that a release was solved for."""
    return {
        "coef": numbers(body["coef"], (d,)),
        "intercept": number(body["intercept"]),
        "inference_later": Later.of(loaded_inference(body.get("inference"), d + 1)),
        "rows": None if body.get("rows") is None else number(body["rows"]),
        "release_later": Later.of(text(body.get("release", ""))),
        "remarks": texts(body.get("remarks", [])),
    }


def _released(body: dict[str, Any], certificate: Certificate, d: int) -> dict[str, Any]:
    """The rest of a model that was released itself."""
    link, count = body["link"], len(body["coef"])
    coef, intercept = numbers(body["coef"], (count, d)), numbers(body["intercept"], (count,))
    weights = None if body["weights"] is None else numbers(body["weights"], coef.shape)
    classes = None if body["classes"] is None else tuple(body["classes"])
    known = FAMILIES.get(link) if isinstance(link, str) else None
    if known is None or not _are_classes(classes, count, known):
        raise FileFormatError("it is damaged: its link or its classes are not those of a model.")
    values = tuple(tuple(map(GridValues.from_dict, parts)) for parts in body.get("values", ()))
    if values:
        ReleasedMoments(certificate, values).check_values()
    told = loaded_inference(body["inference"], d + 1) if values or "inference" in body else WITHOUT_ERRORS
    one = {"coef": coef, "intercept": intercept} if classes else {"coef": coef[0], "intercept": float(intercept[0])}
    facts = {"inference_later": Later.of(told), "link": link, "classes": classes, "weights": weights}
    return one | facts | released_facts(certificate, values)


def released_facts(certificate: Certificate, values: tuple[tuple[GridValues, ...], ...]) -> dict[str, Any]:
    """Return the facts of a model that was released itself, with the noisy values of its stages, if it has any."""
    facts: dict[str, Any] = {"values": values, "release_later": None, "rows": certificate.rows}
    if not values:
        return facts
    released = ReleasedMoments(certificate, values)
    own = [stage.event.coordinates for stage in released.stages]
    exposure = next((at.exposure for at in own if isinstance(at, Linked)), None)
    remarks = () if exposure is None else (f"Rates, and predictions, are for one unit of {exposure}.",)
    with contextlib.suppress(NotReleasedError):  # of a file whose stages were tampered with, which `check_saved` finds
        facts["rows"] = released.rows()
    return facts | {"remarks": remarks}


def _are_classes(classes: tuple[Any, ...] | None, count: int, family: Family) -> bool:
    """Whether classes are different scalars, as many as there are linear predictors; or two, or none, for one."""
    if classes is None:
        return count == 1 and not family.classes
    plain = all(isinstance(label, str | int | float) for label in classes)
    different = plain and len(set(map(str, classes))) == len(classes)
    return different and family.classes and (count == 1 if len(classes) == 2 else count == len(classes) > 2)
