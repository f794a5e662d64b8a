"""The privacy cost of several events together.

An event costs `mu`, in the sense of Gaussian differential privacy, and where it is not Gaussian a `law` besides (see
`privacy.laws`). Gaussian costs compose exactly, adaptively too; the laws of other events are convolved with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.privacy import gdp
from discreet.privacy.laws import Failure, Law, Point, together

if TYPE_CHECKING:
    from discreet.privacy.events.base import Event


def mu(events: Iterable[Event]) -> float:
    """The Gaussian part of all events together: mu^2 is the sum of their mu^2."""
    return gdp.compose(event.mu for event in events)


def laws(events: Iterable[Event]) -> list[Law]:
    """The laws of the parts that are not Gaussian."""
    return [law for event in events if (law := event.law) is not None]


def delta(events: Iterable[Event], epsilon: float) -> float:
    """A delta at which all events together are (epsilon, delta)-private; exact for Gaussian ones."""
    events = list(events)
    others = laws(events)
    return together(others, mu(events))(epsilon)


def epsilon(events: Iterable[Event], delta: float, first: float = 1.0) -> float:
    """The least epsilon at which all events together are (epsilon, delta)-private, rounded up; exact for Gaussian ones.

    A numerical search begins at `first`. The replace-one bound by way of the table without the row is
    (1 + e^(epsilon/2)) times an add-remove curve and need not be monotone, so the search must begin at the promise.
    """
    events = list(events)
    failure = sum(Fraction(law.probability) for law in laws(events) if isinstance(law, Failure))
    others = [law for law in laws(events) if not isinstance(law, Failure)]
    if failure:
        delta = math.nextafter(float(Fraction(delta) - failure), -math.inf)
        if delta <= 0:
            return math.inf
    if not others:
        return gdp.epsilon(mu=mu(events), delta=delta) if mu(events) else 0.0
    points = [law for law in others if isinstance(law, Point) and law.failure <= delta]
    if len(points) == len(others) and mu(events) == 0 and (delta == 0 or len(points) == 1):
        return math.fsum(point.epsilon for point in points) if delta or not any(p.failure for p in points) else math.inf
    curve = together(others, mu(events))
    low, high = 0.0, first if first > 0 else 1.0  # a file may promise nothing at all
    while curve(high) > delta:
        low, high = high, high * 2
        if high > 2.0**40:
            return math.inf
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if curve(middle) <= delta else (middle, high)
    return high
