"""The options that recipes in stages share: the number of stages, the kind of standard errors, and the rules."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self, get_args

from discreet.privacy.events.base import Event
from discreet.privacy.events.gaussian import Block
from discreet.recipes import budget
from discreet.recipes.base import Facts, Recipe
from discreet.recipes.noise import StatisticRequest, calibrate

Stages = int | Literal["auto"]
Covariance = Literal["auto", "robust", "classical"]
COVARIANCES: tuple[Covariance, ...] = get_args(Covariance)


class StagedRecipe(Recipe):
    """A recipe whose number of stages and kind of standard errors may be asked for."""

    stages: Stages
    covariance: Covariance
    rules: int

    @property
    def options(self) -> dict[str, Any]:
        """The number of stages, the kind of standard errors, and the version of the rules; 1 if there is none."""
        asked = {"stages": self.stages, "covariance": self.covariance}
        return asked | ({"rules": self.rules} if self.rules > 1 else {})

    def guesses(self, events: Sequence[Event]) -> list[Self]:
        """Return recipes with the default, or the listed value, of each option."""
        listed = self.outlined(events)
        stages, covariances = dict.fromkeys(("auto", listed.stages)), dict.fromkeys(("auto", listed.covariance))
        options: list[dict[str, Any]] = [{"stages": a, "covariance": b} for a in stages for b in covariances]
        return [replace(self, **own) for own in options]


def stage_options(
    options: Mapping[str, Any], most: int, versions: Container[int]
) -> tuple[Stages, Covariance, int] | None:
    """Return the number of stages, the kind of standard errors and the rules of a certificate; None if unknown."""
    stages, covariance = options.get("stages", "auto"), options.get("covariance", "auto")
    known = stages == "auto" or (type(stages) is int and 2 <= stages <= most)
    rules = options.get("rules", 1)
    known = known and covariance in COVARIANCES and type(rules) is int and rules in versions
    return (stages, covariance, rules) if known else None


def extreme_blocks(facts: Facts, design: tuple[str, ...], outcome: str) -> Iterator[Sequence[Block]]:
    """Yield blocks with the least and the most noise that a release in stages has."""
    domain, neighbors = facts.domain, facts.neighbors
    counts, sums = StatisticRequest("counts", (), (outcome,), 1.0), StatisticRequest("sums", design, (), 1.0)
    for share in (1.0, budget.LEAST):
        mu = facts.mu * math.sqrt(share)
        yield [*calibrate([counts], domain, neighbors, mu), *calibrate([sums], domain, neighbors, mu)]
