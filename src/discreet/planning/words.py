"""A plan as people read it: tables, and advice in plain words."""

from __future__ import annotations

import math

from discreet.core.text import printable
from discreet.core.unavailable import Unavailable
from discreet.domain import CONSTANT, Numeric
from discreet.domain.columns import from_days
from discreet.papers.registry import DEFAULT
from discreet.planning.inverse import Answer, Tighter
from discreet.planning.result import Plan
from discreet.planning.simulate import Expected
from discreet.released.units import coefficient_unit
from discreet.results.summary import Summary, number

USELESS = 0.95
"""Errors above this share of the trivial one are as good as none."""

FREE = 1.1
"""Errors up to this factor above those without privacy cost next to nothing."""

LINES = 20
"""Coefficients shown as text; the frame and the JSON have all."""

WORTH = 0.9
"""Tighter bounds are worth naming where they bring an error below this share."""


def methods_summary(plan: Plan) -> Summary:
    """One line a method, one column an epsilon."""
    lines = [(name, *(_share(plan, epsilon, name) for epsilon in plan.epsilons)) for name in plan.methods]
    reference = plan.at(plan.reference)
    lines.append(("without privacy", *([f"{reference.non_private / reference.trivial:.3f}"] * len(plan.epsilons))))
    columns = ("", *(f"eps {epsilon:g}" for epsilon in plan.epsilons))
    what = "predicting the mean" if plan.facts.domain.intercept else "predicting 0"
    notes = [f"Table: expected MSE over that of {what}, which is {number(reference.trivial)} {_square(plan)}".strip()]
    notes[0] += f". Medians of {plan.draws} simulated tables; 1 is useless."
    return Summary(_title(plan), tuple(_facts(plan)), columns, tuple(lines), (*notes, *plan.advice()))


def _share(plan: Plan, epsilon: float, method: str) -> str:
    found = [e for e in plan.expected if (e.epsilon, e.method) == (epsilon, method)]
    if not found:
        return "-"
    share = found[0].vs_trivial
    return f"{share:.3f}" if share < 100 else f"{share:.1e}"


def coefficients_summary(plan: Plan, method: str) -> Summary:
    """One line a coefficient, one column an epsilon: standard errors, or else root mean squared errors."""
    found = [plan.at(epsilon, method) for epsilon in plan.epsilons]
    names = plan.names if plan.facts.domain.intercept else plan.names[1:]
    shown = names[:LINES]
    lines = []
    for name in shown:
        place = plan.names.index(name)
        unit = coefficient_unit(plan.facts.domain, plan.facts.target, name)
        lines.append((name, *(_error(one, place) for one in found), unit))
    columns = ("", *(f"eps {epsilon:g}" for epsilon in plan.epsilons), "unit")
    notes = [f"Of {method}. Intervals at {100 * plan.promise.level:g} % are about four standard errors wide."]
    if any(isinstance(one.std_err, Unavailable) for one in found):
        why = next(one.std_err for one in found if isinstance(one.std_err, Unavailable))
        notes.append(
            "In brackets: the root mean squared error of the coefficient, shrinkage included, where fits will give no "
            f"standard errors. {why.reason}"
        )
    if len(names) > LINES:
        notes.append(f"{len(names) - LINES} more: to_frame({method!r}), or --json.")
    return Summary("Expected standard errors", (), columns, tuple(lines), tuple(notes))


def _error(found: Expected, place: int) -> str:
    if isinstance(found.std_err, Unavailable):
        return f"({number(float(found.rmse[place]))})"
    return number(float(found.std_err[place]))


def _title(plan: Plan) -> str:
    return f"Plan: {plan.facts.target} ~ {' + '.join(plan.names[1:]) or '1'}"


def _square(plan: Plan) -> str:
    unit = coefficient_unit(plan.facts.domain, plan.facts.target, CONSTANT)
    return f"{unit}^2" if unit else ""


def _facts(plan: Plan) -> list[tuple[str, str]]:
    facts, promise = plan.facts, plan.promise
    mean = from_days(round(facts.outcome.mean)) if _is_date(plan, facts.target) else number(facts.outcome.mean)
    outcome = f"mean {mean}, sd {number(facts.outcome.sd)}"
    guesses = f"R^2 {facts.r_squared:g}; {facts.target}: {outcome}; features' correlation {facts.correlation:g}"
    found = [
        ("Rows", f"about {facts.rows:,}"),
        ("Promise", f"delta = {promise.delta:g}, {promise.neighbors} neighbours"),
        ("Guesses", guesses),
    ]
    if abs(plan.r_squared - facts.r_squared) > 0.02:
        found.append(("Note", f"Within these bounds the simulated R^2 is {plan.r_squared:.2f}."))
    return found


# ---------------------------------------------------------------- advice


def advice(plan: Plan) -> list[str]:
    """What to do, and why."""
    lines = [_which(plan), *_how_good(plan), *(_answer(plan, found) for found in plan.answers)]
    lines += _tighter(plan)
    skipped = [name for name, why in plan.left_out.items() if why != "not asked for"]
    if skipped:
        reasons: dict[str, list[str]] = {}
        for name in skipped:
            reasons.setdefault(plan.left_out[name], []).append(name)
        lines.append("Left out: " + "; ".join(f"{', '.join(names)} ({why})" for why, names in reasons.items()) + ".")
    return [printable(line) for line in lines]


def _which(plan: Plan) -> str:
    best, reference = plan.best, plan.reference
    error = plan.at(reference).mse
    others = {e.method: e.mse / error for e in plan.expected if e.epsilon == reference and e.method != best}
    if not others:
        return f"{best} was simulated alone."
    second = min(others, key=lambda name: others[name])
    beside = f"the error of the next, {second}, is {_times(others[second])} its own at epsilon {reference:g}"
    if best == DEFAULT:
        return f"Use {best}: no method does clearly better ({beside}), and it gives standard errors where it can."
    return f"Use {best}: it has clearly the smallest errors ({beside})."


def _how_good(plan: Plan) -> list[str]:
    found = [plan.at(epsilon) for epsilon in sorted(plan.epsilons)]
    useless = [e.epsilon for e in found if e.vs_trivial > USELESS]
    free = [e.epsilon for e in found if e.vs_non_private <= FREE]
    lines = []
    if useless:
        what = "the mean" if plan.facts.domain.intercept else "0"
        lines.append(f"Up to epsilon {max(useless):g} noise hides the features: no better than predicting {what}.")
    if free:
        lines.append(f"From epsilon {min(free):g} on privacy costs at most {100 * (FREE - 1):.0f} % more error.")
    else:
        last = found[-1]
        lines.append(f"At epsilon {last.epsilon:g} the error is {_times(last.vs_non_private)} that without privacy.")
    given = [e.epsilon for e in found if not isinstance(e.std_err, Unavailable)]
    if not given:
        lines.append("At none of these epsilons will fits give standard errors: the noise is too large for them.")
    elif len(given) < len(found):
        lines.append(f"Fits will give standard errors from epsilon {min(given):g} on.")
    return lines


def _answer(plan: Plan, found: Answer) -> str:
    text = f"For {found.want.words}: "
    if isinstance(found.epsilon, Unavailable):
        text += f"no epsilon up to 10 with about {plan.facts.rows:,} rows"
        if all(isinstance(n, Unavailable) for n in found.rows.values()):
            return f"{text}, nor any number of rows. {found.epsilon.reason}"
    else:
        text += f"epsilon {found.epsilon:g} with about {plan.facts.rows:,} rows"
    rows = [
        f"{n:,.0f} rows at epsilon {epsilon:g}" for epsilon, n in found.rows.items() if not isinstance(n, Unavailable)
    ]
    return f"{text}; or about {', '.join(rows)}." if rows else f"{text}."


def _tighter(plan: Plan) -> list[str]:
    """The bounds that are worth tightening, and whether any are."""
    if not plan.tighter:
        return []
    worth = sorted((t for t in plan.tighter if min(t.mse, t.error) < WORTH), key=lambda t: t.mse * t.error)[:3]
    head = f"Half as wide bounds, at epsilon {plan.reference:g}: "
    if not worth:
        return [f"{head}no column gains more than 10 %; values beyond them would be clipped."]
    parts = [
        f"with {t.column} in {_bounds(plan, t)} the error of prediction is {_as_before(t.mse)}, that of "
        f"{'its coefficient' if t.own else 'the coefficients'} {_as_before(t.error)}"
        for t in worth
    ]
    return [head + "; ".join(parts) + ". Only from public knowledge, and only if few values lie beyond them."]


def _bounds(plan: Plan, t: Tighter) -> str:
    if _is_date(plan, t.column):
        return f"({from_days(round(t.low))}, {from_days(round(t.high))})"
    return f"({number(t.low)}, {number(t.high)})"


def _is_date(plan: Plan, name: str) -> bool:
    column = plan.facts.domain.inputs[name]
    return isinstance(column, Numeric) and column.date


def _as_before(ratio: float) -> str:
    """A ratio to what was before, in words.

    Examples
    --------
    >>> _as_before(1.004), _as_before(0.6789)
    ('the same', '0.68 times what it was')
    """
    return "the same" if _times(ratio) == "the same as" else f"{_times(ratio)} what it was"


def _times(ratio: float) -> str:
    """A ratio in words.

    Examples
    --------
    >>> _times(1.004), _times(0.6789), _times(1e9)
    ('the same as', '0.68 times', 'more than 100 times')
    """
    if not math.isfinite(ratio) or ratio >= 100:
        return "more than 100 times"
    return "the same as" if abs(ratio - 1) < 0.005 else f"{ratio:.2f} times"
