"""Recipes of mechanisms that draw once, or twice: their list of events is all there is to replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from discreet.mechanisms.objective_perturbation.event import ObjectiveEvent
from discreet.privacy.events.base import Event, of_kind
from discreet.recipes.base import AskEvent, Facts, Recipe, Steps


@dataclass(frozen=True)
class Draws(Recipe):
    """Draws of a mechanism.

    Parameters
    ----------
    facts : Facts
        The public facts.
    questions : tuple of AskEvent
        The draws, in turn.
    """

    questions: tuple[AskEvent, ...] = ()

    name: ClassVar[str] = "draws"
    named: ClassVar[bool] = False

    def steps(self) -> Steps[None]:
        """Ask for each draw."""
        yield from self.questions

    @classmethod
    def listed(cls, facts: Facts, events: Sequence[Event], options: Mapping[str, Any]) -> Self | None:
        """Return the recipe of a mechanism that releases nothing."""
        return None if events else cls(facts)


@dataclass(frozen=True)
class Objectives(Draws):
    """Perturbed objectives, one for each linear predictor; an adaptive penalty has as many again, declared before."""

    name: ClassVar[str] = "perturbed objectives"

    @classmethod
    def listed(cls, facts: Facts, events: Sequence[Event], options: Mapping[str, Any]) -> Self | None:
        """The recipe of a release that lists objectives of the columns as declared."""
        own = [event for event in of_kind(ObjectiveEvent, events) if event.coordinates is None]
        if not own or len(own) < len(events):
            return None
        declared = sum(event.declared is not None for event in own)
        first = AskEvent(("objective perturbation",))
        second = AskEvent(("objective perturbation",), declared=True)
        return cls(
            facts, (first,) * (len(own) - declared) + (second,) * declared if declared * 2 in (0, len(own)) else ()
        )


@dataclass(frozen=True)
class StagedObjectives(Draws):
    """Perturbed objectives in the coordinates of a stage, as discreet 0.2 fitted models of classes and counts.

    Files of that version are read, and their costs are checked. Their coordinates are not computed again.
    """

    name: ClassVar[str] = "perturbed objectives in stages"
    told: tuple[tuple[str, Any], ...] = ()

    @property
    def entry(self) -> dict[str, Any] | None:
        """The entry of the certificate, as it was read."""
        return {"name": self.name} | dict(self.told)

    @classmethod
    def listed(cls, facts: Facts, events: Sequence[Event], options: Mapping[str, Any]) -> Self | None:
        """The recipe of a release that lists objectives in the coordinates of a stage."""
        own = of_kind(ObjectiveEvent, events)
        if not own or own[0].coordinates is None:
            return None
        told = tuple((name, value) for name, value in options.items() if name != "name")
        return cls(facts, tuple(AskEvent((event.mechanism,)) for event in events), told)
