"""Running sums in exact integers: float64 over few rows, then int64, then limbs of 32 bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import NoReturn, Protocol, TypeVar

import numpy as np

from discreet.core.arrays import Bools, Floats, Ints, Objects
from discreet.data.wire import packed, unpacked
from discreet.domain import LATTICE_BITS, Domain
from discreet.domain.unit import WEIGHT_BITS
from discreet.errors import FileFormatError

EXACT_ROWS = 1 << (53 - 2 * LATTICE_BITS)
"""Sums over at most 8,192 rows are integers below 2^53, exact in float64."""

ALIGNED = 8
"""Rows of a device begin at multiples of so many numbers, which makes products of odd widths a fifth faster."""

Left = Callable[[Floats], Floats]
T = TypeVar("T")

CARRY_EVERY = 1 << (63 - 53 - 1)
LIMB = 32
ARRAYS = 5
"""The number of arrays that a running sum holds."""

_PART = float(1 << WEIGHT_BITS)
_SMALL = 1 << (62 - LIMB - 1)


def sum_bits(domain: Domain) -> int:
    """Return b such that sums of products are integers in units of 2^-b: 40, or 60 if rows are weighted."""
    return 2 * LATTICE_BITS + (0 if domain.unit.plain else WEIGHT_BITS)


class Products(Protocol):
    """The products that are summed over each batch."""

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the array of sums."""

    def add(self, A: Floats, total: Floats, work: Floats, sampled: Bools | None, left: Left) -> None:
        """Add the products of a batch to a total.

        A has one row for each row of the table; `work` is an array of the shape of the total. `left` maps rows to the
        left factor of each product: themselves, or a part of their products with the row weights.
        """


class Total:
    """A running sum of products in exact integers.

    Weighted rows are summed in two parts. With q the weight in units of 2^-20 and z a coordinate, both integers of
    at most 2^20, q z = 2^20 h + l with h and l of at most 2^20: sums of h z' and of l z' are as exact as those of z z'.
    """

    def __init__(self, layout: Products, *, weighted: bool = False) -> None:
        self._layout, self._rest = layout, Total(layout) if weighted else None
        self._sum, self._work = np.zeros(layout.shape), np.empty(layout.shape)
        self._recent, self._high, self._low = (np.zeros(layout.shape, dtype=np.int64) for _ in range(3))
        self._rows = self._pending = 0

    def add(self, A: Floats, sampled: Bools | None = None, weights: Floats | None = None) -> None:
        """Add the products of a batch, with the weights of its rows, if any, in units of 2^-20."""
        if (weights is None) != (self._rest is None):
            raise AssertionError("rows have weights, or none of them has")
        if weights is None or self._rest is None:
            self._add(A, sampled, _itself)
            return
        q = weights[:, None]
        self._add(A, sampled, lambda Z: np.floor(Z * q / _PART))
        self._rest._add(A, sampled, lambda Z: Z * q - np.floor(Z * q / _PART) * _PART)

    def _add(self, A: Floats, sampled: Bools | None, left: Left) -> None:
        """Add sums over at most 8,192 rows: integers of at most 2^53, exact in float64."""
        if len(A) > EXACT_ROWS:
            raise AssertionError("a batch is too long for an exact product")
        if self._rows + len(A) > EXACT_ROWS:
            self._settle()
        self._layout.add(A, self._sum, self._work, sampled, left)
        self._rows += len(A)

    def _settle(self) -> None:
        self._recent += self._sum.astype(np.int64)
        self._sum[:] = 0.0
        self._rows = 0
        self._pending += 1
        if self._pending == CARRY_EVERY:
            self._limbs()

    def limbs(self) -> tuple[Ints, Ints]:
        """Return high and low limbs of the sum so far, in units of 2^-40, or of 2^-60 if rows have weights."""
        self._settle()
        high, low = self._limbs()
        if self._rest is None:
            return high, low
        more, rest = self._rest.limbs()
        up = LIMB - WEIGHT_BITS
        return carry((high << WEIGHT_BITS) + (low >> up) + more, ((low & ((1 << up) - 1)) << WEIGHT_BITS) + rest)

    def _limbs(self) -> tuple[Ints, Ints]:
        self._high += self._recent >> LIMB
        self._low += self._recent & ((1 << LIMB) - 1)
        self._high, self._low = carry(self._high, self._low)
        self._recent[:] = 0
        self._pending = 0
        return self._high, self._low


def _itself(Z: Floats) -> Floats:
    return Z


def carry(high: Ints, low: Ints) -> tuple[Ints, Ints]:
    """Carry into the high limb, so that the low limb has 32 bits."""
    return high + (low >> LIMB), low & ((1 << LIMB) - 1)


class Host:
    """The place where a pass is computed: here, by numpy."""

    def total(self, layout: Products, *, weighted: bool = False) -> Total:
        """Return a running sum of products."""
        return Total(layout, weighted=weighted)

    def held(self, own: T) -> T:
        """Return an object whose arrays are at this place."""
        return own


HOST = Host()


class PartialSums:
    """The result of one pass over some rows: limbs of sums of products, and counts; **confidential**.

    Results of disjoint rows add up with ``+`` to the result of all of them, in any order.

    Parameters
    ----------
    high, low : array
        Limbs of the sums of products.
    counts : sequence of array
        Other sums of integers.

    Examples
    --------
    >>> part = PartialSums(np.zeros((2, 2), dtype=np.int64), np.ones((2, 2), dtype=np.int64), [np.arange(3)])
    >>> PartialSums.from_bytes((part + part).to_bytes()).counts
    (array([0, 2, 4]),)
    """

    def __init__(self, high: Ints, low: Ints, counts: Sequence[Ints] = ()) -> None:
        self.high, self.low, self.counts = high, low, tuple(counts)

    @classmethod
    def of(cls, total: Total, *counts: Ints) -> PartialSums:
        """Build from a running sum."""
        return cls(*total.limbs(), counts)

    def __add__(self, other: PartialSums) -> PartialSums:
        if self.shapes != other.shapes:
            raise FileFormatError("Sums of different passes cannot be added.")
        counts = [own + others for own, others in zip(self.counts, other.counts, strict=True)]
        return PartialSums(*carry(self.high + other.high, self.low + other.low), counts)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of all arrays."""
        return tuple(array.shape for array in (self.high, self.low, *self.counts))

    def to_bytes(self) -> bytes:
        """Return the sums as **confidential** bytes."""
        return packed("sums", {}, [self.high, self.low, *self.counts])

    @classmethod
    def from_bytes(cls, content: bytes) -> PartialSums:
        """Rebuild from `to_bytes`."""
        high, low, *counts = unpacked("sums", content)[1]
        return cls(high, low, counts)

    def __repr__(self) -> str:
        return "PartialSums(confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("PartialSums are confidential and are not pickled. Use to_bytes(), which marks them as such.")


def joined(parts: Sequence[PartialSums]) -> PartialSums:
    """Add the sums of all parts."""
    return reduce(add, parts)


def integers(high: Ints, low: Ints) -> Objects:
    """Return the integers of limbs: int64 if all are below 2^62, else Python integers."""
    if not high.size or -_SMALL < high.min() <= high.max() < _SMALL:
        narrow: Objects = (high << LIMB) + low
        return narrow
    wide: Objects = high.astype(object) * (1 << LIMB) + low.astype(object)
    return wide
