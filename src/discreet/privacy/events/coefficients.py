"""Facts and checks that all events of released coefficients share.

theta belongs to the regressors `design`, whose norm in a row is at most `norm` (B), and to the outcome `target`, at
most `outcome` (Y) in size, all in units of the mapped columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from discreet.core.checks import Neighbors
from discreet.core.field_kinds import ABOVE_0, FROM_0, NAMES, NEIGHBORS, NUMBER, TEXT, kept
from discreet.core.fields import Field, FieldKind, Fields, fixed
from discreet.core.rounding import up
from discreet.domain import Domain
from discreet.errors import FileFormatError
from discreet.privacy.events.base import Event, Finding, is_bound
from discreet.privacy.laws import Alone, Law

if TYPE_CHECKING:
    from discreet.privacy.bounds import Bounds

E = TypeVar("E", bound="CoefficientEvent")


@dataclass(frozen=True, kw_only=True)
class CoefficientEvent(Event):
    """Released coefficients: everything that their privacy depends on."""

    mechanism: ClassVar[str] = ""
    name: ClassVar[str] = ""
    exact: ClassVar[bool] = False
    coefficients: ClassVar[bool] = True

    design: tuple[str, ...]
    target: str
    norm: float
    outcome: float
    neighbors: Neighbors

    @property
    def mu(self) -> float:
        """The Gaussian part of the cost."""
        return 0.0

    @property
    def law(self) -> Law | None:
        """The part of the cost that is not Gaussian."""
        return None

    @property
    def regressors(self) -> tuple[str, ...]:
        """The coordinates of the regressors."""
        return self.design

    @property
    def response(self) -> str | None:
        """The coordinate of the outcome."""
        return self.target

    @property
    def link(self) -> str | None:
        """The link of the model: the identity."""
        return "identity"

    @property
    def listed_numbers(self) -> list[float]:
        """The numbers that it lists."""
        own = (getattr(self, field.name) for field in fields(self))
        return [value for value in own if isinstance(value, float)]

    def keeps(self) -> bool:
        """Whether the declared cost follows from the listed noise."""
        return True

    def finding(self, bounds: Bounds) -> Finding:
        """Compare the listed norms with those of the domain, and check that the noise keeps the declared promise."""
        norm, outcome = bounds.norm(self.design), bounds.norm((self.target,))
        fits = is_bound(self.norm, norm) and is_bound(self.outcome, outcome) and self.neighbors == bounds.neighbors
        detail = f"norm of a row {norm:.6g}, listed {self.norm:.6g}"
        return Finding(f"noise on {self.name}", fits and self.keeps(), detail)

    def check_columns(self, domain: Domain) -> None:
        """Raise a KeyError where it names columns that a domain does not have."""
        domain.indices([*self.design, self.target])

    def contradictions(self, rows: int | None) -> Iterator[tuple[str, str]]:
        """Yield (what, why) for listed values that no table, and no noise, would give."""
        if (why := self.impossible()) is not None:
            yield f"values of {self.name}", why
        yield from super().contradictions(rows)

    def impossible(self) -> str | None:
        """The reason why listed values cannot be those of any table and such noise, if any; see `core.chance`."""
        return None

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Rebuild an event from `to_dict`."""
        made = super().from_dict(facts)
        if not made.design:
            raise FileFormatError("An event of the release is of an unknown kind.")
        try:
            _ = made.mu, made.law, made.keeps()
        except ArithmeticError:
            raise FileFormatError(f"An event of the release lists what no {cls.mechanism} has.") from None
        return made


POSITIVE, FROM_ZERO, SIGNED = kept(ABOVE_0), kept(FROM_0), kept(NUMBER)
_SHARED: dict[str, FieldKind | Field] = {
    "design": NAMES,
    "target": TEXT("The outcome."),
    "norm": POSITIVE("B: the largest norm of a row."),
    "outcome": POSITIVE("Y: the largest outcome."),
    "neighbors": NEIGHBORS,
}
"""Fields of all events of released coefficients, in units of the mapped columns."""


def described(name: str, words: str, /, **kinds: FieldKind | Field) -> Callable[[type[E]], type[E]]:
    """Describe an event in files by its own fields, in their order: numbers above 0, but for those of other `kinds`."""

    def describe(event: type[E]) -> type[E]:
        own = {field.name: (_SHARED | kinds).get(field.name, POSITIVE) for field in fields(event)}
        wrong = f"An event of the release lists a {{name}} that no {event.mechanism} has."
        shown: dict[str, FieldKind | Field] = {"mechanism": fixed(event.mechanism), **own, "exact": fixed(event.exact)}
        event.FIELDS = Fields(name, words, wrong, **shown)
        return event

    return describe


@dataclass(frozen=True, kw_only=True)
class UnaccountedEvent(CoefficientEvent):
    """Coefficients made with the constants that a paper prints; we do not account for them."""

    accounted: ClassVar[bool] = False

    @property
    def law(self) -> Law:
        """No promise."""
        return Alone(lambda epsilon: 1.0)


def grouped(curve: Callable[[float], float]) -> Callable[[float], float]:
    """The replace-one curve that follows from an add-remove one: removing a row and adding another.

    Examples
    --------
    >>> round(grouped(lambda epsilon: 1e-6)(0.0), 12)
    2e-06
    """
    return lambda epsilon: up((1 + math.exp(epsilon / 2)) * curve(epsilon / 2)) if epsilon < 1000 else 1.0
