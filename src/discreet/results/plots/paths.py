"""Ridge, lasso and elastic-net paths of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.domain import CONSTANT
from discreet.errors import ParameterError
from discreet.results.drawing import GREY, INK, LOOKS, chart, legend, logarithmic, short, style
from discreet.results.effects import reach
from discreet.results.penalised import PenalisedResults

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMED = 7
"""Coefficients that have a colour and a name; the others are grey."""


def path_plot(results: PenalisedResults) -> Figure:
    """The coefficients for every penalty, from strong on the left to weak on the right; the chosen one is marked.

    Coefficients have different units. Each is multiplied by the width of its feature's declared range (1 for a level of
    a category), so all have the outcome's unit. Drawing it costs no privacy: it is computed from the release.

    Parameters
    ----------
    results : PenalisedResults
        A fitted ridge, lasso or elastic net.

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
        axes.axvline(results.penalty, color=INK, lw=1, ls=(0, (4, 3)), zorder=1)
        axes.annotate(
            "chosen" if results.chosen else "given", (results.penalty, 1), (0, 2), textcoords="offset points",
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
