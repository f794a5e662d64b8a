"""A real uniform number, of which as many binary digits are drawn as comparisons with exact numbers need."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.gate.randomness import Entropy

GUARD = 16
"""Binary digits of a boundary beyond those that are known of the number."""


class Uniform:
    """A real uniform number in [0, 1), or in a part of it that its first 64 digits tell.

    Parameters
    ----------
    word : int
        Its first 64 binary digits.
    source : Entropy
        Where further ones come from.
    """

    def __init__(self, word: int, source: Entropy) -> None:
        self._digits, self._bits, self._source = word, 64, source

    def below(self, boundary: Callable[[int], int]) -> bool:
        """Whether the number is below a boundary; while that is undecided, 64 more digits are drawn.

        Parameters
        ----------
        boundary : callable
            Given a number of bits, the boundary times 2^(bits + GUARD), within two units of it: one for the error
            allowed to its computation, one for truncation to an integer.
        """
        while True:
            edge = boundary(self._bits)
            if edge - 2 > (self._digits + 1) << GUARD:
                return True
            if edge + 2 < self._digits << GUARD:
                return False
            self._digits = self._digits << 64 | int(self._source.words(1)[0])
            self._bits += 64


def precise(bits: int) -> Any:
    """An mpmath context of this precision, the thread's own, as the precision of mpmath's own is global state."""
    context = _context(threading.get_ident())
    context.prec = bits
    return context


@lru_cache
def _context(thread: int) -> Any:
    import mpmath

    return mpmath.MPContext()
