"""The plot of an audit: the ROC curve of the attack and the curve that the promise allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.results.plots.style import BLUE, GREY, LOOKS, ORANGE, chart, legend, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.audit.result import Audit


def roc_plot(found: Audit) -> Figure:
    """Plot the ROC curve of the attack, its confidence limit, and the curve that the promise allows at most.

    Examples
    --------
    >>> from discreet.audit import audit, subject_of
    >>> roc_plot(audit(subject_of("SSP", 1.0, 1e-6), fits=40, seed=1)).get_axes()[0].get_xlabel()
    'false alarms: taken to be there, and is not'
    """
    grid = np.concatenate([[0.0], np.geomspace(1e-4, 1, 400)])
    counts, failure = found.counts, 1 - found.confidence
    fp, fn = counts.rates(failure)
    with style():
        figure, axes = chart(3.9)
        power = found.promise.power(grid)
        axes.fill_between(grid, power, 1, color=ORANGE, alpha=0.10, lw=0)
        axes.plot(grid, power, label="promised: no attack finds more", lw=1.8, color=ORANGE, ls=LOOKS[1]["ls"])
        axes.plot(*found.roc(), label=f"attack: {found.statistic}", lw=1.5, color=BLUE)
        axes.plot([0, 1], [0, 1], color=GREY, lw=1, ls=(0, (1, 2)), label="guessing")
        point = counts.false_positives / counts.first, 1 - counts.false_negatives / counts.second
        axes.plot(*point, "o", mfc="white", mec=BLUE, mew=1.5, ms=6, zorder=4, label="threshold that was counted")
        sure = f"proven, {100 * found.confidence:g} % sure"
        axes.plot(fp, 1 - fn, "s", color=BLUE, ms=5, zorder=4, label=sure)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.set_xlabel("false alarms: taken to be there, and is not")
        axes.set_ylabel("finds: taken to be there, and is")
        legend(figure, axes, 1)
    return figure  # type: ignore[no-any-return]
