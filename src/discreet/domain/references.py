"""Change of reference levels: regressors against one level of a category as a linear map of those against another.

Both designs leave out cells that follow from the others (`Domain.design`), so regressors x of one are a linear map of
those of the other, x = R x', and a line theta'x is the line (R'theta)'x'. Where a cell of a column with categories C is
left out, those of its categories that are not at their first level stand in an earlier column with categories D, or
there are none and D is the constant. With what the cell says of categories of both held fixed,

    cell  =  sum of the cells of D over the levels of D less C  -  sum of the other cells of C over those of C less D

for both sums of cells are 1 where the row agrees with what is held fixed, and 0 elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain.domain import CONSTANT, Domain
from discreet.domain.kinds.base import Factor, categories_of, numbers_of

_Cell = dict[str, Any]
"""The level of each category."""


def recoding(old: Domain, new: Domain, features: Sequence[str]) -> Floats:
    """Return R with x = R x', for the regressors of some features; both designs have the constant.

    Parameters
    ----------
    old, new : Domain
        The same columns; categories of the new one may begin with another level.
    features : sequence of str
        The columns of the model.

    Examples
    --------
    >>> recoding(Domain({"s": ["a", "b", "c"]}), Domain({"s": ["b", "a", "c"]}), ["s"])  # from b, c to a, c
    array([[ 1.,  0.,  0.],
           [ 1., -1., -1.],
           [ 0.,  0.,  1.]])
    """
    design = _Design(new, tuple(features))
    names = old.design_names(features)
    R = np.zeros((len(names), len(design.places)))
    for row, i in zip(R, old.indices(names), strict=True):
        entry = old.entries[i]
        levels = _categories(old, entry.column)
        at = () if entry.level is None else np.unravel_index(entry.level, [len(own) for own in levels.values()])
        cell = {name: own[k] for (name, own), k in zip(levels.items(), at, strict=True)}
        design.add(row, 1.0, entry.column, cell)
    return R


@dataclass(frozen=True)
class _Design:
    """The regressors that cells are expressed by."""

    domain: Domain
    features: tuple[str, ...]

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each regressor."""
        return {name: i for i, name in enumerate(self.domain.design_names(self.features))}

    def add(self, row: Floats, weight: float, column: str, cell: _Cell) -> None:
        """Add a cell of a column, times a weight."""
        name = self._name(column, cell)
        if name in self.places:
            row[self.places[name]] += weight
            return
        own = _categories(self.domain, column)
        other = self._spanning(column, {c for c, level in cell.items() if level != own[c][0]})
        theirs = _categories(self.domain, other)
        held = {c: level for c, level in cell.items() if c in theirs}
        for more in _cells({c: levels for c, levels in theirs.items() if c not in own}):
            self.add(row, weight, other, held | more)
        for more in _cells({c: levels for c, levels in own.items() if c not in theirs}):
            if held | more != cell:
                self.add(row, -weight, column, held | more)

    def _name(self, column: str, cell: _Cell) -> str:
        levels = _categories(self.domain, column)
        if not levels:
            return column
        at = [own.index(cell[name]) for name, own in levels.items()]
        place = int(np.ravel_multi_index(at, [len(own) for own in levels.values()]))
        return self.domain.entries[self.domain.positions[column][place]].name

    def _spanning(self, column: str, moved: set[str]) -> str:
        """Return the earlier column whose cells span a cell in which these categories are not at their first level."""
        ordered = sorted(self.features, key=lambda name: len(_categories(self.domain, name)))
        earlier = [CONSTANT, *ordered[: ordered.index(column)]]
        alike = (name for name in earlier if _numbers(self.domain, name) == _numbers(self.domain, column))
        return next(name for name in alike if moved <= _categories(self.domain, name).keys())


def _factors(domain: Domain, column: str) -> tuple[Factor, ...]:
    spec = domain.columns.get(column)
    return () if spec is None else spec.parts(column)


def _numbers(domain: Domain, column: str) -> list[tuple[str, int]]:
    return sorted((f.column, f.power) for f in numbers_of(_factors(domain, column)))


def _categories(domain: Domain, column: str) -> dict[str, tuple[Any, ...]]:
    return {f.column: f.spec.levels for f in categories_of(_factors(domain, column))}


def _cells(levels: dict[str, tuple[Any, ...]]) -> Iterator[_Cell]:
    for cell in itertools.product(*levels.values()):
        yield dict(zip(levels, cell, strict=True))
