"""Curves: error against epsilon, delta against epsilon, and coefficients against the penalty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.domain import CONSTANT
from discreet.errors import ParameterError, printable
from discreet.privacy import accounting
from discreet.privacy.laws import together
from discreet.released.certificate import Certificate
from discreet.results.models import PenalisedResults
from discreet.results.plots.releases import reach
from discreet.results.plots.style import GREY, INK, LOOKS, chart, legend, logarithmic, short, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEAST_DELTA = 1e-12
"""Below this no curve of delta is drawn."""

NAMED = 7
"""Coefficients that have a colour and a name; the others are grey."""


def utility_plot(
    table: Any,
    *,
    epsilon: str = "epsilon",
    error: str = "error",
    method: str = "method",
    label: str = "mean squared error",
    references: Mapping[str, float] | None = None,
) -> Figure:
    """Error against epsilon, a curve for each method, both on logarithmic scales.

    Parameters
    ----------
    table : DataFrame or mapping of columns
        Tidy: one row for each method, epsilon and repeat; rows whose error is not a number are left out. Repeats
        become their median, with a band from the lower to the upper quartile.
    epsilon, error, method : str
        Its columns.
    label : str
        The error in words, with its unit.
    references : mapping, optional
        Errors that do not depend on epsilon, by name: horizontal lines.

    Examples
    --------
    >>> table = {"epsilon": [0.1, 1, 0.1, 1], "method": ["SSP", "SSP", "OPS", "OPS"], "error": [0.8, 0.3, 0.9, 0.7]}
    >>> utility_plot(table, references={"without privacy": 0.2}).get_axes()[0].get_ylabel()
    'mean squared error'
    """
    x, y = np.asarray(table[epsilon], dtype=np.float64), np.asarray(table[error], dtype=np.float64)
    kinds, known = np.asarray(table[method]).astype(str), np.isfinite(y)
    x, y, kinds = x[known], y[known], kinds[known]
    names = list(dict.fromkeys(kinds.tolist()))
    _enough_looks(names)
    with style():
        figure, axes = chart()
        logarithmic(axes.xaxis, axes.yaxis)
        for name, look in zip(names, LOOKS, strict=False):
            chosen = kinds == name
            at = np.unique(x[chosen])
            low, mid, high = np.array([np.quantile(y[chosen & (x == e)], [0.25, 0.5, 0.75]) for e in at]).T
            axes.plot(at, mid, label=short(name), lw=1.8, ms=4.5, **look)
            if np.any(high > low):
                axes.fill_between(at, low, high, color=look["color"], alpha=0.15, lw=0)
        for name, value in (references or {}).items():
            axes.axhline(value, color=GREY, lw=1.2, ls=(0, (4, 3)), zorder=1)
            axes.annotate(
                short(name), (1, value), (-2, 0), xycoords=axes.get_yaxis_transform(), textcoords="offset points",
                ha="right", va="center", fontsize=8, bbox={"fc": "white", "ec": "none", "pad": 1.5}, zorder=5,
            )  # fmt: skip
        axes.set_xlabel("epsilon (the promise; smaller is stricter)")
        axes.set_ylabel(printable(label))
        legend(figure, axes)
    return figure  # type: ignore[no-any-return]


def privacy_plot(releases: Any, *, total: bool = False) -> Figure:
    """The whole promise of one release or of several: the delta that is kept at each epsilon.

    A promise (epsilon, delta) is one point of such a curve, marked by a ring; every other point holds as well.

    Parameters
    ----------
    releases : Certificate, object with a certificate, or mapping of names to these
        Releases, models, results or certificates.
    total : bool
        Also draw what all of them together keep, on the same people.

    Examples
    --------
    >>> from discreet import DPLinearRegression
    >>> model = DPLinearRegression(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 1)).fit([[0.5]] * 9, [1] * 9)
    >>> privacy_plot(model.release_).get_axes()[0].get_xlabel()
    'epsilon'
    """
    given = releases if isinstance(releases, Mapping) else {"": releases}
    named = {name: _certificate(one) for name, one in given.items()}
    events = {name: list(one.events) for name, one in named.items()}
    if total:
        events["all together"] = [event for listed in events.values() for event in listed]
    _enough_looks(list(events))
    furthest = 1.5 * max(one.guarantee.epsilon for one in named.values()) or 1.0
    if total:
        furthest = max(furthest, 1.1 * accounting.epsilon(events["all together"], _LEAST_DELTA**0.5))
    grid = np.linspace(0, furthest, 80)
    with style():
        figure, axes = chart()
        logarithmic(axes.yaxis)
        for (name, listed), look in zip(events.items(), LOOKS, strict=False):
            curve = together(accounting.laws(listed), accounting.mu(listed)) if listed else (lambda _: 0.0)
            delta = np.array([curve(float(e)) for e in grid])
            plain = {k: v for k, v in look.items() if k != "marker"}
            axes.plot(grid, np.where(delta > 0, delta, np.nan), label=short(name) or None, lw=1.8, **plain)
            if name in named and listed:
                promise = named[name].guarantee
                axes.plot(promise.epsilon, promise.delta, "o", mfc="white", mec=look["color"], mew=1.5, ms=6, zorder=4)
        axes.set_ylim(_LEAST_DELTA, 1)
        axes.set_xlim(0, furthest)
        axes.set_xlabel("epsilon")
        axes.set_ylabel("delta, a probability")
        if len(events) > 1:
            legend(figure, axes)
    return figure  # type: ignore[no-any-return]


def path_plot(results: PenalisedResults) -> Figure:
    """The coefficients for every penalty, from strong on the left to weak on the right; the chosen one is marked.

    Coefficients have different units. Each is multiplied by the width of its feature's declared range (1 for a level of
    a category), so all have the outcome's unit. Drawing it costs no privacy: it is computed from the release.

    Examples
    --------
    >>> from discreet import DPLasso
    >>> X = np.random.default_rng(0).uniform(0, 1, (2000, 3))
    >>> model = DPLasso(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 3)).fit(X, X.sum(axis=1))
    >>> path_plot(model.results_).get_axes()[0].get_xlabel()
    'penalty (strong on the left)'
    """
    if not isinstance(results, PenalisedResults):
        raise ParameterError("path_plot takes the results of a ridge, lasso or elastic-net model, which have a path.")
    path = results.path()
    domain = results.certificate.domain
    effects = path.coef * np.array([reach(domain, name)[0] for name in path.names])
    order = np.argsort(-np.abs(effects).max(0)) if effects.size else np.arange(0)
    with style():
        figure, axes = chart(3.5)
        logarithmic(axes.xaxis)
        axes.axhline(0, color=GREY, lw=1, zorder=1)
        for k in order[NAMED:]:
            axes.plot(path.penalties, effects[:, k], color=GREY, lw=0.8, alpha=0.6, zorder=2)
        for k, look in zip(order[:NAMED], LOOKS, strict=False):
            plain = {key: value for key, value in look.items() if key != "marker"}
            axes.plot(path.penalties, effects[:, k], label=short(path.names[k], 26), lw=1.8, zorder=3, **plain)
        axes.axvline(results.alpha, color=INK, lw=1, ls=(0, (4, 3)), zorder=1)
        axes.annotate(
            "chosen" if results.chosen else "given", (results.alpha, 1), (0, 2), textcoords="offset points",
            xycoords=axes.get_xaxis_transform(), ha="center", fontsize=8,
        )  # fmt: skip
        axes.invert_xaxis()
        axes.yaxis.set_major_formatter("{x:,g}")
        axes.set_xlabel("penalty (strong on the left)")
        unit = results.unit(CONSTANT)
        axes.set_ylabel(
            f"effect over the declared range\non {short(results.target, 24)}{f' ({short(unit, 12)})' if unit else ''}"
        )
        if len(order):
            legend(figure, axes)
    return figure  # type: ignore[no-any-return]


def _certificate(one: Any) -> Certificate:
    found = one if isinstance(one, Certificate) else getattr(one, "certificate", getattr(one, "certificate_", None))
    if not isinstance(found, Certificate):
        raise ParameterError(
            "privacy_plot takes certificates, releases, results or fitted models, or a mapping of them."
        )
    return found


def _enough_looks(names: list[str]) -> None:
    if not names:
        raise ParameterError("There is nothing to draw.")
    if len(names) > len(LOOKS):
        raise ParameterError(f"At most {len(LOOKS)} curves can be told apart; {len(names)} were given. Choose some.")
