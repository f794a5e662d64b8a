"""Gaussian noise on statistics of a table: the blocks that were released, and what their noise costs together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from discreet.core.field_kinds import ABOVE_0, FLAG, NAMES, PAIR, choice, many, number, record
from discreet.core.fields import Fields, FileRecord, fixed
from discreet.domain import LATTICE_BITS
from discreet.domain.cells import Span, is_span
from discreet.errors import FileFormatError, ParameterError
from discreet.privacy import gdp

Statistic = Literal[
    "gram", "cross", "squares", "eigenvalue", "counts", "sums", "diagonal", "lengths", "inner", "meat", "information"
]
Layout = Literal["weighted", "uniform"]

_NAMES: dict[Statistic, str] = {
    "gram": "X'X",
    "cross": "X'y",
    "squares": "y'y",
    "eigenvalue": "least eigenvalue of X'X",
    "counts": "counts of y",
    "sums": "sums of x",
    "diagonal": "diagonal of X'X",
}
"""Statistics of mapped columns; lengths, inner, meat and information are those of a stage alone."""

SYMMETRIC: tuple[Statistic, ...] = ("gram", "inner", "meat", "information")
"""Statistics that are symmetric matrices, released as their diagonal and their upper triangle."""

_WITHOUT_ROWS, _WITHOUT_COLUMNS = ("squares", "counts"), ("gram", "eigenvalue", "sums", "diagonal")


@dataclass(frozen=True)
class Block(FileRecord):
    """One statistic and its Gaussian noise, in units of the mapped columns.

    Parameters
    ----------
    statistic : {"gram", "cross", "squares", "eigenvalue", "counts", "sums", "diagonal"}
        X'X, X'Y, the diagonal of Y'Y, the least eigenvalue of X'X; how many outcomes lie in each of `BINS` equal
        parts of the declared range; or the sums of the columns of X, and of their squares. X stands for `rows`, Y for
        `columns`.
    rows, columns : tuple of str
        Names of the encoded entries.
    sd : float
        Standard deviation of the noise; of the diagonal for a weighted Gram matrix.
    layout : {"weighted", "uniform"}
        For a Gram matrix, sd/sqrt(2) off the diagonal, or the same sd everywhere.
    span : pair of float, optional
        For counts, the part [low, high) of the mapped range whose equal parts are counted; all of it by default.

    Examples
    --------
    >>> Block("cross", ("age",), ("income",), 12.0).name
    "X'y"
    """

    statistic: Statistic
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    sd: float
    layout: Layout = "weighted"
    span: Span | None = None

    @property
    def name(self) -> str:
        """How people write the statistic."""
        return _NAMES[self.statistic]

    @property
    def sds(self) -> tuple[float, ...]:
        """Noise sds of its parts: diagonal and upper triangle of a symmetric matrix, all values of another."""
        if self.statistic not in SYMMETRIC:
            return (self.sd,)
        return self.sd, self.sd if self.layout == "uniform" else self.sd / math.sqrt(2)

    @property
    def noise(self) -> list[tuple[float, int]]:
        """Noise sd and `grid_exponent` of its parts, in lattice units."""
        sds = [math.ldexp(sd, 2 * LATTICE_BITS) for sd in self.sds]
        return [(sd, grid_exponent(sd)) for sd in sds]

    @property
    def exact(self) -> bool:
        """Whether the statistic is an integer sum, so that no rounding error enters before the noise."""
        return self.statistic != "eigenvalue"

    FIELDS = Fields(
        "block",
        "One statistic with Gaussian noise.",
        "A block of the release is of an unknown kind.",
        statistic=choice(*_NAMES)(
            "X'X, X'Y, the diagonal of Y'Y, the least eigenvalue of X'X, how many outcomes lie in each of 16 equal "
            "parts of their range; since version 3 sums of columns, and of their squares. X stands for rows, Y for "
            "columns."
        ),
        rows=NAMES,
        columns=NAMES,
        sd=ABOVE_0("Of the noise, in units of the mapped columns."),
        layout=choice(Layout)("Of X'X: sd/sqrt(2) off the diagonal, or sd everywhere."),
        exact=FLAG("Whether it is an exact sum of integers; false for the eigenvalue alone.", derived=True),
        span=PAIR("Of counts: the part of [-1, 1] that was counted, where not all of it.", absent=None, since=3),
    )

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Rebuild a block from `to_dict`."""
        block = super().from_dict(facts)
        kind, rows, columns, span = block.statistic, block.rows, block.columns, block.span
        needed = (kind in _WITHOUT_ROWS or rows) and (kind in _WITHOUT_COLUMNS or columns)
        twice = len(set(rows)) < len(rows) or len(set(columns)) < len(columns)
        if not needed or twice or not (span is None or (kind == "counts" and is_span(*span))):
            raise FileFormatError("A block of the release is of an unknown kind.")
        return block


BLOCKS = many(record(Block))


def grid_exponent(sd: float) -> int:
    """The m of the grid 2**m on which a value with noise of this sd is released: floor(log2 sd) - 30.

    The sd is in lattice units, from 2**30 (grid of one unit) to 2**82 (remainders are still exact doubles).

    Examples
    --------
    >>> grid_exponent(2.0**35), grid_exponent(2.0**35 - 1)
    (5, 4)
    """
    if not 2.0**30 <= sd <= 2.0**82:
        raise ParameterError(
            f"the noise sd must lie between 2**30 and 2**82 lattice units, got {sd:g}. Use a finer lattice "
            "if it is below, a coarser one if it is above."
        )
    return math.frexp(sd)[1] - 31


@dataclass(frozen=True)
class GaussianEvent(FileRecord):
    """Gaussian noise on some statistics of one table, which costs mu in the sense of Gaussian differential privacy."""

    mu: float
    blocks: tuple[Block, ...]

    law = None
    scale = 1.0

    FIELDS = Fields(
        "gaussian",
        "Statistics with Gaussian noise.",
        "An event of the release lists a {name} that no Gaussian noise has.",
        mechanism=fixed("gaussian"),
        mu=number(exclusiveMinimum=0, maximum=gdp.LIMIT)("Its cost."),
        blocks=BLOCKS,
    )
