"""A pass: what one reading of a table sums up, and the encoded rows that it is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

from discreet.core.arrays import Floats
from discreet.core.problems import Problems
from discreet.data.sources.base import Source
from discreet.data.sums import EXACT_ROWS, PartialSums
from discreet.domain import Domain
from discreet.domain.encoding import Encoder
from discreet.errors import DataError

_BATCH = 1 << 18


class Batch(NamedTuple):
    """Encoded rows, good until the next batch is drawn; `rows` counts those that were dropped, too.

    `raw` is the same batch as the reader has it; `weights` are what the rows of A count, in units of 2^-20, or None
    where all count 1.
    """

    A: Floats
    rows: int
    raw: Any
    weights: Floats | None = None


class Pass(ABC):
    """What one reading of a table sums up: a function from rows to integers, for public facts alone.

    It has fields that are ready for JSON, or have a `to_dict`, so that it can be sent to wherever the rows are.

    Attributes
    ----------
    kind : str
        What workers know it by.
    in_order : bool
        Whether rows must come in order, so that one thread reads them.
    domain : Domain
        How rows are encoded.
    """

    kind: ClassVar[str]
    in_order: ClassVar[bool] = False
    domain: Domain

    def size(self, *, columnar: bool) -> int:
        """The most rows that a batch has."""
        return usual_size(self.domain)

    @property
    def numbers(self) -> int:
        """How many sums there are, about: those with every coordinate, where there are not those with every pair."""
        return len(self.domain.entries)

    @abstractmethod
    def sums(self, reader: Source, batches: Iterator[Batch]) -> PartialSums:
        """The sums over some batches of a reader."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """What it is besides its domain, ready for JSON."""

    @classmethod
    @abstractmethod
    def from_facts(cls, domain: Domain, facts: dict[str, Any]) -> Pass:
        """Rebuild from `facts`."""


def usual_size(domain: Domain) -> int:
    """How many rows a batch has, unless there is a reason for another number."""
    return min(EXACT_ROWS, max(1024, _BATCH // len(domain.entries)))


def encoded(
    reader: Source,
    domain: Domain,
    size: int,
    batches: Iterable[Any],
    problems: Problems,
    done: Callable[[int], None] = lambda rows: None,
) -> Iterator[Batch]:
    """Batches of a reader, encoded; what is wrong with any of them is kept, and no more are given out then."""
    encoder = Encoder(domain)
    buffer = encoder.empty(size, columnar=reader.columnar)
    for batch in batches:
        A, rows = buffer[:0], reader.size(batch)
        with problems.met(DataError):  # what is wrong with other rows is told, too
            A = buffer[: reader.fill(batch, buffer, encoder)]
        encoder.finish(A)
        if not problems:
            yield Batch(A, rows, batch, _weights(reader, batch, len(A)))
        done(rows)


def _weights(reader: Source, batch: Any, left: int) -> Floats | None:
    """Of the rows that are not dropped."""
    weights = reader.weights(batch)
    if weights is None or len(weights) == left:
        return weights
    kept: Floats = weights[reader.kept(batch)]
    return kept
