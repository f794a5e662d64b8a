"""Threaded passes over the rows of a source that compute a few numbers for every row, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from discreet.core.arrays import Floats
from discreet.data.reading import Progress, ReadingProgress, Shared, in_threads, threads
from discreet.data.sources.base import Source
from discreet.data.tables import open_source
from discreet.domain import Domain
from discreet.domain.encoding import ONE, Encoder
from discreet.errors import DataError, ParameterError

T = TypeVar("T")

_BATCH = 1 << 18


class EncodedRows:
    """Encoded rows z, one a line, exactly as the moments sum them up; a row that was dropped is all 0.

    Examples
    --------
    >>> EncodedRows(np.array([[1.0, 0.5, 0.0]])).norm2([0, 1])
    array([1.25])
    """

    def __init__(self, Z: Floats) -> None:
        self.Z = Z
        self._known: dict[Any, Any] = {}

    def once(self, key: Any, work: Callable[[], T]) -> T:
        """Return the cached result of a function for these rows."""
        if key not in self._known:
            self._known[key] = work()
        found: T = self._known[key]
        return found

    @cached_property
    def squares(self) -> Floats:
        """The squares of all coordinates."""
        return self.Z * self.Z

    @property
    def present(self) -> Floats:
        """1 for a row that counts, 0 for one that was dropped."""
        return self.Z[:, 0]

    def norm2(self, indices: Iterable[int]) -> Floats:
        """Return the squared norms of some coordinates."""
        return self.squares @ self._indicator(indices)

    def norm4(self, indices: Iterable[int]) -> Floats:
        """Return the sums of fourth powers of some coordinates."""
        return (self.squares * self.squares) @ self._indicator(indices)

    def _indicator(self, indices: Iterable[int]) -> Floats:
        weights = np.zeros(self.Z.shape[1])
        weights[list(indices)] = 1.0
        return weights

    def __repr__(self) -> str:
        return "EncodedRows(confidential)"


def open_ordered(source: Any, domain: Domain) -> Source:
    """Open a source whose rows have a fixed order."""
    opened = open_source(source, domain)
    if not opened.ordered:
        opened.close()
        raise DataError(
            "The rows of a query have no fixed order, so they cannot be numbered. Collect the query into a table or a "
            "file first."
        )
    return opened


def each_row(
    source: Any,
    domain: Domain,
    work: Callable[[EncodedRows], Floats],
    *,
    only: str | None = None,
    n_jobs: int | None = None,
    progress: Progress = lambda _: None,
) -> Floats:
    """Compute numbers for every row of a source, one line a number, in the order of the rows; `only` reads one column.

    Examples
    --------
    >>> domain = Domain({"x": (0, 4)})
    >>> each_row(np.array([[0.0], [3.0]]), domain, lambda rows: rows.Z.T)
    array([[ 1. ,  1. ],
           [-1. ,  0.5]])
    """
    jobs = threads(n_jobs)
    opened = open_ordered(source, domain)
    opened = opened if only is None else opened.only(only)
    encoder = Encoder(opened.domain)
    size = min(8192, max(1024, _BATCH // len(opened.domain.entries)))
    parts, done = Shared(opened.parts(size)), ReadingProgress(opened.total, progress)
    found: dict[tuple[int, int], Floats] = {}

    def run() -> None:
        buffer = encoder.empty(size, columnar=opened.columnar)
        with parts:
            for place, batch in parts:
                found[place] = work(_encoded(opened, batch, buffer, encoder))
                done.add(opened.size(batch))

    in_threads(opened, parts, run, jobs)
    if not found:
        raise DataError("There is no row to look at.")
    progress(1.0)
    return np.concatenate([found[place] for place in sorted(found)], axis=1)


def all_rows(source: Any, domain: Domain, only: str | None = None) -> Floats:
    """Read the encoded rows of a source, or one column of them."""
    return each_row(source, domain, lambda rows: rows.Z.T.copy(), only=only, n_jobs=1).T


def one_row(source: Any, domain: Domain, what: str, only: str | None = None) -> Floats:
    """Read the encoded row of a source that holds exactly one, or one column of it."""
    Z = all_rows(source, domain, only)
    if len(Z) != 1 or Z[0, 0] == 0:
        raise ParameterError(f"{what} must be one complete row: a table with one line and the declared columns.")
    return np.asarray(Z[0])


def _encoded(source: Source, batch: Any, buffer: Floats, encoder: Encoder) -> EncodedRows:
    A = buffer[: source.fill(batch, buffer, encoder)]
    encoder.finish(A)
    kept = source.kept(batch)
    if kept is None:
        return EncodedRows(A / ONE)
    Z = np.zeros((source.size(batch), A.shape[1]))
    Z[kept] = A / ONE
    return EncodedRows(Z)
