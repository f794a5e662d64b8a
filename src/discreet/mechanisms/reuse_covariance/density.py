"""The density of noisy sums over a secret sample of the rows, and of those with public outcomes."""

from __future__ import annotations

import numpy as np

from discreet.audit.densities import Density, Shown
from discreet.audit.laws import ReleaseDensity, density_of, sums_density
from discreet.mechanisms.reuse_covariance.event import PublicOutcomesEvent, SampledEvent

density_of(PublicOutcomesEvent)(sums_density)


@density_of(SampledEvent)
def _sampled(event: SampledEvent, law: ReleaseDensity, shown: Shown) -> Density:
    """The noise of sums to which no row contributes, whichever rows are drawn."""
    noise = []
    sums = law.sums(event, shown.released.certificate)
    for block, own, (diagonal, _) in zip(event.blocks, shown.values, sums, strict=True):
        empty = np.ravel(diagonal) == 0
        i, j = np.triu_indices(len(empty), 1)
        for released, zero, sd in zip(own, (empty, empty[i] | empty[j]), block.sds, strict=True):
            noise.append(released.floats()[zero] / sd)
    return Density(noise=np.concatenate(noise), known=False)
