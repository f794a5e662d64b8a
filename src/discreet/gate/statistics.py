"""Exact statistics of a table, and their noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.counts import Histogram, Margins
from discreet.data.moments import Moments
from discreet.data.row_sums import RowSums
from discreet.domain import LATTICE_BITS
from discreet.domain.unit import WEIGHT_BITS, Unit
from discreet.errors import ParameterError
from discreet.gate.entropy import Entropy
from discreet.gate.noise import add_normal_on_grid
from discreet.privacy.events.gaussian import Block
from discreet.privacy.values import GridValues

Integers = NDArray[Any]
Noise = list[tuple[float, int, int]]
"""For each part of a block: sd and exponent of the grid in units of the exact sums, and the number of bits by which
these are finer than 2^-40."""


def block_noise(blocks: Sequence[Block], unit: Unit) -> list[Noise]:
    """Return the noise of the parts of blocks; refuse noise too small or too large to be added exactly."""
    more = 0 if unit.plain else WEIGHT_BITS
    try:
        found = [[(math.ldexp(sd, more), m + more, more) for sd, m in block.noise] for block in blocks]
        if any(m > _MOST_EXPONENT for own in found for _, m, _ in own):
            raise ParameterError("too large")
        return found
    except ParameterError:
        raise ParameterError(
            f"This promise needs noise that cannot be added exactly: its sd must lie between 2^-10 and "
            f"2^{42 - more} in units of the mapped columns. Choose an epsilon that is less extreme"
            f"{'' if unit.person is None else ', or fewer rows_per_person'}."
        ) from None


_MOST_EXPONENT = 52
"""Largest exponent of a grid: remainders are exact doubles."""


def exact_counts(histogram: Histogram, block: Block) -> list[Integers]:
    """Return the exact counts of a block, in units of 2^-40, or of 2^-60 where rows are weighted."""
    kind = block.kind
    return [histogram.integers(block.span, kind.parts)[kind.kept] * (1 << (2 * LATTICE_BITS))]


def exact_blocks(moments: Moments | Margins | RowSums, blocks: Sequence[Block]) -> list[list[Integers]]:
    """Return the exact statistics of blocks; margins have sums and squares alone."""
    if isinstance(moments, RowSums):
        return [moments.integers(block) for block in blocks]
    indices = moments.domain.indices
    places = [[np.array(indices(names), dtype=int) for names in (block.rows, block.columns)] for block in blocks]
    return [block.kind.from_products(moments, X, Y) for block, (X, Y) in zip(blocks, places, strict=True)]


def noisy_blocks(
    exact: Sequence[list[Integers]], noise: Sequence[Noise], entropy: Entropy
) -> tuple[tuple[GridValues, ...], ...]:
    """Add `block_noise` to exact statistics."""
    return tuple(
        tuple(
            GridValues(m - more, tuple(add_normal_on_grid(part, sd, m, entropy).tolist()))
            for part, (sd, m, more) in zip(parts, own, strict=True)
        )
        for parts, own in zip(exact, noise, strict=True)
    )
