"""Exact counts of one outcome over equal parts of its bounds."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.data.sources import is_arrow, open_source
from discreet.data.sources.arrays import as_matrix
from discreet.data.sources.frames import is_frame
from discreet.domain import Domain
from discreet.domain.encoding import ONE, Encoder
from discreet.errors import ParameterError
from discreet.privacy.events.gaussian import BINS

_ROWS = 8192


class Histogram:
    """How many rows have their outcome in each of 16 equal parts of its mapped range [-1, 1]; **confidential**.

    Examples
    --------
    >>> domain = Domain.from_bounds(["x"], ["y"], bounds_X=(0, 1), bounds_y=(0, 8))
    >>> Histogram.from_source((np.zeros((2, 1)), np.array([0.1, 9.0])), domain, "y")
    Histogram(outcome 'y', confidential)
    """

    def __init__(self, domain: Domain, column: str, counts: NDArray[np.int64]) -> None:
        self.domain = domain
        self.column = column
        self._counts = counts

    @classmethod
    def from_source(cls, source: Any, domain: Domain, column: str) -> Histogram:
        """Check all columns against the domain, then read one and count; takes what `Moments` take but streams."""
        own = domain.select([column])
        if open_source(source, domain).once:
            raise ParameterError(
                "A stream can be read only once, and this method reads the outcome first and everything then. "
                "Give a table or a file, or choose narrow=False."
            )
        opened = open_source(only(source, domain, column), own)
        encoder, counts = Encoder(own), np.zeros(BINS, dtype=np.int64)
        with contextlib.closing(opened):
            for batch in itertools.chain.from_iterable(opened.parts(_ROWS)):
                A = encoder.empty(opened.size(batch), columnar=opened.columnar)
                A = A[: opened.fill(batch, A, encoder)]
                encoder.finish(A)
                counts += np.bincount(bin_of(A[:, 1] / ONE), minlength=BINS)
        return cls(domain, column, counts)

    def integers(self) -> NDArray[Any]:
        """The exact counts as Python integers."""
        return self._counts.astype(object)

    def __repr__(self) -> str:
        return f"Histogram(outcome {self.column!r}, confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A Histogram is confidential and is not pickled.")


def bin_of(z: NDArray[np.float64]) -> NDArray[np.intp]:
    """The part of [-1, 1] that holds each z; the last one is closed at both ends."""
    return np.minimum(((z + 1) * (BINS / 2)).astype(np.intp), BINS - 1)


def only(source: Any, domain: Domain, column: str) -> Any:
    """The part of a source that holds one column, where columns have no names."""
    named = isinstance(source, tuple) and (is_frame(source[0]) or is_arrow(source[0]))
    if isinstance(source, tuple) and not named and column == list(domain.columns)[-1]:
        return as_matrix("y", source[1], column=True)
    if isinstance(source, np.ndarray) and source.ndim == 2:
        place = list(domain.columns).index(column)
        return source[:, place : place + 1]
    return source
