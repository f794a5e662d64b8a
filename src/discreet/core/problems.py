"""What is wrong with something, gathered, so that people are told all of it at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from discreet.errors import DiscreetError

MOST = 20
"""Problems that one error tells; of more it says that there are more."""


class Problems:
    """Errors that were met on the way, in order.

    Examples
    --------
    >>> from discreet.errors import DomainError
    >>> problems = Problems()
    >>> for name in ("a", "b"):
    ...     with problems.met():
    ...         raise DomainError(f"Column {name!r}: bounds are missing.")
    >>> problems.tell()
    Traceback (most recent call last):
        ...
    discreet.errors.DomainError: 2 problems:
    - Column 'a': bounds are missing.
    - Column 'b': bounds are missing.
    """

    def __init__(self) -> None:
        self._errors: list[DiscreetError] = []

    @contextlib.contextmanager
    def met(self, kind: type[DiscreetError] = DiscreetError) -> Iterator[None]:
        """Keep an error of a kind that is raised inside, and go on."""
        try:
            yield
        except kind as error:
            self.add(error)

    def add(self, error: DiscreetError) -> None:
        """One more."""
        self._errors.append(error)

    def __bool__(self) -> bool:
        return bool(self._errors)

    def tell(self) -> None:
        """Raise what was met, if anything was: one error as it is, several as one of the first one's kind."""
        lines = list(dict.fromkeys(line.removeprefix("- ") for error in self._errors for line in _lines(error)))
        if not lines:
            return
        if len(lines) == 1 or len(self._errors) == 1:
            raise self._errors[0] from None
        more = ["- ... and more"] if len(lines) > MOST else []
        raise type(self._errors[0])(f"{len(lines)} problems:", *(f"- {line}" for line in lines[:MOST]), *more) from None


def _lines(error: DiscreetError) -> list[str]:
    """What an error says, without the heading of several."""
    return [line for line in error.args if not line.endswith(" problems:")]
