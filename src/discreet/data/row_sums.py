"""Exact sums over rows of any statistic that defines its factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from discreet.core.arrays import Ints, Objects
from discreet.data.passes.row_sums import RowSumsPass, Summed
from discreet.data.reading import Table
from discreet.data.sums import integers, sum_bits
from discreet.domain import Domain

if TYPE_CHECKING:
    from discreet.privacy.events.gaussian import Block


class RowSums:
    """Exact sums of some statistics over the rows of a table; **confidential**.

    Parameters
    ----------
    domain : Domain
        The encoding of rows.
    asked : sequence of Summed
        The statistics.
    high, low : array
        Limbs of the sums.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.privacy.events.gaussian import Block
    >>> domain, block = Domain({"x": (-1, 1)}), Block("diagonal", ("x",), (), 1.0)
    >>> sums = row_sums(Table.of(np.array([[0.5], [1.0]]), domain), [block])
    >>> sums, [part / 2**40 for part in sums.integers(block)]
    (RowSums(1 statistics, confidential), [array([1.25])])
    """

    def __init__(self, domain: Domain, asked: Sequence[Summed], high: Ints, low: Ints) -> None:
        self.domain, self._high, self._low = domain, high, low
        self._places = RowSumsPass(domain, tuple(asked)).layout.places

    def integers(self, block: Block) -> list[Objects]:
        """Return the exact parts of a block, in units of 2^-40, or of 2^-60 if rows are weighted."""
        places = self._places[Summed(block.statistic, block.rows, block.columns)]
        return [integers(self._high[0, at], self._low[0, at]) for at in places]

    @property
    def count(self) -> int:
        """The number of rows, or the sum of their weights rounded up; **confidential**."""
        return -(-int(integers(self._high[0, :1], self._low[0, :1])[0]) >> sum_bits(self.domain))

    def __repr__(self) -> str:
        return f"RowSums({len(self._places)} statistics, confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("RowSums are confidential and are not pickled.")


def asked_of(blocks: Sequence[Block]) -> tuple[Summed, ...]:
    """Return the distinct statistics of some blocks."""
    return tuple(dict.fromkeys(Summed(block.statistic, block.rows, block.columns) for block in blocks))


def row_sums(table: Table, blocks: Sequence[Block]) -> RowSums:
    """Read all rows once, and sum the statistics of some blocks exactly."""
    asked = asked_of(blocks)
    found = table.sums(RowSumsPass(table.domain, asked))
    return RowSums(table.domain, asked, found.high, found.low)
