"""The options that recipes in stages share: the number of stages, and the kind of standard errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self, get_args

from discreet.privacy.events.base import Event
from discreet.recipes.base import Recipe

Stages = int | Literal["auto"]
Covariance = Literal["auto", "robust", "classical"]
COVARIANCES: tuple[Covariance, ...] = get_args(Covariance)


class StagedRecipe(Recipe):
    """A recipe whose number of stages and kind of standard errors may be asked for."""

    stages: Stages
    covariance: Covariance

    @property
    def options(self) -> dict[str, Any]:
        """The number of stages and the kind of standard errors that were asked for."""
        return {"stages": self.stages, "covariance": self.covariance}

    def guesses(self, events: Sequence[Event]) -> list[Self]:
        """Return recipes with the default, or the listed value, of each option."""
        listed = self.outlined(events)
        stages, covariances = dict.fromkeys(("auto", listed.stages)), dict.fromkeys(("auto", listed.covariance))
        options: list[dict[str, Any]] = [{"stages": a, "covariance": b} for a in stages for b in covariances]
        return [replace(self, **own) for own in options]


def stage_options(options: Mapping[str, Any], most: int) -> tuple[Stages, Covariance] | None:
    """Return the number of stages and the kind of standard errors in a certificate; None if they are neither."""
    stages, covariance = options.get("stages", "auto"), options.get("covariance", "auto")
    known = stages == "auto" or (type(stages) is int and 2 <= stages <= most)
    return (stages, covariance) if known and covariance in COVARIANCES else None
