"""Rotated rows that a solver reads many times: u, with a weight and an outcome for each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.core.arrays import Floats
from discreet.data.reading import Progress, Table
from discreet.data.rows import BLOCK, Rows
from discreet.domain.coordinates import CoordinateMap, Coordinates
from discreet.domain.elementary import log
from discreet.domain.encoding import ONE
from discreet.families import Loss


class RotatedRows(Rows):
    """The rows of a table in the coordinates of a stage, each with a weight and an outcome; **confidential**.

    With z = P'x, w = min(1, r/|z|) and u = w z/r, the loss of a row is w^2 f(u'gamma/w, y): that of eta = z'gamma/r,
    with the weight that the row has in a linear stage. Its gradient w f' u and its Hessian f'' u u' are no larger than
    those of a row of the norm of u (``docs/mathematics``, 13.1).

    Parameters
    ----------
    table : Table
        The private rows.
    coordinates : Coordinates
        The rotation of the rows.
    target : str
        The outcome's column, as for `Rows`.
    exposure : str, optional
        A column whose logarithm is added to the predictor.
    progress : callable, optional
        Called with the fraction done while the rows are read for the first time.

    Examples
    --------
    >>> from discreet import Domain
    >>> domain = Domain.from_bounds(["x"], ["y"], bounds_X=(0, 1), bounds_y=(0, 8))
    >>> stage = Coordinates.rounded(["(intercept)", "x"], [], np.eye(2), np.zeros((2, 0)), 1.0, [])
    >>> RotatedRows(Table.of((np.zeros((2, 1)), np.zeros(2)), domain), stage, "y")
    RotatedRows(2 coordinates, confidential)
    """

    def __init__(
        self,
        table: Table,
        coordinates: Coordinates,
        target: str,
        *,
        exposure: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._coordinates, self._exposure = coordinates, exposure
        super().__init__(table, coordinates.design, target, progress=progress)

    def _blocks(self) -> Callable[[Floats], tuple[Floats, Floats]]:
        coordinate_map, radius = CoordinateMap(self._coordinates, self.domain, BLOCK), self._coordinates.radius * ONE

        def block(A: Floats) -> tuple[Floats, Floats]:
            rotated = coordinate_map.rotate(A)
            weights = radius / rotated.row_norms
            own = np.column_stack([self._outcomes(A), weights, self._offsets(A)])
            return np.ascontiguousarray(rotated.U.T) / ONE, own

        return block

    def _offsets(self, A: Floats) -> Floats:
        if self._exposure is None:
            return np.zeros(len(A))
        place = self.domain.indices([self._exposure])[0]
        return log(self.domain.centre[place] + self.domain.half[place] * (A[:, place] / ONE))

    def _parts(
        self, loss: Loss, X: Floats, theta: Floats, y: Floats, label: Callable[[Floats], Floats]
    ) -> tuple[Floats, Floats, Floats]:
        outcome, w, offset = y.T
        f, slope, curvature = loss.parts(X @ theta / w + offset, label(outcome))
        return w * w * f, w * slope, curvature

    def __repr__(self) -> str:
        return f"RotatedRows({len(self.design)} coordinates, confidential)"
