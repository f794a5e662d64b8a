"""Values that are computed on first use, and placeholders for numbers that are not available."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from discreet.core.fields import FieldKind, defined
from discreet.errors import FileFormatError, NotReleasedError, printable

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class Later(Generic[T]):
    """The result of a function that is called once, when the value is first needed; pickles as the value.

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
        """Wrap a value that is known already."""
        return cls(lambda: value)

    def __call__(self) -> T:
        """The value."""
        if self._find is not None:
            self._value = self._find()
            self._find = None
        return self._value

    def __reduce__(self) -> tuple[Any, tuple[T]]:
        return Later.of, (self(),)


class Remembered(dict[K, T]):
    """A mapping whose values are computed on first access."""

    def __init__(self, compute: Callable[[K], T]) -> None:
        self._compute = compute

    def __missing__(self, key: K) -> T:
        value = self[key] = self._compute(key)
        return value


@dataclass(frozen=True)
class Unavailable:
    """A placeholder for a missing number: it prints its status, and raises the reason when used as a number.

    Parameters
    ----------
    what : {"not released", "not available"}
        Whether the release lacks a statistic, or has it but is too noisy.
    reason : str
        Why, and what to do about it.

    Examples
    --------
    >>> gone = Unavailable("not released", "y'y was not released.")
    >>> print(gone)
    not released
    >>> float(gone)
    Traceback (most recent call last):
    ...
    discreet.errors.NotReleasedError: y'y was not released.
    """

    what: str
    reason: str

    def __str__(self) -> str:
        return printable(self.what)

    def __repr__(self) -> str:
        return f"<{self}: {printable(self.reason)}>"

    def __bool__(self) -> bool:
        return False

    def refuse(self, *args: Any, **options: Any) -> NoReturn:
        """Raise the reason."""
        raise NotReleasedError(self.reason)

    __float__ = __getitem__ = __iter__ = __array__ = refuse

    if not TYPE_CHECKING:  # type checkers should flag uses of a number that may be missing

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(name if name.startswith("_") else f"This is {self}: {printable(self.reason)}")

    def to_dict(self) -> dict[str, str]:
        """A JSON-ready description."""
        return {self.what: self.reason}

    @classmethod
    def from_dict(cls, facts: dict[str, str]) -> Unavailable:
        """Rebuild from `to_dict`."""
        ((what, reason),) = facts.items()
        if what not in ("not released", "not available") or not isinstance(reason, str):
            raise FileFormatError("What is said to be missing is of an unknown kind.")
        return cls(what, reason)


UNAVAILABLE = defined(
    "unavailable",
    FieldKind(
        {
            "type": "object",
            "properties": {
                "not released": {"type": "string", "description": "The release lacks a statistic."},
                "not available": {"type": "string", "description": "It has it, but is too noisy."},
            },
            "minProperties": 1,
            "maxProperties": 1,
        },
        lambda value: isinstance(value, dict) and len(value) == 1,
        Unavailable.from_dict,
        Unavailable.to_dict,
    ),
    "A placeholder for a missing number, with the reason and a remedy.",
)


def or_unavailable(kind: FieldKind) -> FieldKind:
    """A value of a kind, or the reason why there is none."""
    return FieldKind(
        {"anyOf": [kind.schema, UNAVAILABLE.schema]},
        lambda value: UNAVAILABLE.fits(value) or kind.fits(value),
        lambda value: (UNAVAILABLE if UNAVAILABLE.fits(value) else kind).read(value),
        lambda value: (UNAVAILABLE if isinstance(value, Unavailable) else kind).write(value),
    )
