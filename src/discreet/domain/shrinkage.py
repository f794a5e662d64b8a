"""Coordinates of wide tables: rows along the columns, with a few directions shrunk.

With u0 = z/max(|z|, r) of a row along the columns, Q a public matrix of a few orthonormal directions and c of their
shares, a stage of a wide table has

    u1 = u0 - Q (c Q'u0)        u = u1/max(|u1|, rho)        w = min(1, r/|z|) min(1, rho/|u1|)

so that a pass takes d k operations a row instead of d^2. Q'u0 and c Q'u0 are rounded to the lattice, and products with
Q are exact, so u is a function of the row alone. Proofs in ``docs/mathematics``, section 14.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.field_kinds import ABOVE_0, many, number, record
from discreet.core.fields import Fields, FileRecord
from discreet.domain.directions import ROOM_BITS, Directions
from discreet.errors import ParameterError

_MOST_EXPONENT = 29
"""Directions of length 1 are multiples of 2^-29, so that sums of their products with lattice integers are exact."""

_LONGEST = 1.25
"""Room for the projection of a row on a direction, whose norm is at most sqrt(1.5), in units of the norm of the row."""


@dataclass(frozen=True)
class Shrinkage(FileRecord):
    """Directions that are shrunk, and the radius to which rows are scaled afterwards.

    Parameters
    ----------
    directions : Directions
        Q: vectors over the coordinates u0, orthonormal up to rounding.
    shares : tuple of float
        c: the share of each direction that is taken away, from 0 to 1.
    radius : float
        rho: rows with a longer u1 are scaled down to it, with their residuals.
    """

    directions: Directions
    shares: tuple[float, ...]
    radius: float

    def __post_init__(self) -> None:
        check_orthonormal(self.directions)
        known = len(self.shares) == len(self.directions.exponents) and all(0 <= c <= 1 for c in self.shares)
        if not known or not 2.0**-20 <= self.radius <= 2:
            raise ParameterError("Directions are shrunk by a share from 0 to 1 each, to a radius between 2^-20 and 2.")

    @classmethod
    def rounded(cls, Q: Floats, shares: Floats, radius: float) -> Self:
        """Return the shrinkage with directions that have exact products with rows."""
        return cls(rounded_directions(Q), tuple(map(float, shares)), float(radius))

    def applied(self, gamma: Floats) -> Floats:
        """Return C gamma with C = I - Q c Q', for a column of numbers each."""
        Q = self.directions.scaled
        shrunk: Floats = gamma - Q @ (np.array(self.shares)[:, None] * (Q.T @ gamma))
        return shrunk

    def unapplied(self, gamma: Floats) -> Floats:
        """Return C^-1 gamma, where no direction is taken away altogether."""
        Q, c = self.directions.scaled, np.array(self.shares)[:, None]
        stretched: Floats = gamma + Q @ (c / np.maximum(1 - c, 2.0**-20) * (Q.T @ gamma))
        return stretched

    FIELDS = Fields(
        "shrinkage",
        "Directions that are shrunk in a stage of a wide table; u1 = u0 - Q (c Q'u0).",
        directions=record(Directions)("Q: vectors over the coordinates along the columns."),
        shares=many(number(minimum=0, maximum=1))("c: the share of each that is taken away."),
        radius=ABOVE_0("rho: rows with a longer u1 are scaled to this norm, with their residuals."),
    )


def rounded_directions(Q: Floats) -> Directions:
    """Round orthonormal directions so that products with lattice vectors, in either order, are exact."""
    return Directions.rounded(Q, most=_MOST_EXPONENT)


def check_orthonormal(directions: Directions) -> None:
    """Refuse directions whose products with lattice vectors may not be exact, or may be much longer than these."""
    Q = directions.scaled
    k, room = len(directions.exponents), 2.0 ** (ROOM_BITS - max((0, *directions.exponents)))
    known = k > 0 and not directions.along and max(directions.exponents) <= _MOST_EXPONENT
    if not known or float(np.abs(Q).sum(axis=1).max()) * _LONGEST > room:
        raise ParameterError("Directions of a wide table must have exact products with rows.")
    if float(np.abs(Q.T @ Q - np.eye(k)).sum(axis=1).max()) > 0.5:
        raise ParameterError("Directions of a wide table must be orthonormal up to rounding.")
