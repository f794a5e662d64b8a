"""Every kind of event, and the function that reads one from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from discreet.core.checks import shown
from discreet.core.field_kinds import OBJECT, many
from discreet.core.fields import defined, ref
from discreet.errors import FileFormatError
from discreet.mechanisms.gradient_descent.event import BatchesEvent, GradientEvent
from discreet.mechanisms.napp.event import NappEvent
from discreet.mechanisms.objective_perturbation.event import ObjectiveEvent
from discreet.mechanisms.output_perturbation.event import OutputEvent
from discreet.mechanisms.posterior_sampling.adaptive_event import AdaptiveEvent
from discreet.mechanisms.posterior_sampling.event import BallEvent, PosteriorEvent, PrintedEvent
from discreet.mechanisms.reuse_covariance.event import PublicOutcomesEvent, SampledEvent
from discreet.mechanisms.subsample_aggregate.event import AggregateEvent
from discreet.privacy.events.base import Event
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import GaussianEvent

_KINDS: tuple[type[Event], ...] = (
    GaussianEvent,
    SampledEvent,
    PublicOutcomesEvent,
    StageEvent,
    ObjectiveEvent,
    PosteriorEvent,
    BallEvent,
    AdaptiveEvent,
    PrintedEvent,
    NappEvent,
    OutputEvent,
    GradientEvent,
    BatchesEvent,
    AggregateEvent,
)
_MECHANISMS = {kind.mechanism: kind for kind in _KINDS}


def event_from_dict(facts: dict[str, Any]) -> Event:
    """Rebuild an event of any kind from its `to_dict`."""
    mechanism = facts.get("mechanism")
    if not isinstance(mechanism, str) or mechanism not in _MECHANISMS:
        raise FileFormatError(f"Unknown mechanism {shown(mechanism)}; a newer discreet may know it.")
    return _MECHANISMS[mechanism].from_dict(facts)


_ANY = {"oneOf": [ref(kind.FIELDS.name) for kind in _MECHANISMS.values()]}
EVENT = defined(
    "event",
    replace(OBJECT, schema=_ANY, read=event_from_dict, write=lambda event: event.to_dict()),
    "One release from the data; its mechanism determines its fields.",
)


_AXES = "P", "shrinkage"
"""The fields of a stage's coordinates that are left out where both are those of the stage before it."""


def _write(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Write events; the axes of a stage that are those of the stage before it are left out."""
    found, before = [], None
    for event in events:
        facts = EVENT.write(event)
        if isinstance(event, StageEvent):
            own = event.coordinates
            if before == (own.P, own.shrinkage):
                facts["coordinates"] = {key: it for key, it in facts["coordinates"].items() if key not in _AXES}
            before = own.P, own.shrinkage
        found.append(facts)
    return found


def _read(listed: Sequence[dict[str, Any]]) -> tuple[Event, ...]:
    """Read events; a stage without axes has those of the stage before it."""
    found, before = [], dict[str, Any]()
    for facts in listed:
        own = facts.get("coordinates") if facts.get("mechanism") == StageEvent.mechanism else None
        if isinstance(own, dict):
            if "P" not in own:
                facts = facts | {"coordinates": own | before}
            before = {key: facts["coordinates"][key] for key in _AXES if key in facts["coordinates"]}
        found.append(EVENT.read(facts))
    return tuple(found)


EVENTS = replace(many(EVENT), read=_read, write=_write)
