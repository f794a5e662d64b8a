"""A digest of rows in any order, to check that two readings of a table saw the same rows.

Every entry is mixed with a secret number of its column, the entries of a row are added up and mixed again, and rows are
added up, modulo 2^64. Rows that differ have the same digest with a probability of about 2^-64, which nobody can raise
without the secret numbers.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import Floats

Words = NDArray[np.uint64]

_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class Digest:
    """Digests of rows with a set of secret random numbers.

    Parameters
    ----------
    columns : int
        The maximum number of columns.

    Examples
    --------
    >>> digest, X = Digest(2), np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> digest.of(X) == digest.of(X[::-1]), digest.of(X) == digest.of(np.array([[1.0, 4.0], [3.0, 2.0]]))
    (True, False)
    """

    def __init__(self, columns: int) -> None:
        drawn: Words = np.frombuffer(secrets.token_bytes(8 * (columns + 1)), dtype=np.uint64)
        self._whole, self._secret = drawn[0], drawn[1:]

    def of(self, *columns: Floats) -> int:
        """Return the digest of rows, given as arrays of one or two dimensions that stand side by side."""
        bits = np.ascontiguousarray(np.column_stack(columns), dtype=np.float64).view(np.uint64)
        rows = _mixed(bits + self._secret[: bits.shape[1]]).sum(axis=1, dtype=np.uint64)
        return int(_mixed(rows + self._whole).sum(dtype=np.uint64))

    def __repr__(self) -> str:
        return "Digest(confidential)"


def _mixed(words: NDArray[Any]) -> Words:
    """Apply the finaliser of SplitMix64, a permutation of words of 64 bits."""
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    mixed: Words = words ^ (words >> np.uint64(31))
    return mixed
