"""The search for bounds of columns without declared ones: the first steps of a recipe, where there are such columns.

Counts by sign and power of two give wide bounds, and counts in equal parts of these the pair that all later steps use
as if it had been declared. Mathematics in ``docs/mathematics``, section 15.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from discreet.core.arrays import Floats
from discreet.core.rounding import down
from discreet.domain import CONSTANT, Domain, Numeric
from discreet.errors import ParameterError
from discreet.privacy.events.base import Event
from discreet.privacy.events.gaussian import Block
from discreet.recipes import budget
from discreet.recipes.base import Encoding, Facts, Recipe, Spending, Steps
from discreet.recipes.noise import StatisticRequest, calibrate
from discreet.solve.bounds import Count, narrowed, wide_bounds
from discreet.statistics.searching import MAGNITUDES, PARTS, SearchCounts

T = TypeVar("T")

_UNSEEN = -1.0, 1.0
"""The bounds, about the origin, of a column of which nothing was seen."""


class Search(NamedTuple):
    """The facts with the bounds that were found and the mu that is left, and the columns of which nothing was seen."""

    facts: Facts
    unseen: tuple[str, ...]


def whole(recipe: Recipe) -> Steps[Any]:
    """Return all steps of a recipe: the search for bounds first, where columns have none."""
    if not recipe.facts.domain.searched:
        return recipe.steps()
    own = recipe.histograms, recipe.search_share
    return after_search(recipe.facts, lambda facts: replace(recipe, facts=facts).steps(), *own)


def after_search(
    facts: Facts, steps: Callable[[Facts], Steps[T]], counted: Sequence[str] = (), share: float | None = None
) -> Steps[T]:
    """Search for bounds, where columns have none, and go on with the steps that the facts with bounds give.

    Parameters
    ----------
    facts : Facts
        The public facts.
    steps : callable
        A function from facts with all bounds to the steps that follow.
    counted : sequence of str
        The outcomes whose counts these ask for.
    share : float, optional
        The share of mu^2 for the search; by a public rule by default.
    """
    if facts.domain.searched:
        found = yield from search(facts, share)
        facts = found.facts
        yield Encoding(facts.domain, tuple(counted), found.unseen)
    result = yield from steps(facts)
    return result


def search(facts: Facts, share: float | None = None) -> Steps[Search]:
    """Ask for the counts by sign and power of two, then for those in equal parts of the bounds that these give."""
    declared: dict[str, Any] = {name: facts.domain.columns[name] for name in facts.domain.searched}
    known = {name: (column.low, column.high) for name, column in declared.items()}
    first, second = (down(facts.mu * math.sqrt(part * (share or share_of(facts)))) for part in budget.SEARCH_STEPS)
    powers, facts = yield from _counts(facts, MAGNITUDES, tuple(declared), first)
    seen = {name: wide_bounds(*own, known[name]) for name, own in powers.items()}
    wide: dict[str, Numeric] = {}
    for name, column in declared.items():
        low, high = seen[name] or _UNSEEN
        wide[name] = column.resolved(column.origin + low, column.origin + high)
    facts = _with(facts, wide)
    yield Encoding(facts.domain, tuple(declared))
    parts, facts = yield from _counts(facts, PARTS, tuple(declared), second)
    found = dict(wide)
    for name in (name for name in declared if seen[name] is not None):
        centre, half = facts.domain.map(name)
        low, high = narrowed(*parts[name], (centre - half, centre + half), known[name])
        found[name] = declared[name].resolved(max(low, wide[name].low), min(high, wide[name].high))
    return Search(_with(facts, found), tuple(name for name, own in seen.items() if own is None))


@dataclass(frozen=True)
class BoundsAlone(Recipe):
    """The search for bounds and nothing else, with the whole promise."""

    name: ClassVar[str] = "bounds"
    search_share: ClassVar[float | None] = 1.0

    def steps(self) -> Steps[None]:
        """Nothing: the search comes before."""
        yield from ()

    @classmethod
    def listed(cls, facts: Facts, events: Sequence[Event], options: Mapping[str, Any]) -> Self | None:
        """The recipe of a release that lists a search alone."""
        return cls(facts) if facts.domain.searched and len(events) == len(budget.SEARCH_STEPS) else None


def extremes(recipe: Recipe) -> Iterator[Sequence[Block]]:
    """Blocks with the least and the most noise that a release may have, the search for bounds included."""
    yield from recipe.extremes()
    facts, names = recipe.facts, recipe.facts.domain.searched
    for part in budget.SEARCH_STEPS if names else ():
        requests = [StatisticRequest(MAGNITUDES.name, (), names[:1], 1.0)]
        mu = facts.mu * math.sqrt(part * (recipe.search_share or share_of(facts)) / len(names))
        yield calibrate(requests, facts.domain, facts.neighbors, mu)


def unseen_words(names: Sequence[str]) -> str:
    """Say that the search saw nothing of some columns, and what would help."""
    one = len(names) == 1
    return (
        f"The search for bounds saw nothing of {', '.join(map(repr, names[:8]))}{', ...' * (len(names) > 8)}: too few "
        f"rows lie near each other for this epsilon, or nearly all are zero. {'Its' if one else 'Their'} values are "
        "clipped to within 1 of the origin, so that the model hardly knows them. Declare bounds from public knowledge, "
        f"or leave {'the column' if one else 'the columns'} out."
    )


def share_of(facts: Facts) -> float:
    """Return the share of mu^2 that the search has: more of it the fewer rows there are for each column."""
    least, most = budget.SEARCH_SHARE
    if facts.counted_rows is None:
        return most
    need = len(facts.domain.searched) * (budget.SEARCH_NEED / _reach(facts)) ** 2
    return min(max(need, least), most)


def refuse_hopeless(recipe: Recipe) -> None:
    """Refuse a search that cannot succeed, as the declared number of rows tells, before anything is spent."""
    if recipe.facts.counted_rows is not None and (why := too_few(recipe.facts, recipe.search_share)):
        raise ParameterError(why)


def too_few(facts: Facts, share: float | None = None) -> str:
    """Say why a search cannot succeed, as the number of rows tells; empty if it may, or there is none."""
    names, most = facts.domain.searched, budget.SEARCH_SHARE[1]
    least = budget.SEARCH_LEAST * math.sqrt(len(names) * most / (share or most))
    if not names or facts.rows is None or (reach := _reach(facts)) >= least:
        return ""
    shown = f"{', '.join(map(repr, names[:8]))}{', ...' * (len(names) > 8)}"
    many = int(len(names) * (reach / least) ** 2)
    fewer = f"leave at most {many} column{'s' * (many > 1)} without bounds, or " if many else "or "
    return (
        f"About {facts.rows:,} rows at epsilon {facts.promise.epsilon:g} are too few to search for the bounds "
        f"of {len(names)} column{'s' * (len(names) > 1)} ({shown}): about {facts.rows * least / reach:,.0f} "
        f"are needed. Nothing was spent. Remedy: declare bounds from public knowledge, {fewer}choose a larger epsilon."
    )


def _reach(facts: Facts) -> float:
    """Return n mu for counts: per row of a person, and per row that takes another's place."""
    apart = math.sqrt(2) if facts.neighbors == "replace-one" else 1.0
    return (facts.rows or 0) * facts.mu / (facts.domain.most * apart)


class _ColumnCounts(NamedTuple):
    """The noisy counts of a column, the sd of their noise, and the number of rows."""

    counts: Floats
    sd: float
    rows: Count


def _counts(
    facts: Facts, kind: SearchCounts, names: Sequence[str], mu: float
) -> Steps[tuple[dict[str, _ColumnCounts], Facts]]:
    """Ask for counts of columns, and for the number of rows where that is possible; the latter is the same in all.

    Rows that are left out for a missing value count in the columns that have one: there counts are added up instead.
    Return the counts, and the facts with the mu that is left.
    """
    spending, whole_rows = Spending(facts), facts.domain.missing == "error"
    asks = whole_rows and facts.neighbors == "add-remove"
    share = (1 - budget.SEARCH_ROWS if asks else 1.0) / len(names)
    requests = [StatisticRequest(kind.name, (), (name,), share) for name in names]
    requests += [StatisticRequest("sums", (CONSTANT,), (), budget.SEARCH_ROWS)] if asks else []
    blocks, arrays = yield from spending.statistics(requests, mu)
    rows = Count(float(arrays[-1][0]), blocks[-1].sd) if asks else None
    if whole_rows and not asks and facts.counted_rows is not None:
        rows = Count(float(facts.counted_rows), 0.0)
    found = {}
    for name, block, own in zip(names, blocks, arrays, strict=False):
        found[name] = _ColumnCounts(own, block.sd, rows or Count(float(own.sum()), block.sd * math.sqrt(len(own))))
    return found, replace(facts, left=spending.left())


def _with(facts: Facts, columns: Mapping[str, Numeric]) -> Facts:
    """Return the facts with these bounds of some columns."""
    domain: Domain = facts.domain
    for name, column in columns.items():
        domain = domain.with_column(name, column)
    return replace(facts, domain=domain)
