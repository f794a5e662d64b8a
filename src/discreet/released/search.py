"""The result of a search for bounds: the share of the rows that seem to lie outside of what was found."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from discreet.released.moments import ReleasedMoments
from discreet.statistics.searching import PARTS


class Outside(NamedTuple):
    """The share of the rows beyond the bounds of a column, and the sd of its noise."""

    share: float
    sd: float


def outside(released: ReleasedMoments) -> dict[str, Outside]:
    """Return, for each column whose bounds were searched for, the noisy share of rows beyond them.

    Rows are counted in the parts of the wide bounds; those beyond these are in the first or the last part. The same
    counts chose the bounds, so the share tends to be too low, by up to a few sds.
    """
    certificate = released.certificate
    if certificate.searched is None:
        return {}
    (_, wide), found = certificate.encodings(released.values), {}
    for block in released.blocks:
        if block.kind is not PARTS:
            continue
        (name,), counts = block.columns, released.arrays[block]
        centre, half = wide.map(name)
        middles = centre + half * ((np.arange(len(counts)) + 0.5) * 2 / len(counts) - 1)
        low, high = certificate.domain.columns[name].range
        beyond = (middles < low) | (middles > high)
        rows = max(float(counts.sum()), block.sd)
        found[name] = Outside(float(counts[beyond].sum()) / rows, block.sd * math.sqrt(beyond.sum()) / rows)
    return found
