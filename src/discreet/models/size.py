"""The memory and time of wide models, from public facts: too much memory is refused before any row is read."""

from __future__ import annotations

import warnings

from discreet.core.memory import refuse_beyond, spelled
from discreet.errors import DiscreetWarning

MATRICES = {1: 40, 2: 350}
"""Number of matrices with a row and a column for each coefficient held at a time, in one stage and in several."""

_PRODUCTS = {1: 10, 2: 500}
"""The time of a solution, in products of such matrices; wide models have no standard errors."""

_RATE = 1.5e10
"""Multiplications and additions per second on one core."""

_LONG = 120.0
"""Longer expected times are reported, in seconds."""


def check_size(d: int, *, staged: bool) -> None:
    """Refuse a model of d coordinates that needs more memory than there is, and report one that takes minutes."""
    stages = 2 if staged else 1
    needed, seconds = 8.0 * MATRICES[stages] * d**2, _PRODUCTS[stages] * 2.0 * d**3 / _RATE
    what = f"A model of {d:,} coordinates, levels included," + (" in stages" if staged else "")
    remedy = "Fewer levels or columns help: put rare levels together in one, before the table is declared."
    refuse_beyond(needed, what, "stages=1 needs less. " + remedy if staged else remedy)
    if seconds > _LONG:
        warnings.warn(
            f"{what} takes about {seconds / 60:.0f} minutes on one core, and {spelled(needed)} of memory. {remedy}",
            DiscreetWarning,
            stacklevel=6,
        )
