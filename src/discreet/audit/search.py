"""The search for the worst neighbouring tables: over the corners of the domain, and from there inwards.

*By the law:* `per_instance.losses` computes the privacy loss of a row, exactly if the law of the noise is known. So a
few fits for each set of common rows rank all persons at once. Then the worst person is moved along each column in turn,
as long as the loss grows: if outlying rows are downweighted, the worst person may not be at a corner. *By fits*, if the
loss is only bounded, with the same bound for everybody: every pair is fitted a few times with a larger epsilon, so that
little noise hides which pairs differ most; the best of them are fitted again, more often.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.audit.subjects import Subject
from discreet.audit.tables import Neighbours, Row, corners, crowds
from discreet.data.reading import Progress
from discreet.errors import DiscreetError
from discreet.per_instance import losses
from discreet.privacy.events.coordinates import StageEvent

_RELEASES = 3
"""The number of fits for each set of common rows, if the loss of a row depends on earlier releases."""

_MOST_CROWDS = 16

_PARTS = (0.0, 0.25, 0.5, 0.75, 1.0)
_STEPS, _GAIN = 4, 0.01
"""Positions to try on the range of a number, the maximum number of moves, and the least relative gain of a move."""

_EPSILON = 8.0
_ROUNDS = (16, 6), (3, 20)
"""For each round, the number of pairs and the number of fits to each table."""

Separation = Callable[[Subject, Neighbours, int], float]
"""A function from a subject, a pair and a number of fits to each table to how well the tables are told apart."""


@dataclass(frozen=True)
class Candidate:
    """A pair of tables, and how far apart their releases are."""

    pair: Neighbours
    loss: float


def worst(subject: Subject, rng: np.random.Generator, separation: Separation, report: Progress) -> Neighbours:
    """Find the worst pair by the law of the noise or, if that is unknown, the pair that fits tell apart best."""
    found = _by_law(subject, rng, report)
    if found is None:
        found = _by_fits(subject, rng, separation, report)
        return max(found, key=lambda one: one.loss).pair
    return _climbed(subject, max(found, key=lambda one: one.loss), rng).pair


def pairs(subject: Subject, crowd: tuple[Row, ...]) -> list[Neighbours]:
    """The pairs with these common rows: each corner is added and removed, or replaces another."""
    domain = subject.domain.select(subject.columns)
    ends = corners(domain, subject.columns)
    if subject.estimator.neighbors == "add-remove":
        return [Neighbours(domain, crowd, (), (end,)) for end in ends]
    public = subject.public
    two = itertools.combinations(ends, 2)
    alike = (pair for pair in two if all(pair[0][name] == pair[1][name] for name in public))
    return [Neighbours(domain, crowd, (one,), (other,)) for one, other in alike]


def _crowds(subject: Subject, rng: np.random.Generator) -> list[tuple[Row, ...]]:
    """The common rows in the middle of the domain, plus a sample of the other sets if there are many."""
    first, *others = crowds(subject.domain.select(subject.columns), subject.columns)
    if len(others) >= _MOST_CROWDS:
        others = [others[i] for i in sorted(rng.choice(len(others), _MOST_CROWDS - 1, replace=False))]
    return [first, *others]


def _by_law(subject: Subject, rng: np.random.Generator, report: Progress) -> list[Candidate] | None:
    """The loss of each pair; None if it is not known."""
    found: list[Candidate] = []
    every = _crowds(subject, rng)
    for k, crowd in enumerate(every):
        report(k / len(every))
        try:
            own = _costs(subject, pairs(subject, crowd), rng)
        except DiscreetError:  # common rows that cannot be fitted: others will do
            continue
        if own is None:
            return None
        found += own
    return found or None


def _climbed(subject: Subject, best: Candidate, rng: np.random.Generator) -> Candidate:
    """Move the person from the worst corner along single columns, as long as the loss grows."""
    for _ in range(_STEPS):
        found = _costs(subject, [best.pair, *moved(best.pair, subject.public)], rng) or [best]
        here, farthest = found[0], max(found, key=lambda one: one.loss)
        if farthest.loss <= here.loss * (1 + _GAIN):
            break
        best = farthest
    return best


def moved(pair: Neighbours, public: Sequence[str] = ()) -> list[Neighbours]:
    """The pairs whose person has another value of one number: at the ends of its range, or between."""
    found = []
    for name, column in pair.domain.inputs.items():
        if name in public or column.bounds is None or not math.isfinite(column.bounds[1] - column.bounds[0]):
            continue
        low, high = column.bounds
        for part in _PARTS:
            value = low + part * (high - low)
            if any(row.get(name) not in (None, value) for row in pair.second):
                found.append(replace(pair, second=tuple({**row, name: value} for row in pair.second)))
    return found


def _costs(subject: Subject, own: list[Neighbours], rng: np.random.Generator) -> list[Candidate] | None:
    """The mean loss, over a few releases, of pairs with the same common rows; None if it is not known."""
    total, done = np.zeros(len(own)), 0
    while done < _RELEASES:
        done += 1
        model = subject.fitted(own[0].table(own[0].first), rng)
        for k, pair in enumerate(own):
            cost = _cost(pair, model)
            if not cost.exact:
                return None
            apart = cost.delta(0.0)  # the total variation distance: what can be seen in a few fits, far tails cannot
            total[k] += apart[-1] if pair.domain.unit.plain else apart.max()
        if not model.certificate_.of(StageEvent):
            break
    return [Candidate(pair, float(loss)) for pair, loss in zip(own, total / done, strict=True)]


def _cost(pair: Neighbours, model: Any) -> Any:
    if not pair.domain.unit.plain:
        return losses(pair.table(pair.second), model, n_jobs=1)
    person = Neighbours(pair.domain, pair.second, (), ()).table(())
    given = {"replacement": person} if pair.first else {"targets": person}
    return losses(pair.table(pair.first), model, n_jobs=1, **given)


def _by_fits(subject: Subject, rng: np.random.Generator, separation: Separation, report: Progress) -> list[Candidate]:
    """Rank pairs by how well fits with a larger epsilon tell them apart: a sample first, then the best ones again."""
    larger = copy.copy(subject.estimator).set_params(epsilon=max(_EPSILON, subject.estimator.epsilon or 0.0))
    open_ = replace(subject, estimator=larger)
    left = [pair for crowd in _crowds(subject, rng) for pair in pairs(subject, crowd)]
    total, done = sum(size * fits for size, fits in _ROUNDS), 0
    found: list[Candidate] = []
    for size, fits in _ROUNDS:
        chosen = left if len(left) <= size else [left[i] for i in sorted(rng.choice(len(left), size, replace=False))]
        found = []
        for pair in chosen:
            found.append(Candidate(pair, separation(open_, pair, fits)))
            done += fits
            report(min(done / total, 1.0))
        found.sort(key=lambda one: -one.loss)
        left = [one.pair for one in found[: _ROUNDS[-1][0]]]
    return found
