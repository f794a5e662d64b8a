"""A fitted model as a summary and as a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.core.unavailable import Unavailable
from discreet.domain import CONSTANT
from discreet.errors import DataError
from discreet.results.inference import Inference
from discreet.results.summary import Summary, number

if TYPE_CHECKING:
    from discreet.results.fitted import Fitted


def read_results(fitted: Fitted, level: float) -> Summary:
    """The summary of a fitted model."""
    low, high = f"[{(1 - level) / 2:.4g}", f"{(1 + level) / 2:.4g}]"
    numbers = _numbers(fitted, level)
    moved = _moved(fitted)
    keys = {"coef": "coef", "debiased": "debiased", "std err": "std_err", "privacy noise": "privacy_noise"}
    keys |= {"P>|t|": "p_value", low: "low", high: "high"}
    always = ("coef", "std err")  # the latter to say that it is missing, once
    there = [heading for heading, key in keys.items() if heading in always or not isinstance(numbers[key], Unavailable)]
    headings = [heading for heading in there if moved or heading != "debiased"]
    cells = [_cells(heading, numbers[keys[heading]], len(fitted.params)) for heading in headings]
    units = [fitted.unit(name) for name in fitted.params]
    return Summary(
        title=f"{fitted.target} ~ {' + '.join(fitted.names) or '1'}",
        facts=tuple(_facts(fitted).items()),
        columns=("", *headings, "unit"),
        rows=tuple(zip(fitted.params, *cells, units, strict=True)),
        notes=tuple(_notes(fitted, moved)),
    )


def results_frame(fitted: Fitted, level: float) -> Any:
    """One row a coefficient."""
    numbers = _numbers(fitted, level)
    none = [None] * len(fitted.params)
    table: dict[str, list[Any]] = {"name": list(fitted.params)} | {
        key: none if isinstance(column, Unavailable) else column for key, column in numbers.items()
    }
    table["unit"] = [fitted.unit(name) for name in fitted.params]
    return to_pandas(table)


def to_pandas(table: dict[str, list[Any]]) -> Any:
    """A frame of numbers that may be missing, by name."""
    types = {key: pa.string() if key in ("name", "unit") else pa.float64() for key in table}
    arrow = pa.table({key: pa.array(column, types[key]) for key, column in table.items()})
    try:
        return arrow.to_pandas().set_index("name")
    except ImportError:
        raise DataError("A frame needs pandas: pip install pandas. to_dict() and to_json() need nothing.") from None


def _numbers(fitted: Fitted, level: float) -> dict[str, list[float] | Unavailable]:
    """Columns of the table, in the order of `params`."""
    found: dict[str, Any] = {
        "coef": fitted.params,
        "debiased": fitted.debiased,
        "std_err": fitted.std_err,
        "privacy_noise": fitted.privacy_noise,
        "p_value": fitted.pvalues,
    }
    numbers = {key: v if isinstance(v, Unavailable) else list(v.values()) for key, v in found.items()}
    pairs = fitted.conf_int(level)
    for i, side in enumerate(("low", "high")):
        numbers[side] = pairs if isinstance(pairs, Unavailable) else [pair[i] for pair in pairs.values()]
    return numbers


def _cells(heading: str, column: list[float] | Unavailable, rows: int) -> list[str]:
    if isinstance(column, Unavailable):
        return [str(column)] * rows
    return [f"{value:.3f}" if heading == "P>|t|" else number(value) for value in column]


def _moved(fitted: Fitted) -> bool:
    """Whether the model's coefficients are others than the debiased ones, by what a reader could see."""
    found = fitted.inference
    if isinstance(found, Unavailable):
        return False
    debiased = fitted.debiased
    noise = fitted.std_err if fitted.std_err else fitted.privacy_noise
    return any(abs(fitted.params[name] - debiased[name]) > 0.01 * noise[name] for name in fitted.params)


def _facts(fitted: Fitted) -> dict[str, str]:
    g, found = fitted.certificate.guarantee, fitted.inference
    facts = {
        "Method": fitted.model,
        "Guarantee": f"epsilon = {g.epsilon:g}, delta = {g.delta:g}, {g.neighbors} neighbours, {g.status}",
    }
    if fitted.rows is not None:
        declared = fitted.certificate.rows is not None
        about = float(f"{fitted.rows:.3g}")
        facts["Rows"] = f"{fitted.rows:,.0f}, declared" if declared else f"about {about:,.0f}, from noisy sums"
    if isinstance(found, Inference):
        sigma, explained, unit = found.sigma, found.explained, fitted.unit(CONSTANT)
        facts["Residual sd"] = str(sigma) if isinstance(sigma, Unavailable) else f"{number(sigma)} {unit}".strip()
        facts["R-squared"] = str(explained) if isinstance(explained, Unavailable) else f"{explained:.3f}"
        facts["Noise in X'X"] = f"{found.noise:.2g} of the least variation of the features"
    return facts


def _notes(fitted: Fitted, moved: bool) -> list[str]:
    found, certificate = fitted.inference, fitted.certificate
    notes = [f"Estimand: {fitted.estimand}."]
    if moved:
        notes.append(
            "coef is for predictions: drawn towards zero where noise is large, stretched where clipping took variation "
            "away. debiased is neither; std err, P>|t| and the interval belong to it."
        )
    if isinstance(found, Unavailable):
        notes.append(f"Standard errors and intervals are {found}: {found.reason}")
    elif isinstance(found.sampling, Unavailable):
        notes.append(f"Standard errors and intervals are {found.sampling}: {found.sampling.reason}")
    else:
        notes.append(
            "std err joins sampling error (for errors of equal variance) and privacy noise, which is also shown alone. "
            "Noise in X'X may make an interval longer on one side."
        )
    if certificate.simulation:
        notes.append("SIMULATION: these numbers promise no privacy.")
    return notes
