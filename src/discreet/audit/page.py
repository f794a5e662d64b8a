"""The page and the plot of an audit, for a privacy officer: the attack, its result, and the limits of the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.results.plots.style import BLUE, GREY, LOOKS, ORANGE, chart, legend, style, svg
from discreet.results.report.page import bullets, code, figure, page, paragraphs, section, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.audit.one_run import OneRun
    from discreet.audit.result import Audit

KIND = "Audit of a differentially private regression"


def audit_page(found: Audit) -> str:
    """Return one HTML page that needs no network, no script and no other file."""
    words = f"Curve of finds against false alarms of the attack on {found.subject}, and the curve that is promised."
    caption = (
        "Each point of the blue line is one way to decide: how often it raises a false alarm, and how often it finds "
        "the person. On the dotted line it is as good as guessing. The promise says that no attack gets into the "
        "shaded part. The line itself wavers by luck; the square is what the counted guesses prove, whatever "
        "their luck."
    )
    picture = figure(svg(roc_plot(found), "roc", words), caption)
    again = paragraphs("With other random numbers, so figures differ a little:"), code(command(found))
    parts = [
        section("What was tried", *_tried(found)),
        section("What came of it", picture, table(("", ""), facts(found), "facts")),
        section("How sure this is", *_sure(found)),
        section("What this does not say", bullets(_LIMITS)),
        section("How to repeat it", *again),
    ]
    banners = [BROKEN] if found.broken else []
    return page(f"{found.subject}: an audit", found.subject, answer(found), banners, parts, KIND)


BROKEN = (
    "The promise is NOT kept, or is not kept by what the certificate lists. Make no "
    "release with this method until this is explained, and report it."
)


def answer(found: Audit | OneRun) -> str:
    """State the result in a sentence or two."""
    sure = f"{100 * found.confidence:g} % sure"
    bound = f"epsilon is at least {found.epsilon:.3g} ({sure}), and {found.promised:g} is promised"
    if found.broken:
        return f"The promise is broken, for {'; '.join(found.problems)}: {bound}."
    share = found.epsilon / found.promised
    if share > 1:
        luck = f"{100 * (1 - found.confidence):.3g} %"
        return f"Not proven to be broken, but repeat it with more fits: {bound}. Luck does that in {luck} of audits."
    near = "Little room is left between the two" if share > 0.8 else "A better attack, or more fits, may find more"
    return f"The attack did not break the promise: {bound}. {near}."


def facts_of_one(found: OneRun) -> list[tuple[str, str]]:
    """The figures of a single fit."""
    return [
        ("Promised", f"epsilon {found.promised:g}, delta {found.delta:g}"),
        _found(found),
        ("Canaries", f"{found.canaries:,}, each in the table by a coin of its own"),
        ("Guesses", f"{found.guesses:,}, {found.right:,} of them right"),
    ]


def _found(found: Audit | OneRun) -> tuple[str, str]:
    return "Found", f"epsilon at least {found.epsilon:.4g} at this delta, {100 * found.confidence:g} % sure"


def facts(found: Audit) -> list[tuple[str, str]]:
    """The figures of an audit."""
    counts, promise = found.counts, found.promise
    rows = [
        ("Promised", f"epsilon {found.promised:g}, delta {found.delta:g}; {_STATUS[found.status]}"),
        _found(found),
    ]
    if found.mu is not None:
        rows.append(("In mu", f"at least {found.mu:.4g} of {promise.mu:.4g} promised; epsilon follows from it"))
    return [
        *rows,
        ("Fits", f"{found.fits:,}: {found.trained:,} to choose how to decide, the others counted"),
        ("False alarms", f"{counts.false_positives:,} of {counts.first:,} fits to the first table"),
        ("Missed", f"{counts.false_negatives:,} of {counts.second:,} fits to the second table"),
        *(
            (f"Noise of {name}", f"its sd is {own.ratio:.4f} of what is listed, by {own.values:,} values")
            for name, own in found.noise.items()
        ),
        *([("Refused", f"{found.refused:,} fits")] if found.refused else []),
    ]


_STATUS = {"verified": "proven and tested", "claimed": "a paper's claim that we do not vouch for"}


def _tried(found: Audit) -> list[str]:
    replaced = found.neighbors == "replace-one"
    differ = "in what one person's data are" if replaced else "in whether one person is there"
    how = {
        "likelihood ratio": "The law of the noise is known, so no way to decide is better than the one used: how much "
        "likelier one table makes the release than the other.",
    }.get(found.statistic, "How to decide was learned from the first fits, and then not changed.")
    return [
        paragraphs(
            f"Two tables were made up that differ {differ}, chosen so that this person stands out as far as the "
            "declared bounds allow. The method was run again and again on both, with new noise each time. An "
            "attacker who knows both tables, and everything but the noise, then guessed from each release which table "
            "it came from.",
            how,
        ),
        table(("", ""), [("Tables", found.tables), ("Rows came by", found.path), ("Protected", found.unit)], "facts"),
    ]


def _sure(found: Audit) -> list[str]:
    own = (
        "The promise is that of Gaussian noise, one number mu; the bound is on mu, by the share of right guesses, and "
        "epsilon follows from it. It is much closer than a bound on epsilon alone from as many fits."
        if found.kind == "mu"
        else "The bound is on epsilon directly, from the shares of false alarms and of missed finds."
    )
    return [
        paragraphs(
            f"Of {found.fits:,} fits, {found.trained:,} chose how to decide. All others were counted, none was left "
            f"out. If epsilon were smaller than the bound, so many right guesses would come by luck in at most "
            f"{100 * (1 - found.confidence):.3g} % of such audits (Clopper and Pearson).",
            own,
        )
    ]


_LIMITS = (
    "A bound below the promise proves nothing by itself: the attack may be weak, or the fits too few. The promise "
    "rests on its proof. The audit looks for mistakes between the proof and the program.",
    "The tables are made up. Nothing was learned about anybody, and nobody's budget was charged.",
    "Random words came from seeds, so that the audit costs nothing; how they become noise is what a real release does.",
    "One method, one pair of tables and one way of rows were attacked. Others may have other mistakes.",
)


def command(found: Audit) -> str:
    """The shell command that repeats an audit."""
    name = found.subject.split()[0]
    words = f"discreet audit {name} --epsilon {found.promised:g} --delta {found.delta:g} --fits {found.fits}"
    words += "" if found.neighbors == "add-remove" else f" --neighbors {found.neighbors}"
    return words + ("" if found.path == "memory" else f" --path {found.path}")


def roc_plot(found: Audit) -> Figure:
    """Plot the ROC curve of the attack, its confidence limit, and the curve that the promise allows at most."""
    grid = np.concatenate([[0.0], np.geomspace(1e-4, 1, 400)])
    counts, failure = found.counts, 1 - found.confidence
    fp, fn = counts.rates(failure)
    with style():
        figure, axes = chart(3.9)
        power = found.promise.power(grid)
        axes.fill_between(grid, power, 1, color=ORANGE, alpha=0.10, lw=0)
        axes.plot(grid, power, label="promised: no attack finds more", lw=1.8, color=ORANGE, ls=LOOKS[1]["ls"])
        axes.plot(*found.roc(), label=f"attack: {found.statistic}", lw=1.5, color=BLUE)
        axes.plot([0, 1], [0, 1], color=GREY, lw=1, ls=(0, (1, 2)), label="guessing")
        point = counts.false_positives / counts.first, 1 - counts.false_negatives / counts.second
        axes.plot(*point, "o", mfc="white", mec=BLUE, mew=1.5, ms=6, zorder=4, label="threshold that was counted")
        sure = f"proven, {100 * found.confidence:g} % sure"
        axes.plot(fp, 1 - fn, "s", color=BLUE, ms=5, zorder=4, label=sure)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.set_xlabel("false alarms: taken to be there, and is not")
        axes.set_ylabel("finds: taken to be there, and is")
        legend(figure, axes, 1)
    return figure  # type: ignore[no-any-return]
