"""The Fisher information of a multinomial model: one matrix for each pair of classes; ``docs/mathematics``, 13.1.

diag(p) - p p' is the sum of p_j p_k d d' over pairs of classes j < k, with d = e_j - e_k. So the information of rows
with the coordinates u is the sum of A_jk'A_jk/4 x d d' over pairs, where a_jk = 2 sqrt(p_j p_k) u. All pairs together
move no further by one row than one predictor does: the squares of p_j p_k add up to at most 1/16.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from discreet.core.arrays import Floats, Objects
from discreet.core.chance import spectral
from discreet.core.checks import Neighbors
from discreet.domain.cells import BINS
from discreet.domain.coordinates import Coordinates, scores
from discreet.domain.domain import LATTICE_BITS
from discreet.domain.encoding import ONE
from discreet.families.coordinates import ModelCoordinates
from discreet.statistics import space as spaces
from discreet.statistics.base import (
    ROUNDED,
    BlockLike,
    ExactStage,
    NoiseLayout,
    NoisyValue,
    Places,
    RowArrays,
    Statistic,
    registered,
)
from discreet.statistics.information import PAIRS


class PairInformation(Statistic):
    """For each pair of classes the sum of a a' over rows, a = k u, where k^2 = 4 p_j p_k."""

    name = "pair information"
    stage_words, stage_order = "Fisher information of pairs of classes", 5
    outcomes = "all"
    symmetric = True
    of_slopes = True

    def sensitivity(self, block: BlockLike, space: spaces.Space, neighbors: Neighbors) -> float:
        """R^2 for all pairs together, sqrt(2) times that for replace-one; R is raised by what rounding adds."""
        change = _change(block, spaces.norm_squared(block.rows, space))
        return change * (math.sqrt(2) if neighbors == "replace-one" else 1.0)

    def sds(self, sd: float, layout: NoiseLayout) -> tuple[float, ...]:
        """The noise sds of the diagonals and of the upper triangles."""
        return sd, sd if layout == "uniform" else sd / math.sqrt(2)

    # ---------------------------------------------------------------- values

    def shape(self, block: BlockLike, bins: int = BINS) -> tuple[int, ...]:
        """A square for each pair."""
        return _pairs(block), len(block.rows), len(block.rows)

    def array(self, block: BlockLike, parts: Sequence[Floats], bins: int = BINS) -> Floats:
        """The matrices, assembled from all diagonals and all upper triangles."""
        diagonals, uppers = parts
        (n, q, _), at = self.shape(block), np.triu_indices(len(block.rows), k=1)
        if len(diagonals) != n * q or len(uppers) != n * len(at[0]):
            raise ValueError("symmetric matrices of another size")
        G = np.zeros((n, q, q))
        G[:, range(q), range(q)] = diagonals.reshape(n, q)
        G[:, at[0], at[1]] = G[:, at[1], at[0]] = uppers.reshape(n, -1)
        return G

    def plausible(self, n: float, shape: tuple[int, ...], names: Sequence[str] = ()) -> Floats:
        """Multiples of the identity matrix, for classes of equal shares."""
        m = (1 + math.sqrt(1 + 8 * shape[0])) / 2
        return np.broadcast_to(4 * n / (m**2 * shape[1]) * np.eye(shape[1]), shape).copy()

    def impossible(self, value: NoisyValue, others: Sequence[NoisyValue], most: float, *, plain: bool) -> Iterator[str]:
        """Check that eigenvalues are not negative, and that squares are within the number of rows."""
        array, block = value.array, value.block
        bound = spectral(array.shape[-1], *self.sds(block.sd, block.layout)) + 1e-9 * float(np.abs(array).max())
        if float(np.linalg.eigvalsh(array).min()) < -bound:
            yield f"{value.name}: a matrix of products has an eigenvalue below 0 by more than its noise can do"
        if float(np.einsum("kii->ki", array).max()) > most * ROUNDED + value.far:
            yield f"{value.name}: a sum of squares is larger than the number of rows and its noise allow"

    # ---------------------------------------------------------------- exact sums

    def from_stage(self, sums: ExactStage, block: BlockLike, chosen: Sequence[int]) -> list[Objects]:
        """The diagonals of all matrices, and their upper triangles."""
        found = [sums.matrix(place) for place in range(_pairs(block))]
        return [np.concatenate(parts) for parts in zip(*found, strict=True)]

    def stage_refusal(self, coordinates: Coordinates) -> str | None:
        """Refuse models without classes that exclude each other, and those of a single class."""
        own = isinstance(coordinates, ModelCoordinates) and coordinates.family.joint
        return None if own and len(coordinates.outcomes) > 1 else PAIRS

    # ---------------------------------------------------------------- losses of rows

    def seen(self, U: Floats, e: Floats) -> Floats:
        """The vectors a = k u of all pairs, one behind the other; `e` holds k, a column for each pair."""
        return np.hstack([scores((U * ONE).T, k * ONE).T for k in e.T]) / ONE

    def vectors(self, block: BlockLike, places: Places, Z: Floats) -> Floats:
        """The entries of a a' of each pair, those off the diagonal times sqrt(2); `Z` is as `seen` gives it."""
        A = Z.reshape(len(Z), _pairs(block), -1)
        i, j = np.triu_indices(A.shape[2], k=1)
        _, off = self.sds(1.0, block.layout)
        parts = A**2, A[:, :, i] * A[:, :, j] / off
        return np.concatenate(parts, axis=2).reshape(len(Z), -1)

    def most(self, block: BlockLike, places: Places, rows: RowArrays) -> Floats:
        """The bound on |x|^2 + |w|^2, for products x and w of two rows, whose own products are never below 0."""
        own: Floats = np.sum(self.vectors(block, places, rows.Z) ** 2, axis=1)
        return own + _change(block, places.norm_squared(places.indices(block.rows))) ** 2


def _change(block: BlockLike, R2: float) -> float:
    """Return what a row with |u|^2 <= R^2 adds at most to all matrices, in the Frobenius norm, rounding included."""
    R, rounded = math.sqrt(R2), 2.0**-LATTICE_BITS * math.sqrt(math.sqrt(_pairs(block)))
    return (R + rounded * (R + math.sqrt(len(block.rows)))) ** 2


def _pairs(block: BlockLike) -> int:
    """Return the number of pairs of classes."""
    m = len(block.columns)
    return m * (m - 1) // 2


PAIR_INFORMATION = registered(PairInformation())
