"""Spending over time and what is left, as text."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.ledger.entries import LedgerEntry, population
from discreet.ledger.terms import Terms
from discreet.privacy import gdp
from discreet.privacy.budget_parts import Balance, Cost, Limits, Spent

BUDGET_PARTS = ("Gaussian", "others")
"""The names of the two parts of a budget."""

POINTS = 1000
"""The number of points in time, or up to twice as many, that pictures show of an account."""

BLOCKS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Story:
    """The history of one account.

    Parameters
    ----------
    name : str
        The account.
    terms : Terms
        The terms on which it was opened.
    limits : Limits
        Its own limits, or those of its population.
    points : list of (datetime, Balance)
        Its balance after entries about it, evenly spread ones of many; times never decrease, even if the clock did.
    releases, lost : int
        The number of releases that were paid for, and the number of these that never finished.
    """

    name: str
    terms: Terms
    limits: Limits
    points: list[tuple[dt.datetime, Balance]]
    releases: int
    lost: int

    @property
    def balance(self) -> Balance:
        """The current balance."""
        return self.points[-1][1]


def stories(entries: Iterable[LedgerEntry]) -> list[Story]:
    """Return the history of every account, in the order in which they were opened."""
    read = Stories()
    for entry in entries:
        read.add(entry)
    return read.told()


class Stories:
    """The histories of all accounts as far as a ledger was read."""

    def __init__(self) -> None:
        self._told: dict[str, _Told] = {}

    def add(self, entry: LedgerEntry) -> None:
        """Read the next entry."""
        told, facts = self._told, entry.facts
        kind, name = facts["kind"], facts.get("account")
        if name is None:
            return
        if kind == "account":
            told[name] = _Told(Terms.from_dict(facts))
        for part in dict.fromkeys((population(name), name)):
            told[part].count(entry.number, kind, facts.get("settles"))
        for part, spent in facts["after"].items():
            told[part].note(facts["when"], spent)

    def told(self) -> list[Story]:
        """Return the history of every account, in the order in which they were opened."""
        found = []
        for name, one in self._told.items():
            whole = one if one.terms.limits is not None else self._told[population(name)]
            if (limits := whole.terms.limits) is not None:
                found.append(Story(name, one.terms, limits, whole.points(limits), one.releases, len(one.open)))
        return found


class _Told:
    """The history of an account as far as it was read; of many points in time, evenly spread ones."""

    def __init__(self, terms: Terms) -> None:
        self.terms, self.releases, self.open = terms, 0, set[int]()
        self._points: list[tuple[str, dict[str, Any]]] = []
        self._newest: tuple[str, dict[str, Any]] = ("", {})
        self._noted, self._every = 0, 1

    def count(self, number: int, kind: str, settles: Any) -> None:
        """Count a release, or its end."""
        self.releases += (kind == "reserve") - (kind == "cancel")
        if kind == "reserve":
            self.open.add(number)
        self.open.discard(settles)

    def note(self, when: str, spent: dict[str, Any]) -> None:
        """Keep a point in time; if there are too many, every other one."""
        self._newest = max(when, self._newest[0]), spent
        if self._noted % self._every == 0:
            self._points.append(self._newest)
        self._noted += 1
        if len(self._points) >= 2 * POINTS:
            self._points, self._every = self._points[::2], 2 * self._every

    def points(self, limits: Limits) -> list[tuple[dt.datetime, Balance]]:
        """The balance at these points in time, the newest among them."""
        kept = self._points if self._points[-1] is self._newest else [*self._points, self._newest]
        return [(dt.datetime.fromisoformat(when), Balance(limits, Spent.from_dict(spent))) for when, spent in kept]


def promised(story: Story) -> str:
    """The promise of an account, in words.

    Examples
    --------
    >>> promised(Story("clinic", Terms(None, "add-remove", frozenset(), 2), Limits(3, 1e-6), [], 0, 0))
    'epsilon = 3, delta = 1e-06, add-remove, 2 rows a person'
    """
    public = [f"not protecting {', '.join(sorted(story.terms.public_outcomes))}"] * bool(story.terms.public_outcomes)
    each = [story.terms.words] * ((story.terms.person, story.terms.rows_per_person) != (None, 1))
    first = f"epsilon = {story.limits.epsilon:g}, delta = {story.limits.delta:g}"
    return ", ".join([first, story.terms.neighbors, *each, *public])


def left(story: Story) -> list[str]:
    """Describe what is left of each part of the budget; for persons, if the account names their column."""
    balance, person, told = story.balance, story.terms.person, []
    times = story.terms.steps(person, "the account")
    if not balance.limits.adding:
        delta = balance.limits.gaussian[1]
        epsilon = gdp.epsilon(mu=balance.mu_left / times, delta=delta) if balance.mu_left else 0.0
        whose = "" if person is None else f" that protects {person!r}"
        told.append(f"one more of epsilon = {floor(epsilon)} at delta = {delta:.3g}{whose}")
    if balance.limits.others[0]:
        epsilon, delta = balance.others_left
        told.append(f"epsilon = {floor(epsilon)} and delta = {floor(delta)} in all{' per person' * (times > 1)}")
    return told


def floor(value: float, digits: int = 4) -> str:
    """Format a number with few digits, rounded down.

    Examples
    --------
    >>> floor(0.99999), floor(0.123456), floor(0.0), floor(5e-7)
    ('0.9999', '0.1234', '0', '5e-07')
    """
    if value <= 0:
        return "0"
    text = f"{value:.{digits}g}"
    if float(text) > value:
        step = float(f"1e{int(f'{value:e}'.split('e')[1]) - digits + 1}")
        text = f"{float(text) - step:.{digits}g}"
    return text


def bar(share: float, width: int = 30) -> str:
    """Draw a share of 1 as a bar.

    Examples
    --------
    >>> bar(0.5, 8)
    '████░░░░'
    """
    full = round(min(max(share, 0.0), 1.0) * width)
    return "█" * full + "░" * (width - full)


def skyline(shares: Sequence[float], height: int = 5) -> list[str]:
    """Draw shares of 1 as columns of blocks, the top line first.

    Examples
    --------
    >>> skyline([0.0, 0.5, 1.0], 2)
    ['  █', ' ██']
    """
    eighths = [max(round(min(share, 1.0) * height * 8), int(share > 0)) for share in shares]
    return ["".join(BLOCKS[min(max(e - 8 * line, 0), 8)] for e in eighths) for line in reversed(range(height))]


def terminal(story: Story, width: int = 60) -> list[str]:
    """Describe an account in lines of text: each part of its budget as a bar, and spending over time as a skyline."""
    shared = "" if story.terms.limits is not None else f" (the limits of {population(story.name)})"
    lines = [f"{story.name}: {promised(story)}{shared}", f"  {counted_releases(story)}"]
    told = dict(zip(parts_of(story.balance), left(story), strict=True))
    for part, words in told.items():
        share = story.balance.shares[BUDGET_PARTS.index(part)] or 0.0
        lines += [f"  {part:<9} {bar(share)} {share:6.1%} spent", f"            left: {words}"]
    first, last = story.points[0][0], story.points[-1][0]
    day = "%Y-%m-%d" if last - first > dt.timedelta(days=2) else "%Y-%m-%d %H:%M"
    for part in told:
        shares = _sampled(story, BUDGET_PARTS.index(part), width)
        if story.terms.limits is None or not any(shares):
            continue
        marks = ["100 %", "", " 50 %", "", "  0 %"]
        lines += ["", f"  {part}: spent over time"]
        lines += [f"  {mark:>5} │{line}│" for mark, line in zip(marks, skyline(shares), strict=True)]
        begin, end = first.strftime(day), last.strftime(day)
        lines.append(f"         {begin}{end:>{width - len(begin)}}")
    return lines


def parts_of(balance: Balance) -> list[str]:
    """The parts of the budget that an account has."""
    return [part for part, share in zip(BUDGET_PARTS, balance.shares, strict=True) if share is not None]


def counted_releases(story: Story) -> str:
    """Say how many releases were paid for."""
    releases = f"{story.releases} release{'' if story.releases == 1 else 's'} paid for"
    return releases + (f", {story.lost} of them never finished and spent" if story.lost else "")


def _sampled(story: Story, part: int, width: int) -> list[float]:
    """The share that was spent at `width` equally spaced times, the last of them at the newest entry."""
    first, last = story.points[0][0], story.points[-1][0]
    moments = [first + (last - first) * (i + 1) / width for i in range(width)]
    shares, at = [], 0
    for moment in moments:
        while at + 1 < len(story.points) and story.points[at + 1][0] <= moment:
            at += 1
        shares.append(story.points[at][1].shares[part] or 0.0)
    return shares


STATES = {"commit": "released", "cancel": "cancelled", None: "not finished, spent"}
"""The states of a release, by the kind of the entry that settles it."""

HISTORY = ("entry", "when", "account", "what", "cost", "who", "why", "state")


def releases(scan: Callable[[], Iterable[LedgerEntry]], account: str | None = None) -> Iterator[dict[str, Any]]:
    """The facts of every release that was paid for, with its state and certificate; the oldest first.

    The entries are read twice, so that the end of a release is known when its beginning is told.
    """
    ends: dict[int, tuple[str, str | None]] = {}
    for entry in scan():
        if "settles" in entry.facts:
            ends[entry.facts["settles"]] = STATES[entry.facts["kind"]], entry.facts.get("certificate")
    for entry in scan():
        if entry.facts["kind"] == "reserve" and account in (None, entry.index[0], entry.index[1]):
            state, certificate = ends.get(entry.number, (STATES[None], None))
            yield entry.facts | {"state": state, "certificate": certificate}


def history(entries: Iterable[LedgerEntry], account: str | None = None) -> list[list[str]]:
    """A table of the releases that were paid for, with the columns of `HISTORY`."""
    rows: dict[int, list[str]] = {}
    for entry in entries:
        facts = entry.facts
        if facts["kind"] == "reserve" and account in (None, entry.index[0], entry.index[1]):
            what = f"{facts['method']}: {facts['formula'] or ', '.join(facts['columns'])}"
            cost = priced(Cost.from_dict(facts["cost"]))
            often = map(sys.intern, (facts["account"], what, cost, facts["who"], facts["purpose"], STATES[None]))
            rows[entry.number] = [str(entry.number), facts["when"][:16].replace("T", " "), *often]
        elif facts.get("settles") in rows:
            rows[facts["settles"]][-1] = STATES[facts["kind"]]
    return list(rows.values())


def priced(cost: Cost) -> str:
    """Describe a cost in words.

    Examples
    --------
    >>> priced(Cost(1.0, 1e-6, mu=0.2367)), priced(Cost(0.5, 0.0))
    ('epsilon 1, delta 1e-06 (mu 0.2367)', 'epsilon 0.5, delta 0')
    """
    promise = f"epsilon {cost.epsilon:.4g}, delta {cost.delta:.4g}"
    return promise if cost.mu is None else f"{promise} (mu {cost.mu:.4g})"
