"""Secret samples of rows, exactly uniform."""

from __future__ import annotations

import math
import threading
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.core.checks import Neighbors
from discreet.errors import DataError
from discreet.gate.entropy import Entropy

Mask = NDArray[np.bool_]


# -------------------------------------------------------------------- secret samples, exactly uniform


class IndependentSampler:
    """A sampler that takes each row independently, with the same probability.

    Parameters
    ----------
    rate : float
        The probability, rounded down to a multiple of 2^-64.
    source : Entropy
        The source of random words.
    """

    def __init__(self, rate: float, source: Entropy) -> None:
        self._below = np.uint64(math.floor(math.ldexp(rate, 64)))
        self._source = source
        self._lock = threading.Lock()

    def take(self, rows: int) -> Mask:
        """Whether each of the next rows is in the sample."""
        with self._lock:
            drawn: Mask = self._source.words(rows) < self._below
        return drawn


class FixedSampler:
    """A sampler for which all sets of floor(rate total) rows are equally likely.

    Every row has a random key, and those with the least keys are taken; where the last one taken and the first one left
    out have the same key, all keys are drawn anew, so no set is preferred. Keys do not depend on the rows, so it does
    not matter in which order rows get them.

    Parameters
    ----------
    rate : float
        The share of the rows, rounded down to a whole number of them.
    total : int
        The number of rows.
    source : Entropy
        The source of random words.
    """

    def __init__(self, rate: float, total: int, source: Entropy) -> None:
        size = fixed_size(rate, total)
        while True:
            keys = source.words(total)
            last, first_out = np.partition(keys, (size - 1, size))[size - 1 : size + 1]
            if last < first_out:
                break
        self._drawn: Mask = keys <= last
        self._at = 0
        self._lock = threading.Lock()

    def take(self, rows: int) -> Mask:
        """Whether each of the next rows is in the sample."""
        with self._lock:
            start, self._at = self._at, self._at + rows
        if self._at > len(self._drawn):
            raise DataError("The rows changed while they were read: more of them came the second time.")
        return self._drawn[start : start + rows]

    def check_all_taken(self) -> None:
        """Refuse a sample of fewer rows than there were when its size was decided."""
        if self._at != len(self._drawn):
            raise DataError("The rows changed while they were read: fewer of them came the second time.")


def fixed_size(rate: float, total: int) -> int:
    """Return the number of rows in a share of all rows, rounded down."""
    size = math.floor(Fraction(rate) * total)
    if size < 1:
        raise DataError("The sample would hold no row: choose a larger subsample, or none.")
    return size


def sampler(rate: float, neighbors: Neighbors, total: int, source: Entropy) -> IndependentSampler | FixedSampler:
    """Return the sampler whose cost is exactly known: independent for add-remove, of fixed size otherwise."""
    return IndependentSampler(rate, source) if neighbors == "add-remove" else FixedSampler(rate, total, source)
