"""The base class of events: facts of one release, its cost, and what other modules ask about it.

A new kind of event is a frozen dataclass that derives from `Event`, from `BlockEvent`, or from `CoefficientEvent` of
`privacy.events.coefficients`. Its line in `privacy.events.kinds`, and the files beside it in the folder of its
mechanism, which `beside` finds, are all that others need.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar, TypeVar

from discreet.core.fields import FileRecord
from discreet.core.rounding import ROOM, up
from discreet.domain import CONSTANT, Domain
from discreet.statistics.row_norms import ROW_NORMS

if TYPE_CHECKING:
    from discreet.domain.coordinates import Coordinates
    from discreet.privacy.bounds import Bounds
    from discreet.privacy.events.gaussian import Block
    from discreet.privacy.laws import Law

_FOLDER = "discreet.mechanisms."


@dataclass(frozen=True)
class Finding:
    """One thing that was checked."""

    what: str
    ok: bool
    detail: str


class Event(FileRecord):
    """One release: frozen facts, a Gaussian cost ``mu``, and a ``law`` of the rest of the privacy loss."""

    mechanism: ClassVar[str] = ""
    """The name of the mechanism in files."""
    gaussian_sums: ClassVar[bool] = False
    """Whether it is Gaussian noise on sums over all rows: the cost composes exactly, and is proven for persons."""
    coefficients: ClassVar[bool] = False
    """Whether coefficients themselves were released, and not statistics from which they follow."""
    minimises: ClassVar[bool] = False
    """Whether the coefficients minimise a penalised objective."""
    accounted: ClassVar[bool] = True
    """Whether we account for its cost."""

    if TYPE_CHECKING:  # fields of some events, properties of others

        @property
        def mu(self) -> float:
            """The Gaussian part of the cost; 0 where there is none."""

        @property
        def law(self) -> Law | None:
            """The law of the rest; None for Gaussian noise."""

    @property
    def name(self) -> str:
        """The name for people; empty where its statistics have names of their own."""
        return ""

    @property
    def exact(self) -> bool:
        """Whether no rounding error enters before the noise."""
        return True

    @property
    def statistics(self) -> tuple[Block, ...]:
        """The statistics that were released, in the order of their values."""
        return ()

    @property
    def rotated(self) -> Coordinates | None:
        """The coordinates of the stage that rows were rotated into; None for the mapped columns."""
        return None

    @property
    def regressors(self) -> tuple[str, ...]:
        """The coordinates of the regressors, if the event is about all of them."""
        return ()

    @property
    def response(self) -> str | None:
        """The coordinate of the outcome of the released coefficients, if it is listed."""
        return None

    @property
    def link(self) -> str | None:
        """The link of the released model, if the event lists it."""
        return None

    @property
    def sampled_share(self) -> float:
        """The share of the rows in the sample, where statistics are sums over a secret random sample."""
        return 1.0

    @property
    def needs_delta(self) -> bool:
        """Whether the event rules out a promise with delta = 0."""
        return self.mu > 0

    @property
    def format_version(self) -> int:
        """The oldest version of files that can hold it."""
        return self.FIELDS.version(self)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks that a certificate adds about it."""
        return ()

    @property
    def listed_numbers(self) -> list[float]:
        """Numbers that it lists and that depend on the data, besides the values of statistics."""
        return []

    def symbol(self, block: Block) -> str:
        """The symbol of one of its statistics, such as X'X."""
        return block.name

    def title(self, block: Block) -> str:
        """The title of one of its statistics."""
        return block.name

    def about(self, block: Block) -> str:
        """The coordinates that one of its statistics is about, in words."""
        rows, columns = ", ".join(block.rows), ", ".join(block.columns)
        return f"{rows} with {columns}" if rows and columns else rows or columns

    def reach(self, rows: int | None) -> float:
        """A bound on the norm of the released coefficients of the mapped columns, for so many declared rows."""
        return math.inf

    def examine(self, bounds: Bounds) -> Finding:
        """Check whether its noise fits the bounds and the relation of a certificate."""
        try:
            if not bounds.domain.unit.plain and not self.gaussian_sums:
                return Finding("noise of an event", False, "it is proven for rows that count alike, one a person")
            return self.finding(bounds)
        except (ArithmeticError, ValueError):
            return Finding("noise of an event", False, "it lists what no release has, so its cost cannot be recomputed")

    def finding(self, bounds: Bounds) -> Finding:
        """Compare the listed noise with the noise that the bounds require; may raise a ValueError for invalid facts."""
        raise NotImplementedError

    def check_columns(self, domain: Domain) -> None:
        """Raise a KeyError where it names columns that a domain does not have."""
        raise NotImplementedError

    def contradictions(self, rows: int | None) -> Iterator[tuple[str, str]]:
        """Yield (what, why) for listed values that no table of so many declared rows, and no noise, would give."""
        if (why := misplaced(self.regressors)) is not None:
            yield f"regressors of {self.name}", why


class StatisticsEvent(Event):
    """Statistics released with Gaussian noise."""

    if TYPE_CHECKING:

        @property
        def blocks(self) -> tuple[Block, ...]:
            """The statistics."""

    @property
    def statistics(self) -> tuple[Block, ...]:
        """The statistics that were released, in the order of their values."""
        return self.blocks

    @property
    def of_norms(self) -> bool:
        """Whether it is nothing but counts of row norms."""
        return bool(self.blocks) and all(block.kind is ROW_NORMS for block in self.blocks)

    @property
    def scale(self) -> float:
        """The factor by which released sums are multiplied to stand for all rows."""
        return 1.0

    @property
    def format_version(self) -> int:
        """The oldest version of files that can hold it: 3 for spans of counts, and for sums of columns."""
        blocks = (max(block.FIELDS.version(block), block.kind.format_version) for block in self.blocks)
        return max([super().format_version, *blocks])

    def examine(self, bounds: Bounds) -> Finding:
        """Check whether its noise fits the bounds and the relation of a certificate."""
        if not self.blocks:
            return Finding("noise on nothing", False, "an event lists no statistic, so its noise hides nothing")
        return super().examine(bounds)


class BlockEvent(StatisticsEvent):
    """Statistics of the mapped columns, for any number of models."""

    @property
    def regressors(self) -> tuple[str, ...]:
        """The coordinates of the regressors, if the event is about all of them."""
        names = (name for block in self.blocks if block.kind.of_design for name in block.rows)
        return tuple(dict.fromkeys(names))

    def check_columns(self, domain: Domain) -> None:
        """Raise a KeyError where it names columns that a domain does not have."""
        domain.indices([name for block in self.blocks for name in (*block.rows, *block.columns)])

    def contradictions(self, rows: int | None) -> Iterator[tuple[str, str]]:
        """Yield (what, why) where its statistics are not of one design, or are listed twice."""
        if (why := _mixed(self.blocks)) is not None:
            yield "list of statistics", why


Kind = TypeVar("Kind", bound=Event)


def of_kind(kind: type[Kind], events: Iterable[Event]) -> tuple[Kind, ...]:
    """The events of one kind among others."""
    return tuple(event for event in events if isinstance(event, kind))


def _mixed(blocks: tuple[Block, ...]) -> str | None:
    designs = {block.rows for block in blocks if block.kind.of_design}
    if (why := next(filter(None, map(misplaced, designs)), None)) is not None:
        return why
    if len(designs) > 1:
        return "X'X and X'y that were released together are of different regressors"
    if any(block.layout == "uniform" and not block.kind.symmetric for block in blocks):
        return "only X'X has noise that is laid out in one of two ways"
    listed = [(block.statistic, block.rows, block.columns) for block in blocks]
    return "a statistic was released twice in one event" if len(set(listed)) < len(listed) else None


def misplaced(names: Sequence[str]) -> str | None:
    """The reason why names cannot be those of regressors, in their order; None where they can.

    Examples
    --------
    >>> misplaced(("(intercept)", "x")), misplaced(("x", "x"))
    (None, 'a regressor is named twice')
    """
    if len(set(names)) < len(names):
        return "a regressor is named twice"
    return "the constant is not the first one" if CONSTANT in names[1:] else None


def is_bound(listed: float, found: float, most: float | None = None) -> bool:
    """Whether a listed norm or mu is the recomputed one, or lies between it and `most`, up to rounding errors.

    Examples
    --------
    >>> is_bound(1.0, 1.0), is_bound(0.9, 1.0), is_bound(1.2, 1.0), is_bound(1.2, 1.0, most=1.3)
    (True, False, False, True)
    """
    return found <= listed <= up(found if most is None else most, ROOM)


def beside(kind: type, name: str) -> ModuleType | None:
    """Import the file of this name from the folder of an event's mechanism; None where there is none.

    Examples
    --------
    >>> beside(Event, "loss") is None
    True
    """
    file = f"{kind.__module__.rpartition('.')[0]}.{name}"
    return importlib.import_module(file) if file.startswith(_FOLDER) and find_spec(file) is not None else None
