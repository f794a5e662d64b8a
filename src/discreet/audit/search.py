"""The search for neighbours that a release gives away most: over the corners of the domain, by the law of the loss.

`per_instance.losses` tells what a release costs a row, exactly where its law is known. So one fit for each kind of
crowd is enough to rank all persons at once. Where the loss is only bounded, the bound does not tell persons apart, and
a few fits of each pair do.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.audit.subjects import Subject
from discreet.audit.tables import Neighbours, corners, crowds
from discreet.errors import DiscreetError
from discreet.per_instance import losses

_LIKE = 0.97
"""Pairs that cost at least so much of the most are tried."""

_FINALISTS = 6


@dataclass(frozen=True)
class Candidate:
    """A pair of tables, what it costs by the law of one release, and whether that is exact."""

    pair: Neighbours
    loss: float
    exact: bool


def candidates(subject: Subject, random_state: Any) -> list[Candidate]:
    """Pairs of tables, the worst first."""
    domain = subject.domain.select(subject.columns)
    found = []
    for crowd in crowds(domain, subject.columns):
        try:
            found += _with(subject, crowd, random_state)
        except DiscreetError:  # a crowd that cannot be fitted, or whose law is not known: others will do
            continue
    if not found:
        crowd, *_ = crowds(domain, subject.columns)
        found = [Candidate(pair, 1.0, False) for pair in _pairs(subject, crowd)]
    return sorted(found, key=lambda one: -one.loss)


def _pairs(subject: Subject, crowd: tuple[Any, ...]) -> list[Neighbours]:
    domain = subject.domain.select(subject.columns)
    ends = corners(domain, subject.columns)
    if subject.estimator.neighbors == "add-remove":
        return [Neighbours(domain, crowd, (), (end,)) for end in ends]
    return [Neighbours(domain, crowd, (one,), (other,)) for one, other in itertools.permutations(ends, 2)]


def _with(subject: Subject, crowd: tuple[Any, ...], random_state: Any) -> list[Candidate]:
    """Every pair with this crowd, and what it costs."""
    pairs = _pairs(subject, crowd)
    model = subject.fitted(pairs[0].table(pairs[0].first), random_state)
    found = []
    for pair in pairs:
        if not pair.domain.unit.plain:
            cost = losses(pair.table(pair.second), model, n_jobs=1)
        else:
            person = Neighbours(pair.domain, pair.second, (), ()).table(())
            given = {"replacement": person} if pair.first else {"targets": person}
            cost = losses(pair.table(pair.first), model, n_jobs=1, **given)
        epsilon = cost.epsilon()
        found.append(Candidate(pair, float(epsilon[-1] if pair.domain.unit.plain else epsilon.max()), cost.exact))
    return found


def worst(subject: Subject, random_state: Any, separation: Callable[[Neighbours], float]) -> Neighbours:
    """The pair that the law says is worst; where it does not say, the one that a few fits tell apart best.

    Parameters
    ----------
    subject : Subject
        What is attacked.
    random_state : Generator
        Of the fits.
    separation : callable
        From a pair to how well a few fits tell its tables apart.
    """
    found = candidates(subject, random_state)
    if found[0].exact:
        return found[0].pair
    close = [one.pair for one in found if one.loss >= _LIKE * found[0].loss]
    tried = [close[int(i)] for i in np.unique(np.linspace(0, len(close) - 1, _FINALISTS).astype(int))]
    return max(tried, key=separation)
