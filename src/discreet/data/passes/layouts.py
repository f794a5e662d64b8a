"""The products that the passes of a stage sum."""

from __future__ import annotations

import numpy as np

from discreet.core.arrays import Bools, Floats, on_device
from discreet.data.sums import Left
from discreet.domain.coordinates import Coordinates, scores
from discreet.domain.encoding import ONE
from discreet.families.coordinates import ModelCoordinates

_SMALL, _SHORT = 1_000_000, 512
"""Multiplications up to which OpenBLAS has a faster matrix product, and the fewest rows for which it is used."""


class StageLayout:
    """E'U, the squares of e, and U'U unless it is left out, from rows (e, u)."""

    def __init__(self, coordinates: Coordinates, *, gram: bool = True) -> None:
        self._l, q, self._gram = sum(map(len, coordinates.widths)), len(coordinates.axes), gram
        self.shape = self._l + gram * q, q + 1

    def add(self, A: Floats, total: Floats, work: Floats, sampled: Bools | None, left: Left) -> None:
        """Add the products of a batch to a total."""
        l, B = self._l, left(A)  # noqa: E741
        E, U, F, V = A.T[:l], A.T[l:], B.T[:l], B.T[l:]
        if self._gram:
            total[l:, :-1] += np.matmul(V, U.T, out=work[l:, :-1])
        if not l:
            return
        step = _SMALL // (l * len(U))
        step = step if step >= _SHORT and not on_device(A) else len(A)
        for i in range(0, len(A), step):
            total[:l, :-1] += np.matmul(F[:, i : i + step], U[:, i : i + step].T, out=work[:l, :-1])
        total[:l, -1] += np.einsum("ij,ij->i", F, E, out=work[:l, -1])


class ModelCoordinatesLayout(StageLayout):
    """E'U, the squares of e, and A'A of a = k u for each k, from rows (e, u, k)."""

    def __init__(self, coordinates: ModelCoordinates) -> None:
        super().__init__(coordinates)
        self._q = len(coordinates.axes)
        self.shape = self._l + coordinates.slopes * self._q, self._q + 1

    def add(self, A: Floats, total: Floats, work: Floats, sampled: Bools | None, left: Left) -> None:
        """Add the products of a batch to a total."""
        l, q, B = self._l, self._q, left(A)  # noqa: E741
        E, U, K, F = A.T[:l], A.T[l : l + q], A.T[l + q :], B.T[:l]
        total[:l, :-1] += np.matmul(F, U.T, out=work[:l, :-1])
        total[:l, -1] += np.einsum("ij,ij->i", F, E, out=work[:l, -1])
        for j, k in enumerate(K):
            at, a = slice(l + j * q, l + (j + 1) * q), scores(U, k)
            total[at, :-1] += np.matmul(left(a.T).T, a.T, out=work[at, :-1])


class ScoreProductLayout:
    """S'S of each outcome, and U'U of a single outcome's inner rows in a linear model, from rows (e, u).

    Inner rows have |e| < 1; u of the others counts as 0.
    """

    def __init__(self, coordinates: Coordinates) -> None:
        self._m, self._q = len(coordinates.outcomes), len(coordinates.axes)
        self._inner = self._m == 1 and not isinstance(coordinates, ModelCoordinates)
        self.shape = (self._m + self._inner) * self._q, self._q
        self._scores = np.empty(0)

    def add(self, A: Floats, total: Floats, work: Floats, sampled: Bools | None, left: Left) -> None:
        """Add the products of a batch to a total."""
        if len(A) * self._q > len(self._scores):
            self._scores = np.empty(len(A) * self._q, like=A)
        held = self._scores[: self._q * len(A)].reshape(self._q, len(A))
        for j in range(self._m):
            at = slice(j * self._q, (j + 1) * self._q)
            S = scores(A.T[self._m : self._m + self._q], A.T[j], out=held)
            total[at] += np.matmul(S, S.T, out=work[at])
        if self._inner:
            inner = np.multiply(A.T[1:], np.abs(A.T[0]) < ONE, out=held)
            total[self._q :] += np.matmul(inner, inner.T, out=work[self._q :])
