"""What accounts were opened with, and what entries come to by it."""

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
from discreet.privacy import pots
from discreet.privacy.pots import Balance, Cost, Limits, Spent

T = TypeVar("T")


class Named(Protocol):
    """A ledger, as errors call it and its accounts."""

    @property
    def name(self) -> str:
        """What to call it."""

    def words(self, name: str) -> str:
        """What to call an account in a sentence."""


@dataclass(frozen=True)
class Terms(FileRecord):
    """What an account was opened with; it never changes.

    Parameters
    ----------
    limits : Limits, optional
        What releases may cost together; a table without limits of its own has those of its population only.
    neighbors : {"add-remove", "replace-one"}
        The relation that every release must use.
    public_outcomes : frozenset of str
        Columns that are not protected.
    rows_per_person : int, optional
        The most rows of a table that one person has; None where nobody declared it.
    person : str, optional
        The column that tells whose a row is.

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
        """How often a release counts that protects the persons of a column, or rows; refuse one that cannot be counted.

        Two tables that differ in one of the account's people are so many steps apart, each between neighbours as the
        release has them (docs/mathematics, 3.1): one step for the account's own column; as many as a person has rows
        where rows are protected; two for each row where the groups of another column are, because a group that loses a
        row goes and comes again without it.
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
        """Whom the promise protects, in a few words."""
        rows = self.rows_per_person
        if self.person is None:
            return "one row is one person" if rows == 1 else f"{rows} rows a person"
        return f"persons by {self.person!r}" + (f", at most {rows} row{'s' * (rows > 1)} each" if rows else "")

    FIELDS = Fields(
        "terms",
        "What an account was opened with.",
        limits=maybe(record(Limits)),
        neighbors=NEIGHBORS,
        public_outcomes=pots.PUBLIC,
        rows_per_person=maybe(whole(1))(
            "The most rows of a table that one person has; null where it was not declared."
        ),
        person=TEXT("The column that tells whose a row is, if one was named.", absent=None),
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
    """What an account has spent: its newest entry says so.

    That there is no newer one is looked up a second time, in what the entries after it say: an index that lost an entry
    would forget what it cost.
    """
    column = "account" if "/" in name else "population"
    entry, last = t.find(column, name), t.last()
    if entry is None or last is None or entry.number > last.number or t.newer(name, entry.number):
        raise LedgerError(DAMAGED)
    return _read(lambda facts: Spent.from_dict(facts["after"][name]), entry.facts)


def _read(work: Callable[[dict[str, Any]], T], facts: dict[str, Any]) -> T:
    """Understand what an entry says; one that is no entry may fail in any way."""
    try:
        return work(facts)
    except Exception:
        raise LedgerError(DAMAGED) from None


def dues(t: Reading, name: str, cost: Cost, ledger: Named) -> dict[str, Spent]:
    """What a release takes from an account and from its population, by what it costs a person."""
    above, own = terms_of(t, population(name), ledger), terms_of(t, name, ledger)
    limits = limits_of(above)
    return {population(name): limits.due(cost), name: (own.limits or limits).due(cost)}


def charged(t: Reading, name: str, cost: Cost, neighbors: Neighbors, ledger: Named) -> tuple[int, dict[str, Spent]]:
    """How often a release counts, and what an account and its population have spent after it.

    Refuse one that either does not hold.
    """
    parts = {part: terms_of(t, part, ledger) for part in (population(name), name)}
    for part, terms in parts.items():
        pots.refuse_relation(terms.neighbors, neighbors, ledger.words(part))
        pots.refuse_public(terms.public_outcomes, cost, ledger.words(part))
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
    """What a release that was paid for costs a person, as its entry counts it.

    Entries of version 0.2.0 do not say how often: it counted those of any person column once.
    """
    cost = Cost.from_dict(facts["cost"])
    return cost.to_people(facts["times"] if "times" in facts else steps_in_0_2(cost, terms))


def steps_in_0_2(cost: Cost, terms: Terms) -> int:
    """How often version 0.2.0 counted a release."""
    return 1 if cost.person is not None else terms.rows_per_person or 1


def limits_of(terms: Terms) -> Limits:
    """The limits of a population, which always has them."""
    if terms.limits is None:
        raise LedgerError("A population has no limits: the ledger is damaged.")
    return terms.limits
