"""Sketches of the products of a wide table's rows: U'T, with t the projection of u on a few public directions.

With Q such directions, t = Q'u/max(|Q'u|, kappa) takes the place of residuals. U'T of random directions, and then of
those that it found, tells the directions in which rows vary most, for d k numbers instead of d^2. Proofs in
``docs/mathematics``, section 14.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.field_kinds import ABOVE_0, record
from discreet.core.fields import Fields
from discreet.domain.coordinates import CoordinateMap, Coordinates, RotatedBatch, into_ball
from discreet.domain.directions import Directions
from discreet.domain.domain import LATTICE_BITS, Domain, rounded_ball
from discreet.domain.encoding import ONE
from discreet.domain.shrinkage import check_orthonormal, rounded_directions
from discreet.errors import ParameterError


@dataclass(frozen=True)
class SketchCoordinates(Coordinates):
    """Coordinates of a sketch: projections of u take the place of residuals, and their names that of outcomes.

    Parameters
    ----------
    design, outcomes, P, theta, radius, widths, row_norms, most
        As in `Coordinates`; there is no model, and one half width of 1 for each projection.
    directions : Directions
        Q: vectors over u, orthonormal up to rounding.
    reach : float
        kappa: longer projections are scaled down to it.

    Examples
    --------
    >>> own = SketchCoordinates.of(["(intercept)", "x"], np.ones(2), np.zeros(2), 2.0, np.eye(2)[:, 1:], 0.5)
    >>> own.outcomes, own.norms[own.outcomes] < 1.001
    (('t1',), True)
    """

    directions: Directions | None = None
    reach: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.directions is None or self.shrinkage is not None or not 2.0**-20 <= self.reach <= 2:
            raise ParameterError("A sketch needs directions, and a reach between 2^-20 and 2.")
        check_orthonormal(self.directions)
        k, widths = len(self.directions.exponents), set(self.widths)
        if self.directions.length != len(self.axes) or k != len(self.outcomes) or widths != {(1.0,)}:
            raise ParameterError("A sketch needs a direction over u, and a half width of 1, for each projection.")

    @classmethod
    def of(
        cls,
        design: Sequence[str],
        factors: Floats,
        shifts: Floats,
        radius: float,
        Q: Floats,
        reach: float,
        most: int = 1,
    ) -> SketchCoordinates:
        """Return the sketch of axes along the columns."""
        names = _names(Q.shape[1], design)
        P, widths = Directions.along_columns(factors, shifts), ((1.0,),) * len(names)
        own = tuple(design), names, P, Directions((), ()), float(radius), widths, (), most, None
        return cls(*own, rounded_directions(Q), float(reach))

    @property
    def _is_modelled(self) -> bool:
        return not self.theta.integers

    def _norm_squared(self, names: tuple[str, ...]) -> float:
        """The largest squared norm of u, or of t."""
        if names and names == self.axes:
            return super()._norm_squared(names)
        return math.ldexp(float(rounded_ball(len(self.outcomes))), -2 * LATTICE_BITS)

    def check(self, domain: Domain) -> None:
        """Check the design; projections are no columns."""
        Coordinates(self.design, (), self.P, self.theta, self.radius, (), self.row_norms, self.most).check(domain)

    FIELDS = Fields(
        Coordinates.FIELDS.name,
        Coordinates.FIELDS.words,
        **Coordinates.FIELDS.rows,
        directions=record(Directions)("Of a sketch, the directions on which u is projected.", absent=None),
        reach=ABOVE_0("Of a sketch, the norm to which longer projections are scaled.", absent=None),
    )


class SketchMap(CoordinateMap):
    """Transforms batches of encoded rows into the coordinates of a sketch: E holds the projections."""

    def __init__(self, coordinates: SketchCoordinates, domain: Domain, rows: int) -> None:
        super().__init__(coordinates, domain, rows)
        assert coordinates.directions is not None
        self._directions, self._reach = coordinates.directions.scaled.T, coordinates.reach * ONE

    def rotate(self, A: Floats) -> RotatedBatch:
        """Transform a batch, one encoded row a line."""
        found = super().rotate(A)
        T = np.matmul(self._directions, found.U, out=found.V)
        np.rint(T, out=T)
        found.E[:] = T
        length = np.maximum(np.sqrt(np.einsum("ij,ij->j", T, T)), self._reach)
        into_ball(found.E, length, float(rounded_ball(len(T))))
        return found

    def _clip(self, V: Floats, E: Floats) -> None:
        """Leave out residuals: a sketch has none."""


def random_directions(q: int, k: int, seed: int) -> Floats:
    """Return k orthonormal columns, a public function of the seed: random signs made orthogonal.

    Examples
    --------
    >>> Q = random_directions(50, 3, 1)
    >>> Q.shape, bool(np.allclose(Q.T @ Q, np.eye(3)))
    ((50, 3), True)
    """
    words = np.random.Philox(key=seed).random_raw(math.ceil(q * k / 64))
    bits = np.unpackbits(np.asarray(words, dtype="<u8").view(np.uint8))[: q * k]
    Q: Floats = np.linalg.qr(bits.reshape(q, k) * 2.0 - 1)[0]
    return Q


def _names(k: int, taken: Sequence[str]) -> tuple[str, ...]:
    """Return names for k projections, none of which is taken."""
    prefix = "t"
    while any(f"{prefix}{j + 1}" in taken for j in range(k)):
        prefix += "t"
    return tuple(f"{prefix}{j + 1}" for j in range(k))
