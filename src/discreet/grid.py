"""Released integers and the statistics that they stand for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.domain import LATTICE_BITS
from discreet.privacy.events import BINS, Block

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GridValues:
    """Integers q that stand for the values q 2^exponent, in units of 2^-40."""

    exponent: int
    integers: tuple[int, ...]

    def floats(self) -> Floats:
        """The values in units of the mapped columns."""
        shift = self.exponent - 2 * LATTICE_BITS
        return np.array([math.ldexp(float(q), shift) for q in self.integers])


def statistic(block: Block, parts: Sequence[GridValues]) -> Floats:
    """The statistic of a block, in units of the mapped columns."""
    if block.statistic == "gram":
        diagonal, upper = (part.floats() for part in parts)
        at = np.triu_indices(len(block.rows), k=1)
        if len(diagonal) != len(block.rows) or len(upper) != len(at[0]):
            raise ValueError("a Gram matrix of another size")
        G = np.diag(diagonal)
        G[at] = upper
        G.T[at] = upper
        return G
    (values,) = (part.floats() for part in parts)
    shape = {
        "cross": (len(block.rows), len(block.columns)),
        "squares": (len(block.columns),),
        "eigenvalue": (),
        "counts": (BINS,),
    }
    return values.reshape(shape[block.statistic])
