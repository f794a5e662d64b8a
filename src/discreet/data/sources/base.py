"""What every source of rows offers."""

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
    """Rows of one domain, in parts that threads can read side by side, as often as need be unless `once`.

    What is read does not depend on the bounds of columns: those are the encoder's.

    Attributes
    ----------
    domain : Domain
        The public facts; the source has been checked against them.
    columnar : bool
        Whether batches come a column at a time.
    total : int or None
        Number of rows where it is known beforehand: for the progress fraction only, never shown.
    once : bool
        Whether the rows can be read only once.
    ordered : bool
        Whether the rows come in the same order each time, so that they can be numbered.
    names : tuple of str
        All columns that the data have, where they have names.
    """

    domain: Domain
    columnar: bool
    total: int | None = None
    once: bool = False
    ordered: bool = True
    names: Sequence[str] = ()

    @abstractmethod
    def parts(self, rows: int) -> Iterator[Iterable[Any]]:
        """Independent parts, each an iterable of batches of at most `rows` rows."""

    @abstractmethod
    def size(self, batch: Any) -> int:
        """Number of rows of a batch."""

    @abstractmethod
    def fill(self, batch: Any, A: Floats, encoder: Encoder) -> int:
        """Write x - c and the one-hot levels of a batch into A; return how many rows were written."""

    def only(self, column: str) -> Source:
        """The same rows and batches with one column of them: a row that lacks another value is not dropped."""
        own = copy.copy(self)
        own.domain = self.domain.select([column])
        return own

    def kept(self, batch: Any) -> Bools | None:
        """Which rows of a batch `fill` writes; None for all of them."""
        return None

    def cancel(self) -> None:
        """Stop what is under way elsewhere, so that threads that wait for it go on."""
        return

    def check_unchanged(self) -> None:
        """Refuse rows that were read, where it shows that a row may have been read twice or not at all."""
        return

    def weights(self, batch: Any) -> Floats | None:
        """What each row of a batch counts, dropped ones too, in units of 2^-20; None where all count 1."""
        return None

    def close(self) -> None:
        """Let go of what reading holds open, after all rows or after a failure."""
        return


class Remote(Source):
    """Rows that stay where they are: all that comes back are sums.

    What needs the rows themselves is refused, with the reason.
    """

    columnar = True
    ordered = False

    @abstractmethod
    def sums(self, what: Pass, report: Callable[[float], None]) -> PartialSums:
        """The `PartialSums` of a `Pass` over all rows; calls `report` with the fraction done."""

    @property
    @abstractmethod
    def home(self) -> str:
        """Where the rows are, and how they would be brought here."""

    def parts(self, rows: int) -> Iterator[Iterable[Any]]:
        """Refused."""
        raise DataError(
            "This method needs the rows themselves: it goes through them in an order, or draws something for each. "
            f"They are {self.home}. Methods that need exact sums only, such as DPLinearRegression, leave them there."
        )

    def size(self, batch: Any) -> int:
        """Of no batch."""
        raise AssertionError("no batch comes here")

    def fill(self, batch: Any, A: Floats, encoder: Encoder) -> int:
        """Of no batch."""
        raise AssertionError("no batch comes here")


def check_names(names: list[str], domain: Domain) -> None:
    """Refuse a table in which declared columns are absent or stand twice; all of them are told."""
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
    """The number of rows that all columns have."""
    if len(different := set(lengths)) > 1:
        raise DataError("X and y have different lengths: they must describe the same people.")
    return different.pop()


def comes_from(value: Any, *packages: str) -> bool:
    """Whether the type of a value is defined by one of these packages, which need not be imported to tell."""
    return type(value).__module__.partition(".")[0] in packages


def missing_package(name: str, extra: str | None = None) -> DataError:
    """The error for an optional package that is not installed, with the line that installs it."""
    return DataError(f'Reading this source needs the package {name}: pip install "discreet[{extra or name}]"')


@contextlib.contextmanager
def hiding(errors: tuple[type[Exception], ...], instead: DataError) -> Iterator[None]:
    """Put our own error in place of those of another package, which may quote data."""
    try:
        yield
    except errors:
        raise instead from None


def broken(what: str) -> DataError:
    """The error for rows that cannot be read to their end."""
    return DataError(f"The {what} broke off: whatever produces its rows failed.")


def spans(total: int, rows: int) -> Iterator[tuple[int, int]]:
    """Consecutive row ranges of at most `rows` rows.

    Examples
    --------
    >>> list(spans(5, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    return ((start, min(start + rows, total)) for start in range(0, total, rows))


def named_outcomes(outcomes: Iterable[tuple[str | None, Any]], domain: Domain) -> list[tuple[str, Any]]:
    """Outcomes with their names; one without a name is the last column that is declared and not derived."""
    last = next((name for name in reversed(domain.columns) if not domain.columns[name].factors), "")
    return [(last if name is None else name, values) for name, values in outcomes]
