"""Columns without bounds, in plans: guessed ranges stand for them when people are made up, and releases search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.core import checks
from discreet.core.checks import Neighbors
from discreet.domain import Domain
from discreet.domain.kinds.base import Column
from discreet.domain.kinds.numeric import to_days
from discreet.errors import ParameterError
from discreet.privacy.guarantee import Guarantee
from discreet.recipes.base import Facts
from discreet.recipes.search import too_few

WITHIN = 3 / 10
"""The sd of a number, relative to half of a guessed range; see docs/howto/plan.md."""


def with_ranges(domain: Domain, about: Any, squared: str | None = None) -> tuple[Domain, Any]:
    """Return the domain with bounds that guesses give, for columns that have none, and the guesses without ranges.

    Parameters
    ----------
    domain : Domain
        The columns of the model.
    about : mapping or None
        Guesses by column. Of a column without bounds they must tell the mean and the sd, or the range.
    squared : str, optional
        The outcome, if its mean square is told: its range tells no sd then.

    Examples
    --------
    >>> with_ranges(Domain({"age": "number", "pay": {"low": 0}}), {"age": {"mean": 50, "sd": 9}, "pay": {"high": 60}})
    (Domain({'age': (20, 80), 'pay': (0, 60)}), {'age': {'mean': 50, 'sd': 9}, 'pay': {'mean': 30.0, 'sd': 9.0}})
    """
    if not domain.searched:
        return domain, about
    told = guesses_by_column(about)
    if lacking := [name for name in domain.searched if not _tell_spread(domain.columns[name], told.get(name, {}))]:
        shown = f"{', '.join(map(repr, lacking[:8]))}{', ...' * (len(lacking) > 8)}"
        first = lacking[0]
        raise ParameterError(
            f"A plan needs a guess of the spread of each column without bounds, and nobody told it of {shown}. Tell "
            f'the mean and the sd, as about={{"{first}": {{"mean": ..., "sd": ...}}}} (--about {first}.mean=... '
            f"--about {first}.sd=...), or the range of nearly all values, as low and high. They are for planning only."
        )
    for name in domain.searched:
        column: Any = domain.columns[name]
        guess = _completed(name, column, told[name])
        bounds = guess.pop("low"), guess.pop("high")
        if name == squared and "sd" not in told[name]:
            guess.pop("sd")
        domain, told[name] = domain.with_column(name, column.resolved(*bounds)), guess
    return domain, told


def guesses_by_column(about: Any) -> dict[str, Mapping[str, Any]]:
    """Return the guesses, which must be a mapping of mappings."""
    if about is None:
        return {}
    if not isinstance(about, Mapping) or not all(isinstance(guess, Mapping) for guess in about.values()):
        raise ParameterError('about must map columns to guesses, for example {"age": {"mean": 50, "sd": 18}}.')
    return dict(about)


def point(name: str, what: str, column: Column, value: Any) -> float:
    """Return a number, or the days of a date, that is a guess about a column."""
    if column.date and not checks.is_real(value):
        try:
            return to_days(value)
        except (TypeError, ValueError):
            why = f"The {what} of column {name!r} must be a date such as 2020-12-31, got {value!r}."
            raise ParameterError(why) from None
    return real(name, what, value)


def real(name: str, what: str, value: Any) -> float:
    """Return a finite number that is a guess about a column."""
    if not checks.is_real(value) or not math.isfinite(value):
        raise ParameterError(f"The {what} of column {name!r} must be a number, got {value!r}.")
    return float(value)


def hopeless(
    domain: Domain, rows: int, epsilons: Sequence[float], delta: float, neighbors: Neighbors
) -> dict[float, str]:
    """Say at which epsilons a search for bounds cannot succeed, as the number of rows tells; refuse if at all."""
    promises = {epsilon: Guarantee(epsilon, delta, neighbors, "verified") for epsilon in epsilons}
    why = {epsilon: too_few(Facts(domain, promise, rows)) for epsilon, promise in promises.items()}
    if all(why.values()):
        raise ParameterError(f"{why[max(epsilons)]} A plan with bounds declared tells what they are worth.")
    return {epsilon: reason for epsilon, reason in why.items() if reason}


def _unknown(column: Any) -> list[str]:
    """Which of both bounds are not declared."""
    return [key for key in ("low", "high") if not math.isfinite(getattr(column, key))]


def _tell_spread(column: Column, guess: Mapping[str, Any]) -> bool:
    """Whether guesses tell the mean and the sd, or the bounds that are not declared."""
    return {"mean", "sd"} <= set(guess) or set(_unknown(column)) <= set(guess)


def _completed(name: str, column: Any, guess: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mean, the sd and both ends of the range: what was guessed, and what follows from that."""
    known = {"mean", "sd", *_unknown(column)}
    if unknown := sorted(set(guess) - known, key=str):
        raise ParameterError(f"about has {unknown[0]!r} for column {name!r}; known are {', '.join(sorted(known))}.")
    found = dict(guess)
    if {"mean", "sd"} <= set(guess):
        reach = checks.positive(f"The sd of column {name!r}", guess["sd"]) / WITHIN
        mean = point(name, "mean", column, guess["mean"])
        ends = {"low": mean - reach, "high": mean + reach}
    else:
        ends = {}
    for key in ("low", "high"):
        own = getattr(column, key)
        given = guess.get(key, own if math.isfinite(own) else ends.get(key))
        found[key] = point(name, key, column, given)
    low, high = found["low"], found["high"]
    if not low < high:
        raise ParameterError(
            f"The range that was guessed for column {name!r} is empty: its low must be below its high."
        )
    return {"mean": (low + high) / 2, "sd": WITHIN * (high - low) / 2} | found
