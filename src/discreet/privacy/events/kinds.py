"""Every kind of event, and how one is read from a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from discreet.core.checks import shown
from discreet.core.field_kinds import OBJECT
from discreet.core.fields import defined, ref
from discreet.errors import FileFormatError
from discreet.privacy.events.coefficients import CoefficientEvent, PrintedEvent
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import GaussianEvent
from discreet.privacy.events.iterates import AggregateEvent, BatchesEvent, GradientEvent
from discreet.privacy.events.napp import NappEvent
from discreet.privacy.events.objective import ObjectiveEvent
from discreet.privacy.events.output import OutputEvent
from discreet.privacy.events.posterior import BallEvent, PosteriorEvent
from discreet.privacy.events.sampled import PublicOutcomesEvent, SampledEvent
from discreet.privacy.events.staged import AdaptiveEvent

BlockEvent = GaussianEvent | SampledEvent | PublicOutcomesEvent
"""Events that released statistics with noise on them."""

Event = BlockEvent | StageEvent | ObjectiveEvent | CoefficientEvent

_COEFFICIENTS: tuple[type[CoefficientEvent], ...] = (
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
_MECHANISMS: dict[str, type[Event]] = {
    "gaussian": GaussianEvent,
    "objective perturbation": ObjectiveEvent,
    "sampled gaussian": SampledEvent,
    "gaussian, public outcomes": PublicOutcomesEvent,
    StageEvent.mechanism: StageEvent,
    **{kind.mechanism: kind for kind in _COEFFICIENTS},
}


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
    "One release from the data, told apart by its mechanism.",
)
