"""The terms of accounts, and the charges that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

from discreet.core.checks import Neighbors
from discreet.core.field_kinds import NEIGHBORS, TEXT, maybe, record, whole
from discreet.core.fields import Fields, FileRecord
from discreet.errors import BudgetError, FileFormatError, LedgerError
from discreet.ledger.entries import population
from discreet.ledger.storage import Reading
from discreet.ledger.storage.base import DAMAGED
from discreet.privacy import budget_parts
from discreet.privacy.budget_parts import Balance, Cost, Limits, Spent

T = TypeVar("T")


class Named(Protocol):
    """The names of a ledger and its accounts in error messages."""

    @property
    def name(self) -> str:
        """The name of the ledger."""

    def words(self, name: str) -> str:
        """Return how messages name an account."""


@dataclass(frozen=True)
class Terms(FileRecord):
    """The terms on which an account was opened; they never change.

    Parameters
    ----------
    limits : Limits, optional
        The limits on the total cost; a table without its own limits has only those of its population.
    neighbors : {"add-remove", "replace-one"}
        The relation that every release must use.
    public_outcomes : frozenset of str
        Columns that are not protected.
    rows_per_person : int, optional
        The maximum number of rows of one person in a table; None if it was not declared.
    person : str, optional
        The column that identifies persons.

    Examples
    --------
    >>> terms = Terms(Limits(1, 1e-6), "add-remove", frozenset(), 8, "patient")
    >>> [terms.steps(person, "the account") for person in ("patient", None, "visit")]
    [1, 8, 16]
    """

    limits: Limits | None
    neighbors: Neighbors
    public_outcomes: frozenset[str]
    rows_per_person: int | None = 1
    person: str | None = None

    def steps(self, person: str | None, who: str) -> int:
        """Return how many times a release is charged, by whose persons it protects; refuse one of unknown cost.

        Two tables that differ in one of the account's persons are this many steps apart, each step between neighbouring
        tables of the release (docs/mathematics, 3.1): one step if it protects the account's own column; one for each
        row of a person if it protects rows; two for each row if it protects the groups of another column, because a
        group that loses a row is removed, and added again without it.
        """
        if person is not None and person == self.person:
            return 1
        theirs = "rows" if person is None else f"the persons of column {person!r}"
        if self.rows_per_person is None:
            raise BudgetError(
                f"This release protects {theirs}, and {who} protects the persons of column {self.person!r}. How many "
                "rows each of them has was not declared, so what it costs them is not known. Remedy: a Budget or an "
                "account with rows_per_person=; or declare the same person= for the data. Nothing was released."
            )
        if person is None:
            return self.rows_per_person
        if self.neighbors == "replace-one":
            ours = "rows" if self.person is None else f"the persons of column {self.person!r}"
            raise BudgetError(
                f"This release protects {theirs} and does not hide how many there are, and {who} protects {ours}: the "
                "one does not bound the other. Remedy: a Budget or an account with the same person= as the data. "
                "Nothing was released."
            )
        return 2 * self.rows_per_person

    @property
    def words(self) -> str:
        """A short description of whom the promise protects."""
        rows = self.rows_per_person
        if self.person is None:
            return "one row is one person" if rows == 1 else f"{rows} rows a person"
        return f"persons by {self.person!r}" + (f", at most {rows} row{'s' * (rows > 1)} each" if rows else "")

    FIELDS = Fields(
        "terms",
        "The terms of an account.",
        limits=maybe(record(Limits)),
        neighbors=NEIGHBORS,
        public_outcomes=budget_parts.PUBLIC,
        rows_per_person=maybe(whole(1))(
            "The most rows of a table that one person has; null where it was not declared."
        ),
        person=TEXT("The column that identifies persons, if one was named.", absent=None),
    )

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Self:
        """Rebuild terms from `to_dict`."""
        terms = super().from_dict(facts)
        if terms.rows_per_person is None and terms.person is None:
            raise FileFormatError("An account says neither how many rows a person has nor whose a row is.")
        return terms


def terms_of(t: Reading, name: str, ledger: Named) -> Terms:
    """The terms of an account."""
    entry = t.find("defines", name)
    if entry is None:
        raise LedgerError(
            f"The ledger {ledger.name} has no account {name!r}. Open it with: discreet ledger init {ledger.name} "
            f"--account {name}"
        )
    return _read(Terms.from_dict, entry.facts)


def spent_of(t: Reading, name: str) -> Spent:
    """The amount that an account has spent, as stated by its newest entry.

    The bodies of later entries are searched to confirm that there is no newer one: an index that lost an entry would
    omit its cost.
    """
    column = "account" if "/" in name else "population"
    entry, last = t.find(column, name), t.last()
    if entry is None or last is None or entry.number > last.number or t.newer(name, entry.number):
        raise LedgerError(DAMAGED)
    return _read(lambda facts: Spent.from_dict(facts["after"][name]), entry.facts)


def _read(work: Callable[[dict[str, Any]], T], facts: dict[str, Any]) -> T:
    """Parse an entry; any failure means that the ledger is damaged."""
    try:
        return work(facts)
    except Exception:
        raise LedgerError(DAMAGED) from None


def dues(t: Reading, name: str, cost: Cost, ledger: Named) -> dict[str, Spent]:
    """The amounts that a release takes from an account and from its population, given its cost for a person."""
    above, own = terms_of(t, population(name), ledger), terms_of(t, name, ledger)
    limits = limits_of(above)
    return {population(name): limits.due(cost), name: (own.limits or limits).due(cost)}


def charged(t: Reading, name: str, cost: Cost, neighbors: Neighbors, ledger: Named) -> tuple[int, dict[str, Spent]]:
    """Return how many times a release is charged, and what the account and its population have spent after it.

    A release that exceeds the limits of either is refused.
    """
    parts = {part: terms_of(t, part, ledger) for part in (population(name), name)}
    for part, terms in parts.items():
        budget_parts.refuse_relation(terms.neighbors, neighbors, ledger.words(part))
        budget_parts.refuse_public(terms.public_outcomes, cost, ledger.words(part))
    times = parts[name].steps(cost.person, ledger.words(name))
    each, after = cost.to_people(times), {}
    for part, terms in parts.items():
        spent = spent_of(t, part)
        if terms.limits is None:
            after[part] = spent + dues(t, name, each, ledger)[part]
        else:
            after[part] = Balance(terms.limits, spent).after(each, ledger.words(part), times)
    return times, after


def counted(facts: dict[str, Any], terms: Terms) -> Cost:
    """The cost for a person of a release that was paid for, as its entry counts it.

    Entries of version 0.2.0 do not state the number of times: it charged releases for any person column once.
    """
    cost = Cost.from_dict(facts["cost"])
    return cost.to_people(facts["times"] if "times" in facts else steps_in_0_2(cost, terms))


def steps_in_0_2(cost: Cost, terms: Terms) -> int:
    """Return how many times version 0.2.0 charged a release."""
    return 1 if cost.person is not None else terms.rows_per_person or 1


def limits_of(terms: Terms) -> Limits:
    """The limits of a population, which always has them."""
    if terms.limits is None:
        raise LedgerError("A population has no limits: the ledger is damaged.")
    return terms.limits
