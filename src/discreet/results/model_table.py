"""A table of models: specifications side by side, as papers print them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from discreet.core import checks
from discreet.core.checks import meant
from discreet.core.files import atomic_write
from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT
from discreet.errors import DiscreetWarning, ParameterError
from discreet.released.units import column_of
from discreet.results.export import excel_table, word_file
from discreet.results.numbers import json_ready
from discreet.results.results import Results
from discreet.results.side_by_side import (
    ABOUT,
    about_one_fit,
    epsilon_together,
    estimands,
    fitted_model,
    is_charged,
    reference_levels,
)
from discreet.results.summary import SIMULATION, Summarised, Summary, number, to_pandas
from discreet.results.table_foot import column_name, table_foot

Below = Literal["std_err", "interval", "p_value"]
"""What stands below an estimate."""

_BELOW: dict[Below, str] = {
    "std_err": "In parentheses: standard errors, which join sampling error and privacy noise.",
    "interval": "In brackets: {level:g} % confidence intervals, privacy noise included.",
    "p_value": "In parentheses: p-values of the tests that a coefficient is zero, privacy noise included.",
}

STARS = (0.1, 0.05, 0.01)
"""The levels of one, two and three stars."""

_APART = 4.0
"""Noisy numbers of rows that differ by more sds of their noise than this are of different rows."""

_FORMS = (".txt", ".md", ".tex", ".html", ".csv", ".docx", ".xlsx")


@dataclass(frozen=True, eq=False, repr=False)
class ModelTable(Summarised):
    """Models side by side, an estimate above its standard error or interval; `table` makes it.

    It is computed from released numbers, so it is free and public.

    Parameters
    ----------
    models : tuple of Results
        The fitted models.
    names : tuple of str
        Their headings.
    below : {"std_err", "interval", "p_value"}
        What stands below an estimate.
    level : float
        The level of the intervals.
    stars : tuple of float
        The levels of one, two, ... stars, falling; none if empty.
    omit : tuple of str
        Columns whose coefficients are left out; a row says which models have them.
    labels : mapping
        Other names of coefficients and columns.
    decimals : int, optional
        Decimals of estimates and what stands below them; by default two digits of the standard error.
    exponentiate : bool
        Whether odds ratios and ratios of rates are shown.
    """

    models: tuple[Results, ...]
    names: tuple[str, ...]
    below: Below = "std_err"
    level: float = 0.95
    stars: tuple[float, ...] = ()
    omit: tuple[str, ...] = ()
    labels: Mapping[str, str] | None = None
    decimals: int | None = None
    exponentiate: bool = False

    @property
    def coefficients(self) -> tuple[str, ...]:
        """The coefficients that are shown, in the order of the models; intercepts last."""
        known = [name for fitted in self.models for name in fitted.coefficients if not self._omitted(fitted, name)]
        return tuple(sorted(dict.fromkeys(known), key=lambda name: name.endswith(CONSTANT)))

    def _omitted(self, fitted: Results, name: str) -> bool:
        return column_name(fitted, name) in self.omit or name in self.omit

    # ---------------------------------------------------------------- numbers

    def numbers(self, fitted: Results) -> dict[str, dict[str, float]]:
        """Return estimate, standard error, p-value and ends of the interval, by coefficient; NaN where withheld."""
        errors, p, pairs = fitted.known("std_err"), fitted.known("p_values"), fitted.intervals(self.level)
        found = {}
        for name, estimate in fitted.coefficients.items():
            low, high = (math.nan, math.nan) if isinstance(pairs, Unavailable) else pairs[name]
            own = {
                "estimate": estimate,
                "std_err": math.nan if isinstance(errors, Unavailable) else errors[name],
                "p_value": math.nan if isinstance(p, Unavailable) else p[name],
                "low": low,
                "high": high,
            }
            found[name] = _exponentials(own) if self.exponentiate else own
        return found

    def to_frame(self) -> Any:
        """A pandas frame with a row for each model and coefficient, all digits; unavailable numbers are missing."""
        rows = [
            {"model": name, "coefficient": label} | own
            for name, fitted in zip(self.names, self.models, strict=True)
            for label, own in self.numbers(fitted).items()
        ]
        return _long_frame(rows)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        models = [json_ready(self.numbers(fitted)) for fitted in self.models]
        return {
            "names": list(self.names),
            "outcomes": [fitted.target for fitted in self.models],
            "level": self.level,
            "coefficients": models,
            "facts": {name: list(cells) for name, *cells in self._foot()},
            "releases": [fitted.release for fitted in self.models],
            "epsilon_together": epsilon_together(self.models),
            "notes": self._notes(),
        }

    # ---------------------------------------------------------------- as a table

    def summary(self) -> Summary:
        """The table with its notes."""
        numbers = [self.numbers(fitted) for fitted in self.models]
        rows = []
        for name in self.coefficients:
            own = [found.get(name) for found in numbers]
            rows.append((self._label(name), *(self._estimate(found) for found in own)))
            rows.append(("", *(self._beneath(found) for found in own)))
        outcomes = list(dict.fromkeys(fitted.target for fitted in self.models))
        title = outcomes[0] if len(outcomes) == 1 else "Models of " + ", ".join(outcomes)
        return Summary(title, (), ("", *self.names), tuple(rows), tuple(self._notes()), foot=tuple(self._foot()))

    def as_text(self) -> str:
        """The table as text."""
        return str(self)

    def as_markdown(self) -> str:
        """The table as Markdown."""
        return self.summary().as_markdown()

    def as_latex(self) -> str:
        """The table for LaTeX, with the rules of the package booktabs."""
        return self.summary().as_latex()

    def as_html(self) -> str:
        """The table as HTML, without a page around it."""
        return self.summary().as_html()

    def as_csv(self) -> str:
        """The table as CSV, with the digits that are shown; `to_frame` has all of them."""
        return self.summary().as_csv()

    def save(self, path: str | Path) -> None:
        """Write the table to a file whose ending names the form.

        Parameters
        ----------
        path : path
            ``.txt``, ``.md``, ``.tex``, ``.html``, ``.csv``, ``.xlsx`` (extra ``excel``) or ``.docx`` (extra ``word``).
        """
        form = Path(path).suffix.lower()
        if form == ".xlsx":
            return excel_table(path, self.to_frame(), self.summary())
        if form == ".docx":
            return word_file(path, self.summary())
        texts = {".txt": self.as_text, ".md": self.as_markdown, ".tex": self.as_latex, ".csv": self.as_csv}
        texts |= {".html": lambda: _page(self.summary())}
        if form not in texts:
            raise ParameterError(f"The file name must end with the form of the table: {', '.join(_FORMS)}.")
        with atomic_write(path) as file:
            file.write((texts[form]().rstrip("\n") + "\n").encode())
        return None

    # ---------------------------------------------------------------- cells

    def _label(self, name: str) -> str:
        labels = self.labels or {}
        if name in labels:
            return labels[name]
        column = next(
            column_of(f.certificate.domain, f.coordinate(name)) for f in self.models if name in f.coefficients
        )
        return name.replace(column, labels[column]) if column in labels else name

    def _estimate(self, own: dict[str, float] | None) -> str:
        if own is None:
            return ""
        reached = sum(own["p_value"] < level for level in self.stars)
        return self._number(own["estimate"], own["std_err"]) + "*" * reached

    def _beneath(self, own: dict[str, float] | None) -> str:
        if own is None:
            return ""
        if math.isnan(own["low"] if self.below == "interval" else own[self.below]):
            return "(withheld)"
        if self.below == "p_value":
            return f"({own['p_value']:.3f})"
        if self.below == "std_err":
            return f"({self._number(own['std_err'], own['std_err'])})"
        return f"[{', '.join(self._number(own[end], own['std_err']) for end in ('low', 'high'))}]"

    def _number(self, value: float, error: float) -> str:
        """Format a number with the decimals asked for, or to two digits of its standard error."""
        if self.decimals is not None:
            return f"{value:,.{self.decimals}f}"
        if not 0 < error < math.inf:
            return number(value)
        places = 1 - math.floor(math.log10(error))
        return f"{round(value, places) + 0.0:,.{max(places, 0)}f}"

    def _foot(self) -> list[tuple[str, ...]]:
        """Rows about whole models."""
        return table_foot(self.models, self.level, self.omit, self.labels or {})

    def _notes(self) -> list[str]:
        models, notes = self.models, [_BELOW[self.below].format(level=100 * self.level)]
        if self.stars:
            levels = ", ".join(f"{'*' * i} p < {level:g}" for i, level in enumerate(self.stars, 1))
            notes.append(f"{levels}.")
        if self.exponentiate:
            notes.append("Estimates are exponentials of coefficients: ratios of odds or of rates.")
        if len(found := estimands(models)) == 1 and any(map(is_charged, models)):
            notes += [f"Intervals are about {ABOUT[own]}" for own in found]
        elif len(found) > 1:
            notes.append("Intervals of the models are about different fits: see the summary of each.")
        notes += _promises(self)
        notes += _missing(self)
        notes += different_rows(self)
        notes += _levels(self)
        if any(fitted.certificate.simulation for fitted in models):
            notes.append(SIMULATION)
        return notes


def table(
    models: Any,
    names: Sequence[str] | None = None,
    *,
    below: Below = "std_err",
    level: float = 0.95,
    stars: bool | Sequence[float] = False,
    omit: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    decimals: int | None = None,
    exponentiate: bool = False,
) -> ModelTable:
    """Put models side by side, as papers print them: free, from released numbers alone.

    Parameters
    ----------
    models : sequence, mapping, or one model
        Results, released models, or fitted estimators; a mapping gives their headings. If their intervals are about
        different fits to the population, all get those about least squares under the declared bounds.
    names : sequence of str, optional
        Their headings; (1), (2), ... by default.
    below : {"std_err", "interval", "p_value"}
        What stands below an estimate.
    level : float
        The level of the intervals.
    stars : bool or sequence of float
        True for one, two and three stars at p < 0.1, 0.05 and 0.01; or other levels, falling.
    omit : sequence of str
        Columns or coefficients that are left out; a row says which models have them.
    labels : mapping, optional
        Other names of coefficients or columns.
    decimals : int, optional
        Decimals; by default two digits of each standard error.
    exponentiate : bool
        Whether odds ratios and ratios of rates are shown, of models of classes and counts.

    Examples
    --------
    >>> from discreet import DPLinearRegression, table
    >>> model = DPLinearRegression(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 1))
    >>> table(model.fit([[0.1], [0.9]] * 50, [0.2, 0.8] * 50)).coefficients
    ('x0', '(intercept)')
    """
    found, headings = _listed(models, names)
    if exponentiate and any(not fitted.family.words.ratio for fitted in found):
        raise ParameterError("exponentiate is for models of classes and counts: other coefficients are no logarithms.")
    made = ModelTable(
        about_one_fit(found),
        tuple(headings),
        checks.choice("below", below, get_args(Below)),
        checks.fraction("level", level),
        _stars(stars),
        _left_out(omit, found),
        labels,
        _places(decimals),
        checks.flag("exponentiate", exponentiate),
    )
    for told in different_rows(made):
        warnings.warn(told, DiscreetWarning, stacklevel=2)
    return made


def _listed(models: Any, names: Sequence[str] | None) -> tuple[list[Results], list[str]]:
    """Return fitted models and their headings."""
    if isinstance(models, Mapping):
        if names is not None:
            raise ParameterError("A mapping of models gives their headings: leave out names.")
        names, models = list(models), list(models.values())
    listed = list(models) if isinstance(models, (list, tuple)) else [models]
    found = [fitted_model(model) for model in listed]
    if not found or not all(isinstance(fitted, Results) and not fitted.several for fitted in found):
        raise ParameterError(
            "table needs fitted models of one outcome each: Results, released models, or estimators with results_."
        )
    headings = [f"({i})" for i in range(1, 1 + len(found))] if names is None else list(names)
    if isinstance(names, str) or len({*headings}) < len(found) or not all(isinstance(own, str) for own in headings):
        raise ParameterError(f"names must be {len(found)} different texts, one for each model.")
    return found, headings


def _places(decimals: Any) -> int | None:
    if decimals is not None and decimals not in range(16):
        raise ParameterError("decimals must be a whole number from 0 to 15.")
    return None if decimals is None else int(decimals)


def _stars(stars: bool | Sequence[float]) -> tuple[float, ...]:
    if isinstance(stars, bool):
        return STARS if stars else ()
    levels = tuple(checks.fraction("stars", level) for level in stars)
    if list(levels) != sorted({*levels}, reverse=True):
        raise ParameterError("stars must be falling levels, for example (0.05, 0.01, 0.001).")
    return levels


def _left_out(omit: Sequence[str], models: Sequence[Results]) -> tuple[str, ...]:
    listed = [omit] if isinstance(omit, str) else list(omit)
    known = {word for fitted in models for name in fitted.coefficients for word in (name, column_name(fitted, name))}
    for name in listed:
        if name not in known:
            raise ParameterError(f"omit names {name!r}, which is in no model.{meant(name, sorted(known))}")
    return tuple(listed)


def different_rows(table: ModelTable) -> list[str]:
    """Say which models are of visibly different numbers of rows, or of different units of privacy."""
    told, first = [], table.models[0]
    for name, fitted in zip(table.names[1:], table.models[1:], strict=True):
        if fitted.release == first.release or fitted.rows is None or first.rows is None:
            continue
        sd = math.hypot(fitted.rows_sd or 0.0, first.rows_sd or 0.0)
        if abs(fitted.rows - first.rows) > max(_APART * sd, 0.5):
            numbers = " and ".join(f"{own.rows:,.0f}" for own in (first, fitted))
            told.append(
                f"{table.names[0]} and {name} are of different rows: about {numbers}. If "
                "rows that lack a value were left out of one of them, coefficients differ because people do. "
                "Remedy: fit all models to one release."
            )
    return told


def _exponentials(own: dict[str, float]) -> dict[str, float]:
    """Exponentials of a coefficient and its interval, with the standard error of the delta method."""
    with np.errstate(over="ignore"):
        found = {key: float(np.exp(own[key])) for key in ("estimate", "low", "high")}
    return own | found | {"std_err": found["estimate"] * own["std_err"]}


# ---------------------------------------------------------------- notes


def _promises(table: ModelTable) -> list[str]:
    """Say what the releases promise together."""
    releases = {fitted.release for fitted in table.models}
    units = {
        fitted.certificate.domain.unit.short for fitted in table.models if not fitted.certificate.domain.unit.plain
    }
    notes = [f"Protected: {unit}." for unit in sorted(units)]
    if len(table.models) > 1 and len(releases) == 1:
        notes.append("All models come from one release: epsilon and delta cover them together.")
    elif (found := epsilon_together(table.models)) is not None:
        notes.append(
            f"For people who are in all {len(releases)} releases: epsilon = {found:.4g}, at the largest delta."
        )
    return notes


def _missing(table: ModelTable) -> list[str]:
    """Say why models have no intervals, or some."""
    told: dict[str, list[str]] = {}
    for name, fitted in zip(table.names, table.models, strict=True):
        found = fitted.intervals(table.level)
        if isinstance(found, Unavailable):
            told.setdefault(f"{found}: {found.reason}", []).append(name)
        elif any(map(math.isnan, (end for pair in found.values() for end in pair))):
            reason = "" if isinstance(fitted.joint, Unavailable) else fitted.joint.withheld
            told.setdefault(f"withheld in part. {reason}".rstrip(), []).append(name)
    return [f"Intervals of {', '.join(names)} are {why}" for why, names in told.items()]


def _levels(table: ModelTable) -> list[str]:
    """Name coefficients of one name that are against different levels or in different units."""
    unlike = []
    for name in table.coefficients:
        held = [fitted for fitted in table.models if name in fitted.coefficients]
        if len({(str(reference_levels(fitted, name)), fitted.unit(name)) for fitted in held}) > 1:
            unlike.append(name)
    if len({fitted.target for fitted in table.models}) > 1:
        return []
    return [f"In other units, or against another first level, in some models: {', '.join(unlike)}."] if unlike else []


def _long_frame(rows: list[dict[str, Any]]) -> Any:
    keys = ("estimate", "std_err", "p_value", "low", "high")
    frame = to_pandas(
        {"name": [row["coefficient"] for row in rows]} | {key: [row[key] for row in rows] for key in keys}
    )
    frame.insert(0, "model", [row["model"] for row in rows])
    return frame


_STYLE = (
    "body { font-family: serif; margin: 2em } table { border-collapse: collapse; border: solid; border-width: 2px 0 } "
    "th, td { padding: 0.1em 0.8em; font-weight: normal } thead th { border-bottom: 1px solid } "
    "tfoot tr:first-child > * { border-top: 1px solid } .notes { font-size: 85%; max-width: 45em }"
)


def _page(summary: Summary) -> str:
    """A page with the table alone, which browsers and word processors read."""
    head = f'<meta charset="utf-8"><title>{escape(summary.title)}</title><style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{summary.html()}</body></html>\n'
