"""Sources of rows and of their exact sums, for drivers: **confidential**."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, NoReturn

from discreet.core.checks import Neighbors
from discreet.data.counts import Histogram, Margins
from discreet.data.moments import Moments, summed
from discreet.data.reading import Table
from discreet.data.row_sums import RowSums
from discreet.data.stages import Readings
from discreet.domain import Domain
from discreet.errors import GuaranteeError
from discreet.gate.entropy import Entropy
from discreet.gate.sampling import FixedSampler, fixed_size, sampler
from discreet.gate.session import Session, check_rows
from discreet.gate.statistics import Integers, exact_blocks, exact_counts
from discreet.privacy.events.gaussian import Block
from discreet.recipes.base import Recipe
from discreet.recipes.moments import Fixed


class StatisticSource(ABC):
    """Exact statistics of a table; **confidential**.

    Parameters
    ----------
    domain : Domain
        The encoding of rows.
    """

    readings: Readings
    searches: ClassVar[bool] = False
    """Whether rows can be read again by bounds that a search found."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.domain.columns)} columns, confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"A {type(self).__name__} is confidential and is not pickled.")

    @abstractmethod
    def prepare(self, recipe: Recipe, session: Session) -> None:
        """Read all rows, so that bad data are found before anything is charged."""

    @abstractmethod
    def exact(self, blocks: Sequence[Block], domain: Domain, entropy: Entropy) -> list[list[Integers]]:
        """Return the exact statistics of mapped columns; a secret sample is drawn first, where they need one."""

    def encode(self, domain: Domain, counted: Sequence[str]) -> None:
        """Read all rows again by other bounds of their columns, and count some of these."""
        raise GuaranteeError("These sums are of rows with known bounds. This is a defect of discreet.")


class StagedSource(StatisticSource):
    """A table that is read once for each question.

    Parameters
    ----------
    readings : Readings
        The passes over the rows.
    """

    searches = True

    def __init__(self, readings: Readings) -> None:
        super().__init__(readings.domain)
        self.readings = readings
        self._histograms: dict[str, Histogram] = {}
        self._margins: Margins | None = None

    def prepare(self, recipe: Recipe, session: Session) -> None:
        """Read the sums of all columns, and the counts of outcomes, or of columns whose bounds are searched for."""
        self._count(recipe.facts.domain.searched or recipe.histograms)

    def encode(self, domain: Domain, counted: Sequence[str]) -> None:
        """Read all rows again by other bounds of their columns, and count some of these."""
        self.domain, self.readings = domain, self.readings.encoded(domain)
        self._count(counted)

    def _count(self, columns: Sequence[str]) -> None:
        histograms, self._margins = self.readings.first_pass(columns)
        self._histograms = {histogram.column: histogram for histogram in histograms}
        check_rows(self._margins.count)

    def exact(self, blocks: Sequence[Block], domain: Domain, entropy: Entropy) -> list[list[Integers]]:
        """Return counts of outcomes, sums and sums of squares from the first reading; all else from another one."""
        others = [block for block in blocks if not block.kind.first_reading]
        more = self.readings.row_sums(others) if others else None
        return [self._exact(block, more) for block in blocks]

    def _exact(self, block: Block, more: RowSums | None) -> list[Integers]:
        if block.kind.first_reading and (column := block.kind.column(block)) is not None:
            return exact_counts(self._histograms[column], block)
        held = self._margins if block.kind.first_reading else more
        assert held is not None
        return exact_blocks(held, [block])[0]


class MomentsSource(StatisticSource):
    """Exact moments that were summed up before.

    Parameters
    ----------
    moments : Moments
        The moments for the bounds as declared.
    histogram : Histogram, optional
        The counts of the outcome, where these narrow its bounds.
    narrowed : callable, optional
        A function from narrower bounds to the exact moments for them.
    """

    def __init__(
        self,
        moments: Moments,
        histogram: Histogram | None = None,
        narrowed: Callable[[Domain], Moments] | None = None,
    ) -> None:
        super().__init__(moments.domain)
        self._moments, self._histogram, self._narrowed = moments, histogram, narrowed
        self._known: dict[Sequence[Block], list[list[Integers]]] = {}

    @classmethod
    def counted(cls, histogram: Histogram, moments: Moments, table: Table) -> MomentsSource:
        """Return a source whose moments are summed anew for narrower bounds."""
        return cls(moments, histogram, lambda bounds: summed(replace(table, domain=bounds)))

    def prepare(self, recipe: Recipe, session: Session) -> None:
        """Refuse an empty table, and compute the statistics that will be asked for."""
        if self._histogram is not None:
            check_rows(self._histogram.count)
        check_rows(self._moments.count)
        for event in recipe.events if isinstance(recipe, Fixed) else ():
            self._known[event.blocks] = exact_blocks(self._moments, event.blocks)

    def exact(self, blocks: Sequence[Block], domain: Domain, entropy: Entropy) -> list[list[Integers]]:
        """Return counts of the outcome, or moments for these bounds."""
        if blocks in self._known:
            return self._known[blocks]
        if self._histogram is not None and blocks[0].kind.counted:
            return [exact_counts(self._histogram, block) for block in blocks]
        if domain != self.domain:
            assert self._narrowed is not None
            self._moments = self._narrowed(domain)
            check_rows(self._moments.count)
        return exact_blocks(self._moments, blocks)


class SampledSource(StatisticSource):
    """A table whose X'X is computed from a secret sample of its rows.

    Parameters
    ----------
    table : Table
        The rows.
    targets : sequence of str
        The outcomes, whose products are those of all rows.
    rate : float
        The share of the rows that the sample has.
    """

    def __init__(self, table: Table, targets: Sequence[str], rate: float) -> None:
        super().__init__(table.domain)
        self._table, self._targets, self._rate = table, targets, rate
        self._neighbors: Neighbors = "add-remove"
        self._moments: Moments | None = None

    def prepare(self, recipe: Recipe, session: Session) -> None:
        """Read all rows, so that bad data are found, and refuse a sample without rows."""
        self._table = self._table.checked()
        check_rows(self._table.left)
        if session.promise.neighbors == "replace-one":
            fixed_size(self._rate, self._table.rows)
        self._neighbors = session.promise.neighbors

    def exact(self, blocks: Sequence[Block], domain: Domain, entropy: Entropy) -> list[list[Integers]]:
        """Return moments, with a sample drawn as the accounting for the relation needs it."""
        if self._moments is None:
            self._moments = self.sampled_moments(entropy)
        return exact_blocks(self._moments, blocks)

    def sampled_moments(self, entropy: Entropy) -> Moments:
        """Return moments whose X'X is that of a sample."""
        drawn = sampler(self._rate, self._neighbors, self._table.rows, entropy)
        found = summed(self._table, self._targets, drawn)
        if isinstance(drawn, FixedSampler):
            drawn.check_all_taken()
        return found
