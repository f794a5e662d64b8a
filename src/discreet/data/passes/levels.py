"""Products with the levels of wide categories: sums by level and tables of pairs, in place of a product of matrices.

A category has one coordinate in every row that is not 0. So a row has as many products with levels as it has other
coordinates, and one with each other category, however many levels there are. The sums are integers, the same as those
of all products, most of which are 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from discreet.core.arrays import Floats, Ints
from discreet.data.sums import Left

MANY = 256
"""Levels from which a category is summed up by level: below, a product of matrices takes less time."""


class Levels:
    """Sums left(Z_f)'Z over the lines of Z, with Z_f its first columns.

    Parameters
    ----------
    spans : sequence of (int, int)
        Where wide categories begin and end, all of them among the first columns.
    first, columns : int
        How many columns Z_f and Z have.
    """

    def __init__(self, spans: Sequence[tuple[int, int]], first: int, columns: int) -> None:
        self._spans = spans
        self._at: Ints = np.concatenate([np.arange(*span) for span in spans])
        self._starts = np.cumsum([0, *(high - low for low, high in spans)])
        self._rest: Ints = np.setdiff1d(np.arange(columns), self._at)
        self._first = int(np.searchsorted(self._rest, first))

    def add(self, Z: Floats, total: Floats, left: Left) -> None:
        """Add the sums over some lines to a total."""
        D, (places, V) = Z[:, self._rest], self._held(Z)
        E, own, at = left(D[:, : self._first]), self._rest[: self._first], self._at
        H, G = (self._matrix(places, values) for values in (V, left(V)))
        total[np.ix_(own, self._rest)] += E.T @ D
        total[np.ix_(at, self._rest)] += G.T @ D
        total[np.ix_(own, at)] += (H.T @ E).T
        pairs = (G.T @ H).tocoo()
        total[at[pairs.row], at[pairs.col]] += pairs.data

    def _held(self, Z: Floats) -> tuple[Ints, Floats]:
        """Of each category the place of the coordinate that is not 0, among all levels, and its value."""
        places, values = np.empty((len(Z), len(self._spans)), dtype=np.int64), np.empty((len(Z), len(self._spans)))
        for k, (low, high) in enumerate(self._spans):
            value, moment = (Z[:, low:high] @ np.column_stack([np.ones(high - low), np.arange(high - low)])).T
            places[:, k] = self._starts[k] + np.where(value == 0, 0, moment / np.where(value == 0, 1, value))
            values[:, k] = value
        return places, values

    def _matrix(self, places: Ints, values: Floats) -> sparse.csr_array:
        n, k = places.shape
        return sparse.csr_array((values.ravel(), places.ravel(), np.arange(0, n * k + 1, k)), (n, len(self._at)))
