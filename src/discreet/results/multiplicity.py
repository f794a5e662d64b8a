"""p-values adjusted for multiple testing."""

from __future__ import annotations

import numpy as np

from discreet.core.arrays import Floats


def adjust(p: Floats, method: str) -> Floats:
    """Adjust p-values for their number, by Holm or by Benjamini and Hochberg ("fdr")."""
    order, m = np.argsort(p, kind="stable"), len(p)
    rank = np.arange(m)
    if method == "holm":
        rising = np.maximum.accumulate((m - rank) * p[order])
    else:
        rising = np.minimum.accumulate((m / (rank + 1) * p[order])[::-1])[::-1]
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(rising, 1.0)
    return adjusted
