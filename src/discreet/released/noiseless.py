"""Detection of releases without noise: sums that are whole numbers, or that add up to the last digit.

Values are integers q that stand for q 2^m lattice units, with noise of at least 2^30 grid units. Noise makes q a
multiple of 2^k with a probability of 2^-k, k <= 30, whatever the data are, and independently for each value; and two
values equal, up to r units, with at most (2 r + 1) 2^-31. Without noise some values always are multiples, or equal:

* counts of rows, and products of the constant and of levels, are whole numbers, multiples of 2^40 lattice units;
* sums of numbers are multiples of 2^20;
* two levels of one category never meet, and a level is its own square;
* the products of a number with all levels of a category add up to its sum.

Each is about a value that no earlier one is about, so probabilities multiply: k given facts of N hold by chance with a
probability of 2^-B, B their bits. There are C(N, k) choices of k, and N + 1 of their number, so B - log2 C(N, k) is b
or more with a probability of at most (N + 1) 2^-b.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.core.chance import SURE_BITS
from discreet.domain import CONSTANT, LATTICE_BITS, Domain
from discreet.privacy.events.gaussian import Block
from discreet.privacy.values import GridValues

if TYPE_CHECKING:
    from discreet.released.moments import ReleasedMoments

_MOST_BITS = 30


class Fact(NamedTuple):
    """A fact that holds without noise: how improbable it is with noise, in bits, and whether it holds."""

    bits: int
    holds: bool


def noiseless(released: ReleasedMoments) -> str | None:
    """Return the reason that values cannot have the listed noise, if they hold facts that noise would change."""
    found = [fact for fact in _facts(released) if fact.bits > 1]
    held = [fact.bits for fact in found if fact.holds]
    choices = (len(found) + 1) * math.comb(len(found), len(held))
    if sum(held) - math.log2(choices) < SURE_BITS:
        return None
    return "values that noise would have changed are as they are without noise: whole numbers, or sums that add up"


def _facts(released: ReleasedMoments) -> Iterator[Fact]:
    domain = released.domain
    for event, values in released.parts:
        for block, parts in zip(event.blocks, values, strict=True):
            if block.kind.counted:
                yield from _multiples(parts[0], [2 * LATTICE_BITS] * len(parts[0].integers), domain)
            elif event.rotated is not None or event.sampled_share < 1:
                continue
            elif block.kind.symmetric:
                yield from _ProductParts(block, parts, domain).facts()
            elif steps := block.kind.steps(block, lambda name: _is_whole(name, domain)):
                yield from _multiples(parts[0], steps, domain)


def _is_whole(name: str, domain: Domain) -> bool:
    """Whether a coordinate is 0 or 1."""
    column = domain.columns.get(domain.column_of[name])
    return name == CONSTANT or (column is not None and bool(column.levels) and not column.factors)


def _multiples(values: GridValues, steps: list[int], domain: Domain) -> Iterator[Fact]:
    for q, step in zip(values.integers, steps, strict=True):
        bits = min(step - values.exponent - (0 if domain.unit.plain else LATTICE_BITS), _MOST_BITS)
        yield Fact(bits, bits > 0 and q % (1 << bits) == 0)


class _ProductParts:
    """The entries of X'X, found by place."""

    def __init__(self, block: Block, parts: tuple[GridValues, ...], domain: Domain) -> None:
        self._names, self._domain = block.rows, domain
        self._exponents = [part.exponent for part in parts]
        d = len(block.rows)
        self._q: dict[tuple[int, int], int] = {(i, i): q for i, q in enumerate(parts[0].integers)}
        upper = zip(*(places.tolist() for places in np.triu_indices(d, k=1)), parts[1].integers, strict=True)
        self._q |= {(i, j): q for i, j, q in upper}
        self._whole = [_is_whole(name, domain) for name in block.rows]
        self._never = domain.exclusive(domain.indices(block.rows))

    def facts(self) -> Iterator[Fact]:
        """Yield at most one fact for each entry."""
        last = {(j, places[-1]): places for j in range(len(self._names)) for places in self._complete(j)}
        for (i, j), q in self._q.items():
            if self._never[i, j]:
                yield Fact(_MOST_BITS, q == 0)
            elif (i, j) in last or (j, i) in last:
                at = (i, j) if (i, j) in last else (j, i)
                yield self._adds_up(at[0], last[at])
            elif self._whole[i] and self._whole[j]:
                yield from self._multiple(i, j, 2 * LATTICE_BITS)
            elif self._whole[i] or self._whole[j]:
                yield from self._multiple(i, j, LATTICE_BITS)

    def _complete(self, j: int) -> Iterator[list[int]]:
        """Yield the indices of all levels of each category, for a number."""
        if self._whole[j] or self._names[0] != CONSTANT:
            return
        for name, column in self._domain.columns.items():
            places = [k for k, own in enumerate(self._names) if self._domain.column_of[own] == name]
            if column.levels and len(places) == len(column.levels) and self._whole[places[0]]:
                yield places

    def _adds_up(self, j: int, places: list[int]) -> Fact:
        """Whether the products of a number with all levels add up to its sum, but for rounding to the grid."""
        total = sum(self._at(j, k) for k in places)
        room = len(places) + 1
        return Fact(_MOST_BITS - (2 * room + 1).bit_length(), abs(total - self._at(0, j)) <= room)

    def _at(self, i: int, j: int) -> int:
        return self._q[min(i, j), max(i, j)]

    def _multiple(self, i: int, j: int, step: int) -> Iterator[Fact]:
        exponent = self._exponents[0 if i == j else 1]
        yield from _multiples(GridValues(exponent, (self._q[i, j],)), [step], self._domain)
