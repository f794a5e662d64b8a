"""What events cost together: Gaussian releases compose exactly, adaptively too."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.privacy import gdp
from discreet.privacy.events import GaussianEvent


def mu(events: Iterable[GaussianEvent]) -> float:
    """The mu of all events together: mu^2 is the sum of their mu^2."""
    return gdp.compose(event.mu for event in events)


def epsilon(events: Iterable[GaussianEvent], delta: float) -> float:
    """The exact epsilon of all events together, rounded up."""
    return gdp.epsilon(mu=mu(events), delta=delta)
