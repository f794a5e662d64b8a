"""Figures of a plan that depend on guesses that nobody made: which they are, and the words that say so.

A coefficient's standard error goes as the sd of the outcome and as 1/sd of its column, or as 1/sqrt of a level's share,
whatever the bounds. So without these a plan has no standard errors, nor sample sizes, in the user's units. Errors of
prediction relative to those of the mean, and standard errors in sds, hardly depend on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT
from discreet.planning.facts import PlanFacts
from discreet.planning.simulation import Expected

NOT_TOLD = "not told"
"""The status of figures that depend on untold guesses."""

_SHOWN = 3  # names in a sentence


def needed(facts: PlanFacts, coefficient: str) -> tuple[str, ...]:
    """Return the untold guesses that the standard error of a coefficient depends on strongly.

    A number needs its sd, a level the shares of its category. Derived columns, and whatever is made of the same columns
    as they are, need all that can be told of these; so does the intercept, of all columns. All need the outcome's sd.
    """
    domain, own = facts.domain, _own(facts, coefficient)
    near = [name for name in facts.features if domain.made_of(name) & own]
    derived = coefficient == CONSTANT or any(domain.columns[name].factors for name in near)
    inputs = own.union(*(domain.made_of(name) for name in near)) if derived else own
    kinds = ("shares", "sd", "mean") if derived else ("shares", "sd")
    wanted = _of_outcome(facts) | {f"{name}.{kind}" for name in inputs for kind in kinds}
    return tuple(what for what in facts.untold if what in wanted)


def needed_for_rows(facts: PlanFacts, coefficients: Iterable[str]) -> tuple[str, ...]:
    """Return the untold guesses that a wanted accuracy depends on: of coefficients, or of predictions without any.

    Numbers of rows go as 1 - R^2, which standard errors go as the root of.
    """
    wanted = {what for name in coefficients for what in needed(facts, name)} | _of_outcome(facts)
    wanted.add("r_squared")
    return tuple(what for what in facts.untold if what in wanted)


def _of_outcome(facts: PlanFacts) -> set[str]:
    return {f"{facts.target}.{kind}" for kind in ("sd", "shares", "mean")}


def _own(facts: PlanFacts, coefficient: str) -> set[str]:
    """Return the columns that a coefficient's column is made of; those of all features for the intercept."""
    if coefficient == CONSTANT:
        return set(facts.inputs)
    return facts.domain.made_of(facts.domain.column_of[coefficient])


def not_told(what: Sequence[str], figures: str) -> Unavailable:
    """Return the placeholder for figures that depend on untold guesses.

    Examples
    --------
    >>> print(not_told(["age.sd", "ward.shares"], "The standard error").reason)
    The standard error depends on how much age and ward vary: tell age.sd and ward.shares (about=, --about).
    """
    columns = list(dict.fromkeys(name.rpartition(".")[0] for name in what if "." in name))
    more = ["on R^2"] if "r_squared" in what else []
    if columns:
        more.insert(0, f"on how much {listed(columns)} {'vary' if len(columns) > 1 else 'varies'}")
    places = (["about=, --about"] if columns else []) + (["--r-squared"] if "r_squared" in what else [])
    return Unavailable(NOT_TOLD, f"{figures} depends {' and '.join(more)}: tell {listed(what)} ({', '.join(places)}).")


def listed(names: Sequence[str]) -> str:
    """Names in a sentence; only the first of many.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(list("abcdef"))
    ('a', 'a and b', 'a, b, c and 3 more')
    """
    shown = [*names[:_SHOWN], f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN + 1 else list(names)
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def masked(facts: PlanFacts, expected: Expected) -> Expected:
    """Return the expected accuracy without errors of coefficients that depend on untold guesses.

    They are NaN; standard errors and widths of which none is left are placeholders that give the reason.
    """
    needs = [needed(facts, name) for name in facts.names]
    hidden = np.array([bool(what) for what in needs])
    if not hidden.any():
        return expected
    parts: dict[str, Any] = {"rmse": np.where(hidden, np.nan, expected.rmse)}
    parts["in_units"] = _of_outcome(facts).isdisjoint(facts.untold)
    why = not_told([what for what in facts.untold if any(what in own for own in needs)], "Each of them")
    for key in ("std_err", "width"):
        if not isinstance(values := getattr(expected, key), Unavailable):
            parts[key] = why if hidden.all() else np.where(hidden, np.nan, values)
    return replace(expected, **parts)
