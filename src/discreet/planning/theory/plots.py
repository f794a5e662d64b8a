"""Plots of theoretical bounds: where privacy is free, and what it costs elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import checks
from discreet.core.arrays import Floats
from discreet.errors import ParameterError
from discreet.planning.theory.rates import free_epsilon, learning_rate, private_lower_bound
from discreet.results.plots.style import BLUE, GREY, INK, LOOKS, ORANGE, chart, legend, logarithmic, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def free_region_plot(
    d: int = 100, *, alphas: Sequence[float] = (1.0, 0.01), reach: float = 1.0, rows: tuple[float, float] = (1e1, 1e8)
) -> Figure:
    """Plot the epsilon above which privacy adds nothing to the order of the error, against the number of rows.

    wang2018's figure 1: above a curve, the private bound (5) or (6) is below the bound without privacy, (4).

    Parameters
    ----------
    d : int
        Regressors.
    alphas : sequence of float
        Inverse condition numbers, a curve for each; one more is drawn for any data.
    reach : float
        norm_x times norm_theta, over norm_y: 1 and sqrt(d) are the paper's two cases.
    rows : tuple
        The smallest and the largest number of rows.

    Examples
    --------
    >>> free_region_plot(100, reach=10.0).get_axes()[0].get_xlabel()
    'rows n'
    """
    n = _rows(rows)
    reach = checks.positive("reach", reach)
    named = {"any data": None} | {f"alpha = {alpha:g}": alpha for alpha in sorted(alphas)}
    if len(named) > 4:
        raise ParameterError("Choose at most three alphas: more curves cannot be told apart.")
    with style():
        figure, axes = chart()
        logarithmic(axes.xaxis, axes.yaxis)
        above: Floats = np.full_like(n, 1e9)
        for (name, alpha), look in zip(named.items(), LOOKS, strict=False):
            epsilon = free_epsilon(n, d, alpha=alpha, norm_theta=reach)
            shown = np.where(epsilon > 0, epsilon, np.nan)
            axes.plot(n, shown, label=f"free above, {name}", lw=2, color=look["color"], ls=look["ls"])
            least = np.where(epsilon > 0, epsilon, 1e-9)
            axes.fill_between(n, least, above, color=look["color"], alpha=0.16, lw=0)
            above = least
        axes.axhline(1, color=GREY, lw=1, zorder=1)
        axes.set_ylim(3e-4, 3e2)
        _finish(figure, axes, d, rows, "epsilon")
    return figure  # type: ignore[no-any-return]


def lower_bounds_plot(
    d: int = 100,
    *,
    epsilon: float = 1.0,
    alpha: float | None = None,
    reach: float = 1.0,
    rows: tuple[float, float] = (1e1, 1e8),
) -> Figure:
    """Plot lower bounds on the error without and with privacy, and the price of privacy, against the number of rows.

    wang2018's figure 4: (4), and the smaller of (5) and (6), orders of a summed squared error in units of norm_y^2.

    Parameters
    ----------
    d : int
        Regressors.
    epsilon : float
        The promise; a curve for a tenth of it is drawn as well.
    alpha : float, optional
        The inverse condition number of the data; any data by default.
    reach : float
        norm_x times norm_theta, over norm_y.
    rows : tuple
        The smallest and the largest number of rows.

    Examples
    --------
    >>> lower_bounds_plot(100, alpha=0.5, reach=10.0).get_axes()[0].get_ylabel()
    'excess error, in units of Y²'
    """
    n, reach, epsilon = _rows(rows), checks.positive("reach", reach), checks.positive("epsilon", epsilon)
    without = learning_rate(n, d, norm_theta=reach)
    private = {e: private_lower_bound(n, d, e, alpha=alpha, norm_theta=reach) for e in (epsilon, epsilon / 10)}
    with style():
        figure, axes = chart()
        logarithmic(axes.xaxis, axes.yaxis)
        axes.plot(n, without, color=INK, lw=2, label="learning, without privacy")
        looks = ((ORANGE, (0, (5, 1.5))), (BLUE, (0, (1.2, 1.2))))
        for (e, bound), (colour, dashes) in zip(private.items(), looks, strict=True):
            axes.plot(n, bound, color=colour, ls=dashes, lw=2, label=f"privacy, epsilon = {e:g}")
        more = np.maximum(private[epsilon], without)
        axes.fill_between(n, without, more, color=ORANGE, alpha=0.25, lw=0, label=f"price of epsilon = {epsilon:g}")
        _finish(figure, axes, d, rows, "excess error, in units of Y²")
    return figure  # type: ignore[no-any-return]


def _rows(rows: tuple[float, float]) -> Floats:
    low, high = (checks.positive("rows", value) for value in rows)
    if low >= high:
        raise ParameterError("rows must be two numbers, the smaller one first.")
    return np.geomspace(low, high, 600)


def _finish(figure: Any, axes: Any, d: int, rows: tuple[float, float], what: str) -> None:
    """Mark where there are as many rows as features, and name the axes and the curves."""
    axes.axvline(d, color=GREY, lw=1, ls=(0, (4, 3)), zorder=1)
    axes.annotate(
        f"n = d = {d:,}", (d, 0), (3, 3), xycoords=axes.get_xaxis_transform(), textcoords="offset points", fontsize=8
    )
    axes.set_xlim(*rows)
    axes.set_xlabel("rows n")
    axes.set_ylabel(what)
    legend(figure, axes)
