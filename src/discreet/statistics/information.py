"""The Fisher information of a generalised linear model, over the largest slope of its link."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.core.arrays import Floats, Objects
from discreet.domain.coordinates import Coordinates, scores
from discreet.domain.encoding import ONE
from discreet.families.coordinates import ModelCoordinates
from discreet.statistics.base import BlockLike, ExactStage, registered
from discreet.statistics.gram import OTHER_MATRIX
from discreet.statistics.symmetric import SymmetricMatrix

PAIRS = "Classes that exclude each other, and these alone, have the Fisher information of pairs of classes."


class Information(SymmetricMatrix):
    """The sum of a a' over rows, a = k u, where k^2 <= 1 is the relative slope of the link."""

    name = "information"
    stage_words, stage_order = "Fisher information", 5
    outcomes = "one"
    of_slopes = True

    def typical_square(self, q: int) -> float:
        """The square of k u_j, with k^2 about 1/4."""
        return 1 / (4 * q)

    def from_stage(self, sums: ExactStage, block: BlockLike, chosen: Sequence[int]) -> list[Objects]:
        """The matrix of its outcome."""
        return sums.matrix(sums.coordinates.outcomes.index(block.columns[0]))

    def seen(self, U: Floats, e: Floats) -> Floats:
        """The vectors a = k u; `e` holds k."""
        return scores(U * ONE, e * ONE) / ONE

    def stage_refusal(self, coordinates: Coordinates) -> str | None:
        """Refuse linear models, which have U'U instead, and classes that exclude each other, which have pairs."""
        if not isinstance(coordinates, ModelCoordinates):
            return OTHER_MATRIX
        return PAIRS if coordinates.family.joint else None


INFORMATION = registered(Information())
