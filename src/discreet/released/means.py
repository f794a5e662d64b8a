"""Means of regressors from released sums: for effects and predictions at the means, which cost nothing more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.field_kinds import FLAG, NAMES, VECTOR, check_shapes
from discreet.core.fields import Fields, Written
from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT, Domain
from discreet.errors import FileFormatError
from discreet.released.moments import BlockValues, ReleasedMoments

NO_SUMS = Unavailable(
    "not released",
    "This release holds no sums of the columns, which means come from. Linear models, classes and counts in stages "
    "release them.",
)
OLD_MEANS = Unavailable(
    "not released", "This file was saved without means of the columns. Fit the release again: release.fit(...)."
)


@dataclass(frozen=True, eq=False)
class ColumnMeans(Written):
    """Means of coordinates in the user's units: their noisy sums over the noisy number of rows.

    Parameters
    ----------
    names : tuple of str
        The coordinates: numbers, levels, and terms of formulas.
    mean : array
        Their means, within the declared bounds.
    noise : array
        The sd that the noise of each sum gives its mean.
    common : array
        The change of each mean for an sd of the noise in the number of rows, which all of them share.
    shared : bool
        Whether the coefficients come from the same noisy sums, so that their errors may go together.

    Examples
    --------
    >>> means = ColumnMeans(("age",), np.array([40.0]), np.array([0.3]), np.array([0.4]), False)
    >>> means.sd(np.array([1.0])).item()
    0.5
    """

    names: tuple[str, ...]
    mean: Floats
    noise: Floats
    common: Floats
    shared: bool

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place of each coordinate."""
        return {name: i for i, name in enumerate(self.names)}

    def sd(self, gradient: Floats) -> Floats:
        """The sds of the noise of functions of the means, from their gradients, a row each."""
        own, common = gradient * self.noise, gradient @ self.common
        found: Floats = np.sqrt((own**2).sum(axis=-1) + common**2)
        return found

    FIELDS = Fields(
        "column_means",
        "Means of coordinates, from released sums, in the user's units.",
        names=NAMES,
        mean=VECTOR,
        noise=VECTOR("The sd of each from the noise of its own sum."),
        common=VECTOR("The change of each for an sd of the noise in the number of rows."),
        shared=FLAG("Whether the coefficients come from the same sums."),
    )

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> Self:
        """Rebuild from `to_dict`."""
        parts = cls.FIELDS.read(facts)
        check_shapes(parts, dict.fromkeys(("mean", "noise", "common"), (len(parts["names"]),)))
        if len(set(parts["names"])) < len(parts["names"]) or (parts["noise"] < 0).any():
            raise FileFormatError("it is damaged: its means do not fit together.")
        return cls(**parts)


def column_means(released: ReleasedMoments) -> ColumnMeans | Unavailable:
    """Return the means of all coordinates that the release holds sums of."""
    held = [_sums(values) for values in released.tables]
    found = max((own for own in held if own is not None), key=lambda own: len(own[0]), default=None)
    if found is None or not len(found[0]):
        return NO_SUMS
    names, sums, sd, shared = found
    rows, rows_sd = released.rows_and_noise()
    return _in_user_units(
        released.domain, names, sums / rows, sd / rows, (sd if rows_sd is None else rows_sd) / rows, shared
    )


def _sums(values: BlockValues) -> tuple[tuple[str, ...], Floats, float, bool] | None:
    """Return coordinates with their sums, the noise of these, and whether coefficients come from them; or None."""
    block, array = values.block, values.array
    if block.statistic == "sums":
        places = [i for i, name in enumerate(block.rows) if name != CONSTANT]
        return tuple(block.rows[i] for i in places), array[places], values.sds[-1], False
    if block.statistic == "gram" and CONSTANT in values.rows:
        first = values.rows[CONSTANT]
        places = [i for i in range(len(block.rows)) if i != first]
        return tuple(block.rows[i] for i in places), array[first, places], values.sds[-1], True
    return None


def _in_user_units(
    domain: Domain, names: Sequence[str], mean: Floats, noise: float, rows_noise: float, shared: bool
) -> ColumnMeans:
    places = domain.indices(names)
    centre, half = domain.centre[places], domain.half[places]
    low, high = domain.ranges(names).T
    within = np.clip(centre + half * mean, low, high)
    return ColumnMeans(tuple(names), within, half * noise, -half * mean * rows_noise, shared)
