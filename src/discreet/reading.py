"""A fitted model as a summary and as a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.domain import CONSTANT
from discreet.errors import DataError
from discreet.inference import Inference
from discreet.summary import Summary, number
from discreet.unavailable import Unavailable
from discreet.units import column_of

if TYPE_CHECKING:
    from discreet.results import Results


def read_results(fitted: Results, level: float) -> Summary:
    """The summary of a fitted model."""
    low, high = f"[{(1 - level) / 2:.4g}", f"{(1 + level) / 2:.4g}]"
    numbers = _numbers(fitted, level)
    moved = _moved(fitted)
    keys = {"coef": "coef", "debiased": "debiased", "std err": "std_err", "privacy noise": "privacy_noise"}
    keys |= {"P>|t|": "p_value", low: "low", high: "high"}
    headings = [heading for heading in keys if moved or heading != "debiased"]
    cells = [_cells(heading, numbers[keys[heading]], len(fitted.params)) for heading in headings]
    units = [fitted.unit(name) for name in fitted.params]
    return Summary(
        title=f"{fitted.target} ~ {' + '.join(fitted.names) or '1'}",
        facts=tuple(_facts(fitted).items()),
        columns=("", *headings, "unit"),
        rows=tuple(zip(fitted.params, *cells, units, strict=True)),
        notes=tuple(_notes(fitted, moved)),
    )


def results_frame(fitted: Results, level: float) -> Any:
    """One row a coefficient."""
    numbers = _numbers(fitted, level)
    none = [None] * len(fitted.params)
    table = {"name": list(fitted.params)} | {
        key: none if isinstance(column, Unavailable) else column for key, column in numbers.items()
    }
    types = {key: pa.string() if key in ("name", "unit") else pa.float64() for key in (*table, "unit")}
    table["unit"] = [fitted.unit(name) for name in fitted.params]
    arrow = pa.table({key: pa.array(column, types[key]) for key, column in table.items()})
    try:
        return arrow.to_pandas().set_index("name")
    except ImportError:
        raise DataError("A frame needs pandas: pip install pandas. to_dict() and to_json() need nothing.") from None


def _numbers(fitted: Results, level: float) -> dict[str, list[float] | Unavailable]:
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


def _moved(fitted: Results) -> bool:
    """Whether the model's coefficients are others than the debiased ones, by what a reader could see."""
    found = fitted.inference
    if isinstance(found, Unavailable):
        return False
    debiased = fitted.debiased
    noise = fitted.std_err if fitted.std_err else fitted.privacy_noise
    return any(abs(fitted.params[name] - debiased[name]) > 0.01 * noise[name] for name in fitted.params)


def _facts(fitted: Results) -> dict[str, str]:
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


def _notes(fitted: Results, moved: bool) -> list[str]:
    found, certificate = fitted.inference, fitted.certificate
    notes = [_estimand(fitted)]
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
            "std err joins sampling error (for errors of equal variance) and privacy noise, which is also shown alone."
        )
    if certificate.simulation:
        notes.append("SIMULATION: these numbers promise no privacy.")
    return notes


def _estimand(fitted: Results) -> str:
    """What the coefficients are about."""
    domain, declared = fitted.certificate.domain, fitted.certificate.declared
    column = column_of(domain, fitted.target)
    text = "Estimand: the best linear fit to the population with every column clipped to its bounds"
    if declared is not None and declared.columns[column] != domain.columns[column]:
        text += (
            f"; those of {column} were narrowed from {declared.columns[column].short()} to "
            f"{domain.columns[column].short()}"
        )
    return f"{text}."
