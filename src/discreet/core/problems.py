"""Collecting errors, so that all of them are reported at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from discreet.errors import DiscreetError

MOST = 20
"""The most problems that one error lists."""


class Problems:
    """Errors collected in order, to be raised together."""

    def __init__(self) -> None:
        self._errors: list[DiscreetError] = []

    @contextlib.contextmanager
    def met(self, kind: type[DiscreetError] = DiscreetError) -> Iterator[None]:
        """Collect an error of some kind that is raised inside the block, and go on."""
        try:
            yield
        except kind as error:
            self.add(error)

    def add(self, error: DiscreetError) -> None:
        """Add an error."""
        self._errors.append(error)

    def __bool__(self) -> bool:
        return bool(self._errors)

    def tell(self) -> None:
        """Raise the collected errors, if any: one as it is, several as one error of the first one's class."""
        told = (line for error in self._errors for line in error.args if not line.endswith(" problems:"))
        lines = list(dict.fromkeys(line.removeprefix("- ") for line in told))
        if not lines:
            return
        if len(lines) == 1 or len(self._errors) == 1:
            raise self._errors[0] from None
        more = ["- ... and more"] if len(lines) > MOST else []
        raise type(self._errors[0])(f"{len(lines)} problems:", *(f"- {line}" for line in lines[:MOST]), *more) from None
