"""Score products: the middle matrix of the sandwich estimator of robust (HC1) and clustered standard errors."""

from __future__ import annotations

from discreet.core.arrays import Floats, Objects
from discreet.domain.coordinates import scores
from discreet.domain.encoding import ONE
from discreet.statistics.base import BlockLike, ExactMatrices, registered
from discreet.statistics.symmetric import SymmetricMatrix


class ScoreProducts(SymmetricMatrix):
    """The sum of s s' over rows, s = u e their scores; with persons or weights, s is the clipped sum of each person."""

    name = "meat"
    stage_words, stage_order = "score products of U'e", 8
    outcomes = "one"
    second_reading = True
    per_person = True

    def typical_square(self, q: int) -> float:
        """The square of u_j e, both of which are about 1/q."""
        return 1 / q**2

    def from_second_reading(self, sums: ExactMatrices, block: BlockLike) -> list[Objects]:
        """The matrix of its outcome."""
        return sums.matrix(sums.coordinates.outcomes.index(block.columns[0]))

    def seen(self, U: Floats, e: Floats) -> Floats:
        """The scores u e."""
        return scores(U * ONE, e * ONE) / ONE


SCORES = registered(ScoreProducts())
