"""The interface of all sources of rows."""

from __future__ import annotations

import contextlib
import copy
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from discreet.core.arrays import Bools, Floats
from discreet.core.checks import meant
from discreet.core.problems import Problems
from discreet.domain import Domain
from discreet.domain.encoding import Encoder
from discreet.errors import DataError

if TYPE_CHECKING:
    from discreet.data.passes.base import Pass
    from discreet.data.sums import PartialSums


class Source(ABC):
    """Rows of one domain, in parts that threads can read in parallel, as often as needed unless `once`.

    Reading does not depend on the bounds of columns, which only the encoder uses.

    Attributes
    ----------
    domain : Domain
        The public facts; the source has been checked against them.
    columnar : bool
        Whether batches are read a column at a time.
    total : int or None
        The number of rows if it is known beforehand: for the progress fraction only, never shown.
    once : bool
        Whether the rows can be read only once.
    ordered : bool
        Whether the rows come in the same order each time, so that they can be numbered.
    names : tuple of str
        All columns of the data, if they have names.
    on_device : bool
        Whether the rows are numbers on a device, such as a GPU.
    """

    domain: Domain
    columnar: bool
    total: int | None = None
    once: bool = False
    ordered: bool = True
    names: Sequence[str] = ()
    on_device: bool = False

    def refuse_models(self) -> None:
        """Refuse sums of residuals of models of classes and counts, where these cannot be computed."""
        return

    @abstractmethod
    def parts(self, rows: int) -> Iterator[Iterable[Any]]:
        """Return independent parts, each an iterable of batches of at most `rows` rows."""

    @abstractmethod
    def size(self, batch: Any) -> int:
        """Return the number of rows of a batch."""

    @abstractmethod
    def fill(self, batch: Any, A: Floats, encoder: Encoder) -> int:
        """Write x - c and the one-hot levels of a batch into A; return the number of rows written."""

    def only(self, coordinate: str) -> Source:
        """Return a source of the same batches with the column of one coordinate.

        Rows that lack a value of another column are not dropped.
        """
        own = copy.copy(self)
        own.domain = self.domain.alone(coordinate)
        return own

    def kept(self, batch: Any) -> Bools | None:
        """Return which rows of a batch `fill` writes; None for all of them."""
        return None

    def cancel(self) -> None:
        """Stop remote work, so that threads that wait for it go on."""
        return

    def check_unchanged(self) -> None:
        """Refuse the rows that were read if the source changed: a row may have been read twice or not at all."""
        return

    def weights(self, batch: Any) -> Floats | None:
        """Return the weight of each row, dropped ones included, in units of 2^-20; None if all weights are 1."""
        return None

    def close(self) -> None:
        """Release resources after reading, or after a failure."""
        return


class Remote(Source):
    """Rows that stay where they are: only sums are returned.

    Methods that need the rows themselves are refused, with the reason.
    """

    columnar = True
    ordered = False

    @abstractmethod
    def sums(self, what: Pass, report: Callable[[float], None]) -> PartialSums:
        """Return the `PartialSums` of a `Pass` over all rows; call `report` with the fraction done."""

    @property
    @abstractmethod
    def home(self) -> str:
        """The location of the rows, and how to bring them here, for errors."""

    def parts(self, rows: int) -> Iterator[Iterable[Any]]:
        """Refuse to read rows."""
        raise DataError(
            "This method needs the rows themselves: it goes through them in an order, or draws something for each. "
            f"They are {self.home}. Methods that need exact sums only, such as DPLinearRegression, leave them there."
        )

    def size(self, batch: Any) -> int:
        """Never called: there are no batches."""
        raise AssertionError("no batch comes here")

    def fill(self, batch: Any, A: Floats, encoder: Encoder) -> int:
        """Never called: there are no batches."""
        raise AssertionError("no batch comes here")


def check_names(names: list[str], domain: Domain) -> None:
    """Refuse a table in which declared columns are absent or repeated; report all of them."""
    counts, problems = Counter(names), Problems()
    others = [name for name in names if name not in domain.reads]
    for name in domain.reads:
        if not counts[name]:
            hint = meant(name, others)
            problems.add(
                DataError(
                    f"Column {name!r} is declared but not in the data.{hint} Mend the schema or name other columns."
                )
            )
        if counts[name] > 1:
            problems.add(DataError(f"Column {name!r} stands twice in the data, so it is unclear which one is meant."))
    problems.tell()


def check_lengths(lengths: Iterable[int]) -> int:
    """Return the number of rows; refuse columns of different lengths."""
    if len(different := set(lengths)) > 1:
        raise DataError("X and y have different lengths: they must describe the same people.")
    return different.pop()


def comes_from(value: Any, *packages: str) -> bool:
    """Whether the type of a value is defined by one of these packages; none is imported."""
    return type(value).__module__.partition(".")[0] in packages


def missing_package(name: str, extra: str | None = None) -> DataError:
    """Return the error for an optional package that is not installed, with the command that installs it."""
    return DataError(f'Reading this source needs the package {name}: pip install "discreet[{extra or name}]"')


@contextlib.contextmanager
def hiding(errors: tuple[type[Exception], ...], instead: DataError) -> Iterator[None]:
    """Replace the errors of another package, which may quote data, by our own."""
    try:
        yield
    except errors:
        raise instead from None


def broken(what: str) -> DataError:
    """Return the error for rows that cannot be read to their end."""
    return DataError(f"The {what} broke off: whatever produces its rows failed.")


def spans(total: int, rows: int) -> Iterator[tuple[int, int]]:
    """Return consecutive row ranges of at most `rows` rows.

    Examples
    --------
    >>> list(spans(5, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    return ((start, min(start + rows, total)) for start in range(0, total, rows))


def named_outcomes(outcomes: Iterable[tuple[str | None, Any]], domain: Domain) -> list[tuple[str, Any]]:
    """Return outcomes with their names; one without a name is the last declared column that is not derived."""
    last = next((name for name in reversed(domain.columns) if not domain.columns[name].factors), "")
    return [(last if name is None else name, values) for name, values in outcomes]
