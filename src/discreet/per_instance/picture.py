"""A picture of confidential losses."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.files import atomic_write
from discreet.errors import ParameterError
from discreet.results.plots.style import BLUE, INK, ORANGE, canvas, legend, logarithmic, style

if TYPE_CHECKING:
    from discreet.per_instance.result import Losses


def draw(losses: Losses, path: str | Path | None, delta: float) -> Any:
    """The distribution of epsilon_i, the DP epsilon and pDP for all, on one axis."""
    from discreet.per_instance.result import NOTE, place

    if path is not None:
        path = place(path, ".png", ".svg")
    with style():
        figure = _figure(losses, delta)
    if path is None:
        return figure
    kind = path.suffix.lower()[1:]
    buffer = BytesIO()
    metadata = {"Title": NOTE} if kind == "svg" else {"Title": "CONFIDENTIAL", "Description": NOTE}
    try:
        with style():
            figure.savefig(buffer, format=kind, metadata=metadata, dpi=150)
    except ValueError:
        raise ParameterError("The picture cannot be drawn: the losses are not finite.") from None
    with atomic_write(path, confidential=True) as file:
        file.write(buffer.getvalue())
    return None


def _figure(losses: Losses, delta: float) -> Any:
    values, promised = losses.epsilon(delta), losses.certificate.guarantee
    figure, axes = canvas(3.6)
    everyone = losses.for_all(delta)
    worst = max(everyone, promised.epsilon if delta == promised.delta else 0.0)
    bins = np.linspace(0, worst * 1.03 or 1.0, 80)
    if 0 < np.quantile(values, 0.99) < worst / 5:  # most lose far less than the worst: show by how many times
        bins = np.geomspace(max(float(values[values > 0].min()), worst * 1e-6), worst * 1.1, 80)
        logarithmic(axes.xaxis)
    axes.hist(np.maximum(values, bins[0]), bins=bins.tolist(), color=BLUE, label="rows of the table")
    axes.axvline(float(np.median(values)), color=INK, ls=":", lw=1.4, label="their median")
    if delta == promised.delta:
        axes.axvline(promised.epsilon, color=ORANGE, lw=5, alpha=0.6, label="promised to everybody")
    axes.axvline(everyone, color=INK, ls="--", lw=1.2, label="anybody, given this table (pDP for all)")
    axes.set_xlabel(f"epsilon of each row, at delta = {delta:g}")
    axes.set_ylabel("rows")
    axes.set_title("CONFIDENTIAL: per-instance privacy losses", color=ORANGE)
    legend(figure, axes)
    return figure
