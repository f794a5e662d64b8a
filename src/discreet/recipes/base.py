"""Recipes, the questions they ask, and the answers they receive.

A recipe is a pure generator: it asks for statistics with a stated noise and receives noisy values, and every decision
is a function of these and of public facts. It never sees rows, randomness or a ledger. A driver answers the questions:
`drivers.run` from the rows of a table, `drivers.replay` from the values of a file, `drivers.simulate` from made-up
people.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from discreet.core.arrays import Floats
from discreet.core.checks import Neighbors
from discreet.core.rounding import down
from discreet.domain import Domain
from discreet.domain.cells import Span
from discreet.domain.coordinates import Coordinates
from discreet.privacy import gdp
from discreet.privacy.events.base import BlockEvent, Event
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import Block, GaussianEvent
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.values import ReleasedStage
from discreet.recipes.noise import StatisticRequest, calibrate, stage_blocks

Choice = Callable[[Mapping[str, Floats]], Sequence[int]]
"""A function from the noisy counts of each outcome to the index of its half width."""

Radii = Callable[[Mapping[str, Floats]], tuple[float, ...]]
"""A function from the noisy statistics of a stage, by name, to the bound on the norm of persons' scores, for each
outcome."""

T = TypeVar("T")


# ---------------------------------------------------------------- questions and answers


@dataclass(frozen=True)
class Ask:
    """Noise on statistics of the mapped columns.

    Parameters
    ----------
    blocks : tuple of Block
        The statistics and their noise.
    domain : Domain
        The bounds that the columns are mapped by.
    event : event, optional
        The event that the certificate lists, where it is more than Gaussian noise on all rows of the table.
    """

    blocks: tuple[Block, ...]
    domain: Domain
    event: BlockEvent | None = None

    @property
    def words(self) -> str:
        """The statistics, for people."""
        return ", ".join(block.name for block in self.blocks)

    def suits(self, event: Event) -> bool:
        """Whether an event is of the kind that is asked for, with the same statistics."""
        kind = GaussianEvent if self.event is None else type(self.event)
        return type(event) is kind and _kinds(event.statistics) == _kinds(self.blocks)


@dataclass(frozen=True)
class AskStage:
    """Noise on statistics of one stage: first its counts, which choose the half widths, then the rest.

    Parameters
    ----------
    coordinates, blocks : Coordinates, tuple of Block
        The coordinates of the stage, and its statistics with their noise.
    choose, radii : callable, optional
        Functions from counts to half widths, and from other statistics to bounds on the scores of persons.
    """

    coordinates: Coordinates
    blocks: tuple[Block, ...]
    choose: Choice | None = None
    radii: Radii | None = None

    @property
    def words(self) -> str:
        """The statistics, for people."""
        return self._event.name

    @property
    def of_norms(self) -> bool:
        """Whether it is about nothing but counts of row norms."""
        return self._event.of_norms

    @property
    def _event(self) -> StageEvent:
        return StageEvent(0.0, self.coordinates, self.blocks, ())

    def suits(self, event: Event) -> bool:
        """Whether an event is a stage of the same kind with the same statistics."""
        same = type(event) is StageEvent and type(event.rotated) is type(self.coordinates)
        return same and _kinds(event.statistics) == _kinds(self.blocks)


@dataclass(frozen=True)
class AskEvent:
    """One draw of a mechanism of its own.

    Parameters
    ----------
    mechanisms : tuple of str
        The possible mechanisms of the event.
    declared : bool
        Whether the event is the second of two, whose cost was declared before the first one was drawn.
    """

    mechanisms: tuple[str, ...]
    declared: bool = False

    @property
    def words(self) -> str:
        """The mechanisms, for people."""
        return ", or ".join(self.mechanisms)

    def suits(self, event: Event) -> bool:
        """Whether an event is of one of the mechanisms."""
        return event.mechanism in self.mechanisms and (getattr(event, "declared", None) is not None) == self.declared


@dataclass(frozen=True)
class Encoding:
    """No statistics: from here on rows are encoded by other bounds of their columns, which were found.

    Parameters
    ----------
    domain : Domain
        The bounds.
    counted : tuple of str
        The outcomes, or columns, that the first reading of the rows by these bounds counts.
    unseen : tuple of str
        The columns of which the search for bounds saw nothing.
    """

    domain: Domain
    counted: tuple[str, ...]
    unseen: tuple[str, ...] = ()


def _kinds(blocks: Sequence[Block]) -> list[tuple[Any, ...]]:
    """Return the kinds of statistics in blocks, whatever their noise."""
    return [(block.statistic, block.rows, block.columns, block.layout, block.span is None) for block in blocks]


Answered = Ask | AskStage | AskEvent
Question = Answered | Encoding

Steps = Generator[Question, Any, T]
"""Questions in turn; the generator returns the values that later steps, or solvers, need."""


class Noisy(NamedTuple):
    """The answer to `Ask`: the event that the certificate lists, and the noisy statistics."""

    event: Event
    arrays: list[Floats]


# ---------------------------------------------------------------- recipes


@dataclass(frozen=True)
class Facts:
    """The public facts of a release.

    Parameters
    ----------
    domain : Domain
        The columns and their bounds, as declared.
    promise : Guarantee
        The promise.
    rows : int, optional
        The public number of rows.
    left : float, optional
        The mu that is left of the promise, where a search for bounds has spent some.
    """

    domain: Domain
    promise: Guarantee
    rows: int | None = None
    left: float | None = None

    @property
    def neighbors(self) -> Neighbors:
        """The relation of neighbouring tables."""
        return self.promise.neighbors

    @cached_property
    def mu(self) -> float:
        """The cost of all Gaussian releases together, less what a search for bounds has spent."""
        return self.left if self.left is not None else gdp.mu(epsilon=self.promise.epsilon, delta=self.promise.delta)

    @property
    def counted_rows(self) -> int | None:
        """The declared number of rows, where each counts 1; sums of weights are not known from it."""
        return self.rows if self.domain.unit.plain else None


@dataclass(frozen=True)
class Recipe:
    """An algorithm that releases something of a table, with its options.

    Parameters
    ----------
    facts : Facts
        The public facts.
    """

    facts: Facts

    name: ClassVar[str]
    named: ClassVar[bool] = True
    """Whether certificates name the recipe and its options."""
    search_share: ClassVar[float | None] = None
    """The share of mu^2 for a search for bounds, where columns have none; by a public rule if it is None."""
    planned: ClassVar[bool] = False
    """Whether the noise of every question follows from public facts and options alone, whatever the answers are."""

    @abstractmethod
    def steps(self) -> Steps[Any]:
        """The questions, in turn."""

    @property
    def options(self) -> dict[str, Any]:
        """Options that the certificate states besides the recipe's name; the rest follows from the listed events."""
        return {}

    @property
    def entry(self) -> dict[str, Any] | None:
        """The recipe's entry in a certificate; None if certificates do not name it."""
        return {"name": self.name} | self.options if self.named else None

    @property
    def price(self) -> dict[str, Any]:
        """The cost of the whole release, as `Session.charge` takes it."""
        return {"mu": self.facts.mu}

    @property
    def histograms(self) -> tuple[str, ...]:
        """The outcomes whose counts are asked for, which the first reading of the rows counts."""
        return ()

    def check(self) -> None:
        """Refuse a promise that no noise keeps, before anything is charged."""

    @property
    def outlook(self) -> str:
        """A word of warning, from public facts, before anything is charged; "" where there is none."""
        return ""

    def extremes(self) -> Iterator[Sequence[Block]]:
        """Blocks with the least and the most noise that the release may have, whatever is decided on the way."""
        yield from ()

    @classmethod
    @abstractmethod
    def listed(cls, facts: Facts, events: Sequence[Event], options: Mapping[str, Any]) -> Self | None:
        """The recipe of a release that lists these events; None where it cannot have listed them."""

    def guesses(self, events: Sequence[Event]) -> list[Self]:
        """Return the recipes that a file of an older version, which does not state its options, may have had."""
        return [self]

    def outlined(self, events: Sequence[Event]) -> Self:
        """Return the recipe with every decision that depends on values taken from the events."""
        return self


class Spending:
    """The mu^2 that is left of a promise, and the questions that spend it.

    Parameters
    ----------
    facts : Facts
        The public facts.
    mu : float, optional
        The cost of all questions together; that of the promise by default.
    """

    def __init__(self, facts: Facts, mu: float | None = None) -> None:
        self.facts, self.mu = facts, facts.mu if mu is None else mu
        self._spent: list[float] = []

    def left(self, share: float = 1.0) -> float:
        """Return the mu of a share of the remaining mu^2."""
        spent = math.fsum(mu**2 for mu in self._spent)
        return down(math.sqrt(max(self.mu**2 - spent, 0.0) * share))

    def share(self, share: float) -> float:
        """Return the mu of a share of the promise's mu^2."""
        return down(self.facts.mu * math.sqrt(share))

    def statistics(
        self, requests: Sequence[StatisticRequest], mu: float, spans: Sequence[Span | None] = ()
    ) -> Steps[tuple[list[Block], list[Floats]]]:
        """Ask for statistics of the mapped columns; return the blocks and their noisy values."""
        blocks = calibrate(requests, self.facts.domain, self.facts.neighbors, mu)
        blocks = [replace(block, span=span) for block, span in zip(blocks, spans, strict=True)] if spans else blocks
        answer: Noisy = yield Ask(tuple(blocks), self.facts.domain)
        self._spent.append(answer.event.mu)
        return blocks, answer.arrays

    def stage(
        self,
        coordinates: Coordinates,
        shares: Mapping[str, float],
        mu: float,
        choose: Callable[[Mapping[str, Floats], float], Sequence[int]] | None = None,
        radii: Radii | None = None,
    ) -> Steps[ReleasedStage]:
        """Ask for the statistics of a stage; half widths are chosen from noisy counts and the sd of their noise."""
        blocks = tuple(stage_blocks(coordinates, shares, self.facts.neighbors, mu))
        sds = [block.sd for block in blocks if block.statistic == "counts"]
        own = None if choose is None or not sds else lambda counts: choose(counts, sds[0])
        plain = self.facts.domain.unit.plain
        stage: ReleasedStage = yield AskStage(coordinates, blocks, own, None if plain else radii)
        self._spent.append(stage.event.mu)
        return stage
