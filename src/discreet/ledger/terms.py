"""What accounts were opened with, and what entries come to by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.errors import LedgerError
from discreet.ledger.entries import population
from discreet.ledger.storage import Reading
from discreet.privacy import pots
from discreet.privacy.pots import Balance, Cost, Limits, Spent


class Named(Protocol):
    """A ledger, as errors call it and its accounts."""

    @property
    def name(self) -> str:
        """What to call it."""

    def words(self, name: str) -> str:
        """What to call an account in a sentence."""


@dataclass(frozen=True)
class Terms:
    """What an account was opened with; it never changes.

    Parameters
    ----------
    limits : Limits, optional
        What releases may cost together; a table without limits of its own has those of its population only.
    neighbors : {"add-remove", "replace-one"}
        The relation that every release must use.
    public_outcomes : frozenset of str
        Columns that are not protected.
    rows_per_person : int
        How many rows of a table one person may have; each release is charged for so many.
    """

    limits: Limits | None
    neighbors: Neighbors
    public_outcomes: frozenset[str]
    rows_per_person: int = 1

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return {
            "limits": None if self.limits is None else self.limits.to_dict(),
            "neighbors": self.neighbors,
            "public_outcomes": sorted(self.public_outcomes),
            "rows_per_person": self.rows_per_person,
        }

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> Terms:
        """Rebuild terms from `to_dict`."""
        limits = None if facts["limits"] is None else Limits.from_dict(facts["limits"])
        neighbors = checks.neighbors(facts["neighbors"])
        return cls(limits, neighbors, frozenset(facts["public_outcomes"]), facts["rows_per_person"])


def terms_of(t: Reading, name: str, ledger: Named) -> Terms:
    """The terms of an account."""
    entry = t.find("defines", name)
    if entry is None:
        raise LedgerError(
            f"The ledger {ledger.name} has no account {name!r}. Open it with: discreet ledger init {ledger.name} "
            f"--account {name}"
        )
    return Terms.from_dict(entry.facts)


def spent_of(t: Reading, name: str) -> Spent:
    """What an account has spent: its newest entry says so."""
    entry = t.find("account" if "/" in name else "population", name)
    return Spent() if entry is None else Spent.from_dict(entry.facts["after"][name])


def dues(t: Reading, name: str, cost: Cost, ledger: Named) -> dict[str, Spent]:
    """What a release takes from an account and from its population."""
    above, own = terms_of(t, population(name), ledger), terms_of(t, name, ledger)
    each = cost.to_people(own.rows_per_person)
    limits = limits_of(above)
    return {population(name): limits.due(each), name: (own.limits or limits).due(each)}


def charged(t: Reading, name: str, cost: Cost, neighbors: Neighbors, ledger: Named) -> dict[str, Spent]:
    """What an account and its population have spent after a release; refuse one that either does not hold."""
    own, after = terms_of(t, name, ledger), {}
    each = cost.to_people(own.rows_per_person)
    for part in dict.fromkeys((population(name), name)):
        terms, words = terms_of(t, part, ledger), ledger.words(part)
        pots.refuse_relation(terms.neighbors, neighbors, words)
        pots.refuse_public(terms.public_outcomes, cost, words)
        spent = spent_of(t, part)
        if terms.limits is None:
            after[part] = spent + dues(t, name, cost, ledger)[part]
        else:
            after[part] = Balance(terms.limits, spent).after(each, words)
    return after


def limits_of(terms: Terms) -> Limits:
    """The limits of a population, which always has them."""
    if terms.limits is None:
        raise LedgerError("A population has no limits: the ledger is damaged.")
    return terms.limits
