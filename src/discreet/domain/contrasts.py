"""Which coordinates of an encoded row a model uses, which it could use besides, and which pairs of them never meet."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.domain.columns import Categorical, Factor, Numeric

if TYPE_CHECKING:
    from discreet.domain.domain import Domain


def design(domain: Domain, features: Sequence[str]) -> list[int]:
    """Coordinates of the regressors such that none is a combination of the others.

    A cell of a category is known by the set T of its categories that are not at their first level. Columns with the
    same numbers in them are looked at together, those of fewer categories first; a cell is left out if its T is a
    subset of the categories of an earlier column, for it is then a combination of that column's cells. The constant
    counts as a column without categories, so a category leaves out its first level; ``age:region`` does so beside
    ``age``, and has all levels without it.
    """
    spanned: dict[Any, list[frozenset[str]]] = {(): [frozenset()]}
    kept: dict[str, list[int]] = {}
    for name in sorted(features, key=lambda name: len(_categories(domain, name))):
        earlier = spanned.setdefault(_numbers(domain, name), [])
        cells = zip(domain.positions[name], _cells(_categories(domain, name)), strict=True)
        kept[name] = [place for place, T in cells if not any(column >= T for column in earlier)]
        earlier.append(frozenset(_categories(domain, name)))
    return ([0] if domain.intercept else []) + [place for name in features for place in kept[name]]


def _factors(domain: Domain, name: str) -> tuple[Factor, ...]:
    return domain.columns[name].factors or (Factor(name, domain.columns[name]),)


def _numbers(domain: Domain, name: str) -> tuple[tuple[str, int], ...]:
    numbers = (f for f in _factors(domain, name) if isinstance(f.spec, Numeric))
    return tuple(sorted((f.column, f.power) for f in numbers))


def _categories(domain: Domain, name: str) -> dict[str, int]:
    """Names of a column's categories, with how many levels each has."""
    return {f.column: len(f.spec.levels) for f in _factors(domain, name) if isinstance(f.spec, Categorical)}


def _cells(categories: Mapping[str, int]) -> Iterator[frozenset[str]]:
    for levels in itertools.product(*map(range, categories.values())):
        yield frozenset(name for name, level in zip(categories, levels, strict=True) if level)


def every_level(domain: Domain, features: Sequence[str], design: Sequence[str]) -> tuple[str, ...]:
    """The design with the first level of plain categories too, beside a constant; a row's norm has the same bound.

    None of the levels is then special: an estimate need not depend on which of them is called the first.
    """
    if not design or design[0] != domain.entries[0].name:
        return tuple(design)
    plain = [name for name in features if isinstance(domain.columns[name], Categorical)]
    names = {domain.entries[domain.positions[name][0]].name for name in plain if not domain.columns[name].factors}
    return tuple(entry.name for entry in domain.entries if entry.name in names.union(design))


def lift(domain: Domain, full: Sequence[str], design: Sequence[str]) -> NDArray[np.float64]:
    """L with z = L x: the coordinates of `every_level`, or some of them, from those of the design.

    A first level is the constant less the other levels. Coefficients c of z are L'c of x, against the first levels.
    """
    place = {name: i for i, name in enumerate(design)}
    L = np.zeros((len(full), len(design)))
    for row, name in zip(L, full, strict=True):
        if name in place:
            row[place[name]] = 1.0
        else:
            column = domain.entries[domain.indices([name])[0]].column
            row[[place[domain.entries[i].name] for i in domain.positions[column][1:]]] = -1.0
            row[0] = 1.0
    return L


def exclusive(domain: Domain, indices: Sequence[int]) -> NDArray[np.bool_]:
    """Which pairs of coordinates are at different levels of one category, so that their product is always 0."""
    levels: dict[str, NDArray[np.intp]] = {}
    for i, place in enumerate(indices):
        entry = domain.entries[place]
        if entry.level is not None:
            sizes = _categories(domain, entry.column)
            at = np.unravel_index(entry.level, tuple(sizes.values()))
            for name, level in zip(sizes, at, strict=True):
                levels.setdefault(name, np.full(len(indices), -1))[i] = level
    pairs = np.zeros((len(indices), len(indices)), dtype=bool)
    for held in levels.values():
        pairs |= (held[:, None] != held) & (held[:, None] >= 0) & (held >= 0)
    return pairs
