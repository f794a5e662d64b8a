"""The unit of privacy, a row or a person, and the weights of rows: public facts about a table.

A person may have many rows. With `rows_per_person` = m, those of somebody who has n > m of them count m/n each, so that
nobody counts for more than m rows. Weights lie in [0, `largest_weight`]. Proofs: ``docs/mathematics``, 2.10.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.core.field_kinds import ABOVE_0, TEXT, whole
from discreet.core.fields import Fields, Written
from discreet.domain.kinds.base import Identifier
from discreet.domain.kinds.numeric import LARGEST, Numeric
from discreet.errors import DomainError

WEIGHT_BITS = 20
"""Weights are whole multiples of 2^-20 of the largest one."""

MOST_ROWS = 1 << 12
"""The largest `rows_per_person`: sums over the rows of a person are then exact in float64."""

_IDENTIFIER = re.compile(
    r"(^|[_\W])(id|ids|uid|uuid|guid|ssn|nino|nhs|pid|mrn)($|[_\W])"
    r"|^(person|patient|customer|client|user|member|subject|student|employee|worker|household|participant|respondent)"
    r"[_\W]?(id|no|nr|num|number|key|code)?$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Unit(Written):
    """The unit of privacy: a row, or a person with all rows; and the weight of a row."""

    person: str | None = None  # the column that tells whose a row is; without it one row is one person
    rows_per_person: int = 1  # m: how many rows a person counts for at most
    weights: str | None = None  # the column of weights
    largest_weight: float = 1.0  # their public bound; weights are moved into [0, largest_weight]

    @classmethod
    def of(cls, facts: Mapping[str, Any], declared: Collection[str]) -> Unit:
        """Build the unit from declared facts, each given or None; check them against the columns."""
        person, m, weights, W = (facts[name] for name in FACTS)
        for name, value in (("person", person), ("weights", weights)):
            if value is not None and (not isinstance(value, str) or not value):
                raise DomainError(f"{name} must be the name of a column, for example {name}='{name}'.")
            if value in declared:
                raise DomainError(
                    f"Column {value!r} is declared with bounds or levels, or made of columns that are, and cannot be "
                    f"{name}= too."
                )
        if person is not None and person == weights:
            raise DomainError(f"Column {person!r} cannot be person= and weights= at once.")
        if (person is None) != (m is None):
            raise DomainError(
                "person= and rows_per_person= go together: the column that tells whose a row is, and the number of "
                "rows that a person counts for at most, both known without looking at the data. 1 lets everybody count "
                "once."
            )
        if m is not None and (type(m) is not int or not 1 <= m <= MOST_ROWS):
            raise DomainError(f"rows_per_person must be a whole number from 1 to {MOST_ROWS:,}, got {checks.shown(m)}.")
        if (weights is None) != (W is None):
            raise DomainError(
                "weights= and largest_weight= go together: the column of weights, and a bound on them that is known "
                "without looking at the data. Larger weights are moved to it."
            )
        if W is not None and (not checks.is_real(W) or not 1 / LARGEST <= W <= LARGEST):
            raise DomainError(f"largest_weight must be a number above 0, got {checks.shown(W)}.")
        return cls(person, m or 1, weights, 1.0 if W is None else float(W))

    @cached_property
    def plain(self) -> bool:
        """Whether each row is one person, and all rows have the same weight."""
        return self.person is None and self.weights is None

    @property
    def most(self) -> int:
        """The largest sum of the weights of a person, in units of the largest weight."""
        return self.rows_per_person

    @cached_property
    def columns(self) -> Mapping[str, Identifier | Numeric]:
        """The columns that are read beside those of the domain."""
        person = {} if self.person is None else {self.person: Identifier()}
        return person | ({} if self.weights is None else {self.weights: Numeric(0.0, self.largest_weight)})

    def why_not(self, name: object) -> str | None:
        """Return the reason why a column of identifiers or weights cannot be part of a model; None for others."""
        for what, own in (("whose a row is (person=)", self.person), ("what a row counts (weights=)", self.weights)):
            if own is not None and own == name:
                return f"Column {name!r} tells {what}, and cannot be part of a model."
        return None

    def words(self, neighbors: Neighbors) -> str:
        """Return the definition of neighbouring tables, as a sentence."""
        if self.person is None:
            return _ROWS[neighbors]
        return _PERSONS[neighbors].format(person=self.person)

    @property
    def short(self) -> str:
        """The unit of privacy in a few words."""
        if self.person is None:
            return "one row is one person" + self._weighted
        m = self.rows_per_person
        rows = f"{m} row{'s' * (m > 1)}"
        return f"a person with all rows ({self.person!r}), who counts for at most {rows}{self._weighted}"

    @property
    def _weighted(self) -> str:
        return "" if self.weights is None else f"; rows weighted by {self.weights!r}, at most {self.largest_weight:g}"

    FIELDS = Fields(
        "unit",
        "The unit of privacy, where it is not one unweighted row.",
        person=TEXT("The column that identifies persons.", absent=None, since=5),
        rows_per_person=whole(1)("Most rows that one person counts for.", absent=None, beside="person", since=5),
        weights=TEXT("The column of weights.", absent=None, since=5),
        largest_weight=ABOVE_0("Larger weights were clipped to it.", absent=None, beside="weights", since=5),
    )


ROWS = Unit()
"""The default unit: each row is one person, and all rows have the same weight."""

FACTS = tuple(field.name for field in fields(Unit))
"""The names of the facts that people declare."""

_ROWS: dict[Neighbors, str] = {
    "add-remove": "Two tables are compared that differ in the presence of one row; one row is one person.",
    "replace-one": "Two tables of the same size are compared that differ in the content of one row; one row is one "
    "person, and the number of rows is not hidden.",
}
_PERSONS: dict[Neighbors, str] = {
    "add-remove": "Two tables are compared that differ in the presence of one person, with all rows of that person "
    "({person!r}).",
    "replace-one": "Two tables of equally many persons are compared that differ in all rows of one person "
    "({person!r}), their number too; how many persons there are is not hidden.",
}


def identifiers(names: Collection[str]) -> list[str]:
    """Return the names of columns that look like identifiers of persons: patient_id, customerNumber; not paid.

    Examples
    --------
    >>> identifiers(["age", "patient_id", "paid", "ID", "customerNumber", "customer", "id_2"])
    ['patient_id', 'ID', 'customerNumber', 'customer', 'id_2']
    """
    return [name for name in names if _IDENTIFIER.search(name)]
