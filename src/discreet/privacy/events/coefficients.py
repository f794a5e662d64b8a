"""Facts and checks that all events of released coefficients share.

theta belongs to the regressors `design`, whose norm in a row is at most `norm` (B), and to the outcome `target`, at
most `outcome` (Y) in size, all in units of the mapped columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args

from discreet.core.checks import Neighbors, is_real
from discreet.core.files import text, texts
from discreet.core.rounding import up
from discreet.domain import Domain
from discreet.errors import FileFormatError
from discreet.privacy.events.base import Event, Finding, is_bound
from discreet.privacy.laws import Alone, Law

if TYPE_CHECKING:
    from discreet.privacy.bounds import Bounds


@dataclass(frozen=True, kw_only=True)
class CoefficientEvent(Event):
    """Released coefficients: everything that their privacy depends on."""

    mechanism: ClassVar[str] = ""
    name: ClassVar[str] = ""
    exact: ClassVar[bool] = False
    coefficients: ClassVar[bool] = True
    signed: ClassVar[tuple[str, ...]] = ()
    """Numbers that may lie below 0."""
    from_zero: ClassVar[tuple[str, ...]] = ()
    """Numbers that may be 0."""
    optional: ClassVar[tuple[str, ...]] = ()
    """Numbers that may be missing."""
    lists: ClassVar[tuple[str, ...]] = ("failures", "iterates", "root")
    """Lists of numbers; all others are single ones."""
    whole: ClassVar[tuple[str, ...]] = ("blocks", "steps", "moor", "iterations", "rounds", "augmented")
    """Whole numbers."""
    choices: ClassVar[dict[str, tuple[str, ...]]] = {}
    """Words, and what they may be."""

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

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        facts = {field.name: getattr(self, field.name) for field in fields(self)}
        listed = {name: list(value) if isinstance(value, tuple) else value for name, value in facts.items()}
        return {"mechanism": self.mechanism, **listed, "exact": self.exact}

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> Self:
        """Rebuild an event from `to_dict`."""
        given = {field.name: facts[field.name] for field in fields(cls)}
        words: dict[str, Any] = {"design": texts(given.pop("design")), "target": text(given.pop("target"))}
        neighbors = given.pop("neighbors")
        numbers = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
        if neighbors not in get_args(Neighbors) or not words["design"]:
            raise FileFormatError("An event of the release is of an unknown kind.")
        for name, value in numbers.items():
            if not cls._fits(name, value):
                raise FileFormatError(f"An event of the release lists a {name} that no {cls.mechanism} has.")
        made = cls(**words, neighbors=neighbors, **numbers)  # type: ignore[arg-type]
        try:
            _ = made.mu, made.law, made.keeps()
        except ArithmeticError:
            raise FileFormatError(f"An event of the release lists what no {cls.mechanism} has.") from None
        return made

    @classmethod
    def _fits(cls, name: str, value: Any) -> bool:
        if name in cls.choices:
            return value in cls.choices[name]
        if value is None:
            return name in cls.optional
        if isinstance(value, tuple) != (name in cls.lists):
            return False
        values = value if isinstance(value, tuple) else (value,)
        if name in cls.whole and type(value) is not int:
            return False
        if not all(is_real(v) and math.isfinite(v) for v in values):
            return False
        return name in cls.signed or all(v > 0 or (v == 0 and name in cls.from_zero) for v in values)


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
