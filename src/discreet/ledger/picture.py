"""Spending over time and what is left, as text for a terminal and as one HTML page."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.ledger.audit import unsettled
from discreet.ledger.entries import LedgerEntry, population
from discreet.ledger.terms import Terms
from discreet.privacy import gdp
from discreet.privacy.budget_parts import Balance, Cost, Limits, Spent
from discreet.results.plots.style import BLUE, GREY, LOOKS, ORANGE, PALE, WIDTH, canvas, legend, style, svg
from discreet.results.report.page import bullets, figure, page, paragraphs, section, table

BUDGET_PARTS = ("Gaussian", "others")
"""The names of the two parts of a budget."""

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
        Its balance after each entry about it; times never decrease, even if the clock went back.
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


def stories(entries: Sequence[LedgerEntry]) -> list[Story]:
    """Return the history of every account, in the order in which they were opened."""
    terms = {e.facts["account"]: Terms.from_dict(e.facts) for e in entries if e.facts["kind"] == "account"}
    lost = {entry.number for entry in unsettled(entries)}
    found = []
    for name, own in terms.items():
        counted = name if own.limits is not None else population(name)
        limits = own.limits or terms[counted].limits
        mine = [e for e in entries if counted in e.facts.get("after", {})]
        parts = [e for e in entries if name in (e.facts.get("account"), population(str(e.facts.get("account"))))]
        kinds = [entry.facts["kind"] for entry in parts]
        if limits is not None:
            paid = kinds.count("reserve") - kinds.count("cancel")
            points = _points(mine, counted, limits)
            found.append(Story(name, own, limits, points, paid, sum(e.number in lost for e in parts)))
    return found


def _points(entries: Sequence[LedgerEntry], name: str, limits: Limits) -> list[tuple[dt.datetime, Balance]]:
    points: list[tuple[dt.datetime, Balance]] = []
    for entry in entries:
        when = dt.datetime.fromisoformat(entry.facts["when"])
        when = max(when, points[-1][0]) if points else when
        points.append((when, Balance(limits, Spent.from_dict(entry.facts["after"][name]))))
    return points


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
    lines = [f"{story.name}: {promised(story)}{shared}", f"  {_counted(story)}"]
    told = dict(zip(_budget_parts(story.balance), left(story), strict=True))
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


def _budget_parts(balance: Balance) -> list[str]:
    return [part for part, share in zip(BUDGET_PARTS, balance.shares, strict=True) if share is not None]


def _counted(story: Story) -> str:
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


# ---------------------------------------------------------------- as a page


def html(name: str, entries: Sequence[LedgerEntry]) -> str:
    """Return an HTML page for a ledger: what is left, spending over time, and every release; no clock is read.

    Parameters
    ----------
    name : str
        The name of the ledger.
    entries : sequence of LedgerEntry
        All its entries.
    """
    told, head = stories(entries), entries[-1]
    rows = [
        [story.name, promised(story), part, f"{story.balance.shares[BUDGET_PARTS.index(part)] or 0.0:.1%}", words]
        for story in told
        for part, words in zip(_budget_parts(story.balance), left(story), strict=True)
    ]
    answer = " ".join(f"{story.name}: {_counted(story)}." for story in told) or "No account was opened yet."
    parts = [
        section("What is left", table(("account", "promise", "releases", "spent", "left"), rows)),
        *(section(f"Spending of {s.name}", _figure(s, i)) for i, s in enumerate(told) if s.terms.limits is not None),
        section("Every release", table(HISTORY, history(entries))),
        section(
            "How to read this",
            bullets(_READING),
            paragraphs(f"Entry {head.number}, {head.facts['when'][:19]}, hash {head.hash}.", kind="small"),
        ),
    ]
    return page(f"Ledger {name}", f"Ledger {name}", answer, [], parts, kind="What was spent on whom")


HISTORY = ("entry", "when", "account", "what", "cost", "who", "why", "state")


def releases(entries: Sequence[LedgerEntry], account: str | None = None) -> list[dict[str, Any]]:
    """The facts of every release that was paid for, with its state and certificate; the oldest first."""
    settled = {entry.facts["settles"]: entry.facts for entry in entries if "settles" in entry.facts}
    states = {"commit": "released", "cancel": "cancelled", None: "not finished, spent"}
    paid = [entry.facts for entry in entries if entry.facts["kind"] == "reserve"]
    return [
        facts | {"state": states[end.get("kind")], "certificate": end.get("certificate")}
        for facts in paid
        if account in (None, facts["account"], population(facts["account"]))
        for end in [settled.get(facts["number"], {})]
    ]


def history(entries: Sequence[LedgerEntry], account: str | None = None) -> list[list[str]]:
    """A table of the releases that were paid for, with the columns of `HISTORY`."""
    return [
        [
            str(facts["number"]),
            facts["when"][:16].replace("T", " "),
            facts["account"],
            f"{facts['method']}: {facts['formula'] or ', '.join(facts['columns'])}",
            priced(Cost.from_dict(facts["cost"])),
            facts["who"],
            facts["purpose"],
            facts["state"],
        ]
        for facts in releases(entries, account)
    ]


def priced(cost: Cost) -> str:
    """Describe a cost in words.

    Examples
    --------
    >>> priced(Cost(1.0, 1e-6, mu=0.2367)), priced(Cost(0.5, 0.0))
    ('epsilon 1, delta 1e-06 (mu 0.2367)', 'epsilon 0.5, delta 0')
    """
    promise = f"epsilon {cost.epsilon:.4g}, delta {cost.delta:.4g}"
    return promise if cost.mu is None else f"{promise} (mu {cost.mu:.4g})"


def _figure(story: Story, number: int) -> str:
    with style():
        drawn, axes = canvas(2.6, WIDTH)
        _draw(axes, story)
        legend(drawn, axes)
        words = f"{story.name}: {_counted(story)}. " + " ".join(
            f"{part} {story.balance.shares[BUDGET_PARTS.index(part)] or 0.0:.0%} spent."
            for part in _budget_parts(story.balance)
        )
        return figure(svg(drawn, f"spent{number}", words), f"{words} The grey line is the limit.")


def _draw(axes: Any, story: Story) -> None:
    """Draw spending over time, as a share of each part of the budget."""
    from matplotlib import dates

    times = [when for when, _ in story.points]
    for part, colour, look in zip(BUDGET_PARTS, (BLUE, ORANGE), LOOKS, strict=False):
        shares = [balance.shares[BUDGET_PARTS.index(part)] for _, balance in story.points]
        if shares[0] is not None:
            values = [100 * (share or 0.0) for share in shares]
            axes.step(times, values, where="post", color=colour, ls=look["ls"], lw=1.8, label=part)
            axes.plot(times[-1:], values[-1:], marker=look["marker"], color=colour)
    axes.axhline(100, color=GREY, lw=1.2)
    axes.set_ylim(0, 105)
    axes.set_ylabel("% of this part of the budget")
    axes.grid(color=PALE, lw=0.8)
    axes.set_axisbelow(True)
    locator: Any = dates.AutoDateLocator(minticks=2, maxticks=6)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


_READING = (
    "A release counts from the moment at which it was paid for, before its noise was drawn. One that never finished is "
    "spent: nobody can know who saw it.",
    "Gaussian releases draw on one part of the budget, where the squares of their mu add up; all others on another, "
    "where epsilons and deltas add up. Both were fixed in advance, and together they are the promise.",
    "No row, value or count of the data is in a ledger.",
    "A ledger tells when it was changed, not that its end is missing: keep the number and the hash below elsewhere, "
    "and compare them with: discreet ledger verify --witness",
)
