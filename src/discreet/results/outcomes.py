"""Models of several outcomes as a frame, a summary and a description, with p-values adjusted for their number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.core.arrays import Floats
from discreet.core.placeholders import Unavailable
from discreet.errors import ParameterError
from discreet.results.coefficient_table import PREDICTIONS, about_words, interval_cell, second_name, visibly_moved
from discreet.results.description import declared_bounds, outcome_bounds
from discreet.results.summary import Summary, closing_notes, number, promise, row_count

if TYPE_CHECKING:
    from discreet.results.fitted import Fitted


def outcomes_frame(fitted: Fitted, level: float) -> Any:
    """One row for each outcome and coefficient."""
    l, k = fitted.params.shape  # noqa: E741
    table: dict[str, Any] = {
        "outcome": pa.array(np.repeat(np.array(fitted.targets, dtype=object), k), pa.string()),
        "name": pa.array(np.tile(np.array(fitted.parameters, dtype=object), l), pa.string()),
    }
    for key, column in _columns(fitted, level).items():
        missing = isinstance(column, Unavailable)
        table[key] = pa.nulls(l * k, pa.float64()) if missing else pa.array(column, from_pandas=True)
    return pa.table(table).to_pandas()


def _columns(fitted: Fitted, level: float) -> dict[str, Floats | Unavailable]:
    """The columns of tables, with adjusted p-values before the intervals."""
    columns = fitted.columns(level)
    ends = {key: columns.pop(key) for key in list(columns) if key.endswith(("low", "high")) or key == "coef"}
    for method in ("holm", "fdr"):
        p = fitted.adjusted(method)
        columns[f"p_{method}"] = p if isinstance(p, Unavailable) else np.ravel(p)
    return columns | ends


def outcomes_description(fitted: Fitted) -> dict[str, Any]:
    """A JSON-ready description."""
    parts = {
        "params": fitted.params,
        "coef": fitted.table("coef"),
        "debiased": fitted.debiased,
        "std_err": fitted.std_err,
        "p_holm": fitted.adjusted("holm"),
    }
    models: dict[str, dict[str, Any]] = {target: {} for target in fitted.targets}
    for key, part in parts.items():
        for j, target in enumerate(fitted.targets):
            if isinstance(part, Unavailable):
                models[target][key] = part.to_dict()
            else:
                values = [None if np.isnan(value) else float(value) for value in part[j]]
                models[target][key] = dict(zip(fitted.parameters, values, strict=True))
    found, guarantee = fitted.inference, fitted.certificate.guarantee.to_dict()
    told: dict[str, Any] = {"estimand": None if isinstance(found, Unavailable) else found.estimand}
    told |= {**declared_bounds(fitted), "outcome_ranges": outcome_bounds(fitted)}
    return {"model": fitted.model, "outcomes": models, **told, "guarantee": guarantee, "release": fitted.release}


def outcomes_summary(fitted: Fitted, level: float, most: int) -> Summary:
    """Summarise the guarantee, and the coefficients with the smallest p-values."""
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise ParameterError(f"most must be a whole number of at least 1, got {most!r}.")
    l, d = len(fitted.targets), len(fitted.names)  # noqa: E741
    facts = {
        "Outcomes": f"{l:,}, on {d:,} regressors",
        "Method": fitted.model,
        "Guarantee": promise(fitted.certificate.guarantee),
    }
    facts |= {"Bounds": fitted.certificate.found} if fitted.certificate.searched is not None else {}
    if fitted.rows is not None:
        facts["Rows"] = row_count(fitted.certificate, fitted.rows, fitted.rows_sd)
    low, high = f"[{(1 - level) / 2:.4g}", f"{(1 + level) / 2:.4g}]"
    rows, other = _strongest(fitted, level, most), () if fitted.second is None else (second_name(fitted),)
    return Summary(
        title=f"{l:,} outcomes ~ {' + '.join(fitted.names[:6])}{' + ...' if d > 6 else ''}",
        facts=tuple(facts.items()),
        columns=("outcome", "name", "estimate", "std err", "P>|t|", "P Holm", "P FDR", low, high, *other),
        rows=tuple(rows),
        notes=tuple(_notes(fitted, len(rows))),
        keys=2,
    )


def _strongest(fitted: Fitted, level: float, most: int) -> list[tuple[str, ...]]:
    """Return the coefficients with the smallest p-values; without p-values, the largest ones."""
    whole, second = _columns(fitted, level), fitted.second
    del whole["privacy_noise"], whole["coef"]
    columns = {key: part for key, part in whole.items() if not isinstance(part, Unavailable)}
    k, shift = len(fitted.parameters), len(fitted.parameters) - len(fitted.names)
    known = len(columns) == len(whole)
    size = np.abs(columns["estimate"] / columns["std_err"] if known else columns["estimate"])
    size = size.reshape(-1, k)[:, shift:]
    rows = []
    for j, i in (np.unravel_index(place, size.shape) for place in np.argsort(-size, axis=None)[:most]):
        found = {key: float(part[j * k + i + shift]) for key, part in columns.items()}
        if not known:
            rows.append((fitted.targets[j], fitted.names[i], number(found["estimate"]), *[""] * 6))
            continue
        ends = [] if second is None else [found.pop(f"{second.estimand}_{side}") for side in ("low", "high")]
        cells = [_cell(key, value) for key, value in found.items()]
        rows.append((fitted.targets[j], fitted.names[i], *cells, *([interval_cell(*ends)] if ends else [])))
    return rows


def _cell(key: str, value: float) -> str:
    return "withheld" if math.isnan(value) else f"{value:.3g}" if key.startswith("p_") else number(value)


def _few(value: float) -> str:
    """Format an expected number of tests.

    Examples
    --------
    >>> _few(0.3), _few(25.0), _few(1234.0)
    ('0.3', '25', '1,234')
    """
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def _notes(fitted: Fitted, shown: int) -> list[str]:
    tests = len(fitted.targets) * len(fitted.names)
    notes = [f"Shown: the {shown} of {tests:,} coefficients that stand out most. to_frame() has all of them."]
    found = fitted.inference
    if isinstance(why := found if isinstance(found, Unavailable) else found.std_err, Unavailable):
        notes.append(f"Standard errors, intervals and tests are {why}: {why.reason}")
    else:
        notes += [
            f"If no effect were real, about {_few(tests / 20)} of these {tests:,} tests would still have P>|t| below "
            "0.05. P Holm below 0.05 bounds the probability of any wrong finding by 0.05; P FDR below 0.05 the "
            "expected share of wrong ones among the findings, for tests that are independent or positively dependent. "
            "Intervals hold their level one by one.",
            "All outcomes share one noisy X'X, so their privacy errors are correlated.",
            *filter(None, [about_words(fitted), PREDICTIONS if visibly_moved(fitted) else ""]),
        ]
        if not isinstance(found, Unavailable) and found.withheld:
            notes.append(f"Where intervals are withheld: {found.withheld}")
    return notes + closing_notes(fitted.remarks, fitted.certificate)
