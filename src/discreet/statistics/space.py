"""Spaces that contain rows, and bounds on norms and products of coordinates; ``docs/mathematics``, section 2.

Rows are z with norm(z_X) <= R on the regressors and norm(z_Y) <= T on the outcomes, in units of the mapped columns,
rounding included; every coordinate is at most 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.domain import Domain
from discreet.domain.coordinates import Coordinates

Space = Domain | Coordinates
"""The space of rows: mapped columns of a domain, or coordinates of a stage."""


def norm_squared(names: Sequence[str], space: Space) -> float:
    """Bound on the squared norm of some coordinates of a row."""
    return space.norms[tuple(names)]


def least_product(names: Sequence[str], domain: Domain) -> float:
    """A lower bound on z . z': each number and each ball adds at least -1, a category 0, the constant 1."""
    columns = {domain.column_of[name] for name in names}
    numbers = {name for name in columns if name in domain.columns and domain.columns[name].bounds}
    signed = {name for name in columns - numbers if _has_signed_levels({name}, domain)}
    moving = [n for n in names if domain.column_of[n] in numbers | signed]
    return (1.0 if names[0] == domain.entries[0].name else 0.0) - norm_squared(moving, domain)


def least_overlap(names: Sequence[str], space: Space) -> int:
    """The least abs(z . z') over corners of a box with the constant: 0, or 1 where parity forbids 0."""
    if isinstance(space, Coordinates):
        return 0
    columns = {space.column_of[name] for name in names}
    if names[0] != space.entries[0].name or columns & set(space.norm_columns) or _has_signed_levels(columns, space):
        return 0
    numbers = sum(name in space.columns and space.columns[name].bounds is not None for name in columns)
    categories = len(columns) - 1 - numbers
    if len(columns) == 1:
        return 0
    return int(numbers == 0 or (categories == 0 and numbers % 2 == 0))


def _has_signed_levels(columns: set[str], domain: Domain) -> bool:
    """Whether some category multiplies a number, so that equal levels may have a product below 0."""
    categories = [spec for spec in map(domain.columns.get, columns) if spec is not None and spec.levels]
    return not all(spec.is_indicator for spec in categories)
