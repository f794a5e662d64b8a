"""Values that are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Later(Generic[T]):
    """What a function returns, called once, when the value is first wanted; pickles as the value.

    Examples
    --------
    >>> answer = Later(lambda: print("thinking") or 42)
    >>> answer(), answer()
    thinking
    (42, 42)
    """

    def __init__(self, find: Callable[[], T]) -> None:
        self._find: Callable[[], T] | None = find

    @classmethod
    def of(cls, value: T) -> Later[T]:
        """A value that is known already."""
        return cls(lambda: value)

    def __call__(self) -> T:
        """The value."""
        if self._find is not None:
            self._value = self._find()
            self._find = None
        return self._value

    def __reduce__(self) -> tuple[Any, tuple[T]]:
        return Later.of, (self(),)
