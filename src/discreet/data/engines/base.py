"""The engine interface: an engine runs one function on each part of a remote table and returns the answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

import pyarrow as pa

from discreet.data import worker
from discreet.data.passes.base import Pass
from discreet.data.sources.arrow import check_schema
from discreet.data.sources.base import Remote, broken
from discreet.data.sums import PartialSums
from discreet.domain import Domain
from discreet.errors import DataError, DiscreetError


class Engine(ABC):
    """A remote table in parts; **confidential**.

    A fit needs a few passes over the rows: counts of the outcome, sums of columns, then sums in the coordinates of each
    stage and counts of row norms, which depend on earlier releases. Each pass is a task, bytes that hold public facts
    only. The engine runs ``discreet.data.worker.run(task, batches)`` once for each part of the table and returns the
    answers in any order. An answer is as large as the sums, whatever the number of rows. Sums of integers do not depend
    on how rows are divided, so they equal those of one machine, bit for bit. Noise is drawn and budgets are kept where
    the fit runs, so that a part which is read twice, because a worker was lost, draws no noise twice.

    An engine must return exactly one answer for each part, and may try a part again if reading it fails. Answers,
    like rows, are confidential: encrypt the wire.

    Attributes
    ----------
    home : str
        The location of the rows, and how to bring them here; for errors.
    """

    home = "where an engine keeps them. Remedy: bring them here as a table or a file, if they fit"

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""

    @abstractmethod
    def answers(self, task: bytes, columns: Sequence[str], report: Callable[[float], None]) -> Iterable[bytes]:
        """Return the answer for each part of the table.

        Parameters
        ----------
        task : bytes
            The task to pass to `worker.run`.
        columns : sequence of str
            The columns that are needed; others may be there or not.
        report : callable
            Function that is called with the fraction done, between 0 and 1.
        """

    @property
    def names(self) -> list[str]:
        """The names of the columns, as far as they are known beforehand."""
        return list(self.schema.names)

    def check(self, domain: Domain) -> None:
        """Refuse a table whose columns are not those declared."""
        check_schema(self.schema, domain)

    def by_person(self, column: str) -> Engine:
        """Return the table with all rows of each person in one part; the guarantee depends on it."""
        raise DataError(
            f"{type(self).__name__} does not divide rows by person ({column!r}), whose rows must not be apart. "
            "Remedy: an engine that does, such as a Spark or Dask frame; or bring the rows here."
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}(confidential)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Rows are confidential and are not pickled.")


class EngineSource(Remote):
    """The rows of an engine."""

    def __init__(self, engine: Engine, domain: Domain) -> None:
        engine.check(domain)
        self.domain, self.names = domain, engine.names
        self._engine = engine if domain.unit.person is None else engine.by_person(domain.unit.person)

    @property
    def home(self) -> str:
        """The location of the rows."""
        return self._engine.home

    def sums(self, what: Pass, report: Callable[[float], None]) -> PartialSums:
        """Return the sums of a pass."""
        return worker.sums(what, self._engine.answers(worker.task(what), list(what.domain.reads), report))


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether an engine failed while it handled Ctrl-C."""
    return error is not None and (isinstance(error, KeyboardInterrupt) or _is_interrupt(error.__context__))


@contextmanager
def unquoted(what: str, hint: str = "") -> Iterator[None]:
    """Replace the errors of an engine, which may quote data, by our own."""
    try:
        yield
    except DiscreetError:
        raise
    except Exception as error:
        if _is_interrupt(error):
            raise KeyboardInterrupt from None
        if "No module named 'discreet'" in str(error):
            hint = " discreet is not installed on its workers: see docs/howto/engines.md."
        said = f" {error}" if isinstance(error, ImportError) else ""  # which quotes no data
        raise type(failure := broken(what))(f"{failure}{hint}{said}") from None
