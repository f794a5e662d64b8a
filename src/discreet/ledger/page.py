"""A ledger as one HTML page: what is left, spending over time, and every release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib import dates

from discreet.ledger.entries import LedgerEntry
from discreet.ledger.picture import (
    BUDGET_PARTS,
    HISTORY,
    Story,
    counted_releases,
    history,
    left,
    parts_of,
    promised,
    stories,
)
from discreet.results.plots.style import BLUE, GREY, LOOKS, ORANGE, PALE, WIDTH, canvas, legend, style, svg
from discreet.results.report.page import bullets, figure, page, paragraphs, section, table


def html(name: str, entries: Sequence[LedgerEntry], newest: slice | None = None) -> str:
    """Return an HTML page for a ledger: what is left, spending over time, and every release; no clock is read.

    Parameters
    ----------
    name : str
        The name of the ledger.
    entries : sequence of LedgerEntry
        All its entries.
    newest : slice, optional
        Which releases to list, counted from the newest; by default all, the oldest first.
    """
    releases = history(entries)
    listed = releases if newest is None else releases[::-1][newest]
    told, head = stories(entries), entries[-1]
    rows = [
        [story.name, promised(story), part, f"{story.balance.shares[BUDGET_PARTS.index(part)] or 0.0:.1%}", words]
        for story in told
        for part, words in zip(parts_of(story.balance), left(story), strict=True)
    ]
    answer = " ".join(f"{story.name}: {counted_releases(story)}." for story in told) or "No account was opened yet."
    parts = [
        section("What is left", table(("account", "promise", "releases", "spent", "left"), rows)),
        *(section(f"Spending of {s.name}", _figure(s, i)) for i, s in enumerate(told) if s.terms.limits is not None),
        section("Every release" if newest is None else "Releases, the newest first", table(HISTORY, listed)),
        section(
            "How to read this",
            bullets(_READING),
            paragraphs(f"Entry {head.number}, {head.facts['when'][:19]}, hash {head.hash}.", kind="small"),
        ),
    ]
    return page(f"Ledger {name}", f"Ledger {name}", answer, [], parts, kind="What was spent on whom")


def _figure(story: Story, number: int) -> str:
    with style():
        drawn, axes = canvas(2.6, WIDTH)
        _draw(axes, story)
        legend(drawn, axes)
        words = f"{story.name}: {counted_releases(story)}. " + " ".join(
            f"{part} {story.balance.shares[BUDGET_PARTS.index(part)] or 0.0:.0%} spent."
            for part in parts_of(story.balance)
        )
        return figure(svg(drawn, f"spent{number}", words), f"{words} The grey line is the limit.")


def _draw(axes: Any, story: Story) -> None:
    """Draw spending over time, as a share of each part of the budget."""
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
