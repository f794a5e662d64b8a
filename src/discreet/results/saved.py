"""Saved documents of every kind that carries a certificate, and checks of them from the file alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core.files import Document, Source, differences, reading
from discreet.core.threads import threads_for
from discreet.domain import CONSTANT
from discreet.domain.kinds.base import Column
from discreet.errors import DiscreetError
from discreet.families.coordinates import ModelCoordinates
from discreet.mechanisms.objective_perturbation.event import ObjectiveEvent
from discreet.privacy.events.base import Event, Finding
from discreet.privacy.events.coordinates import StageEvent
from discreet.recipes.glm import Glm
from discreet.recipes.wide import Wide
from discreet.released.certificate import Certificate
from discreet.released.noiseless import noiseless
from discreet.released.possible import impossible
from discreet.released.units import column_of
from discreet.results.documents import FORMAT_VERSIONS
from discreet.results.misfits import misfits
from discreet.results.private_moments import PrivateMoments
from discreet.results.released_model import ReleasedModel
from discreet.results.results import Results

Saved = PrivateMoments | Results

_FAILURES = (DiscreetError, KeyError, ValueError, IndexError, ArithmeticError)
"""Errors that a recomputation may raise for values that no release has."""

_WITHOUT_ERRORS = ("inference", "release", "rows")
"""Entries that files of linear models did not have at first: all of them, or none, may be missing."""


def load_saved(source: Source) -> Saved:
    """Load a release of moments or a model, of the kind that the file states."""
    document = Document.of(source)
    return Results.load(document) if document.kind in FORMAT_VERSIONS else PrivateMoments.load(document)


def load_certificate(source: Source) -> Certificate:
    """Load the certificate of a release of moments or of a model."""
    return load_saved(source).certificate


def check_file(source: Source) -> tuple[Saved, list[Finding]]:
    """Load a file, check its costs and numbers, and compare it with its recomputed document."""
    document = Document.of(source)
    saved = load_saved(document)
    found = check_saved(saved)
    with reading(document.path):
        listed = {name: value for name, value in document.body.items() if name != "sha256"}
        old = () if listed.keys() & set(_WITHOUT_ERRORS) else _WITHOUT_ERRORS
        differing = differences(listed, saved._document(), missing=old)
    return saved, [*found, *(Finding("entries of the file", False, why) for why in differing)]


def check_saved(saved: Saved | ReleasedModel) -> list[Finding]:
    """Check the certificate, and whether the numbers in the file can come from the events that it lists."""
    if isinstance(saved, ReleasedModel):
        saved = saved.results()
    with np.errstate(all="ignore"), threads_for(len(saved.certificate.domain.entries)):
        numbers = [("numbers of the model", why) for why in _misfits(saved)]
        wrong = [*numbers, *_values(saved)]
        found = saved.certificate.check(getattr(saved, "values", None) or None)
    return [*found, *(Finding(what, False, why) for what, why in wrong if why is not None)]


def _misfits(saved: Saved) -> list[str]:
    """Return the reasons that the numbers of a model cannot come from the listed events; none if they can."""
    if isinstance(saved, PrivateMoments):
        return []
    try:
        why = _unexplained(saved)
        return list(misfits(saved)) if why is None else [why]
    except (DiscreetError, KeyError):
        return ["the certificate is about other columns"]
    except _FAILURES:
        return ["what was released does not tell the numbers of the model"]


def _values(saved: Saved) -> list[tuple[str, str | None]]:
    """Return the reason that noisy values cannot be those of a table with the listed noise, if they cannot."""
    if not isinstance(saved, PrivateMoments) and not saved.values:
        return []
    released = saved.released if isinstance(saved, Results) else saved
    found = [("released values", why) for why in impossible(released)]
    return [*found, ("noise in released values", noiseless(released))]


def _unexplained(saved: Results) -> str | None:
    """Return the reason that numbers in a file cannot come from the listed events, if they cannot."""
    events = saved.certificate.events
    if not events:
        return "the file holds coefficients, and its certificate lists nothing that was computed from data"
    for event in events:
        if (event.coefficients or event.rotated is not None) and (why := _differs(saved, event)) is not None:
            return why
    if saved.certificate.of(ObjectiveEvent):
        return _stages(saved)
    if (saved.certificate.recipe or {}).get("name") in (Glm.name, Wide.name) and not saved.values:
        return "the file lacks the released values that its coefficients follow from"
    steps = [event.coordinates for event in saved.certificate.of(StageEvent)]
    if models := [own for own in steps if isinstance(own, ModelCoordinates)]:
        return _other_model(saved, models[-1])
    if not events[0].coefficients and not _are_released(saved):
        return "the file holds coefficients of columns whose products are not listed"
    return None


def _differs(saved: Results, event: Event) -> str | None:
    """Return the difference between released coefficients and those that an event lists, if there is one."""
    domain = saved.certificate.domain
    names = {*saved.names, CONSTANT} if domain.intercept else {*saved.names}
    columns = {domain.entries[i].column for i in domain.indices(names)}  # of categories, a design may hold every level
    listed = {domain.entries[i].column for i in domain.indices(event.regressors)}
    if not names <= set(event.regressors) or listed != columns:
        return "the file holds coefficients of other regressors than the certificate lists"
    if event.response is None:
        return None
    if [column_of(domain, event.response)] != [column_of(domain, t) for t in saved.targets]:
        return "the file holds coefficients for another outcome than the certificate lists"
    return None


def _are_released(saved: Results) -> bool:
    """Whether products of the regressors, and of these with each outcome, are listed."""
    domain, blocks = saved.certificate.domain, saved.certificate.blocks
    stages = saved.certificate.of(StageEvent)
    rotated = {
        name for event in stages for block in event.blocks if block.statistic == "cross" for name in block.columns
    }
    column = domain.column_of  # a level follows from the others, so columns are enough
    held = {column[name] for block in blocks if block.statistic == "gram" for name in block.rows}
    names = {column[name] for name in ({*saved.names, CONSTANT} if domain.intercept else {*saved.names})}
    crossed = [block for block in blocks if block.statistic == "cross"]
    for target in saved.targets:
        outcome = domain.entries[domain.target(target)].name
        cross = {column[name] for block in crossed if outcome in block.columns for name in block.rows}
        if outcome not in rotated and (not names <= held or not (column[outcome] in held or names <= cross)):
            return False
    return True


def _stages(saved: Results) -> str | None:
    """Return the reason that objectives cannot be those of a model, if they cannot: too few, or of another loss."""
    events = saved.certificate.of(ObjectiveEvent)
    pilots = [event for event in events if event.declared is None]
    if len(pilots) != len(saved.predictors) or (len(events) > len(pilots)) != (saved.weights is not None):
        return "the model has other linear predictors, or stages, than the certificate lists objectives"
    if not all(isinstance(event.loss, saved.family.losses) for event in events):
        return f"no {saved.kind} has the loss that the certificate lists"
    domain = saved.certificate.domain
    column = domain.columns[column_of(domain, saved.target)]
    if saved.classes is not None and not _are_of(saved.classes, column, level=saved.target not in domain.columns):
        return "the file names other classes than the outcome has in the certificate's domain"
    covered = not column.bounds or all(saved.family.covers(event.loss, column.bounds[1]) for event in events)
    if not saved.values and not covered:
        return "the certificate lists a loss for smaller counts than the outcome's bounds allow"
    return None


def _other_model(saved: Results, own: ModelCoordinates) -> str | None:
    """Return how a model differs from the one whose scores are listed, if it does."""
    domain = saved.certificate.domain
    name = column_of(domain, saved.target)
    if own.link != saved.link:
        return f"what was released is no {saved.kind}"
    if len(own.outcomes) != len(saved.predictors) or {domain.column_of[outcome] for outcome in own.outcomes} != {name}:
        return "the model has other linear predictors than the certificate lists"
    level = saved.target not in domain.columns
    if saved.classes is not None and not _are_of(saved.classes, domain.columns[name], level=level):
        return "the file names other classes than the outcome has in the certificate's domain"
    return None


def _are_of(classes: tuple[Any, ...], column: Column, *, level: bool) -> bool:
    """Whether classes are those of an outcome: a category, one level of it, or a number that stands for places."""
    if column.bounds:
        return column.bounds == (0, len(classes) - 1)
    places = tuple(range(len(classes)))
    return classes == (False, True) if level else column.levels in (classes, places)
