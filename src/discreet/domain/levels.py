"""Designs with other levels of categories, and the linear maps between them: every level, or other reference levels.

`Domain.design` leaves out cells that follow from the others, so regressors x against one reference level are a linear
map of those against another, x = R x', and a line theta'x is the line (R'theta)'x'. Where a cell of a column with
categories C is left out, those of its categories that are not at their first level stand in an earlier column with
categories D, or there are none and D is the constant. With what the cell says of categories of both held fixed,

    cell  =  sum of the cells of D over the levels of D less C  -  sum of the other cells of C over those of C less D

for both sums of cells are 1 where the row agrees with what is held fixed, and 0 elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain.domain import CONSTANT, Domain
from discreet.domain.kinds.base import Level

_Cell = dict[str, Level]
"""The level of each category."""


def every_level(domain: Domain, features: Sequence[str], design: Sequence[str]) -> tuple[str, ...]:
    """Add the reference levels of plain categories to a design with a constant; a row's norm has the same bound.

    None of the levels is then special: an estimate need not depend on which of them is called the first.
    """
    if not design or design[0] != CONSTANT:
        return tuple(design)
    names = _first_levels(domain, features).union(design)
    return tuple(entry.name for entry in domain.entries if entry.name in names)


def lift(domain: Domain, full: Sequence[str], design: Sequence[str]) -> Floats:
    """Return L with z = L x: the coordinates of `every_level`, or some of them, from those of the design.

    A first level is the constant less the other levels. Coefficients c of z are L'c of x, against the first levels.
    """
    place = {name: i for i, name in enumerate(design)}
    L = np.zeros((len(full), len(design)))
    for row, name in zip(L, full, strict=True):
        if name in place:
            row[place[name]] = 1.0
        else:
            others = domain.positions[domain.column_of[name]][1:]
            row[[place[domain.entries[i].name] for i in others]] = -1.0
            row[0] = 1.0
    return L


def model_design(domain: Domain, design: Sequence[str]) -> tuple[list[str], Floats]:
    """The regressors of a model in a design that may hold every level, and L with z = L x for the design's z."""
    first = _first_levels(domain, domain.columns) if design[0] == CONSTANT else set()
    full = [name for name in design if name not in first]
    return full, lift(domain, design, full)


def level_places(domain: Domain, design: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Return for each plain category the places of its levels in a design that has every one of them.

    Examples
    --------
    >>> level_places(Domain({"ward": ["A", "B"], "y": (0, 1)}), ["(intercept)", "ward[A]", "ward[B]"])
    ((1, 2),)
    """
    place = {name: i for i, name in enumerate(design)}
    plain = (name for name, spec in domain.columns.items() if spec.levels and not spec.factors)
    groups = ([domain.entries[i].name for i in domain.positions[name]] for name in plain)
    return tuple(tuple(place[name] for name in group) for group in groups if place.keys() >= set(group))


def _first_levels(domain: Domain, columns: Iterable[str]) -> set[str]:
    """Return the coordinates of the first levels of plain categories."""
    plain = (name for name in columns if domain.columns[name].levels and not domain.columns[name].factors)
    return {domain.entries[domain.positions[name][0]].name for name in plain}


def recoding(old: Domain, new: Domain, features: Sequence[str]) -> Floats:
    """Return R with x = R x' for regressors of the same columns, whose categories may begin with other levels.

    Both designs have the constant.
    """
    design = _Design(new, tuple(features))
    names = old.design_names(features)
    R = np.zeros((len(names), len(design.places)))
    for row, i in zip(R, old.indices(names), strict=True):
        entry = old.entries[i]
        parts = old.parts[entry.column]
        at = zip(parts.categories.items(), parts.place(entry.level), strict=True)
        design.add(row, 1.0, entry.column, {name: levels[k] for (name, levels), k in at})
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
        own = self.domain.parts[column].categories
        other = self._spanning(column, {c for c, level in cell.items() if level != own[c][0]})
        theirs = self.domain.parts[other].categories
        held = {c: level for c, level in cell.items() if c in theirs}
        for more in _cells({c: levels for c, levels in theirs.items() if c not in own}):
            self.add(row, weight, other, held | more)
        for more in _cells({c: levels for c, levels in own.items() if c not in theirs}):
            if held | more != cell:
                self.add(row, -weight, column, held | more)

    def _name(self, column: str, cell: _Cell) -> str:
        parts = self.domain.parts[column]
        if not parts.categories:
            return column
        at = [levels.index(cell[name]) for name, levels in parts.categories.items()]
        place = int(np.ravel_multi_index(at, parts.shape))
        return self.domain.entries[self.domain.positions[column][place]].name

    def _spanning(self, column: str, moved: set[str]) -> str:
        """Return the earlier column whose cells span a cell in which these categories are not at their first level."""
        parts = self.domain.parts
        ordered = sorted(self.features, key=lambda name: len(parts[name].categories))
        earlier = [CONSTANT, *ordered[: ordered.index(column)]]
        alike = (name for name in earlier if parts[name].numbers == parts[column].numbers)
        return next(name for name in alike if moved <= parts[name].categories.keys())


def _cells(levels: dict[str, tuple[Level, ...]]) -> Iterator[_Cell]:
    for cell in itertools.product(*levels.values()):
        yield dict(zip(levels, cell, strict=True))
