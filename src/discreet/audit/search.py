"""The search for neighbours that a release gives away most: over the corners of the domain, and from there inwards.

*By the law.* `per_instance.losses` tells what a release costs a row, exactly where the law of the noise is known. So a
few fits for each crowd of common rows rank all persons at once; then the worst one is moved along each column in turn,
as long as that costs more, for where rows far out count less the worst person may be none at a corner. *By fits*,
where the loss is only bounded and the bound is the same for everybody: every pair is fitted a few times, with a larger
epsilon, so that little noise hides which pairs differ most; the best of them are fitted again, more often.
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
"""Fits for each crowd, where what a row loses depends on what was released before."""

_MOST_CROWDS = 16

_PARTS = (0.0, 0.25, 0.5, 0.75, 1.0)
_STEPS, _GAIN = 4, 0.01
"""Where on the range of a number the person is tried, how many numbers are moved, and what a move must gain."""

_EPSILON = 8.0
_ROUNDS = (16, 6), (3, 20)
"""How many pairs are fitted, and how often to each table."""

Separation = Callable[[Subject, Neighbours, int], float]
"""From a pair, and a number of fits to each of its tables, to how well these are told apart."""


@dataclass(frozen=True)
class Candidate:
    """A pair of tables, and how far apart their releases are."""

    pair: Neighbours
    loss: float


def worst(subject: Subject, rng: np.random.Generator, separation: Separation, report: Progress) -> Neighbours:
    """The pair that the law says is worst; where it does not say, the one that fits tell apart best.

    Parameters
    ----------
    subject : Subject
        What is attacked.
    rng : Generator
        Of the fits.
    separation : callable
        How well fits tell the tables of a pair apart.
    report : callable
        Called with the fraction done.
    """
    found = _by_law(subject, rng, report)
    if found is None:
        found = _by_fits(subject, rng, separation, report)
        return max(found, key=lambda one: one.loss).pair
    return _climbed(subject, max(found, key=lambda one: one.loss), rng).pair


def pairs(subject: Subject, crowd: tuple[Row, ...]) -> list[Neighbours]:
    """The pairs with these common rows: each corner comes and goes, or takes the place of another."""
    domain = subject.domain.select(subject.columns)
    ends = corners(domain, subject.columns)
    if subject.estimator.neighbors == "add-remove":
        return [Neighbours(domain, crowd, (), (end,)) for end in ends]
    public = subject.public
    two = itertools.combinations(ends, 2)
    alike = (pair for pair in two if all(pair[0][name] == pair[1][name] for name in public))
    return [Neighbours(domain, crowd, (one,), (other,)) for one, other in alike]


def _crowds(subject: Subject, rng: np.random.Generator) -> list[tuple[Row, ...]]:
    """The crowd in the middle, and some of the others where there are many."""
    first, *others = crowds(subject.domain.select(subject.columns), subject.columns)
    if len(others) >= _MOST_CROWDS:
        others = [others[i] for i in sorted(rng.choice(len(others), _MOST_CROWDS - 1, replace=False))]
    return [first, *others]


def _by_law(subject: Subject, rng: np.random.Generator, report: Progress) -> list[Candidate] | None:
    """What each pair costs; None where that is not known."""
    found: list[Candidate] = []
    every = _crowds(subject, rng)
    for k, crowd in enumerate(every):
        report(k / len(every))
        try:
            own = _costs(subject, pairs(subject, crowd), rng)
        except DiscreetError:  # a crowd that cannot be fitted: others will do
            continue
        if own is None:
            return None
        found += own
    return found or None


def _climbed(subject: Subject, best: Candidate, rng: np.random.Generator) -> Candidate:
    """From the worst corner along single columns, as long as the person loses more."""
    for _ in range(_STEPS):
        found = _costs(subject, [best.pair, *moved(best.pair, subject.public)], rng) or [best]
        here, farthest = found[0], max(found, key=lambda one: one.loss)
        if farthest.loss <= here.loss * (1 + _GAIN):
            break
        best = farthest
    return best


def moved(pair: Neighbours, public: Sequence[str] = ()) -> list[Neighbours]:
    """The pairs whose person has another value of one number: at the ends of its range, and between."""
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
    """The mean cost of pairs with the same common rows over a few releases."""
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
    """How well fits with a larger epsilon tell pairs apart: all of them, then the best ones again."""
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
