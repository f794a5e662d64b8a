"""U'U of the rows of a stage whose residuals are not clipped."""

from __future__ import annotations

import numpy as np

from discreet.core.arrays import Floats, Objects
from discreet.statistics.base import BlockLike, ExactMatrices, registered
from discreet.statistics.symmetric import SymmetricMatrix


class InnerGram(SymmetricMatrix):
    """The Gram matrix of the rows whose residuals are not clipped."""

    name = "inner"
    stage_words, stage_order = "inner U'U", 4
    outcomes = "one"
    second_reading = True

    def from_second_reading(self, sums: ExactMatrices, block: BlockLike) -> list[Objects]:
        """The matrix after the score products of the only outcome."""
        if len(sums.coordinates.outcomes) > 1:
            raise ValueError("inner rows are those of a single outcome")
        return sums.matrix(1)

    def seen(self, U: Floats, e: Floats) -> Floats:
        """The rows u, set to 0 where the residual is clipped."""
        return U * (np.abs(e) < 1)


INNER_GRAM = registered(InnerGram())
