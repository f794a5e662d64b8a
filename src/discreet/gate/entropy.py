"""Random words: their sources, and real uniform numbers made of them.

A `discreet.gate.session.Session` alone makes a source of words for a release, once it is paid for. Seeds are for
simulation only: whoever knows the seed can subtract the noise.

A release is certified as secret only if its words come from the operating system through the code of this module. The
system's function is taken once, at import, so that a later replacement of `os.urandom` changes nothing; one that was
replaced before, and a replaced `OSEntropy` or method of it, make simulations. That finds mocks, fixtures and patches,
not an enemy: whoever runs code in the process can change this module, too.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from functools import lru_cache
from types import BuiltinFunctionType
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy import frombuffer
from numpy.typing import NDArray

from discreet.errors import ParameterError

Words = NDArray[np.uint64]

DRAWN = "discreet.words"
"""The auditing event (PEP 578) of every draw from the operating system: hooks see it and cannot change the words."""

GUARD = 16
"""Binary digits of a boundary computed beyond those known of the number."""


@runtime_checkable
class Entropy(Protocol):
    """A source of independent, uniform 64-bit words; `simulation` says that they can be repeated."""

    simulation: bool

    def words(self, n: int) -> Words:
        """Return the next n words."""


_urandom = os.urandom


class OSEntropy:
    """Words from the operating system's cryptographic generator; instances hold nothing that could be replaced."""

    __slots__ = ()

    simulation = False

    def words(self, n: int) -> Words:
        """Return n fresh words."""
        sys.audit(DRAWN)
        return frombuffer(_urandom(8 * n), dtype=np.uint64)


_OWN_WORDS, _OWN_CODE, _OWN_READ = OSEntropy.words, OSEntropy.words.__code__, frombuffer


class SeededEntropy:
    """Words that can be repeated, from a seed or a numpy Generator: for simulation only."""

    simulation = True

    def __init__(self, seed: int | np.random.Generator) -> None:
        self._generator = np.random.default_rng(seed)

    def words(self, n: int) -> Words:
        """Return the next n words of the stream."""
        return self._generator.integers(0, 2**64, size=n, dtype=np.uint64)


class _NoNoise:
    simulation = True

    def words(self, n: int) -> Words:
        raise ParameterError("random_state=NO_NOISE cannot be used here: this step needs random words.")

    def __reduce__(self) -> str:
        return "NO_NOISE"

    __repr__ = __reduce__


#: No noise at all, for tests and simulation. Copies and pickles of it are the same object.
NO_NOISE = _NoNoise()


def entropy(random_state: Any) -> Entropy:
    """Return the source of random words for a ``random_state`` argument.

    Parameters
    ----------
    random_state : None, int, numpy.random.Generator, numpy.random.RandomState, NO_NOISE or Entropy
        None, or an `OSEntropy`, is the operating system's generator; another `Entropy` is itself; the others are
        simulations.

    Examples
    --------
    >>> entropy(None).simulation, entropy(0).simulation, entropy(NO_NOISE).simulation
    (False, True, True)
    >>> bool((entropy(1).words(4) == entropy(1).words(4)).all())
    True
    """
    check(random_state)
    if random_state is None or type(random_state) is OSEntropy:
        return OSEntropy()
    if isinstance(random_state, np.random.RandomState):
        seeds = random_state.randint(0, 2**32, size=8, dtype=np.uint64)
        return SeededEntropy(np.random.default_rng(seeds))
    if isinstance(random_state, int | np.integer | np.random.Generator):
        return SeededEntropy(random_state)  # type: ignore[arg-type]
    source: Entropy = random_state
    return source


def check(random_state: Any) -> None:
    """Refuse values that are no source of random words."""
    whole = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    numpy = isinstance(random_state, np.random.Generator | np.random.RandomState)
    own = isinstance(random_state, Entropy) and not isinstance(random_state, type)
    if not (random_state is None or numpy or own or (whole and random_state >= 0)):
        raise ParameterError(
            "random_state must be None, a whole number of at least 0, a numpy Generator or RandomState, NO_NOISE "
            f"or an Entropy; got {type(random_state).__name__}. Leave it None for a real release: seeds are for "
            "simulation only."
        )


def is_secret(random_state: Any) -> bool:
    """Whether random words are secret: only those of the operating system are.

    Examples
    --------
    >>> class Replaced(OSEntropy):
    ...     def words(self, n):
    ...         return np.zeros(n, dtype=np.uint64)
    >>> is_secret(None), is_secret(OSEntropy()), is_secret(Replaced()), is_secret(1)
    (True, True, False, False)
    """
    return (random_state is None or type(random_state) is OSEntropy) and _is_untouched()


def _is_untouched() -> bool:
    """Whether `OSEntropy` draws as it is written here, from the function that the operating system gives Python."""
    words = vars(OSEntropy).get("words")
    own = words is _OWN_WORDS and _OWN_WORDS.__code__ is _OWN_CODE and frombuffer is _OWN_READ
    system = isinstance(_urandom, BuiltinFunctionType) and _urandom.__name__ == "urandom"
    return own and system and _urandom.__module__ in ("posix", "nt")


class Uniform:
    """A real uniform number in [0, 1), or in a part of it that its first 64 digits tell.

    Parameters
    ----------
    word : int
        Its first 64 binary digits.
    source : Entropy
        The source of further digits.
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
    """Return the thread's own mpmath context of this precision, since mpmath's own precision is global state."""
    context = _context(threading.get_ident())
    context.prec = bits
    return context


@lru_cache
def _context(thread: int) -> Any:
    import mpmath

    return mpmath.MPContext()
