"""Run a recipe: charge its whole price, answer its questions from the rows of a table, certify and commit.

This is the only place that sees both rows and randomness for releases of several steps; mechanisms that draw once have
`gate.once`. Nothing is drawn before the whole release is paid for.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from discreet.core.checks import Neighbors
from discreet.domain import Domain
from discreet.domain.derived import inputs_of
from discreet.drivers.sources import StatisticSource
from discreet.errors import DiscreetWarning, NoIntervalWarning
from discreet.gate.coordinates import release_stage
from discreet.gate.entropy import Entropy
from discreet.gate.session import Session
from discreet.gate.statistics import block_noise, noisy_blocks
from discreet.mechanisms.reuse_covariance.event import PublicOutcomesEvent
from discreet.privacy import gdp, sensitivity
from discreet.privacy.events.base import Event, of_kind
from discreet.privacy.events.gaussian import GaussianEvent
from discreet.privacy.values import GridValues, ReleasedStage, statistic
from discreet.recipes.base import Ask, AskStage, Encoding, Noisy, Question, Recipe
from discreet.recipes.moments import Fixed
from discreet.recipes.search import extremes, refuse_hopeless, unseen_words, whole
from discreet.released.certificate import Certificate
from discreet.results.private_moments import PrivateMoments


@dataclass(frozen=True, eq=False)
class Run:
    """A release: its certificate, the noisy values of its Gaussian events, and the result of its recipe."""

    certificate: Certificate
    values: tuple[tuple[GridValues, ...], ...]
    result: Any


def run(recipe: Recipe, source: StatisticSource, session: Session) -> Run:
    """Release a table by a recipe.

    Parameters
    ----------
    recipe : Recipe
        The questions.
    source : StatisticSource
        The rows of the table, or their exact sums.
    session : Session
        It is charged with the whole price, once, before anything is drawn.
    """
    recipe.check()
    refuse_hopeless(recipe)
    if word := recipe.outlook:
        warnings.warn(word, NoIntervalWarning, stacklevel=2)
    domain = recipe.facts.domain
    fixed = recipe.events if isinstance(recipe, Fixed) else ()
    certificate = session.certify(domain, *fixed, recipe=recipe) if fixed else None
    for blocks in (*extremes(recipe), *(event.blocks for event in fixed)):
        block_noise(blocks, domain.unit)
    source.prepare(recipe, session)
    price = recipe.price if certificate is None else _price(certificate, fixed, domain)
    entropy = session.charge(domain, searching=source.searches, **price)
    answers = _TableAnswers(source, session.promise.neighbors, entropy)
    steps, answer, result = whole(recipe), None, None
    while True:
        try:
            question = steps.send(answer)
        except StopIteration as end:
            result = end.value
            break
        answer = answers.answer(question)
    if certificate is None:
        searched = domain if domain.searched else None
        declared = None if searched or answers.domain == domain else domain
        events = answers.events
        certificate = session.certify(answers.domain, *events, declared=declared, searched=searched, recipe=recipe)
    return Run(session.commit(certificate), tuple(answers.values), result)


def release_moments(recipe: Recipe, source: StatisticSource, session: Session) -> PrivateMoments:
    """Release a table by a recipe of statistics, for any number of models."""
    found = run(recipe, source, session)
    return PrivateMoments.of_run(found.certificate, found.values, found.result)


def _price(certificate: Certificate, events: Sequence[Event], domain: Domain) -> dict[str, Any]:
    """Return the cost of events that are known beforehand."""
    mu = None if any(event.law is not None for event in events) else gdp.compose(event.mu for event in events)
    public = [block for event in of_kind(PublicOutcomesEvent, events) for block in event.blocks]
    columns = {domain.entries[i].column for block in public for i in domain.indices(block.columns)}
    inputs = inputs_of({name: domain.columns[name] for name in columns})
    return {"mu": mu, "epsilon": certificate.epsilon, "public_outcomes": inputs}


class _TableAnswers:
    """Answers from the rows of a table, with noise; and the events and values that they become."""

    def __init__(self, source: StatisticSource, neighbors: Neighbors, source_of_words: Entropy) -> None:
        self._table, self._neighbors, self._source = source, neighbors, source_of_words
        self.domain = source.domain
        self.events: list[Event] = []
        self.values: list[tuple[GridValues, ...]] = []

    def answer(self, question: Question) -> Any:
        """Return the answer to a question."""
        if isinstance(question, Encoding):
            return self._encode(question)
        if isinstance(question, Ask):
            return self._noisy(question)
        assert isinstance(question, AskStage)
        return self._staged(question)

    def _encode(self, question: Encoding) -> None:
        self.domain = question.domain
        self._table.encode(question.domain, question.counted)
        if question.unseen:
            warnings.warn(unseen_words(question.unseen), DiscreetWarning, stacklevel=5)

    def _noisy(self, question: Ask) -> Noisy:
        blocks, self.domain = question.blocks, question.domain
        exact = self._table.exact(blocks, question.domain, self._source)
        values = noisy_blocks(exact, block_noise(blocks, question.domain.unit), self._source)
        mu = sensitivity.mu(blocks, question.domain, self._neighbors) if question.event is None else 0.0
        event = GaussianEvent(mu, blocks) if question.event is None else question.event
        self.events.append(event)
        self.values += values
        held = zip(blocks, values, strict=True)
        return Noisy(event, [event.scale * statistic(block, own) for block, own in held])

    def _staged(self, question: AskStage) -> ReleasedStage:
        coordinates, blocks = question.coordinates, question.blocks
        gram = any(block.kind.symmetric and not block.kind.second_reading for block in blocks)
        sums = self._table.readings.staged(coordinates, gram=gram)
        scores = partial(self._table.readings.score_products, coordinates)
        stage = release_stage(
            sums, blocks, self._neighbors, question.choose, self._source, score_products=scores, radii=question.radii
        )
        self.events.append(stage.event)
        self.values += stage.values
        return stage
