"""Models of many outcomes as a summary, as a long frame and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.text import printable
from discreet.core.unavailable import Unavailable
from discreet.errors import DataError, ParameterError
from discreet.results.summary import Summary, number

if TYPE_CHECKING:
    from discreet.results.many_results import ManyResults

Floats = NDArray[np.float64]

LABELS = 60
"""A heat map with more outcomes or regressors than this has no labels on that side."""


def long_frame(fitted: ManyResults, level: float) -> Any:
    """One row for each outcome and coefficient."""
    l, k = fitted.params.shape  # noqa: E741
    pairs = fitted.conf_int(level)
    columns: dict[str, Floats | Unavailable] = {
        "coef": fitted.params,
        "debiased": fitted.debiased,
        "std_err": fitted.std_err,
        "privacy_noise": fitted.privacy_noise,
        "p_value": fitted.pvalues,
        "p_holm": fitted.adjusted("holm"),
        "p_fdr": fitted.adjusted("fdr"),
        "low": pairs if isinstance(pairs, Unavailable) else pairs[..., 0],
        "high": pairs if isinstance(pairs, Unavailable) else pairs[..., 1],
    }
    table: dict[str, Any] = {
        "outcome": pa.array(np.repeat(np.array(fitted.targets, dtype=object), k), pa.string()),
        "name": pa.array(np.tile(np.array(fitted.parameters, dtype=object), l), pa.string()),
    }
    for key, column in columns.items():
        missing = isinstance(column, Unavailable)
        table[key] = pa.nulls(l * k, pa.float64()) if missing else pa.array(np.ravel(column), from_pandas=True)
    try:
        return pa.table(table).to_pandas()
    except ImportError:
        raise DataError("A frame needs pandas: pip install pandas. save() writes everything without it.") from None


def many_dict(fitted: ManyResults) -> dict[str, Any]:
    """A JSON-ready description."""
    parts = {
        "params": fitted.params,
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
    guarantee = fitted.certificate.guarantee.to_dict()
    return {"model": fitted.model, "outcomes": models, "guarantee": guarantee, "release": fitted.release}


def read_many(fitted: ManyResults, level: float, most: int) -> Summary:
    """The guarantee, and the coefficients that stand out most."""
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise ParameterError(f"most must be a whole number of at least 1, got {most!r}.")
    g, l, d = fitted.certificate.guarantee, len(fitted.targets), len(fitted.names)  # noqa: E741
    facts = {
        "Outcomes": f"{l:,}, on {d:,} regressors",
        "Method": fitted.model,
        "Guarantee": f"epsilon = {g.epsilon:g}, delta = {g.delta:g}, {g.neighbors} neighbours, {g.status}",
        "Rows": _rows(fitted),
    }
    low, high = f"[{(1 - level) / 2:.4g}", f"{(1 + level) / 2:.4g}]"
    rows = _strongest(fitted, level, most)
    return Summary(
        title=f"{l:,} outcomes ~ {' + '.join(fitted.names[:6])}{' + ...' if d > 6 else ''}",
        facts=tuple(facts.items()),
        columns=("outcome", "name", "coef", "debiased", "std err", "P>|t|", "P Holm", "P FDR", low, high),
        rows=tuple(rows),
        notes=tuple(_notes(fitted, len(rows))),
        keys=2,
    )


def _rows(fitted: ManyResults) -> str:
    if fitted.certificate.rows is not None:
        return f"{fitted.rows:,.0f}, declared"
    return f"about {float(f'{fitted.rows:.3g}'):,.0f}, from noisy sums"


def _strongest(fitted: ManyResults, level: float, most: int) -> list[tuple[str, ...]]:
    """The coefficients of the least p-values; without those, of the largest coefficients by size."""
    shift = len(fitted.parameters) - len(fitted.names)
    debiased, se, p, pairs = fitted.debiased, fitted.std_err, fitted.pvalues, fitted.conf_int(level)
    if any(isinstance(part, Unavailable) for part in (debiased, se, p, pairs)):
        order = np.argsort(-np.abs(fitted.coef), axis=None)[:most]
        places = [np.unravel_index(i, fitted.coef.shape) for i in order]
        return [(fitted.targets[j], fitted.names[i], number(float(fitted.coef[j, i])), *[""] * 7) for j, i in places]
    z = np.abs(np.asarray(debiased) / np.asarray(se))[:, shift:]
    holm, fdr = (np.asarray(fitted.adjusted(method)) for method in ("holm", "fdr"))
    rows = []
    for j, i in (np.unravel_index(place, z.shape) for place in np.argsort(-z, axis=None)[:most]):
        at = j, i + shift
        tests = [f"{part[at]:.3g}" for part in (np.asarray(p), holm, fdr)]
        ends = [number(end) for end in np.asarray(pairs)[at]]
        values = [number(part[at]) for part in (fitted.params, np.asarray(debiased), np.asarray(se))]
        rows.append((fitted.targets[j], fitted.names[i], *values, *tests, *ends))
    return rows


def _notes(fitted: ManyResults, shown: int) -> list[str]:
    tests = len(fitted.targets) * len(fitted.names)
    notes = [f"Shown: the {shown} of {tests:,} coefficients that stand out most. to_frame() has all of them."]
    why = next((part for part in (fitted.inference, fitted.std_err) if isinstance(part, Unavailable)), None)
    if why is not None:
        notes.append(f"Standard errors, intervals and tests are {why}: {why.reason}")
    else:
        notes += [
            f"Many tests: of {tests:,} true null hypotheses about {tests / 20:,.0f} have P>|t| below 0.05 by chance. "
            "P Holm below 0.05 bounds the probability of any wrong finding by 0.05; P FDR below 0.05 the expected "
            "share of wrong ones among the findings, for tests that are independent or positively dependent. "
            "Intervals hold their level one by one.",
            "All outcomes share one noisy X'X, so their privacy errors are correlated.",
            "coef is for predictions: drawn towards zero where noise is large. debiased is not; std err, tests and "
            "intervals belong to it.",
        ]
    if fitted.certificate.simulation:
        notes.append("SIMULATION: these numbers promise no privacy.")
    return notes


def draw_heatmap(fitted: ManyResults, values: str, ax: Any) -> Any:
    """Outcomes against regressors, colours symmetric around zero."""
    from matplotlib import pyplot as plt

    checks.choice("values", values, ("z", "debiased", "coef"))
    shift = len(fitted.parameters) - len(fitted.names)
    estimate = fitted.params if values == "coef" else fitted.debiased
    scale = fitted.std_err if values == "z" else 1.0
    for part in (estimate, scale):
        if isinstance(part, Unavailable):
            part.refuse()
    Z = (np.asarray(estimate) / np.asarray(scale))[:, shift:]
    largest = float(np.quantile(np.abs(Z), 0.995)) or 1.0
    if ax is None:
        _, ax = plt.subplots(figsize=(8, 6), layout="constrained")
    image = ax.imshow(Z, aspect="auto", cmap="RdBu_r", vmin=-largest, vmax=largest, interpolation="nearest")
    titles = {"z": "debiased coefficient / standard error", "debiased": "debiased coefficient", "coef": "coefficient"}
    ax.figure.colorbar(image, ax=ax, label=titles[values])
    for names, place in ((fitted.names, ax.xaxis), (fitted.targets, ax.yaxis)):
        if len(names) <= LABELS:
            place.set_ticks(range(len(names)), [printable(name) for name in names])
    ax.tick_params(axis="x", rotation=90)
    ax.set_xlabel("regressor")
    ax.set_ylabel("outcome")
    return ax
