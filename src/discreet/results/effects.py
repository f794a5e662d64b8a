"""Coefficients on one scale: how much the outcome changes when a feature crosses its declared range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.arrays import Floats
from discreet.core.unavailable import Unavailable
from discreet.domain import CONSTANT, Domain
from discreet.domain.columns import Categorical, from_days
from discreet.released.units import column_of
from discreet.results.plots.style import short
from discreet.results.summary import number

if TYPE_CHECKING:
    from discreet.results.fitted import Fitted


@dataclass(frozen=True, eq=False)
class Effects:
    """Effects in the unit of the outcome, in the order of `names`.

    Parameters
    ----------
    names : tuple of str
        The regressors; the intercept alone where there are none.
    ranges : tuple of str
        What each one crosses, in words; "" for a level, which is compared with the first one.
    estimate : array
        Debiased effects; those of the model itself where debiased ones are not available.
    coef : array
        Effects by the coefficients that predict.
    ends : array or Unavailable
        The intervals, a row (low, high) each.
    privacy : array or Unavailable
        Half the width that intervals would have if privacy noise were all there is.
    raw : tuple of str
        The estimates as coefficients in their own units, with their intervals where they are known.
    """

    names: tuple[str, ...]
    ranges: tuple[str, ...]
    estimate: Floats
    coef: Floats
    ends: Floats | Unavailable
    privacy: Floats | Unavailable
    raw: tuple[str, ...]


def effects(fitted: Fitted, level: float) -> Effects:
    """The effects of a fitted model."""
    names = fitted.slopes or tuple(fitted.params)
    crossed = [reach(fitted.certificate.domain, fitted.coordinate(name)) for name in names]
    widths = np.array([width for width, _ in crossed])
    found = fitted.inference
    coef = _pick(fitted.params, names)
    estimate = coef if isinstance(found, Unavailable) else _pick(fitted.debiased, names)  # type: ignore[arg-type]
    intervals = fitted.conf_int(level)
    ends = intervals if isinstance(intervals, Unavailable) else np.array([intervals[name] for name in names])
    privacy: Floats | Unavailable
    if isinstance(found, Unavailable):
        privacy = found
    else:
        noise = _pick(fitted.privacy_noise, names)  # type: ignore[arg-type]
        privacy = found.quantile(level) * (widths * noise)
    return Effects(
        names,
        tuple(words for _, words in crossed),
        widths * estimate,
        widths * coef,
        ends if isinstance(ends, Unavailable) else widths[:, None] * ends,
        privacy,
        tuple(_raw(fitted, name, estimate[i], ends, i) for i, name in enumerate(names)),
    )


def reach(domain: Domain, name: str) -> tuple[float, str]:
    """How far a regressor can go inside its declared bounds, as a number and in words.

    Examples
    --------
    >>> domain = Domain({"age": (18, 90), "sex": ["F", "M"]})
    >>> reach(domain, "age"), reach(domain, "sex[M]")
    ((72.0, '18 to 90'), (1.0, ''))
    """
    if name == CONSTANT:
        return 1.0, ""
    column = column_of(domain, name)
    spec = domain.columns[column]
    if isinstance(spec, Categorical):
        numbers = any(not isinstance(factor.spec, Categorical) for factor in spec.factors)
        return spec.scale, f"0 to {number(spec.scale)}" if numbers else ""
    low, high = spec.low, spec.high
    if domain.data_norm is not None and column in domain.norm_columns:
        low, high = max(low, -domain.data_norm), min(high, domain.data_norm)
    if spec.date:
        return high - low, f"{from_days(low)} to {from_days(high)}"
    return high - low, f"{number(low)} to {number(high)}"


def _pick(values: dict[str, float], names: tuple[str, ...]) -> Floats:
    return np.array([values[name] for name in names])


def _raw(fitted: Fitted, name: str, estimate: float, ends: Floats | Unavailable, i: int) -> str:
    text = brief(estimate)
    if not isinstance(ends, Unavailable):
        text += f" [{brief(ends[i, 0])}, {brief(ends[i, 1])}]"
    return f"{text} {short(fitted.unit(name), 16)}".strip()


def brief(value: float) -> str:
    """Four significant digits; all of them before the point.

    Examples
    --------
    >>> brief(220.8123), brief(17086.4), brief(0.0018231), brief(12.0)
    ('220.8', '17,086', '0.001823', '12')
    """
    return number(float(f"{value:.4g}")) if abs(value) < 1e4 else number(value)
