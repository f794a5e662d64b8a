"""Glossary of statistics and costs, for people who are responsible for the table and did not make the release."""

from __future__ import annotations

from collections.abc import Iterable

_SUM = "the sum over all people of"
TERMS = {
    "sums of x": f"For each feature, {_SUM} its values.",
    "X'X": f"For each two features, {_SUM} their product. X stands for the features.",
    "X'y": f"For each feature, {_SUM} its product with the outcome, y.",
    "y'y": f"{_SUM.capitalize()} the squared outcome.",
    "counts of y": "How many people's outcome lies in each of several parts of its declared range.",
    "counts of signs and powers of two": "How many people have a value of each sign and power of two, and how many "
    "have zero: a search for bounds begins with them.",
    "counts in equal parts": "How many people's values lie in each of equal parts of the bounds that these led to.",
    "counts of residuals": "How many people's outcome lies how far from the line that earlier stages told of.",
    "counts of row norms": "How many people's features lie how far from the middle of all.",
    "U'U": "As X'X, for features that are rotated and scaled by what earlier stages of the release told.",
    "inner U'U": "The same for those whose outcome lies so near that line that it counts in full.",
    "U'e": f"For each of these, {_SUM} its product with e, what earlier stages' line leaves of the outcome.",
    "e'e": f"{_SUM.capitalize()} the squared e.",
    "score products of U'e": f"For each two of them, {_SUM} their product times e²: how much U'e varies by chance.",
    "stage": "One of several rounds of the release; each costs its share, and is fitted to what the earlier ones told.",
    "mu": "What one person can change a statistic by, at most, divided by the standard deviation of its noise. The "
    "smaller it is, the better that person is hidden. Costs add up as mu², and mu gives epsilon at each delta.",
}
"""Names as they stand in a report, each with its meaning; none is a data value."""


def meanings(texts: Iterable[str]) -> list[tuple[str, str]]:
    """The terms that occur in some texts, with their meanings.

    Examples
    --------
    >>> [term for term, _ in meanings(["Released with noise: X'X, counts of y."])]
    ["X'X", 'counts of y']
    """
    said = " ".join(texts)
    return [(term, meaning) for term, meaning in TERMS.items() if f" {term}" in f" {said}".replace("(", " ")]
