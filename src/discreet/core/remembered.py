"""A cache of values by key."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Remembered(dict[K, V]):
    """A mapping whose values are computed on first access.

    Parameters
    ----------
    compute : callable
        The value of a key.

    Examples
    --------
    >>> lengths = Remembered(len)
    >>> lengths["abc"], dict(lengths)
    (3, {'abc': 3})
    """

    def __init__(self, compute: Callable[[K], V]) -> None:
        self._compute = compute

    def __missing__(self, key: K) -> V:
        value = self[key] = self._compute(key)
        return value
