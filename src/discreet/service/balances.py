"""Balances of the accounts as analysts see them: as of the last tick of a clock.

A ledger is charged while a job runs. A balance shown at once would reveal how long the rows took to read, so everybody
but custodians sees the balance at the last tick.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.core.checks import Neighbors
from discreet.domain.unit import Unit
from discreet.ledger import Ledger
from discreet.ledger.entries import LedgerEntry, population
from discreet.ledger.picture import BUDGET_PARTS, Stories, Story, left, priced, promised
from discreet.privacy import budget_parts, gdp
from discreet.privacy.budget_parts import Balance, Cost
from discreet.service.requests import PAID, Request, is_gaussian
from discreet.service.settings import TableSettings

WORDS = dict(zip(BUDGET_PARTS, ("Gaussian", "Other"), strict=True))
"""The names of the parts of a budget on pages."""


@dataclass(frozen=True)
class Price:
    """The largest cost of a request."""

    epsilon: float
    delta: float
    mu: float | None
    people: int
    """The number of steps that the account charges for a release with this unit of privacy."""
    person: str | None = None
    """The column that identifies persons, for a release that protects a person with all rows."""

    @property
    def cost(self) -> Cost:
        """The cost as ledgers count it."""
        return Cost(self.epsilon, self.delta, self.mu, person=self.person)

    @property
    def words(self) -> str:
        """The cost in words."""
        return priced(self.cost) + (f", counted {self.people} times for a person" if self.people > 1 else "")


class Balances:
    """The accounts of a ledger at the last tick."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._head: LedgerEntry | None = None
        self._read = Stories()
        self._stories: dict[str, Story] = {}
        self._known: dict[tuple[str, str], dict[str, Any]] = {}
        self.tick()

    def tick(self, *, whole: bool = False) -> None:
        """Read the new entries of the ledger; all of it if asked to, or if it lacks the last one that was read."""
        self._ticked, self._known, head = dt.datetime.now(dt.UTC), {}, None if whole else self._head
        if head is not None:
            number = head.number
            last, same = self.ledger.read(lambda t: (t.last(), t.find("number", number)))
            if last == same == head:
                return
            head = head if same == head else None
        self._head = None  # all is read again if this fails
        if head is None:
            self._read = Stories()
        for entry in self.ledger.scan(-1 if head is None else head.number):
            self._read.add(entry)
            head = entry
        self._stories = {story.name: story for story in self._read.told()}
        self._head = head

    def story(self, account: str) -> Story:
        """Return the history of an account."""
        return self._stories[account]

    def neighbors(self, account: str) -> Neighbors:
        """Return the neighbouring relation of the account's releases."""
        return self.story(account).terms.neighbors

    def times(self, account: str, person: str | None) -> int:
        """Return how often an account counts a release with this person column; refuse what it cannot count."""
        return self.story(account).terms.steps(person, f"the account {account!r}")

    def price(self, asked: Request, table: TableSettings, unit: Unit) -> Price | None:
        """Return the price of a request for a table with this unit of privacy; None if it is free."""
        if asked.kind not in PAID and not hasattr(asked, "epsilon"):
            return None
        epsilon, delta = asked.epsilon, table.failure  # type: ignore[union-attr]
        mu = gdp.mu(epsilon=epsilon, delta=delta) if is_gaussian(asked) else None
        return Price(epsilon, delta, mu, self.times(table.account, unit.person), unit.person)

    def refuse(self, account: str, price: Price) -> None:
        """Refuse a price that exceeds what is left of an account or of its population."""
        each = price.cost.to_people(price.people)
        for part in dict.fromkeys((population(account), account)):
            story = self.story(part)
            budget_parts.refuse_public(story.terms.public_outcomes, each, f"the account {part!r}")
            if story.terms.limits is not None:
                story.balance.after(each, f"the account {part!r}", price.people)

    def share(self, account: str, price: Price) -> float | None:
        """Return the share of the account's total limit that a request takes, in the part of the budget that pays."""
        limits = self.story(account).limits
        gaussian, others = Balance(limits, limits.due(price.cost.to_people(price.people))).shares
        return others if price.mu is None or gaussian is None else gaussian

    def told(self, account: str) -> dict[str, Any]:
        """Describe an account for pages and replies."""
        return self._once("told", account, self._told)

    def steps(self, account: str) -> dict[str, Any]:
        """Return the spending over time as a step line for each part of the budget."""
        return self._once("steps", account, self._steps)

    def _once(self, what: str, account: str, work: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
        """Cache a result until the next tick."""
        known = self._known
        if (what, account) not in known:
            known[what, account] = work(account)
        return known[what, account]

    def _told(self, account: str) -> dict[str, Any]:
        story = self.story(account)
        balance = story.balance
        shares = dict(zip(BUDGET_PARTS, balance.shares, strict=True))
        there, words = [part for part in BUDGET_PARTS if shares[part] is not None], left(story)
        return {
            "account": account,
            "promise": promised(story),
            "epsilon_spent": balance.epsilon_spent,
            "epsilon": balance.limits.epsilon,
            "delta": balance.limits.delta,
            "releases": story.releases,
            "pots": [{"name": WORDS[p], "share": shares[p], "left": w} for p, w in zip(there, words, strict=True)],
        }

    def _steps(self, account: str, width: float = 600.0, height: float = 120.0) -> dict[str, Any]:
        story = self.story(account)
        first, last = story.points[0][0], max(story.points[-1][0], self._ticked)
        span = (last - first).total_seconds() or 1.0
        lines = []
        for place, part in enumerate(BUDGET_PARTS):
            shares = [(when, balance.shares[place]) for when, balance in story.points]
            if shares[0][1] is None:
                continue
            corners, before = [], 0.0
            for when, share in shares:
                x = width * (when - first).total_seconds() / span
                corners += [f"{x:.1f},{height * (1 - before):.1f}", f"{x:.1f},{height * (1 - (share or 0.0)):.1f}"]
                before = share or 0.0
            corners.append(f"{width:.1f},{height * (1 - before):.1f}")
            lines.append({"part": WORDS[part], "corners": " ".join(corners)})
        return {"lines": lines, "from": first.strftime("%Y-%m-%d"), "to": last.strftime("%Y-%m-%d")}
