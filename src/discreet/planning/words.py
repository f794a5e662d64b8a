"""The presentation of a plan: tables, advice in plain words, and a plot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT
from discreet.domain.kinds.numeric import from_days
from discreet.errors import printable
from discreet.mechanisms.registry import DEFAULT
from discreet.planning.simulation import Expected, row_epsilon
from discreet.planning.targets import FACTOR, Answer, SpreadScenario, Tighter
from discreet.planning.untold import NOT_TOLD, listed, not_told
from discreet.recipes.budget import MOST_STAGES
from discreet.recipes.outlook import unlikely
from discreet.released.units import coefficient_unit
from discreet.results.plots.style import BLUE, GREY, INK, ORANGE, canvas, note, short, style
from discreet.results.summary import Summary, formula_title, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.planning.result import NumberPlan

_USELESS = 0.95  # a model with an error above this share of the trivial one is useless
_FREE = 1.1  # privacy is nearly free where it increases the error by at most this factor
_LINES = 20  # coefficients shown as text; the frame and the JSON have all
_WORTH = 0.9  # tighter bounds are worth naming where they bring an error below this share

# told apart by colour, by line and by mark; the method to use comes first
_LOOKS = (
    (BLUE, "-", "o"), (ORANGE, "--", "s"), ("#009E73", "-.", "^"), ("#CC79A7", ":", "D"), ("#56B4E9", "--", "v"),
    ("#E69F00", "-.", "P"), (GREY, "-", "x"), (INK, ":", "*"), ("#8C510A", "-", "h"),
)  # fmt: skip
_LARGEST = 1.6  # errors above this share of the trivial one are drawn at the edge


def methods_summary(plan: NumberPlan) -> Summary:
    """Summarise methods: one line per method, one column per epsilon."""
    shares = {(one.epsilon, one.method): one.vs_trivial for one in plan.expected}
    texts = {key: f"{share:.3f}" if share < 100 else f"{share:.1e}" for key, share in shares.items()}
    epsilons = sorted({*plan.epsilons, *plan.hopeless})
    texts |= {(epsilon, name): "no search" for epsilon in plan.hopeless for name in plan.methods}
    lines = [(name, *(texts.get((epsilon, name), "-") for epsilon in epsilons)) for name in plan.methods]
    if plan.declared:
        beside = {one.epsilon: f"{one.vs_trivial:.3f}" for one in plan.declared}
        lines.append((f"{plan.best}, declared", *(beside.get(epsilon, "-") for epsilon in epsilons)))
    reference = plan.at(plan.reference)
    lines.append(("without privacy", *([f"{reference.non_private / reference.trivial:.3f}"] * len(epsilons))))
    columns = ("", *(f"eps {epsilon:g}" for epsilon in epsilons))
    what = "predicting the mean" if plan.facts.domain.intercept else "predicting 0"
    unit = coefficient_unit(plan.facts.domain, plan.facts.target, CONSTANT)
    size = f"{number(reference.trivial)} {unit}^2" if unit else number(reference.trivial)
    first = f"Table: expected MSE over that of {what}{f', which is {size}' if reference.in_units else ''}."
    first += f" Medians of {plan.draws} simulated tables; 1 is useless."
    title = f"Plan: {formula_title(plan.facts.target, plan.names[1:], plan.facts.domain)}"
    return Summary(title, tuple(_facts(plan)), columns, tuple(lines), (first, *plan.advice()))


def coefficients_summary(plan: NumberPlan, method: str) -> Summary:
    """Summarise coefficients, one column per epsilon: standard errors, or else root mean squared errors."""
    found = [plan.at(epsilon, method) for epsilon in plan.epsilons]
    names = plan.names if plan.facts.domain.intercept else plan.names[1:]
    shown = names[:_LINES]
    lines = []
    for name in shown:
        place = plan.names.index(name)
        unit = coefficient_unit(plan.facts.domain, plan.facts.target, name)
        cells = [NOT_TOLD] * len(found) if plan.untold(name) else [_error(one, place) for one in found]
        lines.append((name, *cells, unit))
    columns = ("", *(f"eps {epsilon:g}" for epsilon in plan.epsilons), "unit")
    notes = [f"Of {method}. Intervals at {100 * plan.promise.level:g} % are about four standard errors wide."]
    notes += [*_untold(plan, names), *_per_sd(plan, found), *_bracketed(plan, found)]
    if len(names) > _LINES:
        notes.append(f"{len(names) - _LINES} more: to_frame({method!r}), or --json.")
    return Summary("Expected standard errors", (), columns, tuple(lines), tuple(notes))


def _bracketed(plan: NumberPlan, found: Sequence[Expected]) -> list[str]:
    """Explain figures in brackets."""
    why = [one.std_err for one in found if isinstance(one.std_err, Unavailable) and one.std_err.what != NOT_TOLD]
    if not why or all(plan.untold(name) for name in plan.names):
        return []
    return [
        "In brackets: the root mean squared error of the coefficient, shrinkage included, where fits will give no "
        f"standard errors. {why[0].reason}"
    ]


def _untold(plan: NumberPlan, names: Sequence[str]) -> list[str]:
    """Say which guesses standard errors wait for, and what is taken for others."""
    facts, lines = plan.facts, list[str]()
    waiting = {name: plan.untold(name) for name in names if plan.untold(name)}
    if waiting:
        what = [guess for guess in facts.untold if any(guess in own for own in waiting.values())]
        why = not_told(what, "Each of them").reason
        lines.append(f"No standard errors, widths or numbers of rows for {listed(list(waiting))}. {why}")
    if len(waiting) < len(names) and "r_squared" in facts.untold:
        lines.append(
            f"R^2 was not told and is taken as {facts.r_squared:g}: standard errors go as sqrt(1 - R^2), so they are "
            f"at most {math.sqrt(1 / (1 - facts.r_squared)):.1f} times these."
        )
    if len(waiting) < len(names) and "correlation" in facts.untold and len(facts.inputs) > 1:
        lines.append(
            f"Correlations were not told: typically {facts.correlation:g} between two features is taken, with standard "
            f"errors {plan.inflation:.2g} times those of unrelated features. They go as 1/sqrt(1 - r) where other "
            "features explain a share r of one: tell pairs that are close."
        )
    return lines


def _per_sd(plan: NumberPlan, found: Sequence[Expected]) -> list[str]:
    """Tell standard errors in sds, if some are not told in units."""
    if not any(plan.untold(name) for name in plan.names[1:]):
        return []
    typical = {one.epsilon: float(np.nanmedian(one.per_sd)) for one in found if _any(one.per_sd)}
    if not typical:
        return []
    told = ", ".join(f"{number(value)} at epsilon {epsilon:g}" for epsilon, value in sorted(typical.items()))
    return [f"In sds of {plan.facts.target} for one sd of a feature standard errors are typically {told}."]


def _any(values: Any) -> bool:
    return not isinstance(values, Unavailable) and bool(np.any(np.isfinite(values)))


def _error(found: Expected, place: int) -> str:
    if isinstance(found.std_err, Unavailable):
        return f"({number(float(found.rmse[place]))})"
    value = float(found.std_err[place])
    return "withheld" if math.isnan(value) else number(value)


def _facts(plan: NumberPlan) -> list[tuple[str, str]]:
    facts, promise = plan.facts, plan.promise
    date = facts.domain.inputs[facts.target].date
    mean = from_days(round(facts.outcome.mean)) if date else number(facts.outcome.mean)
    spread = number(facts.outcome.sd) if plan.expected[0].in_units else "not told"
    taken = {name: " (not told)" if name in facts.untold else "" for name in ("r_squared", "correlation")}
    guesses = f"R^2 {facts.r_squared:g}{taken['r_squared']}; {facts.target}: mean {mean}, sd {spread}; "
    guesses += f"features' correlation {facts.correlation:g}{taken['correlation']}"
    found = [
        ("Rows", f"about {facts.rows:,}"),
        ("Promise", f"delta = {promise.delta:g}, {promise.neighbors} neighbours"),
        ("Guesses", guesses),
    ]
    if not facts.domain.unit.plain:
        found.append(("Protected", facts.domain.unit.short))
    if told := _stages(plan):
        found.append(("Stages", told))
    if abs(plan.r_squared - facts.r_squared) > 0.02:
        found.append(("Note", f"Within these bounds the simulated R^2 is {plan.r_squared:.2f}."))
    return found


def _stages(plan: NumberPlan) -> str:
    """Describe the number of stages by epsilon, for methods that release in stages."""
    staged = [one for one in plan.expected if one.stages is not None]
    places: dict[int, list[str]] = {}
    for one in sorted(staged, key=lambda one: one.epsilon):
        if one.method == staged[0].method:
            places.setdefault(one.stages or 0, []).append(f"{one.epsilon:g}")
    counts: dict[str, list[int | None]] = {}
    for one in staged:
        counts.setdefault(one.method, []).append(one.stages)
    names = ", ".join(name for name, own in counts.items() if own == counts[staged[0].method])
    if len(places) == 1:
        return f"{_in_stages(next(iter(places)))} ({names})"
    parts = [f"{_in_stages(count)} at epsilon {', '.join(epsilons)}" for count, epsilons in places.items()]
    return f"{'; '.join(parts)} ({names})" if parts else ""


def _in_stages(count: int) -> str:
    """The number of stages in words."""
    if count > MOST_STAGES:
        return "by gradient steps"
    return "mean only" if count == 0 else "in one stage" if count == 1 else f"in {count} stages"


# ---------------------------------------------------------------- advice


def advice(plan: NumberPlan) -> list[str]:
    """Advice on what to do, and why."""
    lines = [_which(plan), *_how_good(plan), *_searched(plan), *(_answer(plan, found) for found in plan.answers)]
    lines += [_spread(plan, found) for found in plan.spreads] + _tighter(plan) + _people(plan)
    reasons: dict[str, list[str]] = {}
    for name, why in plan.left_out.items():
        if why != "not asked for":
            reasons.setdefault(why, []).append(name)
    if reasons:
        lines.append("Left out: " + "; ".join(f"{', '.join(names)} ({why})" for why, names in reasons.items()) + ".")
    return [printable(line) for line in lines]


def _searched(plan: NumberPlan) -> list[str]:
    """Describe the search for bounds beside bounds that are declared."""
    facts, lines = plan.facts, list[str]()
    beside = {one.epsilon: one for one in plan.declared}
    if both := [one for one in map(plan.at, plan.epsilons) if one.epsilon in beside]:
        parts = [f"{_as_before(beside[one.epsilon].mse / one.mse, 'is')} at epsilon {one.epsilon:g}" for one in both]
        ranges = [f"{name} in {_between(plan, name)}" for name in facts.searched]
        lines.append(
            f"Bounds are searched for. Were they declared, {listed(ranges)}, the error of {plan.best} would be "
            f"{', '.join(parts)}."
        )
    return lines + ([plan.hopeless[max(plan.hopeless)]] if plan.hopeless else [])


def _between(plan: NumberPlan, name: str) -> str:
    column = plan.facts.domain.inputs[name]
    return f"({', '.join(column.shown(end, number) for end in column.range)})"


def _people(plan: NumberPlan) -> list[str]:
    """Describe the cost of rows_per_person and of weights."""
    unit, epsilon, lines = plan.facts.domain.unit, plan.reference, list[str]()
    if unit.person is not None:
        own = row_epsilon(epsilon, plan.promise.delta, unit.most)
        shares = ", ".join(f"{share:.3f} with {m}" for m, share in plan.people.items())
        lines.append(
            f"rows_per_person = {unit.most}: noise is {unit.most} times that for rows, so epsilon {epsilon:g} for a "
            f"person is as epsilon {own:.2g} for a row. Error at epsilon {epsilon:g} by rows_per_person, were it "
            f"enough for everybody: {shares}."
        )
    if unit.weights is not None:
        lines.append(
            f"Weights are taken to be all at their bound of {unit.largest_weight:g}: where their mean is a share s of "
            "it, noise is as for s times as many rows."
        )
    return lines


def _which(plan: NumberPlan) -> str:
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


def _how_good(plan: NumberPlan) -> list[str]:
    found, most = [plan.at(epsilon) for epsilon in sorted(plan.epsilons)], plan.facts.domain.most
    useless = [e.epsilon for e in found if e.vs_trivial > _USELESS]
    free = [e.epsilon for e in found if e.vs_non_private <= _FREE]
    lines = []
    if useless:
        what = "the mean" if plan.facts.domain.intercept else "0"
        lines.append(f"Up to epsilon {max(useless):g} noise hides the features: no better than predicting {what}.")
    if free:
        lines.append(f"From epsilon {min(free):g} on privacy costs at most {100 * (_FREE - 1):.0f} % more error.")
    else:
        last = found[-1]
        lines.append(f"At epsilon {last.epsilon:g} the error is {_times(last.vs_non_private)} that without privacy.")
    given = [e.epsilon for e in found if not isinstance(e.std_err, Unavailable) or e.std_err.what == NOT_TOLD]
    if not given:
        lines.append("At none of these epsilons will fits give standard errors: the noise is too large for them.")
    elif len(given) < len(found):
        lines.append(f"Fits will give standard errors from epsilon {min(given):g} on.")
    lacking = [e.epsilon for e in found if e.epsilon not in given and (e.stages or 0) > 1]
    word = unlikely(len(plan.names), plan.facts.rows, max(lacking), plan.promise.delta, most) if lacking else ""
    return [*lines, word] if word else lines


def _answer(plan: NumberPlan, found: Answer) -> str:
    text = f"For {found.want.words}: "
    if isinstance(found.epsilon, Unavailable):
        if found.epsilon.what == NOT_TOLD:
            return f"{text}no answer. {found.epsilon.reason}"
        text += f"no epsilon up to 10 with about {plan.facts.rows:,} rows"
        if all(isinstance(n, Unavailable) for n in found.rows.values()):
            return f"{text}, nor any number of rows. {found.epsilon.reason}"
    else:
        text += f"epsilon {found.epsilon:g} with about {plan.facts.rows:,} rows"
    rows = [
        f"{n:,.0f} rows at epsilon {epsilon:g}" for epsilon, n in found.rows.items() if not isinstance(n, Unavailable)
    ]
    return f"{text}; or about {', '.join(rows)}." if rows else f"{text}."


def _spread(plan: NumberPlan, found: SpreadScenario) -> str:
    """Describe how much the plan depends on sds that were not guessed."""
    name, many = found.columns[0], len(found.columns) > 1
    which = f"the sds of {len(found.columns)} features" if many else f"the sd of {name}"
    known = plan.facts.numbers[name]
    sd = number(math.nan if known is None else known.sd)
    one = f"it is taken as {sd}, a tenth of half the width of its bounds"
    taken = "they are taken as a tenth of half the width of their bounds" if many else one
    return (
        f"Nobody told {which}: for errors of prediction {taken}. The {found.assumed:.2f} at epsilon "
        f"{min(plan.epsilons):g} would be {found.larger:.2f} with {FACTOR:g} times as much spread, {found.smaller:.2f} "
        f"with a third: tell what you know, as --about {name}.sd=NUMBER."
    )


def _tighter(plan: NumberPlan) -> list[str]:
    """Describe the bounds that are worth tightening, if any."""
    if not plan.tighter:
        return []
    worth = sorted((t for t in plan.tighter if min(t.mse, t.error) < _WORTH), key=lambda t: t.mse * t.error)[:3]
    head = f"Half as wide bounds, at epsilon {plan.reference:g}: "
    if not worth:
        return [f"{head}no column gains more than 10 %; values beyond them would be clipped."]
    parts = [
        f"with {t.column} in {_bounds(plan, t)} the error of prediction is {_as_before(t.mse)}, that of "
        f"{'its coefficient' if t.own else 'the coefficients'} {_as_before(t.error)}"
        for t in worth
    ]
    return [head + "; ".join(parts) + ". Only from public knowledge, and only if few values lie beyond them."]


def _bounds(plan: NumberPlan, t: Tighter) -> str:
    column = plan.facts.domain.inputs[t.column]
    low, high = (round(t.low), round(t.high)) if column.date else (t.low, t.high)
    return f"({column.shown(low, number)}, {column.shown(high, number)})"


def _as_before(ratio: float, verb: str = "was") -> str:
    """Describe a ratio to an earlier value in words.

    Examples
    --------
    >>> _as_before(1.004), _as_before(0.6789)
    ('the same', '0.68 times what it was')
    """
    return "the same" if _times(ratio) == "the same as" else f"{_times(ratio)} what it {verb}"


def _times(ratio: float) -> str:
    """Describe a ratio in words.

    Examples
    --------
    >>> _times(1.004), _times(0.6789), _times(1e9)
    ('the same as', '0.68 times', 'more than 100 times')
    """
    if not math.isfinite(ratio) or ratio >= 100:
        return "more than 100 times"
    return "the same as" if abs(ratio - 1) < 0.005 else f"{ratio:.2f} times"


# ---------------------------------------------------------------- picture


def plan_plot(plan: NumberPlan) -> Figure:
    """Plot the MSE, relative to that of predicting the mean, against epsilon, with one curve per method."""
    methods = [plan.best, *(name for name in plan.methods if name != plan.best)]
    with style():
        figure, axes = canvas(3.6)
        reference = plan.at(plan.reference)
        axes.axhline(1, color=INK, lw=1)
        axes.axhline(reference.non_private / reference.trivial, color=INK, lw=1, ls=(0, (4, 3)))
        for name, look in reversed(list(zip(methods, _LOOKS * 3, strict=False))):
            _curve(axes, plan, name, look, best=name == plan.best)
        _axes(figure, axes, plan)
        note(
            figure,
            f"Simulated from public facts: about {plan.facts.rows:,} rows, {len(plan.names) - 1} coefficients, R² "
            f"{plan.facts.r_squared:g}, delta {plan.promise.delta:g}. The band holds four of five tables.",
        )
    return figure  # type: ignore[no-any-return]


def _curve(axes: Any, plan: NumberPlan, name: str, look: tuple[str, str, str], *, best: bool) -> None:
    found = sorted((e for e in plan.expected if e.method == name), key=lambda e: e.epsilon)
    colour, line, mark = look
    x = [e.epsilon for e in found]
    if best:
        ends = [[min(e.mse_range[i] / e.trivial, _LARGEST) for e in found] for i in (0, 1)]
        axes.fill_between(x, *ends, color=colour, alpha=0.15, lw=0)
    axes.plot(
        x, [min(e.vs_trivial, _LARGEST) for e in found], color=colour, ls=line, marker=mark, ms=5,
        lw=2.2 if best else 1.4, label=name, clip_on=False, zorder=4 if best else 3,
    )  # fmt: skip


def _axes(figure: Any, axes: Any, plan: NumberPlan) -> None:
    axes.set_xscale("log")
    axes.set_xticks(sorted(plan.epsilons), [f"{epsilon:g}" for epsilon in sorted(plan.epsilons)])
    axes.xaxis.set_minor_formatter("")
    axes.set_ylim(0, _LARGEST)
    axes.set_yticks([0, 0.5, 1, 1.5], ["0", "0.5", "1", "1.5+"])
    axes.set_xlabel("epsilon (log scale)")
    what = "the mean" if plan.facts.domain.intercept else "0"
    axes.set_ylabel(f"MSE of {short(plan.facts.target, 16)},\nover that of predicting {what}")
    right = axes.get_yaxis_transform()
    reference = plan.at(plan.reference)
    level = reference.non_private / reference.trivial
    axes.annotate("useless", (1, 1), (0, 3), xycoords=right, textcoords="offset points", ha="right", fontsize=8)
    axes.annotate(
        "without privacy", (1, level), (0, -10 if level > 0.1 else 3), xycoords=right, textcoords="offset points",
        ha="right", fontsize=8,
    )  # fmt: skip
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside upper left", ncols=3, columnspacing=1.4)
