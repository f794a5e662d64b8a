"""Gaussian noise on statistics of a table: the released blocks, and the cost of their noise together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from discreet.core.field_kinds import ABOVE_0, FLAG, NAMES, PAIR, choice, many, number, one_of, record
from discreet.core.fields import Fields, FileRecord, fixed
from discreet.domain import LATTICE_BITS
from discreet.domain.cells import Span, is_span
from discreet.errors import FileFormatError, ParameterError
from discreet.privacy import gdp
from discreet.privacy.events.base import BlockEvent, Finding, is_bound
from discreet.statistics.base import STATISTICS, NoiseLayout, Statistic

if TYPE_CHECKING:
    from discreet.privacy.bounds import Bounds


@dataclass(frozen=True)
class Block(FileRecord):
    """One statistic and its Gaussian noise, in units of the mapped columns.

    Parameters
    ----------
    statistic : str
        Name of a `Statistic`; X stands for `rows`, Y for `columns`.
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

    statistic: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    sd: float
    layout: NoiseLayout = "weighted"
    span: Span | None = None

    @cached_property
    def kind(self) -> Statistic:
        """The statistic."""
        return STATISTICS[self.statistic]

    @property
    def name(self) -> str:
        """The symbol of the statistic."""
        return self.kind.words

    @property
    def sds(self) -> tuple[float, ...]:
        """Noise sds of its parts: diagonal and upper triangle of a symmetric matrix, else all values."""
        return self.kind.sds(self.sd, self.layout)

    @property
    def noise(self) -> list[tuple[float, int]]:
        """Noise standard deviation and `grid_exponent` of its parts, in lattice units."""
        sds = [math.ldexp(sd, 2 * LATTICE_BITS) for sd in self.sds]
        return [(sd, grid_exponent(sd)) for sd in sds]

    @property
    def exact(self) -> bool:
        """Whether the statistic is an integer sum, so that no rounding error enters before the noise."""
        return self.kind.exact

    FIELDS = Fields(
        "block",
        "One statistic with Gaussian noise.",
        "A block of the release is of an unknown kind.",
        statistic=one_of(lambda: sorted(name for name, kind in STATISTICS.items() if kind.words))(
            "X'X, X'Y, the diagonal of Y'Y, the least eigenvalue of X'X, how many outcomes lie in each of 16 equal "
            "parts of their range; since version 3 sums of columns, and of their squares. X stands for rows, Y for "
            "columns."
        ),
        rows=NAMES,
        columns=NAMES,
        sd=ABOVE_0("Standard deviation of the noise, in units of the mapped columns."),
        layout=choice(NoiseLayout)("Noise of X'X: sd/sqrt(2) off the diagonal, or sd everywhere."),
        exact=FLAG("Whether it is an exact sum of integers; false for the eigenvalue alone.", derived=True),
        span=PAIR("The part of [-1, 1] in which outcomes were counted, if not all of it.", absent=None, since=3),
    )

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Rebuild a block from `to_dict`."""
        block = super().from_dict(facts)
        kind, rows, columns, span = block.kind, block.rows, block.columns, block.span
        needed = (not kind.has_rows or rows) and (kind.outcomes == "none" or columns)
        twice = len(set(rows)) < len(rows) or len(set(columns)) < len(columns)
        if not needed or twice or not (span is None or (kind.counted and is_span(*span))):
            raise FileFormatError("A block of the release is of an unknown kind.")
        return block


BLOCKS = many(record(Block))


def grid_exponent(sd: float) -> int:
    """The exponent m of the grid 2**m on which a value with noise of this sd is released: floor(log2 sd) - 30.

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
class GaussianEvent(BlockEvent):
    """Gaussian noise on some statistics of one table; mu is its cost in Gaussian differential privacy."""

    mechanism: ClassVar[str] = "gaussian"
    gaussian_sums: ClassVar[bool] = True

    mu: float
    blocks: tuple[Block, ...]

    law = None

    def finding(self, bounds: Bounds) -> Finding:
        """Compare the listed mu with that of the listed noise; files of versions up to 0.2.0 may list a larger one."""
        mu, names = bounds.mu(self.blocks), ", ".join(block.name for block in self.blocks)
        listed = is_bound(self.mu, mu, bounds.mu_of_before(self.blocks))
        return Finding(f"noise on {names}", listed, f"mu {mu:.6g}, listed {self.mu:.6g}")

    FIELDS = Fields(
        "gaussian",
        "Statistics with Gaussian noise.",
        "An event of the release lists a {name} that no Gaussian noise has.",
        mechanism=fixed(mechanism),
        mu=number(exclusiveMinimum=0, maximum=gdp.LIMIT)("The cost, in Gaussian differential privacy."),
        blocks=BLOCKS,
    )
