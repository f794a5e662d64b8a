"""Encoded rows of a small table, kept in memory for the passes that read them again; **confidential**."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import NoReturn

from discreet.data.passes.base import Batch
from discreet.domain import Domain

_MOST = 1 << 23
"""At most so many numbers are kept: 64 MiB."""


class KeptRows:
    """Batches of encoded rows that several threads read, in no particular order; none of a larger table."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: tuple[Domain, int] | None = None
        self._begin()

    def _begin(self) -> None:
        self._batches: list[Batch] = []
        self._numbers = 0

    def held(self, domain: Domain, size: int) -> list[Batch] | None:
        """Return all batches of at most `size` rows, or None if they are not held or encoded for another domain."""
        if self._of is not None and self._of[0] == domain and self._of[1] == size:
            return self._batches
        self._of = None
        self._begin()
        return None

    def keeping(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the batches, and keep a copy of each while there is room."""
        for batch in batches:
            with self._lock:
                self._numbers += batch.A.size
                fits = self._numbers <= _MOST
            if fits:
                A = batch.A.copy(order="K")
                A.flags.writeable = False
                self._batches.append(Batch(A, batch.rows, None))
            elif self._batches:
                self._batches = []
            yield batch

    def finish(self, domain: Domain, size: int) -> None:
        """Hold what was kept, after all rows were read without an error."""
        if self._numbers <= _MOST:
            self._of = domain, size

    def __repr__(self) -> str:
        return "KeptRows(confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Rows are confidential and are not pickled.")
