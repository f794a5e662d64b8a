"""The dependence of a plan on standard deviations that were not guessed: the plan with larger and smaller ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from discreet.core.placeholders import Unavailable
from discreet.planning.facts import Number, PlanFacts
from discreet.planning.simulation import Simulation

FACTOR = 3.0
"""The factor by which standard deviations are increased and decreased."""

_DRAWS = 4
_MOST = 0.9  # share of the largest possible sd within the bounds


@dataclass(frozen=True)
class SpreadScenario:
    """Errors of prediction, relative to predicting the mean, with the sds of some columns as assumed and otherwise."""

    columns: tuple[str, ...]  # the outcome, or all features whose sds were not guessed
    outcome: bool  # whether it is the outcome
    assumed: float
    larger: float  # with sds `FACTOR` times as large, as far as the bounds allow; R^2 as guessed
    smaller: float  # with sds `FACTOR` times smaller

    @property
    def matters(self) -> bool:
        """Whether the error would differ by more than a tenth."""
        return max(self.assumed, self.larger, self.smaller) > 1.1 * min(self.assumed, self.larger, self.smaller)


def spreads(simulation: Simulation, method: str, epsilon: float) -> list[SpreadScenario]:
    """Vary the sds of the outcome and of the features, if they are assumed, on the same few simulated tables."""
    facts = simulation.facts
    groups = [[name for name in facts.assumed if (name == facts.target) == outcome] for outcome in (True, False)]
    planned = _error(simulation, method, epsilon)
    found = []
    for columns in groups:
        if columns and not isinstance(planned, Unavailable):
            others = [_error(_with(simulation, columns, factor), method, epsilon) for factor in (FACTOR, 1 / FACTOR)]
            larger, smaller = (math.nan if isinstance(one, Unavailable) else one for one in others)
            found.append(SpreadScenario(tuple(columns), columns == [facts.target], planned, larger, smaller))
    return [one for one in found if math.isfinite(one.larger + one.smaller)]


def _error(simulation: Simulation, method: str, epsilon: float) -> float | Unavailable:
    found = simulation.expected(method, epsilon, draws=_DRAWS, widths=False)
    return found if isinstance(found, Unavailable) else found.vs_trivial


def _with(simulation: Simulation, columns: Sequence[str], factor: float) -> Simulation:
    """Return the simulation with other sds of some columns."""
    numbers = dict(simulation.facts.numbers)
    for name in columns:
        numbers[name] = _scaled(simulation.facts, name, factor)
    facts = replace(simulation.facts, numbers=numbers)
    return Simulation(facts, simulation.promise, min(_DRAWS, simulation.draws), simulation.seed, simulation.stages)


def _scaled(facts: PlanFacts, name: str, factor: float) -> Number:
    number, (low, high) = facts.numbers[name], facts.domain.inputs[name].range
    assert number is not None
    most = _MOST * math.sqrt((number.mean - low) * (high - number.mean))
    return Number(number.mean, min(factor * number.sd, most))
