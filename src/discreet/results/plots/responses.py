"""Plots of predicted outcomes along features with nonlinear effects: squares, splines and products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import checks
from discreet.domain import CONSTANT
from discreet.domain.kinds.numeric import from_days
from discreet.errors import ParameterError
from discreet.results.effects import EffectCurve, curves
from discreet.results.plots.style import LOOKS, PALE, WIDTH, short, style
from discreet.results.summary import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.results.fitted import Fitted


def response_plot(results: Fitted, level: float = 0.95) -> Figure:
    """Plot predicted outcomes along features with several terms or a curve, with confidence bands.

    The other features are in the middle of their declared ranges. Where one multiplies the feature, there is a line for
    each of its levels, or for the ends and the middle of its range.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from discreet import Domain, DPLinearRegression
    >>> x = np.linspace(0, 1, 1000)
    >>> model = DPLinearRegression(epsilon=1, delta=1e-6, domain=Domain({"x": (0, 1), "y": (0, 1)}))
    >>> model = model.fit_formula("y ~ x + x^2", pa.table({"x": x, "y": x**2}))
    >>> response_plot(model.results_).get_axes()[0].get_xlabel()
    'x'
    """
    from discreet.results.plots.picture import Picture

    found = curves(results, checks.fraction("level", level))
    if not found:
        raise ParameterError("No feature of this model stands in a square, a product or a curve: see plot() instead.")
    wide = min(len(found), 2)
    high = -(-len(found) // wide)
    with style():
        figure = Picture(figsize=(WIDTH if wide > 1 else 0.62 * WIDTH, 2.75 * high), layout="constrained")
        for i, one in enumerate(found, 1):
            _draw(figure.add_subplot(high, wide, i), one, results)
    return figure


def _draw(axes: Any, one: EffectCurve, results: Fitted) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.grid(color=PALE, lw=0.8)
    axes.set_axisbelow(True)
    for line, look in zip(one.lines, LOOKS, strict=False):
        label = short(line.label, 22) or None
        axes.plot(one.x, line.y, color=look["color"], ls=look["ls"], lw=1.6, label=label)
        if np.isfinite(line.low).any():
            axes.fill_between(one.x, line.low, line.high, color=look["color"], alpha=0.16, lw=0)
    unit = results.unit(CONSTANT)
    axes.set_xlabel(short(one.variable, 30))
    axes.set_ylabel(f"{short(results.target, 20)}{f' ({short(unit, 12)})' if unit else ''}")
    axes.xaxis.set_major_locator(MaxNLocator(3 if one.date else 4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: from_days(x)[:10] if one.date else number(round(x, 12))))
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: number(round(y, 12))))
    if len(one.lines) > 1:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2 if len(one.lines) < 5 else 3, fontsize=7.5,
                    handlelength=2.2, columnspacing=1.0, borderaxespad=0.2)  # fmt: skip
