"""The foot of a table of models: what is said of each model as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.core.placeholders import Unavailable
from discreet.domain import CONSTANT
from discreet.released.units import column_of
from discreet.results.fitted import share_interval
from discreet.results.results import Results
from discreet.results.spread import OutcomeSpread
from discreet.results.summary import number, row_count

_HIDDEN = 0.95
"""An interval for R-squared longer than this says nothing."""


def table_foot(
    models: Sequence[Results], level: float, omitted: Sequence[str], labels: Mapping[str, str]
) -> list[tuple[str, ...]]:
    """Return rows of a label and a cell for each model."""
    rows = {labels.get(name, name): ["yes" if _has(fitted, name) else "no" for fitted in models] for name in omitted}
    if len({fitted.target for fitted in models}) > 1:
        rows["Outcome"] = [fitted.target for fitted in models]
    if len({fitted.kind for fitted in models}) > 1 or not models[0].family.linear:
        rows["Model"] = [fitted.kind for fitted in models]
    absorbed = [fitted.certificate.domain.deviates for fitted in models]
    if any(absorbed):
        rows["Persons absorbed"] = ["yes" if own else "no" for own in absorbed]
    rows["Rows"] = [_rows(fitted) for fitted in models]
    if any(fitted.family.linear for fitted in models):
        rows["R-squared"] = [_explained(fitted, level) for fitted in models]
    if any(fitted.family.words.dispersion for fitted in models):
        rows["Dispersion"] = [_dispersion(fitted) for fitted in models]
    rows["Standard errors"] = [_kind_of_errors(fitted) for fitted in models]
    promises = [fitted.certificate.guarantee for fitted in models]
    rows["Epsilon"] = [f"{g.epsilon:g}" for g in promises]
    rows["Delta"] = [f"{g.delta:g}" for g in promises]
    if {g.status for g in promises} != {"verified"}:
        rows["Guarantee"] = [g.status for g in promises]
    return [(name, *cells) for name, cells in rows.items()]


def column_name(fitted: Results, name: str) -> str:
    """Return the column that a coefficient belongs to, or the word for the intercept."""
    own = fitted.coordinate(name)
    return own if own == CONSTANT else column_of(fitted.certificate.domain, own)


def _has(fitted: Results, name: str) -> bool:
    return any(name in (own, column_name(fitted, own)) for own in fitted.coefficients)


def _rows(fitted: Results) -> str:
    if fitted.rows is None:
        return "not released"
    return row_count(fitted.certificate, fitted.rows, fitted.rows_sd).removeprefix("about ").removesuffix(", declared")


def _explained(fitted: Results, level: float) -> str:
    if not fitted.family.linear:
        return ""
    spread = fitted.joint if isinstance(fitted.joint, Unavailable) else fitted.joint.spread
    if not isinstance(spread, OutcomeSpread):
        return "withheld"
    if fitted.cut_at is None:
        return f"{spread.explained:.3f}"
    least, most = spread.table_explained_interval(level)
    return "withheld" if most - least > _HIDDEN else share_interval(least, most)


def _dispersion(fitted: Results) -> str:
    if not fitted.family.words.dispersion:
        return ""
    return "withheld" if isinstance(fitted.dispersion, Unavailable) else number(fitted.dispersion)


def _kind_of_errors(fitted: Results) -> str:
    found, unit = fitted.joint, fitted.certificate.domain.unit
    if isinstance(found, Unavailable) or isinstance(found.sampling, Unavailable):
        return "not released"
    if unit.person is not None:
        return f"by {unit.person}"
    return "robust" if found.robust else "classical"
