"""Steps that recipes share: the number of rows, counts of outcomes, and the sums of the columns."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.core.arrays import Floats
from discreet.domain import CONSTANT
from discreet.domain.cells import Span
from discreet.recipes import budget
from discreet.recipes.base import Spending, Steps
from discreet.recipes.noise import StatisticRequest
from discreet.solve.axes import Axes, standardised
from discreet.solve.location import WHOLE, BinCounts


def total(spending: Spending, name: str, share: float | None = None) -> Steps[tuple[float, float]]:
    """Ask for the noisy sum of a column; return it with its noise sd. That of the constant is the number of rows."""
    found, sd = yield from totals(spending, (name,), share)
    return float(found[0]), sd


def totals(spending: Spending, names: tuple[str, ...], share: float | None = None) -> Steps[tuple[Floats, float]]:
    """Ask for the noisy sums of some columns, or of the levels of one; return them with their noise sd."""
    request = StatisticRequest("sums", names, (), 1.0)
    blocks, (found,) = yield from spending.statistics(
        [request], spending.share(budget.ROWS if share is None else share)
    )
    return found, blocks[0].sd


def outcome_counts(
    spending: Spending, outcomes: Sequence[str], spans: Sequence[Span | None], share: float
) -> Steps[list[BinCounts]]:
    """Ask for noisy counts of outcomes over spans.

    Counts of the second level name their span even where it is the whole range, so that the two levels differ.
    """
    requests = [StatisticRequest("counts", (), (name,), 1.0 / len(outcomes)) for name in outcomes]
    blocks, arrays = yield from spending.statistics(requests, spending.share(share), spans)
    held: list[tuple[Floats, Span, float]] = [
        (values, span or WHOLE, block.sd) for values, span, block in zip(arrays, spans, blocks, strict=True)
    ]
    return [BinCounts(*own) for own in held]


def column_axes(spending: Spending, design: Sequence[str], n: float, mu: float) -> Steps[Axes]:
    """Ask for the sums of x and of x^2; return axes along the columns."""
    sums, squares, sds = yield from column_sums(spending, design, mu)
    return standardised(sums, squares, sds, n, constant=design[0] == CONSTANT)


def column_sums(
    spending: Spending, design: Sequence[str], mu: float
) -> Steps[tuple[Floats, Floats, tuple[float, float]]]:
    """Ask for the sums of x and of x^2, without the constant; return them with the sds of their noise."""
    names = tuple(name for name in design if name != CONSTANT)
    requests = [StatisticRequest("sums", names, (), 0.5), StatisticRequest("diagonal", names, (), 0.5)]
    blocks, (sums, squares) = yield from spending.statistics(requests, mu)
    return sums, squares, (blocks[0].sd, blocks[1].sd)
