"""From raw columns to lattice integers: centre, scale, clip to the box, shorten to the ball, round."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.domain import LATTICE_BITS, Domain, Numeric
from discreet.errors import DataError

Floats = NDArray[np.float64]
ONE = float(1 << LATTICE_BITS)


class Encoder:
    """Encodes batches of rows of one domain, in place.

    A batch A holds one encoded row a line, in either memory order. The caller writes the constant, the one-hot
    levels, and x - c for every number; `finish` turns them into integers q = round(2^k z), held exactly in
    float64, with sum q^2 within `Domain.norm_squared_lattice`.

    Parameters
    ----------
    domain : Domain
        The public facts.

    Examples
    --------
    >>> encoder = Encoder(Domain({"age": (20, 60)}))
    >>> A = encoder.empty(2)
    >>> A[:, 1] = [40 - encoder.centre[1], 99 - encoder.centre[1]]
    >>> encoder.finish(A)
    >>> (A / ONE).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        maps = [domain.map(entry.column) for entry in domain.entries]
        self.centre: Floats = np.array([c for c, _ in maps])
        self.half: Floats = np.array([h for _, h in maps])
        numeric = [isinstance(domain.columns.get(entry.column), Numeric) for entry in domain.entries]
        self._scale = np.where(numeric, ONE / self.half, 1.0)
        self._low, self._high = self._box()
        self._symmetric = bool(np.all(self._low == -ONE) and np.all(self._high == ONE))
        places = sorted(domain.positions[name][0] for name in domain.norm_columns)
        self._ball: slice | list[int] | None = None
        if places:
            contiguous = places[-1] - places[0] + 1 == len(places)
            self._ball = slice(places[0], places[-1] + 1) if contiguous else places

    def _box(self) -> tuple[Floats, Floats]:
        low, high = np.full(len(self.centre), -ONE), np.full(len(self.centre), ONE)
        for i, entry in enumerate(self.domain.entries):
            column = self.domain.columns.get(entry.column)
            if isinstance(column, Numeric):
                low[i] = (column.low - self.centre[i]) * self._scale[i]
                high[i] = (column.high - self.centre[i]) * self._scale[i]
        return np.rint(low), np.rint(high)

    def empty(self, rows: int, *, columnar: bool = False) -> Floats:
        """A batch with the constant in place and zeros elsewhere."""
        A = np.zeros((rows, len(self.centre)), order="F" if columnar else "C")
        A[:, 0] = ONE
        return A

    def finish(self, A: Floats) -> None:
        """Scale, clip and round a batch that holds x - c."""
        if not np.isfinite(A.sum()):
            self._refuse_non_finite(A)
        np.multiply(A, self._scale, out=A)
        if self._symmetric:
            np.clip(A, -ONE, ONE, out=A)
        else:
            np.clip(A, self._low, self._high, out=A)
        if self._ball is None:
            np.rint(A, out=A)
        else:
            self._shorten(A)

    def _shorten(self, A: Floats) -> None:
        ball = self._ball
        norms = _row_norms(A[:, ball])
        if not np.isfinite(norms).all():
            A[:, ball] *= ONE / np.maximum(np.abs(A[:, ball]).max(axis=1, keepdims=True), ONE)
            norms = _row_norms(A[:, ball])
        A[:, ball] *= (ONE / np.maximum(norms, ONE))[:, None]
        np.rint(A, out=A)
        Z = A[:, ball]
        inside = np.einsum("ij,ij->i", Z, Z) <= self.domain.ball_lattice
        if not inside.all():
            A[:, ball] *= inside[:, None]

    def _refuse_non_finite(self, A: Floats) -> None:
        for i, entry in enumerate(self.domain.entries):
            if not np.isfinite(A[:, i]).all():
                kind = "missing values (NaN)" if np.isnan(A[:, i]).any() else "infinite values"
                hint = "declare missing='drop', or fill them" if "NaN" in kind else "mend them"
                raise DataError(f"Column {entry.column!r} holds {kind}. Remedy: {hint} before the release.")


def _row_norms(Z: Floats) -> Floats:
    with np.errstate(over="ignore"):
        norms: Floats = np.sqrt(np.einsum("ij,ij->i", Z, Z))
    return norms
