"""The density of the mean of blocks' coefficients, for a table whose blocks all have the same coefficients."""

from __future__ import annotations

from discreet.audit.densities import Density, Shown
from discreet.audit.laws import ReleaseDensity, density_of
from discreet.mechanisms.subsample_aggregate.event import AggregateEvent


@density_of(AggregateEvent)
def _blocks(event: AggregateEvent, law: ReleaseDensity, shown: Shown) -> Density | None:
    """The noise alone, for a table of zeros: the mean is 0 for any assignment of rows to blocks."""
    if any(part.any() for part in law.products(event.design, event.target, shown.domain)):
        return None
    return Density(noise=shown.theta * event.blocks / event.sd, known=False)
