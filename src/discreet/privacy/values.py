"""Released values: integers on grids, and the statistics that they represent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.field_kinds import WHOLE, many, record
from discreet.core.fields import FieldKind, Fields, FileRecord, defined
from discreet.domain import LATTICE_BITS
from discreet.domain.cells import BINS
from discreet.domain.coordinates import Coordinates
from discreet.errors import NotReleasedError
from discreet.privacy.events.coordinates import StageEvent
from discreet.privacy.events.gaussian import Block
from discreet.statistics.base import STATISTICS
from discreet.statistics.pair_information import PairInformation
from discreet.statistics.row_norms import RowNormCounts
from discreet.statistics.scores import ScoreProducts


@dataclass(frozen=True)
class GridValues(FileRecord):
    """Integers q that stand for the values q 2^exponent, in units of 2^-40."""

    exponent: int
    integers: tuple[int, ...]

    FIELDS = Fields(
        "grid_values",
        "",
        "Released values are not integers on a grid.",
        exponent=WHOLE("m: an integer q stands for q 2^(m - 40)."),
        integers=FieldKind(
            {"type": "array", "items": {"type": "string", "pattern": "^-?[0-9]+$"}},
            lambda texts: isinstance(texts, list) and all(isinstance(text, str) for text in texts),
            lambda texts: tuple(map(int, texts)),
            lambda integers: list(map(str, integers)),
        )("As text: they may exceed 2^53."),
    )

    def floats(self) -> Floats:
        """The values in units of the mapped columns."""
        with np.errstate(over="ignore"):
            values: Floats = np.ldexp(np.array(self.integers, dtype=float), self.exponent - 2 * LATTICE_BITS)
        if not np.isfinite(values).all():
            raise OverflowError("released integers are too large")
        return values


_SYMMETRIC = ", ".join(sorted(name for name, kind in STATISTICS.items() if kind.symmetric))
VALUES = defined(
    "values",
    many(many(record(GridValues))),
    "For each block of each event that has blocks, in order: the diagonal and the upper triangle, row by row, of a "
    f"symmetric matrix ({_SYMMETRIC}), of all matrices where there are several, or all values, row by row, of another "
    "statistic.",
)


def statistic(block: Block, parts: Sequence[GridValues], bins: int = BINS) -> Floats:
    """The statistic of a block, in units of the mapped columns or of the coordinates of a stage; counts need `bins`."""
    return block.kind.array(block, [part.floats() for part in parts], bins)


def bins(block: Block, stage: Coordinates) -> int:
    """The number of counts in a block of a stage; 0 where it has none.

    Examples
    --------
    >>> from discreet.privacy.events.coordinates import stage_block
    >>> stage = Coordinates.rounded(["(intercept)"], ["y"], [[1.0]], [[0.0]], 1.0, [[0.25]], [1.0, 2.0, 4.0])
    >>> bins(stage_block(stage, "lengths"), stage), bins(stage_block(stage, "counts", ["y"]), stage)
    (4, 2)
    """
    return block.kind.bins(block, stage)


@dataclass(frozen=True)
class ReleasedStage:
    """Released statistics in the coordinates of one stage.

    Parameters
    ----------
    event : StageEvent
        The coordinates, the noise, and the chosen half widths.
    values : tuple of tuples of GridValues
        For each block of the event: diagonal and upper triangle of U'U and of score products, or all values of another.
    """

    event: StageEvent
    values: tuple[tuple[GridValues, ...], ...]

    @cached_property
    def arrays(self) -> dict[Block, Floats]:
        """The released statistics in units of u and e."""
        stage = self.event.coordinates
        held = zip(self.event.blocks, self.values, strict=True)
        return {block: statistic(block, own, bins(block, stage)) for block, own in held}

    @property
    def gram(self) -> Floats:
        """The matrix U'U; at the last stage of a single outcome, that of the rows whose residuals are not clipped."""
        return self._find("gram")[1]

    def information(self, outcome: str) -> Floats:
        """The matrix A'A of an outcome: its Fisher information over the largest slope of the link."""
        return self._find("information", outcome)[1]

    @property
    def pair_information(self) -> Floats:
        """The matrices A'A of all pairs of classes: their Fisher information, times 4."""
        return self._find(PairInformation.name)[1]

    @property
    def cross(self) -> Floats:
        """The matrix U'E, a column for each outcome of its block."""
        return self._find("cross")[1]

    @property
    def squares(self) -> Floats:
        """The sum of e^2 of each outcome of its block."""
        return self._find("squares")[1]

    def counts(self, outcome: str) -> Floats:
        """Counts of the weighted residuals of an outcome between its half widths, beginning at 0."""
        return self._find("counts", outcome)[1]

    @property
    def row_norms(self) -> Floats:
        """Counts of rows by their norm |z| between the edges, beginning at 0."""
        return self._find(RowNormCounts.name)[1]

    def score_products(self, outcome: str) -> Floats:
        """The score products S'S of an outcome: the sum of (u e)(u e)', e being the clipped residuals of U'E.

        With persons it is the sum of t t', where t is the sum of a person's u e.
        """
        return self._scale(outcome) * self._find(ScoreProducts.name, outcome)[1]

    @property
    def at_model(self) -> bool:
        """Whether it tells the Fisher information of a model."""
        return any(block.kind.of_slopes for block in self.event.blocks)

    def holds(self, statistic: str) -> bool:
        """Whether a statistic was released."""
        return any(block.statistic == statistic for block in self.event.blocks)

    def sd(self, statistic: str, outcome: str | None = None) -> float:
        """The noise sd of a statistic; for symmetric matrices that of the diagonal, sqrt(2) times that of the rest."""
        block = self._find(statistic, outcome)[0]
        return self._scale(outcome) * block.sd if block.kind.per_person and outcome is not None else block.sd

    def _scale(self, outcome: str) -> float:
        """The unit of an outcome's score products."""
        return self.event.radii[self.event.coordinates.outcomes.index(outcome)] ** 2 if self.event.radii else 1.0

    def _find(self, statistic: str, outcome: str | None = None) -> tuple[Block, Floats]:
        if statistic == "gram" and self.holds("inner"):
            statistic = "inner"
        for block, array in self.arrays.items():
            if block.statistic == statistic and (outcome is None or outcome in block.columns):
                return block, array
        raise NotReleasedError(f"This stage holds no {STATISTICS[statistic].stage_words}.")
