"""Products with the levels of wide categories: sums by level and tables of pairs instead of a matrix product.

In each row, one coordinate of a category is not 0. So a row has one nonzero product of a category with each other
coordinate and with each other category, however many levels there are. The sums are integers, equal to those of the
full matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.core.arrays import Floats, Ints
from discreet.data.sums import Left

MANY = 256
"""Categories with at least so many levels are summed by level; for fewer, a matrix product is faster."""


class Levels:
    """Sums left(Z_f)'Z over the rows of Z, with Z_f its first columns.

    Parameters
    ----------
    spans : sequence of (int, int)
        The column ranges of wide categories, all of them among the first columns.
    first, columns : int
        The number of columns of Z_f and of Z.
    """

    def __init__(self, spans: Sequence[tuple[int, int]], first: int, columns: int) -> None:
        self._spans = spans
        levels = np.concatenate([np.arange(*span) for span in spans])
        self._rest: Ints = np.setdiff1d(np.arange(columns), levels)
        self._first = int(np.searchsorted(self._rest, first))

    def add(self, Z: Floats, total: Floats, left: Left) -> None:
        """Add the sums over some rows to a total."""
        if not len(Z):
            return
        D, held = Z[:, self._rest], [_held(Z, *span) for span in self._spans]
        E, own = left(D[:, : self._first]), self._rest[: self._first]
        total[np.ix_(own, self._rest)] += E.T @ D
        for places, v in held:
            h = left(v)
            at, sums = _by_place(places, np.hstack([h * D, v * E]))
            total[np.ix_(at, self._rest)] += sums[:, : len(self._rest)]
            total[np.ix_(own, at)] += sums[:, len(self._rest) :].T
            for others, w in held:
                pairs, products = _by_place(places * total.shape[1] + others, h * w)
                total[np.divmod(pairs, total.shape[1])] += products[:, 0]


def _held(Z: Floats, low: int, high: int) -> tuple[Ints, Floats]:
    """Return, for each row, the place of a category's nonzero coordinate, and its value as a column."""
    value, moment = (Z[:, low:high] @ np.column_stack([np.ones(high - low), np.arange(high - low)])).T
    places = low + np.where(value == 0, 0, moment / np.where(value == 0, 1, value)).astype(np.int64)
    return places, value[:, None]


def _by_place(places: Ints, X: Floats) -> tuple[Ints, Floats]:
    """Return the distinct places, and the sums of the rows of X at each of them.

    Examples
    --------
    >>> _by_place(np.array([7, 2, 7]), np.array([[1.0], [2.0], [3.0]]))
    (array([2, 7]), array([[2.],
           [4.]]))
    """
    order = np.argsort(places, kind="stable")
    found = places[order]
    starts = np.flatnonzero(np.diff(found, prepend=-1))
    sums: Floats = np.add.reduceat(X[order], starts, axis=0)
    return found[starts], sums
