"""The interface of a pass, which sums over one reading of a table, and the encoded rows that it is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

from discreet.core.arrays import Floats
from discreet.core.problems import Problems
from discreet.data.sources.base import Source
from discreet.data.sums import EXACT_ROWS, HOST, Host, PartialSums
from discreet.domain import Domain
from discreet.domain.encoding import Encoder
from discreet.errors import DataError

_BATCH = 1 << 18

_NARROW = 64
"""Up to so many columns, longer batches of stages are faster; their length is no power of two, which caches handle
badly."""


class Batch(NamedTuple):
    """Encoded rows, valid until the next batch is drawn; `rows` includes those that were dropped.

    `raw` is the batch as the reader gave it; `weights` are the weights of the rows of A in units of 2^-20, or None if
    all weights are 1.
    """

    A: Floats
    rows: int
    raw: Any
    weights: Floats | None = None


class Pass(ABC):
    """One reading of a table: a function from rows to integer sums that depends on public facts alone.

    Its fields are JSON-ready or have a `to_dict`, so that it can be sent to where the rows are.

    Attributes
    ----------
    kind : str
        Its name in tasks for workers.
    in_order : bool
        Whether rows must come in order, so that one thread reads them.
    domain : Domain
        The encoding of rows.
    """

    kind: ClassVar[str]
    in_order: ClassVar[bool] = False
    domain: Domain

    @property
    def on_device(self) -> bool:
        """Whether it can be computed on a device; otherwise it is computed here."""
        return not self.in_order

    def size(self, *, columnar: bool) -> int:
        """Return the maximum number of rows of a batch."""
        return usual_size(self.domain)

    @property
    def again(self) -> bool:
        """Whether rows are kept for other passes, or were kept by others; such a pass does not use `Batch.raw`."""
        return False

    @property
    def numbers(self) -> int:
        """The approximate number of sums: one for each coordinate, unless a pass has one for each pair."""
        return len(self.domain.entries)

    @abstractmethod
    def sums(self, reader: Source, batches: Iterator[Batch], at: Host = HOST) -> PartialSums:
        """Compute the sums over some batches of a reader, at the place where they are."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Return the fields of the pass other than its domain, JSON-ready."""

    @classmethod
    @abstractmethod
    def from_facts(cls, domain: Domain, facts: dict[str, Any]) -> Pass:
        """Rebuild from `facts`."""


def usual_size(domain: Domain) -> int:
    """Return the default number of rows of a batch."""
    return min(EXACT_ROWS, max(1024, _BATCH // len(domain.entries)))


def stage_size(domain: Domain) -> int:
    """Return the number of rows of a batch of a release in stages."""
    return EXACT_ROWS // (2 if len(domain.entries) <= _NARROW else 3) // 8 * 8 - 8


def encoded(
    reader: Source,
    domain: Domain,
    size: int,
    batches: Iterable[Any],
    problems: Problems,
    done: Callable[[int], None] = lambda rows: None,
) -> Iterator[Batch]:
    """Yield encoded batches of a reader; collect data errors, and yield nothing after the first error."""
    encoder = Encoder(domain)
    buffer = encoder.empty(size, columnar=reader.columnar)
    for batch in batches:
        A, rows = buffer[:0], reader.size(batch)
        with problems.met(DataError):  # errors in other rows are reported, too
            A = buffer[: reader.fill(batch, buffer, encoder)]
        encoder.finish(A)
        if not problems:
            yield Batch(A, rows, batch, row_weights(reader, batch, len(A)))
        done(rows)


def row_weights(reader: Source, batch: Any, left: int) -> Floats | None:
    """Return the weights of the rows that are not dropped."""
    weights = reader.weights(batch)
    if weights is None or len(weights) == left:
        return weights
    kept: Floats = weights[reader.kept(batch)]
    return kept
