"""Numbers that cannot be given, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from discreet.errors import FileFormatError, NotReleasedError, printable


@dataclass(frozen=True)
class Unavailable:
    """Stands where a number would: it prints what is the matter, and using it as a number tells why.

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

    def refuse(self) -> NoReturn:
        """Raise the reason."""
        raise NotReleasedError(self.reason)

    def __float__(self) -> float:
        self.refuse()

    def __getitem__(self, key: Any) -> NoReturn:
        self.refuse()

    def __iter__(self) -> NoReturn:
        self.refuse()

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self.refuse()

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
