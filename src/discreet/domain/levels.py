"""Designs with every level of a category, and their linear map to designs without reference levels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.core.arrays import Floats
from discreet.domain.domain import CONSTANT, Domain


def every_level(domain: Domain, features: Sequence[str], design: Sequence[str]) -> tuple[str, ...]:
    """Add the reference levels of plain categories to a design with a constant; a row's norm has the same bound.

    None of the levels is then special: an estimate need not depend on which of them is called the first.
    """
    if not design or design[0] != CONSTANT:
        return tuple(design)
    plain = [name for name in features if domain.columns[name].levels and not domain.columns[name].factors]
    names = {domain.entries[domain.positions[name][0]].name for name in plain}
    return tuple(entry.name for entry in domain.entries if entry.name in names.union(design))


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
    plain = [name for name, spec in domain.columns.items() if spec.levels and not spec.factors]
    first = {domain.entries[domain.positions[name][0]].name for name in plain} if design[0] == CONSTANT else set()
    full = [name for name in design if name not in first]
    return full, lift(domain, design, full)
