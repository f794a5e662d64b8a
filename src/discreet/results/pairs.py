"""Two models side by side, as a summary and as a frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from discreet.core.unavailable import Unavailable
from discreet.released.units import column_of
from discreet.results.comparison import estimates
from discreet.results.reading import to_pandas
from discreet.results.summary import Summary, number

if TYPE_CHECKING:
    from discreet.results.comparison import Comparison


def read_pair(pair: Comparison, level: float) -> Summary:
    """The summary of a comparison."""
    (A, a), (B, b) = pair.models
    percent = f"{100 * level:g} % interval"
    columns = ("", A, f"{A} {percent}", B, f"{B} {percent}", f"{B} - {A}", "std err", percent, "unit")
    values = _values(pair, level)
    cells = [_cell(column, "not in it" if i in (0, 2) else "") for i, column in enumerate(values)]
    rows = [(name, *(cell(name) for cell in cells), _unit(pair, name)) for name in pair.coefficients]
    title = f"{a.target}: {A} and {B}" if a.target == b.target else f"{A} ({a.target}) and {B} ({b.target})"
    told = Summary(title, tuple(_facts(pair)), columns, tuple(rows), tuple(_notes(pair, level)))
    missing = [i for i, column in enumerate(values, 1) if i in (2, 4, 6, 7) and isinstance(column, Unavailable)]
    return told.without(*missing)  # notes say why


def pair_frame(pair: Comparison, level: float) -> Any:
    """One row a coefficient."""
    a, a_pairs, b, b_pairs, difference, errors, pairs = _values(pair, level)
    columns = {"a": a, "b": b, "difference": difference, "std_err": errors}
    names = pair.coefficients
    table: dict[str, list[Any]] = {"name": list(names)}
    table |= {key: [_get(values, name) for name in names] for key, values in columns.items()}
    for key, ends in (("a", a_pairs), ("b", b_pairs), ("difference", pairs)):
        for i, side in enumerate(("low", "high")):
            found = [_get(ends, name) for name in names]
            table[f"{key}_{side}"] = [None if end is None else end[i] for end in found]
    return to_pandas(table | {"unit": [_unit(pair, name) for name in names]})


def differences(pair: Comparison) -> list[str]:
    """What differs between two models but for their numbers, in words."""
    (A, a), (B, b) = pair.models
    found = []
    if a.target != b.target:
        found.append(f"Outcome: {a.target} in {A}, {b.target} in {B}.")
    if a.model != b.model:
        found.append(f"Method: {a.model} in {A}, {b.model} in {B}.")
    for name, mine, other in ((A, a, b), (B, b, a)):
        only = [regressor for regressor in mine.params if regressor not in other.params]
        if only:
            found.append(f"Only in {name}: {', '.join(only)}. Coefficients of the other model do not hold these equal.")
    unlike = [name for name in a.params if name in b.params and name not in pair.shared]
    if unlike:
        found.append(f"In other units, or against another first level: {', '.join(unlike)}. They have no difference.")
    return found + _bounds(pair)


def _bounds(pair: Comparison) -> list[str]:
    A, B = pair.names
    left, right = (fitted.certificate for _, fitted in pair.models)
    used = {column_of(f.certificate.domain, name) for _, f in pair.models for name in (f.target, *f.names)}
    found = []
    for name, column in left.domain.columns.items():
        if name not in used or name not in right.domain.columns:
            continue
        declared = [(c.declared or c.domain).columns[name] for c in (left, right)]
        narrowed = [column, right.domain.columns[name]]
        for how, (one, other) in (("Bounds", declared), ("Bounds as used", narrowed)):
            if one != other:
                found.append(
                    f"{how} of {name}: {one.short()} in {A}, {other.short()} in {B}. Values outside are clipped."
                )
                break
    return found


def _values(pair: Comparison, level: float) -> list[Any]:
    of_a, of_b = ((estimates(fitted), fitted.conf_int(level)) for _, fitted in pair.models)
    return [*of_a, *of_b, pair.difference, pair.std_err, pair.conf_int(level)]


def _unit(pair: Comparison, name: str) -> str:
    units = [fitted.unit(name) for _, fitted in pair.models if name in fitted.params]
    return " or ".join(dict.fromkeys(filter(None, units)))


def _facts(pair: Comparison) -> list[tuple[str, str]]:
    facts = []
    for name, fitted in pair.models:
        g = fitted.certificate.guarantee
        promise = f"epsilon = {g.epsilon:g}, delta = {g.delta:g}, {g.neighbors} neighbours, {g.status}"
        release = f"; release {fitted.release[:12]}" if fitted.release else ""
        facts.append((name, f"{fitted.model}; {promise}{release}"))
    if pair.a.release and pair.a.release == pair.b.release:
        facts.append(("Together", "one release, whose guarantee covers both models"))
    elif pair.together is not None:
        facts.append(
            ("Together", f"epsilon = {pair.together:.4g} for people who are in both releases, at the larger delta")
        )
    return facts


def _notes(pair: Comparison, level: float) -> list[str]:
    kinds = ["coef" if isinstance(fitted.inference, Unavailable) else "debiased" for _, fitted in pair.models]
    shown = (
        kinds[0]
        if kinds[0] == kinds[1]
        else " and ".join(f"{k} of {n}" for k, n in zip(kinds, pair.names, strict=True))
    )
    notes = [f"Shown: {shown}, as each model's own summary explains."]
    for name, fitted in pair.models:
        interval = fitted.conf_int(level)
        if isinstance(interval, Unavailable):
            notes.append(f"Intervals of {name} are {interval}: {interval.reason}")
    notes += differences(pair)
    errors = pair.std_err
    if isinstance(errors, Unavailable):
        notes.append(f"Intervals of differences are {errors}: {errors.reason}")
    else:
        notes.append(
            "std err of a difference takes the people in the two releases to be different ones. Where the same people "
            "are in both, it is usually too large."
        )
    if any(fitted.certificate.simulation for _, fitted in pair.models):
        notes.append("SIMULATION: these numbers promise no privacy.")
    return notes


def _get(values: Any, name: str) -> Any:
    return None if isinstance(values, Unavailable) else values.get(name)


def _cell(values: Any, absent: str) -> Callable[[str], str]:
    """How a column of the table shows a coefficient."""

    def show(name: str) -> str:
        if isinstance(values, Unavailable):
            return str(values)
        value = values.get(name)
        if value is None:
            return absent
        return f"[{number(value[0])}, {number(value[1])}]" if isinstance(value, tuple) else number(value)

    return show
