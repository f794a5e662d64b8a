"""X'X of mapped columns, and U'U of a stage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.core.arrays import Floats, Objects
from discreet.core.rounding import FEW, up
from discreet.domain import CONSTANT
from discreet.domain.coordinates import Coordinates
from discreet.families.coordinates import ModelCoordinates
from discreet.statistics import space as spaces
from discreet.statistics.base import BlockLike, ExactStage, Places, RowArrays, registered
from discreet.statistics.symmetric import SymmetricMatrix

OTHER_MATRIX = "A stage at a generalised linear model has its Fisher information, another one has U'U."


class Gram(SymmetricMatrix):
    """The Gram matrix of the regressors."""

    name = "gram"
    words, stage_words, stage_order = "X'X", "U'U", 3
    of_design = of_products = True
    partner = "cross"
    format_version = 1

    def joint(self, block: BlockLike, other: BlockLike, space: spaces.Space) -> float:
        """The replace-one cost of X'X and X'Y together; no pair of rows is the worst for both.

        With a = 2 R^4/s_xx^2, b = 2 R^2 T^2/s_xy^2 and c = abs(z_X . z'_X)/R^2 it is the maximum over c of
        a (1 - c^2) + b (1 + c); and in the uniform layout, where that is less, of the same with `uniform` for X'X.
        """
        R2, T2 = spaces.norm_squared(block.rows, space), spaces.norm_squared(other.columns, space)
        a, b = 2 * (R2 / block.sd) ** 2, 2 * R2 * T2 / other.sd**2
        c = min(1.0, max(b / (2 * a), spaces.least_overlap(block.rows, space) / R2))
        worst = a * (1 - c**2) + b * (1 + c)
        if block.layout == "uniform":
            level, bend = uniform(a, R2, len(block.rows))
            c = min(1.0, b / (2 * bend))
            worst = min(worst, level - bend * c**2 + b * (1 + c))
        return up(space.most**2 * worst, FEW)

    def rows_told(self, block: BlockLike, array: Floats) -> tuple[float, float] | None:
        """The sum of squares of the constant."""
        return (float(array[0, 0]), block.sd) if block.rows[0] == CONSTANT else None

    def from_stage(self, sums: ExactStage, block: BlockLike, chosen: Sequence[int]) -> list[Objects]:
        """U'U of all rows."""
        return sums.matrix(0)

    def stage_refusal(self, coordinates: Coordinates) -> str | None:
        """Refuse generalised linear models, which have the Fisher information instead."""
        return OTHER_MATRIX if isinstance(coordinates, ModelCoordinates) else None

    def most_with(self, block: BlockLike, other: BlockLike, places: Places, rows: RowArrays) -> Floats:
        """The cost of X'X and X'Y together at the adversary's best g = abs(x . x'); a bound in the uniform layout."""
        X, Y = places.indices(block.rows), places.indices(other.columns)
        R2, T2, p, a = places.norm_squared(X), places.norm_squared(Y), rows.norm2(X), rows.norm2(Y)
        pull = np.sqrt(a * T2) / other.sd**2
        g = np.minimum(pull * block.sd**2 / 2, np.sqrt(p * R2))
        cost: Floats = (p**2 + R2**2 - 2 * g**2) / block.sd**2 + (p * a + R2 * T2) / other.sd**2 + 2 * g * pull
        return cost


def uniform(a: float, R2: float, size: int) -> tuple[float, float]:
    """Constants k and m: X'X in the uniform layout has a replace-one cost of at most k - m c^2, z_X . z'_X = c R^2."""
    return a / 2 * (1 + 1 / R2), a / 2 * (1 + 1 / size)


GRAM = registered(Gram())
