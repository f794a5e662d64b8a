"""Made-up neighbouring tables, chosen so that a release is most likely to reveal the person in whom they differ."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet.domain import Domain
from discreet.domain.kinds.base import Column

Row = Mapping[str, Any]

ROWS = 32
"""The maximum number of rows that the two tables have in common."""

_FAR = 1e6
"""A substitute for infinite bounds: columns in a ball are clipped to the ball."""

_TIMES = 3
"""The number of rows of the person, as a multiple of the rows that count."""

_MOST_CORNERS = 64


@dataclass(frozen=True)
class Neighbours:
    """Two tables: the rows that both have, and those of one person in the first, in the second or in both.

    Examples
    --------
    >>> pair = Neighbours(Domain({"x": (0, 1)}), ({"x": 0.5},), (), ({"x": 1.0},))
    >>> [table.num_rows for table in pair.tables()]
    [1, 2]
    """

    domain: Domain  # whose unit says who a person is
    common: tuple[Row, ...]  # the rows of both tables
    first: tuple[Row, ...]  # the rows of the person in the first; empty if absent
    second: tuple[Row, ...]  # the same in the second

    def tables(self) -> tuple[pa.Table, pa.Table]:
        """Both tables."""
        return self.table(self.first), self.table(self.second)

    def table(self, person: Sequence[Row]) -> pa.Table:
        """The common rows, and those of one person."""
        unit = self.domain.unit
        own = tuple(person) * (_TIMES * unit.rows_per_person if unit.person is not None else 1)
        rows = [dict(row) for row in (*self.common, *own)]
        names = list(rows[0])
        columns: dict[str, Any] = {name: [row[name] for row in rows] for name in names}
        if unit.person is not None:
            columns[unit.person] = [*range(len(self.common)), *([-1] * len(own))]
        if unit.weights is not None:
            columns[unit.weights] = [unit.largest_weight] * len(rows)
        return pa.table(columns)

    def __str__(self) -> str:
        different = list(dict.fromkeys(map(_shown, self.common)))
        common = f"{len(self.common)} rows {' and '.join(different)}"
        if not self.first:
            return f"{common}; with and without {_shown(self.second[0])}"
        return f"{common}; {_shown(self.first[0])} or {_shown(self.second[0])} besides"


def _shown(row: Row) -> str:
    values = {name: f"{value:g}" if isinstance(value, float) else f"{value}" for name, value in row.items()}
    return "(" + ", ".join(f"{name}={text}" for name, text in values.items()) + ")"


def ends(column: Column) -> tuple[Any, ...]:
    """The extreme values of a column: its bounds, or its first and last levels.

    Examples
    --------
    >>> ends(Domain({"x": (0, 4)}).columns["x"]), ends(Domain({"c": ["a", "b", "d"]}).columns["c"])
    ((0.0, 4.0), ('a', 'd'))
    """
    return column.narrowed(-_FAR, _FAR).extremes


def middle(column: Column) -> Any:
    """The value that changes sums least: the middle of the bounds, or the first level."""
    return column.narrowed(-_FAR, _FAR).typical


def corners(domain: Domain, names: Sequence[str]) -> list[Row]:
    """The rows at the corners of the domain; with many columns, those where at most one column is at the other end."""
    both = [ends(domain.inputs[name]) for name in names]
    if 2 ** len(names) <= _MOST_CORNERS:
        return [dict(zip(names, values, strict=True)) for values in itertools.product(*both)]
    signs = [[side] * len(names) for side in (0, 1)]
    signs += [[side ^ (k == own) for k in range(len(names))] for side in (0, 1) for own in range(len(names))]
    return [
        {name: pair[side] for name, pair, side in zip(names, both, own, strict=True)} for own in signs[:_MOST_CORNERS]
    ]


def crowds(domain: Domain, names: Sequence[str], rows: int = ROWS) -> list[tuple[Row, ...]]:
    """Candidates for the common rows: all in the middle, many or a few at one corner, or half at each of two."""
    centre: Row = {name: middle(domain.inputs[name]) for name in names}
    ends = corners(domain, names)
    two = itertools.islice(itertools.combinations(ends, 2), _MOST_CORNERS)
    alone = [(end,) * size for size in (rows, max(1, rows // 8)) for end in ends]
    return [(centre,) * rows, *alone, *((one, other) * (rows // 2) for one, other in two)]
