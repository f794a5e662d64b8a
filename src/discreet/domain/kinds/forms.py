"""Questions about a column of some kind: a line to fill in, or prompts whose answers are checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.domain.kinds.base import Column


@dataclass(frozen=True)
class Question:
    """One question about a column.

    Parameters
    ----------
    key : str
        The name of the answer.
    text : str
        The question.
    read : callable
        The answer of a text; raises `ParameterError`, with the reason, for text that is none.
    default : str, optional
        The text that stands for no answer; one is required by default.
    """

    key: str
    text: str
    read: Callable[[str], Any] = str.strip
    default: str | None = None


@dataclass(frozen=True)
class Form:
    """The questions about a column of one kind.

    Parameters
    ----------
    word : str
        The kind, as people choose it.
    article : str
        The article before the word in a sentence.
    kind : str
        The type of entries in a file (`value_types.kind`) that are taken to be of this kind.
    holds : tuple of str
        The types of entries that may be of this kind.
    blank : str
        The TOML value to fill in.
    questions : tuple of Question
        The questions, in order.
    make : callable
        The column of its name, the answers by key, and the type of the entries; raises for answers that do not fit.
    """

    word: str
    article: str
    kind: str
    holds: tuple[str, ...]
    blank: str
    questions: tuple[Question, ...]
    make: Callable[[str, Mapping[str, Any], str], Column]


def a_number(text: str) -> float:
    """Parse a finite number.

    Examples
    --------
    >>> a_number("10,000")
    10000.0
    """
    try:
        value = float(text.replace(",", "").replace("_", ""))
    except ValueError:
        raise ParameterError("Give a number, such as 18 or 0.5.") from None
    if not abs(value) < float("inf"):
        raise ParameterError("Give a finite number: without bounds no noise could hide one person.")
    return value
