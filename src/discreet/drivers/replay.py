"""Replay: answer the questions of a recipe with the values of a file, and find where the file differs from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain import Domain
from discreet.domain.cells import BINS
from discreet.errors import NotReleasedError
from discreet.families.coordinates import ModelCoordinates
from discreet.privacy.events.base import Event
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import Block
from discreet.privacy.values import GridValues, ReleasedStage, bins, statistic
from discreet.recipes.base import Answered, Ask, AskStage, Encoding, Noisy, Question, Recipe, Steps
from discreet.recipes.geometry import is_close
from discreet.recipes.search import search, whole

Values = Sequence[tuple[GridValues, ...]]
"""The values of each block of each event, in turn."""

T = TypeVar("T")

_CLOSE = 1e-6
"""Relative tolerance for recomputed numbers: processors round differently."""

_ROW_NORMS = "the release of row norms"

_MANY = 1e9
"""The number of rows of the hypothetical table of an outline."""


class Mismatch(Exception):  # noqa: N818 - a finding, raised to leave the replay
    """A difference between a file and its recipe.

    Parameters
    ----------
    subject, why : str
        The part of the file, and how it differs.
    """

    def __init__(self, subject: str, why: str) -> None:
        super().__init__(why)
        self.subject, self.why = subject, why


def replay(recipe: Recipe, events: Sequence[Event], values: Values, domain: Domain) -> Mismatch | None:
    """Return the first difference between a file and its recipe, if there is one.

    Parameters
    ----------
    recipe : Recipe
        The recipe that the certificate names.
    events, values : sequence of events, sequence of values
        The events that the file lists, and its noisy values.
    domain : Domain
        The bounds that the certificate names, which private counts may have narrowed.
    """
    return _mismatch(recipe, _Recorded(events, values, domain))


def outline(recipe: Recipe, events: Sequence[Event], *, noise: bool = False) -> Mismatch | None:
    """Compare a certificate without values with its recipe: which statistics are listed, in which order.

    Questions are answered with values that a large table might have, and decisions are taken as the events tell.

    Parameters
    ----------
    recipe, events : Recipe, sequence of events
        As in `replay`.
    noise : bool
        Whether noise is compared, too, where no value decides it.
    """
    return _mismatch(recipe.outlined(events), _Outlined(events, noise=noise and recipe.planned))


def begun(steps: Steps[T], events: Sequence[Event], values: Values) -> T:
    """Return the result of the first steps of a recipe, given the values of a file; noise is not compared."""
    try:
        return _driven(steps, _FileAnswers(events, values))
    except Mismatch as mismatch:
        raise NotReleasedError(f"This release is not complete: {mismatch.why}.") from None


def encodings(recipe: Recipe, events: Sequence[Event], values: Values) -> tuple[list[Domain], tuple[str, ...]]:
    """Return the bounds by which rows were encoded for each event of a search for bounds, and what it saw nothing of.

    Both are empty without a search.
    """
    answers = _Encodings(events, values, recipe.facts.domain)
    if not recipe.facts.domain.searched:
        return [], ()
    found = _driven(search(recipe.facts, recipe.search_share), answers)
    return answers.domains, found.unseen


def _mismatch(recipe: Recipe, answers: _FileAnswers) -> Mismatch | None:
    try:
        _driven(whole(recipe), answers)
        answers.finish()
    except Mismatch as mismatch:
        return mismatch
    return None


def _driven(steps: Steps[T], answers: _FileAnswers) -> T:
    """Run a recipe to its end."""
    try:
        question = next(steps)
        while True:
            question = steps.send(answers.answer(question))
    except StopIteration as end:
        result: T = end.value
        return result


class _FileAnswers:
    """The values of a file, in the order of its events.

    Parameters
    ----------
    events, values
        As in `replay`.
    """

    def __init__(self, events: Sequence[Event], values: Values = ()) -> None:
        self._events, self._values, self._at, self._stage = events, list(values), 0, 0

    def answer(self, question: Question) -> Any:
        """Return the answer to a question."""
        if isinstance(question, Encoding):
            return self._encode(question)
        event = self._next(question)
        if isinstance(question, AskStage):
            self._stage += not question.of_norms
            return self._staged(question, event)
        return self._noisy(question, event) if isinstance(question, Ask) else None

    def _encode(self, question: Encoding) -> None:
        """Take note of the bounds of what follows."""

    def finish(self) -> None:
        """Refuse events that the recipe does not ask for."""
        if self._at < len(self._events):
            raise Mismatch("list of events", f"the certificate lists {event_words(self._events[self._at])} besides")

    def _next(self, question: Answered) -> Event:
        """Return the next event, which must match the question."""
        asked, left = question.words, self._events[self._at :]
        if not left:
            raise Mismatch("list of events", f"{asked} is missing")
        if not question.suits(left[0]):
            raise Mismatch(
                "list of events", f"the recipe asks for {asked}, and the certificate lists {event_words(left[0])}"
            )
        self._at += 1
        return left[0]

    def _take(self, count: int) -> tuple[tuple[GridValues, ...], ...]:
        taken, self._values = tuple(self._values[:count]), self._values[count:]
        return taken

    def _noisy(self, question: Ask, event: Any) -> Noisy:
        held = zip(event.blocks, self._take(len(event.blocks)), strict=True)
        return Noisy(event, [event.scale * statistic(block, own) for block, own in held])

    def _staged(self, question: AskStage, event: Any) -> ReleasedStage:
        return ReleasedStage(event, self._take(len(event.blocks)))


class _Encodings(_FileAnswers):
    """Answers that keep the bounds by which rows were encoded for each of them."""

    def __init__(self, events: Sequence[Event], values: Values, domain: Domain) -> None:
        super().__init__(events, values)
        self._domain, self.domains = domain, list[Domain]()

    def _encode(self, question: Encoding) -> None:
        self._domain = question.domain

    def _noisy(self, question: Ask, event: Any) -> Noisy:
        self.domains.append(self._domain)
        return super()._noisy(question, event)


class _Recorded(_FileAnswers):
    """Answers that require every event to be the one asked for, up to rounding errors."""

    def __init__(self, events: Sequence[Event], values: Values, domain: Domain) -> None:
        super().__init__(events, values)
        self._domain = self._bounds = domain

    def _noisy(self, question: Ask, event: Any) -> Noisy:
        _check_noise(question.blocks, event.blocks, event_words(event))
        spans = [(asked.span, own.span) for asked, own in zip(question.blocks, event.blocks, strict=True)]
        if not all(asked == own or (asked and own and np.allclose(asked, own, rtol=_CLOSE)) for asked, own in spans):
            raise Mismatch(
                "stages", "the part of the outcome's range that was counted does not follow from earlier counts"
            )
        self._bounds = question.domain
        return super()._noisy(question, event)

    def _encode(self, question: Encoding) -> None:
        self._bounds = question.domain

    def finish(self) -> None:
        """Refuse bounds other than those of the last question, too."""
        super().finish()
        if self._bounds != self._domain:
            raise Mismatch("bounds that were narrowed", "they do not follow from the noisy counts")

    def _staged(self, question: AskStage, event: Any) -> ReleasedStage:
        own, asked = event.coordinates, question.coordinates
        model = isinstance(asked, ModelCoordinates)
        which = "the model" if model else _ROW_NORMS if question.of_norms else f"stage {self._stage}"
        if not is_close(own, asked):
            raise Mismatch("stages", f"the coordinates of {which} do not follow from what was released before it")
        stage = super()._staged(question, event)
        chosen: Sequence[int] = [0] * len(own.outcomes)
        if question.choose is not None:
            counts = {name: stage.counts(name) for name in own.outcomes}
            chosen = question.choose(counts)
        if list(event.chosen) != list(chosen):
            raise Mismatch("stages", f"the half widths of {which} do not follow from its counts")
        scored = any(block.kind.per_person for block in event.blocks)
        radii = question.radii(_sums(stage)) if question.radii is not None and scored else ()
        if len(radii) != len(event.radii) or not np.allclose(event.radii, radii, rtol=_CLOSE, atol=0):
            raise Mismatch("stages", f"the norms of scores in {which} do not follow from its sums")
        _check_noise(question.blocks, event.blocks, event_words(event))
        return stage


def _sums(stage: ReleasedStage) -> dict[str, Floats]:
    """Return the statistics of a stage that the norms of scores follow from, by name."""
    arrays = stage.arrays.items()
    return {own.statistic: array for own, array in arrays if not (own.kind.counted or own.kind.second_reading)}


class _Outlined(_FileAnswers):
    """Answers with values that a large table might have; noise is compared if it is asked for."""

    def __init__(self, events: Sequence[Event], *, noise: bool) -> None:
        super().__init__(events)
        self._noise = noise

    def _noisy(self, question: Ask, event: Any) -> Noisy:
        if self._noise:
            _check_noise(question.blocks, event.blocks, event_words(event))
        return Noisy(event, [_plausible(block, BINS) for block in question.blocks])

    def _staged(self, question: AskStage, event: Any) -> ReleasedStage:
        own, asked = event.coordinates, question.coordinates
        if (own.design, own.outcomes, own.axes) != (asked.design, asked.outcomes, asked.axes):
            raise Mismatch("list of events", "stages are about different columns")
        blocks = question.blocks
        event = StageEvent(event.mu, asked, blocks, (0,) * len(asked.outcomes), (1.0,) * len(event.radii))
        return _PlausibleStage(event, ())


class _PlausibleStage(ReleasedStage):
    """A stage with made-up values."""

    @property
    def arrays(self) -> dict[Block, Floats]:
        """Values that a large table might have."""
        return {block: _plausible(block, bins(block, self.event.coordinates)) for block in self.event.blocks}


def _plausible(block: Block, count: int) -> Floats:
    """Return values that a statistic might have in a large table."""
    return block.kind.plausible(_MANY, block.kind.shape(block, count), block.rows)


# ---------------------------------------------------------------- what is compared


def _check_noise(asked: Sequence[Block], listed: Sequence[Block], name: str) -> None:
    """Refuse noise that does not follow from the shares of the recipe."""
    if not all(math.isclose(a.sd, b.sd, rel_tol=_CLOSE) for a, b in zip(asked, listed, strict=True)):
        raise Mismatch("noise", f"the noise of {name} does not follow from the shares of the recipe")


def event_words(event: Event) -> str:
    """Describe an event in words."""
    return event.name or ", ".join(block.name for block in event.statistics) or "nothing"
